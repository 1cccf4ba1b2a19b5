// SPDX-License-Identifier: Apache-2.0
/*
 * The key is computed for every request, so nothing here builds a tree unless a path of `ignore` may name
 * something in the body. All that is hashed is bytes or little-endian numbers: keys go into places, and
 * places into files.
 */
#include "core/match_int.h"

#include <endian.h>
#include <string.h>

#include "core/query.h"
#include "util/json.h"
#include "util/utf8.h"

#define FEW_HEADERS 32u /* headers for which the stack has room */

enum body_tag { TAG_NONE, TAG_JSON, TAG_TEXT, TAG_BINARY };

static struct mrg_hash128 hash_of(struct mrg_slice text, uint64_t seed)
{
    return mrg_hash128_of(text.ptr, text.len, seed);
}

/* As the normal form shows it, so that what is read back from there has the same. */
static struct mrg_hash128 path_hash(struct mrg_slice path)
{
    if (mrg_utf8_valid(path))
        return hash_of(path, 0);
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_hash128 hash = hash_of(mrg_uri_shown(arena, path), 0);
    mrg_arena_free(arena);
    return hash;
}

/* Sums do not depend on the order of different names; the index keeps that of one name's values. */
static void add_pair(struct mrg_hash128 *sum, struct mrg_slice name, unsigned index, struct mrg_slice value)
{
    struct mrg_hash128 hash = hash_of(value, hash_of(name, index).low);
    sum->low += hash.low;
    sum->high += hash.high;
}

static struct mrg_hash128 query_sum(const struct mrg_match *match, struct mrg_slice text)
{
    struct mrg_hash128 sum = {0, 0};
    struct mrg_query query;
    if (text.len == 0)
        return sum;
    mrg_query_init(&query, text);
    for (size_t i = 0; i < query.count; i++) {
        const struct mrg_query_pair *pair = &query.pairs[i];
        if (!mrg_rules_query(&match->ignore, pair->key))
            add_pair(&sum, pair->key, pair->index, pair->value);
    }
    mrg_query_done(&query);
    return sum;
}

size_t mrg_match_headers(const struct mrg_match *match, const struct mrg_request *request,
                         struct mrg_query_pair *pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct mrg_header *header = &request->headers[i];
        if (mrg_match_shows(match, header) && !mrg_header_is_implied(request, header) &&
            !mrg_rules_header(&match->ignore, header->name))
            pairs[count++] = (struct mrg_query_pair){.key = header->name, .value = header->value};
    }
    mrg_query_number(pairs, count);
    return count;
}

static void add_header(struct mrg_hash128 *sum, const struct mrg_query_pair *pair, struct mrg_slice boundary)
{
    if (boundary.len == 0 || !mrg_slice_eq_str(pair->key, "content-type")) {
        struct mrg_arena *arena = NULL;
        add_pair(sum, pair->key, pair->index, mrg_header_shown(&arena, pair->value));
        mrg_arena_free(arena);
        return;
    }
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_multipart_append(&buf, pair->value, boundary);
    add_pair(sum, pair->key, pair->index, mrg_buf_slice(&buf));
    mrg_buf_done(&buf);
}

static struct mrg_hash128 header_sum(const struct mrg_match *match, const struct mrg_request *request,
                                     struct mrg_slice boundary)
{
    struct mrg_hash128 sum = {0, 0};
    struct mrg_query_pair few[FEW_HEADERS];
    struct mrg_query_pair *pairs = few;
    if (request->header_count > FEW_HEADERS)
        pairs = mrg_malloc(request->header_count * sizeof(*pairs));
    size_t count = mrg_match_headers(match, request, pairs);
    for (size_t i = 0; i < count; i++)
        add_header(&sum, &pairs[i], boundary);
    if (pairs != few)
        free(pairs);
    return sum;
}

static struct json_object *drop(void *ctx, struct json_object *node, bool *ret_remove)
{
    (void)ctx;
    (void)node;
    *ret_remove = true;
    return NULL;
}

void mrg_match_drop_ignored(const struct mrg_match *match, struct json_object **tree)
{
    for (size_t i = 0; i < match->ignore.count; i++)
        mrg_jpath_apply(match->ignore.items[i].path, tree, drop, NULL);
}

static struct mrg_hash128 json_hash(const struct mrg_match *match, struct mrg_slice text)
{
    struct json_object *tree = NULL;
    if (!mrg_rules_may_apply(&match->ignore, text) || mrg_json_parse(text, &tree, NULL) != MRG_ERR_OK)
        return mrg_json_hash(text);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_match_drop_ignored(match, &tree);
    mrg_json_append_tree(&buf, tree);
    struct mrg_hash128 hash = mrg_json_hash(mrg_buf_slice(&buf));
    json_object_put(tree);
    mrg_buf_done(&buf);
    return hash;
}

static struct mrg_hash128 bytes_hash(struct mrg_slice bytes, struct mrg_slice boundary)
{
    if (boundary.len == 0)
        return mrg_hash128_of(bytes.ptr, bytes.len, 0);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_multipart_append(&buf, bytes, boundary);
    struct mrg_hash128 hash = mrg_hash128_of(buf.data, buf.len, 0);
    mrg_buf_done(&buf);
    return hash;
}

static enum body_tag body_hash(const struct mrg_match *match, const struct mrg_body *body,
                               struct mrg_slice boundary, struct mrg_hash128 *ret_hash)
{
    if (body->kind == MRG_BODY_NONE || body->bytes.len == 0 || match->ignore.whole_body)
        return TAG_NONE;
    if (body->kind == MRG_BODY_JSON) {
        *ret_hash = json_hash(match, body->bytes);
        return TAG_JSON;
    }
    *ret_hash = bytes_hash(body->bytes, boundary);
    return body->kind == MRG_BODY_TEXT ? TAG_TEXT : TAG_BINARY;
}

static struct mrg_hash128 key_of(const struct mrg_match *match, const struct mrg_request *request)
{
    struct mrg_hash128 path = {0, 0}, body = {0, 0};
    struct mrg_slice boundary = {NULL, 0};
    if (request->body.kind == MRG_BODY_TEXT || request->body.kind == MRG_BODY_BINARY)
        mrg_multipart_boundary(request, &boundary);
    if (!match->ignore.parts[MRG_JPATH_PATH])
        path = path_hash(request->path);
    struct mrg_hash128 query = query_sum(match, request->query);
    struct mrg_hash128 headers = header_sum(match, request, boundary);
    uint64_t tag = body_hash(match, &request->body, boundary, &body);
    uint64_t parts[10] = {
        htole64(hash_of(request->method, 0).low),
        htole64(path.low),
        htole64(path.high),
        htole64(query.low),
        htole64(query.high),
        htole64(headers.low),
        htole64(headers.high),
        htole64(tag),
        htole64(body.low),
        htole64(body.high),
    };
    return mrg_hash128_of(parts, sizeof(parts), 0);
}

struct mrg_hash128 mrg_match_key(const struct mrg_match *match, const struct mrg_request *request)
{
    if (!match->shape)
        return key_of(match, request);
    struct mrg_arena *arena = NULL;
    struct mrg_hash128 key = key_of(match, match->shape->ops->canonical(match->shape, &arena, request));
    mrg_arena_free(arena);
    return key;
}
