// SPDX-License-Identifier: Apache-2.0
/*
 * Turns: one exchange at a time has a state's turn, in arrival order. Whoever ends a turn runs the next one
 * in a loop, on its own thread, so that no stack grows with the queue.
 */
#include <string.h>

#include "core/dependency.h"
#include "core/gateway_int.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"

#define TOLD_FAILURES 10u /* failures of a dependency that are logged */

static void begin(struct mrg_exchange *exchange)
{
    struct mrg_state *state = exchange->state;
    exchange->place = state->place;
    exchange->nth = mrg_state_nth(state, exchange->key);
    mrg_exchange_move(exchange, MRG_PHASE_RUNNING);
}

bool mrg_exchange_dropped(const struct mrg_exchange *exchange)
{
    const struct mrg_dependency_config *config = exchange->dependency->config;
    if (!atomic_load(&exchange->gone))
        return false;
    if (config->on_gone == MRG_GONE_DEFAULT)
        return !mrg_dependency_records(config);
    return config->on_gone == MRG_GONE_DROP;
}

static enum mrg_verdict ask(struct mrg_exchange *exchange)
{
    const struct mrg_dependency *dependency = exchange->dependency;
    for (; exchange->engine_index < dependency->engine_count; exchange->engine_index++) {
        struct mrg_engine *engine = dependency->engines[exchange->engine_index];
        enum mrg_verdict verdict = engine->ops->answer(engine, exchange);
        if (verdict != MRG_PASSED)
            return verdict;
    }
    struct mrg_slice note = exchange->engine_note;
    if (note.len == 0)
        note = MRG_SLICE("no engine of the chain knew the reply; see `engines` of this dependency");
    mrg_reply_fail(exchange->arena, &exchange->reply, 500, "%.*s", (int)note.len, note.ptr);
    return MRG_ANSWERED;
}

static enum mrg_verdict start(struct mrg_exchange *exchange)
{
    begin(exchange);
    if (atomic_load(&exchange->gateway->cancelling)) {
        mrg_reply_fail(exchange->arena, &exchange->reply, 503, "the server is stopping");
        return MRG_ANSWERED;
    }
    if (mrg_exchange_dropped(exchange)) {
        mrg_reply_fail(exchange->arena, &exchange->reply, 503, "the caller hung up before its turn");
        return MRG_ANSWERED;
    }
    return ask(exchange);
}

static struct mrg_record *make_record(struct mrg_exchange *exchange)
{
    struct mrg_record *record = mrg_record_new();
    struct mrg_buf buf;
    const struct mrg_request *shown = exchange->shown;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_reserve(&buf, 128 + shown->path.len + shown->query.len + shown->body.bytes.len);
    mrg_request_append_json(&buf, shown, mrg_match_shows, exchange->dependency->match);
    record->request = mrg_text_new(buf.data, buf.len);
    if (!exchange->reply_text) {
        mrg_buf_clear(&buf);
        mrg_reply_append_json(&buf, &exchange->reply);
        exchange->reply_text = mrg_text_new(buf.data, buf.len);
    }
    mrg_buf_done(&buf);
    record->reply = mrg_text_ref(exchange->reply_text);
    record->dependency = mrg_text_ref(exchange->state->dependency);
    record->session = mrg_text_ref(exchange->state->session);
    record->failed = exchange->reply.error != NULL;
    record->source = record->failed || !exchange->reply.source ? "mirage" : exchange->reply.source;
    record->status = exchange->reply.status;
    record->gone = atomic_load(&exchange->gone);
    record->at_ms = mrg_clock_wall_ms();
    record->duration_us = mrg_clock_us() - exchange->received_us;
    return record;
}

/* How much of a failure's sentence the log gets: no value of a request, which a miss quotes behind the
 * place of the difference. */
static int loggable(const char *why)
{
    static const char mark[] = "first difference: ";
    const char *difference = strstr(why, mark);
    if (!difference)
        return (int)strlen(why);
    return (int)(difference - why + (ptrdiff_t)sizeof(mark) - 1) +
           (int)strcspn(difference + sizeof(mark) - 1, ":");
}

/* The first failures of a dependency are told; a test run that goes wrong would drown the log in the rest. */
static void tell_failure(const struct mrg_exchange *exchange, unsigned long long before)
{
    const struct mrg_request *shown = exchange->shown;
    const char *why = exchange->reply.error;
    if (before >= TOLD_FAILURES)
        return;
    mrg_log(MRG_LOG_WARN, "%s: %.*s %.*s got %d: %.*s%s", exchange->dependency->config->name,
            (int)shown->method.len, shown->method.ptr, (int)(shown->path.len < 200 ? shown->path.len : 200),
            shown->path.ptr, exchange->reply.status, loggable(why), why,
            before + 1 == TOLD_FAILURES ? " (further failures are only counted)" : "");
}

