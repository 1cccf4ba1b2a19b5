// SPDX-License-Identifier: Apache-2.0
#include "evidence/endpoints.h"

#include <inttypes.h>
#include <string.h>

#include "evidence/templates.h"
#include "util/uri.h"

#define MAX_ROUTES    300u  /* templates of frameworks */
#define MAX_ENDPOINTS 2000u /* of one dependency; calls of further ones are not counted */

/* Marks the owners that fit; returns how many spans they have. `name` NULL: those without a name. */
static uint64_t mark(const struct mrg_traces *traces, bool client, const char *name, bool *marks)
{
    uint64_t spans = 0;
    for (size_t i = 0; i < traces->owner_count; i++) {
        const struct mrg_owner *owner = &traces->owners[i];
        bool fits = name ? mrg_owner_is(owner->name, name) : *owner->name == '\0';
        if (owner->client != client || !fits)
            continue;
        marks[i] = true;
        spans += owner->spans;
    }
    return spans;
}

/* Server and client spans of one call must not both count, so the first kind that there is decides. */
static uint64_t choose(const struct mrg_traces *traces, const char *dependency, bool *marks)
{
    uint64_t spans = mark(traces, false, dependency, marks);
    if (spans == 0)
        spans = mark(traces, true, dependency, marks);
    if (spans == 0)
        spans = mark(traces, false, NULL, marks);
    if (spans == 0 && traces->owner_count == 1) {
        marks[0] = true;
        spans = traces->owners[0].spans;
    }
    return spans;
}

/* The templates that frameworks gave; they serve paths without one, too. Borrowed from the calls. */
struct routes {
    const char *items[MAX_ROUTES];
    size_t count;
};

static void routes_of(const struct mrg_traces *traces, const bool *marks, struct routes *routes)
{
    for (size_t i = 0; i < traces->call_count && routes->count < MAX_ROUTES; i++) {
        const struct mrg_call *call = &traces->calls[i];
        bool known = !call->routed || !marks[call->owner];
        for (size_t k = 0; k < routes->count && !known; k++)
            known = strcmp(routes->items[k], call->path) == 0;
        if (!known)
            routes->items[routes->count++] = call->path;
    }
}

/* A literal one before one with variables; NULL when none fits. */
static const char *known_route(const struct routes *routes, const char *path)
{
    const char *found = NULL;
    for (size_t i = 0; i < routes->count; i++) {
        if (!mrg_uri_match(routes->items[i], mrg_slice_of(path)))
            continue;
        if (!strchr(routes->items[i], '{'))
            return routes->items[i];
        found = found ? found : routes->items[i];
    }
    return found;
}

/* NULL past the bound. */
static struct mrg_endpoint *ensure_endpoint(struct mrg_endpoints *endpoints, const char *method,
                                            const char *path, bool rpc)
{
    for (size_t i = 0; i < endpoints->count; i++) {
        struct mrg_endpoint *endpoint = &endpoints->items[i];
        if (strcmp(endpoint->method, method) == 0 && strcmp(endpoint->path, path) == 0)
            return endpoint;
    }
    if (endpoints->count >= MAX_ENDPOINTS)
        return NULL;
    mrg_grow((void **)&endpoints->items, &endpoints->capacity, endpoints->count, sizeof(*endpoints->items));
    struct mrg_endpoint *endpoint = &endpoints->items[endpoints->count++];
    *endpoint = (struct mrg_endpoint){.method = mrg_strdup(method), .path = mrg_strdup(path), .rpc = rpc};
    return endpoint;
}

static void add_key(struct mrg_endpoint *endpoint, const char *key)
{
    for (size_t i = 0; i < MRG_MAX_QUERY_KEYS; i++) {
        if (!endpoint->query_keys[i]) {
            endpoint->query_keys[i] = mrg_strdup(key);
            return;
        }
        if (strcmp(endpoint->query_keys[i], key) == 0)
            return;
    }
}

static void add_call(struct mrg_endpoint *endpoint, const struct mrg_call *call)
{
    endpoint->total += call->count;
    for (size_t i = 0; i < MRG_MAX_QUERY_KEYS && call->query_keys[i]; i++)
        add_key(endpoint, call->query_keys[i]);
    for (size_t i = 0; i < endpoint->status_count; i++) {
        if (strcmp(endpoint->statuses[i].status, call->status) == 0) {
            endpoint->statuses[i].count += call->count;
            return;
        }
    }
    mrg_grow((void **)&endpoint->statuses, &endpoint->status_capacity, endpoint->status_count,
             sizeof(*endpoint->statuses));
    endpoint->statuses[endpoint->status_count++] =
        (struct mrg_status_count){mrg_strdup(call->status), call->count};
}

