// SPDX-License-Identifier: Apache-2.0
/*
 * Route types: message types for the tests and the fuzzer of routes, built by hand.
 *
 * Static functions and data: each program includes its own copy.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "wire/route.h"

#define HELP_FIELD(text, json, id, kind)                                                                     \
    .name = {text, sizeof(text) - 1}, .json_name = {json, sizeof(json) - 1}, .number = (id),                 \
    .type = PROTOBUF_C_TYPE_##kind, .oneof = -1
#define HELP_NAME(text) .full_name = {text, sizeof(text) - 1}

static struct mrg_enum_value help_kind_values[] = {
    {{"UNKNOWN", 7}, 0},
    {{"NONE", 4}, 0},
    {{"BOX", 3}, 1},
};
static unsigned help_kind_order[] = {0, 1, 2, 2, 1, 0}; /* by number, then by name */
static const struct mrg_enum help_kind = {HELP_NAME("shop.Kind"), .values = help_kind_values,
                                          .value_count = 3, .sorted = help_kind_order};

static struct mrg_message help_line;
static struct mrg_message help_reserve;
static struct mrg_message help_wrapper;

static struct mrg_field help_wrapper_fields[] = {{HELP_FIELD("value", "value", 1, INT32)}};
static struct mrg_message help_wrapper = {HELP_NAME("google.protobuf.Int32Value"),
                                          .fields = help_wrapper_fields, .field_count = 1,
                                          .known = MRG_KNOWN_WRAPPER};
static struct mrg_message help_time = {HELP_NAME("google.protobuf.Timestamp"), .known = MRG_KNOWN_TIMESTAMP};
static struct mrg_message help_struct = {HELP_NAME("google.protobuf.Struct"), .known = MRG_KNOWN_STRUCT};

static struct mrg_field help_line_fields[] = {
    {HELP_FIELD("sku_code", "skuCode", 1, STRING)},
    {HELP_FIELD("count", "count", 2, INT32)},
    {HELP_FIELD("next", "next", 3, MESSAGE), .presence = true, .message = &help_line},
};
static struct mrg_message help_line = {HELP_NAME("shop.Line"), .fields = help_line_fields, .field_count = 3};

static struct mrg_field help_counts_fields[] = {
    {HELP_FIELD("key", "key", 1, STRING)},
    {HELP_FIELD("value", "value", 2, INT32)},
};
static struct mrg_message help_counts = {HELP_NAME("shop.Reserve.CountsEntry"), .fields = help_counts_fields,
                                         .field_count = 2, .map_entry = true};
static struct mrg_field help_named_fields[] = {
    {HELP_FIELD("key", "key", 1, STRING)},
    {HELP_FIELD("value", "value", 2, MESSAGE), .presence = true, .message = &help_line},
};
static struct mrg_message help_named = {HELP_NAME("shop.Reserve.NamedEntry"), .fields = help_named_fields,
                                        .field_count = 2, .map_entry = true};

static struct mrg_field help_reserve_fields[] = {
    {HELP_FIELD("item_id", "itemId", 1, STRING)},
    {HELP_FIELD("quantity", "quantity", 2, INT32)},
    {HELP_FIELD("note", "note", 3, STRING)},
    {HELP_FIELD("tags", "tags", 4, STRING), .repeated = true},
    {HELP_FIELD("counts", "counts", 5, MESSAGE), .repeated = true, .map = true, .message = &help_counts},
    {HELP_FIELD("line", "line", 6, MESSAGE), .presence = true, .message = &help_line},
    {HELP_FIELD("page_limit", "pageLimit", 7, INT32), .presence = true},
    {HELP_FIELD("kind", "kind", 8, ENUM), .enumeration = &help_kind},
    {HELP_FIELD("dry_run", "dryRun", 9, BOOL)},
    {HELP_FIELD("price", "price", 10, DOUBLE)},
    {HELP_FIELD("big", "big", 11, INT64)},
    {HELP_FIELD("raw", "raw", 12, BYTES)},
    {HELP_FIELD("at", "at", 13, MESSAGE), .presence = true, .message = &help_time},
    {HELP_FIELD("lines", "lines", 14, MESSAGE), .repeated = true, .message = &help_line},
    {HELP_FIELD("named", "named", 15, MESSAGE), .repeated = true, .map = true, .message = &help_named},
    {HELP_FIELD("most", "most", 16, MESSAGE), .presence = true, .message = &help_wrapper},
    {HELP_FIELD("kinds", "kinds", 17, ENUM), .repeated = true, .enumeration = &help_kind},
    {HELP_FIELD("extra", "extra", 18, MESSAGE), .presence = true, .message = &help_struct},
};
static struct mrg_message help_reserve = {HELP_NAME("shop.Reserve"), .fields = help_reserve_fields,
                                          .field_count = MRG_ARRAY_LEN(help_reserve_fields)};

static int help_compare(struct mrg_slice a, struct mrg_slice b)
{
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* The orders that look-ups by name need, by insertion. */
static void help_sort(struct mrg_message *message)
{
    static unsigned room[256];
    static size_t used;
    size_t count = message->field_count;
    unsigned *order = room + used;
    used += 2 * count;
    MRG_ASSERT(used <= MRG_ARRAY_LEN(room));
    for (size_t i = 0; i < 2 * count; i++) {
        bool json = i >= count;
        size_t at = i;
        size_t first = json ? count : 0;
        const struct mrg_field *field = &message->fields[i - first];
        for (; at > first; at--) {
            const struct mrg_field *before = &message->fields[order[at - 1]];
            if (help_compare(json ? before->json_name : before->name, json ? field->json_name : field->name) <
                0)
                break;
            order[at] = order[at - 1];
        }
        order[at] = (unsigned)(i - first);
    }
    message->by_name = order;
}

static inline int help_types(void **state)
{
    struct mrg_message *const all[] = {&help_line,    &help_counts, &help_named, &help_reserve,
                                       &help_wrapper, &help_time,   &help_struct};
    (void)state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(all); i++) {
        if (!all[i]->by_name)
            help_sort(all[i]);
    }
    return 0;
}
