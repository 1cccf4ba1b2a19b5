// SPDX-License-Identifier: Apache-2.0
/*
 * Schema, inside: what its files share. Nobody else includes it.
 *
 *   schema.c           loading, freeing, the built-in schema, the shape
 *   schema_find.c      look-ups by name
 *   schema_protoc.c    protoc, run  schema_workspace.c  its folder  schema_spawn.c  its process
 *   schema_cache.c     what it made before
 *   schema_files.c     descriptor sets: read, taken apart, merged
 *   schema_bytes.c     bytes of descriptors that are looked at before they are unpacked
 *   schema_names.c     tables of names
 *   schema_declare.c   first pass: messages, enums and extensions get their names
 *   schema_link.c      second pass: fields get their types
 *   schema_layout.c    how protobuf-c sees a message   schema_default.c  default values
 *   schema_known.c     types whose JSON form is their own
 *   schema_services.c  third pass: services and methods   schema_rules.c  their routes
 *
 * Types lie in the schema's arena; unpacked descriptors in the builder's, which goes when the schema is built.
 * A schema that is being built belongs to one thread.
 */
#pragma once

#include <google/protobuf/descriptor.pb-c.h>
#include <time.h>

#include "core/limits.h"
#include "util/arena.h"
#include "util/hash.h"
#include "wire/route.h"
#include "wire/schema.h"

/* Places in error messages are long names; what stands behind them must still fit. */
#define MRG_NAME_SHOWN 200

/* ---- What is embedded (tools/embed.py) ---- */

struct mrg_embedded_text {
    const char *name;          /* "google/api/http.proto" */
    const unsigned char *data; /* its text, a NUL behind */
    size_t len;
};
extern const unsigned char mrg_embedded_set[];
extern const size_t mrg_embedded_set_len;
extern const struct mrg_embedded_text mrg_embedded_texts[];
extern const size_t mrg_embedded_text_count;

/* ---- Tables of names ---- */

enum mrg_symbol_kind {
    MRG_SYMBOL_MESSAGE,
    MRG_SYMBOL_ENUM,
    MRG_SYMBOL_VALUE,
    MRG_SYMBOL_FIELD,
    MRG_SYMBOL_ONEOF,
    MRG_SYMBOL_EXTENSION,
    MRG_SYMBOL_SERVICE,
    MRG_SYMBOL_METHOD,
};

struct mrg_symbol {
    uint64_t hash;                      /* of name */
    struct mrg_slice name;              /* ptr NULL: a free place */
    enum mrg_symbol_kind kind;          /* what target is */
    const void *target;                 /* a type, a service, a method; NULL for the others */
    const struct mrg_schema_file *file; /* where it is defined */
};

struct mrg_names {
    struct mrg_symbol *places; /* open addressing */
    size_t room;               /* a power of 2, or 0 */
    size_t count;
};

