// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

static struct rig rig;
static struct mrg_door *door;

static int set_up(void **state)
{
    (void)state;
    rig_start(&rig, RIG_TWO);
    door = mrg_door_new(MRG_DOOR_DEPENDENCY, "inventory", NULL);
    call_notes = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mrg_door_unref(door);
    rig_stop(&rig);
    return 0;
}

/* ---- the chain ---- */

static enum mrg_verdict answer_as_cassette(struct mrg_exchange *exchange)
{
    return rig_reply(exchange, "cassette", "{\"from\":\"cassette\"}");
}

static void the_first_engine_that_answers_is_the_last_asked(void **state)
{
    (void)state;
    RIG_CASSETTE->answer = answer_as_cassette;
    struct call *call = call_do(&rig, door, "GET /items", NULL, NULL);
    assert_string_equal(call->exchange->reply.source, "cassette");
    assert_int_equal(RIG_LLM->asked, 0);
    /* Recorders of the whole chain hear of it. */
    assert_int_equal(RIG_CASSETTE->answered, 1);
    assert_int_equal(RIG_LLM->answered, 1);
    call_free(call);
    struct mrg_dependency_stats *stats = mrg_stats_dependency(rig.stats, "inventory");
    assert_int_equal(stats->requests, 1);
    assert_int_equal(stats->from_cassette, 1);
    assert_int_equal(stats->from_llm, 0);
}

static enum mrg_verdict pass_with_note(struct mrg_exchange *exchange)
{
    exchange->engine_note = MRG_SLICE("nothing recorded fits");
    return MRG_PASSED;
}

static void when_all_pass_the_last_note_is_the_failure(void **state)
{
    (void)state;
    RIG_CASSETTE->answer = pass_with_note;
    RIG_LLM->answer = NULL;
    struct call *call = call_do(&rig, door, "GET /items", NULL, NULL);
    assert_int_equal(call->exchange->reply.status, 500);
    assert_string_equal(call->exchange->reply.error, "nothing recorded fits");
    call_free(call);
    RIG_CASSETTE->answer = NULL;
    call_expect(&rig, door, "GET /items", NULL, NULL, 500, "no engine of the chain knew the reply");
    assert_int_equal(RIG_CASSETTE->answered, 0);
    assert_int_equal(mrg_stats_dependency(rig.stats, "inventory")->failed, 2);
}

static void a_pending_engine_that_passes_hands_on_to_the_next(void **state)
{
    (void)state;
    RIG_CASSETTE->answer = rig_pend;
    struct call *call = call_send(&rig, door, "GET /items", NULL, NULL);
    assert_false(call_delivered(call));
    mrg_turn_resume(rig_take(), MRG_PASSED);
    assert_int_equal(call_wait(call)->status, 200);
    assert_string_equal(call->exchange->reply.source, "llm");
    call_free(call);

    RIG_LLM->answer = rig_pend;
    call = call_send(&rig, door, "GET /items", NULL, NULL);
    mrg_turn_resume(rig_take(), MRG_PASSED);
    mrg_turn_resume(rig_take(), MRG_PASSED);
    assert_int_equal(call_wait(call)->status, 500);
    call_free(call);
}

/* ---- order ---- */

static atomic_int inside, overlaps;

static enum mrg_verdict alone_then_pend(struct mrg_exchange *exchange)
{
    if (atomic_fetch_add(&inside, 1) != 0)
        atomic_fetch_add(&overlaps, 1);
    return rig_noted_pend(exchange);
}

static void *resume_many(void *arg)
{
    for (int i = *(int *)arg; i > 0; i--) {
        struct mrg_exchange *exchange = rig_take();
        atomic_fetch_sub(&inside, 1);
        rig_release(exchange);
    }
    return NULL;
}

enum { SENDERS = 8, EACH = 40 };

static void *send_many(void *arg)
{
    struct call **calls = arg;
    for (int i = 0; i < EACH; i++)
        call_submit(&rig, calls[i]);
    return NULL;
}

