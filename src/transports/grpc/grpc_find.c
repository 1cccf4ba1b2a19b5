// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 100u /* bytes of a caller's text in a sentence */

#define HEALTH         "grpc.health.v1.Health"
#define REFLECTION     "grpc.reflection.v1.ServerReflection"
#define REFLECTION_OLD "grpc.reflection.v1alpha.ServerReflection"
#define CONTROL        "mirage.v1.Control"

/* Of the built-in schema, those that are served. */
static const struct mrg_slice built_in[] = {
    {HEALTH, sizeof(HEALTH) - 1},
    {REFLECTION, sizeof(REFLECTION) - 1},
    {REFLECTION_OLD, sizeof(REFLECTION_OLD) - 1},
    {CONTROL, sizeof(CONTROL) - 1},
};

static bool is_built_in(struct mrg_slice service)
{
    for (size_t i = 0; i < MRG_ARRAY_LEN(built_in); i++) {
        if (mrg_slice_eq(service, built_in[i]))
            return true;
    }
    return false;
}

static enum rpc_kind kind_of(const struct mrg_method *method)
{
    struct mrg_slice service = method->service->full_name;
    if (mrg_slice_eq_str(service, CONTROL))
        return RPC_EXCHANGE;
    if (!mrg_slice_eq_str(service, HEALTH))
        return RPC_REFLECTION;
    return method->server_streams ? RPC_HEALTH_WATCH : RPC_HEALTH_CHECK;
}

/* "/pkg.Service/Method" taken apart; an empty service when it is no such path. */
static struct mrg_slice service_in(struct mrg_slice path, struct mrg_slice *ret_method)
{
    const char *slash = path.len > 1 && path.ptr[0] == '/' ? memchr(path.ptr + 1, '/', path.len - 1) : NULL;
    if (!slash)
        return (struct mrg_slice){"", 0};
    *ret_method = (struct mrg_slice){slash + 1, path.len - (size_t)(slash + 1 - path.ptr)};
    return (struct mrg_slice){path.ptr + 1, (size_t)(slash - path.ptr - 1)};
}

/* ---- what is served ---- */

static bool take_all(void *ctx, struct mrg_dependency *dependency)
{
    struct rpc_served *served = ctx;
    if (dependency->shape) {
        mrg_grow((void **)&served->items, &served->room, served->count, sizeof(*served->items));
        served->items[served->count++] = mrg_dependency_ref(dependency);
    }
    return false;
}

void rpc_served_init(struct rpc_served *served, struct rpc_listener *listener)
{
    struct mrg_gateway *gateway = listener->transport->gateway;
    const struct mrg_door *door = listener->door;
    *served = (struct rpc_served){NULL, 0, 0};
    if (door->kind == MRG_DOOR_SHARED) {
        mrg_gateway_find(gateway, take_all, served);
    } else if (door->kind == MRG_DOOR_DEPENDENCY) {
        struct mrg_dependency *one = mrg_gateway_dependency(gateway, door->dependency);
        if (one)
            take_all(served, one);
        mrg_dependency_unref(one);
    }
}

void rpc_served_done(struct rpc_served *served)
{
    for (size_t i = 0; i < served->count; i++)
        mrg_dependency_unref(served->items[i]);
    free(served->items);
}

static const struct mrg_service *service_of(const struct mrg_schema *schema, struct mrg_slice name)
{
    size_t count;
    const struct mrg_service *const *services = mrg_schema_services(schema, &count);
    for (size_t i = 0; i < count; i++) {
        if (mrg_slice_eq(services[i]->full_name, name))
            return services[i];
    }
    return NULL;
}

/* The first before item `end` that has it. */
static const struct mrg_service *served_before(const struct rpc_served *served, size_t end,
                                               struct mrg_slice name)
{
    const struct mrg_service *found = NULL;
    for (size_t i = 0; i < end && !found; i++)
        found = service_of(mrg_schema_of(served->items[i]->shape), name);
    return found;
}

void rpc_served_each(const struct rpc_served *served, rpc_service_fn fn, void *ctx)
{
    for (size_t i = 0; i < served->count; i++) {
        size_t count;
        const struct mrg_service *const *services =
            mrg_schema_services(mrg_schema_of(served->items[i]->shape), &count);
        for (size_t k = 0; k < count; k++) {
            struct mrg_slice name = services[k]->full_name;
            if (!is_built_in(name) && !served_before(served, i, name) && !fn(ctx, name))
                return;
        }
    }
    for (size_t i = 0; i < MRG_ARRAY_LEN(built_in); i++) {
        if (!fn(ctx, built_in[i]))
            return;
    }
}

