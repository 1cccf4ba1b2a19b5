// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/match_int.h"
#include "core/query.h"
#include "util/json.h"
#include "util/utf8.h"

/* How much a difference weighs: candidates with the same method and path come before all others. */
#define FAR_METHOD  1000000u
#define FAR_SEGMENT 10000u
#define FAR_PAIR    100u
#define FAR_BODY    200u
#define FAR_LEAF    10u
#define FAR_MOST    900000u /* what one body may add */

#define SHOWN 80 /* bytes of a value that a message shows */

struct diff {
    const struct mrg_match *match;
    struct mrg_buf *buf; /* the first difference goes there */
    bool told;           /* it has */
    unsigned distance;   /* so far */
    struct mrg_buf path; /* where in the body */
};

static void append_cut(struct mrg_buf *buf, struct mrg_slice text)
{
    mrg_buf_append(buf, text.ptr, text.len > SHOWN ? mrg_utf8_cut(text, SHOWN) : text.len);
    if (text.len > SHOWN)
        mrg_buf_append_str(buf, "…");
}

/* A side that has no value has ptr NULL. Values are JSON texts. */
static void append_side(struct mrg_buf *buf, struct mrg_slice json, const char *where)
{
    if (json.ptr)
        append_cut(buf, json);
    else
        mrg_buf_append_str(buf, "nothing");
    mrg_buf_append_char(buf, ' ');
    mrg_buf_append_str(buf, where);
}

static void tell(struct diff *diff, unsigned distance, struct mrg_slice what, struct mrg_slice here,
                 struct mrg_slice recorded)
{
    diff->distance += distance;
    if (diff->told)
        return;
    diff->told = true;
    mrg_buf_append_slice(diff->buf, what);
    mrg_buf_append_str(diff->buf, ": ");
    append_side(diff->buf, here, "here");
    mrg_buf_append_str(diff->buf, ", ");
    append_side(diff->buf, recorded, "recorded");
}

static void tell_texts(struct diff *diff, unsigned distance, struct mrg_slice what,
                       const struct mrg_slice *here, const struct mrg_slice *recorded)
{
    struct mrg_buf a, b;
    mrg_buf_init(&a, SIZE_MAX);
    mrg_buf_init(&b, SIZE_MAX);
    if (here)
        mrg_json_append_string(&a, *here);
    if (recorded)
        mrg_json_append_string(&b, *recorded);
    tell(diff, distance, what, (struct mrg_slice){here ? a.data : NULL, a.len},
         (struct mrg_slice){recorded ? b.data : NULL, b.len});
    mrg_buf_done(&a);
    mrg_buf_done(&b);
}

static struct mrg_slice next_segment(struct mrg_slice *rest)
{
    const char *slash = rest->len > 0 ? memchr(rest->ptr, '/', rest->len) : NULL;
    struct mrg_slice segment = {rest->ptr, slash ? (size_t)(slash - rest->ptr) : rest->len};
    size_t past = segment.len + (slash ? 1 : 0);
    *rest = (struct mrg_slice){rest->ptr + past, rest->len - past};
    return segment;
}

static unsigned segments_apart(struct mrg_slice a, struct mrg_slice b)
{
    unsigned count = 0;
    while (a.len > 0 || b.len > 0) {
        bool more = a.len > 0 && b.len > 0;
        struct mrg_slice of_a = next_segment(&a);
        struct mrg_slice of_b = next_segment(&b);
        count += !more || !mrg_slice_eq(of_a, of_b);
    }
    return count ? count : 1;
}

static void diff_target(struct diff *diff, const struct mrg_request *here, const struct mrg_request *recorded)
{
    if (!mrg_slice_eq(here->method, recorded->method))
        tell_texts(diff, FAR_METHOD, MRG_SLICE("method"), &here->method, &recorded->method);
    if (!diff->match->ignore.parts[MRG_JPATH_PATH] && !mrg_slice_eq(here->path, recorded->path))
        tell_texts(diff, FAR_SEGMENT * segments_apart(here->path, recorded->path), MRG_SLICE("path"),
                   &here->path, &recorded->path);
}

