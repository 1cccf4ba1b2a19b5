// SPDX-License-Identifier: Apache-2.0
#include "evidence/otlp.h"

#include <stddef.h>

#include "evidence/span.h"
#include "util/alloc.h"

struct walk {
    mrg_span_fn fn;
    void *ctx;
};

static void walk_any(const struct walk *walk, struct json_object *value, const char *service);

/* The first of the keys (NULL-terminated) that is a member of that type. */
static struct json_object *member(struct json_object *object, enum json_type type, const char *const *keys)
{
    for (; *keys; keys++) {
        struct json_object *value = NULL;
        if (json_object_is_type(object, json_type_object) &&
            json_object_object_get_ex(object, *keys, &value) && json_object_is_type(value, type))
            return value;
    }
    return NULL;
}

#define MEMBER(object, type, ...) member((object), (type), (const char *const[]){__VA_ARGS__, NULL})

static void walk_list(const struct walk *walk, struct json_object *list, const char *service)
{
    size_t count = list ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < count; i++)
        walk_any(walk, json_object_array_get_idx(list, i), service);
}

/* One element of resourceSpans. */
static void walk_resource(const struct walk *walk, struct json_object *spans, const char *outer)
{
    struct json_object *resource = MEMBER(spans, json_type_object, "resource");
    _cleanup_free_ char *service = resource ? mrg_span_attribute(resource, "service.name") : NULL;
    struct json_object *scopes =
        MEMBER(spans, json_type_array, "scopeSpans", "scope_spans", "instrumentationLibrarySpans");
    size_t count = scopes ? json_object_array_length(scopes) : 0;
    for (size_t i = 0; i < count; i++) {
        struct json_object *scope = json_object_array_get_idx(scopes, i);
        walk_list(walk, MEMBER(scope, json_type_array, "spans"), service ? service : outer);
    }
}

/* A Jaeger trace: its spans name a process each. */
static void walk_jaeger(const struct walk *walk, struct json_object *trace, struct json_object *processes)
{
    struct json_object *spans = MEMBER(trace, json_type_array, "spans");
    size_t count = spans ? json_object_array_length(spans) : 0;
    for (size_t i = 0; i < count; i++) {
        struct json_object *span = json_object_array_get_idx(spans, i);
        struct json_object *id = MEMBER(span, json_type_string, "processID");
        struct json_object *process =
            id ? MEMBER(processes, json_type_object, json_object_get_string(id)) : NULL;
        _cleanup_free_ char *service = process ? mrg_span_attribute(process, "serviceName") : NULL;
        walk_any(walk, span, service);
    }
}

static void walk_span(const struct walk *walk, struct json_object *span, const char *service)
{
    struct json_object *resource = MEMBER(span, json_type_object, "resource");
    struct json_object *process = MEMBER(span, json_type_object, "process");
    _cleanup_free_ char *own = resource ? mrg_span_attribute(resource, "service.name") : NULL;
    if (!own && process)
        own = mrg_span_attribute(process, "serviceName");
    walk->fn(walk->ctx, span, own ? own : service);
}

static void walk_any(const struct walk *walk, struct json_object *value, const char *service)
{
    if (json_object_is_type(value, json_type_array)) {
        walk_list(walk, value, service);
        return;
    }
    if (!json_object_is_type(value, json_type_object))
        return;
    struct json_object *resources =
        MEMBER(value, json_type_array, "resourceSpans", "resource_spans", "batches");
    struct json_object *processes = MEMBER(value, json_type_object, "processes");
    struct json_object *list = MEMBER(value, json_type_array, "data", "spans");
    struct json_object *inner = MEMBER(value, json_type_object, "span", "_source");
    size_t count = resources ? json_object_array_length(resources) : 0;
    for (size_t i = 0; i < count; i++)
        walk_resource(walk, json_object_array_get_idx(resources, i), service);
    if (resources)
        return;
    if (processes)
        walk_jaeger(walk, value, processes);
    else if (list)
        walk_list(walk, list, service);
    else if (inner && !MEMBER(value, json_type_string, "traceId", "trace_id"))
        walk_any(walk, inner, service);
    else
        walk_span(walk, value, service);
}

void mrg_otlp_each(struct json_object *document, mrg_span_fn fn, void *ctx)
{
    struct walk walk = {.fn = fn, .ctx = ctx};
    walk_any(&walk, document, NULL);
}
