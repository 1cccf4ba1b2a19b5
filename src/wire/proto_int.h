// SPDX-License-Identifier: Apache-2.0
/*
 * Proto, inside: what its files share: places in a message, for the errors, and numbers as text. Nobody else
 * includes it. Thread: any; no state.
 */
#pragma once

#include "wire/proto.h"

#define MRG_PROTO_NO_INDEX ((size_t)-1)

/* Where in a message something is; a chain from the inside out, each link in the frame of its function. */
struct mrg_proto_place {
    const struct mrg_proto_place *up; /* the message around it; NULL: the message itself */
    const struct mrg_field *field; /* NULL: a JSON member that is no field, by its name `key`, or an item */
    struct mrg_slice key;          /* of a map's entry, as text; ptr NULL: none */
    size_t index;                  /* of a repeated field's item, or MRG_PROTO_NO_INDEX */
};

/* Sets err to "path: sentence" (the sentence alone when place is NULL); returns code. */
enum mrg_err mrg_proto_fail(struct mrg_error *err, enum mrg_err code, const struct mrg_proto_place *place,
                            const char *format, ...) MRG_PRINTF(4, 5);
/* The same for bytes of a field that has no name: "field 7 of items[2]: sentence". */
enum mrg_err mrg_proto_fail_number(struct mrg_error *err, enum mrg_err code,
                                   const struct mrg_proto_place *place, uint32_t number, const char *format,
                                   ...) MRG_PRINTF(5, 6);
/* A value of another kind than the field's: "path: expected …; got …". `got` is JSON text. */
enum mrg_err mrg_proto_fail_kind(struct mrg_error *err, const struct mrg_proto_place *place,
                                 const struct mrg_field *field, struct mrg_slice got);
/* The same with the expectation in words. */
enum mrg_err mrg_proto_fail_expected(struct mrg_error *err, const struct mrg_proto_place *place,
                                     const char *expected, struct mrg_slice got);
/* A member that the type does not have, with the names that it has. */
enum mrg_err mrg_proto_fail_unknown(struct mrg_error *err, const struct mrg_proto_place *place,
                                    const struct mrg_message *type, struct mrg_slice name);

/* Appends what a single value of the field is in JSON: "an integer from 0 to 4294967295, …". */
void mrg_proto_append_kind(struct mrg_buf *buf, const struct mrg_field *field);

/* Wire types (protobuf's encoding). */
enum mrg_proto_wire {
    MRG_PROTO_VARINT = 0,
    MRG_PROTO_FIXED64 = 1,
    MRG_PROTO_LENGTH = 2,
    MRG_PROTO_GROUP = 3,
    MRG_PROTO_END_GROUP = 4,
    MRG_PROTO_FIXED32 = 5,
};
enum mrg_proto_wire mrg_proto_wire_of(ProtobufCType type);

/* Numbers of a kind, as 64 bits: integers and enums sign-extended, booleans 0 or 1, floats as their bits. */
bool mrg_proto_is_signed(ProtobufCType type);
bool mrg_proto_is_64(ProtobufCType type); /* of integers */

/* Appends decimal digits. */
void mrg_proto_append_integer(struct mrg_buf *buf, uint64_t value, bool is_signed);
/* Append the shortest spelling; NaN and infinities as JSON strings. */
void mrg_proto_append_float(struct mrg_buf *buf, float value);
void mrg_proto_append_double(struct mrg_buf *buf, double value);

/* Whether text is a number as JSON spells it. */
bool mrg_proto_is_number(struct mrg_slice text);
/* The integer, exactly, that a number's text stands for (1e2, 1.0 too); false when it is none of that type. */
bool mrg_proto_read_integer(struct mrg_slice number, ProtobufCType type, uint64_t *ret_value);
/* False when the number is too large for a finite value. */
bool mrg_proto_read_double(struct mrg_slice number, double *ret_value);
bool mrg_proto_read_float(struct mrg_slice number, float *ret_value);

/* Seconds and nanoseconds as RFC 3339 text in UTC, and as 1.5s; with 0, 3, 6 or 9 digits of a second. False: out
 * of range. */
bool mrg_proto_append_timestamp(struct mrg_buf *buf, int64_t seconds, int32_t nanos);
bool mrg_proto_append_duration(struct mrg_buf *buf, int64_t seconds, int32_t nanos);
/* And back; false when the text is not of that form or out of range. */
bool mrg_proto_read_timestamp(struct mrg_slice text, int64_t *ret_seconds, int32_t *ret_nanos);
bool mrg_proto_read_duration(struct mrg_slice text, int64_t *ret_seconds, int32_t *ret_nanos);
