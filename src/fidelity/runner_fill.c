// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/jsontext.h"
#include "fidelity/runner_int.h"
#include "util/json.h"

/* How a value stands where it is filled in. */
enum form { PLAIN, ENCODED, IN_JSON };

static const char *value_of(struct mrg_arena *arena, const struct mrg_kepts *knowns, struct mrg_slice name)
{
    for (size_t i = knowns->count; i > 0; i--)
        if (mrg_slice_eq_str(name, knowns->items[i - 1].name))
            return knowns->items[i - 1].value;
    return mrg_arena_printf(arena, "missing-%.*s", (int)name.len, name.ptr);
}

static void append_value(struct mrg_buf *buf, const char *value, enum form form)
{
    if (form == IN_JSON) {
        struct mrg_buf quoted;
        mrg_buf_init(&quoted, SIZE_MAX);
        mrg_json_append_string(&quoted, mrg_slice_of(value));
        mrg_buf_append(buf, quoted.data + 1, quoted.len - 2);
        mrg_buf_done(&quoted);
        return;
    }
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;
        if (form == PLAIN || isalnum(c) || strchr("-._~", c))
            mrg_buf_append_char(buf, (char)c);
        else
            mrg_buf_appendf(buf, "%%%02X", c);
    }
}

static struct mrg_slice fill(struct mrg_arena *arena, const char *text, const struct mrg_kepts *knowns,
                             enum form form)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    while (*text) {
        const char *end = text[0] == '$' && text[1] == '{' ? strchr(text, '}') : NULL;
        if (end) {
            struct mrg_slice name = {text + 2, (size_t)(end - text - 2)};
            append_value(&buf, value_of(arena, knowns, name), form);
            text = end + 1;
        } else {
            mrg_buf_append_char(&buf, *text++);
        }
    }
    struct mrg_slice filled = {mrg_arena_memdup(arena, buf.data ? buf.data : "", buf.len), buf.len};
    mrg_buf_done(&buf);
    return filled;
}

void mrg_fill_request(struct mrg_arena *arena, const struct mrg_scenario_call *call,
                      const struct mrg_kepts *knowns, struct mrg_request *ret_request)
{
    struct mrg_request request = {.method = mrg_slice_of(call->method)};
    request.path = fill(arena, call->path, knowns, ENCODED);
    request.query = fill(arena, call->query, knowns, ENCODED);
    /* Room for the session's. */
    request.headers = mrg_arena_zalloc(arena, (call->header_count + 1) * sizeof(*request.headers));
    for (size_t i = 0; i < call->header_count; i++) {
        const char *value = mrg_arena_memdup(arena, call->headers[i].value.ptr, call->headers[i].value.len);
        request.headers[request.header_count++] =
            (struct mrg_header){call->headers[i].name, fill(arena, value, knowns, PLAIN)};
    }
    if (call->body) {
        struct mrg_slice bytes = fill(arena, call->body, knowns, call->json ? IN_JSON : PLAIN);
        request.body = mrg_body_classify(bytes, mrg_request_header(&request, "content-type"));
    }
    *ret_request = request;
}

/* Follows `.name` and `[number]` from node; false when there is nothing. */
static bool follow(const char *path, struct json_object **node)
{
    while (*path) {
        path += strspn(path, ".[]");
        size_t len = strcspn(path, ".[]");
        if (len == 0)
            break;
        _cleanup_free_ char *part = mrg_strndup(path, len);
        if (json_object_is_type(*node, json_type_array)) {
            size_t index = strtoul(part, NULL, 10);
            if (index >= json_object_array_length(*node))
                return false;
            *node = json_object_array_get_idx(*node, index);
        } else if (!json_object_is_type(*node, json_type_object) ||
                   !json_object_object_get_ex(*node, part, node)) {
            return false;
        }
        path += len;
    }
    return true;
}

static const char *text_of(struct mrg_arena *arena, struct json_object *node)
{
    struct mrg_buf buf;
    if (json_object_is_type(node, json_type_string))
        return mrg_arena_strdup(arena, json_object_get_string(node));
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_json_append_tree(&buf, node);
    const char *text = mrg_arena_memdup(arena, buf.data, buf.len);
    mrg_buf_done(&buf);
    return text;
}

static const char *from_body(struct mrg_arena *arena, const char *path, const struct mrg_reply *reply)
{
    struct json_object *tree = NULL;
    const char *text = NULL;
    if (reply->body.kind != MRG_BODY_JSON || mrg_json_parse(reply->body.bytes, &tree, NULL))
        return NULL;
    struct json_object *node = tree;
    if (follow(path, &node))
        text = text_of(arena, node);
    json_object_put(tree);
    return text;
}

static const char *from_headers(struct mrg_arena *arena, const char *name, const struct mrg_reply *reply)
{
    for (size_t i = 0; i < reply->header_count; i++)
        if (mrg_slice_caseeq_str(reply->headers[i].name, name))
            return mrg_arena_memdup(arena, reply->headers[i].value.ptr, reply->headers[i].value.len);
    return NULL;
}

static const char *missing(struct mrg_arena *arena, const char *name)
{
    char *text = mrg_arena_printf(arena, "missing-%s", name);
    for (char *at = text; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return text;
}

void mrg_fill_save(struct mrg_arena *arena, const struct mrg_scenario_call *call,
                   const struct mrg_reply *reply, struct mrg_kepts *knowns)
{
    for (size_t i = 0; i < call->save_count; i++) {
        const char *path = call->saves[i].path, *value = NULL;
        if (reply && strncmp(path, "header.", 7) == 0)
            value = from_headers(arena, path + 7, reply);
        else if (reply)
            value = from_body(arena, path + strlen("body"), reply);
        if (!value)
            value = missing(arena, call->saves[i].name);
        mrg_grow((void **)&knowns->items, &knowns->room, knowns->count, sizeof(*knowns->items));
        knowns->items[knowns->count++] = (struct mrg_kept){call->saves[i].name, value};
    }
}
