// SPDX-License-Identifier: Apache-2.0
#include "llm/wire.h"

#include <string.h>

#include "util/json.h"

/* Everything up to the block that carries it is cached by the provider for some minutes; at most four in a
 * request. */
#define CACHE_MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

static const char *const headers[] = {"anthropic-version: 2023-06-01", NULL};

static const char *path(const char *base_url)
{
    size_t len = strlen(base_url);
    return len >= 3 && strcmp(base_url + len - 3, "/v1") == 0 ? "/messages" : "/v1/messages";
}

static void append_block(struct mrg_buf *buf, const struct mrg_text *text, bool mark)
{
    mrg_buf_append_str(buf, "[{\"type\":\"text\",\"text\":");
    mrg_json_append_string(buf, mrg_text_slice(text));
    mrg_buf_append_str(buf, mark ? CACHE_MARK "}]" : "}]");
}

static void append_head(struct mrg_buf *buf, const char *model, const struct mrg_text *system)
{
    mrg_buf_append_str(buf, "{\"model\":");
    mrg_json_append_string(buf, mrg_slice_of(model));
    if (system && system->len > 0) {
        mrg_buf_append_str(buf, ",\"system\":");
        append_block(buf, system, true);
    }
    mrg_buf_append_str(buf, ",\"messages\":[");
}

/* The last message changes with each call, the ones before it come again: so the last but one of the user's
 * is where the history's cached prefix ends. SIZE_MAX when there is none. */
static size_t last_stable_message(const struct mrg_llm_body *body)
{
    size_t seen = 0;
    for (size_t i = body->count; i-- > 0;) {
        if (body->messages[i].role == MRG_LLM_USER && ++seen == 2)
            return body->messages[i].text->len > 0 ? i : SIZE_MAX;
    }
    return SIZE_MAX;
}

static void append_tail(struct mrg_buf *buf, const struct mrg_llm_body *body)
{
    size_t marked = last_stable_message(body);
    for (size_t i = 0; i < body->count; i++) {
        const struct mrg_llm_message *message = &body->messages[i];
        mrg_buf_appendf(buf, "%s{\"role\":\"%s\",\"content\":", i > 0 ? "," : "",
                        message->role == MRG_LLM_USER ? "user" : "assistant");
        if (i == marked)
            append_block(buf, message->text, true);
        else
            mrg_json_append_string(buf, mrg_text_slice(message->text));
        mrg_buf_append_char(buf, '}');
    }
    mrg_buf_appendf(buf, "],\"max_tokens\":%d", body->max_tokens);
    if (body->model->has_temperature) {
        mrg_buf_append_str(buf, ",\"temperature\":");
        mrg_json_append_double(buf, body->model->temperature);
    }
    mrg_buf_append_char(buf, '}');
}

static enum mrg_err read_reply(struct json_object *root, struct mrg_llm_reply *reply, struct mrg_error *err)
{
    struct json_object *content = mrg_llm_member(root, "content", json_type_array);
    const char *stop = mrg_llm_string(root, "stop_reason");
    if (!content)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "it has no content");
    mrg_llm_append_content(&reply->text, content);
    reply->cut = strcmp(stop, "max_tokens") == 0 || strcmp(stop, "model_context_window_exceeded") == 0;
    if (strcmp(stop, "refusal") == 0)
        reply->withheld = mrg_strdup("refusal");
    if (json_object_array_length(content) == 0 && !reply->cut && !reply->withheld)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "its content is empty");
    struct json_object *usage = mrg_llm_member(root, "usage", json_type_object);
    reply->tokens_cached = mrg_llm_count(usage, "cache_read_input_tokens");
    reply->tokens_in = mrg_llm_count(usage, "input_tokens") + reply->tokens_cached +
                       mrg_llm_count(usage, "cache_creation_input_tokens");
    reply->tokens_out = mrg_llm_count(usage, "output_tokens");
    return MRG_ERR_OK;
}

const struct mrg_llm_wire_ops mrg_llm_anthropic = {
    .name = "anthropic",
    .headers = headers,
    .key_header = "x-api-key: ",
    .path = path,
    .append_head = append_head,
    .append_tail = append_tail,
    .read = read_reply,
};
