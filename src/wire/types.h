// SPDX-License-Identifier: Apache-2.0
/*
 * Types: message and enum types that are known at run time, in the form that protobuf-c works with.
 *
 * wire/schema.c builds them from descriptors; the walk and the JSON mapping (wire/proto.h) read them. A
 * message's struct begins with protobuf-c's own descriptor, whose field and message pointers lead back here:
 * what protobuf-c hands out (`message->descriptor`) is a struct mrg_message. All is immutable and lives as
 * long as its schema. Thread: any.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "util/buf.h"

/* Types whose JSON form is their own (protobuf's JSON mapping). */
enum mrg_known {
    MRG_KNOWN_NONE,
    MRG_KNOWN_ANY,
    MRG_KNOWN_TIMESTAMP,
    MRG_KNOWN_DURATION,
    MRG_KNOWN_FIELD_MASK,
    MRG_KNOWN_STRUCT,
    MRG_KNOWN_VALUE,
    MRG_KNOWN_LIST_VALUE,
    MRG_KNOWN_WRAPPER, /* DoubleValue … BytesValue: the field `value` alone */
    MRG_KNOWN_EMPTY,
};

struct mrg_enum_value {
    struct mrg_slice name; /* with a NUL behind */
    int32_t number;
};

struct mrg_enum {
    struct mrg_slice full_name;    /* pkg.Type.Enum, with a NUL behind */
    struct mrg_enum_value *values; /* in the order of the proto; aliases follow what they are aliases of */
    size_t value_count;
    bool closed;            /* proto2: other numbers are not its values */
    bool null;              /* google.protobuf.NullValue: JSON's null */
    const unsigned *sorted; /* private: indices by number, then those by name */
};

struct mrg_message;

struct mrg_field {
    struct mrg_slice name;      /* as in the proto, with a NUL behind */
    struct mrg_slice json_name; /* lowerCamel, or the proto's json_name */
    uint32_t number;
    ProtobufCType type;
    bool repeated; /* also maps */
    bool map;      /* `message` is its entry type: fields 1 key and 2 value */
    bool required; /* proto2 */
    bool presence; /* absent is told apart from the default: messages, `optional`, oneofs, proto2 */
    int oneof;     /* index of the real oneof that it belongs to; -1: none (a synthetic one does not count) */
    const struct mrg_message *message;  /* type of a message field, else NULL */
    const struct mrg_enum *enumeration; /* type of an enum field, else NULL */
    const ProtobufCFieldDescriptor *pc; /* the same field as protobuf-c knows it: offsets, default value */
};

struct mrg_message {
    ProtobufCMessageDescriptor pc; /* first; pc.fields[i] is fields[i] */
    struct mrg_slice full_name;    /* pkg.Type, with a NUL behind */
    struct mrg_field *fields;      /* by ascending number */
    size_t field_count;
    const char **oneofs; /* names of the real oneofs */
    size_t oneof_count;
    enum mrg_known known;
    bool map_entry;
    const unsigned *by_name; /* private: indices sorted by name, then the JSON ones */
};

/* The message type of a protobuf-c descriptor that came from a schema. */
static inline const struct mrg_message *mrg_message_of(const ProtobufCMessageDescriptor *pc)
{
    return (const struct mrg_message *)pc;
}

/* The field with that number; NULL. */
const struct mrg_field *mrg_message_field(const struct mrg_message *message, uint32_t number);
/* The field with that proto name, else with that JSON name; NULL. */
const struct mrg_field *mrg_message_field_named(const struct mrg_message *message, struct mrg_slice name);
/* The first value with that number, or with that name; NULL. */
const struct mrg_enum_value *mrg_enum_value(const struct mrg_enum *type, int32_t number);
const struct mrg_enum_value *mrg_enum_value_named(const struct mrg_enum *type, struct mrg_slice name);
