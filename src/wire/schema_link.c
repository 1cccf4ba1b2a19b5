// SPDX-License-Identifier: Apache-2.0
#include "util/utf8.h"
#include "wire/schema_int.h"

#define MAX_NUMBER 536870911 /* of a field: 29 bits */

/* google.protobuf.FieldDescriptorProto.Type, from 1 on; groups are refused before. */
static const ProtobufCType types[] = {
    [1] = PROTOBUF_C_TYPE_DOUBLE,   [2] = PROTOBUF_C_TYPE_FLOAT,     [3] = PROTOBUF_C_TYPE_INT64,
    [4] = PROTOBUF_C_TYPE_UINT64,   [5] = PROTOBUF_C_TYPE_INT32,     [6] = PROTOBUF_C_TYPE_FIXED64,
    [7] = PROTOBUF_C_TYPE_FIXED32,  [8] = PROTOBUF_C_TYPE_BOOL,      [9] = PROTOBUF_C_TYPE_STRING,
    [11] = PROTOBUF_C_TYPE_MESSAGE, [12] = PROTOBUF_C_TYPE_BYTES,    [13] = PROTOBUF_C_TYPE_UINT32,
    [14] = PROTOBUF_C_TYPE_ENUM,    [15] = PROTOBUF_C_TYPE_SFIXED32, [16] = PROTOBUF_C_TYPE_SFIXED64,
    [17] = PROTOBUF_C_TYPE_SINT32,  [18] = PROTOBUF_C_TYPE_SINT64,
};
#define TYPE_GROUP   10
#define TYPE_MESSAGE 11
#define TYPE_ENUM    14

#define LABEL_OPTIONAL GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__LABEL__LABEL_OPTIONAL
#define LABEL_REQUIRED GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__LABEL__LABEL_REQUIRED
#define LABEL_REPEATED GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__LABEL__LABEL_REPEATED

/* What a field is made with, in the order of the fields. */
struct making {
    const struct mrg_schema_type *type;
    int *oneofs;                                           /* index among the real ones, or -1 */
    const Google__Protobuf__FieldDescriptorProto **protos; /* by ascending number */
    bool *packed;
    const void **defaults;
};

static enum mrg_err fail_field(struct mrg_schema_builder *b, const struct mrg_schema_type *type,
                               const Google__Protobuf__FieldDescriptorProto *proto, const char *sentence)
{
    return mrg_schema_fail(b, type->file, MRG_ERR_INVALID, "%.*s.%.*s %s", MRG_NAME_SHOWN,
                           type->message->full_name.ptr, MRG_NAME_SHOWN, proto->name ? proto->name : "?",
                           sentence);
}

const struct mrg_symbol *mrg_schema_symbol_find(const struct mrg_schema *schema, struct mrg_slice full_name)
{
    const struct mrg_symbol *symbol = mrg_names_find(&schema->symbols, full_name);
    if (!symbol && schema->base)
        symbol = mrg_names_find(&schema->base->symbols, full_name);
    return symbol;
}

const struct mrg_symbol *mrg_schema_resolve(const struct mrg_schema *schema, struct mrg_slice scope,
                                            const char *name)
{
    if (*name == '.')
        return mrg_schema_symbol_find(schema, mrg_slice_of(name + 1));
    /* protoc writes full names; other makers may leave the search to the reader: from the inside out. */
    char full[2 * MRG_MAX_SYMBOL];
    size_t len = strlen(name);
    if (len >= MRG_MAX_SYMBOL || scope.len >= MRG_MAX_SYMBOL)
        return NULL;
    memcpy(full, scope.ptr, scope.len);
    for (size_t end = scope.len;;) {
        size_t at = end > 0 ? end + 1 : 0;
        full[end] = '.';
        memcpy(full + at, name, len);
        const struct mrg_symbol *symbol = mrg_schema_symbol_find(schema, (struct mrg_slice){full, at + len});
        if (symbol && (symbol->kind == MRG_SYMBOL_MESSAGE || symbol->kind == MRG_SYMBOL_ENUM))
            return symbol;
        if (end == 0)
            return NULL;
        while (end > 0 && scope.ptr[end - 1] != '.')
            end--;
        end -= end > 0;
        memcpy(full, scope.ptr, scope.len);
    }
}

