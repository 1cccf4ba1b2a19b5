// SPDX-License-Identifier: Apache-2.0
/*
 * Engine: something that may know the reply. Core knows engines only by this table.
 *
 * A dependency's chain is asked in order while the exchange has its state's turn. An engine ANSWERS
 * (exchange->reply is set), PASSES (may leave a reason in exchange->engine_note) or says PENDING and later
 * calls mrg_turn_resume from any thread, exactly once. An engine knows nothing of wires; it reads
 * exchange->shown, never exchange->request.
 */
#pragma once

#include "core/exchange.h"
#include "core/record.h"
#include "util/error.h"

enum mrg_verdict { MRG_ANSWERED, MRG_PASSED, MRG_PENDING };

struct mrg_evidence;
struct mrg_dependency_config;
struct mrg_dependency_stats;
struct mrg_match;
struct mrg_services;

/* What an engine is made from; all of it outlives the engine. */
struct mrg_engine_env {
    const struct mrg_dependency_config *config; /* the dependency's configuration */
    const struct mrg_match *match;              /* its comparison */
    struct mrg_dependency_stats *stats;         /* its counters */
    struct mrg_evidence *evidence;              /* what the simulation may know (evidence/evidence.h) */
    struct mrg_services *services;              /* process-wide services (engines/services.h) */
};

struct mrg_engine_ops {
    const char *name; /* as in `engines:` of the configuration */
    enum mrg_err (*create)(const struct mrg_engine_env *env, struct mrg_engine **ret_engine,
                           struct mrg_error *err);
    void (*destroy)(struct mrg_engine *engine); /* no exchange is with it any more */
    enum mrg_verdict (*answer)(struct mrg_engine *engine, struct mrg_exchange *exchange);
    /* The work is to be dropped (of all exchanges: NULL): end a PENDING exchange soon (resume it, ANSWERED with a failure). May
     * be NULL. Any thread; may come after the engine has resumed the exchange: then it does nothing. */
    void (*cancel)(struct mrg_engine *engine, struct mrg_exchange *exchange);
    /* Some engine of the chain has answered; the turn is still held. For recorders. May be NULL. `record` may be kept (ref). */
    void (*answered)(struct mrg_engine *engine, struct mrg_exchange *exchange, struct mrg_record *record);
};

/* First member of every engine's own struct. */
struct mrg_engine {
    const struct mrg_engine_ops *ops;
};

/* Whether the caller has hung up and `on_gone` says that its work is dropped. Any thread. An engine looks
 * after it can be found by cancel, so that a cancel that came before that is not lost. */
bool mrg_exchange_dropped(const struct mrg_exchange *exchange);

/* Continues the turn of a PENDING exchange with ANSWERED or PASSED. Any thread; may run further turns
 * before it returns. */
void mrg_turn_resume(struct mrg_exchange *exchange, enum mrg_verdict verdict);

/* The registered engines, NULL-terminated; defined in engines/engines.c. */
extern const struct mrg_engine_ops *const mrg_engines[];
