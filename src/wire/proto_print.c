// SPDX-License-Identifier: Apache-2.0
#include "core/limits.h"
#include "util/base64.h"
#include "util/json.h"
#include "wire/proto_read_int.h"

enum mrg_err mrg_proto_open(struct mrg_proto_reader *r, char bracket, const struct mrg_proto_place *place)
{
    if (r->json_depth == MRG_MAX_BODY_DEPTH)
        return mrg_proto_fail(r->err, MRG_ERR_TOO_LARGE, place,
                              "expected at most %d objects and arrays in each other", MRG_MAX_BODY_DEPTH);
    if (mrg_buf_failed(r->buf))
        return mrg_proto_fail(r->err, MRG_ERR_TOO_LARGE, place, "expected at most %zu bytes as JSON",
                              r->buf->max);
    r->json_depth++;
    mrg_buf_append_char(r->buf, bracket);
    return MRG_ERR_OK;
}

void mrg_proto_close(struct mrg_proto_reader *r, char bracket)
{
    r->json_depth--;
    mrg_buf_append_char(r->buf, bracket);
}

static void print_enum(struct mrg_buf *buf, const struct mrg_enum *type, uint64_t value)
{
    if (type->null) {
        mrg_buf_append_str(buf, "null");
        return;
    }
    const struct mrg_enum_value *known = mrg_enum_value(type, (int32_t)(uint32_t)value);
    if (!known) {
        mrg_proto_append_integer(buf, value, true);
        return;
    }
    mrg_buf_append_char(buf, '"');
    mrg_buf_append_slice(buf, known->name);
    mrg_buf_append_char(buf, '"');
}

static void print_number(struct mrg_proto_reader *r, const struct mrg_field *field, uint64_t value)
{
    struct mrg_buf *buf = r->buf;
    bool quoted = r->form == MRG_PROTO_JSON && mrg_proto_is_64(field->type);
    float single;
    double real;
    switch (field->type) {
    case PROTOBUF_C_TYPE_BOOL:
        mrg_buf_append_str(buf, value ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM:
        print_enum(buf, field->enumeration, value);
        break;
    case PROTOBUF_C_TYPE_FLOAT: {
        uint32_t bits = (uint32_t)value;
        memcpy(&single, &bits, sizeof(single));
        mrg_proto_append_float(buf, single);
        break;
    }
    case PROTOBUF_C_TYPE_DOUBLE:
        memcpy(&real, &value, sizeof(real));
        mrg_proto_append_double(buf, real);
        break;
    default:
        if (quoted)
            mrg_buf_append_char(buf, '"');
        mrg_proto_append_integer(buf, value, mrg_proto_is_signed(field->type));
        if (quoted)
            mrg_buf_append_char(buf, '"');
    }
}

/* One value: the pieces of a message, else the last piece. */
static enum mrg_err print_value(struct mrg_proto_reader *r, const struct mrg_field *field,
                                struct mrg_proto_slot slot, const struct mrg_proto_place *place)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return mrg_proto_print(r, field->message, slot.first, slot.last, place);
    struct mrg_proto_piece piece = r->pieces[slot.last];
    struct mrg_slice bytes = {piece.ptr, (size_t)piece.n};
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        mrg_json_append_string(r->buf, bytes);
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        mrg_buf_append_char(r->buf, '"');
        mrg_base64_append(r->buf, bytes);
        mrg_buf_append_char(r->buf, '"');
    } else {
        print_number(r, field, piece.n);
    }
    return MRG_ERR_OK;
}

static enum mrg_err print_default(struct mrg_proto_reader *r, const struct mrg_field *field,
                                  const struct mrg_proto_place *place)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        uint32_t empty = mrg_proto_piece_of(r, MRG_SLICE(""));
        return mrg_proto_print(r, field->message, empty, empty, place);
    }
    if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES)
        mrg_buf_append_str(r->buf, "\"\"");
    else if (field->type == PROTOBUF_C_TYPE_ENUM && field->enumeration->value_count > 0)
        print_number(r, field, (uint64_t)(int64_t)field->enumeration->values[0].number);
    else
        print_number(r, field, 0);
    return MRG_ERR_OK;
}

static enum mrg_err print_list(struct mrg_proto_reader *r, const struct mrg_field *field,
                               struct mrg_proto_slot slot, struct mrg_proto_place *place)
{
    enum mrg_err code = mrg_proto_open(r, '[', place);
    place->index = 0;
    for (uint32_t i = slot.first; i && !code; i = r->pieces[i].next) {
        struct mrg_proto_piece piece = r->pieces[i];
        bool packed = piece.ptr && mrg_proto_wire_of(field->type) != MRG_PROTO_LENGTH;
        size_t cursor = 0;
        uint64_t value;
        while (packed && mrg_proto_next_packed(&piece, field->type, &cursor, &value)) {
            if (place->index++ > 0)
                mrg_buf_append_char(r->buf, ',');
            print_number(r, field, value);
        }
        if (packed)
            continue;
        if (place->index > 0)
            mrg_buf_append_char(r->buf, ',');
        code = print_value(r, field, (struct mrg_proto_slot){i, i}, place);
        place->index++;
    }
    mrg_proto_close(r, ']');
    return code;
}

