// SPDX-License-Identifier: Apache-2.0
#include "fidelity/result.h"

#include "util/json.h"

static void append_text(struct mrg_buf *buf, const char *name, const char *text)
{
    mrg_buf_appendf(buf, ",\"%s\":", name);
    mrg_json_append_string(buf, mrg_slice_of(text));
}

static void append_texts(struct mrg_buf *buf, const char *name, const char *const *texts, size_t count)
{
    if (count == 0)
        return;
    mrg_buf_appendf(buf, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            mrg_buf_append_char(buf, ',');
        mrg_json_append_string(buf, mrg_slice_of(texts[i]));
    }
    mrg_buf_append_char(buf, ']');
}

static const char *kind_name(enum mrg_dynamic kind)
{
    switch (kind) {
#define X(name, text)                                                                                        \
    case MRG_DYNAMIC_##name:                                                                                 \
        return text;
        MRG_DYNAMIC_MAP(X)
#undef X
    }
    return "";
}

static void append_rules(struct mrg_buf *buf, const struct mrg_compare_rules *rules)
{
    if (rules->dynamic_count > 0)
        mrg_buf_append_str(buf, ",\"dynamic\":[");
    for (size_t i = 0; i < rules->dynamic_count; i++) {
        mrg_buf_append_str(buf, i > 0 ? ",{\"path\":" : "{\"path\":");
        mrg_json_append_string(buf, mrg_slice_of(rules->dynamic[i].path));
        append_text(buf, "kind", kind_name(rules->dynamic[i].kind));
        if (rules->dynamic[i].pattern)
            append_text(buf, "pattern", rules->dynamic[i].pattern);
        mrg_buf_append_char(buf, '}');
    }
    if (rules->dynamic_count > 0)
        mrg_buf_append_char(buf, ']');
    append_texts(buf, "sets", rules->sets, rules->set_count);
    append_texts(buf, "ignore", rules->ignore, rules->ignore_count);
}

static bool is_shown(const void *ctx, const struct mrg_header *header)
{
    (void)ctx;
    return !mrg_header_is_noise(header->name);
}

/* Without the transport's headers, which are not the service's and which no reply in the text form may have; bytes that are not
 * UTF-8 as the normal form shows them. */
static struct mrg_header *own_headers(struct mrg_arena **arena, const struct mrg_header *headers,
                                      size_t count, size_t *ret_count)
{
    struct mrg_header *own = mrg_malloc((count + 1) * sizeof(*own));
    *ret_count = 0;
    for (size_t i = 0; i < count; i++)
        if (!mrg_header_is_transport(headers[i].name))
            own[(*ret_count)++] =
                (struct mrg_header){headers[i].name, mrg_header_shown(arena, headers[i].value)};
    return own;
}

static void append_reply(struct mrg_buf *buf, const struct mrg_reply *reply)
{
    struct mrg_arena *arena = NULL;
    struct mrg_reply own = *reply;
    own.headers = own_headers(&arena, reply->headers, reply->header_count, &own.header_count);
    own.trailers = own_headers(&arena, reply->trailers, reply->trailer_count, &own.trailer_count);
    mrg_reply_append_json(buf, &own);
    mrg_freep(&own.headers);
    mrg_freep(&own.trailers);
    mrg_arena_free(arena);
}

static void append_side(struct mrg_buf *buf, const char *name, const struct mrg_exchanged *side)
{
    mrg_buf_appendf(buf, "\"%s\":{\"request\":", name);
    mrg_request_append_json(buf, &side->request, is_shown, NULL);
    /* A call that was left out has no reply when there was no other wire to make it over. */
    bool replied = side->reply.status || side->reply.has_grpc_status;
    if (side->error) {
        append_text(buf, "error", side->error);
    } else if (replied) {
        mrg_buf_append_str(buf, ",\"reply\":");
        append_reply(buf, &side->reply);
    }
    if (side->duration_us > 0)
        mrg_buf_appendf(buf, ",\"duration_us\":%llu", (unsigned long long)side->duration_us);
    mrg_buf_append_char(buf, '}');
}

static void append_call(struct mrg_buf *buf, const struct mrg_result_call *call)
{
    mrg_buf_append_char(buf, '{');
    if (call->left_out) {
        mrg_buf_append_str(buf, "\"left_out\":");
        mrg_json_append_string(buf, mrg_slice_of(call->left_out));
        mrg_buf_append_char(buf, ',');
    }
    append_side(buf, "real", &call->real);
    mrg_buf_append_char(buf, ',');
    append_side(buf, "simulated", &call->simulated);
    mrg_buf_append_char(buf, '}');
}

void mrg_trial_append_json(struct mrg_buf *buf, const struct mrg_trial *trial)
{
    mrg_buf_append_str(buf, "{\"name\":");
    mrg_json_append_string(buf, mrg_slice_of(trial->scenario));
    append_text(buf, "category", trial->category);
    append_text(buf, "dependency", trial->dependency);
    mrg_buf_appendf(buf, ",\"repeat\":%u", trial->repeat);
    if (trial->error)
        append_text(buf, "error", trial->error);
    append_rules(buf, &trial->rules);
    mrg_buf_append_str(buf, ",\"calls\":[");
    for (size_t i = 0; i < trial->call_count; i++) {
        mrg_buf_append_str(buf, i > 0 ? ",\n  " : "\n  ");
        append_call(buf, &trial->calls[i]);
    }
    mrg_buf_append_str(buf, "]}");
}

void mrg_result_append_json(struct mrg_buf *buf, const struct mrg_result *result)
{
    mrg_buf_append_str(buf, "{\"format\":\"" MRG_RESULT_FORMAT "\"");
    append_text(buf, "label", result->label);
    append_text(buf, "started", result->started);
    append_text(buf, "wire", result->wire);
    append_text(buf, "real", result->real);
    append_text(buf, "simulated", result->simulated);
    mrg_buf_append_str(buf, ",\"scenarios\":[");
    for (size_t i = 0; i < result->trial_count; i++) {
        mrg_buf_append_str(buf, i > 0 ? ",\n " : "\n ");
        mrg_trial_append_json(buf, &result->trials[i]);
    }
    mrg_buf_append_str(buf, "]}\n");
}
