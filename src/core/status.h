// SPDX-License-Identifier: Apache-2.0
/*
 * Status: the one table between gRPC's status codes and HTTP's, used by every transport and client.
 *
 * gRPC to HTTP as the comments of google.rpc.Code say; HTTP to gRPC as docs/wires.md lists. A reply that
 * carries an exact gRPC status is never guessed about (core/reply.h). Thread: any; no state.
 */
#pragma once

#include "util/buf.h"

/* X(name, number, HTTP status) */
#define MRG_GRPC_MAP(X)                                                                                      \
    X(OK, 0, 200)                                                                                            \
    X(CANCELLED, 1, 499)                                                                                     \
    X(UNKNOWN, 2, 500)                                                                                       \
    X(INVALID_ARGUMENT, 3, 400)                                                                              \
    X(DEADLINE_EXCEEDED, 4, 504)                                                                             \
    X(NOT_FOUND, 5, 404)                                                                                     \
    X(ALREADY_EXISTS, 6, 409)                                                                                \
    X(PERMISSION_DENIED, 7, 403)                                                                             \
    X(RESOURCE_EXHAUSTED, 8, 429)                                                                            \
    X(FAILED_PRECONDITION, 9, 400)                                                                           \
    X(ABORTED, 10, 409)                                                                                      \
    X(OUT_OF_RANGE, 11, 400)                                                                                 \
    X(UNIMPLEMENTED, 12, 501)                                                                                \
    X(INTERNAL, 13, 500)                                                                                     \
    X(UNAVAILABLE, 14, 503)                                                                                  \
    X(DATA_LOSS, 15, 500)                                                                                    \
    X(UNAUTHENTICATED, 16, 401)

enum mrg_grpc {
#define MRG_GRPC_ENUM(name, number, http) MRG_GRPC_##name = (number),
    MRG_GRPC_MAP(MRG_GRPC_ENUM)
#undef MRG_GRPC_ENUM
};

#define MRG_GRPC_COUNT 17 /* the codes that have a name */

/* The gRPC code that stands for an HTTP status (200-999). */
int mrg_status_from_http(int http);
/* The HTTP status that stands for a gRPC code; 500 for a number that has no name. */
int mrg_status_to_http(int grpc);
/* "ABORTED"; NULL for a number that has no name. Static. */
const char *mrg_status_name(int grpc);
/* The number of a name (upper case, as in the table); -1 when there is none. */
int mrg_status_of_name(struct mrg_slice name);
/* Both directions as two Markdown tables, for docs/wires.md. */
void mrg_status_append_markdown(struct mrg_buf *buf);
