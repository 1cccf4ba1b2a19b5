// SPDX-License-Identifier: Apache-2.0
/*
 * The RPC behind a request: a tree of path segments over all bindings of a schema. Where several templates
 * fit, a verb goes before none, then, segment by segment, a literal before * and that before **; among equal
 * templates the first one.
 *
 * The tree is made when a schema is first asked, and hangs on the first of its bindings, since a schema knows
 * nothing of routes but these: threads that come at the same time each make one, and all but one throw theirs
 * away. After that it never changes.
 */
#include <string.h>

#include "util/hash.h"
#include "wire/route_int.h"

/* A binding whose template ends at a node. */
struct end {
    const struct mrg_method *method;
    const struct mrg_binding *binding;
    unsigned next; /* in ends; 0: none */
};

struct node {
    unsigned star;      /* the node behind any one segment; 0: none */
    unsigned first_end; /* of templates that end here, in ends; 0: none */
    unsigned last_end;
    unsigned first_rest; /* of those that end here with ** */
    unsigned last_rest;
};

/* From a node by a literal. */
struct edge {
    struct mrg_slice text; /* ptr NULL: the slot is free */
    unsigned from;
    unsigned to;
};

struct mrg_routes {
    struct node *nodes; /* 0 is the root */
    size_t node_count;
    size_t node_room;
    struct end *ends; /* 0 is not used */
    size_t end_count;
    size_t end_room;
    struct edge *edges; /* a hash table */
    size_t edge_room;   /* a power of 2, more than twice the edges there are */
    bool has_verbs;     /* some template has */
};

static bool cut_verb(struct mrg_slice *path, struct mrg_slice *ret_verb)
{
    size_t at = path->len;
    while (at > 0 && path->ptr[at - 1] != ':' && path->ptr[at - 1] != '/')
        at--;
    if (at == 0 || path->ptr[at - 1] == '/')
        return false;
    *ret_verb = (struct mrg_slice){path->ptr + at, path->len - at};
    path->len = at - 1;
    return true;
}

/* The segment that begins at *rest, behind a slash; *rest becomes what is behind it: ptr NULL when nothing. */
static struct mrg_slice cut_segment(struct mrg_slice *rest)
{
    const char *slash = memchr(rest->ptr, '/', rest->len);
    size_t len = slash ? (size_t)(slash - rest->ptr) : rest->len;
    struct mrg_slice segment = {rest->ptr, len};
    *rest = slash ? (struct mrg_slice){slash + 1, rest->len - len - 1} : (struct mrg_slice){NULL, 0};
    return segment;
}

static bool method_fits(const struct mrg_binding *binding, struct mrg_slice method)
{
    return binding->any_method || mrg_slice_eq(binding->method, method);
}

bool mrg_route_matches(const struct mrg_binding *binding, struct mrg_slice method, struct mrg_slice path,
                       struct mrg_slice *ret_values)
{
    struct mrg_slice verb = MRG_SLICE("");
    size_t next = 0; /* variable */
    if (!method_fits(binding, method) || path.len == 0 || *path.ptr != '/')
        return false;
    if (binding->verb.len > 0 && (!cut_verb(&path, &verb) || !mrg_slice_eq(verb, binding->verb)))
        return false;
    const char *end = path.ptr + path.len;
    struct mrg_slice rest = {path.ptr + 1, path.len - 1};
    for (size_t i = 0; i < binding->segment_count; i++) {
        const struct mrg_route_segment *segment = &binding->segments[i];
        const struct mrg_route_variable *variable =
            ret_values && next < binding->variable_count ? &binding->variables[next] : NULL;
        const char *start = rest.ptr ? rest.ptr : end;
        const char *past = end;
        if (segment->kind == MRG_ROUTE_REST) {
            rest.ptr = NULL;
        } else if (!rest.ptr) {
            return false;
        } else {
            struct mrg_slice piece = cut_segment(&rest);
            if (segment->kind == MRG_ROUTE_ONE ? piece.len == 0 : !mrg_slice_eq(piece, segment->text))
                return false;
            past = piece.ptr + piece.len;
        }
        if (variable && i == variable->first)
            ret_values[next].ptr = start;
        if (variable && i + 1 == variable->first + variable->count) {
            ret_values[next].len = (size_t)(past - ret_values[next].ptr);
            next++;
        }
    }
    return !rest.ptr;
}