/* ---- refusals ---- */

static void refuse(struct rpc_target *target, int status, const char *format, ...) MRG_PRINTF(3, 4);

/* Callers' bytes in a sentence become printable ASCII. */
static void refuse(struct rpc_target *target, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(target->why, sizeof(target->why), format, args);
    va_end(args);
    for (char *p = target->why; *p; p++) {
        if (*p < 0x20 || *p > 0x7E)
            *p = '?';
    }
    target->kind = RPC_REFUSED;
    target->status = status;
}

static int shown(struct mrg_slice text)
{
    return (int)(text.len > SHOWN ? SHOWN : text.len);
}

static bool append_name(void *ctx, struct mrg_slice name)
{
    struct mrg_buf *names = ctx;
    mrg_buf_append_str(names, names->len ? ", " : "");
    mrg_buf_append_slice(names, name);
    return true;
}

static void refuse_unknown(struct rpc_listener *listener, struct mrg_slice path, struct rpc_target *target)
{
    struct rpc_served served;
    struct mrg_buf names;
    struct mrg_slice method = {"", 0};
    struct mrg_slice name = service_in(path, &method);
    mrg_buf_init(&names, SIZE_MAX);
    rpc_served_init(&served, listener);
    const struct mrg_service *service = is_built_in(name) ? service_of(mrg_schema_builtin(), name)
                                                          : served_before(&served, served.count, name);
    if (service) {
        for (size_t i = 0; i < service->method_count; i++)
            append_name(&names, service->methods[i].name);
        refuse(target, MRG_GRPC_UNIMPLEMENTED, "%.*s has no method %.*s; it has %s", shown(name), name.ptr,
               shown(method), method.ptr, names.len ? names.data : "none");
    } else {
        rpc_served_each(&served, append_name, &names);
        refuse(target, MRG_GRPC_UNIMPLEMENTED,
               "no service %.*s is served at this address; the services are %s", shown(name), name.ptr,
               names.data);
    }
    rpc_served_done(&served);
    mrg_buf_done(&names);
}

/* ---- finding ---- */

static bool has_method(void *ctx, struct mrg_dependency *dependency)
{
    const struct mrg_slice *path = ctx;
    const struct mrg_schema *schema = mrg_schema_of(dependency->shape);
    return schema && mrg_schema_method(schema, *path);
}

static bool find_built_in(struct mrg_slice path, struct rpc_target *target)
{
    struct mrg_slice method;
    if (!is_built_in(service_in(path, &method)))
        return false;
    target->schema = mrg_schema_builtin();
    target->method = mrg_schema_method(target->schema, path);
    if (target->method)
        target->kind = kind_of(target->method);
    return target->method != NULL;
}

/* False when there is no such dependency any more; else method is set if it has one. */
static bool find_served(struct rpc_listener *listener, struct mrg_slice path, struct rpc_target *target)
{
    struct mrg_gateway *gateway = listener->transport->gateway;
    const struct mrg_door *door = listener->door;
    if (door->kind == MRG_DOOR_CONTROL)
        return true;
    if (door->kind == MRG_DOOR_SHARED)
        target->dependency = mrg_gateway_find(gateway, has_method, &path);
    else
        target->dependency = mrg_gateway_dependency(gateway, door->dependency);
    if (!target->dependency)
        return door->kind == MRG_DOOR_SHARED;
    target->schema = mrg_schema_of(target->dependency->shape);
    target->method = target->schema ? mrg_schema_method(target->schema, path) : NULL;
    target->kind = RPC_EXCHANGE;
    return true;
}

void rpc_find(struct rpc_listener *listener, struct mrg_slice path, struct rpc_target *target)
{
    *target = (struct rpc_target){.kind = RPC_REFUSED};
    if (find_built_in(path, target))
        return;
    if (!find_served(listener, path, target)) {
        refuse(target, MRG_GRPC_UNAVAILABLE, "dependency %.200s is no longer in the configuration",
               listener->door->dependency);
    } else if (!target->method) {
        refuse_unknown(listener, path, target);
    } else if (target->method->client_streams || target->method->server_streams) {
        struct mrg_slice name = target->method->name;
        refuse(target, MRG_GRPC_UNIMPLEMENTED, "%.*s is streaming; this version answers unary calls",
               shown(name), name.ptr);
    }
    if (target->kind == RPC_REFUSED) {
        mrg_dependency_unref(target->dependency);
        target->dependency = NULL;
        target->method = NULL;
        target->schema = NULL;
    }
}
