// SPDX-License-Identifier: Apache-2.0
/*
 * Exchange: a request on its way to a reply.
 *
 * An adapter makes it, fills `request`, and submits it to the gateway; the gateway calls the adapter's
 * deliver exactly once, from any thread, when the reply stands. Between submit and deliver the fields belong
 * to whoever has the turn; after deliver `reply` is read-only. Two hold a reference: the adapter (until the
 * bytes have left or the caller has gone) and the gateway (until the turn has ended); the last one frees the
 * arena. Everything of an adapter's own that deliver touches lies in the arena too.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/place.h"
#include "core/reply.h"
#include "core/request.h"
#include "util/list.h"

struct mrg_dependency;
struct mrg_door;
struct mrg_engine;
struct mrg_exchange;
struct mrg_gateway;
struct mrg_session;
struct mrg_state;
struct mrg_text;

/* Called once; any thread, possibly before mrg_gateway_submit returns; must not block and not call back
 * into the gateway but for mrg_exchange_unref. */
typedef void (*mrg_deliver_fn)(struct mrg_exchange *exchange);

/*
 * Whether a reply fits the form that this exchange's wire has for it (a protobuf message). INVALID: the
 * message says where and why, in words that a model can act on. Called by whoever has the turn.
 */
typedef enum mrg_err (*mrg_fits_fn)(const struct mrg_exchange *exchange, const struct mrg_reply *reply,
                                    struct mrg_error *err);

/* The life of an exchange; mrg_exchange_move asserts that a step is legal. */
enum mrg_phase {
    MRG_PHASE_RECEIVED, /* the adapter fills it */
    MRG_PHASE_WAITING,  /* in its state's queue */
    MRG_PHASE_RUNNING,  /* has the turn; engines are asked */
    MRG_PHASE_DONE,     /* the reply stands and is committed */
};

struct mrg_exchange {
    struct mrg_arena *arena;         /* owns every byte below */
    struct mrg_request request;      /* as received; adapters' and proxies' business only */
    const struct mrg_request *shown; /* as engines, history and logs see it: redacted; set by the gateway */
    struct mrg_reply reply;          /* what goes back */
    struct mrg_text *reply_text; /* its text form, when an engine has it at hand (a reference), else NULL */
    struct mrg_door *door;       /* the address it came in by; a reference, released with the exchange */
    uint64_t received_us;        /* monotonic; when the last byte was in */
    mrg_deliver_fn deliver;      /* the adapter's; never NULL */
    mrg_fits_fn fits;            /* the adapter's; NULL: every reply does */
    void *adapter;               /* the adapter's own, in the arena */

    /* Gateway and engines only */
    atomic_uint refs;
    atomic_bool gone; /* the caller has hung up or was answered 504 */
    enum mrg_phase phase;
    struct mrg_list link; /* in the state's queue */
    struct mrg_gateway *gateway;
    struct mrg_dependency *dependency; /* a reference; an adapter that knows it sets it before submit */
    struct mrg_session *session;       /* a reference */
    struct mrg_state *state;           /* a reference */
    size_t engine_index;               /* next engine of the chain to ask */
    bool missed;                       /* a replay has no recording for it: a miss unless another answers */
    struct mrg_slice engine_note;      /* why the engines before passed, for the last failure's sentence */
    struct mrg_hash128 key; /* of `shown`, by the dependency's comparison; set when the turn begins */
    mrg_place place;        /* the state's place when the turn began */
    unsigned nth;           /* 1 for the first equal request at this place, 2 … */
    void *engine_data;      /* of the engine that is pending or has answered; arena */
};

/* One reference, the adapter's. `first` as in mrg_arena_new. */
struct mrg_exchange *mrg_exchange_new(size_t first, mrg_deliver_fn deliver);
struct mrg_exchange *mrg_exchange_ref(struct mrg_exchange *exchange);
void mrg_exchange_unref(struct mrg_exchange *exchange);
void mrg_exchange_move(struct mrg_exchange *exchange, enum mrg_phase phase);