static void one_state_answers_one_at_a_time_in_arrival_order(void **state)
{
    (void)state;
    inside = overlaps = 0;
    RIG_LLM->answer = alone_then_pend;
    static struct call *calls[SENDERS][EACH];
    pthread_t senders[SENDERS], resumers[2];
    int half = SENDERS * EACH / 2;
    for (int i = 0; i < SENDERS; i++) {
        for (int k = 0; k < EACH; k++)
            calls[i][k] = call_new(door, "POST /items", "mirage-session: one", "{}");
    }
    for (int i = 0; i < SENDERS; i++)
        pthread_create(&senders[i], NULL, send_many, calls[i]);
    for (int i = 0; i < 2; i++)
        pthread_create(&resumers[i], NULL, resume_many, &half);
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i], NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(resumers[i], NULL);
    assert_int_equal(overlaps, 0);
    for (int i = 0; i < SENDERS; i++) {
        for (int k = 0; k < EACH; k++) {
            call_wait(calls[i][k]);
            /* Each saw exactly those that were answered before it. */
            assert_int_equal(calls[i][k]->committed, calls[i][k]->order - 1);
            if (k > 0)
                assert_true(calls[i][k]->order > calls[i][k - 1]->order);
            if (k > 0)
                call_free(calls[i][k - 1]);
        }
        call_free(calls[i][EACH - 1]);
    }
}

static void other_states_do_not_wait(void **state)
{
    (void)state;
    struct mrg_door *other = mrg_door_new(MRG_DOOR_DEPENDENCY, "payment", NULL);
    RIG_LLM->answer = rig_pend;
    struct call *held = call_send(&rig, door, "POST /items", "mirage-session: a", "{}");
    RIG_LLM->answer = rig_noted;
    struct call *behind = call_send(&rig, door, "POST /items", "mirage-session: a", "{}");
    assert_false(call_delivered(behind));
    struct call *session = call_send(&rig, door, "POST /items", "mirage-session: b", "{}");
    struct call *dependency = call_send(&rig, other, "POST /items", "mirage-session: a", "{}");
    assert_true(call_delivered(session));
    assert_true(call_delivered(dependency));
    assert_int_equal(session->window_len, 0);
    assert_int_equal(dependency->window_len, 0);
    rig_release(rig_take());
    assert_true(call_delivered(behind));
    assert_int_equal(behind->window_len, 1);
    call_free(held);
    call_free(behind);
    call_free(session);
    call_free(dependency);
    mrg_door_unref(other);
}

/* ---- many waiting ---- */

enum { MANY = 4000 };
static uintptr_t lowest, highest;

static enum mrg_verdict measure_stack(struct mrg_exchange *exchange)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    lowest = here < lowest ? here : lowest;
    highest = here > highest ? here : highest;
    return rig_inline(exchange);
}

static void no_stack_grows_with_the_queue(void **state)
{
    (void)state;
    static struct call *calls[MANY];
    lowest = UINTPTR_MAX;
    highest = 0;
    RIG_LLM->answer = rig_pend;
    struct call *first = call_send(&rig, door, "GET /items", NULL, NULL);
    RIG_LLM->answer = measure_stack;
    for (int i = 0; i < MANY; i++)
        calls[i] = call_send(&rig, door, "GET /items", NULL, NULL);
    assert_false(call_delivered(calls[0]));
    rig_release(rig_take());
    for (int i = 0; i < MANY; i++) {
        assert_true(call_delivered(calls[i]));
        call_free(calls[i]);
    }
    call_free(first);
    assert_true(highest - lowest < 1024);
}

static void a_full_queue_refuses(void **state)
{
    (void)state;
    static struct call *calls[MRG_MAX_TURN_QUEUE];
    RIG_LLM->answer = rig_pend;
    struct call *first = call_send(&rig, door, "GET /items", NULL, NULL);
    RIG_LLM->answer = rig_inline;
    for (unsigned i = 0; i < MRG_MAX_TURN_QUEUE; i++)
        calls[i] = call_send(&rig, door, "GET /items", NULL, NULL);
    call_expect(&rig, door, "GET /items", NULL, NULL, 503, "wait for their turn already");
    rig_release(rig_take());
    for (unsigned i = 0; i < MRG_MAX_TURN_QUEUE; i++) {
        assert_int_equal(call_wait(calls[i])->status, 200);
        call_free(calls[i]);
    }
    call_free(first);
    /* And there is room again. */
    RIG_LLM->answer = rig_pend;
    first = call_send(&rig, door, "GET /items", NULL, NULL);
    RIG_LLM->answer = rig_inline;
    struct call *second = call_send(&rig, door, "GET /items", NULL, NULL);
    assert_false(call_delivered(second));
    rig_release(rig_take());
    assert_int_equal(call_wait(second)->status, 200);
    call_free(first);
    call_free(second);
}

