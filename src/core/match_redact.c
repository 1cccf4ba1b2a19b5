// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/match_int.h"
#include "core/query.h"
#include "util/json.h"

struct redaction {
    const struct mrg_match *match;
    struct mrg_arena *arena;
};

/*
 * The digest is cut to 32 bits on purpose: it tells values apart and says nothing that could be searched for.
 */
static struct mrg_slice placeholder(const struct redaction *redaction, struct mrg_slice value)
{
    char hex[MRG_SHA256_HEX + 1];
    const char *name = redaction->match->config->name;
    struct mrg_sha256 *sha = mrg_sha256_new();
    mrg_sha256_add(sha, name, strlen(name) + 1);
    mrg_sha256_add(sha, value.ptr, value.len);
    mrg_sha256_finish(sha, hex);
    return mrg_slice_of(mrg_arena_printf(redaction->arena, "[redacted %.8s]", hex));
}

static void redact_path(const struct redaction *redaction, struct mrg_request *request)
{
    if (!redaction->match->redact.parts[MRG_JPATH_PATH])
        return;
    struct mrg_slice mark = placeholder(redaction, request->path);
    request->path = mrg_slice_of(mrg_arena_printf(redaction->arena, "/%.*s", (int)mark.len, mark.ptr));
}

static void redact_headers(const struct redaction *redaction, struct mrg_request *request)
{
    struct mrg_header *copy = NULL;
    for (size_t i = 0; i < request->header_count; i++) {
        if (!mrg_rules_header(&redaction->match->redact, request->headers[i].name))
            continue;
        if (!copy) {
            copy = mrg_arena_alloc(redaction->arena, request->header_count * sizeof(*copy));
            memcpy(copy, request->headers, request->header_count * sizeof(*copy));
        }
        copy[i].value = placeholder(redaction, request->headers[i].value);
    }
    if (copy)
        request->headers = copy;
}

static void redact_query(const struct redaction *redaction, struct mrg_request *request)
{
    if (!redaction->match->redact.parts[MRG_JPATH_QUERY] || request->query.len == 0)
        return;
    struct mrg_buf buf;
    bool any = false;
    size_t count;
    struct mrg_query_pair *pairs = mrg_query_read(redaction->arena, request->query, &count);
    mrg_buf_init(&buf, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        bool hit = mrg_rules_query(&redaction->match->redact, pairs[i].key);
        any |= hit;
        mrg_query_append_pair(&buf, pairs[i].key,
                              hit ? placeholder(redaction, pairs[i].value) : pairs[i].value);
    }
    if (any)
        request->query = mrg_arena_take_buf(redaction->arena, &buf);
    else
        mrg_buf_done(&buf);
}

/*
 * A mrg_jpath_fn: the placeholder of a string is made of its content, so that "x" has the same in a form and
 * in a header.
 */
static struct json_object *redact_node(void *ctx, struct json_object *node, bool *ret_remove)
{
    const struct redaction *redaction = ctx;
    struct mrg_buf buf;
    struct mrg_slice mark;
    (void)ret_remove;
    mrg_buf_init(&buf, SIZE_MAX);
    if (json_object_is_type(node, json_type_string)) {
        size_t len = (size_t)json_object_get_string_len(node);
        mark = placeholder(redaction, (struct mrg_slice){json_object_get_string(node), len});
    } else {
        mrg_json_append_tree(&buf, node);
        mark = placeholder(redaction, mrg_buf_slice(&buf));
    }
    mrg_buf_done(&buf);
    return json_object_new_string_len(mark.ptr, (int)mark.len);
}

static size_t apply(struct redaction *redaction, struct json_object **tree)
{
    size_t hits = 0;
    const struct mrg_rules *rules = &redaction->match->redact;
    for (size_t i = 0; i < rules->count; i++)
        hits += mrg_jpath_apply(rules->items[i].path, tree, redact_node, redaction);
    return hits;
}

