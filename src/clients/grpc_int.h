// SPDX-License-Identifier: Apache-2.0
/*
 * gRPC client, inside: what the files that know the C core (grpc_channel.c, grpc_metadata.c, grpc_rpc.c) do for their
 * neighbours: bytes out and bytes in, by method path. No types, no JSON. Thread: one at a time for each channel.
 */
#pragma once

#include "clients/client_int.h"

struct mrg_grpc_channel;
struct mrg_grpc_stream;

struct mrg_grpc_request {
    const char *method;               /* "/pkg.Service/Method" */
    struct mrg_slice message;         /* serialised */
    const struct mrg_header *headers; /* to be sent as metadata, but for those that are HTTP's own */
    size_t header_count;              /* of headers */
    uint64_t until_ms;                /* the deadline, by mrg_clock_ms */
};

struct mrg_grpc_reply {
    int status;                  /* as it came */
    struct mrg_slice text;       /* status message */
    struct mrg_header *headers;  /* initial metadata; `-bin` values in base64 */
    size_t header_count;         /* of headers */
    struct mrg_header *trailers; /* trailing metadata; likewise */
    size_t trailer_count;        /* of trailers */
    bool has_message;            /* a message came */
    struct mrg_slice message;    /* its bytes */
    uint64_t duration_us;        /* connecting excluded */
};

/* Nothing is sent yet. NOT_FOUND: ca_file (NULL: the system's) cannot be read. */
enum mrg_err mrg_grpc_dial(const struct mrg_target *target, const char *ca_file,
                           struct mrg_grpc_channel **ret_channel, struct mrg_error *err);
void mrg_grpc_hang_up(struct mrg_grpc_channel *channel);              /* NULL is allowed */
const char *mrg_grpc_address(const struct mrg_grpc_channel *channel); /* host:port, for messages */

/*
 * One unary call; the reply's bytes in the arena. UNAVAILABLE and TIMEOUT where they come from this side and not
 * from the server; INVALID: a header that cannot be metadata.
 */
enum mrg_err mrg_grpc_unary(struct mrg_grpc_channel *channel, const struct mrg_grpc_request *request,
                            struct mrg_arena *arena, struct mrg_grpc_reply *ret_reply, struct mrg_error *err);

/* A call on which request and reply messages alternate. Errors as of mrg_grpc_unary; UNSUPPORTED: the server does
 * not know the method; IO: it ended the call with another status, or without a reply. */
enum mrg_err mrg_grpc_stream_open(struct mrg_grpc_channel *channel, const char *method, uint64_t until_ms,
                                  struct mrg_grpc_stream **ret_stream, struct mrg_error *err);
/* Appends the reply's bytes. After a failure only close may follow. */
enum mrg_err mrg_grpc_stream_exchange(struct mrg_grpc_stream *stream, struct mrg_slice message,
                                      struct mrg_buf *reply, struct mrg_error *err);
void mrg_grpc_stream_close(struct mrg_grpc_stream *stream); /* NULL is allowed */

/* clients/grpc_details.c: grpc-status-details-bin (serialised google.rpc.Status) as a JSON array of its details, in
 * the arena: an Any of a known type as JSON has it, of another as {"@type":…,"value":"<base64>"}. False when
 * the bytes are no such message. `schema` may be NULL. */
bool mrg_grpc_details(const struct mrg_schema *schema, struct mrg_slice bytes, struct mrg_arena *arena,
                      struct mrg_slice *ret_json);

/* clients/grpc_reflect.c: mrg_client_reflect over a channel. */
enum mrg_err mrg_grpc_reflect(struct mrg_grpc_channel *channel, uint64_t until_ms, struct mrg_buf *buf,
                              struct mrg_error *err);