static const struct mrg_query_pair *find_pair(const struct mrg_query_pair *pairs, size_t count,
                                              const struct mrg_query_pair *like)
{
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].index == like->index && mrg_slice_eq(pairs[i].key, like->key))
            return &pairs[i];
    }
    return NULL;
}

static void diff_pairs(struct diff *diff, const char *part, const struct mrg_query_pair *here,
                       size_t here_count, const struct mrg_query_pair *recorded, size_t recorded_count)
{
    struct mrg_buf what;
    mrg_buf_init(&what, SIZE_MAX);
    for (size_t i = 0; i < here_count + recorded_count; i++) {
        const struct mrg_query_pair *a = i < here_count ? &here[i] : NULL;
        const struct mrg_query_pair *b =
            a ? find_pair(recorded, recorded_count, a) : &recorded[i - here_count];
        if (a ? (b && mrg_slice_eq(a->value, b->value)) : find_pair(here, here_count, b) != NULL)
            continue;
        mrg_buf_clear(&what);
        mrg_buf_append_str(&what, part);
        append_cut(&what, a ? a->key : b->key);
        tell_texts(diff, FAR_PAIR, mrg_buf_slice(&what), a ? &a->value : NULL, b ? &b->value : NULL);
    }
    mrg_buf_done(&what);
}

static struct mrg_query_pair *query_pairs(const struct diff *diff, struct mrg_arena *arena,
                                          struct mrg_slice query, size_t *ret_count)
{
    size_t count, kept = 0;
    struct mrg_query_pair *pairs = mrg_query_read(arena, query, &count);
    for (size_t i = 0; i < count; i++) {
        if (!mrg_rules_query(&diff->match->ignore, pairs[i].key))
            pairs[kept++] = pairs[i];
    }
    *ret_count = kept;
    return pairs;
}

static struct mrg_query_pair *header_pairs(const struct diff *diff, struct mrg_arena *arena,
                                           const struct mrg_request *request, struct mrg_slice boundary,
                                           size_t *ret_count)
{
    struct mrg_query_pair *pairs = mrg_arena_alloc(arena, (request->header_count + 1) * sizeof(*pairs));
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct mrg_header *header = &request->headers[i];
        if (!mrg_match_counts(diff->match, request, header))
            continue;
        pairs[count] = (struct mrg_query_pair){header->name, header->value, 0};
        for (size_t j = 0; j < count; j++)
            pairs[count].index += mrg_slice_eq(pairs[j].key, header->name);
        if (boundary.len > 0 && mrg_slice_eq_str(header->name, "content-type")) {
            struct mrg_buf buf;
            mrg_buf_init(&buf, SIZE_MAX);
            mrg_multipart_append(&buf, header->value, boundary);
            pairs[count].value = (struct mrg_slice){mrg_arena_memdup(arena, buf.data, buf.len), buf.len};
            mrg_buf_done(&buf);
        }
        count++;
    }
    *ret_count = count;
    return pairs;
}

static void push_name(struct mrg_buf *path, const char *name)
{
    size_t plain = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    if (plain > 0 && name[plain] == '\0')
        mrg_buf_appendf(path, ".%s", name);
    else
        mrg_buf_appendf(path, "['%s']", name);
}

static void pop_to(struct mrg_buf *path, size_t len)
{
    path->len = len;
    path->data[len] = '\0';
}

static void diff_node(struct diff *diff, bool has_here, struct json_object *here, bool has_recorded,
                      struct json_object *recorded);

static void diff_objects(struct diff *diff, struct json_object *here, struct json_object *recorded)
{
    size_t len = diff->path.len;
    json_object_object_foreach (here, key, value) {
        struct json_object *other = NULL;
        bool has = json_object_object_get_ex(recorded, key, &other);
        push_name(&diff->path, key);
        diff_node(diff, true, value, has, other);
        pop_to(&diff->path, len);
    }
    json_object_object_foreach (recorded, name, only) {
        if (json_object_object_get_ex(here, name, NULL))
            continue;
        push_name(&diff->path, name);
        diff_node(diff, false, NULL, true, only);
        pop_to(&diff->path, len);
    }
}

