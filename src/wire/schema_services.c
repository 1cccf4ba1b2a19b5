// SPDX-License-Identifier: Apache-2.0
#include "wire/schema_int.h"

static enum mrg_err link_method_type(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                                     const struct mrg_method *method, const char *name,
                                     const struct mrg_message **ret_message)
{
    const struct mrg_symbol *symbol =
        name ? mrg_schema_resolve(b->schema, method->service->full_name, name) : NULL;
    if (!symbol || symbol->kind != MRG_SYMBOL_MESSAGE)
        return mrg_schema_fail(b, file, MRG_ERR_INVALID, "%.*s has the type %.*s, which is no message",
                               MRG_NAME_SHOWN, method->path.ptr + 1, MRG_NAME_SHOWN, name ? name : "\"\"");
    *ret_message = symbol->target;
    return MRG_ERR_OK;
}

static enum mrg_err build_method(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                                 const struct mrg_service *service, struct mrg_method *method,
                                 const Google__Protobuf__MethodDescriptorProto *proto)
{
    struct mrg_schema *schema = b->schema;
    struct mrg_slice full = {NULL, 0};
    enum mrg_err code = mrg_schema_name(b, file, service->full_name, proto->name, &full);
    if (code == MRG_ERR_OK)
        code = mrg_schema_symbol(b, file, full, MRG_SYMBOL_METHOD, method);
    if (code != MRG_ERR_OK)
        return code;
    char *path = mrg_arena_printf(schema->arena, "/%s/%s", service->full_name.ptr, proto->name);
    method->path = mrg_slice_of(path);
    method->name = mrg_slice_of(path + 1 + service->full_name.len + 1);
    method->service = service;
    method->client_streams = proto->client_streaming;
    method->server_streams = proto->server_streaming;
    code = link_method_type(b, file, method, proto->input_type, &method->input);
    if (code == MRG_ERR_OK)
        code = link_method_type(b, file, method, proto->output_type, &method->output);
    if (code == MRG_ERR_OK)
        code = mrg_schema_annotation(b, file, method, proto);
    return code;
}

/* Mirage answers health, reflection and control itself, also where a real server's descriptors have them. */
static bool is_own(const struct mrg_schema *schema, const struct mrg_service *service)
{
    const struct mrg_symbol *symbol =
        schema->base ? mrg_names_find(&schema->base->symbols, service->full_name) : NULL;
    return !symbol || symbol->kind != MRG_SYMBOL_SERVICE;
}

static enum mrg_err build_service(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                                  const Google__Protobuf__ServiceDescriptorProto *proto)
{
    struct mrg_schema *schema = b->schema;
    struct mrg_service *service = mrg_arena_zalloc(schema->arena, sizeof(*service));
    enum mrg_err code =
        mrg_schema_name(b, file, mrg_slice_of(file->proto->package), proto->name, &service->full_name);
    if (code == MRG_ERR_OK)
        code = mrg_schema_symbol(b, file, service->full_name, MRG_SYMBOL_SERVICE, service);
    if (code != MRG_ERR_OK)
        return code;
    service->methods = mrg_arena_zalloc(schema->arena, (proto->n_method + 1) * sizeof(*service->methods));
    service->method_count = proto->n_method;
    for (size_t i = 0; code == MRG_ERR_OK && i < proto->n_method; i++)
        code = build_method(b, file, service, &service->methods[i], proto->method[i]);
    if (code != MRG_ERR_OK || !is_own(schema, service))
        return code;
    mrg_grow((void **)&schema->services, &schema->service_room, schema->service_count,
             sizeof(*schema->services));
    schema->services[schema->service_count++] = service;
    for (size_t i = 0; i < service->method_count; i++) {
        struct mrg_method *method = &service->methods[i];
        struct mrg_slice key = {method->path.ptr + 1, method->path.len - 1};
        mrg_names_add(
            &schema->methods,
            (struct mrg_symbol){.name = key, .kind = MRG_SYMBOL_METHOD, .target = method, .file = file});
    }
    return MRG_ERR_OK;
}

enum mrg_err mrg_schema_services_build(struct mrg_schema_builder *b)
{
    enum mrg_err code = MRG_ERR_OK;
    for (size_t i = 0; code == MRG_ERR_OK && i < b->schema->file_count; i++) {
        const struct mrg_schema_file *file = b->schema->files[i];
        for (size_t j = 0; code == MRG_ERR_OK && j < file->proto->n_service; j++)
            code = build_service(b, file, file->proto->service[j]);
    }
    return code;
}