static void count(const struct mrg_exchange *exchange, const struct mrg_record *record)
{
    struct mrg_dependency_stats *stats = exchange->dependency->stats;
    atomic_ullong *by = &stats->from_other;
    if (record->failed && record->gone)
        by = NULL; /* dropped with its caller: nobody saw a failure */
    else if (record->failed)
        by = &stats->failed;
    else if (mrg_slice_eq_str(mrg_slice_of(record->source), "cassette"))
        by = &stats->from_cassette;
    else if (mrg_slice_eq_str(mrg_slice_of(record->source), "llm"))
        by = &stats->from_llm;
    atomic_fetch_add_explicit(&stats->requests, 1, memory_order_relaxed);
    unsigned long long before = by ? atomic_fetch_add_explicit(by, 1, memory_order_relaxed) : 0;
    if (by == &stats->failed)
        tell_failure(exchange, before);
    if (by == &stats->failed && exchange->missed)
        atomic_fetch_add_explicit(&stats->missed, 1, memory_order_relaxed);
    if (record->gone)
        atomic_fetch_add_explicit(&stats->gone, 1, memory_order_relaxed);
}

/* A caller that has gone never asked, as far as the history knows; its answer is in the cassette for when
 * it asks again. */
static void commit(struct mrg_exchange *exchange, struct mrg_record *record)
{
    const struct mrg_dependency *dependency = exchange->dependency;
    const struct mrg_dependency_config *config = dependency->config;
    if (record->failed)
        return;
    for (size_t i = 0; i < dependency->engine_count; i++) {
        struct mrg_engine *engine = dependency->engines[i];
        if (engine->ops->answered)
            engine->ops->answered(engine, exchange, record);
    }
    if (record->gone)
        return;
    unsigned step = config->preset == MRG_PRESET_PAPER ? 1 : MRG_WINDOW_STEP;
    mrg_state_commit(exchange->state, record, exchange->key,
                     mrg_match_changes_state(dependency->match, exchange->shown), config->window, step);
}

static struct mrg_exchange *next_of(struct mrg_state *state)
{
    pthread_mutex_lock(&state->lock);
    struct mrg_list *link = mrg_list_pop(&state->waiting);
    if (link)
        state->waiting_count--;
    else
        state->running = false;
    pthread_mutex_unlock(&state->lock);
    return link ? MRG_CONTAINER_OF(link, struct mrg_exchange, link) : NULL;
}

static void hand_over(struct mrg_exchange *exchange)
{
    struct mrg_gateway *gateway = exchange->gateway;
    mrg_exchange_move(exchange, MRG_PHASE_DONE);
    exchange->deliver(exchange);
    mrg_exchange_unref(exchange);
    mrg_gateway_leave(gateway);
}

/* Commits the reply, frees the turn, delivers. Returns the exchange that has the turn now, if any. */
static struct mrg_exchange *end_turn(struct mrg_exchange *exchange)
{
    struct mrg_state *state = mrg_state_ref(exchange->state);
    struct mrg_record *record = make_record(exchange);
    mrg_journal_add(exchange->gateway->journal, record);
    commit(exchange, record);
    count(exchange, record);
    mrg_record_unref(record);
    hand_over(exchange);
    struct mrg_exchange *next = next_of(state);
    mrg_state_unref(state);
    return next;
}

static void run(struct mrg_exchange *exchange, enum mrg_verdict verdict)
{
    while (verdict != MRG_PENDING) {
        exchange = end_turn(exchange);
        if (!exchange)
            return;
        verdict = start(exchange);
    }
}

void mrg_turn_enter(struct mrg_exchange *exchange)
{
    struct mrg_state *state = exchange->state;
    mrg_exchange_move(exchange, MRG_PHASE_WAITING);
    pthread_mutex_lock(&state->lock);
    bool busy = state->running;
    bool full = busy && state->waiting_count >= MRG_MAX_TURN_QUEUE;
    if (!busy) {
        state->running = true;
    } else if (!full) {
        mrg_list_append(&state->waiting, &exchange->link);
        state->waiting_count++;
    }
    pthread_mutex_unlock(&state->lock);
    if (full) {
        mrg_reply_fail(exchange->arena, &exchange->reply, 503,
                       "%u requests of this session wait for their turn already", MRG_MAX_TURN_QUEUE);
        atomic_fetch_add_explicit(&exchange->dependency->stats->failed, 1, memory_order_relaxed);
        mrg_turn_skip(exchange);
    } else if (!busy) {
        run(exchange, start(exchange));
    }
}

void mrg_turn_skip(struct mrg_exchange *exchange)
{
    hand_over(exchange);
}

void mrg_turn_resume(struct mrg_exchange *exchange, enum mrg_verdict verdict)
{
    MRG_ASSERT(verdict != MRG_PENDING && exchange->phase == MRG_PHASE_RUNNING);
    if (verdict == MRG_PASSED) {
        exchange->engine_index++;
        verdict = ask(exchange);
    }
    run(exchange, verdict);
}

void mrg_gateway_gone(struct mrg_gateway *gateway, struct mrg_exchange *exchange)
{
    (void)gateway;
    const struct mrg_dependency *dependency = exchange->dependency;
    atomic_store(&exchange->gone, true);
    if (!dependency || !mrg_exchange_dropped(exchange))
        return;
    for (size_t i = 0; i < dependency->engine_count; i++) {
        struct mrg_engine *engine = dependency->engines[i];
        if (engine->ops->cancel)
            engine->ops->cancel(engine, exchange);
    }
}
