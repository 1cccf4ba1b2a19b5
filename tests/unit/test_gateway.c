// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include "core/gateway_int.h"
#include "fake_wire.h"

/* ---- a watch of one timer ---- */

struct mrg_watch {
    int unused;
};
static struct mrg_watch no_watch;
static struct mrg_timer *timer_set;

void mrg_watch_timer_set(struct mrg_watch *watch, struct mrg_timer *timer, uint64_t due_ms)
{
    (void)watch, (void)due_ms;
    timer_set = timer;
}

bool mrg_watch_timer_clear(struct mrg_watch *watch, struct mrg_timer *timer)
{
    (void)watch;
    bool was_set = timer_set == timer;
    timer_set = NULL;
    return was_set;
}

static struct rig rig;
static struct mrg_door *door, *shared, *control;

static int set_up(void **state)
{
    (void)state;
    rig_start(&rig, RIG_TWO);
    door = mrg_door_new(MRG_DOOR_DEPENDENCY, "inventory", NULL);
    shared = mrg_door_new(MRG_DOOR_SHARED, NULL, NULL);
    control = mrg_door_new(MRG_DOOR_CONTROL, NULL, NULL);
    call_notes = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mrg_door_unref(door);
    mrg_door_unref(shared);
    mrg_door_unref(control);
    rig_stop(&rig);
    return 0;
}

/* ---- sessions ---- */

static void expect_session(struct mrg_door *through, const char *line, const char *headers,
                           const char *session, const char *path)
{
    struct call *call = call_do(&rig, through, line, headers, NULL);
    if (call->exchange->reply.status != 200)
        fail_msg("%s (%s): %s", line, headers ? headers : "", call->exchange->reply.error);
    if (!mrg_slice_eq_str(mrg_text_slice(mrg_session_name(call->exchange->session)), session))
        fail_msg("%s (%s): session %s; expected %s", line, headers ? headers : "",
                 mrg_session_name(call->exchange->session)->data, session);
    if (!mrg_slice_eq_str(call->exchange->shown->path, path))
        fail_msg("%s: path %.*s; expected %s", line, (int)call->exchange->shown->path.len,
                 call->exchange->shown->path.ptr, path);
    call_free(call);
}

static void a_session_is_named_by_header(void **state)
{
    (void)state;
    expect_session(door, "GET /items", NULL, "default", "/items");
    expect_session(door, "GET /items", "mirage-session: a", "a", "/items");
    expect_session(door, "GET /items", "mirage-session: a\nbaggage: mirage-session=b", "a", "/items");
    expect_session(door, "GET /items", "mirage-session: ", "default", "/items");
}

static void a_session_is_named_by_baggage(void **state)
{
    (void)state;
    expect_session(door, "GET /x", "baggage: mirage-session=b", "b", "/x");
    expect_session(door, "GET /x", "baggage: user=1,mirage-session=b,other=2", "b", "/x");
    expect_session(door, "GET /x", "baggage: user=1 , mirage-session = b ;p=1; q , z=2", "b", "/x");
    expect_session(door, "GET /x", "baggage: mirage-session=run%2D7;ttl=1", "run-7", "/x");
    expect_session(door, "GET /x", "baggage: not-mirage-session=b", "default", "/x");
    expect_session(door, "GET /x", "baggage: mirage-session-2=b,x;mirage-session=c", "default", "/x");
    expect_session(door, "GET /x", "baggage: ,,;,=,mirage-session", "default", "/x");
    expect_session(door, "GET /x", "baggage: ,\t,mirage-session=b", "b", "/x");
    /* Several headers are one list (W3C Baggage, section 3.2). */
    expect_session(door, "GET /x", "baggage: user=1\nbaggage: mirage-session=b", "b", "/x");
}

