// SPDX-License-Identifier: Apache-2.0
#include "llm/wire.h"

#include <string.h>

#include "core/limits.h"
#include "util/json.h"
#include "util/utf8.h"

#define MAX_NAME 200u /* bytes of an id or a model's name that a provider may give */

const struct mrg_llm_wire_ops *mrg_llm_wire(enum mrg_provider provider)
{
    static const struct mrg_llm_wire_ops *const wires[] = {
        [MRG_PROVIDER_OPENAI] = &mrg_llm_openai,
        [MRG_PROVIDER_ANTHROPIC] = &mrg_llm_anthropic,
    };
    MRG_ASSERT((size_t)provider < MRG_ARRAY_LEN(wires));
    return wires[provider];
}

struct json_object *mrg_llm_member(struct json_object *object, const char *key, enum json_type type)
{
    struct json_object *value = NULL;
    if (!json_object_is_type(object, json_type_object) || !json_object_object_get_ex(object, key, &value) ||
        !json_object_is_type(value, type))
        return NULL;
    return value;
}

const char *mrg_llm_string(struct json_object *object, const char *key)
{
    struct json_object *value = mrg_llm_member(object, key, json_type_string);
    return value ? json_object_get_string(value) : "";
}

uint64_t mrg_llm_count(struct json_object *object, const char *key)
{
    struct json_object *value = mrg_llm_member(object, key, json_type_int);
    int64_t count = value ? json_object_get_int64(value) : 0;
    /* So that sums over many calls cannot overflow. */
    return count > 0 && count < INT64_C(1) << 48 ? (uint64_t)count : 0;
}

static void append_string(struct mrg_buf *buf, struct json_object *string)
{
    mrg_buf_append(buf, json_object_get_string(string), (size_t)json_object_get_string_len(string));
}

void mrg_llm_append_content(struct mrg_buf *buf, struct json_object *content)
{
    if (json_object_is_type(content, json_type_string)) {
        append_string(buf, content);
        return;
    }
    if (!json_object_is_type(content, json_type_array))
        return;
    for (size_t i = 0; i < json_object_array_length(content); i++) {
        struct json_object *part = json_object_array_get_idx(content, i);
        const char *type = mrg_llm_string(part, "type");
        struct json_object *text = mrg_llm_member(part, "text", json_type_string);
        if (text && (strcmp(type, "text") == 0 || strcmp(type, "output_text") == 0))
            append_string(buf, text);
    }
}

/* It goes into files and, as a model's name, onto terminals: without control characters (C0, DEL, C1). */
static char *name_of(struct json_object *root, const char *key)
{
    struct mrg_slice text = mrg_slice_of(mrg_llm_string(root, key));
    char *name = mrg_strndup(text.ptr, mrg_utf8_cut(text, MAX_NAME));
    for (unsigned char *p = (unsigned char *)name; *p; p++) {
        if (*p < 0x20 || *p == 0x7F)
            *p = '?';
        else if (p[0] == 0xC2 && p[1] < 0xA0)
            p[0] = p[1] = '?';
    }
    return name;
}

enum mrg_err mrg_llm_reply_read(const struct mrg_llm_wire_ops *wire, struct mrg_slice body,
                                struct mrg_llm_reply *ret_reply, struct mrg_error *err)
{
    if (body.len == 0)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "it is empty");
    struct json_object *root = NULL;
    if (mrg_json_parse(body, &root, err) != MRG_ERR_OK) {
        mrg_error_wrap(err, "it is no JSON");
        return MRG_ERR_INTERNAL;
    }
    if (!json_object_is_type(root, json_type_object)) {
        json_object_put(root);
        return mrg_error_set(err, MRG_ERR_INTERNAL, "it is no JSON object");
    }
    struct mrg_llm_reply reply = {.id = name_of(root, "id"), .model = name_of(root, "model")};
    mrg_buf_init(&reply.text, MRG_MAX_LLM_REPLY);
    enum mrg_err rc = wire->read(root, &reply, err);
    json_object_put(root);
    if (rc == MRG_ERR_OK)
        *ret_reply = reply;
    else
        mrg_llm_reply_done(&reply);
    return rc;
}

void mrg_llm_reply_done(struct mrg_llm_reply *reply)
{
    mrg_buf_done(&reply->text);
    free(reply->id);
    free(reply->model);
    free(reply->withheld);
    *reply = (struct mrg_llm_reply){0};
}
