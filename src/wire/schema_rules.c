// SPDX-License-Identifier: Apache-2.0
#include "wire/schema_int.h"

/* The extension google.api.http of MethodOptions, and the numbers of google.api.HttpRule. */
#define OPTION_HTTP 72295728
enum rule_field {
    RULE_GET = 2,
    RULE_PUT = 3,
    RULE_POST = 4,
    RULE_DELETE = 5,
    RULE_PATCH = 6,
    RULE_BODY = 7,
    RULE_CUSTOM = 8,
    RULE_ADDITIONAL = 11,
    RULE_RESPONSE_BODY = 12,
};
#define CUSTOM_KIND 1
#define CUSTOM_PATH 2

static const char *const http_methods[] = {
    [RULE_GET] = "GET",       [RULE_PUT] = "PUT",     [RULE_POST] = "POST",
    [RULE_DELETE] = "DELETE", [RULE_PATCH] = "PATCH",
};

struct rule {
    const char *http_method;
    const char *path;
    const char *body;
    const char *response_body;
};

/* Texts lie in the scratch arena. */
static const char *text_of(struct mrg_schema_builder *b, struct mrg_slice bytes)
{
    return mrg_arena_memdup(b->scratch, bytes.ptr, bytes.len);
}

static void read_custom(struct mrg_schema_builder *b, struct mrg_slice bytes, struct rule *rule)
{
    struct mrg_wire_field field;
    for (size_t cursor = 0; mrg_wire_next(bytes, &cursor, &field);) {
        if (field.wire == 2 && field.number == CUSTOM_KIND)
            rule->http_method = text_of(b, field.bytes);
        if (field.wire == 2 && field.number == CUSTOM_PATH)
            rule->path = text_of(b, field.bytes);
    }
}

/* False: the bytes are no HttpRule. */
static bool read_rule(struct mrg_schema_builder *b, struct mrg_slice bytes, struct rule *ret_rule)
{
    struct mrg_wire_field field;
    size_t cursor = 0;
    *ret_rule = (struct rule){.body = "", .response_body = ""};
    while (mrg_wire_next(bytes, &cursor, &field)) {
        if (field.wire != 2)
            continue;
        if (field.number == RULE_BODY)
            ret_rule->body = text_of(b, field.bytes);
        else if (field.number == RULE_RESPONSE_BODY)
            ret_rule->response_body = text_of(b, field.bytes);
        else if (field.number == RULE_CUSTOM)
            read_custom(b, field.bytes, ret_rule);
        else if (field.number < MRG_ARRAY_LEN(http_methods) && http_methods[field.number]) {
            ret_rule->http_method = http_methods[field.number];
            ret_rule->path = text_of(b, field.bytes);
        }
    }
    return cursor == bytes.len;
}

static enum mrg_err bind(struct mrg_schema_builder *b, struct mrg_method *method, const struct rule *rule)
{
    struct mrg_binding *binding;
    enum mrg_err code = mrg_binding_new(rule->http_method, rule->path, rule->body, rule->response_body,
                                        method->input, method->output, &binding, b->err);
    if (code != MRG_ERR_OK)
        return code;
    if (method->binding_count == 0) {
        mrg_grow((void **)&b->schema->bound, &b->schema->bound_room, b->schema->bound_count,
                 sizeof(struct mrg_method *));
        b->schema->bound[b->schema->bound_count++] = method;
    }
    method->bindings =
        mrg_realloc(method->bindings, (method->binding_count + 1) * sizeof(struct mrg_binding *));
    method->bindings[method->binding_count++] = binding;
    return MRG_ERR_OK;
}

static enum mrg_err bind_rule(struct mrg_schema_builder *b, struct mrg_method *method, struct mrg_slice bytes,
                              bool additional)
{
    struct rule rule = {0};
    if (!read_rule(b, bytes, &rule))
        return mrg_error_set(b->err, MRG_ERR_INVALID, "its google.api.http is damaged");
    if (!rule.http_method || !rule.path)
        return mrg_error_set(b->err, MRG_ERR_INVALID, "its google.api.http has no method and path");
    enum mrg_err code = bind(b, method, &rule);
    struct mrg_wire_field field;
    for (size_t cursor = 0; code == MRG_ERR_OK && !additional && mrg_wire_next(bytes, &cursor, &field);)
        if (field.wire == 2 && field.number == RULE_ADDITIONAL)
            code = bind_rule(b, method, field.bytes, true);
    return code;
}