static void a_session_is_named_by_path(void **state)
{
    (void)state;
    expect_session(door, "GET /__s/c/items/1", NULL, "c", "/items/1");
    expect_session(door, "GET /__s/c/", NULL, "c", "/");
    expect_session(door, "GET /__s/c", NULL, "c", "/");
    expect_session(door, "GET /__s/c?x=1", NULL, "c", "/");
    expect_session(door, "GET /__s/run%2d7/items%2F1", NULL, "run-7", "/items%2F1");
    expect_session(door, "GET /__s/a+b/x", NULL, "a+b", "/x");
    expect_session(door, "GET /__s/c/x", "mirage-session: a", "c", "/x");
    expect_session(door, "GET /__s/c/__s/d/x", NULL, "c", "/__s/d/x");
    expect_session(door, "GET /__s", NULL, "default", "/__s");
    expect_session(door, "GET /__sx/c", NULL, "default", "/__sx/c");
    expect_session(shared, "GET /__s/c/inventory/items", NULL, "c", "/items");
}

static void a_session_is_named_by_its_address(void **state)
{
    (void)state;
    struct mrg_door *own = mrg_door_new(MRG_DOOR_DEPENDENCY, "inventory", "own");
    expect_session(own, "GET /items", "mirage-session: a", "own", "/items");
    expect_session(own, "GET /__s/c/items", NULL, "own", "/items");
    mrg_door_unref(own);
}

static void what_is_no_name_is_refused(void **state)
{
    (void)state;
    static const char *const headers[] = {"mirage-session: a b",           "mirage-session: a/b",
                                          "mirage-session: \xC3\xA9",      "mirage-session: a\"",
                                          "baggage: mirage-session=a%20b", "baggage: mirage-session=a%00"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(headers); i++)
        call_expect(&rig, door, "GET /items", headers[i], NULL, 400,
                    "the session's name is not one; expected 1 to 128 letters");
    call_expect(&rig, door, "GET /__s/a%2Fb/items", NULL, NULL, 400, "the session's name is not one");
    call_expect(&rig, door, "GET /__s/a%00/items", NULL, NULL, 400, "the session's name is not one");
    /* Somebody meant to name one: not the default session. */
    call_expect(&rig, door, "GET /__s//items", NULL, NULL, 400, "the session's name is not one");
    call_expect(&rig, door, "GET /__s/", NULL, NULL, 400, "the session's name is not one");
    char longest[256] = "mirage-session: ";
    memset(longest + strlen(longest), 'x', 128);
    call_expect(&rig, door, "GET /items", longest, NULL, 200, "ok");
    longest[strlen(longest)] = 'x';
    call_expect(&rig, door, "GET /items", longest, NULL, 400, "the session's name is not one");
    assert_int_equal(RIG_LLM->asked, 1);
}

/* ---- dependencies ---- */

static void expect_dependency(const char *line, const char *dependency, const char *path)
{
    struct call *call = call_do(&rig, shared, line, NULL, NULL);
    assert_int_equal(call->exchange->reply.status, 200);
    assert_string_equal(call->exchange->dependency->config->name, dependency);
    if (!mrg_slice_eq_str(call->exchange->shown->path, path))
        fail_msg("%s: path %.*s", line, (int)call->exchange->shown->path.len,
                 call->exchange->shown->path.ptr);
    call_free(call);
}

static void on_a_shared_address_the_longest_prefix_wins(void **state)
{
    (void)state;
    rig_configure(&rig, "model: {name: m}\n"
                        "listen: {http: 127.0.0.1:0}\n"
                        "dependencies:\n"
                        "  - {name: short, prefix: /inv}\n"
                        "  - {name: long, prefix: /inv/stock}\n"
                        "  - {name: other, prefix: /inventory}\n");
    expect_dependency("GET /inv", "short", "/");
    expect_dependency("GET /inv/", "short", "/");
    expect_dependency("GET /inv/items", "short", "/items");
    expect_dependency("GET /inv/stock", "long", "/");
    expect_dependency("GET /inv/stock/1?x=/inventory", "long", "/1");
    expect_dependency("GET /inv/stocks", "short", "/stocks");
    expect_dependency("GET /inventory/1", "other", "/1");
    expect_dependency("GET /inv//x", "short", "//x");
    call_expect(&rig, shared, "GET /inven/1", NULL, NULL, 404,
                "no dependency has this path; the prefixes are /inv, /inv/stock, /inventory");
    call_expect(&rig, shared, "GET /", NULL, NULL, 404, "the prefixes are");
    call_expect(&rig, shared, "OPTIONS *", NULL, NULL, 404, "the prefixes are");
}

