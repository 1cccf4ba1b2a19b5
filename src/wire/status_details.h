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

/*
 * The status message of a reply: its own; else, where nothing is guessed since the status is exact, or a body says
 * it: the first of error.message, message, detail, title and error that is a string, a body that is a JSON string,
 * a text body; else "HTTP 503". For an HTTP status that no gRPC code stands for (3xx, 600 and more) the number goes
 * with it. At most `room` bytes, cut between characters; in the arena or the reply's own.
 */
struct mrg_slice mrg_status_message(struct mrg_arena *arena, const struct mrg_reply *reply, size_t room);

/*
 * Appends the status. `domain` (the dependency's name) is that of a google.rpc.ErrorInfo beside the Struct, which is
 * made where the body has a code; `room` bytes are what it may take: a detail for which there is none is left out. A
 * failure of Mirage's own has no details but its own ones. False when it has none: there is nothing in it but code
 * and message. Wrong UTF-8 in the message becomes U+FFFD.
 */
bool mrg_status_append(struct mrg_buf *buf, const struct mrg_schema *schema, const struct mrg_reply *reply,
                       struct mrg_slice message, const char *domain, size_t room);

/*
 * Whether a reply's own details (grpc_details) fit their types, which are known. INVALID, with a message that a model
 * can act on: "grpc_details[1]: reason: …".
 */
enum mrg_err mrg_status_details_fit(const struct mrg_schema *schema, const struct mrg_reply *reply,
                                    struct mrg_error *err);
