// SPDX-License-Identifier: Apache-2.0
#include "util/utf8.h"
#include "wire/schema_int.h"

/* Files of protobuf itself differ a little from release to release: whichever comes first is taken. */
#define WELL_KNOWN "google/protobuf/"

struct mrg_schema *mrg_schema_empty(const struct mrg_schema *base)
{
    struct mrg_schema *schema = mrg_zalloc(sizeof(*schema));
    schema->arena = mrg_arena_new(64u << 10);
    schema->base = base;
    return schema;
}

/* What two descriptors of one file may differ in: its text's places, and names that follow from others. */
static void drop_derived(Google__Protobuf__DescriptorProto *message)
{
    for (size_t i = 0; i < message->n_field; i++)
        message->field[i]->json_name = NULL;
    for (size_t i = 0; i < message->n_extension; i++)
        message->extension[i]->json_name = NULL;
    for (size_t i = 0; i < message->n_nested_type; i++)
        drop_derived(message->nested_type[i]);
}

static char *essence(struct mrg_arena *arena, struct mrg_slice bytes, size_t *ret_len)
{
    Google__Protobuf__FileDescriptorProto *proto = mrg_file_unpack(arena, bytes, NULL);
    if (!proto)
        return NULL;
    proto->source_code_info = NULL;
    if (proto->syntax && strcmp(proto->syntax, "proto2") == 0)
        proto->syntax = NULL;
    for (size_t i = 0; i < proto->n_message_type; i++)
        drop_derived(proto->message_type[i]);
    for (size_t i = 0; i < proto->n_extension; i++)
        proto->extension[i]->json_name = NULL;
    *ret_len = google__protobuf__file_descriptor_proto__get_packed_size(proto);
    uint8_t *packed = mrg_arena_alloc(arena, *ret_len + 1);
    google__protobuf__file_descriptor_proto__pack(proto, packed);
    return (char *)packed;
}

static bool same(struct mrg_slice a, struct mrg_slice b)
{
    if (mrg_slice_eq(a, b))
        return true;
    struct mrg_arena *arena = mrg_arena_new(0);
    size_t a_len = 0;
    size_t b_len = 0;
    const char *a_text = essence(arena, a, &a_len);
    const char *b_text = essence(arena, b, &b_len);
    bool alike = a_text && b_text && a_len == b_len && memcmp(a_text, b_text, a_len) == 0;
    mrg_arena_free(arena);
    return alike;
}

static void shown_fill(struct mrg_schema *schema, struct mrg_proto_file *shown, struct mrg_slice name,
                       struct mrg_slice bytes, const Google__Protobuf__FileDescriptorProto *proto)
{
    shown->name = name;
    shown->descriptor = mrg_schema_copy(schema, bytes);
    shown->import_count = proto->n_dependency;
    shown->imports = mrg_arena_alloc(schema->arena, (proto->n_dependency + 1) * sizeof(*shown->imports));
    for (size_t i = 0; i < proto->n_dependency; i++)
        shown->imports[i] = mrg_schema_copy(schema, mrg_slice_of(proto->dependency[i]));
}

static enum mrg_err check_syntax(struct mrg_schema_builder *b, const struct mrg_schema_file *file)
{
    const char *syntax = file->proto->syntax;
    if (syntax && strcmp(syntax, "editions") == 0)
        return mrg_schema_fail(b, file, MRG_ERR_UNSUPPORTED,
                               "is written in a protobuf edition; expected syntax proto2 or proto3");
    if (syntax && *syntax && strcmp(syntax, "proto2") != 0 && strcmp(syntax, "proto3") != 0)
        return mrg_schema_fail(b, file, MRG_ERR_UNSUPPORTED, "has the syntax %.*s; expected proto2 or proto3",
                               40, syntax);
    return MRG_ERR_OK;
}

static enum mrg_err add_file(struct mrg_schema_builder *b, struct mrg_slice bytes)
{
    struct mrg_schema *schema = b->schema;
    Google__Protobuf__FileDescriptorProto *proto = mrg_file_unpack(b->scratch, bytes, b->err);
    if (!proto)
        return mrg_error_wrap(b->err, "file %zu", schema->file_count + 1);
    struct mrg_slice name = mrg_slice_of(proto->name);
    if (name.len == 0 || name.len > MRG_MAX_SYMBOL || !mrg_utf8_valid(name))
        return mrg_error_set(b->err, MRG_ERR_INVALID, "file %zu: has no name", schema->file_count + 1);

    const struct mrg_symbol *there = mrg_names_find(&schema->file_names, name);
    if (there) {
        bool known =
            name.len > sizeof(WELL_KNOWN) && memcmp(name.ptr, WELL_KNOWN, sizeof(WELL_KNOWN) - 1) == 0;
        return known || same(there->file->shown.descriptor, bytes)
                   ? MRG_ERR_OK
                   : mrg_schema_fail(b, there->file, MRG_ERR_INVALID, "is there twice, with another content");
    }
    struct mrg_schema_file *file = mrg_arena_zalloc(schema->arena, sizeof(*file));
    shown_fill(schema, &file->shown, mrg_schema_copy(schema, name), bytes, proto);
    file->proto = proto;
    file->proto3 = proto->syntax && strcmp(proto->syntax, "proto3") == 0;
    mrg_grow((void **)&schema->files, &schema->file_room, schema->file_count,
             sizeof(struct mrg_schema_file *));
    schema->files[schema->file_count++] = file;
    mrg_names_add(&schema->file_names, (struct mrg_symbol){.name = file->shown.name, .file = file});
    return check_syntax(b, file);
}

enum mrg_err mrg_schema_add_set(struct mrg_schema_builder *b, const char *source, struct mrg_slice set)
{
    enum mrg_err code = MRG_ERR_OK;
    struct mrg_slice bytes;
    size_t cursor = 0;
    size_t files = 0;
    b->schema->bytes += set.len;
    if (b->schema->bytes > MRG_MAX_DESCRIPTORS)
        code = mrg_error_set(b->err, MRG_ERR_TOO_LARGE, "the descriptors are larger than %u bytes",
                             MRG_MAX_DESCRIPTORS);
    for (; code == MRG_ERR_OK && mrg_set_next(set, &cursor, &bytes); files++)
        code = add_file(b, bytes);
    if (code == MRG_ERR_OK && (cursor > set.len || files == 0))
        code = mrg_error_set(b->err, MRG_ERR_INVALID,
                             "is no descriptor set; expected what `protoc --descriptor_set_out` writes");
    if (code != MRG_ERR_OK && *source)
        mrg_error_wrap(b->err, "%s", source);
    return code;
}

enum mrg_err mrg_schema_add_set_file(struct mrg_schema_builder *b, const char *path)
{
    struct mrg_buf set;
    mrg_buf_init(&set, MRG_MAX_DESCRIPTORS);
    enum mrg_err code = mrg_schema_read_file(path, MRG_MAX_DESCRIPTORS, &set, b->err);
    if (code == MRG_ERR_OK)
        code = mrg_schema_add_set(b, path, mrg_buf_slice(&set));
    mrg_buf_done(&set);
    return code;
}
