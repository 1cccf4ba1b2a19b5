// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "core/limits.h"
#include "util/utf8.h"
#include "wire/proto_read_int.h"

#define LAST_NUMBER ((1u << 29) - 1) /* of a field */
#define VARINT_MAX  10               /* bytes */
#define TAG_MAX     5                /* bytes of a varint of 32 bits */

/* The bytes of one piece under way. */
struct scan {
    struct mrg_proto_reader *r;
    const struct mrg_proto_level *level;
    const struct mrg_proto_place *place;
    const char *p;
    const char *end;
    size_t guess; /* index of the field that probably comes next */
};

/* One field as it stands in the bytes. */
struct raw {
    uint32_t number;
    unsigned wire;
    const struct mrg_field *field; /* NULL: unknown */
    struct mrg_proto_piece piece;
};

void mrg_proto_reader_init(struct mrg_proto_reader *r, const struct mrg_schema *schema, struct mrg_error *err)
{
    r->schema = schema;
    r->form = MRG_PROTO_NORMAL;
    r->buf = NULL;
    r->err = err;
    r->depth = 0;
    r->json_depth = 0;
    r->fields_left = MRG_MAX_PROTO_FIELDS;
    r->dropped = false;
    r->pieces = r->few_pieces;
    r->piece_count = 1;
    r->piece_room = MRG_ARRAY_LEN(r->few_pieces);
    r->slots = r->few_slots;
    r->slot_count = 0;
    r->slot_room = MRG_ARRAY_LEN(r->few_slots);
}

void mrg_proto_reader_done(struct mrg_proto_reader *r)
{
    if (r->pieces != r->few_pieces)
        free(r->pieces);
    if (r->slots != r->few_slots)
        free(r->slots);
}

static uint32_t add_piece(struct mrg_proto_reader *r, const struct mrg_proto_piece *piece)
{
    if (r->piece_count == r->piece_room) {
        bool moved = r->pieces == r->few_pieces;
        r->piece_room *= 2;
        r->pieces = mrg_realloc(moved ? NULL : r->pieces, r->piece_room * sizeof(*r->pieces));
        if (moved)
            memcpy(r->pieces, r->few_pieces, sizeof(r->few_pieces));
    }
    r->pieces[r->piece_count] = *piece;
    return (uint32_t)r->piece_count++;
}

uint32_t mrg_proto_piece_of(struct mrg_proto_reader *r, struct mrg_slice bytes)
{
    struct mrg_proto_piece piece = {.ptr = bytes.ptr ? bytes.ptr : "", .n = bytes.len};
    return add_piece(r, &piece);
}

static size_t add_slots(struct mrg_proto_reader *r, size_t count)
{
    size_t first = r->slot_count;
    if (r->slot_room - first < count) {
        bool moved = r->slots == r->few_slots;
        while (r->slot_room - first < count)
            r->slot_room *= 2;
        r->slots = mrg_realloc(moved ? NULL : r->slots, r->slot_room * sizeof(*r->slots));
        if (moved)
            memcpy(r->slots, r->few_slots, sizeof(r->few_slots));
    }
    memset(r->slots + first, 0, count * sizeof(*r->slots));
    r->slot_count += count;
    return first;
}

