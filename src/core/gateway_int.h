// SPDX-License-Identifier: Apache-2.0
/*
 * Gateway, private: what gateway.c, turn.c and gateway_doors.c share. Nobody else includes this.
 */
#pragma once

#include "core/gateway.h"

#define MRG_MAX_TRANSPORTS 8u /* wires of one server */

struct mrg_session_door {
    struct mrg_transport *transport;
    struct mrg_door *door; /* a reference */
    struct mrg_session_door *next;
};

struct mrg_gateway {
    struct mrg_stats *stats;
    struct mrg_watch *watch;
    struct mrg_sessions *sessions;
    struct mrg_journal *journal;
    struct mrg_timer expiry; /* looks for idle sessions */

    pthread_rwlock_t lock; /* guards the routing below */
    struct mrg_config *config;
    struct mrg_dependency **dependencies;
    size_t dependency_count;
    struct mrg_dependency **retired; /* of earlier configurations, until their last exchange ends */
    size_t retired_count;
    size_t retired_room;

    pthread_mutex_t doors_lock; /* guards the sessions' own addresses */
    struct mrg_session_door *session_doors;
    size_t session_door_count;
    struct mrg_transport *transports[MRG_MAX_TRANSPORTS];
    size_t transport_count;

    atomic_bool closed;        /* new submissions get 503 */
    atomic_bool cancelling;    /* waiting ones too */
    pthread_mutex_t idle_lock; /* for idle */
    pthread_cond_t idle;       /* signalled when in_flight falls to 0 while closed */
    atomic_size_t in_flight;   /* submitted and not yet delivered */
};

/* turn.c: the exchange has its dependency, session and state; takes over the gateway's reference. */
void mrg_turn_enter(struct mrg_exchange *exchange);
/* turn.c: the reply stands without a turn (control verbs, refusals): delivers, drops the gateway's
 * reference. */
void mrg_turn_skip(struct mrg_exchange *exchange);
/* gateway.c: one exchange more in flight. */
void mrg_gateway_enter(struct mrg_gateway *gateway);
/* gateway.c: one exchange less in flight; the last thing that a thread does with the gateway for it. */
void mrg_gateway_leave(struct mrg_gateway *gateway);
/* gateway_doors.c: closes addresses whose session is no more. */
void mrg_gateway_sweep_doors(struct mrg_gateway *gateway);
/* gateway_doors.c: lets go of all addresses; the transports have stopped, which closed them. */
void mrg_gateway_forget_doors(struct mrg_gateway *gateway);
