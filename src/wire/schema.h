// SPDX-License-Identifier: Apache-2.0
/*
 * Schema: the protobuf descriptors of one dependency: files, types, services, and the routes of its RPCs.
 *
 * Made at the start and at each reload from `.proto` files (by protoc, run by posix_spawn, its result kept in
 * a cache folder), descriptor set files, and a set that a real server gave by reflection. It is the
 * dependency's shape (core/shape.h). Behind each schema stands the built-in one, with what Mirage serves and
 * reads itself: google.protobuf.*, google.rpc.*, health, reflection and mirage.v1.Control. Immutable; freed
 * through mrg_shape_ops. Thread: any; making one: main.
 *
 * Refused with file and name: groups, editions, a type that is missing, a name that is there twice with
 * another content.
 */
#pragma once

#include "core/config.h"
#include "core/shape.h"
#include "util/error.h"
#include "wire/types.h"

struct mrg_binding; /* wire/route.h */
struct mrg_schema;

struct mrg_method {
    struct mrg_slice path; /* "/pkg.Service/Method", with a NUL behind */
    struct mrg_slice name; /* "Method" */
    const struct mrg_service *service;
    const struct mrg_message *input;
    const struct mrg_message *output;
    bool client_streams;
    bool server_streams;
    struct mrg_binding **bindings; /* the annotation's, or the configuration's route, then additional ones */
    size_t binding_count;          /* 0: POST /pkg.Service/Method with the message as body */
};

struct mrg_service {
    struct mrg_slice full_name; /* "pkg.Service", with a NUL behind */
    struct mrg_method *methods;
    size_t method_count;
};

/* One file as reflection hands it out. */
struct mrg_proto_file {
    struct mrg_slice name;       /* "inventory/v1/inventory.proto" */
    struct mrg_slice descriptor; /* a serialised FileDescriptorProto */
    struct mrg_slice *imports;   /* names of the files that it imports */
    size_t import_count;
};

struct mrg_schema_source {
    const struct mrg_protos_config *protos; /* files and sets; NULL: none */
    const struct mrg_route_config *routes;  /* they win over annotations */
    size_t route_count;
    struct mrg_slice reflected; /* a FileDescriptorSet that a real server gave; empty: none */
};

/*
 * Reads, compiles and links. INVALID: the message is protoc's own first lines, or names file, type and what
 * was expected; NOT_FOUND: a file, or protoc, is not there; UNSUPPORTED: groups, editions. A route that names
 * no RPC, or a field that its message does not have, is INVALID too. The caller frees it by
 * ret_schema's shape (mrg_schema_shape, mrg_schema_free).
 */
enum mrg_err mrg_schema_load(const struct mrg_schema_source *source, struct mrg_schema **ret_schema,
                             struct mrg_error *err);
void mrg_schema_free(struct mrg_schema *schema);

/* The built-in one; made at the first call, never freed. */
const struct mrg_schema *mrg_schema_builtin(void);

/* As the shape of a dependency, and back (NULL stays NULL). */
struct mrg_shape *mrg_schema_shape(struct mrg_schema *schema);
const struct mrg_schema *mrg_schema_of(const struct mrg_shape *shape);

/* "/pkg.Service/Method" (the slash may be missing); the schema's own only. NULL. */
const struct mrg_method *mrg_schema_method(const struct mrg_schema *schema, struct mrg_slice path);
/* The schema's own services, in the order of its files. Borrowed. */
const struct mrg_service *const *mrg_schema_services(const struct mrg_schema *schema, size_t *ret_count);
/* A message or an enum type by full name, also from the built-in schema; NULL. */
const struct mrg_message *mrg_schema_message(const struct mrg_schema *schema, struct mrg_slice full_name);
const struct mrg_enum *mrg_schema_enum(const struct mrg_schema *schema, struct mrg_slice full_name);

/* For reflection, also from the built-in schema: the file of that name; the file in which a service, method
 * (pkg.Service.Method), message, enum, enum value, field or extension is defined; that of an extension by
 * type and number. NULL. */
const struct mrg_proto_file *mrg_schema_file(const struct mrg_schema *schema, struct mrg_slice name);
const struct mrg_proto_file *mrg_schema_file_of(const struct mrg_schema *schema, struct mrg_slice symbol);
const struct mrg_proto_file *mrg_schema_file_of_extension(const struct mrg_schema *schema,
                                                          struct mrg_slice type, int32_t number);
/* Numbers of the known extensions of a type, ascending, in the arena. */
const int32_t *mrg_schema_extensions(const struct mrg_schema *schema, struct mrg_arena *arena,
                                     struct mrg_slice type, size_t *ret_count);
