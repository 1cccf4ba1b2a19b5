// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/jsontext.h"
#include "core/limits.h"
#include "core/query.h"
#include "core/request.h"
#include "util/base64.h"
#include "util/json.h"

struct reading {
    struct mrg_arena *arena;
    struct mrg_request *request; /* what is being filled */
    struct mrg_buf query;        /* percent-encoded so far */
    size_t header_room;          /* of request->headers */
};

static enum mrg_err add_query(void *ctx, struct mrg_slice name, struct mrg_slice value, struct mrg_error *err)
{
    struct reading *reading = ctx;
    (void)err;
    mrg_query_append_pair(&reading->query, name, value);
    return MRG_ERR_OK;
}

static enum mrg_err add_header(void *ctx, struct mrg_slice name, struct mrg_slice value,
                               struct mrg_error *err)
{
    struct reading *reading = ctx;
    struct mrg_request *request = reading->request;
    if (request->header_count == MRG_MAX_HEADERS)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "\"headers\" has more than %d", MRG_MAX_HEADERS);
    if (request->header_count == reading->header_room) {
        reading->header_room = reading->header_room ? 2 * reading->header_room : 8;
        struct mrg_header *more = mrg_arena_alloc(reading->arena, reading->header_room * sizeof(*more));
        if (request->header_count > 0)
            memcpy(more, request->headers, request->header_count * sizeof(*more));
        request->headers = more;
    }
    request->headers[request->header_count++] =
        (struct mrg_header){mrg_jsontext_lower(reading->arena, name), value};
    return MRG_ERR_OK;
}

static enum mrg_err read_body(struct reading *reading, enum mrg_body_kind kind, const char *what,
                              struct mrg_slice raw, struct mrg_error *err)
{
    struct mrg_body *body = &reading->request->body;
    if (body->kind != MRG_BODY_NONE)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "%s is a second body; expected one of body, body_text and body_base64", what);
    if (kind != MRG_BODY_JSON && *raw.ptr != '"')
        return mrg_jsontext_expected(err, what, raw, "a string");
    if (kind == MRG_BODY_JSON) {
        body->bytes = mrg_jsontext_minified(reading->arena, raw);
    } else {
        body->bytes = mrg_jsontext_string(reading->arena, raw);
        if (kind == MRG_BODY_BINARY && !mrg_base64_decode(reading->arena, body->bytes, &body->bytes))
            return mrg_jsontext_expected(err, what, raw, "base64 with padding");
    }
    body->kind = body->bytes.len > 0 ? kind : MRG_BODY_NONE;
    return MRG_ERR_OK;
}

static enum mrg_err read_member(struct reading *reading, struct mrg_slice key, struct mrg_slice raw,
                                struct mrg_error *err)
{
    if (mrg_slice_eq_str(key, "method"))
        return mrg_jsontext_read_string(reading->arena, "\"method\"", raw, &reading->request->method, err);
    if (mrg_slice_eq_str(key, "path"))
        return mrg_jsontext_read_string(reading->arena, "\"path\"", raw, &reading->request->path, err);
    if (mrg_slice_eq_str(key, "query"))
        return mrg_jsontext_pairs(reading->arena, "\"query\"", raw, add_query, reading, err);
    if (mrg_slice_eq_str(key, "headers"))
        return mrg_jsontext_pairs(reading->arena, "\"headers\"", raw, add_header, reading, err);
    if (mrg_slice_eq_str(key, "body"))
        return read_body(reading, MRG_BODY_JSON, "\"body\"", raw, err);
    if (mrg_slice_eq_str(key, "body_text"))
        return read_body(reading, MRG_BODY_TEXT, "\"body_text\"", raw, err);
    if (mrg_slice_eq_str(key, "body_base64"))
        return read_body(reading, MRG_BODY_BINARY, "\"body_base64\"", raw, err);
    return mrg_error_set(
        err, MRG_ERR_INVALID,
        "unknown member \"%.*s\"; expected method, path, query, headers, body, body_text or body_base64",
        (int)(key.len < 60 ? key.len : 60), key.ptr);
}

enum mrg_err mrg_request_parse(struct mrg_arena *arena, struct mrg_slice json,
                               struct mrg_request *ret_request, struct mrg_error *err)
{
    struct mrg_request request = {.query = MRG_SLICE(""), .body = {MRG_BODY_NONE, MRG_SLICE("")}};
    struct reading reading = {.arena = arena, .request = &request};
    enum mrg_err code = mrg_json_check(json, err);
    if (code)
        return code;
    size_t cursor = 0;
    struct mrg_slice key, raw;
    mrg_buf_init(&reading.query, SIZE_MAX);
    while (!code && mrg_json_next(json, &cursor, &key, &raw))
        code = read_member(&reading, key, raw, err);
    if (!code && !request.method.ptr)
        code = mrg_jsontext_expected(err, "\"method\"", request.method, "a string");
    if (!code && !request.path.ptr)
        code = mrg_jsontext_expected(err, "\"path\"", request.path, "a string");
    if (!code) {
        request.query = mrg_arena_take_buf(arena, &reading.query);
        *ret_request = request;
    }
    mrg_buf_done(&reading.query);
    return code;
}