static struct edge *slot_of(const struct mrg_routes *routes, unsigned from, struct mrg_slice text)
{
    size_t at = mrg_hash64(text.ptr, text.len, from) & (routes->edge_room - 1);
    while (routes->edges[at].text.ptr &&
           (routes->edges[at].from != from || !mrg_slice_eq(routes->edges[at].text, text)))
        at = (at + 1) & (routes->edge_room - 1);
    return &routes->edges[at];
}

static unsigned new_node(struct mrg_routes *routes)
{
    mrg_grow((void **)&routes->nodes, &routes->node_room, routes->node_count, sizeof(*routes->nodes));
    routes->nodes[routes->node_count] = (struct node){0};
    return (unsigned)routes->node_count++;
}

static unsigned child_of(struct mrg_routes *routes, unsigned from, const struct mrg_route_segment *segment)
{
    if (segment->kind == MRG_ROUTE_LITERAL) {
        struct edge *edge = slot_of(routes, from, segment->text);
        if (!edge->text.ptr)
            *edge = (struct edge){segment->text, from, new_node(routes)};
        return edge->to;
    }
    if (routes->nodes[from].star == 0) {
        unsigned star = new_node(routes);
        routes->nodes[from].star = star;
    }
    return routes->nodes[from].star;
}

static void add_end(struct mrg_routes *routes, unsigned *first, unsigned *last,
                    const struct mrg_method *method, const struct mrg_binding *binding)
{
    unsigned at = (unsigned)routes->end_count;
    mrg_grow((void **)&routes->ends, &routes->end_room, routes->end_count, sizeof(*routes->ends));
    routes->ends[routes->end_count++] = (struct end){method, binding, 0};
    if (*last > 0)
        routes->ends[*last].next = at;
    else
        *first = at;
    *last = at;
}

static void add(struct mrg_routes *routes, const struct mrg_method *method, const struct mrg_binding *binding)
{
    unsigned at = 0;
    size_t count = binding->segment_count;
    bool rest = binding->segments[count - 1].kind == MRG_ROUTE_REST;
    for (size_t i = 0; i < count - rest; i++)
        at = child_of(routes, at, &binding->segments[i]);
    struct node *node = &routes->nodes[at];
    if (rest)
        add_end(routes, &node->first_rest, &node->last_rest, method, binding);
    else
        add_end(routes, &node->first_end, &node->last_end, method, binding);
    routes->has_verbs |= binding->verb.len > 0;
}

typedef void (*binding_fn)(void *ctx, const struct mrg_method *method, const struct mrg_binding *binding);

static void each_binding(const struct mrg_service *const *services, size_t count, binding_fn fn, void *ctx)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < services[i]->method_count; j++) {
            const struct mrg_method *method = &services[i]->methods[j];
            for (size_t k = 0; k < method->binding_count; k++)
                fn(ctx, method, method->bindings[k]);
        }
    }
}

static void count_segments(void *ctx, const struct mrg_method *method, const struct mrg_binding *binding)
{
    size_t *count = ctx;
    (void)method;
    *count += binding->segment_count;
}

static void add_one(void *ctx, const struct mrg_method *method, const struct mrg_binding *binding)
{
    add(ctx, method, binding);
}

struct mrg_routes *mrg_routes_new(const struct mrg_service *const *services, size_t count)
{
    size_t segments = 0;
    struct mrg_routes *routes = mrg_zalloc(sizeof(*routes));
    each_binding(services, count, count_segments, &segments);
    routes->edge_room = 16;
    while (routes->edge_room < 2 * segments)
        routes->edge_room *= 2;
    routes->edges = mrg_zalloc(routes->edge_room * sizeof(*routes->edges));
    routes->end_count = 1;
    new_node(routes);
    each_binding(services, count, add_one, routes);
    return routes;
}