static enum mrg_err print_entry(struct mrg_proto_reader *r, const struct mrg_field *field,
                                const struct mrg_proto_entry *entry, bool comma,
                                struct mrg_proto_place *place)
{
    char room[MRG_PROTO_KEY_ROOM];
    const struct mrg_field *value = &field->message->fields[1];
    place->key = mrg_proto_key_text(field, &entry->key, room);
    if (entry->replaced) {
        bool walk = value->message && entry->value.first;
        return walk ? mrg_proto_walk(r, value->message, entry->value.first, entry->value.last, false, place)
                    : MRG_ERR_OK;
    }
    if (comma)
        mrg_buf_append_char(r->buf, ',');
    mrg_json_append_string(r->buf, place->key);
    mrg_buf_append_char(r->buf, ':');
    return entry->value.first ? print_value(r, value, entry->value, place) : print_default(r, value, place);
}

static enum mrg_err print_map(struct mrg_proto_reader *r, const struct mrg_field *field,
                              struct mrg_proto_slot slot, struct mrg_proto_place *place)
{
    struct mrg_proto_entries entries;
    enum mrg_err code = mrg_proto_entries_read(r, &entries, field, slot, true, place);
    if (code)
        return code;
    code = mrg_proto_open(r, '{', place);
    bool comma = false;
    for (size_t i = 0; i < entries.count && !code; i++) {
        code = print_entry(r, field, &entries.items[i], comma, place);
        comma |= !entries.items[i].replaced;
    }
    mrg_proto_close(r, '}');
    mrg_proto_entries_done(r, &entries);
    return code;
}

enum mrg_err mrg_proto_print_field(struct mrg_proto_reader *r, const struct mrg_field *field,
                                   struct mrg_proto_slot slot, const struct mrg_proto_place *up)
{
    struct mrg_proto_place at = {.up = up, .field = field, .index = MRG_PROTO_NO_INDEX};
    if (field->map)
        return print_map(r, field, slot, &at);
    if (field->repeated)
        return print_list(r, field, slot, &at);
    return slot.first ? print_value(r, field, slot, &at) : print_default(r, field, &at);
}

/* Whether the field shows: what has no presence counts as absent when it has its default. */
static bool shows(const struct mrg_proto_reader *r, const struct mrg_field *field, struct mrg_proto_slot slot)
{
    if (r->form == MRG_PROTO_NORMAL && (field->repeated || !field->presence))
        return true;
    if (slot.first == 0)
        return false;
    return field->repeated || field->presence || r->pieces[slot.last].n != 0;
}

/* An entry of a map that its closed enum does not have is no entry: a list of these alone does not show. */
static bool has_entries(struct mrg_proto_reader *r, const struct mrg_field *field, struct mrg_proto_slot slot)
{
    const struct mrg_enum *values = field->message->fields[1].enumeration;
    if (r->form == MRG_PROTO_NORMAL || !values || !values->closed)
        return true;
    struct mrg_proto_entries entries;
    struct mrg_proto_place at = {.field = field, .index = MRG_PROTO_NO_INDEX};
    if (mrg_proto_entries_read(r, &entries, field, slot, true, &at))
        return true; /* it fails again where it is printed */
    bool some = entries.count > 0;
    mrg_proto_entries_done(r, &entries);
    return some;
}

enum mrg_err mrg_proto_print_members(struct mrg_proto_reader *r, const struct mrg_message *type,
                                     uint32_t first, uint32_t last, bool comma,
                                     const struct mrg_proto_place *place)
{
    struct mrg_proto_level level;
    enum mrg_err code = mrg_proto_enter(r, &level, type, first, last, true, place);
    for (size_t i = 0; i < type->field_count && !code; i++) {
        const struct mrg_field *field = &type->fields[i];
        struct mrg_proto_slot slot = mrg_proto_slot_at(r, &level, i);
        if (!shows(r, field, slot) || (field->map && !has_entries(r, field, slot)))
            continue;
        if (comma)
            mrg_buf_append_char(r->buf, ',');
        comma = true;
        if (r->form == MRG_PROTO_NORMAL) {
            mrg_buf_append_char(r->buf, '"');
            mrg_buf_append_slice(r->buf, field->name);
            mrg_buf_append(r->buf, "\":", 2);
        } else {
            mrg_json_append_string(r->buf, field->json_name);
            mrg_buf_append_char(r->buf, ':');
        }
        code = mrg_proto_print_field(r, field, slot, place);
    }
    if (!code)
        mrg_proto_leave(r, &level);
    return code;
}

enum mrg_err mrg_proto_print(struct mrg_proto_reader *r, const struct mrg_message *type, uint32_t first,
                             uint32_t last, const struct mrg_proto_place *place)
{
    if (type->known != MRG_KNOWN_NONE)
        return mrg_proto_print_known(r, type, first, last, place);
    enum mrg_err code = mrg_proto_open(r, '{', place);
    if (!code)
        code = mrg_proto_print_members(r, type, first, last, false, place);
    if (!code)
        mrg_proto_close(r, '}');
    return code;
}

enum mrg_err mrg_proto_to_json(const struct mrg_schema *schema, const struct mrg_message *type,
                               struct mrg_slice bytes, enum mrg_proto_form form, struct mrg_buf *buf,
                               struct mrg_error *err)
{
    struct mrg_proto_reader r;
    mrg_proto_reader_init(&r, schema, err);
    r.form = form;
    r.buf = buf;
    uint32_t whole = mrg_proto_piece_of(&r, bytes);
    enum mrg_err code = mrg_proto_print(&r, type, whole, whole, NULL);
    mrg_proto_reader_done(&r);
    if (!code && mrg_buf_failed(buf))
        code = mrg_proto_fail(err, MRG_ERR_TOO_LARGE, NULL, "expected at most %zu bytes as JSON", buf->max);
    return code;
}