/* ---- resumed from other threads ---- */

static void *resume_one(void *exchange)
{
    rig_release(exchange);
    return NULL;
}

/* Another thread has ended the turn before answer() returns. */
static enum mrg_verdict pend_but_late(struct mrg_exchange *exchange)
{
    pthread_t thread;
    call_note(exchange);
    pthread_create(&thread, NULL, resume_one, exchange);
    pthread_join(thread, NULL);
    return MRG_PENDING;
}

static void a_turn_may_end_before_its_engine_says_pending(void **state)
{
    (void)state;
    RIG_LLM->answer = rig_noted_pend;
    struct call *calls[10];
    calls[0] = call_send(&rig, door, "POST /items", NULL, "{}");
    RIG_LLM->answer = pend_but_late;
    for (int i = 1; i < 10; i++)
        calls[i] = call_send(&rig, door, "POST /items", NULL, "{}");
    rig_release(rig_take());
    for (int i = 0; i < 10; i++) {
        assert_int_equal(call_wait(calls[i])->status, 200);
        assert_int_equal(calls[i]->order, i + 1);
        assert_int_equal(calls[i]->window_len, i);
        call_free(calls[i]);
    }
    /* The turn is free. */
    RIG_LLM->answer = rig_noted;
    struct call *last = call_do(&rig, door, "POST /items", NULL, "{}");
    assert_int_equal(last->window_len, 10);
    call_free(last);
}

/* ---- history ---- */

static void only_changes_move_the_place_and_nth_counts_at_a_place(void **state)
{
    (void)state;
    RIG_LLM->answer = rig_noted;
    static const struct {
        const char *line, *body;
        unsigned nth;
        bool moved; /* the place is another than at the step before */
    } steps[] = {
        {"GET /items", NULL, 1, false},     {"GET /items", NULL, 2, false},
        {"HEAD /items", NULL, 1, false},    {"GET /items", NULL, 3, false},
        {"GET /items/1", NULL, 1, false},   {"POST /items", "{}", 1, false},
        {"GET /items", NULL, 1, true},      {"OPTIONS /items", NULL, 1, false},
        {"GET /items", NULL, 2, false},     {"POST /items", "{}", 1, false},
        {"DELETE /items/1", NULL, 1, true}, {"PATCH /items/1", "{}", 1, true},
        {"GET /items", NULL, 1, true},
    };
    mrg_place place = mrg_place_start("inventory", NULL);
    for (size_t i = 0; i < MRG_ARRAY_LEN(steps); i++) {
        struct call *call = call_do(&rig, door, steps[i].line, NULL, steps[i].body);
        assert_int_equal(call->nth, steps[i].nth);
        assert_int_equal(call->window_len, i);
        assert_int_equal(call->place != place, steps[i].moved);
        place = call->place;
        call_free(call);
    }
}

static void reads_and_writes_correct_the_method(void **state)
{
    (void)state;
    rig_configure(&rig, "model: {name: m}\n"
                        "dependencies:\n"
                        "  - name: inventory\n"
                        "    listen: {http: 127.0.0.1:0}\n"
                        "    reads: [POST /search]\n"
                        "    writes: [\"GET /shipments/{id}\"]\n");
    RIG_LLM->answer = rig_noted;
    struct call *search = call_do(&rig, door, "POST /search", NULL, "{}");
    struct call *again = call_do(&rig, door, "POST /search", NULL, "{}");
    struct call *poll = call_do(&rig, door, "GET /shipments/7", NULL, NULL);
    struct call *second = call_do(&rig, door, "GET /shipments/7", NULL, NULL);
    assert_int_equal(again->place, search->place);
    assert_int_equal(again->nth, 2);
    assert_int_equal(poll->place, search->place);
    assert_int_not_equal(second->place, poll->place);
    assert_int_equal(second->nth, 1);
    call_free(search);
    call_free(again);
    call_free(poll);
    call_free(second);
}

