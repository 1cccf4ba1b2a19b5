// SPDX-License-Identifier: Apache-2.0
/*
 * Call, inside: what `mirage call` and `mirage ls` share: types from files, options of the target, and how a reply is
 * shown. Nobody else includes it. Main thread.
 */
#pragma once

#include "cli/cli.h"
#include "clients/client.h"

/* Options of both commands, for their tables; the descriptions are theirs. */
#define MRG_CALL_TARGET_OPTIONS                                                                              \
    {"proto", 0, "FILE",                                                                                     \
     "gRPC: a .proto file with the types; without one they are asked for by reflection.", true},             \
        {"proto-path", 0, "DIR", "A folder in which imports are looked for; default the current one.",       \
         true},                                                                                              \
        {"descriptor-set", 0, "FILE", "gRPC: a file descriptor set with the types.", true},                  \
        {"timeout", 0, "DURATION", "How long it may take, such as 500ms or 10s; default 30s."},              \
    {                                                                                                        \
        "cacert", 0, "FILE", "Certificates to trust for https and grpcs; default those of the system."       \
    }

/*
 * The types that --proto and --descriptor-set name; *ret_schema is NULL when neither is there, else the caller
 * frees it. Before any call: protoc is run.
 */
enum mrg_err mrg_call_schema(const struct mrg_cli_values *values, struct mrg_schema **ret_schema,
                             struct mrg_error *err);
/* --timeout and --cacert; also what the process needs before it calls. */
enum mrg_err mrg_call_target(const struct mrg_cli_values *values, struct mrg_client_options *options,
                             struct mrg_error *err);
/* The exit status of a call that failed; tells the error. */
int mrg_call_failed(enum mrg_err code, const struct mrg_error *err);
/* 0 for 2xx and gRPC's OK, else 1. */
int mrg_call_exit(const struct mrg_reply *reply);

/* For people: status line, with `verbose` headers and trailers, a blank line, body. */
void mrg_call_append_text(struct mrg_buf *buf, const struct mrg_client_reply *reply, bool verbose);
/* {"status"?, "grpc_status"?: number, "grpc_name"?, "grpc_message"?, "grpc_details"?, "error"?, "headers"?, "trailers"?,
 * "body"? | "body_text"? | "body_base64"?, "ms"} and a line's end. */
void mrg_call_append_json(struct mrg_buf *buf, const struct mrg_client_reply *reply);
