// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "core/limits.h"
#include "util/json.h"
#include "wire/proto_write_int.h"

static size_t add_members(struct mrg_proto_writer *w, size_t count)
{
    size_t first = w->member_count;
    if (w->member_room - first < count) {
        bool moved = w->members == w->few_members;
        while (w->member_room - first < count)
            w->member_room *= 2;
        w->members = mrg_realloc(moved ? NULL : w->members, w->member_room * sizeof(*w->members));
        if (moved)
            memcpy(w->members, w->few_members, sizeof(w->few_members));
    }
    memset(w->members + first, 0, count * sizeof(*w->members));
    w->member_count += count;
    return first;
}

enum mrg_err mrg_proto_descend(struct mrg_proto_writer *w, const struct mrg_proto_place *place)
{
    if (w->depth == MRG_MAX_PROTO_DEPTH)
        return mrg_proto_fail(w->err, MRG_ERR_TOO_LARGE, place, "expected at most %u messages in each other",
                              MRG_MAX_PROTO_DEPTH);
    if (mrg_buf_failed(w->buf))
        return mrg_proto_fail(w->err, MRG_ERR_TOO_LARGE, place, "expected at most %zu bytes as a message",
                              w->buf->max);
    w->depth++;
    return MRG_ERR_OK;
}

/* Whether null is a value of a single field of this type. */
static bool takes_null(const struct mrg_field *field)
{
    return (field->message && field->message->known == MRG_KNOWN_VALUE) ||
           (field->enumeration && field->enumeration->null);
}

static enum mrg_err check_oneof(struct mrg_proto_writer *w, const struct mrg_message *type, size_t base,
                                const struct mrg_field *set, const struct mrg_proto_place *place)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const struct mrg_field *other = &type->fields[i];
        if (other == set || other->oneof != set->oneof || !w->members[base + i].ptr)
            continue;
        struct mrg_proto_place at = {.up = place, .field = set, .index = MRG_PROTO_NO_INDEX};
        return mrg_proto_fail(w->err, MRG_ERR_INVALID, &at,
                              "expected one member of the oneof \"%s\"; got \"%s\" and \"%s\"",
                              type->oneofs[set->oneof], other->name.ptr, set->name.ptr);
    }
    return MRG_ERR_OK;
}

static enum mrg_err take_member(struct mrg_proto_writer *w, const struct mrg_message *type, size_t base,
                                struct mrg_slice key, struct mrg_slice value, bool in_any,
                                const struct mrg_proto_place *place)
{
    struct mrg_slice name = key;
    if (memchr(key.ptr, '\\', key.len))
        name = mrg_proto_content(w, (struct mrg_slice){key.ptr - 1, key.len + 2});
    const struct mrg_field *field = mrg_message_field_named(type, name);
    if (!field) {
        if (w->lenient || (in_any && mrg_slice_eq_str(name, "@type")))
            return MRG_ERR_OK;
        return mrg_proto_fail_unknown(w->err, place, type, name);
    }
    if (mrg_proto_is_null(value) && (field->repeated || !takes_null(field)))
        return MRG_ERR_OK;
    size_t at = base + (size_t)(field - type->fields);
    if (w->members[at].ptr) {
        struct mrg_proto_place twice = {.up = place, .field = field, .index = MRG_PROTO_NO_INDEX};
        return mrg_proto_fail(w->err, MRG_ERR_INVALID, &twice,
                              "expected this field once; it is there as \"%s\" and as \"%s\"",
                              field->name.ptr, field->json_name.ptr);
    }
    w->members[at] = value;
    return field->oneof >= 0 ? check_oneof(w, type, base, field, place) : MRG_ERR_OK;
}

static enum mrg_err fail_missing(struct mrg_proto_writer *w, const struct mrg_field *field,
                                 const struct mrg_proto_place *place)
{
    struct mrg_proto_place at = {.up = place, .field = field, .index = MRG_PROTO_NO_INDEX};
    struct mrg_buf kind;
    mrg_buf_init(&kind, sizeof(w->err->message));
    mrg_proto_append_kind(&kind, field);
    mrg_proto_fail(w->err, MRG_ERR_INVALID, &at, "expected this required field, %s; it is missing",
                   mrg_buf_slice(&kind).ptr);
    mrg_buf_done(&kind);
    return MRG_ERR_INVALID;
}

enum mrg_err mrg_proto_write_members(struct mrg_proto_writer *w, const struct mrg_message *type,
                                     struct mrg_slice object, bool in_any,
                                     const struct mrg_proto_place *place)
{
    enum mrg_err code = mrg_proto_descend(w, place);
    size_t base = add_members(w, type->field_count);
    size_t cursor = 0;
    struct mrg_slice key, value;
    while (!code && mrg_json_next(object, &cursor, &key, &value))
        code = take_member(w, type, base, key, value, in_any, place);
    for (size_t i = 0; i < type->field_count && !code; i++) {
        const struct mrg_field *field = &type->fields[i];
        value = w->members[base + i];
        if (value.ptr)
            code = mrg_proto_write_field(w, field, value, place);
        else if (field->required)
            code = fail_missing(w, field, place);
    }
    w->member_count = base;
    w->depth--;
    return code;
}

enum mrg_err mrg_proto_write(struct mrg_proto_writer *w, const struct mrg_message *type,
                             struct mrg_slice value, const struct mrg_proto_place *place)
{
    if (type->known != MRG_KNOWN_NONE)
        return mrg_proto_write_known(w, type, value, place);
    if (value.ptr[0] == '{')
        return mrg_proto_write_members(w, type, value, false, place);
    char expected[128];
    snprintf(expected, sizeof(expected), "an object (%s)", type->full_name.ptr);
    return mrg_proto_fail_expected(w->err, place, expected, value);
}