static void a_failure_leaves_no_trace_in_the_history(void **state)
{
    (void)state;
    RIG_LLM->answer = rig_noted;
    call_free(call_do(&rig, door, "POST /items", NULL, "{}"));
    call_free(call_do(&rig, door, "GET /items", NULL, NULL));
    struct call *before = call_do(&rig, door, "GET /items", NULL, NULL);
    int answered = RIG_LLM->answered;
    RIG_LLM->answer = rig_fail;
    call_expect(&rig, door, "POST /items", NULL, "{}", 500, "no usable reply");
    call_expect(&rig, door, "GET /items", NULL, NULL, 500, "no usable reply");
    assert_int_equal(RIG_LLM->answered, answered);
    RIG_LLM->answer = rig_noted;
    struct call *after = call_do(&rig, door, "GET /items", NULL, NULL);
    assert_int_equal(before->nth, 2);
    assert_int_equal(after->nth, 3);
    assert_int_equal(after->place, before->place);
    assert_int_equal(after->window_len, before->window_len + 1);
    assert_int_equal(after->committed, 3);
    call_free(before);
    call_free(after);
    /* The journal has them all. */
    struct mrg_buf log;
    mrg_buf_init(&log, SIZE_MAX);
    mrg_journal_append_json(&log, mrg_gateway_journal(rig.gateway), &(struct mrg_journal_filter){.limit = 2});
    assert_non_null(strstr(log.data, "\"source\":\"mirage\",\"status\":500"));
    assert_non_null(strstr(log.data, "\"failed\":true"));
    assert_non_null(strstr(log.data, "\"last\":6}"));
    mrg_buf_done(&log);
}

static void the_window_slides_by_ten_at_thirty(void **state)
{
    (void)state;
    RIG_LLM->answer = rig_noted;
    for (size_t i = 0; i < 75; i++) {
        struct call *call = call_do(&rig, door, "POST /items", NULL, "{}");
        assert_int_equal(call->window_len, i < 30 ? i : 20 + i % 10);
        assert_int_equal(call->committed, i);
        call_free(call);
    }
}

static void the_papers_window_slides_by_one(void **state)
{
    (void)state;
    rig_configure(&rig, "model: {name: m}\n"
                        "dependencies: [{name: inventory, listen: {http: 127.0.0.1:0}, preset: paper}]\n");
    RIG_LLM->answer = rig_noted;
    for (size_t i = 0; i < 45; i++) {
        struct call *call = call_do(&rig, door, "POST /items", NULL, "{}");
        assert_int_equal(call->window_len, i < 20 ? i : 20);
        call_free(call);
    }
}

static char *oldest; /* the request that the engine finds first in the window */

static enum mrg_verdict keep_oldest(struct mrg_exchange *exchange)
{
    free(oldest);
    oldest = mrg_strdup(exchange->state->window[0]->request->data);
    return rig_noted(exchange);
}

static void a_reload_may_shrink_the_window(void **state)
{
    (void)state;
    for (int i = 0; i < 27; i++) {
        char line[32];
        snprintf(line, sizeof(line), "POST /items/%d", i);
        call_free(call_do(&rig, door, line, NULL, NULL));
    }
    rig_configure(&rig, "model: {name: m}\n"
                        "dependencies: [{name: inventory, listen: {http: 127.0.0.1:0}, preset: paper, "
                        "memory: {window: 3}}]\n");
    RIG_LLM->answer = keep_oldest;
    struct call *first = call_do(&rig, door, "POST /items/27", NULL, NULL);
    struct call *second = call_do(&rig, door, "POST /items/28", NULL, NULL);
    assert_int_equal(first->window_len, 27); /* states stay as they are until something is added */
    assert_int_equal(second->window_len, 3);
    assert_string_equal(oldest, "{\"method\":\"POST\",\"path\":\"/items/25\"}");
    free(oldest);
    oldest = NULL;
    call_free(first);
    call_free(second);
}

/* ---- reset ---- */

static void what_is_in_flight_at_a_reset_ends_unseen(void **state)
{
    (void)state;
    call_free(call_do(&rig, door, "POST /items", NULL, "{}"));
    RIG_LLM->answer = rig_pend;
    struct call *running = call_send(&rig, door, "POST /items", NULL, "{}");
    RIG_LLM->answer = rig_noted;
    struct call *waiting = call_send(&rig, door, "POST /items", NULL, "{}");
    struct mrg_session *session = mrg_sessions_find(mrg_gateway_sessions(rig.gateway), MRG_SLICE("default"));
    mrg_session_reset(session, NULL, NULL);
    mrg_session_unref(session);

    /* The new state waits for nobody. */
    struct call *fresh = call_send(&rig, door, "POST /items", NULL, "{}");
    assert_true(call_delivered(fresh));
    assert_int_equal(fresh->window_len, 0);
    assert_int_equal(fresh->place, mrg_place_start("inventory", NULL));
    rig_release(rig_take());
    assert_int_equal(call_wait(running)->status, 200);
    assert_int_equal(call_wait(waiting)->status, 200);
    assert_int_equal(waiting->window_len, 2);
    struct call *after = call_do(&rig, door, "POST /items", NULL, "{}");
    assert_int_equal(after->window_len, 1);
    assert_int_equal(after->committed, 1);
    call_free(running);
    call_free(waiting);
    call_free(fresh);
    call_free(after);
}

