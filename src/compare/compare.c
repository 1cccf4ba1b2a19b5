// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "compare/compare_int.h"
#include "core/limits.h"
#include "util/json.h"

/* Marking the nodes that one path names. */
struct marking {
    struct mrg_marks *marks;
    const struct mrg_rule *rule; /* NULL: a set */
};

static struct json_object *mark(void *ctx, struct json_object *node, bool *ret_remove)
{
    struct marking *marking = ctx;
    struct mrg_marks *marks = marking->marks;
    *ret_remove = false;
    if (node) {
        mrg_grow((void **)&marks->items, &marks->room, marks->count, sizeof(*marks->items));
        marks->items[marks->count++] = (struct mrg_marked){node, marking->rule};
    }
    return json_object_get(node);
}

static struct json_object *drop(void *ctx, struct json_object *node, bool *ret_remove)
{
    (void)ctx;
    (void)node;
    *ret_remove = true;
    return NULL;
}

static int by_node(const void *a, const void *b)
{
    const struct mrg_marked *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

/* The first rule that names a node is its rule, so of equal nodes only the first marked stays. */
static void sort_marks(struct mrg_marks *marks)
{
    size_t kept = 0;
    for (size_t i = 0; i < marks->count; i++) {
        bool again = false;
        for (size_t j = 0; j < kept && !again; j++)
            again = marks->items[j].node == marks->items[i].node;
        if (!again)
            marks->items[kept++] = marks->items[i];
    }
    marks->count = kept;
    if (kept > 0)
        qsort(marks->items, kept, sizeof(*marks->items), by_node);
}

static void mark_tree(struct mrg_walk *walk, struct json_object **tree)
{
    const struct mrg_compare *compare = walk->compare;
    for (size_t i = 0; i < compare->rule_count; i++) {
        struct marking marking = {&walk->marks, &compare->rules[i]};
        mrg_jpath_apply(compare->rules[i].path, tree, mark, &marking);
    }
    for (size_t i = 0; i < compare->set_count; i++) {
        struct marking marking = {&walk->marks, NULL};
        mrg_jpath_apply(compare->sets[i], tree, mark, &marking);
    }
    sort_marks(&walk->marks);
}

static void drop_ignored(const struct mrg_compare *compare, struct json_object **tree)
{
    for (size_t i = 0; i < compare->ignore_count; i++)
        mrg_jpath_apply(compare->ignore[i], tree, drop, NULL);
}

/* A body as a tree: JSON as it is, text as a string. False: neither. */
static bool tree_of(const struct mrg_body *body, struct json_object **ret_tree)
{
    if (body->kind == MRG_BODY_JSON && mrg_json_parse(body->bytes, ret_tree, NULL) == MRG_ERR_OK)
        return true;
    if (body->kind != MRG_BODY_TEXT && body->kind != MRG_BODY_JSON)
        return false;
    *ret_tree = json_object_new_string_len(body->bytes.ptr, (int)body->bytes.len);
    return true;
}

static const char *form_of(const struct mrg_body *body)
{
    switch (body->kind) {
    case MRG_BODY_NONE:
        return "no body";
    case MRG_BODY_JSON:
        return "JSON";
    case MRG_BODY_TEXT:
        return "text";
    case MRG_BODY_BINARY:
        break;
    }
    return "bytes";
}

static void compare_json(struct mrg_walk *walk, const struct mrg_body *real, const struct mrg_body *simulated)
{
    struct json_object *a = NULL, *b = NULL;
    bool both = tree_of(real, &a);
    both = tree_of(simulated, &b) && both;
    if (both) {
        drop_ignored(walk->compare, &a);
        drop_ignored(walk->compare, &b);
        mark_tree(walk, &a);
        mrg_compare_trees(walk, "body", a, b);
        walk->marks.count = 0;
    }
    json_object_put(a);
    json_object_put(b);
}

static void compare_bodies(struct mrg_walk *walk, const struct mrg_body *real,
                           const struct mrg_body *simulated)
{
    size_t length = mrg_walk_enter(walk, "body");
    if (real->kind != simulated->kind)
        mrg_walk_tell(walk, MRG_STAGE_GATE, MRG_VERDICT_DIFFERENT, "%s became %s", form_of(real),
                      form_of(simulated));
    else if (real->kind == MRG_BODY_BINARY && !mrg_slice_eq(real->bytes, simulated->bytes))
        mrg_walk_tell(walk, MRG_STAGE_ORACLE, MRG_VERDICT_DIFFERENT, "%zu bytes became %zu others",
                      real->bytes.len, simulated->bytes.len);
    else if (real->kind == MRG_BODY_JSON || real->kind == MRG_BODY_TEXT)
        compare_json(walk, real, simulated);
    mrg_walk_leave(walk, length);
}

static struct mrg_body details_of(const struct mrg_reply *reply)
{
    bool some = reply->grpc_details.ptr != NULL;
    return (struct mrg_body){.kind = some ? MRG_BODY_JSON : MRG_BODY_NONE, .bytes = reply->grpc_details};
}

static const char *message_of(struct mrg_arena *arena, const struct mrg_reply *reply)
{
    const struct mrg_slice *message = &reply->grpc_message;
    return mrg_arena_memdup(arena, message->ptr ? message->ptr : "", message->len);
}

/* What gRPC has beside headers and body. */
static void compare_grpc(struct mrg_walk *walk, const struct mrg_reply *real,
                         const struct mrg_reply *simulated)
{
    struct mrg_body a = details_of(real), b = details_of(simulated);
    size_t length = mrg_walk_enter(walk, "grpc_message");
    mrg_compare_texts(walk, "grpc_message", message_of(walk->arena, real),
                      message_of(walk->arena, simulated));
    mrg_walk_leave(walk, length);
    length = mrg_walk_enter(walk, "grpc_details");
    if (a.kind != b.kind)
        mrg_walk_tell(walk, MRG_STAGE_GATE, MRG_VERDICT_DIFFERENT, a.kind ? "missing" : "not expected");
    else
        compare_json(walk, &a, &b);
    mrg_walk_leave(walk, length);
    struct mrg_headers_pair trailers = {real->trailers, real->trailer_count, simulated->trailers,
                                        simulated->trailer_count};
    mrg_compare_headers(walk, "trailer", &trailers);
}

static bool compare_statuses(struct mrg_walk *walk, const struct mrg_reply *real,
                             const struct mrg_reply *simulated, bool grpc)
{
    int a = grpc ? mrg_reply_grpc_status(real) : real->status;
    int b = grpc ? mrg_reply_grpc_status(simulated) : simulated->status;
    size_t length = mrg_walk_enter(walk, "status");
    if (a != b)
        mrg_walk_tell(walk, MRG_STAGE_GATE, MRG_VERDICT_DIFFERENT, "%d became %d", a, b);
    /* An envelope may carry both. */
    bool both = grpc && real->status && simulated->status && real->status != simulated->status;
    if (both)
        mrg_walk_tell(walk, MRG_STAGE_GATE, MRG_VERDICT_DIFFERENT, "%d became %d", real->status,
                      simulated->status);
    mrg_walk_leave(walk, length);
    return a == b && !both;
}

/* The gate's findings first, each stage's in document order. */
static void order_findings(struct mrg_walk *walk, size_t count, struct mrg_finding *ret_findings)
{
    size_t at = 0;
    for (int stage = MRG_STAGE_GATE; stage <= MRG_STAGE_ORACLE; stage++)
        for (size_t i = 0; i < count; i++)
            if ((int)walk->findings[i].stage == stage)
                ret_findings[at++] = walk->findings[i];
}

static void sum_up(struct mrg_walk *walk, struct mrg_comparison *comparison)
{
    size_t told = walk->count < MRG_MAX_FINDINGS ? walk->count : MRG_MAX_FINDINGS;
    comparison->findings = mrg_arena_alloc(walk->arena, (told + 1) * sizeof(*comparison->findings));
    comparison->finding_count = told;
    order_findings(walk, told, comparison->findings);
    comparison->verdict = walk->worst;
}

void mrg_compare_replies(struct mrg_compare *compare, const struct mrg_reply *real,
                         const struct mrg_reply *simulated, struct mrg_arena *arena,
                         struct mrg_comparison *ret_comparison)
{
    struct mrg_walk walk = {.compare = compare, .arena = arena};
    bool grpc = real->has_grpc_status || simulated->has_grpc_status;
    struct mrg_headers_pair headers = {real->headers, real->header_count, simulated->headers,
                                       simulated->header_count};
    struct mrg_comparison comparison = {.findings = NULL};
    mrg_buf_init(&walk.path, SIZE_MAX);
    comparison.status_same = compare_statuses(&walk, real, simulated, grpc);
    walk.gate = false;
    compare_bodies(&walk, &real->body, &simulated->body);
    comparison.shape_same = !walk.gate;
    mrg_compare_headers(&walk, "header", &headers);
    if (grpc)
        compare_grpc(&walk, real, simulated);
    comparison.key_level = comparison.status_same && !walk.gate;
    sum_up(&walk, &comparison);
    comparison.identical =
        comparison.finding_count == 0 && mrg_slice_eq(real->body.bytes, simulated->body.bytes);
    *ret_comparison = comparison;
    compare->call++;
    free(walk.findings);
    free(walk.marks.items);
    mrg_buf_done(&walk.path);
}
