// SPDX-License-Identifier: Apache-2.0
#include "wire/proto_read_int.h"

static enum mrg_err walk_map(struct mrg_proto_reader *r, const struct mrg_field *field,
                             struct mrg_proto_slot slot, bool required, const struct mrg_proto_place *place)
{
    struct mrg_proto_entries entries;
    enum mrg_err code = mrg_proto_entries_read(r, &entries, field, slot, required, place);
    if (code)
        return code;
    const struct mrg_message *type = field->message->fields[1].message;
    for (size_t i = 0; type && i < entries.count && !code; i++) {
        const struct mrg_proto_entry *entry = &entries.items[i];
        char room[MRG_PROTO_KEY_ROOM];
        struct mrg_proto_place at = *place;
        at.key = mrg_proto_key_text(field, &entry->key, room);
        uint32_t empty = entry->value.first ? 0 : mrg_proto_piece_of(r, MRG_SLICE(""));
        code = mrg_proto_walk(r, type, empty ? empty : entry->value.first, empty ? empty : entry->value.last,
                              required && !entry->replaced, &at);
    }
    mrg_proto_entries_done(r, &entries);
    return code;
}

static enum mrg_err walk_field(struct mrg_proto_reader *r, const struct mrg_field *field,
                               struct mrg_proto_slot slot, bool required, const struct mrg_proto_place *up)
{
    struct mrg_proto_place at = {.up = up, .field = field, .index = MRG_PROTO_NO_INDEX};
    if (field->map)
        return walk_map(r, field, slot, required, &at);
    if (!field->repeated)
        return mrg_proto_walk(r, field->message, slot.first, slot.last, required, &at);
    at.index = 0;
    for (uint32_t i = slot.first; i; i = r->pieces[i].next) {
        enum mrg_err code = mrg_proto_walk(r, field->message, i, i, required, &at);
        if (code)
            return code;
        at.index++;
    }
    return MRG_ERR_OK;
}

enum mrg_err mrg_proto_walk(struct mrg_proto_reader *r, const struct mrg_message *type, uint32_t first,
                            uint32_t last, bool required, const struct mrg_proto_place *place)
{
    struct mrg_proto_level level;
    enum mrg_err code = mrg_proto_enter(r, &level, type, first, last, required, place);
    for (size_t i = 0; i < type->field_count && !code; i++) {
        if (type->fields[i].type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        struct mrg_proto_slot slot = mrg_proto_slot_at(r, &level, i);
        if (slot.first)
            code = walk_field(r, &type->fields[i], slot, required, place);
    }
    if (!code)
        mrg_proto_leave(r, &level);
    return code;
}

enum mrg_err mrg_proto_check(const struct mrg_message *type, struct mrg_slice bytes, struct mrg_error *err)
{
    struct mrg_proto_reader r;
    mrg_proto_reader_init(&r, NULL, err);
    uint32_t whole = mrg_proto_piece_of(&r, bytes);
    enum mrg_err code = mrg_proto_walk(&r, type, whole, whole, true, NULL);
    mrg_proto_reader_done(&r);
    return code;
}