static enum mrg_err link_type(struct mrg_schema_builder *b, const struct making *making,
                              const Google__Protobuf__FieldDescriptorProto *proto, struct mrg_field *field)
{
    const struct mrg_schema_type *type = making->type;
    const struct mrg_symbol *symbol = NULL;
    int number = proto->has_type ? (int)proto->type : 0;
    if (number == TYPE_GROUP)
        return mrg_schema_fail(b, type->file, MRG_ERR_UNSUPPORTED,
                               "%.*s.%.*s is a group; groups are not supported", MRG_NAME_SHOWN,
                               type->message->full_name.ptr, MRG_NAME_SHOWN, proto->name);
    bool named = number == 0 || number == TYPE_MESSAGE || number == TYPE_ENUM;
    if (named && proto->type_name)
        symbol = mrg_schema_resolve(b->schema, type->message->full_name, proto->type_name);
    if (number == 0 && symbol)
        number = symbol->kind == MRG_SYMBOL_MESSAGE ? TYPE_MESSAGE : TYPE_ENUM;
    if (number < 1 || number >= (int)MRG_ARRAY_LEN(types))
        return fail_field(b, type, proto, "has a type that protobuf does not have");
    field->type = types[number];
    if (!named)
        return MRG_ERR_OK;
    enum mrg_symbol_kind kind = number == TYPE_MESSAGE ? MRG_SYMBOL_MESSAGE : MRG_SYMBOL_ENUM;
    if (!symbol || symbol->kind != kind)
        return mrg_schema_fail(b, type->file, MRG_ERR_INVALID, "%.*s.%.*s has the type %.*s, which is no %s",
                               MRG_NAME_SHOWN, type->message->full_name.ptr, MRG_NAME_SHOWN, proto->name,
                               MRG_NAME_SHOWN, proto->type_name ? proto->type_name : "\"\"",
                               kind == MRG_SYMBOL_MESSAGE ? "message" : "enum");
    if (kind == MRG_SYMBOL_MESSAGE)
        field->message = symbol->target;
    else
        field->enumeration = symbol->target;
    return MRG_ERR_OK;
}

/* lowerCamel, as protobuf says: an underscore goes, and the letter behind it is a capital. */
static struct mrg_slice camel(struct mrg_schema *schema, struct mrg_slice name)
{
    char *text = mrg_arena_alloc(schema->arena, name.len + 1);
    size_t len = 0;
    bool capital = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (c != '_')
            text[len++] = (char)(capital && c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
        capital = c == '_';
    }
    text[len] = '\0';
    return (struct mrg_slice){text, len};
}

static enum mrg_err link_names(struct mrg_schema_builder *b, const struct making *making,
                               const Google__Protobuf__FieldDescriptorProto *proto, struct mrg_field *field)
{
    const struct mrg_schema_type *type = making->type;
    struct mrg_slice full = {NULL, 0};
    enum mrg_err code = mrg_schema_name(b, type->file, type->message->full_name, proto->name, &full);
    if (code == MRG_ERR_OK)
        code = mrg_schema_symbol(b, type->file, full, MRG_SYMBOL_FIELD, NULL);
    if (code != MRG_ERR_OK)
        return code;
    size_t len = strlen(proto->name);
    field->name = (struct mrg_slice){full.ptr + full.len - len, len};
    if (!proto->json_name) {
        field->json_name = camel(b->schema, field->name);
        return MRG_ERR_OK;
    }
    field->json_name = mrg_schema_copy(b->schema, mrg_slice_of(proto->json_name));
    if (!mrg_utf8_valid(field->json_name))
        return fail_field(b, type, proto, "has a json_name that is not UTF-8");
    return MRG_ERR_OK;
}

static bool is_packable(ProtobufCType type)
{
    return type != PROTOBUF_C_TYPE_STRING && type != PROTOBUF_C_TYPE_BYTES && type != PROTOBUF_C_TYPE_MESSAGE;
}

static enum mrg_err link_default(struct mrg_schema_builder *b, const struct making *making,
                                 const Google__Protobuf__FieldDescriptorProto *proto, struct mrg_field *field,
                                 size_t index)
{
    struct mrg_error err;
    enum mrg_err code = mrg_schema_default(b->schema, field, making->type->file->proto3, proto->default_value,
                                           &making->defaults[index], &err);
    return code == MRG_ERR_OK ? code : fail_field(b, making->type, proto, err.message);
}

