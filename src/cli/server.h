// SPDX-License-Identifier: Apache-2.0
/*
 * Server: everything that `mirage serve` runs, put together: start, reload, stop.
 *
 * Owns the watch, the conversation client, the cassette writer, the transports and the gateway. Main thread
 * only.
 */
#pragma once

#include "core/gateway.h"
#include "engines/services.h"

#define MRG_SERVER_WIRES 3u /* transports of this program */

struct mrg_listening; /* server_doors.c: the doors that are open */
struct mrg_schema;

struct mrg_server {
    struct mrg_stats *stats;
    struct mrg_watch *watch;
    struct mrg_services services;
    struct mrg_gateway *gateway;
    struct mrg_transport *wires[MRG_SERVER_WIRES]; /* http, grpc, zmq; NULL until started */
    struct mrg_config *config;                     /* as served; a reference */
    struct mrg_listening *doors;                   /* open addresses */
    size_t door_count;
};

/* Reads evidence and cassettes, listens. On failure everything is undone; err says why. Takes no reference
 * of config. */
enum mrg_err mrg_server_start(struct mrg_server *server, struct mrg_config *config, struct mrg_error *err);
/* Takes over a new configuration; on failure the old one stays. */
enum mrg_err mrg_server_reload(struct mrg_server *server, struct mrg_config *config, struct mrg_error *err);
/* Accepts nothing more and waits for what is in flight: limits.drain, then it is cancelled. */
void mrg_server_drain(struct mrg_server *server);
/* After drain: ends all threads and frees everything but stats and configuration. Also what start left unfinished. */
void mrg_server_free(struct mrg_server *server);
/* After free, and after what was counted has been told. */
void mrg_server_done(struct mrg_server *server);

/* server_doors.c: opens what the configuration wants and is not open yet; on failure nothing has changed. */
enum mrg_err mrg_server_open_doors(struct mrg_server *server, struct mrg_config *config,
                                   struct mrg_error *err);
/* Closes what the configuration given last does not want. */
void mrg_server_close_doors(struct mrg_server *server);
/* Forgets all doors (the transports close them when they stop). */
void mrg_server_forget_doors(struct mrg_server *server);
/* The nth address (from 0) of that wire ("http"), kind and dependency (NULL: the control or a shared address);
 * `control`: of a dependency's endpoint for control verbs. NULL when there are no more. Borrowed. */
struct mrg_server_door {
    const char *wire;
    enum mrg_door_kind kind;
    const char *dependency;
    bool control;
};
const char *mrg_server_address(const struct mrg_server *server, const struct mrg_server_door *door, size_t n);

/* server_schema.c: the protobuf descriptors of a dependency; *ret_schema is NULL where it has none configured.
 * May run protoc, and ask a server by reflection. */
enum mrg_err mrg_server_schema(const struct mrg_dependency_config *config, struct mrg_schema **ret_schema,
                               struct mrg_error *err);

/* Whether dependencies that share an address for gRPC can be told apart; schemas[i] is that of dependency i, or NULL. */
enum mrg_err mrg_server_check_shared(const struct mrg_config *config, const struct mrg_schema *const *schemas,
                                     struct mrg_error *err);

/* server_report.c */
/* {"pid", "control", "dependencies": [{"name", "http"?, "grpc"?, "zmq"?: []}]}, written beside `path` and
 * renamed. */
enum mrg_err mrg_server_write_ready(const struct mrg_server *server, const char *path, struct mrg_error *err);
/* Counts as JSON, or JUnit XML when path ends in .xml. */
enum mrg_err mrg_server_write_report(const struct mrg_server *server, const char *path,
                                     struct mrg_error *err);
/* Where it listens; what it answered and what that cost. Log lines. */
void mrg_server_tell_addresses(const struct mrg_server *server);
void mrg_server_tell_counts(const struct mrg_server *server);
