// SPDX-License-Identifier: Apache-2.0
/*
 * protobuf-c reads and writes structs by offsets that its compiler takes from generated code. Here they are laid out
 * as that code would: oneofs are a number and a union, repeated fields a count and a pointer, and optional
 * scalars have a flag.
 */
#include "wire/schema_int.h"

struct layout {
    size_t size;
    size_t *case_at;  /* of each oneof */
    size_t *union_at; /* of each oneof */
};

static size_t take(struct layout *layout, size_t size)
{
    size_t alignment = size >= 8 ? 8 : 4;
    size_t at = (layout->size + alignment - 1) / alignment * alignment;
    layout->size = at + size;
    return at;
}

static size_t size_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

static void place_field(struct layout *layout, const struct mrg_field *field, ProtobufCFieldDescriptor *pc)
{
    bool flagged =
        field->presence && !field->required && !field->message && field->type != PROTOBUF_C_TYPE_STRING;
    if (field->oneof >= 0) {
        pc->quantifier_offset = (unsigned)layout->case_at[field->oneof];
        pc->offset = (unsigned)layout->union_at[field->oneof];
    } else if (field->repeated) {
        pc->quantifier_offset = (unsigned)take(layout, sizeof(size_t));
        pc->offset = (unsigned)take(layout, sizeof(void *));
    } else {
        pc->quantifier_offset = flagged ? (unsigned)take(layout, sizeof(protobuf_c_boolean)) : 0;
        pc->offset = (unsigned)take(layout, size_of(field->type));
    }
}

static void describe(const struct mrg_field *field, ProtobufCFieldDescriptor *pc, bool packed)
{
    pc->name = field->name.ptr;
    pc->id = field->number;
    pc->label = field->repeated   ? PROTOBUF_C_LABEL_REPEATED
                : field->required ? PROTOBUF_C_LABEL_REQUIRED
                : field->presence ? PROTOBUF_C_LABEL_OPTIONAL
                                  : PROTOBUF_C_LABEL_NONE;
    pc->type = field->type;
    pc->descriptor = field->message ? (const void *)&field->message->pc : (const void *)field->enumeration;
    pc->flags =
        (packed ? PROTOBUF_C_FIELD_FLAG_PACKED : 0u) | (field->oneof >= 0 ? PROTOBUF_C_FIELD_FLAG_ONEOF : 0u);
}

/* Runs of consecutive numbers, with one at the end that closes the last. */
static void ranges(struct mrg_schema *schema, struct mrg_message *message)
{
    unsigned count = 0;
    for (size_t i = 0; i < message->field_count; i++)
        count += i == 0 || message->fields[i].number != message->fields[i - 1].number + 1;
    ProtobufCIntRange *items = mrg_arena_zalloc(schema->arena, (count + 1) * sizeof(*items));
    unsigned at = 0;
    for (size_t i = 0; i < message->field_count; i++)
        if (i == 0 || message->fields[i].number != message->fields[i - 1].number + 1)
            items[at++] = (ProtobufCIntRange){(int)message->fields[i].number, (unsigned)i};
    items[count].orig_index = (unsigned)message->field_count;
    message->pc.n_field_ranges = count;
    message->pc.field_ranges = items;
}

static int by_name(const void *a, const void *b, void *ctx)
{
    const struct mrg_field *fields = ctx;
    return mrg_name_order(fields[*(const unsigned *)a].name, fields[*(const unsigned *)b].name);
}

static int by_json_name(const void *a, const void *b, void *ctx)
{
    const struct mrg_field *fields = ctx;
    unsigned x = *(const unsigned *)a;
    unsigned y = *(const unsigned *)b;
    int order = mrg_name_order(fields[x].json_name, fields[y].json_name);
    return order != 0 ? order : x < y ? -1 : x > y;
}

static void sort_names(struct mrg_schema *schema, struct mrg_message *message)
{
    size_t count = message->field_count;
    unsigned *order = mrg_arena_alloc(schema->arena, (2 * count + 1) * sizeof(*order));
    for (size_t i = 0; i < 2 * count; i++)
        order[i] = (unsigned)(i % count);
    if (count > 0) {
        qsort_r(order, count, sizeof(*order), by_name, message->fields);
        qsort_r(order + count, count, sizeof(*order), by_json_name, message->fields);
    }
    message->by_name = order;
    message->pc.fields_sorted_by_name = order;
}

void mrg_schema_layout(struct mrg_schema *schema, struct mrg_message *message, const bool *packed,
                       const void *const *defaults, struct mrg_slice package)
{
    size_t count = message->field_count;
    size_t oneofs = message->oneof_count;
    size_t *union_sizes = mrg_zalloc((3 * oneofs + 1) * sizeof(size_t));
    struct layout layout = {sizeof(ProtobufCMessage), union_sizes + oneofs, union_sizes + 2 * oneofs};
    ProtobufCFieldDescriptor *fields = mrg_arena_zalloc(schema->arena, (count + 1) * sizeof(*fields));
    for (size_t i = 0; i < count; i++) {
        const struct mrg_field *field = &message->fields[i];
        if (field->oneof >= 0 && union_sizes[field->oneof] < size_of(field->type))
            union_sizes[field->oneof] = size_of(field->type);
    }
    for (size_t i = 0; i < oneofs; i++) {
        layout.case_at[i] = take(&layout, sizeof(uint32_t));
        layout.union_at[i] = take(&layout, union_sizes[i] > 8 ? union_sizes[i] : 8);
    }
    for (size_t i = 0; i < count; i++) {
        struct mrg_field *field = &message->fields[i];
        describe(field, &fields[i], packed[i]);
        place_field(&layout, field, &fields[i]);
        /* Members of a oneof share their place: init must leave it alone. */
        fields[i].default_value = field->oneof >= 0 ? NULL : defaults[i];
        field->pc = &fields[i];
    }
    free(union_sizes);

    size_t last = message->full_name.len;
    while (last > 0 && message->full_name.ptr[last - 1] != '.')
        last--;
    message->pc.magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC;
    message->pc.name = message->full_name.ptr;
    message->pc.short_name = message->full_name.ptr + last;
    message->pc.c_name = message->full_name.ptr;
    message->pc.package_name = mrg_schema_copy(schema, package).ptr;
    message->pc.sizeof_message = (layout.size + 7) / 8 * 8;
    message->pc.n_fields = (unsigned)count;
    message->pc.fields = fields;
    ranges(schema, message);
    sort_names(schema, message);
}