static enum mrg_err link_field(struct mrg_schema_builder *b, const struct making *making, size_t index)
{
    const struct mrg_schema_type *type = making->type;
    const Google__Protobuf__FieldDescriptorProto *proto = making->protos[index];
    struct mrg_field *field = &type->message->fields[index];
    bool proto3 = type->file->proto3;
    int label = proto->has_label ? (int)proto->label : LABEL_OPTIONAL;

    field->number = (uint32_t)proto->number;
    field->repeated = label == LABEL_REPEATED;
    field->required = label == LABEL_REQUIRED;
    field->oneof = -1;
    enum mrg_err code = link_names(b, making, proto, field);
    if (code != MRG_ERR_OK)
        return code;
    if (proto->number < 1 || proto->number > MAX_NUMBER)
        return fail_field(b, type, proto, "has a number that is not from 1 to 536870911");
    if (index > 0 && making->protos[index - 1]->number == proto->number)
        return fail_field(b, type, proto, "has the number of another field");
    if (label < LABEL_OPTIONAL || label > LABEL_REPEATED)
        return fail_field(b, type, proto, "has a label that protobuf does not have");
    if (proto->has_oneof_index) {
        if (proto->oneof_index < 0 || (size_t)proto->oneof_index >= type->proto->n_oneof_decl)
            return fail_field(b, type, proto, "is in a oneof that its message does not have");
        if (label != LABEL_OPTIONAL)
            return fail_field(b, type, proto, "is in a oneof and repeated or required");
        field->oneof = making->oneofs[proto->oneof_index];
    }
    code = link_type(b, making, proto, field);
    if (code != MRG_ERR_OK)
        return code;
    field->presence =
        !field->repeated && (!proto3 || field->message || proto->has_oneof_index || proto->proto3_optional);
    bool said = proto->options && proto->options->has_packed;
    making->packed[index] =
        field->repeated && is_packable(field->type) && (said ? proto->options->packed : proto3);
    return link_default(b, making, proto, field, index);
}

/* Oneofs that stand for one `optional` field are none: they get -1. */
static enum mrg_err link_oneofs(struct mrg_schema_builder *b, const struct making *making)
{
    const struct mrg_schema_type *type = making->type;
    const Google__Protobuf__DescriptorProto *proto = type->proto;
    for (size_t i = 0; i < proto->n_field; i++)
        if (proto->field[i]->has_oneof_index && proto->field[i]->proto3_optional &&
            proto->field[i]->oneof_index >= 0 && (size_t)proto->field[i]->oneof_index < proto->n_oneof_decl)
            making->oneofs[proto->field[i]->oneof_index] = -1;
    struct mrg_message *message = type->message;
    message->oneofs = mrg_arena_alloc(b->schema->arena, (proto->n_oneof_decl + 1) * sizeof(*message->oneofs));
    for (size_t i = 0; i < proto->n_oneof_decl; i++) {
        struct mrg_slice full = {NULL, 0};
        const char *name = proto->oneof_decl[i]->name;
        enum mrg_err code = mrg_schema_name(b, type->file, message->full_name, name, &full);
        if (code == MRG_ERR_OK)
            code = mrg_schema_symbol(b, type->file, full, MRG_SYMBOL_ONEOF, NULL);
        if (code != MRG_ERR_OK)
            return code;
        if (making->oneofs[i] < 0)
            continue;
        making->oneofs[i] = (int)message->oneof_count;
        message->oneofs[message->oneof_count++] = full.ptr + full.len - strlen(name);
    }
    return MRG_ERR_OK;
}