static void redact_whole(const struct redaction *redaction, struct mrg_body *body)
{
    struct mrg_slice mark = placeholder(redaction, body->bytes);
    if (body->kind == MRG_BODY_JSON)
        mark = mrg_slice_of(mrg_arena_printf(redaction->arena, "\"%.*s\"", (int)mark.len, mark.ptr));
    else
        body->kind = MRG_BODY_TEXT;
    body->bytes = mark;
}

static void redact_json(struct redaction *redaction, struct mrg_body *body)
{
    struct json_object *tree = NULL;
    if (!mrg_rules_may_apply(&redaction->match->redact, body->bytes))
        return;
    if (mrg_json_parse(body->bytes, &tree, NULL) != MRG_ERR_OK) {
        redact_whole(redaction, body);
        return;
    }
    if (apply(redaction, &tree) > 0) {
        struct mrg_buf buf;
        mrg_buf_init(&buf, SIZE_MAX);
        mrg_json_append_tree(&buf, tree);
        body->bytes = mrg_arena_take_buf(redaction->arena, &buf);
    }
    json_object_put(tree);
}

/*
 * One field of a form, as the object {key: value}: what a body path names there is what it would name in
 * JSON.
 */
static bool form_field(struct redaction *redaction, const struct mrg_query_pair *pair,
                       struct mrg_slice *ret_value)
{
    char *key = mrg_arena_memdup(redaction->arena, pair->key.ptr, pair->key.len);
    struct json_object *tree = json_object_new_object();
    struct json_object *value;
    json_object_object_add(tree, key, json_object_new_string_len(pair->value.ptr, (int)pair->value.len));
    bool hit = apply(redaction, &tree) > 0;
    if (hit && json_object_object_get_ex(tree, key, &value))
        *ret_value = mrg_slice_of(mrg_arena_strdup(redaction->arena, json_object_get_string(value)));
    else if (hit)
        *ret_value = placeholder(redaction, pair->value);
    json_object_put(tree);
    return hit;
}

static void redact_form(struct redaction *redaction, struct mrg_body *body)
{
    struct mrg_buf buf;
    bool any = false;
    size_t count;
    struct mrg_query_pair *pairs = mrg_query_read(redaction->arena, body->bytes, &count);
    mrg_buf_init(&buf, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        struct mrg_slice value = pairs[i].value;
        any |= form_field(redaction, &pairs[i], &value);
        mrg_query_append_pair(&buf, pairs[i].key, value);
    }
    if (any)
        body->bytes = mrg_arena_take_buf(redaction->arena, &buf);
    else
        mrg_buf_done(&buf);
}

static void redact_body(struct redaction *redaction, struct mrg_request *request)
{
    static const char form[] = "application/x-www-form-urlencoded";
    const struct mrg_rules *rules = &redaction->match->redact;
    struct mrg_body *body = &request->body;
    if (!rules->parts[MRG_JPATH_BODY] || body->bytes.len == 0 || body->kind == MRG_BODY_NONE)
        return;
    const struct mrg_slice *type = mrg_request_header(request, "content-type");
    if (rules->whole_body)
        redact_whole(redaction, body);
    else if (body->kind == MRG_BODY_JSON)
        redact_json(redaction, body);
    else if (type && type->len >= sizeof(form) - 1 &&
             mrg_slice_caseeq_str((struct mrg_slice){type->ptr, sizeof(form) - 1}, form))
        redact_form(redaction, body);
}

const struct mrg_request *mrg_match_redact(const struct mrg_match *match, struct mrg_arena *arena,
                                           const struct mrg_request *request)
{
    if (match->redact.count == 0)
        return request;
    struct redaction redaction = {match, arena};
    struct mrg_request copy = *request;
    redact_path(&redaction, &copy);
    redact_headers(&redaction, &copy);
    redact_query(&redaction, &copy);
    redact_body(&redaction, &copy);
    bool same = copy.path.ptr == request->path.ptr && copy.headers == request->headers &&
                copy.query.ptr == request->query.ptr && copy.body.bytes.ptr == request->body.bytes.ptr;
    if (same)
        return request;
    struct mrg_request *redacted = mrg_arena_alloc(arena, sizeof(*redacted));
    *redacted = copy;
    return redacted;
}
