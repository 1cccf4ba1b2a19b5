// SPDX-License-Identifier: Apache-2.0
/*
 * Proto, writing, inside: JSON text into messages on the wire.
 *
 * The members of an object are first sorted into a table with a place for each field of the type, so that
 * fields are written by ascending number and what stands twice is seen; the tables of inner objects lie behind
 * those of the outer ones. Lengths are put before a message when it has been written. Thread: a writer belongs
 * to one function call.
 */
#pragma once

#include "wire/proto_int.h"

struct mrg_proto_writer {
    const struct mrg_schema *schema; /* for Any */
    bool lenient;                    /* unknown members are passed over */
    struct mrg_buf *buf;
    struct mrg_error *err;     /* for the first fault; may be NULL */
    unsigned depth;            /* messages open */
    struct mrg_buf scratch;    /* a string's content, for a moment */
    struct mrg_slice *members; /* by field, the JSON text of its value; ptr NULL: absent */
    size_t member_count;
    size_t member_room;
    struct mrg_slice few_members[64]; /* ordinary messages need no heap */
};

void mrg_proto_append_varint(struct mrg_buf *buf, uint64_t value);
void mrg_proto_append_tag(struct mrg_buf *buf, uint32_t number, enum mrg_proto_wire wire);

/* Something with its length before it: begin returns what end wants. */
size_t mrg_proto_begin(struct mrg_proto_writer *w);
void mrg_proto_end(struct mrg_proto_writer *w, size_t begun);

/* One more message in the others; TOO_LARGE when that is too deep. */
enum mrg_err mrg_proto_descend(struct mrg_proto_writer *w, const struct mrg_proto_place *place);

/* What the first character of a checked value says. */
static inline bool mrg_proto_is_null(struct mrg_slice value)
{
    return value.ptr[0] == 'n';
}

/* The content of a JSON string; borrowed until the next one. */
struct mrg_slice mrg_proto_content(struct mrg_proto_writer *w, struct mrg_slice string);

/* A scalar; `tagged`: with its tag, and nothing for the default of a field without presence. */
enum mrg_err mrg_proto_write_scalar(struct mrg_proto_writer *w, const struct mrg_field *field,
                                    struct mrg_slice value, bool tagged, const struct mrg_proto_place *place);
/* A map's key, which is a string in JSON; `key` is raw, without quotes. */
enum mrg_err mrg_proto_write_key(struct mrg_proto_writer *w, const struct mrg_field *field,
                                 struct mrg_slice key, const struct mrg_proto_place *place);

/* A message without tag and length; of an Any's content "@type" is passed over. */
enum mrg_err mrg_proto_write(struct mrg_proto_writer *w, const struct mrg_message *type,
                             struct mrg_slice value, const struct mrg_proto_place *place);
enum mrg_err mrg_proto_write_members(struct mrg_proto_writer *w, const struct mrg_message *type,
                                     struct mrg_slice object, bool in_any,
                                     const struct mrg_proto_place *place);
/* One field with its tag, from a value that is not null (or one that null means something for). */
enum mrg_err mrg_proto_write_field(struct mrg_proto_writer *w, const struct mrg_field *field,
                                   struct mrg_slice value, const struct mrg_proto_place *up);
/* A message of a well-known type. */
enum mrg_err mrg_proto_write_known(struct mrg_proto_writer *w, const struct mrg_message *type,
                                   struct mrg_slice value, const struct mrg_proto_place *place);
