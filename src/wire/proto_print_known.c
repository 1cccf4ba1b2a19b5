// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "util/json.h"
#include "wire/proto_read_int.h"

#define EXACT 9007199254740992.0 /* integers up to here are exact as doubles */

/* Fields of google.protobuf.Value, all of its one oneof. */
enum { VALUE_NULL = 1, VALUE_NUMBER, VALUE_STRING, VALUE_BOOL, VALUE_STRUCT, VALUE_LIST };

/* The piece of the field with that number; n 0 and ptr NULL when it is absent. */
static struct mrg_proto_piece piece_of(const struct mrg_proto_reader *r, const struct mrg_proto_level *level,
                                       uint32_t number)
{
    const struct mrg_field *field = mrg_message_field(level->type, number);
    struct mrg_proto_slot slot = {0, 0};
    if (field)
        slot = mrg_proto_slot_at(r, level, (size_t)(field - level->type->fields));
    return slot.last ? r->pieces[slot.last] : (struct mrg_proto_piece){.ptr = NULL};
}

/* Timestamp and Duration have the same two fields. */
static enum mrg_err print_time(struct mrg_proto_reader *r, const struct mrg_proto_level *level,
                               const struct mrg_proto_place *place)
{
    int64_t seconds = (int64_t)piece_of(r, level, 1).n;
    int32_t nanos = (int32_t)(uint32_t)piece_of(r, level, 2).n;
    bool duration = level->type->known == MRG_KNOWN_DURATION;
    mrg_buf_append_char(r->buf, '"');
    if (!(duration ? mrg_proto_append_duration : mrg_proto_append_timestamp)(r->buf, seconds, nanos))
        return mrg_proto_fail(
            r->err, MRG_ERR_INVALID, place, "expected %s; got %lld seconds and %ld nanoseconds",
            duration ? "a duration of at most 315576000000 seconds, with nanoseconds of the "
                       "same sign, less than a second"
                     : "a time from year 1 to 9999, with 0 to 999999999 nanoseconds",
            (long long)seconds, (long)nanos);
    mrg_buf_append_char(r->buf, '"');
    return MRG_ERR_OK;
}

/* a_b as aB; false for what would not come back as it was. */
static bool append_camel(struct mrg_buf *buf, struct mrg_slice path)
{
    for (size_t i = 0; i < path.len; i++) {
        char c = path.ptr[i];
        if (c >= 'A' && c <= 'Z')
            return false;
        if (c == '_') {
            if (++i == path.len || path.ptr[i] < 'a' || path.ptr[i] > 'z')
                return false;
            c = (char)(path.ptr[i] - ('a' - 'A'));
        }
        mrg_buf_append_char(buf, c);
    }
    return true;
}

static enum mrg_err print_mask(struct mrg_proto_reader *r, const struct mrg_proto_level *level,
                               const struct mrg_proto_place *place)
{
    struct mrg_buf text;
    struct mrg_proto_place at = {.up = place, .field = &level->type->fields[0], .index = 0};
    mrg_buf_init(&text, r->buf->max);
    enum mrg_err code = MRG_ERR_OK;
    struct mrg_proto_slot slot = mrg_proto_slot_at(r, level, 0);
    for (uint32_t i = slot.first; i && !code; i = r->pieces[i].next) {
        struct mrg_slice path = {r->pieces[i].ptr, (size_t)r->pieces[i].n};
        if (at.index++ > 0)
            mrg_buf_append_char(&text, ',');
        if (append_camel(&text, path))
            continue;
        at.index--;
        code = mrg_proto_fail_expected(
            r->err, &at, "a path without capital letters, and a small letter after each _", path);
    }
    mrg_json_append_string(r->buf, mrg_buf_slice(&text));
    mrg_buf_done(&text);
    return code;
}

/* Integers without a point: that is how those who made the value wrote them. */
static enum mrg_err print_json_number(struct mrg_proto_reader *r, uint64_t bits,
                                      const struct mrg_proto_place *place)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    if (!isfinite(value))
        return mrg_proto_fail(r->err, MRG_ERR_INVALID, place,
                              "expected a number that JSON has; got NaN or an infinity");
    if (fabs(value) <= EXACT && value == trunc(value) && !(value == 0 && signbit(value)))
        mrg_proto_append_integer(r->buf, (uint64_t)(int64_t)value, true);
    else
        mrg_proto_append_double(r->buf, value);
    return MRG_ERR_OK;
}