static void diff_arrays(struct diff *diff, struct json_object *here, struct json_object *recorded)
{
    size_t len = diff->path.len;
    size_t a = json_object_array_length(here);
    size_t b = json_object_array_length(recorded);
    for (size_t i = 0; i < a || i < b; i++) {
        mrg_buf_appendf(&diff->path, "[%zu]", i);
        diff_node(diff, i < a, i < a ? json_object_array_get_idx(here, i) : NULL, i < b,
                  i < b ? json_object_array_get_idx(recorded, i) : NULL);
        pop_to(&diff->path, len);
    }
}

/* `has` tells JSON's null, which is NULL too, from a value that is not there. */
static void diff_node(struct diff *diff, bool has_here, struct json_object *here, bool has_recorded,
                      struct json_object *recorded)
{
    bool both = has_here && has_recorded;
    if (both && json_object_is_type(here, json_type_object) &&
        json_object_is_type(recorded, json_type_object)) {
        diff_objects(diff, here, recorded);
        return;
    }
    if (both && json_object_is_type(here, json_type_array) &&
        json_object_is_type(recorded, json_type_array)) {
        diff_arrays(diff, here, recorded);
        return;
    }
    struct mrg_buf a, b;
    mrg_buf_init(&a, SIZE_MAX);
    mrg_buf_init(&b, SIZE_MAX);
    if (has_here)
        mrg_json_append_tree(&a, here);
    if (has_recorded)
        mrg_json_append_tree(&b, recorded);
    struct mrg_slice of_a = {has_here ? a.data : NULL, a.len};
    struct mrg_slice of_b = {has_recorded ? b.data : NULL, b.len};
    bool equal = false;
    if (both) {
        struct mrg_hash128 x = mrg_json_hash(of_a);
        struct mrg_hash128 y = mrg_json_hash(of_b);
        equal = x.low == y.low && x.high == y.high;
    }
    if (!equal)
        tell(diff, FAR_LEAF, mrg_buf_slice(&diff->path), of_a, of_b);
    mrg_buf_done(&a);
    mrg_buf_done(&b);
}

static void diff_json(struct diff *diff, struct mrg_slice here, struct mrg_slice recorded)
{
    struct json_object *a = NULL, *b = NULL;
    bool parsed =
        mrg_json_parse(here, &a, NULL) == MRG_ERR_OK && mrg_json_parse(recorded, &b, NULL) == MRG_ERR_OK;
    if (parsed) {
        mrg_match_drop_ignored(diff->match, &a);
        mrg_match_drop_ignored(diff->match, &b);
        mrg_buf_append_str(&diff->path, "body.$");
        diff_node(diff, true, a, true, b);
    } else {
        struct mrg_hash128 x = mrg_json_hash(here);
        struct mrg_hash128 y = mrg_json_hash(recorded);
        if (x.low != y.low || x.high != y.high)
            tell(diff, FAR_BODY, MRG_SLICE("body"), here, recorded);
    }
    json_object_put(a);
    json_object_put(b);
}

static struct mrg_slice kind_name(const struct mrg_body *body)
{
    static const char *const names[] = {"no body", "a JSON body", "a text body", "a binary body"};
    return mrg_slice_of(names[body->bytes.len == 0 ? MRG_BODY_NONE : body->kind]);
}