static void a_session_may_be_dropped_under_its_exchanges(void **state)
{
    (void)state;
    RIG_LLM->answer = rig_pend;
    struct call *running = call_send(&rig, door, "POST /items", "mirage-session: gone", "{}");
    struct call *waiting = call_send(&rig, door, "POST /items", "mirage-session: gone", "{}");
    assert_true(mrg_sessions_drop(mrg_gateway_sessions(rig.gateway), MRG_SLICE("gone")));
    rig_release(rig_take());
    rig_release(rig_take());
    call_free(running);
    call_free(waiting);
    RIG_LLM->answer = rig_noted;
    struct call *again = call_do(&rig, door, "POST /items", "mirage-session: gone", "{}");
    assert_int_equal(again->window_len, 0);
    call_free(again);
}

/* ---- callers that hang up ---- */

#define GONE(words)                                                                                          \
    "model: {name: m}\n"                                                                                     \
    "dependencies: [{name: inventory, listen: {http: 127.0.0.1:0}, " words "}]\n"

static struct mrg_dependency_stats *inventory_stats(void)
{
    return mrg_stats_dependency(rig.stats, "inventory");
}

/* A call that hangs up while it waits for its turn. */
static struct call *gone_before_its_turn(const char *yaml)
{
    rig_configure(&rig, yaml);
    RIG_LLM->answer = rig_pend;
    struct call *first = call_send(&rig, door, "POST /items", NULL, "{}");
    RIG_LLM->answer = rig_noted;
    struct call *call = call_send(&rig, door, "POST /items", NULL, "{}");
    mrg_gateway_gone(rig.gateway, call->exchange);
    assert_false(call_delivered(call));
    rig_release(rig_take());
    call_free(first);
    call_wait(call);
    return call;
}

static size_t window_now(void)
{
    RIG_LLM->answer = rig_noted;
    struct call *call = call_do(&rig, door, "GET /window", NULL, NULL);
    size_t len = call->window_len;
    call_free(call);
    return len;
}

static void dropped_before_its_turn(void **state)
{
    (void)state;
    struct call *call = gone_before_its_turn(GONE("on_gone: drop"));
    assert_int_equal(call->exchange->reply.status, 503);
    assert_int_equal(call->order, 0); /* nobody was asked */
    assert_int_equal(RIG_LLM->asked, 1);
    call_free(call);
    assert_int_equal(inventory_stats()->gone, 1);
    assert_int_equal(inventory_stats()->failed, 0);
    assert_int_equal(window_now(), 1);
}

static void finished_though_gone_before_its_turn(void **state)
{
    (void)state;
    struct call *call = gone_before_its_turn(GONE("on_gone: finish"));
    assert_int_equal(call->exchange->reply.status, 200);
    call_free(call);
    /* Recorders hear of it, the history does not. */
    assert_int_equal(RIG_CASSETTE->answered, 2);
    assert_int_equal(inventory_stats()->gone, 1);
    assert_int_equal(window_now(), 1);
}

static void auto_finishes_what_is_recorded_and_drops_the_rest(void **state)
{
    (void)state;
    struct call *call = gone_before_its_turn(GONE("cassette: {mode: auto}"));
    assert_int_equal(call->exchange->reply.status, 200);
    call_free(call);
    call = gone_before_its_turn(GONE("cassette: {mode: record}"));
    assert_int_equal(call->exchange->reply.status, 200);
    call_free(call);
    call = gone_before_its_turn(GONE("cassette: {mode: \"off\"}"));
    assert_int_equal(call->exchange->reply.status, 503);
    call_free(call);
    call = gone_before_its_turn(GONE("engines: [llm]"));
    assert_int_equal(call->exchange->reply.status, 503);
    call_free(call);
}

static void *resume_answered(void *exchange)
{
    mrg_turn_resume(exchange, MRG_ANSWERED);
    return NULL;
}