static int by_frequency(const void *a, const void *b)
{
    const struct mrg_endpoint *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    int order = strcmp(x->path, y->path);
    return order != 0 ? order : strcmp(x->method, y->method);
}

static int by_status(const void *a, const void *b)
{
    return strcmp(((const struct mrg_status_count *)a)->status, ((const struct mrg_status_count *)b)->status);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct mrg_endpoints *endpoints)
{
    for (size_t i = 0; i < endpoints->count; i++) {
        struct mrg_endpoint *endpoint = &endpoints->items[i];
        size_t keys = 0;
        while (keys < MRG_MAX_QUERY_KEYS && endpoint->query_keys[keys])
            keys++;
        qsort(endpoint->query_keys, keys, sizeof(char *), by_text);
        if (endpoint->status_count > 0)
            qsort(endpoint->statuses, endpoint->status_count, sizeof(*endpoint->statuses), by_status);
    }
    if (endpoints->count > 0)
        qsort(endpoints->items, endpoints->count, sizeof(*endpoints->items), by_frequency);
}

/* Counts the calls of the marked owners. */
static void gather(const struct mrg_traces *traces, const bool *marks, struct mrg_endpoints *endpoints)
{
    struct routes routes = {.count = 0};
    routes_of(traces, marks, &routes);
    struct mrg_templates *templates = mrg_templates_new();
    for (size_t i = 0; i < traces->call_count; i++) {
        const struct mrg_call *call = &traces->calls[i];
        if (marks[call->owner] && !call->routed && !call->rpc)
            mrg_templates_add(templates, mrg_slice_of(call->path));
    }
    mrg_templates_settle(templates);
    for (size_t i = 0; i < traces->call_count; i++) {
        const struct mrg_call *call = &traces->calls[i];
        if (!marks[call->owner])
            continue;
        const char *route = call->routed || call->rpc ? call->path : known_route(&routes, call->path);
        _cleanup_free_ char *path =
            route ? mrg_strdup(route) : mrg_templates_of(templates, mrg_slice_of(call->path));
        struct mrg_endpoint *endpoint = ensure_endpoint(endpoints, call->method, path, call->rpc);
        if (endpoint)
            add_call(endpoint, call);
    }
    mrg_templates_free(templates);
}

void mrg_endpoints_make(const struct mrg_traces *traces, const char *dependency,
                        struct mrg_endpoints *ret_endpoints)
{
    *ret_endpoints = (struct mrg_endpoints){0};
    bool *marks = mrg_zalloc(traces->owner_count + 1);
    ret_endpoints->spans = choose(traces, dependency, marks);
    ret_endpoints->foreign = traces->spans - traces->lost - ret_endpoints->spans;
    gather(traces, marks, ret_endpoints);
    free(marks);
    sort(ret_endpoints);
}

void mrg_endpoint_append(struct mrg_buf *buf, const struct mrg_endpoint *endpoint, bool queries)
{
    mrg_buf_appendf(buf, "%s %s:", endpoint->method, endpoint->path);
    for (size_t i = 0; i < endpoint->status_count; i++)
        mrg_buf_appendf(buf, "%s %s (%" PRIu64 ")", i > 0 ? "," : "", endpoint->statuses[i].status,
                        endpoint->statuses[i].count);
    for (size_t i = 0; queries && i < MRG_MAX_QUERY_KEYS && endpoint->query_keys[i]; i++)
        mrg_buf_appendf(buf, "%s%s", i > 0 ? ", " : "; query keys: ", endpoint->query_keys[i]);
    mrg_buf_append_char(buf, '\n');
}

void mrg_endpoints_append(struct mrg_buf *buf, const struct mrg_endpoints *endpoints, bool queries)
{
    for (size_t i = 0; i < endpoints->count; i++) {
        if (!endpoints->items[i].left_out)
            mrg_endpoint_append(buf, &endpoints->items[i], queries);
    }
}

void mrg_endpoints_done(struct mrg_endpoints *endpoints)
{
    for (size_t i = 0; i < endpoints->count; i++) {
        struct mrg_endpoint *endpoint = &endpoints->items[i];
        free(endpoint->method);
        free(endpoint->path);
        for (size_t k = 0; k < endpoint->status_count; k++)
            free(endpoint->statuses[k].status);
        free(endpoint->statuses);
        for (size_t k = 0; k < MRG_MAX_QUERY_KEYS; k++)
            free(endpoint->query_keys[k]);
    }
    free(endpoints->items);
    *endpoints = (struct mrg_endpoints){0};
}
