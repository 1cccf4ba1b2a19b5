// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>

#include "wire/schema_int.h"

enum mrg_err mrg_schema_fail(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                             enum mrg_err code, const char *format, ...)
{
    char sentence[sizeof(b->err->message)];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    return mrg_error_set(b->err, code, "%.*s: %s", MRG_NAME_SHOWN, file->shown.name.ptr, sentence);
}

struct mrg_slice mrg_schema_copy(struct mrg_schema *schema, struct mrg_slice text)
{
    return (struct mrg_slice){mrg_arena_memdup(schema->arena, text.ptr, text.len), text.len};
}

struct mrg_slice mrg_schema_join(struct mrg_schema *schema, struct mrg_slice a, const char *between,
                                 struct mrg_slice b)
{
    size_t len = strlen(between);
    char *text = mrg_arena_alloc(schema->arena, a.len + len + b.len + 1);
    memcpy(text, a.ptr, a.len);
    memcpy(text + a.len, between, len);
    memcpy(text + a.len + len, b.ptr, b.len);
    text[a.len + len + b.len] = '\0';
    return (struct mrg_slice){text, a.len + len + b.len};
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_identifier(const char *name)
{
    if (!name || !is_letter(*name))
        return false;
    while (is_letter(*name) || (*name >= '0' && *name <= '9'))
        name++;
    return *name == '\0';
}

enum mrg_err mrg_schema_name(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                             struct mrg_slice scope, const char *name, struct mrg_slice *ret_full)
{
    struct mrg_slice last = mrg_slice_of(name);
    if (!is_identifier(name) || scope.len + last.len >= MRG_MAX_SYMBOL)
        return mrg_schema_fail(b, file, MRG_ERR_INVALID, "%.*s has a part whose name is no identifier",
                               MRG_NAME_SHOWN, scope.len > 0 ? scope.ptr : "it");
    *ret_full =
        scope.len > 0 ? mrg_schema_join(b->schema, scope, ".", last) : mrg_schema_copy(b->schema, last);
    return MRG_ERR_OK;
}

enum mrg_err mrg_schema_symbol(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                               struct mrg_slice full_name, enum mrg_symbol_kind kind, const void *target)
{
    struct mrg_symbol symbol = {.name = full_name, .kind = kind, .target = target, .file = file};
    const struct mrg_symbol *there = mrg_names_add(&b->schema->symbols, symbol);
    if (!there)
        return MRG_ERR_OK;
    if (there->file == file)
        return mrg_schema_fail(b, file, MRG_ERR_INVALID, "%.*s is defined twice", MRG_NAME_SHOWN,
                               full_name.ptr);
    return mrg_schema_fail(b, file, MRG_ERR_INVALID, "%.*s is also defined in %.*s", MRG_NAME_SHOWN,
                           full_name.ptr, MRG_NAME_SHOWN, there->file->shown.name.ptr);
}

static int by_number(const void *a, const void *b, void *ctx)
{
    const struct mrg_enum_value *values = ctx;
    unsigned x = *(const unsigned *)a;
    unsigned y = *(const unsigned *)b;
    if (values[x].number != values[y].number)
        return values[x].number < values[y].number ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int by_name(const void *a, const void *b, void *ctx)
{
    const struct mrg_enum_value *values = ctx;
    return strcmp(values[*(const unsigned *)a].name.ptr, values[*(const unsigned *)b].name.ptr);
}

static void sort_values(struct mrg_schema *schema, struct mrg_enum *type)
{
    unsigned *order = mrg_arena_alloc(schema->arena, 2 * type->value_count * sizeof(*order));
    for (size_t i = 0; i < 2 * type->value_count; i++)
        order[i] = (unsigned)(i % type->value_count);
    qsort_r(order, type->value_count, sizeof(*order), by_number, type->values);
    qsort_r(order + type->value_count, type->value_count, sizeof(*order), by_name, type->values);
    type->sorted = order;
}

static enum mrg_err declare_enum(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                                 struct mrg_slice scope, const Google__Protobuf__EnumDescriptorProto *proto)
{
    struct mrg_schema *schema = b->schema;
    struct mrg_enum *type = mrg_arena_zalloc(schema->arena, sizeof(*type));
    enum mrg_err code = mrg_schema_name(b, file, scope, proto->name, &type->full_name);
    if (code == MRG_ERR_OK)
        code = mrg_schema_symbol(b, file, type->full_name, MRG_SYMBOL_ENUM, type);
    if (code != MRG_ERR_OK)
        return code;
    type->closed = !file->proto3;
    type->null = mrg_slice_eq_str(type->full_name, "google.protobuf.NullValue");
    type->value_count = proto->n_value;
    if (proto->n_value == 0)
        return mrg_schema_fail(b, file, MRG_ERR_INVALID, "the enum %.*s has no values", MRG_NAME_SHOWN,
                               type->full_name.ptr);
    if (file->proto3 && proto->value[0]->number != 0)
        return mrg_schema_fail(b, file, MRG_ERR_INVALID, "the first value of the enum %.*s must be 0",
                               MRG_NAME_SHOWN, type->full_name.ptr);
    type->values = mrg_arena_alloc(schema->arena, proto->n_value * sizeof(*type->values));
    for (size_t i = 0; code == MRG_ERR_OK && i < proto->n_value; i++) {
        /* Names of values are siblings of their enum's. */
        struct mrg_slice full = {NULL, 0};
        code = mrg_schema_name(b, file, scope, proto->value[i]->name, &full);
        if (code == MRG_ERR_OK)
            code = mrg_schema_symbol(b, file, full, MRG_SYMBOL_VALUE, NULL);
        size_t len = code == MRG_ERR_OK ? strlen(proto->value[i]->name) : 0;
        if (code == MRG_ERR_OK)
            type->values[i] =
                (struct mrg_enum_value){{full.ptr + full.len - len, len}, proto->value[i]->number};
    }
    if (code == MRG_ERR_OK)
        sort_values(schema, type);
    return code;
}

static enum mrg_err declare_extension(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                                      struct mrg_slice scope,
                                      const Google__Protobuf__FieldDescriptorProto *proto)
{
    struct mrg_schema *schema = b->schema;
    struct mrg_slice full = {NULL, 0};
    enum mrg_err code = mrg_schema_name(b, file, scope, proto->name, &full);
    if (code == MRG_ERR_OK)
        code = mrg_schema_symbol(b, file, full, MRG_SYMBOL_EXTENSION, NULL);
    if (code != MRG_ERR_OK)
        return code;
    mrg_grow((void **)&schema->extensions, &schema->extension_room, schema->extension_count,
             sizeof(*schema->extensions));
    schema->extensions[schema->extension_count++] =
        (struct mrg_schema_extension){.type = scope, .number = proto->number, .file = file, .proto = proto};
    return MRG_ERR_OK;
}

static enum mrg_err declare_message(struct mrg_schema_builder *b, const struct mrg_schema_file *file,
                                    struct mrg_slice scope, const Google__Protobuf__DescriptorProto *proto)
{
    struct mrg_message *message = mrg_arena_zalloc(b->schema->arena, sizeof(*message));
    enum mrg_err code = mrg_schema_name(b, file, scope, proto->name, &message->full_name);
    if (code == MRG_ERR_OK)
        code = mrg_schema_symbol(b, file, message->full_name, MRG_SYMBOL_MESSAGE, message);
    if (code != MRG_ERR_OK)
        return code;
    message->map_entry = proto->options && proto->options->map_entry;
    mrg_grow((void **)&b->types, &b->type_room, b->type_count, sizeof(*b->types));
    b->types[b->type_count++] = (struct mrg_schema_type){message, proto, file};

    for (size_t i = 0; code == MRG_ERR_OK && i < proto->n_nested_type; i++)
        code = declare_message(b, file, message->full_name, proto->nested_type[i]);
    for (size_t i = 0; code == MRG_ERR_OK && i < proto->n_enum_type; i++)
        code = declare_enum(b, file, message->full_name, proto->enum_type[i]);
    for (size_t i = 0; code == MRG_ERR_OK && i < proto->n_extension; i++)
        code = declare_extension(b, file, message->full_name, proto->extension[i]);
    return code;
}

static enum mrg_err check_package(struct mrg_schema_builder *b, const struct mrg_schema_file *file)
{
    const char *package = file->proto->package ? file->proto->package : "";
    for (const char *p = package; *package;) {
        if (!is_letter(*p))
            return mrg_schema_fail(b, file, MRG_ERR_INVALID, "its package is no dotted name");
        while (is_letter(*p) || (*p >= '0' && *p <= '9'))
            p++;
        if (*p == '\0')
            break;
        if (*p++ != '.')
            return mrg_schema_fail(b, file, MRG_ERR_INVALID, "its package is no dotted name");
    }
    return MRG_ERR_OK;
}

static enum mrg_err check_imports(struct mrg_schema_builder *b, const struct mrg_schema_file *file)
{
    const struct mrg_schema *schema = b->schema;
    for (size_t i = 0; i < file->shown.import_count; i++) {
        struct mrg_slice name = file->shown.imports[i];
        if (!mrg_schema_file(schema, name))
            return mrg_schema_fail(b, file, MRG_ERR_INVALID,
                                   "imports %.*s, which is not there; make the descriptor set with "
                                   "--include_imports",
                                   MRG_NAME_SHOWN, name.ptr);
    }
    return MRG_ERR_OK;
}

static enum mrg_err declare_file(struct mrg_schema_builder *b, const struct mrg_schema_file *file)
{
    const Google__Protobuf__FileDescriptorProto *proto = file->proto;
    struct mrg_slice package = mrg_slice_of(proto->package);
    enum mrg_err code = check_package(b, file);
    if (code == MRG_ERR_OK)
        code = check_imports(b, file);
    for (size_t i = 0; code == MRG_ERR_OK && i < proto->n_message_type; i++)
        code = declare_message(b, file, package, proto->message_type[i]);
    for (size_t i = 0; code == MRG_ERR_OK && i < proto->n_enum_type; i++)
        code = declare_enum(b, file, package, proto->enum_type[i]);
    for (size_t i = 0; code == MRG_ERR_OK && i < proto->n_extension; i++)
        code = declare_extension(b, file, package, proto->extension[i]);
    return code;
}

enum mrg_err mrg_schema_declare(struct mrg_schema_builder *b)
{
    enum mrg_err code = MRG_ERR_OK;
    for (size_t i = 0; code == MRG_ERR_OK && i < b->schema->file_count; i++)
        code = declare_file(b, b->schema->files[i]);
    return code;
}