enum mrg_err mrg_schema_annotation(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                                   struct mrg_method *method,
                                   const Google__Protobuf__MethodDescriptorProto *proto)
{
    struct mrg_buf rule;
    mrg_buf_init(&rule, MRG_MAX_DESCRIPTORS);
    const ProtobufCMessage *options = proto->options ? &proto->options->base : NULL;
    /* What stands there in pieces is one message. */
    for (unsigned i = 0; options && i < options->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *field = &options->unknown_fields[i];
        if (field->tag != OPTION_HTTP || field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
            continue;
        size_t prefix = 1;
        while (prefix < field->len && field->data[prefix - 1] & 0x80)
            prefix++;
        mrg_buf_append(&rule, field->data + prefix, field->len - prefix);
    }
    enum mrg_err code = rule.len > 0 ? bind_rule(b, method, mrg_buf_slice(&rule), false) : MRG_ERR_OK;
    mrg_buf_done(&rule);
    if (code != MRG_ERR_OK)
        mrg_error_wrap(b->err, "%.*s: %.*s", MRG_NAME_SHOWN, file->shown.name.ptr, MRG_NAME_SHOWN,
                       method->name.ptr);
    return code;
}

static enum mrg_err fail_unknown_rpc(struct mrg_schema_builder *b, const char *rpc)
{
    struct mrg_buf names;
    mrg_buf_init(&names, 400);
    const struct mrg_schema *schema = b->schema;
    for (size_t i = 0; i < schema->service_count && !mrg_buf_failed(&names); i++)
        for (size_t j = 0; j < schema->services[i]->method_count && !mrg_buf_failed(&names); j++)
            mrg_buf_appendf(&names, "%s%s", names.len > 0 ? ", " : "",
                            schema->services[i]->methods[j].path.ptr + 1);
    enum mrg_err code =
        names.len > 0 ? mrg_error_set(b->err, MRG_ERR_INVALID,
                                      "routes: %.*s: the protos have no such RPC; they have %s%s",
                                      MRG_NAME_SHOWN, rpc, names.data, mrg_buf_failed(&names) ? " …" : "")
                      : mrg_error_set(b->err, MRG_ERR_INVALID, "routes: %.*s: the protos have no RPC",
                                      MRG_NAME_SHOWN, rpc);
    mrg_buf_done(&names);
    return code;
}

static void unbind(struct mrg_method *method)
{
    for (size_t i = 0; i < method->binding_count; i++)
        mrg_binding_free(method->bindings[i]);
    method->binding_count = 0;
}

/* "POST /items/{item_id}/reserve" */
static enum mrg_err read_route(struct mrg_schema_builder *b, const struct mrg_route_config *route,
                               struct rule *ret_rule)
{
    const char *space = route->http ? strchr(route->http, ' ') : NULL;
    if (!space || space == route->http)
        return mrg_error_set(b->err, MRG_ERR_INVALID,
                             "expected a method and a path, as in POST /items/{item_id}/reserve");
    const char *http_method = mrg_arena_memdup(b->scratch, route->http, (size_t)(space - route->http));
    while (*space == ' ')
        space++;
    bool has_body = strcmp(http_method, "POST") == 0 || strcmp(http_method, "PUT") == 0 ||
                    strcmp(http_method, "PATCH") == 0;
    *ret_rule = (struct rule){http_method, space, route->body ? route->body : has_body ? "*" : "", ""};
    return MRG_ERR_OK;
}

/* One route of the configuration: the first one of a method replaces its annotation. */
static enum mrg_err add_route(struct mrg_schema_builder *b, const struct mrg_route_config *routes,
                              size_t index)
{
    const struct mrg_route_config *route = &routes[index];
    const struct mrg_method *found = mrg_schema_method(b->schema, mrg_slice_of(route->rpc));
    if (!found)
        return fail_unknown_rpc(b, route->rpc ? route->rpc : "\"\"");
    /* Methods are the schema's own while it is made. */
    struct mrg_method *method = &found->service->methods[found - found->service->methods];
    bool first = true;
    for (size_t i = 0; i < index; i++)
        first = first && mrg_schema_method(b->schema, mrg_slice_of(routes[i].rpc)) != found;
    struct rule rule = {0};
    enum mrg_err code = read_route(b, route, &rule);
    if (code == MRG_ERR_OK && first)
        unbind(method);
    if (code == MRG_ERR_OK)
        code = bind(b, method, &rule);
    if (code != MRG_ERR_OK)
        mrg_error_wrap(b->err, "routes: %.*s", MRG_NAME_SHOWN, route->rpc);
    return code;
}

enum mrg_err mrg_schema_routes(struct mrg_schema_builder *b, const struct mrg_route_config *routes,
                               size_t count)
{
    enum mrg_err code = MRG_ERR_OK;
    for (size_t i = 0; code == MRG_ERR_OK && i < count; i++)
        code = add_route(b, routes, i);
    return code;
}
