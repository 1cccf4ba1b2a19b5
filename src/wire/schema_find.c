// SPDX-License-Identifier: Apache-2.0
#include "wire/schema_int.h"

const struct mrg_method *mrg_schema_method(const struct mrg_schema *schema, struct mrg_slice path)
{
    if (path.len > 0 && path.ptr[0] == '/') {
        path.ptr++;
        path.len--;
    }
    const struct mrg_symbol *symbol = mrg_names_find(&schema->methods, path);
    return symbol ? symbol->target : NULL;
}

const struct mrg_service *const *mrg_schema_services(const struct mrg_schema *schema, size_t *ret_count)
{
    *ret_count = schema->service_count;
    return schema->services;
}

static const void *find_target(const struct mrg_schema *schema, struct mrg_slice full_name,
                               enum mrg_symbol_kind kind)
{
    const struct mrg_symbol *symbol = mrg_schema_symbol_find(schema, full_name);
    return symbol && symbol->kind == kind ? symbol->target : NULL;
}

const struct mrg_message *mrg_schema_message(const struct mrg_schema *schema, struct mrg_slice full_name)
{
    return find_target(schema, full_name, MRG_SYMBOL_MESSAGE);
}

const struct mrg_enum *mrg_schema_enum(const struct mrg_schema *schema, struct mrg_slice full_name)
{
    return find_target(schema, full_name, MRG_SYMBOL_ENUM);
}

const struct mrg_proto_file *mrg_schema_file(const struct mrg_schema *schema, struct mrg_slice name)
{
    const struct mrg_symbol *symbol = mrg_names_find(&schema->file_names, name);
    if (!symbol && schema->base)
        symbol = mrg_names_find(&schema->base->file_names, name);
    return symbol ? &symbol->file->shown : NULL;
}

const struct mrg_proto_file *mrg_schema_file_of(const struct mrg_schema *schema, struct mrg_slice symbol)
{
    const struct mrg_symbol *found = mrg_schema_symbol_find(schema, symbol);
    return found ? &found->file->shown : NULL;
}

/* The first extension of the type with at least that number, among the schema's own; their end when none. */
static size_t first_extension(const struct mrg_schema *schema, struct mrg_slice type, int32_t number)
{
    size_t low = 0;
    size_t high = schema->extension_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mrg_schema_extension *extension = &schema->extensions[middle];
        int order = mrg_name_order(extension->type, type);
        if (order < 0 || (order == 0 && extension->number < number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct mrg_schema_extension *extension_at(const struct mrg_schema *schema, size_t at,
                                                       struct mrg_slice type)
{
    if (!schema || at >= schema->extension_count || !mrg_slice_eq(schema->extensions[at].type, type))
        return NULL;
    return &schema->extensions[at];
}

const struct mrg_proto_file *mrg_schema_file_of_extension(const struct mrg_schema *schema,
                                                          struct mrg_slice type, int32_t number)
{
    for (; schema; schema = schema->base) {
        const struct mrg_schema_extension *extension =
            extension_at(schema, first_extension(schema, type, number), type);
        if (extension && extension->number == number)
            return &extension->file->shown;
    }
    return NULL;
}

const int32_t *mrg_schema_extensions(const struct mrg_schema *schema, struct mrg_arena *arena,
                                     struct mrg_slice type, size_t *ret_count)
{
    const struct mrg_schema *base = schema->base;
    size_t room = schema->extension_count + (base ? base->extension_count : 0);
    int32_t *numbers = mrg_arena_alloc(arena, (room + 1) * sizeof(*numbers));
    size_t count = 0;
    size_t own = first_extension(schema, type, INT32_MIN);
    size_t other = base ? first_extension(base, type, INT32_MIN) : 0;
    for (;;) {
        const struct mrg_schema_extension *a = extension_at(schema, own, type);
        const struct mrg_schema_extension *b = extension_at(base, other, type);
        if (!a && !b)
            break;
        int32_t number = !b || (a && a->number <= b->number) ? a->number : b->number;
        own += a && a->number == number;
        other += b && b->number == number;
        numbers[count++] = number;
    }
    *ret_count = count;
    return numbers;
}