/* As an engine would: the work ends soon, by another thread. */
static void cancel_held(struct mrg_exchange *exchange)
{
    pthread_t thread;
    struct mrg_exchange *held = rig_take();
    assert_ptr_equal(held, exchange);
    mrg_reply_fail(held->arena, &held->reply, 503, "the work was cancelled");
    pthread_create(&thread, NULL, resume_answered, held);
    pthread_join(thread, NULL);
}

static void dropped_while_pending(void **state)
{
    (void)state;
    rig_configure(&rig, GONE("on_gone: drop"));
    RIG_LLM->answer = rig_pend;
    RIG_LLM->cancel = cancel_held;
    struct call *call = call_send(&rig, door, "POST /items", NULL, "{}");
    mrg_gateway_gone(rig.gateway, call->exchange);
    assert_int_equal(call_wait(call)->status, 503);
    assert_int_equal(RIG_LLM->cancelled, 1);
    RIG_LLM->cancel = NULL;
    call_free(call);
    assert_int_equal(inventory_stats()->gone, 1);
    assert_int_equal(inventory_stats()->failed, 0);
    assert_int_equal(window_now(), 0);
}

static void finished_though_gone_while_pending(void **state)
{
    (void)state;
    rig_configure(&rig, GONE("on_gone: finish"));
    RIG_LLM->answer = rig_pend;
    struct call *call = call_send(&rig, door, "POST /items", NULL, "{}");
    mrg_gateway_gone(rig.gateway, call->exchange);
    assert_false(call_delivered(call));
    assert_int_equal(RIG_LLM->cancelled, 0);
    rig_release(rig_take());
    assert_int_equal(call_wait(call)->status, 200);
    call_free(call);
    assert_int_equal(RIG_CASSETTE->answered, 1);
    assert_int_equal(window_now(), 0);
    /* The same request again has the same place and nth, so that what was recorded hits. */
    struct call *again = call_do(&rig, door, "POST /items", NULL, "{}");
    assert_int_equal(again->nth, 1);
    assert_int_equal(again->place, mrg_place_start("inventory", NULL));
    call_free(again);
}

static void gone_after_its_reply(void **state)
{
    (void)state;
    rig_configure(&rig, GONE("on_gone: drop"));
    struct call *call = call_do(&rig, door, "POST /items", NULL, "{}");
    mrg_gateway_gone(rig.gateway, call->exchange);
    call_free(call);
    assert_int_equal(window_now(), 1);
    assert_int_equal(inventory_stats()->gone, 0);
}

/* Callers hang up and turns end at the same time, in all orders. */
static void *hang_up(void *arg)
{
    struct call *call = arg;
    mrg_gateway_gone(rig.gateway, call->exchange);
    return NULL;
}

static void hanging_up_races_with_the_reply(void **state)
{
    (void)state;
    rig_configure(&rig, GONE("on_gone: drop"));
    RIG_LLM->answer = rig_pend;
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        struct call *call = call_send(&rig, door, "POST /items", NULL, "{}");
        pthread_create(&thread, NULL, hang_up, call);
        rig_release(rig_take());
        pthread_join(thread, NULL);
        call_free(call);
    }
    assert_true(window_now() <= 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(the_first_engine_that_answers_is_the_last_asked),
        TEST(when_all_pass_the_last_note_is_the_failure),
        TEST(a_pending_engine_that_passes_hands_on_to_the_next),
        TEST(one_state_answers_one_at_a_time_in_arrival_order),
        TEST(other_states_do_not_wait),
        TEST(no_stack_grows_with_the_queue),
        TEST(a_full_queue_refuses),
        TEST(a_turn_may_end_before_its_engine_says_pending),
        TEST(only_changes_move_the_place_and_nth_counts_at_a_place),
        TEST(reads_and_writes_correct_the_method),
        TEST(a_failure_leaves_no_trace_in_the_history),
        TEST(the_window_slides_by_ten_at_thirty),
        TEST(the_papers_window_slides_by_one),
        TEST(a_reload_may_shrink_the_window),
        TEST(what_is_in_flight_at_a_reset_ends_unseen),
        TEST(a_session_may_be_dropped_under_its_exchanges),
        TEST(dropped_before_its_turn),
        TEST(finished_though_gone_before_its_turn),
        TEST(auto_finishes_what_is_recorded_and_drops_the_rest),
        TEST(dropped_while_pending),
        TEST(finished_though_gone_while_pending),
        TEST(gone_after_its_reply),
        TEST(hanging_up_races_with_the_reply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
