// SPDX-License-Identifier: Apache-2.0
/*
 * Proto: protobuf messages as JSON and back, by run-time types (protobuf's own JSON mapping).
 *
 * protobuf-c unpacks and packs; it gives no reason for a failure, checks no UTF-8 and has no depth limit, so
 * a walk of the wire bytes comes first. Errors begin with the path of the field that is wrong:
 * "reservation.items[2].price: …". Thread: any; no state.
 */
#pragma once

#include "util/error.h"
#include "wire/schema.h"

/*
 * Whether the bytes are a message of that type: tags, wire types, sizes, UTF-8 of strings, required fields,
 * at most MRG_MAX_PROTO_DEPTH messages in each other and MRG_MAX_PROTO_FIELDS fields in all. INVALID or
 * TOO_LARGE with the path. Unknown fields are passed over; groups among them are refused.
 */
enum mrg_err mrg_proto_check(const struct mrg_message *type, struct mrg_slice bytes, struct mrg_error *err);

enum mrg_proto_form {
    /* The normal form of requests: proto names, 64-bit integers as exact numbers, enums by name, bytes as base64,
     * fields without presence filled with their defaults. */
    MRG_PROTO_NORMAL,
    /* ProtoJSON as protobuf's own libraries write it: lowerCamel, 64-bit integers as strings, defaults left out. */
    MRG_PROTO_JSON,
};

/*
 * Checks as above and appends the message as JSON, minified, fields by ascending number. An Any of a type that the
 * schema does not know, and values that JSON cannot hold in the well-known types (a Timestamp out of range), are
 * INVALID with the path. On failure buf may hold a part.
 */
enum mrg_err mrg_proto_to_json(const struct mrg_schema *schema, const struct mrg_message *type,
                               struct mrg_slice bytes, enum mrg_proto_form form, struct mrg_buf *buf,
                               struct mrg_error *err);

/*
 * Appends the message that a checked JSON text (mrg_json_check) stands for. Accepted: proto and JSON names; 32- and
 * 64-bit integers as numbers (1.0 and 1e2 too) or strings; floats as numbers or strings, "NaN", "Infinity" and
 * "-Infinity"; enums by name or number (in a string: digits only); keys of maps as protobuf writes them; bytes as
 * base64 or base64url, padded or not; null for absent. Refused with path and reason: a member that the type does
 * not have (passed over when `lenient`), a value of another kind or out of range, two members of one oneof, a
 * member twice by both names, a missing required field. docs/wires.md tells where Python's library differs.
 */
enum mrg_err mrg_proto_from_json(const struct mrg_schema *schema, const struct mrg_message *type,
                                 struct mrg_slice json, bool lenient, struct mrg_buf *buf,
                                 struct mrg_error *err);
