// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "util/hash.h"
#include "wire/proto_read_int.h"

static bool same_key(const struct mrg_proto_piece *a, const struct mrg_proto_piece *b)
{
    return a->n == b->n && (!a->ptr || !b->ptr || a->n == 0 || memcmp(a->ptr, b->ptr, (size_t)a->n) == 0);
}

static void mark_few(struct mrg_proto_entries *entries)
{
    for (size_t i = 1; i < entries->count; i++) {
        for (size_t j = 0; j < i; j++)
            entries->items[j].replaced |= same_key(&entries->items[j].key, &entries->items[i].key);
    }
}

/* A table of the last entry so far of each key; slots hold its index + 1. */
static void mark_many(struct mrg_proto_entries *entries)
{
    size_t room = 64;
    while (room < entries->count * 2)
        room *= 2;
    _cleanup_free_ uint32_t *table = mrg_zalloc(room * sizeof(*table));
    for (size_t i = 0; i < entries->count; i++) {
        const struct mrg_proto_piece *key = &entries->items[i].key;
        uint64_t hash =
            key->ptr ? mrg_hash64(key->ptr, (size_t)key->n, 0) : mrg_hash64(&key->n, sizeof(key->n), 0);
        size_t at = hash & (room - 1);
        while (table[at] && !same_key(&entries->items[table[at] - 1].key, key))
            at = (at + 1) & (room - 1);
        if (table[at])
            entries->items[table[at] - 1].replaced = true;
        table[at] = (uint32_t)(i + 1);
    }
}

static size_t count_pieces(const struct mrg_proto_reader *r, struct mrg_proto_slot slot)
{
    size_t count = 0;
    for (uint32_t i = slot.first; i; i = r->pieces[i].next)
        count++;
    return count;
}

/* One entry; added unless its value is unknown to its closed enum. */
static enum mrg_err read_entry(struct mrg_proto_reader *r, struct mrg_proto_entries *entries,
                               const struct mrg_field *field, uint32_t piece, bool required,
                               const struct mrg_proto_place *place)
{
    struct mrg_proto_level level;
    r->dropped = false;
    enum mrg_err code = mrg_proto_enter(r, &level, field->message, piece, piece, required, place);
    if (code)
        return code;
    r->depth--;
    struct mrg_proto_slot key = mrg_proto_slot_at(r, &level, 0);
    struct mrg_proto_slot value = mrg_proto_slot_at(r, &level, 1);
    if (r->dropped && value.first == 0)
        return MRG_ERR_OK;
    struct mrg_proto_entry *entry = &entries->items[entries->count++];
    *entry = (struct mrg_proto_entry){.value = value};
    if (key.first)
        entry->key = r->pieces[key.first];
    else if (field->message->fields[0].type == PROTOBUF_C_TYPE_STRING)
        entry->key.ptr = "";
    return MRG_ERR_OK;
}

enum mrg_err mrg_proto_entries_read(struct mrg_proto_reader *r, struct mrg_proto_entries *entries,
                                    const struct mrg_field *field, struct mrg_proto_slot slot, bool required,
                                    const struct mrg_proto_place *place)
{
    enum mrg_err code = MRG_ERR_OK;
    size_t room = count_pieces(r, slot);
    entries->count = 0;
    entries->items =
        room <= MRG_PROTO_FEW_ENTRIES ? entries->few : mrg_malloc(room * sizeof(*entries->items));
    entries->level = (struct mrg_proto_level){.slots = r->slot_count, .pieces = r->piece_count};
    struct mrg_proto_place at = {.up = place ? place->up : NULL, .field = field, .index = 0};
    for (uint32_t i = slot.first; i && !code; i = r->pieces[i].next) {
        code = read_entry(r, entries, field, i, required, &at);
        at.index++;
    }
    if (code) {
        if (entries->items != entries->few)
            free(entries->items);
        return code;
    }
    r->depth++;
    if (entries->count <= MRG_PROTO_FEW_ENTRIES)
        mark_few(entries);
    else
        mark_many(entries);
    return MRG_ERR_OK;
}

void mrg_proto_entries_done(struct mrg_proto_reader *r, struct mrg_proto_entries *entries)
{
    mrg_proto_leave(r, &entries->level);
    if (entries->items != entries->few)
        free(entries->items);
}

struct mrg_slice mrg_proto_key_text(const struct mrg_field *map, const struct mrg_proto_piece *key,
                                    char room[MRG_PROTO_KEY_ROOM])
{
    if (key->ptr)
        return (struct mrg_slice){key->ptr, (size_t)key->n};
    ProtobufCType type = map->message->fields[0].type;
    if (type == PROTOBUF_C_TYPE_BOOL)
        return key->n ? MRG_SLICE("true") : MRG_SLICE("false");
    int len = mrg_proto_is_signed(type)
                  ? snprintf(room, MRG_PROTO_KEY_ROOM, "%lld", (long long)(int64_t)key->n)
                  : snprintf(room, MRG_PROTO_KEY_ROOM, "%llu", (unsigned long long)key->n);
    return (struct mrg_slice){room, (size_t)len};
}
