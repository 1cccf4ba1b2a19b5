// SPDX-License-Identifier: Apache-2.0
/*
 * Proto, reading, inside: messages on the wire, one level at a time, checked as they are read.
 *
 * protobuf says that the parts of a message which stands in the wire twice are one message, that a later
 * value of a field or of a oneof replaces the earlier one, and that a list may come in packed and single
 * pieces. So a level is a table with a slot for each field of the type, and a slot is a chain of pieces of
 * the bytes; nothing is copied or built. Tables and pieces of inner levels lie behind those of the outer ones
 * and go when the level is left. Thread: a reader belongs to one function call.
 */
#pragma once

#include "wire/proto_int.h"

/* One value, or one packed run of values, in the bytes. */
struct mrg_proto_piece {
    const char *ptr; /* of a string, bytes, a message or a packed run; NULL: a number */
    uint64_t n;      /* bytes behind ptr, or the number itself, as proto_int.h says */
    uint32_t next;   /* piece of the same slot; 0: none */
};

struct mrg_proto_slot {
    uint32_t first; /* piece; 0: the field is absent */
    uint32_t last;  /* piece */
};

struct mrg_proto_reader {
    const struct mrg_schema *schema; /* for Any */
    enum mrg_proto_form form;        /* what is appended */
    struct mrg_buf *buf;             /* NULL: only checked */
    struct mrg_error *err;           /* for the first fault; may be NULL */
    unsigned depth;                  /* messages open */
    unsigned json_depth;             /* objects and arrays open */
    size_t fields_left;              /* how many more may come */
    bool dropped;                    /* a value that its closed enum does not have was passed over */
    struct mrg_proto_piece *pieces;  /* the first is not used */
    size_t piece_count;
    size_t piece_room;
    struct mrg_proto_slot *slots;
    size_t slot_count;
    size_t slot_room;
    struct mrg_proto_piece few_pieces[48]; /* ordinary messages need no heap */
    struct mrg_proto_slot few_slots[96];
};

void mrg_proto_reader_init(struct mrg_proto_reader *r, const struct mrg_schema *schema,
                           struct mrg_error *err);
void mrg_proto_reader_done(struct mrg_proto_reader *r);

/* A piece that is in no slot, for the bytes of a whole message. */
uint32_t mrg_proto_piece_of(struct mrg_proto_reader *r, struct mrg_slice bytes);

struct mrg_proto_level {
    const struct mrg_message *type;
    size_t slots;  /* index of the first one */
    size_t pieces; /* how many there were before */
};

/*
 * Reads the message that the pieces from `first` to `last` are together. Its strings are checked, its messages
 * only when something replaces them. `required`: whether missing required fields are a fault.
 */
enum mrg_err mrg_proto_enter(struct mrg_proto_reader *r, struct mrg_proto_level *level,
                             const struct mrg_message *type, uint32_t first, uint32_t last, bool required,
                             const struct mrg_proto_place *place);
void mrg_proto_leave(struct mrg_proto_reader *r, const struct mrg_proto_level *level);

static inline struct mrg_proto_slot mrg_proto_slot_at(const struct mrg_proto_reader *r,
                                                      const struct mrg_proto_level *level, size_t field)
{
    return r->slots[level->slots + field];
}

/* The next number of a packed run, which was checked when it was read; *cursor starts at 0. False at the end. */
bool mrg_proto_next_packed(const struct mrg_proto_piece *run, ProtobufCType type, size_t *cursor,
                           uint64_t *ret_value);

/* Reads the message and those within it to the ground. */
enum mrg_err mrg_proto_walk(struct mrg_proto_reader *r, const struct mrg_message *type, uint32_t first,
                            uint32_t last, bool required, const struct mrg_proto_place *place);

/* The entries of a map, of which the last one with a key counts. */
#define MRG_PROTO_FEW_ENTRIES 12
struct mrg_proto_entry {
    struct mrg_proto_piece key;  /* a string or a number */
    struct mrg_proto_slot value; /* first 0: the default */
    bool replaced;               /* a later one has its key */
};
struct mrg_proto_entries {
    struct mrg_proto_entry *items;
    size_t count;
    struct mrg_proto_level level; /* of the first entry: what is left at the end */
    struct mrg_proto_entry few[MRG_PROTO_FEW_ENTRIES];
};
/* On failure there is nothing to end; else mrg_proto_entries_done. One level of depth stays open until then. */
enum mrg_err mrg_proto_entries_read(struct mrg_proto_reader *r, struct mrg_proto_entries *entries,
                                    const struct mrg_field *field, struct mrg_proto_slot slot, bool required,
                                    const struct mrg_proto_place *place);
void mrg_proto_entries_done(struct mrg_proto_reader *r, struct mrg_proto_entries *entries);
/* The key as text; a number's is written into `room`. */
#define MRG_PROTO_KEY_ROOM 24
struct mrg_slice mrg_proto_key_text(const struct mrg_field *map, const struct mrg_proto_piece *key,
                                    char room[MRG_PROTO_KEY_ROOM]);

/* Append a message, or its members (`*comma`: something stands before them), with the pieces' checks. */
enum mrg_err mrg_proto_print(struct mrg_proto_reader *r, const struct mrg_message *type, uint32_t first,
                             uint32_t last, const struct mrg_proto_place *place);
enum mrg_err mrg_proto_print_members(struct mrg_proto_reader *r, const struct mrg_message *type,
                                     uint32_t first, uint32_t last, bool comma,
                                     const struct mrg_proto_place *place);
/* One field's value, list or map; of an absent one its default. */
enum mrg_err mrg_proto_print_field(struct mrg_proto_reader *r, const struct mrg_field *field,
                                   struct mrg_proto_slot slot, const struct mrg_proto_place *place);
/* A message of a well-known type. */
enum mrg_err mrg_proto_print_known(struct mrg_proto_reader *r, const struct mrg_message *type, uint32_t first,
                                   uint32_t last, const struct mrg_proto_place *place);
/* An object or array begins and ends; TOO_LARGE when they are too deep in each other. */
enum mrg_err mrg_proto_open(struct mrg_proto_reader *r, char bracket, const struct mrg_proto_place *place);
void mrg_proto_close(struct mrg_proto_reader *r, char bracket);
