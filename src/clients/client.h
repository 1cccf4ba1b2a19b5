// SPDX-License-Identifier: Apache-2.0
/*
 * Client: one call to a real or simulated service over any wire: http(s)://, grpc(s)://, zmq+tcp:// and
 * zmq+ipc://. Used by `mirage call` and `mirage ls`; verify, record and the proxy engine will use it too.
 *
 * A client is one connection (or what the wire's library makes of it), made at the first call and kept, and is
 * used by one thread at a time; several may live side by side. Nothing is tried twice. Requests and replies are
 * in the normal form; all bytes of a reply lie in the arena that the caller gave. SIGPIPE is the caller's to
 * ignore.
 */
#pragma once

#include <stdint.h>

#include "core/reply.h"
#include "core/request.h"
#include "wire/schema.h"

struct mrg_client;

/* How the target is to be spoken to. Zeroed: as by default. */
struct mrg_client_options {
    const struct mrg_schema *schema; /* gRPC: the types, which outlive the client; NULL: asked for by
                                        reflection at the first call that needs them */
    uint64_t timeout_ms;             /* one call, connecting included; 0: MRG_CALL_TIMEOUT_MS */
    const char *ca_file;             /* certificates to trust for https and grpcs; NULL: the system's */
    const char *dependency;          /* zmq: the envelope's "dependency"; NULL: none */
};

/* What came back. */
struct mrg_client_reply {
    struct mrg_reply reply; /* status 0 where the wire has none (gRPC); has_grpc_status where it has one */
    uint64_t duration_us;   /* of the exchange, connecting excluded */
};

/*
 * Opens a client by the URL's scheme. The URL's path is not part of the client: *ret_path (may be NULL) is where
 * it begins within url, its end when there is none. It stands behind host:port on every wire
 * (zmq+tcp://127.0.0.1:5001/items), and behind a colon after the path of a socket
 * (zmq+ipc:///run/inventory.sock:/items). INVALID: the URL, with what was expected. Nothing is sent yet.
 */
enum mrg_err mrg_client_open(const char *url, const struct mrg_client_options *options,
                             struct mrg_client **ret_client, const char **ret_path, struct mrg_error *err);

/*
 * One call. A reply with an error status is a reply. Else:
 *   INVALID, NOT_FOUND, UNSUPPORTED  the request cannot be said on this wire, with the reason
 *   UNAVAILABLE                      not reached; gRPC: or the connection was lost
 *   TIMEOUT                          connected, and no whole reply within the timeout
 *   IO, TOO_LARGE                    what came is no reply, or over MRG_MAX_REPLY_BODY
 *
 * HTTP: headers travel as they are, but for those of the connection; a JSON body without a content type gets
 * application/json. Redirects are replies. The environment's proxies are not asked for loopback addresses.
 *
 * gRPC: the request is /pkg.Service/Method (by any HTTP method) with the message's JSON as body, none being {}, or
 * the method and path of a route of the RPC (wire/route.h). The reply's body is the message in the normal form
 * (MRG_PROTO_NORMAL), so that it equals what HTTP shows. grpc_status is the number as it came, also one outside
 * the 17. Headers are metadata, `-bin` ones base64 both ways. A method that is in no schema may be called by
 * its path without a body: an empty message is sent and the reply's bytes are shown as they are.
 *
 * ZeroMQ: an envelope (wire/envelope.h) on a DEALER socket, behind an empty frame, as a REQ would send it. The
 * header `mirage-session` becomes the envelope's "session".
 */
enum mrg_err mrg_client_call(struct mrg_client *client, const struct mrg_request *request,
                             struct mrg_arena *arena, struct mrg_client_reply *ret_reply,
                             struct mrg_error *err);
void mrg_client_close(struct mrg_client *client); /* NULL is allowed */

/*
 * All file descriptors that a gRPC server tells by reflection (v1, else v1alpha), as one serialised
 * FileDescriptorSet, appended; imports come before those who import them. `address` is host:port or a
 * grpc(s):// URL. UNAVAILABLE and TIMEOUT as above; UNSUPPORTED: the server has no reflection; NOT_FOUND: it
 * has no services that it could describe.
 */
enum mrg_err mrg_client_reflect(const char *address, const struct mrg_client_options *options,
                                struct mrg_buf *buf, struct mrg_error *err);
