// SPDX-License-Identifier: Apache-2.0
/*
 * Client, inside: what the wires' clients share: the URL taken apart, their ops, and replies' headers. Nobody
 * else includes it, but for its test. Thread: whoever has the client.
 */
#pragma once

#include "clients/client.h"

/* A URL taken apart; points into it. */
struct mrg_target {
    const char *url;         /* the whole */
    struct mrg_slice scheme; /* "grpcs", as in the table of schemes */
    struct mrg_slice
        address;      /* host:port; https: perhaps without port, or with user:password@; ipc: a path */
    const char *path; /* rest of url behind the address; "" when there is none */
    bool secure;      /* https, grpcs */
    bool loopback;    /* the host is this machine, by name or by address */
};

struct mrg_client_ops {
    enum mrg_err (*open)(const struct mrg_target *target, const struct mrg_client_options *options,
                         struct mrg_client **ret_client, struct mrg_error *err);
    enum mrg_err (*call)(struct mrg_client *client, const struct mrg_request *request,
                         struct mrg_arena *arena, struct mrg_client_reply *ret_reply, struct mrg_error *err);
    void (*close)(struct mrg_client *client);
};

/* First member of every client's own struct. */
struct mrg_client {
    const struct mrg_client_ops *ops;
};

extern const struct mrg_client_ops mrg_client_http, mrg_client_grpc, mrg_client_zmq;

/* INVALID: what was expected. *ret_ops (may be NULL) are those of the scheme. */
enum mrg_err mrg_target_parse(const char *url, struct mrg_target *ret_target,
                              const struct mrg_client_ops **ret_ops, struct mrg_error *err);
/* The address without user and password, for messages. */
struct mrg_slice mrg_target_shown(const struct mrg_target *target);

/* Headers being collected in an arena. */
struct mrg_header_list {
    struct mrg_header *items; /* in the order added */
    size_t count;             /* of items */
    size_t room;              /* allocated */
};

/* Copies both, the name in lower case, the value without white space around it. */
void mrg_header_list_add(struct mrg_header_list *list, struct mrg_arena *arena, struct mrg_slice name,
                         struct mrg_slice value);

/* Whether a request's header is of the connection that it came by, and not said again on another. */
bool mrg_client_drops(struct mrg_slice name);
/* Name and value as HTTP can carry them; INVALID names the header. */
enum mrg_err mrg_client_check_header(const struct mrg_header *header, struct mrg_error *err);

/* Milliseconds from now until a time of mrg_clock_ms; 0 when it is past. */
uint64_t mrg_client_left(uint64_t until_ms);
/* The time by which a call that begins now must have ended. */
uint64_t mrg_client_until(uint64_t timeout_ms);
