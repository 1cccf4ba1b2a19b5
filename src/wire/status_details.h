// SPDX-License-Identifier: Apache-2.0
/*
 * Status details: google.rpc.Status of a reply that is an error, in bytes: its code, its message, and what there is
 * to say beyond them: the reply's own details, else its body as a google.protobuf.Struct.
 *
 * Which code and message a reply has is the transport's to say, and where the bytes go. Thread: any; no state.
 */
#pragma once

#include "core/reply.h"
#include "util/error.h"
#include "wire/schema.h"

/* What differs between wires. */
struct mrg_status_form {
    const char *
        domain; /* of a google.rpc.ErrorInfo beside the Struct, made of the body's code; NULL: none is made */
    size_t room; /* bytes that the status may take; a detail for which there is none is left out */
    bool whole;  /* where one of the reply's own details does not fit its type, all are left out */
};

/* The sentence of a body that is an object: the first of error.message, message, detail, title and error that is a
 * string, unescaped, in the arena; ptr NULL: none. */
struct mrg_slice mrg_status_sentence(struct mrg_arena *arena, const struct mrg_reply *reply);

/* Appends the status. A failure of Mirage's own has no details but its own ones. False when it has none: there is
 * nothing in it but code and message. Wrong UTF-8 in the message becomes U+FFFD. */
bool mrg_status_append(struct mrg_buf *buf, const struct mrg_schema *schema, const struct mrg_reply *reply,
                       int code, struct mrg_slice message, const struct mrg_status_form *form);

/*
 * Whether a reply's own details (grpc_details) fit their types; for `whole` see above: then types that nobody knows
 * are wrong too and further members are not, else the other way round. INVALID, with a message that a model can act on.
 */
enum mrg_err mrg_status_details_fit(const struct mrg_schema *schema, const struct mrg_reply *reply,
                                    bool whole, struct mrg_error *err);
