// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a descriptor set, as a server's reflection might give it, and requests by the routes of what it has:
 * what was loaded is found again, and an empty message of each RPC goes its whole way and comes back.
 */
#include <stdint.h>
#include <string.h>

#include "util/json.h"
#include "wire/proto.h"
#include "wire/route.h"

#define MOST (16u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* NULL when it cannot be loaded, and then there is a reason. */
static struct mrg_schema *load(struct mrg_slice set, const struct mrg_route_config *route)
{
    struct mrg_schema *schema = NULL;
    struct mrg_error err = {.message = ""};
    const struct mrg_schema_source source = {.routes = route, .route_count = route ? 1 : 0, .reflected = set};
    enum mrg_err code = mrg_schema_load(&source, &schema, &err);
    MRG_ASSERT((code == MRG_ERR_OK) == (schema != NULL));
    MRG_ASSERT(code == MRG_ERR_OK || (err.code == code && err.message[0] != '\0'));
    return schema;
}

static void try_type(const struct mrg_schema *schema, const struct mrg_message *type)
{
    MRG_ASSERT(mrg_schema_message(schema, type->full_name) == type);
    MRG_ASSERT(mrg_schema_file_of(schema, type->full_name) != NULL);
    for (size_t i = 0; i < type->field_count; i++) {
        const struct mrg_field *field = &type->fields[i];
        MRG_ASSERT(i == 0 || type->fields[i - 1].number < field->number);
        MRG_ASSERT(mrg_message_field(type, field->number) == field);
        MRG_ASSERT(mrg_message_field_named(type, field->name) == field);
        MRG_ASSERT((field->type == PROTOBUF_C_TYPE_MESSAGE) == (field->message != NULL));
        MRG_ASSERT((field->type == PROTOBUF_C_TYPE_ENUM) == (field->enumeration != NULL));
    }
}

/* The request of a message is found again, says the same message, and has one canonical form. */
static void try_request(const struct mrg_schema *schema, const struct mrg_method *method,
                        struct mrg_arena *arena, struct mrg_slice json)
{
    struct mrg_request request = {.header_count = 0};
    const struct mrg_binding *binding = NULL;
    struct mrg_error err = {.message = ""};
    struct mrg_buf back;
    struct mrg_arena *own = NULL;
    mrg_route_request(method, arena, json, &request);
    MRG_ASSERT(request.path.len > 0 && *request.path.ptr == '/');
    const struct mrg_method *found = mrg_route_find(schema, &request, &binding);
    MRG_ASSERT(found != NULL);
    mrg_buf_init(&back, SIZE_MAX);
    if (mrg_route_message(found, binding, &request, &back, &err) == MRG_ERR_OK)
        MRG_ASSERT(mrg_json_check(mrg_buf_slice(&back), NULL) == MRG_ERR_OK);
    else
        MRG_ASSERT(err.message[0] != '\0');
    const struct mrg_request *once = mrg_route_canonical(schema, &own, &request);
    MRG_ASSERT(mrg_route_canonical(schema, &own, once) == once);
    mrg_arena_free(own);
    mrg_buf_done(&back);
}

static void try_method(const struct mrg_schema *schema, const struct mrg_method *method)
{
    struct mrg_buf json;
    struct mrg_arena *arena = mrg_arena_new(0);
    MRG_ASSERT(mrg_schema_method(schema, method->path) == method);
    try_type(schema, method->input);
    try_type(schema, method->output);
    mrg_buf_init(&json, SIZE_MAX);
    /* Required fields are missing in an empty message. */
    if (mrg_proto_to_json(schema, method->input, MRG_SLICE(""), MRG_PROTO_NORMAL, &json, NULL) ==
        MRG_ERR_OK) {
        struct mrg_slice text = mrg_arena_take_buf(arena, &json);
        MRG_ASSERT(mrg_json_check(text, NULL) == MRG_ERR_OK);
        try_request(schema, method, arena, text);
    }
    mrg_buf_done(&json);
    mrg_arena_free(arena);
}

/* A route of the configuration for that RPC, with its first field in the path: it wins over an annotation. */
static void try_route(struct mrg_slice set, const struct mrg_method *method)
{
    const struct mrg_message *input = method->input;
    _cleanup_free_ char *rpc = mrg_strdup(method->path.ptr + 1);
    _cleanup_free_ char *http = input->field_count > 0
                                    ? mrg_asprintf("PUT /own/{%s}", input->fields[0].name.ptr)
                                    : mrg_strdup("PUT /own");
    const struct mrg_route_config route = {.rpc = rpc, .http = http};
    struct mrg_schema *schema = load(set, &route);
    if (!schema)
        return; /* a field that cannot stand in a path */
    const struct mrg_method *same = mrg_schema_method(schema, mrg_slice_of(rpc));
    MRG_ASSERT(same && same->binding_count == 1);
    MRG_ASSERT(strcmp(mrg_binding_text(same->bindings[0]), http) == 0);
    try_method(schema, same);
    mrg_schema_free(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mrg_slice set = {(const char *)data, size};
    size_t count;
    if (size > MOST || size == 0)
        return 0;
    struct mrg_schema *schema = load(set, NULL);
    if (!schema)
        return 0;
    const struct mrg_service *const *services = mrg_schema_services(schema, &count);
    bool routed = false;
    for (size_t i = 0; i < count; i++) {
        MRG_ASSERT(mrg_schema_file_of(schema, services[i]->full_name) != NULL);
        for (size_t k = 0; k < services[i]->method_count; k++)
            try_method(schema, &services[i]->methods[k]);
        if (!routed && services[i]->method_count > 0)
            try_route(set, &services[i]->methods[0]);
        routed |= services[i]->method_count > 0;
    }
    mrg_schema_free(schema);
    return 0;
}