static void what_nobody_serves_is_told(void **state)
{
    (void)state;
    call_expect(&rig, control, "GET /items", NULL, NULL, 404, "this is the control address");
    rig_configure(&rig, "model: {name: m}\ndependencies: [{name: other, listen: {http: 127.0.0.1:0}}]\n");
    call_expect(&rig, door, "GET /items", NULL, NULL, 503,
                "dependency inventory is no longer in the configuration");
    call_expect(&rig, shared, "GET /items", NULL, NULL, 404, "the prefixes are none");
    assert_int_equal(RIG_LLM->asked, 0);
}

static void engines_see_what_is_redacted(void **state)
{
    (void)state;
    rig_configure(
        &rig,
        "model: {name: m}\n"
        "dependencies: [{name: inventory, listen: {http: 127.0.0.1:0}, redact: [header.authorization]}]\n");
    struct call *call = call_do(&rig, door, "GET /items", "authorization: secret", NULL);
    assert_true(mrg_slice_eq_str(*mrg_request_header(&call->exchange->request, "authorization"), "secret"));
    assert_non_null(strstr(mrg_request_header(call->exchange->shown, "authorization")->ptr, "[redacted "));
    call_free(call);
    struct mrg_buf log;
    mrg_buf_init(&log, SIZE_MAX);
    mrg_journal_append_json(&log, mrg_gateway_journal(rig.gateway), &(struct mrg_journal_filter){.limit = 1});
    assert_null(strstr(log.data, "secret"));
    mrg_buf_done(&log);
}

/* ---- reloads ---- */

static void exchanges_in_flight_keep_their_dependency(void **state)
{
    (void)state;
    RIG_LLM->answer = rig_pend;
    struct call *call = call_send(&rig, door, "POST /items", NULL, "{}");
    RIG_LLM->answer = rig_noted;
    const struct mrg_dependency *mine = call->exchange->dependency;
    for (int i = 0; i < 3; i++)
        rig_configure(&rig, RIG_TWO);
    /* The first inventory's and the current two dependencies'; the first payment's and the generations between are gone. */
    assert_int_equal(RIG_LLM->created - RIG_LLM->destroyed, 1 + 2);
    assert_string_equal(mine->config->name, "inventory");
    struct call *behind = call_send(&rig, door, "POST /items", NULL, "{}");
    assert_ptr_not_equal(behind->exchange->dependency, mine);
    rig_release(rig_take());
    assert_int_equal(behind->window_len, 1); /* the state stays */
    call_free(call);
    call_free(behind);
    rig_configure(&rig, RIG_TWO);
    assert_int_equal(RIG_LLM->created - RIG_LLM->destroyed, 2);
}

static atomic_bool enough;
static atomic_int handled;

static void *send_until_enough(void *arg)
{
    static const char *const lines[] = {"GET /inventory/items", "POST /payment/charges",
                                        "POST /inventory/items"};
    while (!atomic_load(&enough)) {
        for (size_t i = 0; i < MRG_ARRAY_LEN(lines); i++) {
            struct call *call = call_do(&rig, shared, lines[i], arg, NULL);
            assert_int_equal(call->exchange->reply.status, 200);
            call_free(call);
            atomic_fetch_add(&handled, 1);
        }
    }
    return NULL;
}

static void *resume_until_null(void *arg)
{
    (void)arg;
    for (struct mrg_exchange *exchange; (exchange = rig_take()) != NULL;)
        rig_release(exchange);
    return NULL;
}

static void reloads_under_load_lose_nothing(void **state)
{
    (void)state;
    static char sessions[4][24] = {"mirage-session: a", "mirage-session: b", "mirage-session: a",
                                   "mirage-session: c"};
    pthread_t senders[4], resumer;
    enough = false;
    handled = 0;
    RIG_LLM->answer = rig_pend;
    pthread_create(&resumer, NULL, resume_until_null, NULL);
    for (size_t i = 0; i < 4; i++)
        pthread_create(&senders[i], NULL, send_until_enough, sessions[i]);
    for (int i = 0; i < 100 || handled < 300; i++)
        rig_configure(&rig, RIG_TWO);
    atomic_store(&enough, true);
    for (size_t i = 0; i < 4; i++)
        pthread_join(senders[i], NULL);
    rig_pend(NULL);
    pthread_join(resumer, NULL);
    rig_configure(&rig, RIG_TWO);
    assert_int_equal(RIG_LLM->created - RIG_LLM->destroyed, 2);
    assert_int_equal(mrg_stats_dependency(rig.stats, "inventory")->requests +
                         mrg_stats_dependency(rig.stats, "payment")->requests,
                     handled);
}