/* By bytes: negative, 0 or positive. */
static inline int mrg_name_order(struct mrg_slice a, struct mrg_slice b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

void mrg_names_done(struct mrg_names *names);
/* The one that is there, or NULL after adding; the name is borrowed. */
const struct mrg_symbol *mrg_names_add(struct mrg_names *names, struct mrg_symbol symbol);
const struct mrg_symbol *mrg_names_find(const struct mrg_names *names, struct mrg_slice name);

/* ---- The schema ---- */

struct mrg_schema_file {
    struct mrg_proto_file shown; /* first */
    const Google__Protobuf__FileDescriptorProto
        *proto; /* in the builder's arena; NULL when the schema is built */
    bool proto3;
};

struct mrg_schema_extension {
    struct mrg_slice type; /* full name of what is extended; before linking the scope of its name */
    int32_t number;
    const struct mrg_schema_file *file;
    const Google__Protobuf__FieldDescriptorProto *proto; /* NULL when the schema is built */
};

struct mrg_schema {
    struct mrg_shape shape;         /* first */
    struct mrg_arena *arena;        /* all but the tables and bindings */
    const struct mrg_schema *base;  /* the built-in one; NULL: this is it */
    struct mrg_schema_file **files; /* in the order that they came */
    size_t file_count;
    size_t file_room;
    struct mrg_names file_names;         /* by name; targets are files */
    struct mrg_names symbols;            /* by full name */
    struct mrg_names methods;            /* own ones by "pkg.Service/Method" */
    const struct mrg_service **services; /* own ones */
    size_t service_count;
    size_t service_room;
    struct mrg_method **bound; /* those that have bindings, to be freed */
    size_t bound_count;
    size_t bound_room;
    struct mrg_schema_extension *extensions; /* by type, then number */
    size_t extension_count;
    size_t extension_room;
    size_t bytes; /* of all files */
    struct mrg_hash128 identity;
};

struct mrg_schema_type {
    struct mrg_message *message;
    const Google__Protobuf__DescriptorProto *proto;
    const struct mrg_schema_file *file;
};

struct mrg_schema_builder {
    struct mrg_schema *schema;     /* what is built */
    struct mrg_arena *scratch;     /* unpacked descriptors */
    struct mrg_schema_type *types; /* declared messages */
    size_t type_count;
    size_t type_room;
    struct mrg_error *err; /* may be NULL */
};

/* ---- Steps ---- */

/* A schema without files. `base` NULL: for the built-in one. */
struct mrg_schema *mrg_schema_empty(const struct mrg_schema *base);
/* Adds a set's files; `source` is what errors begin with. Bytes are copied. */
enum mrg_err mrg_schema_add_set(struct mrg_schema_builder *b, const char *source, struct mrg_slice set);
enum mrg_err mrg_schema_add_set_file(struct mrg_schema_builder *b, const char *path);
/* All passes over the files that were added. */
enum mrg_err mrg_schema_declare(struct mrg_schema_builder *b);
enum mrg_err mrg_schema_link(struct mrg_schema_builder *b);
enum mrg_err mrg_schema_services_build(struct mrg_schema_builder *b);
enum mrg_err mrg_schema_routes(struct mrg_schema_builder *b, const struct mrg_route_config *routes,
                               size_t count);

/* Sets err to "file: sentence". */
enum mrg_err mrg_schema_fail(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                             enum mrg_err code, const char *format, ...) MRG_PRINTF(4, 5);
/* "scope.name" ("name" when scope is empty) in the schema's arena; INVALID when name is no identifier. */
enum mrg_err mrg_schema_name(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                             struct mrg_slice scope, const char *name, struct mrg_slice *ret_full);
/* Enters a name into the table of symbols. */
enum mrg_err mrg_schema_symbol(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                               struct mrg_slice full_name, enum mrg_symbol_kind kind, const void *target);
/* The type that a name in a descriptor stands for, seen from `scope`; also of the built-in schema; NULL. */
const struct mrg_symbol *mrg_schema_resolve(const struct mrg_schema *schema, struct mrg_slice scope,
                                            const char *name);
/* The same by full name. */
const struct mrg_symbol *mrg_schema_symbol_find(const struct mrg_schema *schema, struct mrg_slice full_name);
struct mrg_slice mrg_schema_copy(struct mrg_schema *schema, struct mrg_slice text);
struct mrg_slice mrg_schema_join(struct mrg_schema *schema, struct mrg_slice a, const char *between,
                                 struct mrg_slice b);

/* ---- Messages ---- */

/* Makes message->pc and each field's pc; packed[i] and defaults[i] belong to fields[i]. */
void mrg_schema_layout(struct mrg_schema *schema, struct mrg_message *message, const bool *packed,
                       const void *const *defaults, struct mrg_slice package);
/* The value that protobuf-c's init puts into the field; *ret_value NULL: zero. */
enum mrg_err mrg_schema_default(struct mrg_schema *schema, const struct mrg_field *field, bool proto3,
                                const char *text, const void **ret_value, struct mrg_error *err);
/* Sets message->known. INVALID when a type has a well-known name and not its fields. */
enum mrg_err mrg_schema_known(struct mrg_message *message, struct mrg_error *err);
/* The bindings of a method by its options; none when they have no annotation. */
enum mrg_err mrg_schema_annotation(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                                   struct mrg_method *method,
                                   const Google__Protobuf__MethodDescriptorProto *proto);

/* ---- Bytes ---- */

struct mrg_wire_field {
    uint32_t number;
    unsigned wire;          /* 0, 1, 2 or 5 */
    uint64_t value;         /* of a varint */
    struct mrg_slice bytes; /* of wire type 2 */
};

/* The next field of a message's bytes; *cursor starts at 0. False at the end, and with *cursor beyond
 * bytes.len when the bytes are no message (groups count as such). */
bool mrg_wire_next(struct mrg_slice bytes, size_t *cursor, struct mrg_wire_field *ret_field);
/* The next entry of a FileDescriptorSet, in the same way. */
bool mrg_set_next(struct mrg_slice set, size_t *cursor, struct mrg_slice *ret_file);
/* Whether messages are nested too deep to be unpacked. */
bool mrg_file_is_deep(struct mrg_slice file);
/* Unpacks within the arena; NULL with err set. */
Google__Protobuf__FileDescriptorProto *mrg_file_unpack(struct mrg_arena *arena, struct mrg_slice file,
                                                       struct mrg_error *err);

/* ---- protoc ---- */

struct mrg_protoc_job {
    const struct mrg_strings *roots; /* absolute */
    const struct mrg_strings *files; /* names below a root */
    unsigned timeout_ms;
};

/* Appends the descriptor set, from the cache or by protoc. */
enum mrg_err mrg_protoc_run(const struct mrg_protoc_job *job, struct mrg_buf *set, struct mrg_error *err);
/* The path of a file below the first root that has it, the caller's; NULL. */
char *mrg_protoc_locate(const struct mrg_strings *roots, const char *name);

struct mrg_cache_key {
    char hex[MRG_SHA256_HEX + 1]; /* of roots, files and what is embedded */
    char *folder;                 /* where sets are kept; NULL: nowhere */
    char *protoc;                 /* its path, size and time; NULL: it is not installed */
};

void mrg_cache_key_init(struct mrg_cache_key *key, const struct mrg_protoc_job *job, const char *protoc);
void mrg_cache_key_done(struct mrg_cache_key *key);
/* Appends what protoc made before, when nothing that it read has changed since. */
bool mrg_cache_read(const struct mrg_cache_key *key, const struct mrg_protoc_job *job, struct mrg_buf *set);
/* Keeps a set, unless a file that it was made of has changed since `started`. Failures are none. */
void mrg_cache_write(const struct mrg_cache_key *key, const struct mrg_protoc_job *job, struct mrg_slice set,
                     const struct timespec *started);

/* Appends a regular file's content, at most max bytes; errors begin with the path. */
enum mrg_err mrg_schema_read_file(const char *path, size_t max, struct mrg_buf *buf, struct mrg_error *err);
/* Writes a whole new file. False on failure, and then there is none. */
bool mrg_schema_write_file(const char *path, struct mrg_slice content);

/* A private folder with what protoc is given. */
struct mrg_workspace {
    char *path;   /* NULL: none */
    size_t roots; /* links in it */
};
enum mrg_err mrg_workspace_init(struct mrg_workspace *work, const struct mrg_strings *roots,
                                struct mrg_error *err);
void mrg_workspace_done(struct mrg_workspace *work); /* removes it */

/*
 * Runs a program without a shell, in a folder, with no input and without our descriptors; appends the first
 * bytes of its error output. *ret_status: its exit status, or 128 + the signal that ended it. TIMEOUT: it was
 * killed, with all that it started.
 */
enum mrg_err mrg_spawn(const char *path, char *const argv[], const char *folder, unsigned timeout_ms,
                       struct mrg_buf *output, int *ret_status, struct mrg_error *err);
