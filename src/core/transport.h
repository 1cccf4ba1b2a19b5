// SPDX-License-Identifier: Apache-2.0
/*
 * Transport: a wire. Core knows transports only by this table and by the doors that they open.
 *
 * A door is one listening address: the control address, a dependency's own, or one shared by several; a
 * session's own address is a door with a session. Doors are counted; exchanges and listeners hold references.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "util/error.h"

struct mrg_config;
struct mrg_exchange;
struct mrg_gateway;
struct mrg_watch;

enum mrg_door_kind {
    MRG_DOOR_CONTROL,    /* control verbs for all, /metrics */
    MRG_DOOR_DEPENDENCY, /* one dependency's own */
    MRG_DOOR_SHARED,     /* dependencies told apart by prefix, service or envelope */
};

struct mrg_door {
    atomic_uint refs;
    enum mrg_door_kind kind;
    char *dependency; /* its name, for MRG_DOOR_DEPENDENCY; else NULL */
    char *session;    /* every exchange through this door is in that session; NULL: named by the request */
    bool control;  /* of a dependency's, for control verbs: the wire's own full form, whatever its format */
    char *address; /* as listening, port 0 resolved; set by the transport */
};

struct mrg_door *mrg_door_new(enum mrg_door_kind kind, const char *dependency, const char *session);
struct mrg_door *mrg_door_ref(struct mrg_door *door);
void mrg_door_unref(struct mrg_door *door);

/* First member of every transport's own struct. */
struct mrg_transport {
    const struct mrg_transport_ops *ops;
};

struct mrg_transport_env {
    struct mrg_gateway *gateway;     /* exchanges go there */
    struct mrg_watch *watch;         /* timers and callers that hang up */
    const struct mrg_config *config; /* limits; valid only during start */
};

struct mrg_transport_ops {
    const char *name; /* "http", "grpc", "zmq": key under `listen` and in the ready file */
    const char
        *scheme; /* stands before an address in the ready file: "http://"; empty where clients take none */
    const char
        *session; /* address that a session's own listeners ask for: any port of loopback, always: these
                          * are for tests on this machine */
    bool many;    /* a door may have several addresses: a list in the ready file */
    /* Main thread, once. Listens nowhere yet. */
    enum mrg_err (*start)(const struct mrg_transport_env *env, struct mrg_transport **ret_transport,
                          struct mrg_error *err);
    /* A configuration at a reload: takes over the limits and switches that requests to come can be held to,
     * and logs a warning about those that addresses which are open cannot change any more. Main thread;
     * `config` is valid only during the call. */
    void (*configure)(struct mrg_transport *transport, const struct mrg_config *config);
    /* Listens on `address` (host:port; zmq: tcp://… or ipc://…); takes its own reference of door and sets
     * door->address. Any thread. CONFLICT when taken, UNAVAILABLE after quiesce. */
    enum mrg_err (*open)(struct mrg_transport *transport, const char *address, struct mrg_door *door,
                         struct mrg_error *err);
    /* Stops listening there; requests in flight are finished first, on their own time, without blocking the
     * caller's thread. Any thread. */
    void (*close)(struct mrg_transport *transport, struct mrg_door *door);
    /* Accepts nothing more, at all doors; keeps answering what is in flight. Main thread. */
    void (*quiesce)(struct mrg_transport *transport);
    /* All exchanges have been delivered: sends what is left, closes, frees. Main thread; returns when no thread of it runs. */
    void (*stop)(struct mrg_transport *transport);
};