/* ---- stopping ---- */

static void a_closed_gateway_refuses_and_drains(void **state)
{
    (void)state;
    RIG_LLM->answer = rig_pend;
    struct call *running = call_send(&rig, door, "POST /items", NULL, "{}");
    RIG_LLM->answer = rig_inline;
    struct call *waiting = call_send(&rig, door, "POST /items", NULL, "{}");
    mrg_gateway_close(rig.gateway);
    call_expect(&rig, door, "POST /items", NULL, "{}", 503, "the server is stopping");
    call_expect(&rig, shared, "POST /nowhere", NULL, "{}", 503, "the server is stopping");
    assert_int_equal(mrg_gateway_drain(rig.gateway, 0), 2);
    assert_int_equal(mrg_gateway_drain(rig.gateway, 5), 2);
    rig_release(rig_take());
    assert_int_equal(call_wait(running)->status, 200);
    assert_int_equal(call_wait(waiting)->status, 200);
    assert_int_equal(mrg_gateway_drain(rig.gateway, 60000), 0);
    call_free(running);
    call_free(waiting);
}

static void *resume_cancelled(void *arg)
{
    for (int i = *(int *)arg; i > 0; i--) {
        struct mrg_exchange *exchange = rig_take();
        mrg_reply_fail(exchange->arena, &exchange->reply, 503, "the work was cancelled");
        mrg_turn_resume(exchange, MRG_ANSWERED);
    }
    return NULL;
}

static pthread_t canceller;
static int to_cancel;

static void cancel_all_held(struct mrg_exchange *exchange)
{
    assert_null(exchange);
    if (to_cancel > 0)
        pthread_create(&canceller, NULL, resume_cancelled, &to_cancel);
    RIG_LLM->cancel = NULL; /* one thread does for all engines */
}

static void cancelling_ends_what_runs_and_what_waits(void **state)
{
    (void)state;
    enum { SESSIONS = 5, DEEP = 4 };
    struct call *calls[SESSIONS][DEEP];
    RIG_LLM->answer = rig_pend;
    RIG_LLM->cancel = cancel_all_held;
    to_cancel = SESSIONS;
    for (int i = 0; i < SESSIONS; i++) {
        char header[40];
        snprintf(header, sizeof(header), "mirage-session: s%d", i);
        for (int k = 0; k < DEEP; k++)
            calls[i][k] = call_send(&rig, door, "POST /items", header, "{}");
    }
    assert_int_equal(mrg_gateway_drain(rig.gateway, 0), SESSIONS * DEEP);
    mrg_gateway_cancel_all(rig.gateway);
    assert_int_equal(mrg_gateway_drain(rig.gateway, 60000), 0);
    pthread_join(canceller, NULL);
    for (int i = 0; i < SESSIONS; i++) {
        for (int k = 0; k < DEEP; k++) {
            assert_int_equal(call_wait(calls[i][k])->status, 503);
            call_free(calls[i][k]);
        }
    }
    assert_int_equal(RIG_LLM->asked, SESSIONS);
    assert_int_equal(RIG_LLM->cancelled_all, 2);
    call_expect(&rig, door, "POST /items", NULL, "{}", 503, "the server is stopping");
}

static void retired_dependencies_are_cancelled_too(void **state)
{
    (void)state;
    RIG_LLM->answer = rig_pend;
    struct call *call = call_send(&rig, door, "POST /items", NULL, "{}");
    rig_configure(&rig, "model: {name: m}\ndependencies: [{name: other, listen: {http: 127.0.0.1:0}}]\n");
    RIG_LLM->cancel = cancel_all_held;
    to_cancel = 1;
    mrg_gateway_cancel_all(rig.gateway);
    assert_int_equal(mrg_gateway_drain(rig.gateway, 60000), 0);
    pthread_join(canceller, NULL);
    assert_int_equal(call_wait(call)->status, 503);
    assert_int_equal(RIG_LLM->cancelled_all, 1 + 1); /* the new one's, and that which still has an exchange */
    call_free(call);
}