static void diff_bytes(struct diff *diff, const struct mrg_body *here, struct mrg_slice here_boundary,
                       const struct mrg_body *recorded, struct mrg_slice recorded_boundary)
{
    struct mrg_buf a, b;
    mrg_buf_init(&a, SIZE_MAX);
    mrg_buf_init(&b, SIZE_MAX);
    if (here_boundary.len > 0)
        mrg_multipart_append(&a, here->bytes, here_boundary);
    else
        mrg_buf_append_slice(&a, here->bytes);
    if (recorded_boundary.len > 0)
        mrg_multipart_append(&b, recorded->bytes, recorded_boundary);
    else
        mrg_buf_append_slice(&b, recorded->bytes);
    struct mrg_slice of_a = mrg_buf_slice(&a);
    struct mrg_slice of_b = mrg_buf_slice(&b);
    if (!mrg_slice_eq(of_a, of_b)) {
        size_t same = 0;
        while (same < a.len && same < b.len && a.data[same] == b.data[same])
            same++;
        struct mrg_buf what;
        mrg_buf_init(&what, SIZE_MAX);
        mrg_buf_appendf(&what, "body (from byte %zu)", same);
        struct mrg_slice rest_a = {of_a.ptr + same, a.len - same};
        struct mrg_slice rest_b = {of_b.ptr + same, b.len - same};
        tell_texts(diff, FAR_BODY, mrg_buf_slice(&what), &rest_a, &rest_b);
        mrg_buf_done(&what);
    }
    mrg_buf_done(&a);
    mrg_buf_done(&b);
}

static void diff_body(struct diff *diff, const struct mrg_request *here, struct mrg_slice here_boundary,
                      const struct mrg_request *recorded, struct mrg_slice recorded_boundary)
{
    struct mrg_slice of_here = kind_name(&here->body);
    struct mrg_slice of_recorded = kind_name(&recorded->body);
    unsigned before = diff->distance;
    if (diff->match->ignore.whole_body)
        return;
    if (!mrg_slice_eq(of_here, of_recorded))
        tell(diff, FAR_BODY, MRG_SLICE("body"), of_here, of_recorded);
    else if (here->body.bytes.len > 0 && here->body.kind == MRG_BODY_JSON)
        diff_json(diff, here->body.bytes, recorded->body.bytes);
    else if (here->body.bytes.len > 0)
        diff_bytes(diff, &here->body, here_boundary, &recorded->body, recorded_boundary);
    if (diff->distance - before > FAR_MOST)
        diff->distance = before + FAR_MOST;
}

/* The request as it is shown: what was read back from a file is that already. */
static struct mrg_request shown(const struct mrg_match *match, struct mrg_arena *arena,
                                const struct mrg_request *request)
{
    struct mrg_request copy = *request;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_request_append_json(&buf, request, mrg_match_shows, (void *)(uintptr_t)match);
    mrg_request_parse(arena, mrg_buf_slice(&buf), &copy, NULL);
    mrg_buf_done(&buf);
    return copy;
}

static void diff_requests(struct diff *diff, struct mrg_arena *arena, const struct mrg_request *here,
                          const struct mrg_request *recorded)
{
    struct mrg_slice here_boundary = {NULL, 0}, recorded_boundary = {NULL, 0};
    size_t a, b;
    if (here->body.kind != MRG_BODY_JSON)
        mrg_multipart_boundary(here, &here_boundary);
    if (recorded->body.kind != MRG_BODY_JSON)
        mrg_multipart_boundary(recorded, &recorded_boundary);
    diff_target(diff, here, recorded);
    struct mrg_query_pair *of_here = query_pairs(diff, arena, here->query, &a);
    struct mrg_query_pair *of_recorded = query_pairs(diff, arena, recorded->query, &b);
    diff_pairs(diff, "query.", of_here, a, of_recorded, b);
    of_here = header_pairs(diff, arena, here, here_boundary, &a);
    of_recorded = header_pairs(diff, arena, recorded, recorded_boundary, &b);
    diff_pairs(diff, "header.", of_here, a, of_recorded, b);
    diff_body(diff, here, here_boundary, recorded, recorded_boundary);
}

unsigned mrg_match_diff(const struct mrg_match *match, const struct mrg_request *here,
                        const struct mrg_request *recorded, struct mrg_buf *buf)
{
    struct diff diff = {.match = match, .buf = buf};
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_request of_here = shown(match, arena, here);
    struct mrg_request of_recorded = shown(match, arena, recorded);
    mrg_buf_init(&diff.path, SIZE_MAX);
    diff_requests(&diff, arena, &of_here, &of_recorded);
    mrg_buf_done(&diff.path);
    mrg_arena_free(arena);
    return diff.distance;
}
