// SPDX-License-Identifier: Apache-2.0
#include "wire/route_int.h"

#include <string.h>

/* The field that body or response_body names; NULL for "". */
static enum mrg_err read_field(const char *what, const char *name, const struct mrg_message *type,
                               const struct mrg_field **ret_field, struct mrg_error *err)
{
    if (!name || *name == '\0')
        return MRG_ERR_OK;
    *ret_field = mrg_message_field_named(type, mrg_slice_of(name));
    if (!*ret_field)
        return mrg_error_set(err, MRG_ERR_INVALID, "%s: %.100s has no field \"%.60s\"", what,
                             type->full_name.ptr, name);
    return MRG_ERR_OK;
}

/* A field that is the body whole cannot stand in the path too. */
static enum mrg_err check_body(const struct mrg_binding *binding, struct mrg_error *err)
{
    uint32_t ends = 0;
    if (binding->body)
        mrg_route_below(binding, mrg_route_all(binding), 0, binding->body, &ends);
    if (ends)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "body: the field \"%.60s\" stands in the path already; expected another one",
                             binding->body->name.ptr);
    return MRG_ERR_OK;
}

static enum mrg_err fill(struct mrg_binding *binding, const char *http_method, const char *path_template,
                         const char *body, const char *response_body, const struct mrg_message *output,
                         struct mrg_error *err)
{
    struct mrg_slice method = mrg_slice_of(http_method);
    binding->any_method = mrg_slice_eq_str(method, "*");
    if (!binding->any_method && !mrg_is_token(method))
        return mrg_error_set(err, MRG_ERR_INVALID, "\"%.60s\" is no HTTP method", method.ptr);
    binding->method =
        (struct mrg_slice){mrg_arena_memdup(binding->arena, method.ptr, method.len), method.len};
    enum mrg_err code = mrg_route_parse(binding, path_template, err);
    if (code)
        return code;
    binding->text = mrg_arena_printf(binding->arena, "%s %s", method.ptr, path_template);
    binding->whole_body = body && strcmp(body, "*") == 0;
    if (!binding->whole_body)
        code = read_field("body", body, binding->input, &binding->body, err);
    if (!code)
        code = check_body(binding, err);
    if (!code)
        code = read_field("response_body", response_body, output, &binding->response, err);
    return code;
}

enum mrg_err mrg_binding_new(const char *http_method, const char *path_template, const char *body,
                             const char *response_body, const struct mrg_message *input,
                             const struct mrg_message *output, struct mrg_binding **ret_binding,
                             struct mrg_error *err)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_binding *binding = mrg_arena_zalloc(arena, sizeof(*binding));
    binding->arena = arena;
    binding->input = input;
    enum mrg_err code = fill(binding, http_method, path_template, body, response_body, output, err);
    if (code)
        mrg_binding_free(binding);
    else
        *ret_binding = binding;
    return code;
}

void mrg_binding_free(struct mrg_binding *binding)
{
    if (!binding)
        return;
    mrg_routes_free(atomic_load(&binding->routes));
    mrg_arena_free(binding->arena);
}

const char *mrg_binding_text(const struct mrg_binding *binding)
{
    return binding->text;
}

const char *mrg_binding_body(const struct mrg_binding *binding)
{
    return binding->whole_body ? "*" : binding->body ? binding->body->name.ptr : "";
}

const char *mrg_binding_response_body(const struct mrg_binding *binding)
{
    return binding->response ? binding->response->name.ptr : "";
}