static void *submit_many(void *arg)
{
    struct call **calls = arg;
    for (int i = 0; i < 100; i++)
        call_submit(&rig, calls[i]);
    return NULL;
}

/* Each submission is either answered or refused, and none is left behind. */
static void closing_races_with_submissions(void **state)
{
    (void)state;
    static struct call *calls[4][100];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 100; k++)
            calls[i][k] = call_new(door, "POST /items", NULL, "{}");
        pthread_create(&threads[i], NULL, submit_many, calls[i]);
    }
    mrg_gateway_close(rig.gateway);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(mrg_gateway_drain(rig.gateway, 60000), 0);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 100; k++) {
            assert_true(call_delivered(calls[i][k]));
            assert_true(calls[i][k]->exchange->reply.status == 200 ||
                        calls[i][k]->exchange->reply.status == 503);
            call_free(calls[i][k]);
        }
    }
}

/* Whoever ends the last exchange may still be on its way out when the gateway is freed: a client's thread lives longer. */
static void *resume_and_go(void *exchange)
{
    rig_release(exchange);
    return NULL;
}

static void the_last_thread_out_needs_no_gateway(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct rig own = {.stats = rig.stats, .gateway = mrg_gateway_new(rig.stats, NULL)};
        pthread_t thread;
        rig_configure(&own, RIG_TWO);
        RIG_LLM->answer = rig_pend;
        struct call *call = call_send(&own, door, "POST /items", NULL, "{}");
        pthread_create(&thread, NULL, resume_and_go, rig_take());
        if (i % 2 == 0)
            mrg_gateway_close(own.gateway);
        assert_int_equal(mrg_gateway_drain(own.gateway, 60000), 0);
        mrg_gateway_free(own.gateway);
        pthread_join(thread, NULL);
        call_free(call);
    }
}

/* ---- addresses of sessions ---- */

static enum mrg_err open_session(const char *name, struct mrg_error *err)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_session_unref(mrg_sessions_get(rig.gateway->sessions, mrg_slice_of(name)));
    enum mrg_err code = mrg_gateway_open_session(rig.gateway, name, &buf, err);
    mrg_buf_done(&buf);
    return code;
}

static void a_session_opens_an_address_for_each_dependency(void **state)
{
    (void)state;
    struct fake_wire wire;
    struct mrg_error err;
    struct mrg_buf buf;
    fake_wire_init(&wire, &rig);
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_session_unref(mrg_sessions_get(rig.gateway->sessions, MRG_SLICE("a")));
    assert_int_equal(mrg_gateway_open_session(rig.gateway, "a", &buf, &err), MRG_ERR_OK);
    assert_string_equal(buf.data, "[{\"name\":\"inventory\",\"http\":\"http://"
                                  "127.0.0.1:1\"},{\"name\":\"payment\",\"http\":\"http://127.0.0.1:2\"}]");
    mrg_buf_done(&buf);
    assert_int_equal(wire.open[0]->kind, MRG_DOOR_DEPENDENCY);
    assert_string_equal(wire.open[0]->dependency, "inventory");
    expect_session(wire.open[0], "GET /items", NULL, "a", "/items");
    assert_int_equal(open_session("b", &err), MRG_ERR_OK);
    mrg_gateway_close_session(rig.gateway, "a");
    mrg_gateway_close_session(rig.gateway, "nobody");
    assert_int_equal(fake_wire_count(&wire, "a"), 0);
    assert_int_equal(fake_wire_count(&wire, "b"), 2);
    /* A session that is no more loses its own. */
    mrg_gateway_sweep_doors(rig.gateway);
    assert_int_equal(fake_wire_count(&wire, "b"), 2);
    mrg_sessions_drop(rig.gateway->sessions, MRG_SLICE("b"));
    mrg_gateway_sweep_doors(rig.gateway);
    assert_int_equal(wire.open_count, 0);
}

