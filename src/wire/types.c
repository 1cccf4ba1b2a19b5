// SPDX-License-Identifier: Apache-2.0
#include "wire/types.h"

static int compare(struct mrg_slice a, struct mrg_slice b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

const struct mrg_field *mrg_message_field(const struct mrg_message *message, uint32_t number)
{
    size_t low = 0;
    size_t high = message->field_count;
    /* Most messages number their fields from 1 on without gaps. */
    if (number - 1 < high && message->fields[number - 1].number == number)
        return &message->fields[number - 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (message->fields[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < message->field_count && message->fields[low].number == number ? &message->fields[low] : NULL;
}

static const struct mrg_field *by_name(const struct mrg_message *message, const unsigned *order, bool json,
                                       struct mrg_slice name)
{
    size_t low = 0;
    size_t high = message->field_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mrg_field *field = &message->fields[order[middle]];
        if (compare(json ? field->json_name : field->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == message->field_count)
        return NULL;
    const struct mrg_field *field = &message->fields[order[low]];
    return mrg_slice_eq(json ? field->json_name : field->name, name) ? field : NULL;
}

const struct mrg_field *mrg_message_field_named(const struct mrg_message *message, struct mrg_slice name)
{
    const struct mrg_field *field = by_name(message, message->by_name, false, name);
    return field ? field : by_name(message, message->by_name + message->field_count, true, name);
}

const struct mrg_enum_value *mrg_enum_value(const struct mrg_enum *type, int32_t number)
{
    size_t low = 0;
    size_t high = type->value_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (type->values[type->sorted[middle]].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == type->value_count)
        return NULL;
    const struct mrg_enum_value *value = &type->values[type->sorted[low]];
    return value->number == number ? value : NULL;
}

const struct mrg_enum_value *mrg_enum_value_named(const struct mrg_enum *type, struct mrg_slice name)
{
    const unsigned *order = type->sorted + type->value_count;
    size_t low = 0;
    size_t high = type->value_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(type->values[order[middle]].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == type->value_count)
        return NULL;
    const struct mrg_enum_value *value = &type->values[order[low]];
    return mrg_slice_eq(value->name, name) ? value : NULL;
}
