// SPDX-License-Identifier: Apache-2.0
/*
 * Envelope: a request and a reply as one JSON object, for ZeroMQ.
 *
 *   request  {"id"?, "dependency"?, "session"?, "method", "path", "headers"?: {…}, "body"? | "body_text"? | "body_base64"?}
 *   reply    {"id"?, "status": 201, "headers"?: {…}, "body"?: …}     of Mirage's own failures: {"status", "error": "…"}
 *
 * `path` carries the query behind a '?'. Members as in the normal form (core/request.h) and the reply's text form
 * (core/reply.h, with the grpc_* members too). Thread: any; no state.
 */
#pragma once

#include "core/reply.h"
#include "core/request.h"

struct mrg_envelope {
    struct mrg_slice id;         /* its raw JSON text, any value; ptr NULL: none */
    struct mrg_slice dependency; /* unescaped; ptr NULL: none */
    struct mrg_slice session;    /* unescaped; ptr NULL: none */
};

/*
 * Reads a request (any bytes: they are checked first) into the arena. `id` is found even when the rest is wrong, as
 * long as the text is a JSON object, so that the failure reaches the right caller. INVALID: the message names
 * the member and what was expected; unknown members are refused. null counts as absent for all but id and body.
 * A path begins with a slash; a JSON body keeps its spelling; values of headers are strings, numbers, booleans or
 * arrays of these. `session` becomes the header mirage-session, in the place of one that is there.
 */
enum mrg_err mrg_envelope_read(struct mrg_arena *arena, struct mrg_slice text,
                               struct mrg_envelope *ret_envelope, struct mrg_request *request,
                               struct mrg_error *err);

/*
 * Appends a reply. `shows`: the reply headers mirage-* that stand before the service's own (may be empty). A
 * reply with `error` (Mirage's own failure) has "error" in place of headers and body.
 */
void mrg_envelope_append_reply(struct mrg_buf *buf, struct mrg_slice id, const struct mrg_reply *reply,
                               const struct mrg_header *shows, size_t show_count);

/* Callers' side: appends a request; reads a reply (also checks it). Members that are empty are left out. */
void mrg_envelope_append_request(struct mrg_buf *buf, const struct mrg_envelope *envelope,
                                 const struct mrg_request *request);
enum mrg_err mrg_envelope_read_reply(struct mrg_arena *arena, struct mrg_slice text, struct mrg_slice *ret_id,
                                     struct mrg_reply *ret_reply, struct mrg_error *err);