static void a_failure_closes_what_it_opened_and_nothing_else(void **state)
{
    (void)state;
    struct fake_wire wire;
    struct mrg_error err;
    fake_wire_init(&wire, &rig);
    assert_int_equal(open_session("a", &err), MRG_ERR_OK);
    wire.fail_at = 4;
    assert_int_equal(open_session("b", &err), MRG_ERR_CONFLICT);
    assert_string_equal(err.message, "no port is free");
    assert_int_equal(wire.open_count, 2);
    /* The same session again: what it had stays. */
    wire.fail_at = wire.opened + 2;
    assert_int_equal(open_session("a", &err), MRG_ERR_CONFLICT);
    assert_int_equal(fake_wire_count(&wire, "a"), 2);
    assert_int_equal(rig.gateway->session_door_count, 2);
    mrg_gateway_close_session(rig.gateway, "a");
    assert_int_equal(rig.gateway->session_door_count, 0);
}

static void sessions_hold_at_most_64_addresses(void **state)
{
    (void)state;
    struct fake_wire wire;
    struct mrg_error err;
    char name[16];
    fake_wire_init(&wire, &rig);
    for (int i = 0; i < 32; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        assert_int_equal(open_session(name, &err), MRG_ERR_OK);
    }
    assert_int_equal(wire.open_count, MRG_MAX_SESSION_LISTENERS);
    assert_int_equal(open_session("one-more", &err), MRG_ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "sessions hold 64 addresses"));
    /* Being refused costs a session nothing that it had. */
    assert_int_equal(open_session("s0", &err), MRG_ERR_TOO_LARGE);
    assert_int_equal(fake_wire_count(&wire, "s0"), 2);
    mrg_gateway_close_session(rig.gateway, "s0");
    assert_int_equal(open_session("one-more", &err), MRG_ERR_OK);
    for (int i = 1; i < 32; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        mrg_gateway_close_session(rig.gateway, name);
    }
    mrg_gateway_close_session(rig.gateway, "one-more");
    assert_int_equal(wire.open_count, 0);
}

/* At the end the transport stops first, and the gateway lets go of the addresses that are left. */
static void addresses_left_open_at_the_end_do_not_leak(void **state)
{
    (void)state;
    static struct fake_wire wire;
    struct mrg_error err;
    fake_wire_init(&wire, &rig);
    assert_int_equal(open_session("a", &err), MRG_ERR_OK);
    fake_wire_stop(&wire);
}

/* The look for idle sessions sets its timer again; what was running when the timer was cleared must not leave it set. */
static void the_timer_ends_with_the_gateway(void **state)
{
    (void)state;
    struct mrg_stats *stats = mrg_stats_new();
    struct mrg_gateway *gateway = mrg_gateway_new(stats, &no_watch);
    assert_ptr_equal(timer_set, &gateway->expiry);
    timer_set->fn(timer_set);
    assert_ptr_equal(timer_set, &gateway->expiry);
    mrg_gateway_free(gateway);
    assert_null(timer_set);

    gateway = mrg_gateway_new(stats, &no_watch);
    mrg_gateway_close(gateway); /* addresses are not closed while their transport stops */
    assert_null(timer_set);
    mrg_gateway_free(gateway);
    mrg_stats_free(stats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_session_is_named_by_header),
        TEST(a_session_is_named_by_baggage),
        TEST(a_session_is_named_by_path),
        TEST(a_session_is_named_by_its_address),
        TEST(what_is_no_name_is_refused),
        TEST(on_a_shared_address_the_longest_prefix_wins),
        TEST(what_nobody_serves_is_told),
        TEST(engines_see_what_is_redacted),
        TEST(exchanges_in_flight_keep_their_dependency),
        TEST(reloads_under_load_lose_nothing),
        TEST(a_closed_gateway_refuses_and_drains),
        TEST(cancelling_ends_what_runs_and_what_waits),
        TEST(retired_dependencies_are_cancelled_too),
        TEST(closing_races_with_submissions),
        TEST(the_last_thread_out_needs_no_gateway),
        TEST(a_session_opens_an_address_for_each_dependency),
        TEST(a_failure_closes_what_it_opened_and_nothing_else),
        TEST(sessions_hold_at_most_64_addresses),
        TEST(addresses_left_open_at_the_end_do_not_leak),
        TEST(the_timer_ends_with_the_gateway),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