static enum mrg_err print_json_value(struct mrg_proto_reader *r, const struct mrg_proto_level *level,
                                     const struct mrg_proto_place *place)
{
    for (size_t i = 0; i < level->type->field_count; i++) {
        const struct mrg_field *field = &level->type->fields[i];
        struct mrg_proto_slot slot = mrg_proto_slot_at(r, level, i);
        if (slot.first == 0)
            continue;
        if (field->number == VALUE_NUMBER) {
            struct mrg_proto_place at = {.up = place, .field = field, .index = MRG_PROTO_NO_INDEX};
            return print_json_number(r, r->pieces[slot.last].n, &at);
        }
        return mrg_proto_print_field(r, field, slot, place);
    }
    mrg_buf_append_str(r->buf, "null");
    return MRG_ERR_OK;
}

static enum mrg_err print_any(struct mrg_proto_reader *r, const struct mrg_proto_level *level,
                              const struct mrg_proto_place *place)
{
    struct mrg_proto_piece url = piece_of(r, level, 1);
    struct mrg_proto_piece content = piece_of(r, level, 2);
    if (url.n == 0 && content.n == 0) {
        mrg_buf_append_str(r->buf, "{}");
        return MRG_ERR_OK;
    }
    struct mrg_slice text = {url.ptr ? url.ptr : "", (size_t)url.n};
    const char *slash = memrchr(text.ptr, '/', text.len);
    struct mrg_slice name = text;
    if (slash)
        name = (struct mrg_slice){slash + 1, (size_t)(text.ptr + text.len - slash) - 1};
    const struct mrg_message *type = mrg_schema_message(r->schema, name);
    if (!type)
        return mrg_proto_fail_expected(r->err, place, "an Any of a type that the descriptors have", text);
    enum mrg_err code = mrg_proto_open(r, '{', place);
    if (code)
        return code;
    mrg_buf_append_str(r->buf, "\"@type\":");
    mrg_json_append_string(r->buf, text);
    uint32_t inner =
        mrg_proto_piece_of(r, (struct mrg_slice){content.ptr ? content.ptr : "", (size_t)content.n});
    if (type->known == MRG_KNOWN_NONE || type->known == MRG_KNOWN_EMPTY) {
        code = mrg_proto_print_members(r, type, inner, inner, true, place);
    } else {
        mrg_buf_append_str(r->buf, ",\"value\":");
        code = mrg_proto_print(r, type, inner, inner, place);
    }
    mrg_proto_close(r, '}');
    return code;
}

static enum mrg_err print_level(struct mrg_proto_reader *r, const struct mrg_proto_level *level,
                                const struct mrg_proto_place *place)
{
    switch (level->type->known) {
    case MRG_KNOWN_ANY:
        return print_any(r, level, place);
    case MRG_KNOWN_TIMESTAMP:
    case MRG_KNOWN_DURATION:
        return print_time(r, level, place);
    case MRG_KNOWN_FIELD_MASK:
        return print_mask(r, level, place);
    case MRG_KNOWN_VALUE:
        return print_json_value(r, level, place);
    case MRG_KNOWN_EMPTY:
    case MRG_KNOWN_NONE:
        mrg_buf_append_str(r->buf, "{}");
        return MRG_ERR_OK;
    case MRG_KNOWN_STRUCT:
    case MRG_KNOWN_LIST_VALUE:
    case MRG_KNOWN_WRAPPER:
        break;
    }
    return mrg_proto_print_field(r, &level->type->fields[0], mrg_proto_slot_at(r, level, 0), place);
}

enum mrg_err mrg_proto_print_known(struct mrg_proto_reader *r, const struct mrg_message *type, uint32_t first,
                                   uint32_t last, const struct mrg_proto_place *place)
{
    struct mrg_proto_level level;
    enum mrg_err code = mrg_proto_enter(r, &level, type, first, last, true, place);
    if (!code)
        code = print_level(r, &level, place);
    if (!code)
        mrg_proto_leave(r, &level);
    return code;
}