static int by_number(const void *a, const void *b)
{
    const Google__Protobuf__FieldDescriptorProto *x = *(Google__Protobuf__FieldDescriptorProto *const *)a;
    const Google__Protobuf__FieldDescriptorProto *y = *(Google__Protobuf__FieldDescriptorProto *const *)b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static enum mrg_err link_message(struct mrg_schema_builder *b, const struct mrg_schema_type *type)
{
    struct mrg_arena *scratch = b->scratch;
    struct mrg_message *message = type->message;
    size_t count = type->proto->n_field;
    struct making making = {
        .type = type,
        .oneofs = mrg_arena_zalloc(scratch, type->proto->n_oneof_decl * sizeof(int)),
        .protos = mrg_arena_alloc(scratch, count * sizeof(*making.protos)),
        .packed = mrg_arena_zalloc(scratch, count * sizeof(bool)),
        .defaults = mrg_arena_zalloc(scratch, count * sizeof(*making.defaults)),
    };
    message->field_count = count;
    message->fields = mrg_arena_zalloc(b->schema->arena, count * sizeof(*message->fields));
    for (size_t i = 0; i < count; i++)
        making.protos[i] = type->proto->field[i];
    if (count > 0)
        qsort(making.protos, count, sizeof(*making.protos), by_number);

    enum mrg_err code = link_oneofs(b, &making);
    for (size_t i = 0; code == MRG_ERR_OK && i < count; i++)
        code = link_field(b, &making, i);
    if (code == MRG_ERR_OK) {
        struct mrg_slice package = {type->file->proto->package, 0};
        package = mrg_slice_of(package.ptr);
        mrg_schema_layout(b->schema, message, making.packed, making.defaults, package);
    }
    return code;
}

/* Map entries: what their key and value may be, and where they may be used. Also what is known. */
static enum mrg_err check_message(struct mrg_schema_builder *b, const struct mrg_schema_type *type)
{
    struct mrg_message *message = type->message;
    struct mrg_error err;
    if (message->map_entry) {
        const struct mrg_field *key = mrg_message_field(message, 1);
        const struct mrg_field *value = mrg_message_field(message, 2);
        if (message->field_count != 2 || !key || !value || key->repeated || value->repeated ||
            key->required || value->required || key->oneof >= 0 || value->oneof >= 0 || key->message ||
            key->enumeration || key->type == PROTOBUF_C_TYPE_BYTES || key->type == PROTOBUF_C_TYPE_FLOAT ||
            key->type == PROTOBUF_C_TYPE_DOUBLE || !mrg_slice_eq_str(key->name, "key") ||
            !mrg_slice_eq_str(value->name, "value"))
            return mrg_schema_fail(b, type->file, MRG_ERR_INVALID, "%.*s is no map entry", MRG_NAME_SHOWN,
                                   message->full_name.ptr);
    }
    for (size_t i = 0; i < message->field_count; i++) {
        struct mrg_field *field = &message->fields[i];
        field->map = field->message && field->message->map_entry;
        if (field->map && !field->repeated)
            return mrg_schema_fail(b, type->file, MRG_ERR_INVALID, "%.*s.%s is a map that is not repeated",
                                   MRG_NAME_SHOWN, message->full_name.ptr, field->name.ptr);
    }
    enum mrg_err code = mrg_schema_known(message, &err);
    return code == MRG_ERR_OK ? code : mrg_schema_fail(b, type->file, code, "%s", err.message);
}

static int by_type(const void *a, const void *b)
{
    const struct mrg_schema_extension *x = a;
    const struct mrg_schema_extension *y = b;
    int order = strcmp(x->type.ptr, y->type.ptr);
    return order != 0 ? order : x->number < y->number ? -1 : x->number > y->number;
}

static enum mrg_err link_extensions(struct mrg_schema_builder *b)
{
    struct mrg_schema *schema = b->schema;
    for (size_t i = 0; i < schema->extension_count; i++) {
        struct mrg_schema_extension *extension = &schema->extensions[i];
        const char *name = extension->proto->extendee ? extension->proto->extendee : "";
        const struct mrg_symbol *symbol = mrg_schema_resolve(schema, extension->type, name);
        if (!symbol || symbol->kind != MRG_SYMBOL_MESSAGE)
            return mrg_schema_fail(b, extension->file, MRG_ERR_INVALID,
                                   "%.*s extends %.*s, which is no message", MRG_NAME_SHOWN,
                                   extension->proto->name, MRG_NAME_SHOWN, name);
        extension->type = symbol->name;
        extension->proto = NULL;
    }
    if (schema->extension_count > 0)
        qsort(schema->extensions, schema->extension_count, sizeof(*schema->extensions), by_type);
    return MRG_ERR_OK;
}

enum mrg_err mrg_schema_link(struct mrg_schema_builder *b)
{
    enum mrg_err code = MRG_ERR_OK;
    for (size_t i = 0; code == MRG_ERR_OK && i < b->type_count; i++)
        code = link_message(b, &b->types[i]);
    /* Only when all have their fields: a map's entry may come behind its message. */
    for (size_t i = 0; code == MRG_ERR_OK && i < b->type_count; i++)
        code = check_message(b, &b->types[i]);
    return code == MRG_ERR_OK ? link_extensions(b) : code;
}