void mrg_routes_free(struct mrg_routes *routes)
{
    if (!routes)
        return;
    free(routes->nodes);
    free(routes->ends);
    free(routes->edges);
    free(routes);
}

/* What is looked for. */
struct search {
    const struct mrg_routes *routes;
    struct mrg_slice method;
    struct mrg_slice verb; /* empty: none */
};

/* A rule that names the method goes before one that is for all. */
static const struct end *end_from(const struct search *search, unsigned first)
{
    const struct end *any = NULL;
    for (unsigned at = first; at > 0; at = search->routes->ends[at].next) {
        const struct end *end = &search->routes->ends[at];
        if (!method_fits(end->binding, search->method) || !mrg_slice_eq(end->binding->verb, search->verb))
            continue;
        if (!end->binding->any_method)
            return end;
        any = any ? any : end;
    }
    return any;
}

/* Each node is visited at most once, whatever the path. */
static const struct end *descend(const struct search *search, unsigned at, struct mrg_slice rest)
{
    const struct node *node = &search->routes->nodes[at];
    const struct end *found = NULL;
    if (rest.ptr) {
        struct mrg_slice behind = rest;
        struct mrg_slice segment = cut_segment(&behind);
        const struct edge *edge = slot_of(search->routes, at, segment);
        if (edge->text.ptr)
            found = descend(search, edge->to, behind);
        if (!found && node->star > 0 && segment.len > 0)
            found = descend(search, node->star, behind);
    } else {
        found = end_from(search, node->first_end);
    }
    return found ? found : end_from(search, node->first_rest);
}

const struct mrg_method *mrg_routes_find(const struct mrg_routes *routes, struct mrg_slice method,
                                         struct mrg_slice path, const struct mrg_binding **ret_binding)
{
    struct search search = {routes, method, MRG_SLICE("")};
    struct mrg_slice before = path;
    const struct end *found = NULL;
    if (path.len == 0 || *path.ptr != '/')
        return NULL;
    if (routes->has_verbs && cut_verb(&before, &search.verb) && search.verb.len > 0)
        found = descend(&search, 0, (struct mrg_slice){before.ptr + 1, before.len - 1});
    search.verb = MRG_SLICE("");
    if (!found)
        found = descend(&search, 0, (struct mrg_slice){path.ptr + 1, path.len - 1});
    if (!found)
        return NULL;
    *ret_binding = found->binding;
    return found->method;
}

static struct mrg_binding *first_binding(const struct mrg_service *const *services, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < services[i]->method_count; j++) {
            if (services[i]->methods[j].binding_count > 0)
                return services[i]->methods[j].bindings[0];
        }
    }
    return NULL;
}

static const struct mrg_routes *routes_of(const struct mrg_schema *schema)
{
    size_t count;
    const struct mrg_service *const *services = mrg_schema_services(schema, &count);
    struct mrg_binding *first = first_binding(services, count);
    struct mrg_routes *routes = first ? atomic_load_explicit(&first->routes, memory_order_acquire) : NULL;
    if (!first || routes)
        return routes;
    struct mrg_routes *made = mrg_routes_new(services, count);
    if (atomic_compare_exchange_strong(&first->routes, &routes, made))
        return made;
    mrg_routes_free(made);
    return routes;
}

const struct mrg_method *mrg_route_find(const struct mrg_schema *schema, const struct mrg_request *request,
                                        const struct mrg_binding **ret_binding)
{
    const struct mrg_binding *binding = NULL;
    const struct mrg_routes *routes = routes_of(schema);
    const struct mrg_method *method =
        routes ? mrg_routes_find(routes, request->method, request->path, &binding) : NULL;
    if (!method && mrg_slice_eq_str(request->method, "POST") && request->path.len > 0 &&
        *request->path.ptr == '/')
        method = mrg_schema_method(schema, request->path);
    if (method && ret_binding)
        *ret_binding = binding;
    return method;
}