static enum mrg_err write_message(struct mrg_proto_writer *w, const struct mrg_field *field,
                                  struct mrg_slice value, const struct mrg_proto_place *place)
{
    mrg_proto_append_tag(w->buf, field->number, MRG_PROTO_LENGTH);
    size_t begun = mrg_proto_begin(w);
    enum mrg_err code = mrg_proto_write(w, field->message, value, place);
    mrg_proto_end(w, begun);
    return code;
}

/* One value with its tag; null where it is none of the type has been seen to before. */
static enum mrg_err write_value(struct mrg_proto_writer *w, const struct mrg_field *field,
                                struct mrg_slice value, const struct mrg_proto_place *place)
{
    if (mrg_proto_is_null(value) && !takes_null(field))
        return mrg_proto_fail_kind(w->err, place, field, value);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return write_message(w, field, value, place);
    return mrg_proto_write_scalar(w, field, value, true, place);
}

static enum mrg_err write_list(struct mrg_proto_writer *w, const struct mrg_field *field,
                               struct mrg_slice list, struct mrg_proto_place *place)
{
    bool packed = field->pc->flags & PROTOBUF_C_FIELD_FLAG_PACKED;
    size_t begun = 0;
    size_t cursor = 0;
    struct mrg_slice value;
    enum mrg_err code = MRG_ERR_OK;
    if (list.ptr[0] != '[') {
        struct mrg_buf kind;
        mrg_buf_init(&kind, sizeof(w->err->message));
        mrg_buf_append_str(&kind, "an array, each item ");
        mrg_proto_append_kind(&kind, field);
        mrg_proto_fail_expected(w->err, place, mrg_buf_slice(&kind).ptr, list);
        mrg_buf_done(&kind);
        return MRG_ERR_INVALID;
    }
    for (place->index = 0; !code && mrg_json_next_item(list, &cursor, &value); place->index++) {
        if (packed && place->index == 0) {
            mrg_proto_append_tag(w->buf, field->number, MRG_PROTO_LENGTH);
            begun = mrg_proto_begin(w);
        }
        code = packed ? mrg_proto_write_scalar(w, field, value, false, place)
                      : write_value(w, field, value, place);
    }
    if (packed && place->index > 0)
        mrg_proto_end(w, begun);
    return code;
}

static enum mrg_err write_entry(struct mrg_proto_writer *w, const struct mrg_field *field,
                                struct mrg_slice key, struct mrg_slice value, struct mrg_proto_place *place)
{
    _cleanup_free_ char *heap = NULL; /* the place needs the key after others have used the scratch */
    if (memchr(key.ptr, '\\', key.len)) {
        key = mrg_proto_content(w, (struct mrg_slice){key.ptr - 1, key.len + 2});
        heap = mrg_malloc(key.len + 1);
        memcpy(heap, key.ptr, key.len);
        key.ptr = heap;
    }
    place->key = key;
    mrg_proto_append_tag(w->buf, field->number, MRG_PROTO_LENGTH);
    size_t begun = mrg_proto_begin(w);
    enum mrg_err code = mrg_proto_write_key(w, &field->message->fields[0], key, place);
    if (!code)
        code = write_value(w, &field->message->fields[1], value, place);
    mrg_proto_end(w, begun);
    return code;
}

static enum mrg_err write_map(struct mrg_proto_writer *w, const struct mrg_field *field,
                              struct mrg_slice object, struct mrg_proto_place *place)
{
    size_t cursor = 0;
    struct mrg_slice key, value;
    if (object.ptr[0] != '{')
        return mrg_proto_fail_expected(w->err, place, "an object (a map)", object);
    enum mrg_err code = mrg_proto_descend(w, place);
    while (!code && mrg_json_next(object, &cursor, &key, &value))
        code = write_entry(w, field, key, value, place);
    w->depth--;
    return code;
}

enum mrg_err mrg_proto_write_field(struct mrg_proto_writer *w, const struct mrg_field *field,
                                   struct mrg_slice value, const struct mrg_proto_place *up)
{
    struct mrg_proto_place at = {.up = up, .field = field, .index = MRG_PROTO_NO_INDEX};
    if (field->map)
        return write_map(w, field, value, &at);
    if (field->repeated)
        return write_list(w, field, value, &at);
    return write_value(w, field, value, &at);
}

static struct mrg_slice without_space(struct mrg_slice text)
{
    while (text.len > 0 && memchr(" \t\r\n", text.ptr[0], 4)) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && memchr(" \t\r\n", text.ptr[text.len - 1], 4))
        text.len--;
    return text;
}

enum mrg_err mrg_proto_from_json(const struct mrg_schema *schema, const struct mrg_message *type,
                                 struct mrg_slice json, bool lenient, struct mrg_buf *buf,
                                 struct mrg_error *err)
{
    struct mrg_proto_writer w;
    w.schema = schema;
    w.lenient = lenient;
    w.buf = buf;
    w.err = err;
    w.depth = 0;
    w.members = w.few_members;
    w.member_count = 0;
    w.member_room = MRG_ARRAY_LEN(w.few_members);
    mrg_buf_init(&w.scratch, json.len);
    struct mrg_slice value = without_space(json);
    MRG_ASSERT(value.len > 0);
    enum mrg_err code = mrg_proto_write(&w, type, value, NULL);
    mrg_buf_done(&w.scratch);
    if (w.members != w.few_members)
        free(w.members);
    if (!code && mrg_buf_failed(buf))
        code =
            mrg_proto_fail(err, MRG_ERR_TOO_LARGE, NULL, "expected at most %zu bytes as a message", buf->max);
    return code;
}
