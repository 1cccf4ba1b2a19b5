// SPDX-License-Identifier: Apache-2.0
#include "llm/wire.h"

#include <string.h>

#include "util/json.h"

static const char *const headers[] = {NULL};

static const char *path(const char *base_url)
{
    (void)base_url;
    return "/chat/completions";
}

static void append_message(struct mrg_buf *buf, const char *role, const struct mrg_text *text)
{
    mrg_buf_appendf(buf, "{\"role\":\"%s\",\"content\":", role);
    mrg_json_append_string(buf, mrg_text_slice(text));
    mrg_buf_append_char(buf, '}');
}

static void append_head(struct mrg_buf *buf, const char *model, const struct mrg_text *system)
{
    mrg_buf_append_str(buf, "{\"model\":");
    mrg_json_append_string(buf, mrg_slice_of(model));
    mrg_buf_append_str(buf, ",\"messages\":[");
    if (!system || system->len == 0)
        return;
    append_message(buf, "system", system);
    mrg_buf_append_char(buf, ',');
}

static void append_response_format(struct mrg_buf *buf, const struct mrg_llm_body *body)
{
    if (!body->json || body->model->response_format != MRG_RESPONSE_JSON_OBJECT)
        return;
    if (!body->schema) {
        mrg_buf_append_str(buf, ",\"response_format\":{\"type\":\"json_object\"}");
        return;
    }
    mrg_buf_append_str(buf, ",\"response_format\":{\"type\":\"json_schema\","
                            "\"json_schema\":{\"name\":\"reply\",\"schema\":");
    mrg_buf_append_str(buf, body->schema);
    mrg_buf_append_str(buf, "}}");
}

static void append_tail(struct mrg_buf *buf, const struct mrg_llm_body *body)
{
    for (size_t i = 0; i < body->count; i++) {
        if (i > 0)
            mrg_buf_append_char(buf, ',');
        append_message(buf, body->messages[i].role == MRG_LLM_USER ? "user" : "assistant",
                       body->messages[i].text);
    }
    mrg_buf_append_char(buf, ']');
    if (body->model->has_temperature) {
        mrg_buf_append_str(buf, ",\"temperature\":");
        mrg_json_append_double(buf, body->model->temperature);
    }
    mrg_buf_appendf(buf, ",\"%s\":%d",
                    body->model->completion_tokens ? "max_completion_tokens" : "max_tokens",
                    body->max_tokens);
    append_response_format(buf, body);
    mrg_buf_append_char(buf, '}');
}

static enum mrg_err read_choice(struct json_object *choice, struct mrg_llm_reply *reply,
                                struct mrg_error *err)
{
    struct json_object *message = mrg_llm_member(choice, "message", json_type_object);
    if (!message)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "choices[0] has no message");
    struct json_object *content = NULL;
    json_object_object_get_ex(message, "content", &content);
    mrg_llm_append_content(&reply->text, content);
    const char *finish = mrg_llm_string(choice, "finish_reason");
    reply->cut = strcmp(finish, "length") == 0;
    const char *refusal = mrg_llm_string(message, "refusal");
    if (strcmp(finish, "content_filter") == 0)
        reply->withheld = mrg_strdup("content_filter");
    else if (refusal[0] != '\0' && reply->text.len == 0)
        reply->withheld = mrg_asprintf("refusal: %s", refusal);
    return MRG_ERR_OK;
}

static enum mrg_err read_reply(struct json_object *root, struct mrg_llm_reply *reply, struct mrg_error *err)
{
    struct json_object *choices = mrg_llm_member(root, "choices", json_type_array);
    if (!choices || json_object_array_length(choices) == 0)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "it has no choices");
    struct json_object *usage = mrg_llm_member(root, "usage", json_type_object);
    reply->tokens_in = mrg_llm_count(usage, "prompt_tokens");
    reply->tokens_out = mrg_llm_count(usage, "completion_tokens");
    reply->tokens_cached =
        mrg_llm_count(mrg_llm_member(usage, "prompt_tokens_details", json_type_object), "cached_tokens");
    return read_choice(json_object_array_get_idx(choices, 0), reply, err);
}

const struct mrg_llm_wire_ops mrg_llm_openai = {
    .name = "openai",
    .headers = headers,
    .key_header = "Authorization: Bearer ",
    .path = path,
    .append_head = append_head,
    .append_tail = append_tail,
    .read = read_reply,
};