static bool read_varint(const char **at, const char *end, uint64_t *ret_value)
{
    const unsigned char *p = (const unsigned char *)*at;
    size_t most = (size_t)(end - *at) < VARINT_MAX ? (size_t)(end - *at) : VARINT_MAX;
    uint64_t value = 0;
    for (size_t i = 0; i < most; i++) {
        value |= (uint64_t)(p[i] & 0x7F) << (7 * i);
        if (p[i] < 0x80) {
            *at += i + 1;
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static uint64_t read_fixed(const char *at, size_t size)
{
    const unsigned char *p = (const unsigned char *)at;
    uint64_t value = 0;
    for (size_t i = size; i > 0; i--)
        value = value << 8 | p[i - 1];
    return value;
}

/* The number that the bits of a varint or fixed value are, as proto_int.h says. */
static uint64_t number_of(ProtobufCType type, uint64_t bits)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_ENUM:
        return (uint64_t)(int64_t)(int32_t)(uint32_t)bits;
    case PROTOBUF_C_TYPE_SINT32: {
        uint32_t low = (uint32_t)bits;
        return (uint64_t)(int64_t)(int32_t)((low >> 1) ^ (0 - (low & 1)));
    }
    case PROTOBUF_C_TYPE_SINT64:
        return (bits >> 1) ^ (0 - (bits & 1));
    case PROTOBUF_C_TYPE_UINT32:
        return (uint32_t)bits;
    case PROTOBUF_C_TYPE_BOOL:
        return bits != 0;
    default:
        return bits;
    }
}

bool mrg_proto_next_packed(const struct mrg_proto_piece *run, ProtobufCType type, size_t *cursor,
                           uint64_t *ret_value)
{
    const char *p = run->ptr + *cursor;
    const char *end = run->ptr + run->n;
    uint64_t bits;
    enum mrg_proto_wire wire = mrg_proto_wire_of(type);
    if (p == end)
        return false;
    if (wire == MRG_PROTO_VARINT) {
        if (!read_varint(&p, end, &bits))
            return false;
    } else {
        size_t size = wire == MRG_PROTO_FIXED32 ? 4 : 8;
        bits = read_fixed(p, size);
        p += size;
    }
    *cursor = (size_t)(p - run->ptr);
    *ret_value = number_of(type, bits);
    return true;
}

static bool in_closed_enum(const struct mrg_field *field, uint64_t value)
{
    return field->type != PROTOBUF_C_TYPE_ENUM || !field->enumeration->closed ||
           mrg_enum_value(field->enumeration, (int32_t)(uint32_t)value) != NULL;
}

static enum mrg_err fail_raw(const struct scan *s, const struct raw *raw, const char *what)
{
    struct mrg_proto_reader *r = s->r;
    if (!raw->field)
        return mrg_proto_fail_number(r->err, MRG_ERR_INVALID, s->place, raw->number, "%s", what);
    struct mrg_proto_place at = {.up = s->place, .field = raw->field, .index = MRG_PROTO_NO_INDEX};
    if (raw->field->repeated) {
        struct mrg_proto_slot slot =
            mrg_proto_slot_at(r, s->level, (size_t)(raw->field - s->level->type->fields));
        at.index = 0;
        for (uint32_t i = slot.first; i; i = r->pieces[i].next)
            at.index++;
    }
    return mrg_proto_fail(r->err, MRG_ERR_INVALID, &at, "%s", what);
}

/* Fields come in ascending order as a rule. */
static const struct mrg_field *find_field(struct scan *s, uint32_t number)
{
    const struct mrg_message *type = s->level->type;
    for (size_t i = s->guess; i < type->field_count && i < s->guess + 2; i++) {
        if (type->fields[i].number == number) {
            s->guess = i;
            return &type->fields[i];
        }
    }
    const struct mrg_field *field = mrg_message_field(type, number);
    if (field)
        s->guess = (size_t)(field - type->fields);
    return field;
}

static enum mrg_err read_tag(struct scan *s, struct raw *raw)
{
    struct mrg_proto_reader *r = s->r;
    uint64_t tag;
    const char *begun = s->p;
    if (!read_varint(&s->p, s->end, &tag) || s->p - begun > TAG_MAX)
        return mrg_proto_fail(r->err, MRG_ERR_INVALID, s->place,
                              "expected a field's tag; the bytes end within it, or it has more than 5");
    if (tag >> 3 == 0 || tag >> 3 > LAST_NUMBER)
        return mrg_proto_fail(r->err, MRG_ERR_INVALID, s->place,
                              "expected a field number from 1 to %u; got %llu", LAST_NUMBER,
                              (unsigned long long)(tag >> 3));
    if (r->fields_left == 0)
        return mrg_proto_fail(r->err, MRG_ERR_TOO_LARGE, s->place, "expected at most %u fields in all",
                              MRG_MAX_PROTO_FIELDS);
    r->fields_left--;
    raw->number = (uint32_t)(tag >> 3);
    raw->wire = (unsigned)(tag & 7);
    raw->field = find_field(s, raw->number);
    raw->piece = (struct mrg_proto_piece){.ptr = NULL};
    return MRG_ERR_OK;
}

static enum mrg_err read_payload(struct scan *s, struct raw *raw)
{
    uint64_t len;
    size_t left;
    switch (raw->wire) {
    case MRG_PROTO_VARINT:
        if (!read_varint(&s->p, s->end, &raw->piece.n))
            return fail_raw(s, raw, "expected a varint; the bytes end within it, or it has more than 10");
        return MRG_ERR_OK;
    case MRG_PROTO_FIXED32:
    case MRG_PROTO_FIXED64:
        left = raw->wire == MRG_PROTO_FIXED32 ? 4 : 8;
        if ((size_t)(s->end - s->p) < left)
            return fail_raw(s, raw, "expected a number of 4 or 8 bytes; the bytes end within it");
        raw->piece.n = read_fixed(s->p, left);
        s->p += left;
        return MRG_ERR_OK;
    case MRG_PROTO_LENGTH:
        if (!read_varint(&s->p, s->end, &len))
            return fail_raw(s, raw, "expected a length; the bytes end within it, or it has more than 10");
        if (len > (size_t)(s->end - s->p)) {
            char what[96];
            snprintf(what, sizeof(what), "expected %llu bytes, as its length says; %zu are left",
                     (unsigned long long)len, (size_t)(s->end - s->p));
            return fail_raw(s, raw, what);
        }
        raw->piece.ptr = s->p;
        raw->piece.n = len;
        s->p += len;
        return MRG_ERR_OK;
    case MRG_PROTO_GROUP:
    case MRG_PROTO_END_GROUP:
        return fail_raw(s, raw, "expected no group: groups are not supported");
    default:
        return fail_raw(s, raw, "expected a wire type from 0 to 5; there is no such one");
    }
}

static void append_to_slot(struct mrg_proto_reader *r, size_t at, const struct mrg_proto_piece *piece,
                           bool chained)
{
    struct mrg_proto_slot slot = r->slots[at];
    if (slot.first && !chained) {
        r->pieces[slot.last] = *piece;
        return;
    }
    uint32_t added = add_piece(r, piece);
    if (slot.first)
        r->pieces[slot.last].next = added;
    r->slots[at] = (struct mrg_proto_slot){slot.first ? slot.first : added, added};
}

/* The oneof's other members go; what they were must have been sound nevertheless. */
static enum mrg_err clear_oneof(const struct scan *s, const struct mrg_field *set)
{
    struct mrg_proto_reader *r = s->r;
    const struct mrg_message *type = s->level->type;
    for (size_t i = 0; i < type->field_count; i++) {
        const struct mrg_field *field = &type->fields[i];
        struct mrg_proto_slot slot = mrg_proto_slot_at(r, s->level, i);
        if (field == set || field->oneof != set->oneof || slot.first == 0)
            continue;
        struct mrg_proto_place at = {.up = s->place, .field = field, .index = MRG_PROTO_NO_INDEX};
        enum mrg_err code = field->type == PROTOBUF_C_TYPE_MESSAGE
                                ? mrg_proto_walk(r, field->message, slot.first, slot.last, false, &at)
                                : MRG_ERR_OK;
        if (code)
            return code;
        r->slots[s->level->slots + i] = (struct mrg_proto_slot){0, 0};
    }
    return MRG_ERR_OK;
}

/* A packed run: whole values; those that a closed enum does not have are left out one by one. */
static enum mrg_err take_packed(const struct scan *s, const struct raw *raw, size_t at)
{
    struct mrg_proto_reader *r = s->r;
    const struct mrg_field *field = raw->field;
    enum mrg_proto_wire wire = mrg_proto_wire_of(field->type);
    bool closed = field->type == PROTOBUF_C_TYPE_ENUM && field->enumeration->closed;
    size_t cursor = 0;
    uint64_t value;
    if (wire != MRG_PROTO_VARINT && raw->piece.n % (wire == MRG_PROTO_FIXED32 ? 4 : 8))
        return fail_raw(s, raw, "expected a packed run of whole numbers; its last one is cut off");
    if (wire == MRG_PROTO_VARINT) {
        while (mrg_proto_next_packed(&raw->piece, field->type, &cursor, &value)) {
            if (closed && in_closed_enum(field, value))
                append_to_slot(r, at, &(struct mrg_proto_piece){.n = value}, true);
        }
        if (cursor != raw->piece.n)
            return fail_raw(s, raw, "expected a packed run of varints; its last one is cut off");
    }
    if (!closed && raw->piece.n > 0)
        append_to_slot(r, at, &raw->piece, true);
    return MRG_ERR_OK;
}

static enum mrg_err take_field(const struct scan *s, struct raw *raw)
{
    struct mrg_proto_reader *r = s->r;
    const struct mrg_field *field = raw->field;
    size_t at = s->level->slots + (size_t)(field - s->level->type->fields);
    enum mrg_proto_wire wire = mrg_proto_wire_of(field->type);
    if (field->repeated && wire != MRG_PROTO_LENGTH && raw->wire == MRG_PROTO_LENGTH)
        return take_packed(s, raw, at);
    if (raw->wire != wire) {
        char what[64];
        snprintf(what, sizeof(what), "expected wire type %d; got %u", (int)wire, raw->wire);
        return fail_raw(s, raw, what);
    }
    if (field->type == PROTOBUF_C_TYPE_STRING &&
        !mrg_utf8_valid((struct mrg_slice){raw->piece.ptr, (size_t)raw->piece.n}))
        return fail_raw(s, raw, "expected a string in UTF-8; it has other bytes");
    if (!raw->piece.ptr)
        raw->piece.n = number_of(field->type, raw->piece.n);
    if (!in_closed_enum(field, raw->piece.n)) {
        r->dropped = true;
        return MRG_ERR_OK;
    }
    enum mrg_err code = field->oneof >= 0 ? clear_oneof(s, field) : MRG_ERR_OK;
    if (code)
        return code;
    append_to_slot(r, at, &raw->piece, field->repeated || field->type == PROTOBUF_C_TYPE_MESSAGE);
    return MRG_ERR_OK;
}

static enum mrg_err check_required(const struct mrg_proto_reader *r, const struct mrg_proto_level *level,
                                   const struct mrg_proto_place *place)
{
    for (size_t i = 0; i < level->type->field_count; i++) {
        const struct mrg_field *field = &level->type->fields[i];
        if (!field->required || mrg_proto_slot_at(r, level, i).first)
            continue;
        struct mrg_proto_place at = {.up = place, .field = field, .index = MRG_PROTO_NO_INDEX};
        return mrg_proto_fail(r->err, MRG_ERR_INVALID, &at, "expected this required field; it is missing");
    }
    return MRG_ERR_OK;
}

enum mrg_err mrg_proto_enter(struct mrg_proto_reader *r, struct mrg_proto_level *level,
                             const struct mrg_message *type, uint32_t first, uint32_t last, bool required,
                             const struct mrg_proto_place *place)
{
    enum mrg_err code = MRG_ERR_OK;
    if (r->depth == MRG_MAX_PROTO_DEPTH)
        return mrg_proto_fail(r->err, MRG_ERR_TOO_LARGE, place, "expected at most %u messages in each other",
                              MRG_MAX_PROTO_DEPTH);
    r->depth++;
    *level = (struct mrg_proto_level){
        .type = type, .pieces = r->piece_count, .slots = add_slots(r, type->field_count)};
    struct scan s = {.r = r, .level = level, .place = place};
    for (uint32_t i = first; !code; i = r->pieces[i].next) {
        s.guess = 0;
        s.p = r->pieces[i].ptr;
        s.end = s.p + r->pieces[i].n;
        while (!code && s.p < s.end) {
            struct raw raw;
            code = read_tag(&s, &raw);
            if (!code)
                code = read_payload(&s, &raw);
            if (!code && raw.field)
                code = take_field(&s, &raw);
        }
        if (i == last)
            break;
    }
    return code || !required ? code : check_required(r, level, place);
}

void mrg_proto_leave(struct mrg_proto_reader *r, const struct mrg_proto_level *level)
{
    r->depth--;
    r->slot_count = level->slots;
    r->piece_count = level->pieces;
}
