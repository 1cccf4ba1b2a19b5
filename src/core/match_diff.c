// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/match_int.h"
#include "core/limits.h"
#include "util/utf8.h"

/* How much a difference weighs: candidates with the same method and path come before all others. */
#define FAR_METHOD  1000000u
#define FAR_SEGMENT 10000u
#define FAR_PAIR    100u
#define FAR_BODY    200u
#define FAR_MOST    900000u /* what one body may add */

#define SHOWN 80 /* bytes of a value that a message shows */

#define FEW 32u /* pairs that are looked for one by one */

/* Pairs of a query or of headers, numbered. */
struct pairs {
    struct mrg_query_pair *items;
    size_t count;
    const struct mrg_query_pair **sorted; /* by key and index; NULL when they are few */
};

/* One request taken apart, as far as it is compared. */
struct side {
    const struct mrg_request *request;
    struct mrg_slice boundary; /* of a multipart body; ptr NULL: none */
    struct pairs query;
    struct pairs headers;
};

struct mrg_match_differ {
    const struct mrg_match *match;
    struct mrg_arena *arena;
    struct mrg_request shown; /* what `here` would be, read back from a file */
    size_t size;              /* bytes of its normal form */
    struct side here;
    struct mrg_slice text;    /* its body, the boundary replaced; not of JSON */
    struct json_object *tree; /* its JSON body, what is ignored dropped; made when first needed */
    bool parsed;              /* that was tried */
    bool has_tree;            /* and it is there: NULL may be null */
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

void mrg_diff_tell(struct mrg_diff *diff, unsigned distance, struct mrg_slice what, struct mrg_slice here,
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

static void tell_texts(struct mrg_diff *diff, unsigned distance, struct mrg_slice what,
                       const struct mrg_slice *here, const struct mrg_slice *recorded)
{
    struct mrg_buf a, b;
    mrg_buf_init(&a, SIZE_MAX);
    mrg_buf_init(&b, SIZE_MAX);
    if (here && !diff->told)
        mrg_json_append_string(&a, *here);
    if (recorded && !diff->told)
        mrg_json_append_string(&b, *recorded);
    mrg_diff_tell(diff, distance, what, (struct mrg_slice){here ? a.data : NULL, a.len},
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

static void diff_target(struct mrg_diff *diff, const struct mrg_request *here,
                        const struct mrg_request *recorded)
{
    if (!mrg_slice_eq(here->method, recorded->method))
        tell_texts(diff, FAR_METHOD, MRG_SLICE("method"), &here->method, &recorded->method);
    if (!diff->match->ignore.parts[MRG_JPATH_PATH] && !mrg_slice_eq(here->path, recorded->path))
        tell_texts(diff, FAR_SEGMENT * segments_apart(here->path, recorded->path), MRG_SLICE("path"),
                   &here->path, &recorded->path);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct mrg_query_pair *x = *(const struct mrg_query_pair *const *)a;
    const struct mrg_query_pair *y = *(const struct mrg_query_pair *const *)b;
    if (x->key.len != y->key.len)
        return x->key.len < y->key.len ? -1 : 1;
    int order = x->key.len > 0 ? memcmp(x->key.ptr, y->key.ptr, x->key.len) : 0;
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static void sort_pairs(struct mrg_arena *arena, struct pairs *pairs)
{
    pairs->sorted = NULL;
    if (pairs->count <= FEW)
        return;
    pairs->sorted = mrg_arena_alloc(arena, pairs->count * sizeof(struct mrg_query_pair *));
    for (size_t i = 0; i < pairs->count; i++)
        pairs->sorted[i] = &pairs->items[i];
    qsort(pairs->sorted, pairs->count, sizeof(struct mrg_query_pair *), compare_pairs);
}

static const struct mrg_query_pair *find_pair(const struct pairs *pairs, const struct mrg_query_pair *like)
{
    if (pairs->sorted) {
        const struct mrg_query_pair *const *found =
            bsearch(&like, pairs->sorted, pairs->count, sizeof(struct mrg_query_pair *), compare_pairs);
        return found ? *found : NULL;
    }
    for (size_t i = 0; i < pairs->count; i++) {
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without items the count is 0
        if (pairs->items[i].index == like->index && mrg_slice_eq(pairs->items[i].key, like->key))
            return &pairs->items[i];
    }
    return NULL;
}

static void diff_pairs(struct mrg_diff *diff, const char *part, const struct pairs *here,
                       const struct pairs *recorded)
{
    struct mrg_buf what;
    mrg_buf_init(&what, SIZE_MAX);
    for (size_t i = 0; i < here->count + recorded->count; i++) {
        const struct mrg_query_pair *a = i < here->count ? &here->items[i] : NULL;
        const struct mrg_query_pair *b = a ? find_pair(recorded, a) : &recorded->items[i - here->count];
        if (a ? (b && mrg_slice_eq(a->value, b->value)) : find_pair(here, b) != NULL)
            continue;
        mrg_buf_clear(&what);
        mrg_buf_append_str(&what, part);
        append_cut(&what, a ? a->key : b->key);
        tell_texts(diff, FAR_PAIR, mrg_buf_slice(&what), a ? &a->value : NULL, b ? &b->value : NULL);
    }
    mrg_buf_done(&what);
}

static struct pairs query_pairs(const struct mrg_match *match, struct mrg_arena *arena,
                                struct mrg_slice query)
{
    struct pairs pairs;
    size_t count;
    pairs.items = mrg_query_read(arena, query, &count);
    pairs.count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!mrg_rules_query(&match->ignore, pairs.items[i].key))
            pairs.items[pairs.count++] = pairs.items[i];
    }
    sort_pairs(arena, &pairs);
    return pairs;
}

static struct pairs header_pairs(const struct mrg_match *match, struct mrg_arena *arena,
                                 const struct mrg_request *request, struct mrg_slice boundary)
{
    struct pairs pairs;
    pairs.items = mrg_arena_alloc(arena, (request->header_count + 1) * sizeof(*pairs.items));
    pairs.count = mrg_match_headers(match, request, pairs.items);
    for (size_t i = 0; i < pairs.count && boundary.len > 0; i++) {
        struct mrg_query_pair *pair = &pairs.items[i];
        if (!mrg_slice_eq_str(pair->key, "content-type"))
            continue;
        struct mrg_buf buf;
        mrg_buf_init(&buf, SIZE_MAX);
        mrg_multipart_append(&buf, pair->value, boundary);
        pair->value = mrg_arena_take_buf(arena, &buf);
    }
    sort_pairs(arena, &pairs);
    return pairs;
}

static struct side side_of(const struct mrg_match *match, struct mrg_arena *arena,
                           const struct mrg_request *request)
{
    struct side side = {.request = request, .boundary = {NULL, 0}};
    if (request->body.kind != MRG_BODY_JSON)
        mrg_multipart_boundary(request, &side.boundary);
    side.query = query_pairs(match, arena, request->query);
    side.headers = header_pairs(match, arena, request, side.boundary);
    return side;
}

/* The bytes of a body that is no JSON, as they are compared. */
static struct mrg_slice compared_bytes(struct mrg_arena *arena, const struct side *side)
{
    struct mrg_buf buf;
    if (side->boundary.len == 0)
        return side->request->body.bytes;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_multipart_append(&buf, side->request->body.bytes, side->boundary);
    return mrg_arena_take_buf(arena, &buf);
}

static struct mrg_slice kind_name(const struct mrg_body *body)
{
    static const char *const names[] = {"no body", "a JSON body", "a text body", "a binary body"};
    return mrg_slice_of(names[body->bytes.len == 0 ? MRG_BODY_NONE : body->kind]);
}

static void diff_bytes(struct mrg_diff *diff, struct mrg_slice here, struct mrg_slice recorded)
{
    if (mrg_slice_eq(here, recorded))
        return;
    size_t same = 0;
    while (same < here.len && same < recorded.len && here.ptr[same] == recorded.ptr[same])
        same++;
    struct mrg_buf what;
    mrg_buf_init(&what, SIZE_MAX);
    mrg_buf_appendf(&what, "body (from byte %zu)", same);
    /* A sentence shows a few bytes only; one more tells it that there are more. */
    struct mrg_slice rest_here = {here.ptr + same, here.len - same};
    struct mrg_slice rest_recorded = {recorded.ptr + same, recorded.len - same};
    rest_here.len = rest_here.len > 2 * SHOWN ? 2 * SHOWN : rest_here.len;
    rest_recorded.len = rest_recorded.len > 2 * SHOWN ? 2 * SHOWN : rest_recorded.len;
    tell_texts(diff, FAR_BODY, mrg_buf_slice(&what), &rest_here, &rest_recorded);
    mrg_buf_done(&what);
}

static bool make_tree(struct mrg_match_differ *differ)
{
    if (!differ->parsed) {
        differ->parsed = true;
        differ->has_tree = mrg_json_parse(differ->shown.body.bytes, &differ->tree, NULL) == MRG_ERR_OK;
        if (differ->has_tree)
            mrg_match_drop_ignored(differ->match, &differ->tree);
    }
    return differ->has_tree;
}

static void diff_json(struct mrg_match_differ *differ, struct mrg_diff *diff, struct mrg_slice recorded)
{
    const struct mrg_rules *ignore = &differ->match->ignore;
    struct mrg_slice here = differ->shown.body.bytes;
    struct json_object *tree = NULL;
    bool ignored = mrg_rules_may_apply(ignore, here) || mrg_rules_may_apply(ignore, recorded);
    bool large = here.len + recorded.len > MRG_MISS_BYTES && !ignored;
    if (!large && make_tree(differ) && mrg_json_parse(recorded, &tree, NULL) == MRG_ERR_OK) {
        mrg_match_drop_ignored(differ->match, &tree);
        mrg_diff_trees(diff, differ->tree, tree);
        json_object_put(tree);
        return;
    }
    struct mrg_hash128 x = mrg_json_hash(here);
    struct mrg_hash128 y = mrg_json_hash(recorded);
    if (x.low == y.low && x.high == y.high)
        return;
    if (large)
        diff_bytes(diff, here, recorded);
    else
        mrg_diff_tell(diff, FAR_BODY, MRG_SLICE("body"), here, recorded);
}

static void diff_body(struct mrg_match_differ *differ, struct mrg_diff *diff, struct mrg_arena *arena,
                      const struct side *recorded)
{
    const struct mrg_body *here = &differ->shown.body;
    const struct mrg_body *other = &recorded->request->body;
    struct mrg_slice of_here = kind_name(here);
    struct mrg_slice of_recorded = kind_name(other);
    unsigned before = diff->distance;
    if (differ->match->ignore.whole_body)
        return;
    if (!mrg_slice_eq(of_here, of_recorded))
        mrg_diff_tell(diff, FAR_BODY, MRG_SLICE("body"), of_here, of_recorded);
    else if (here->bytes.len > 0 && here->kind == MRG_BODY_JSON)
        diff_json(differ, diff, other->bytes);
    else if (here->bytes.len > 0)
        diff_bytes(diff, differ->text, compared_bytes(arena, recorded));
    if (diff->distance - before > FAR_MOST)
        diff->distance = before + FAR_MOST;
}

struct mrg_match_differ *mrg_match_differ_new(const struct mrg_match *match, const struct mrg_request *here)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_match_differ *differ = mrg_arena_zalloc(arena, sizeof(*differ));
    struct mrg_buf buf;
    differ->match = match;
    differ->arena = arena;
    differ->shown = *here;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_request_append_json(&buf, here, mrg_match_shows, match);
    differ->size = buf.len;
    mrg_request_parse(arena, mrg_buf_slice(&buf), &differ->shown, NULL);
    mrg_buf_done(&buf);
    differ->here = side_of(match, arena, &differ->shown);
    if (differ->shown.body.kind != MRG_BODY_JSON)
        differ->text = compared_bytes(arena, &differ->here);
    return differ;
}

void mrg_match_differ_free(struct mrg_match_differ *differ)
{
    if (!differ)
        return;
    json_object_put(differ->tree);
    mrg_arena_free(differ->arena);
}

size_t mrg_match_differ_size(const struct mrg_match_differ *differ)
{
    return differ->size;
}

unsigned mrg_match_differ_target(const struct mrg_match_differ *differ, struct mrg_slice method,
                                 struct mrg_slice path)
{
    const struct mrg_request *here = &differ->shown;
    unsigned distance = mrg_slice_eq(here->method, method) ? 0 : FAR_METHOD;
    if (!differ->match->ignore.parts[MRG_JPATH_PATH] && !mrg_slice_eq(here->path, path))
        distance += FAR_SEGMENT * segments_apart(here->path, path);
    return distance;
}

unsigned mrg_match_differ_compare(struct mrg_match_differ *differ, const struct mrg_request *recorded,
                                  struct mrg_buf *buf)
{
    struct mrg_diff diff = {.match = differ->match, .buf = buf};
    struct mrg_arena *arena = mrg_arena_new(0);
    struct side other = side_of(differ->match, arena, recorded);
    mrg_buf_init(&diff.path, SIZE_MAX);
    diff_target(&diff, &differ->shown, recorded);
    diff_pairs(&diff, "query.", &differ->here.query, &other.query);
    diff_pairs(&diff, "header.", &differ->here.headers, &other.headers);
    diff_body(differ, &diff, arena, &other);
    mrg_buf_done(&diff.path);
    mrg_arena_free(arena);
    return diff.distance;
}
