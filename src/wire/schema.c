// SPDX-License-Identifier: Apache-2.0
#include "wire/schema.h"

#include <pthread.h>

#include "wire/schema_int.h"

/* ---- Building ---- */

static void builder_done(struct mrg_schema_builder *b)
{
    free(b->types);
    mrg_arena_free(b->scratch);
}

static struct mrg_hash128 identity_of(const struct mrg_schema *schema, const struct mrg_route_config *routes,
                                      size_t route_count)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX / 4);
    /* Files in any order. */
    struct mrg_hash128 sum = {0};
    for (size_t i = 0; i < schema->file_count; i++) {
        struct mrg_slice bytes = schema->files[i]->shown.descriptor;
        struct mrg_hash128 hash = mrg_hash128_of(bytes.ptr, bytes.len, 0);
        sum.low += hash.low;
        sum.high += hash.high;
    }
    mrg_buf_append(&buf, &sum, sizeof(sum));
    for (size_t i = 0; i < route_count; i++) {
        const char *parts[] = {routes[i].rpc, routes[i].http, routes[i].body ? routes[i].body : "\1"};
        for (size_t j = 0; j < MRG_ARRAY_LEN(parts); j++)
            mrg_buf_append(&buf, parts[j], strlen(parts[j]) + 1);
    }
    struct mrg_hash128 hash = mrg_hash128_of(buf.data, buf.len, 0);
    mrg_buf_done(&buf);
    return hash;
}

/* All passes over what was added. */
static enum mrg_err build(struct mrg_schema_builder *b, const struct mrg_route_config *routes,
                          size_t route_count)
{
    enum mrg_err code = mrg_schema_declare(b);
    if (code == MRG_ERR_OK)
        code = mrg_schema_link(b);
    if (code == MRG_ERR_OK)
        code = mrg_schema_services_build(b);
    if (code == MRG_ERR_OK)
        code = mrg_schema_routes(b, routes, route_count);
    if (code != MRG_ERR_OK)
        return code;
    for (size_t i = 0; i < b->schema->file_count; i++)
        b->schema->files[i]->proto = NULL;
    b->schema->identity = identity_of(b->schema, routes, route_count);
    return MRG_ERR_OK;
}

static enum mrg_err add_protos(struct mrg_schema_builder *b, const struct mrg_protos_config *protos)
{
    if (protos->files.count == 0 && protos->roots.count > 0)
        return mrg_error_set(b->err, MRG_ERR_INVALID,
                             "protos.roots is there and protos.files is not; name the .proto files");
    if (protos->files.count > 0 && protos->roots.count == 0)
        return mrg_error_set(
            b->err, MRG_ERR_INVALID,
            "protos.files is there and protos.roots is not; name the folders of their imports");
    enum mrg_err code = MRG_ERR_OK;
    if (protos->files.count > 0) {
        struct mrg_buf set;
        mrg_buf_init(&set, MRG_MAX_DESCRIPTORS);
        struct mrg_protoc_job job = {&protos->roots, &protos->files, MRG_PROTOC_MS};
        code = mrg_protoc_run(&job, &set, b->err);
        if (code == MRG_ERR_OK)
            code = mrg_schema_add_set(b, "", mrg_buf_slice(&set));
        mrg_buf_done(&set);
    }
    for (size_t i = 0; code == MRG_ERR_OK && i < protos->sets.count; i++)
        code = mrg_schema_add_set_file(b, protos->sets.items[i]);
    return code;
}

enum mrg_err mrg_schema_load(const struct mrg_schema_source *source, struct mrg_schema **ret_schema,
                             struct mrg_error *err)
{
    struct mrg_error own = {0};
    struct mrg_schema_builder b = {
        .schema = mrg_schema_empty(mrg_schema_builtin()), .scratch = mrg_arena_new(64u << 10), .err = &own};
    enum mrg_err code = source->protos ? add_protos(&b, source->protos) : MRG_ERR_OK;
    if (code == MRG_ERR_OK && source->reflected.len > 0)
        code = mrg_schema_add_set(&b, "what the server's reflection gave", source->reflected);
    if (code == MRG_ERR_OK)
        code = build(&b, source->routes, source->route_count);
    builder_done(&b);
    if (code != MRG_ERR_OK) {
        mrg_schema_free(b.schema);
        if (err)
            *err = own;
        return code;
    }
    *ret_schema = b.schema;
    return MRG_ERR_OK;
}

void mrg_schema_free(struct mrg_schema *schema)
{
    if (!schema)
        return;
    /* A method whose annotation was replaced is there twice. */
    for (size_t i = 0; i < schema->bound_count; i++) {
        struct mrg_method *method = schema->bound[i];
        for (size_t j = 0; j < method->binding_count; j++)
            mrg_binding_free(method->bindings[j]);
        free(method->bindings);
        method->bindings = NULL;
        method->binding_count = 0;
    }
    free(schema->bound);
    free(schema->services);
    free(schema->extensions);
    free(schema->files);
    mrg_names_done(&schema->file_names);
    mrg_names_done(&schema->symbols);
    mrg_names_done(&schema->methods);
    mrg_arena_free(schema->arena);
    free(schema);
}

/* ---- The built-in one ---- */

/* One for the process: it is the same for all, and types of others point into it. */
static struct mrg_schema *builtin;
static pthread_once_t builtin_once = PTHREAD_ONCE_INIT;

static void make_builtin(void)
{
    struct mrg_error err = {0};
    struct mrg_schema_builder b = {
        .schema = mrg_schema_empty(NULL), .scratch = mrg_arena_new(64u << 10), .err = &err};
    struct mrg_slice set = {(const char *)mrg_embedded_set, mrg_embedded_set_len};
    enum mrg_err code = mrg_schema_add_set(&b, "built-in", set);
    if (code == MRG_ERR_OK)
        code = build(&b, NULL, 0);
    MRG_ASSERT(code == MRG_ERR_OK);
    builder_done(&b);
    builtin = b.schema;
}

const struct mrg_schema *mrg_schema_builtin(void)
{
    pthread_once(&builtin_once, make_builtin);
    return builtin;
}

/* ---- The shape ---- */

static void shape_free(struct mrg_shape *shape)
{
    mrg_schema_free((struct mrg_schema *)shape);
}

static const struct mrg_request *shape_canonical(const struct mrg_shape *shape, struct mrg_arena **arena,
                                                 const struct mrg_request *request)
{
    return mrg_route_canonical((const struct mrg_schema *)shape, arena, request);
}

static struct mrg_hash128 shape_identity(const struct mrg_shape *shape)
{
    return ((const struct mrg_schema *)shape)->identity;
}

static const struct mrg_shape_ops shape_ops = {
    .free = shape_free,
    .canonical = shape_canonical,
    .identity = shape_identity,
};

struct mrg_shape *mrg_schema_shape(struct mrg_schema *schema)
{
    if (!schema)
        return NULL;
    schema->shape.ops = &shape_ops;
    return &schema->shape;
}

const struct mrg_schema *mrg_schema_of(const struct mrg_shape *shape)
{
    return (const struct mrg_schema *)shape;
}
