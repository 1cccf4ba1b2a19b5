// SPDX-License-Identifier: Apache-2.0
#include "core/exchange.h"

#include "core/dependency.h"
#include "core/session.h"
#include "core/transport.h"
#include "util/text.h"

struct mrg_exchange *mrg_exchange_new(size_t first, mrg_deliver_fn deliver)
{
    struct mrg_arena *arena = mrg_arena_new(first);
    struct mrg_exchange *exchange = mrg_arena_zalloc(arena, sizeof(*exchange));
    exchange->arena = arena;
    exchange->deliver = deliver;
    exchange->phase = MRG_PHASE_RECEIVED;
    exchange->shown = &exchange->request;
    atomic_init(&exchange->refs, 1);
    atomic_init(&exchange->gone, false);
    return exchange;
}

struct mrg_exchange *mrg_exchange_ref(struct mrg_exchange *exchange)
{
    atomic_fetch_add_explicit(&exchange->refs, 1, memory_order_relaxed);
    return exchange;
}

void mrg_exchange_unref(struct mrg_exchange *exchange)
{
    if (!exchange || atomic_fetch_sub_explicit(&exchange->refs, 1, memory_order_acq_rel) != 1)
        return;
    mrg_text_unref(exchange->reply_text);
    mrg_state_unref(exchange->state);
    mrg_session_unref(exchange->session);
    mrg_dependency_unref(exchange->dependency);
    mrg_door_unref(exchange->door);
    mrg_arena_free(exchange->arena);
}

void mrg_exchange_move(struct mrg_exchange *exchange, enum mrg_phase phase)
{
    static const enum mrg_phase after[] = {
        [MRG_PHASE_WAITING] = MRG_PHASE_RECEIVED,
        [MRG_PHASE_RUNNING] = MRG_PHASE_WAITING,
    };
    if (phase == MRG_PHASE_DONE)
        MRG_ASSERT(exchange->phase != MRG_PHASE_DONE);
    else
        MRG_ASSERT(phase != MRG_PHASE_RECEIVED && exchange->phase == after[phase]);
    exchange->phase = phase;
}
