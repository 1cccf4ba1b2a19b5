// SPDX-License-Identifier: Apache-2.0
#include "wire/envelope.h"

#include <stdint.h>
#include <string.h>

#include "core/query.h"
#include "util/json.h"
#include "util/utf8.h"

#define FEW_HEADERS 32u /* headers for which the stack has room */

/* Appends `"id":…`, or nothing. */
static void append_id(struct mrg_buf *buf, struct mrg_slice id, const char *behind)
{
    if (!id.ptr)
        return;
    mrg_buf_append(buf, "\"id\":", 5);
    mrg_buf_append_slice(buf, id);
    mrg_buf_append_str(buf, behind);
}

static void append_failure(struct mrg_buf *buf, struct mrg_slice id, const struct mrg_reply *reply)
{
    mrg_buf_append_char(buf, '{');
    append_id(buf, id, ",");
    mrg_buf_appendf(buf, "\"status\":%d,\"error\":", reply->status);
    mrg_json_append_string(buf, mrg_slice_of(reply->error));
    mrg_buf_append_char(buf, '}');
}

/* The reply's own text form with the id as its first member. */
static void append_with_id(struct mrg_buf *buf, struct mrg_slice id, const struct mrg_reply *reply)
{
    if (id.ptr) {
        mrg_buf_append_char(buf, '{');
        append_id(buf, id, "");
    }
    size_t brace = buf->len;
    mrg_reply_append_json(buf, reply);
    if (id.ptr && !mrg_buf_failed(buf))
        buf->data[brace] = ',';
}

void mrg_envelope_append_reply(struct mrg_buf *buf, struct mrg_slice id, const struct mrg_reply *reply,
                               const struct mrg_header *shows, size_t show_count)
{
    struct mrg_header few[FEW_HEADERS];
    struct mrg_reply shown = *reply;
    if (reply->error) {
        append_failure(buf, id, reply);
        return;
    }
    mrg_buf_reserve(buf, reply->body.bytes.len + 256);
    shown.unsure = MRG_SLICE("");
    shown.header_count = show_count + reply->header_count;
    struct mrg_header *many =
        shown.header_count > FEW_HEADERS ? mrg_malloc(shown.header_count * sizeof(*many)) : NULL;
    if (show_count > 0) {
        shown.headers = many ? many : few;
        memcpy(shown.headers, shows, show_count * sizeof(*shows));
        if (reply->header_count > 0)
            memcpy(shown.headers + show_count, reply->headers, reply->header_count * sizeof(*shows));
    }
    append_with_id(buf, id, &shown);
    free(many);
}

static bool is_repeat(const struct mrg_request *request, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (mrg_slice_eq(request->headers[i].name, request->headers[at].name))
            return true;
    }
    return false;
}

/* The name with all its values: one as a string, several as a list. */
static void append_header(struct mrg_buf *buf, const struct mrg_request *request, size_t at)
{
    struct mrg_slice name = request->headers[at].name;
    size_t values = 0;
    for (size_t i = at; i < request->header_count; i++)
        values += mrg_slice_eq(request->headers[i].name, name);
    mrg_json_append_string(buf, name);
    mrg_buf_append_char(buf, ':');
    char before = '[';
    for (size_t i = at; i < request->header_count; i++) {
        if (!mrg_slice_eq(request->headers[i].name, name))
            continue;
        if (values > 1)
            mrg_buf_append_char(buf, before);
        mrg_json_append_string(buf, request->headers[i].value);
        before = ',';
    }
    if (values > 1)
        mrg_buf_append_char(buf, ']');
}

static void append_target(struct mrg_buf *buf, const struct mrg_request *request)
{
    struct mrg_buf target;
    mrg_buf_init(&target, SIZE_MAX);
    mrg_buf_append_slice(&target, request->path);
    if (request->query.len > 0) {
        mrg_buf_append_char(&target, '?');
        mrg_buf_append_slice(&target, request->query);
    }
    mrg_buf_append_str(buf, ",\"path\":");
    if (mrg_utf8_valid(mrg_buf_slice(&target))) {
        mrg_json_append_string(buf, mrg_buf_slice(&target));
    } else {
        struct mrg_arena *arena = mrg_arena_new(0);
        mrg_json_append_string(buf, mrg_uri_shown(arena, mrg_buf_slice(&target)));
        mrg_arena_free(arena);
    }
    mrg_buf_done(&target);
}

static void append_string_member(struct mrg_buf *buf, const char *name, struct mrg_slice value)
{
    if (!value.ptr)
        return;
    mrg_buf_appendf(buf, "\"%s\":", name);
    mrg_json_append_string(buf, value);
    mrg_buf_append_char(buf, ',');
}

void mrg_envelope_append_request(struct mrg_buf *buf, const struct mrg_envelope *envelope,
                                 const struct mrg_request *request)
{
    enum mrg_body_kind kind = request->body.kind;
    mrg_buf_append_char(buf, '{');
    append_id(buf, envelope->id, ",");
    append_string_member(buf, "dependency", envelope->dependency);
    append_string_member(buf, "session", envelope->session);
    mrg_buf_append_str(buf, "\"method\":");
    mrg_json_append_string(buf, request->method);
    append_target(buf, request);
    char before = '{';
    for (size_t i = 0; i < request->header_count; i++) {
        if (is_repeat(request, i))
            continue;
        if (i == 0)
            mrg_buf_append_str(buf, ",\"headers\":");
        mrg_buf_append_char(buf, before);
        append_header(buf, request, i);
        before = ',';
    }
    if (before == ',')
        mrg_buf_append_char(buf, '}');
    if (kind == MRG_BODY_TEXT && !mrg_utf8_valid(request->body.bytes))
        kind = MRG_BODY_BINARY;
    if (request->body.bytes.len > 0)
        mrg_body_append_member(buf, "body_text", kind, request->body.bytes);
    mrg_buf_append_char(buf, '}');
}
