// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/session.h"
#include "util/json.h"
#include "util/text.h"

static struct mrg_text *text_of(const char *text)
{
    return mrg_text_new(text, strlen(text));
}

/* ---- names ---- */

static bool name_ok(const char *name)
{
    return mrg_session_name_ok(mrg_slice_of(name));
}

static void names(void **state)
{
    (void)state;
    assert_true(name_ok("a"));
    assert_true(name_ok("azAZ09-_.:@+~"));
    static const char bad[] = " /\\\"'%?#&=,;<>(){}[]|!$*^`\t\n\r\x7f\x80\xc3";
    for (size_t i = 0; i < sizeof(bad); i++) { /* the NUL too */
        char name[3] = {'a', bad[i], 'b'};
        assert_false(mrg_session_name_ok((struct mrg_slice){name, 3}));
        assert_false(mrg_session_name_ok((struct mrg_slice){name + 1, 1}));
    }
    assert_false(name_ok(""));
    assert_false(mrg_session_name_ok((struct mrg_slice){NULL, 0}));
    char longest[MRG_MAX_SESSION_NAME + 1];
    memset(longest, 'x', sizeof(longest));
    assert_true(mrg_session_name_ok((struct mrg_slice){longest, MRG_MAX_SESSION_NAME}));
    assert_false(mrg_session_name_ok((struct mrg_slice){longest, MRG_MAX_SESSION_NAME + 1}));
}

/* ---- the registry ---- */

static void a_session_is_made_once(void **state)
{
    (void)state;
    struct mrg_sessions *sessions = mrg_sessions_new();
    assert_null(mrg_sessions_find(sessions, MRG_SLICE("a")));
    struct mrg_session *a = mrg_sessions_get(sessions, MRG_SLICE("a"));
    struct mrg_session *again = mrg_sessions_get(sessions, MRG_SLICE("a"));
    struct mrg_session *found = mrg_sessions_find(sessions, MRG_SLICE("a"));
    struct mrg_session *other = mrg_sessions_get(sessions, MRG_SLICE("aa"));
    assert_ptr_equal(again, a);
    assert_ptr_equal(found, a);
    assert_ptr_not_equal(other, a);
    assert_string_equal(mrg_session_name(a)->data, "a");
    mrg_session_unref(again);
    mrg_session_unref(found);
    mrg_session_unref(other);
    /* One that is dropped lives as long as somebody holds it. */
    assert_true(mrg_sessions_drop(sessions, MRG_SLICE("a")));
    assert_false(mrg_sessions_drop(sessions, MRG_SLICE("a")));
    assert_string_equal(mrg_session_name(a)->data, "a");
    struct mrg_session *fresh = mrg_sessions_get(sessions, MRG_SLICE("a"));
    assert_ptr_not_equal(fresh, a);
    mrg_session_unref(fresh);
    mrg_session_unref(a);
    mrg_session_unref(NULL);
    mrg_sessions_free(sessions);
    mrg_sessions_free(NULL);
}

static void idle_ones_go_but_never_default(void **state)
{
    (void)state;
    struct mrg_sessions *sessions = mrg_sessions_new();
    static const char *const all[] = {"default", "a", "b", "defaults"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(all); i++)
        mrg_session_unref(mrg_sessions_get(sessions, mrg_slice_of(all[i])));
    assert_int_equal(mrg_sessions_expire(sessions, 3600000), 0);
    assert_int_equal(mrg_sessions_expire(sessions, 0), 3);
    assert_int_equal(mrg_sessions_expire(sessions, 0), 0);
    struct mrg_session *session = mrg_sessions_find(sessions, MRG_SLICE("default"));
    assert_non_null(session);
    mrg_session_unref(session);
    assert_null(mrg_sessions_find(sessions, MRG_SLICE("a")));
    mrg_sessions_free(sessions);
}

static void too_many_push_the_oldest_out(void **state)
{
    (void)state;
    struct mrg_sessions *sessions = mrg_sessions_new();
    mrg_session_unref(mrg_sessions_get(sessions, MRG_SLICE("default")));
    for (unsigned i = 0; i < MRG_MAX_SESSIONS + 2; i++) {
        char name[16];
        snprintf(name, sizeof(name), "s%u", i);
        mrg_session_unref(mrg_sessions_get(sessions, mrg_slice_of(name)));
    }
    assert_int_equal(mrg_sessions_expire(sessions, 0), MRG_MAX_SESSIONS - 1);
    struct mrg_session *session = mrg_sessions_find(sessions, MRG_SLICE("default"));
    assert_non_null(session);
    mrg_session_unref(session);
    mrg_sessions_free(sessions);
}

/* ---- states ---- */

static void one_state_for_each_dependency(void **state)
{
    (void)state;
    struct mrg_sessions *sessions = mrg_sessions_new();
    struct mrg_session *a = mrg_sessions_get(sessions, MRG_SLICE("a"));
    struct mrg_session *b = mrg_sessions_get(sessions, MRG_SLICE("b"));
    struct mrg_text *inventory = text_of("inventory"), *same = text_of("inventory"),
                    *payment = text_of("payment");
    struct mrg_state *one = mrg_session_state(a, inventory), *again = mrg_session_state(a, same);
    struct mrg_state *other = mrg_session_state(a, payment), *elsewhere = mrg_session_state(b, inventory);
    assert_ptr_equal(again, one);
    assert_ptr_not_equal(other, one);
    assert_ptr_not_equal(elsewhere, one);
    assert_string_equal(one->dependency->data, "inventory");
    assert_string_equal(one->session->data, "a");
    assert_null(one->scenario);
    assert_int_equal(one->place, mrg_place_start("inventory", NULL));
    /* The states outlive their session. */
    mrg_session_unref(a);
    mrg_session_unref(b);
    mrg_sessions_free(sessions);
    assert_string_equal(one->session->data, "a");
    mrg_state_unref(one);
    mrg_state_unref(again);
    mrg_state_unref(other);
    mrg_state_unref(elsewhere);
    mrg_text_unref(inventory);
    mrg_text_unref(same);
    mrg_text_unref(payment);
}

/* Takes the session's state of that dependency; asserts whether it is the one before and which scenario it has. */
static void expect_state(struct mrg_session *session, const char *dependency, struct mrg_state **before,
                         bool same, const char *scenario)
{
    struct mrg_text *name = text_of(dependency);
    struct mrg_state *now = mrg_session_state(session, name);
    if (*before)
        assert_int_equal(now == *before, same);
    if (scenario)
        assert_string_equal(now->scenario->data, scenario);
    else
        assert_null(now->scenario);
    assert_int_equal(now->place, mrg_place_start(dependency, scenario));
    mrg_state_unref(*before);
    *before = now;
    mrg_text_unref(name);
}

static void resets(void **state)
{
    (void)state;
    struct mrg_sessions *sessions = mrg_sessions_new();
    struct mrg_session *session = mrg_sessions_get(sessions, MRG_SLICE("a"));
    struct mrg_text *x = text_of("{\"instruction\":\"x\"}"), *y = text_of("{\"instruction\":\"y\"}");
    struct mrg_state *inventory = NULL, *payment = NULL, *shipping = NULL, *billing = NULL;
    expect_state(session, "inventory", &inventory, false, NULL);
    expect_state(session, "payment", &payment, false, NULL);

    mrg_session_reset(session, "inventory", x);
    expect_state(session, "inventory", &inventory, false, x->data);
    expect_state(session, "payment", &payment, true, NULL);
    /* A state that is still to be made has the context of the last reset of all. */
    mrg_session_reset(session, NULL, y);
    expect_state(session, "inventory", &inventory, false, y->data);
    expect_state(session, "payment", &payment, false, y->data);
    expect_state(session, "shipping", &shipping, false, y->data);
    mrg_session_reset(session, "inventory", NULL);
    expect_state(session, "inventory", &inventory, false, NULL);
    expect_state(session, "payment", &payment, true, y->data);
    mrg_session_reset(session, NULL, NULL);
    expect_state(session, "inventory", &inventory, false, NULL);
    expect_state(session, "billing", &billing, false, NULL);

    mrg_state_unref(inventory);
    mrg_state_unref(payment);
    mrg_state_unref(shipping);
    mrg_state_unref(billing);
    mrg_text_unref(x);
    mrg_text_unref(y);
    mrg_session_unref(session);
    mrg_sessions_free(sessions);
}

/* ---- commits ---- */

static struct mrg_state *fresh_state(void)
{
    struct mrg_text *dependency = text_of("inventory"), *session = text_of("s");
    struct mrg_state *state = mrg_state_new(dependency, session, NULL);
    mrg_text_unref(dependency);
    mrg_text_unref(session);
    return state;
}

static void commit(struct mrg_state *state, uint64_t key, int status, bool changes, unsigned window,
                   unsigned step)
{
    struct mrg_record *record = mrg_record_new();
    record->status = status;
    record->seq = state->exchanges + 1;
    mrg_state_commit(state, record, (struct mrg_hash128){.low = key}, changes, window, step);
    mrg_record_unref(record);
}

static unsigned nth(struct mrg_state *state, uint64_t key)
{
    return mrg_state_nth(state, (struct mrg_hash128){.low = key});
}

static void nth_counts_equal_requests_at_a_place(void **state)
{
    (void)state;
    struct mrg_state *s = fresh_state();
    assert_int_equal(nth(s, 1), 1);
    assert_int_equal(nth(s, 1), 1); /* asking does not count */
    commit(s, 1, 200, false, 20, 10);
    commit(s, 1, 200, false, 20, 10);
    commit(s, 2, 200, false, 20, 10);
    assert_int_equal(nth(s, 1), 3);
    assert_int_equal(nth(s, 2), 2);
    assert_int_equal(mrg_state_nth(s, (struct mrg_hash128){.low = 1, .high = 1}), 1);
    commit(s, 1, 200, true, 20, 10);
    assert_int_equal(nth(s, 1), 1);
    assert_int_equal(nth(s, 2), 1);
    assert_int_equal(s->exchanges, 4);
    assert_int_equal(s->exchanges_seen, 4);
    mrg_state_unref(s);
}

static void the_place_moves_by_request_and_status(void **state)
{
    (void)state;
    struct mrg_state *s = fresh_state();
    mrg_place start = s->place;
    commit(s, 1, 200, false, 20, 10);
    assert_int_equal(s->place, start);
    commit(s, 1, 201, true, 20, 10);
    mrg_place there = mrg_place_after(start, (struct mrg_hash128){.low = 1}, 201);
    assert_int_equal(s->place, there);
    assert_int_equal(s->place_seen, there);
    assert_int_not_equal(there, mrg_place_after(start, (struct mrg_hash128){.low = 1}, 409));
    assert_int_not_equal(there, mrg_place_after(start, (struct mrg_hash128){.low = 2}, 201));
    mrg_state_unref(s);
}

/* The window holds the newest window_len exchanges, oldest first. */
static void check_window(const struct mrg_state *s, size_t len)
{
    assert_int_equal(s->window_len, len);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(s->window[i]->seq, s->exchanges - len + i + 1);
}

static void windows_slide(void **state)
{
    (void)state;
    static const struct {
        unsigned window, step;
    } sizes[] = {{20, 10}, {20, 1}, {1, 1}, {1, 10}, {MRG_MAX_WINDOW, MRG_WINDOW_STEP}, {MRG_MAX_WINDOW, 1}};
    for (size_t k = 0; k < MRG_ARRAY_LEN(sizes); k++) {
        unsigned window = sizes[k].window, step = sizes[k].step;
        struct mrg_state *s = fresh_state();
        for (size_t i = 1; i < 500; i++) {
            commit(s, i, 200, i % 3 == 0, window, step);
            check_window(s, i < window + step ? i : window + (i - window) % step);
        }
        mrg_state_unref(s);
    }
}

static void a_window_may_shrink_and_grow(void **state)
{
    (void)state;
    struct mrg_state *s = fresh_state();
    for (size_t i = 0; i < 209; i++)
        commit(s, i, 200, false, MRG_MAX_WINDOW, MRG_WINDOW_STEP);
    check_window(s, 209);
    commit(s, 1, 200, false, 20, 10);
    check_window(s, 20);
    commit(s, 1, 200, false, 3, 1);
    check_window(s, 3);
    commit(s, 1, 200, false, 20, 10);
    check_window(s, 4);
    mrg_state_unref(s);
}

/* ---- what control verbs show ---- */

static void shown_as_json(void **state)
{
    (void)state;
    struct mrg_sessions *sessions = mrg_sessions_new();
    struct mrg_session *session = mrg_sessions_get(sessions, MRG_SLICE("a"));
    struct mrg_text *scenario = text_of("{\"instruction\":\"x\"}");
    struct mrg_state *inventory = NULL, *payment = NULL;
    struct mrg_buf buf;
    mrg_session_reset(session, "payment", scenario);
    expect_state(session, "payment", &payment, false, scenario->data);
    expect_state(session, "inventory", &inventory, false, NULL);
    commit(inventory, 1, 200, true, 20, 10);
    commit(payment, 1, 200, false, 20, 10);
    commit(payment, 1, 200, false, 20, 10);
    char *wanted =
        mrg_asprintf("\"states\":[{\"dependency\":\"inventory\",\"exchanges\":1,\"place\":\"%016llx\"},"
                     "{\"dependency\":\"payment\",\"exchanges\":2,\"place\":\"%016llx\",\"scenario\":{"
                     "\"instruction\":\"x\"}}]}",
                     (unsigned long long)inventory->place, (unsigned long long)payment->place);
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_session_append_json(&buf, session);
    assert_int_equal(mrg_json_check(mrg_buf_slice(&buf), NULL), MRG_ERR_OK);
    assert_non_null(strstr(buf.data, "{\"name\":\"a\",\"idle_ms\":"));
    assert_non_null(strstr(buf.data, wanted));
    mrg_buf_clear(&buf);
    mrg_session_unref(mrg_sessions_get(sessions, MRG_SLICE("b")));
    mrg_sessions_append_json(&buf, sessions);
    assert_int_equal(mrg_json_check(mrg_buf_slice(&buf), NULL), MRG_ERR_OK);
    assert_non_null(strstr(buf.data, "{\"sessions\":[{\"name\":\"a\",\"idle_ms\":"));
    assert_non_null(strstr(buf.data, ",\"exchanges\":3},{\"name\":\"b\",\"idle_ms\":"));
    assert_non_null(strstr(buf.data, ",\"exchanges\":0}]}"));
    mrg_buf_done(&buf);
    free(wanted);
    mrg_state_unref(inventory);
    mrg_state_unref(payment);
    mrg_text_unref(scenario);
    mrg_session_unref(session);
    mrg_sessions_free(sessions);
}

/* ---- many threads ---- */

static atomic_bool enough;

static void *use_sessions(void *arg)
{
    static const char *const all[] = {"default", "a", "b", "c"};
    struct mrg_text *dependency = text_of("inventory");
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    for (int i = 0; i < 500; i++) {
        struct mrg_session *session = mrg_sessions_get(arg, mrg_slice_of(all[i % 4]));
        struct mrg_state *s = mrg_session_state(session, dependency);
        assert_string_equal(s->session->data, mrg_session_name(session)->data);
        if (i % 7 == 0)
            mrg_session_reset(session, i % 14 ? "inventory" : NULL, NULL);
        mrg_buf_clear(&buf);
        mrg_session_append_json(&buf, session);
        mrg_state_unref(s);
        mrg_session_unref(session);
    }
    mrg_buf_done(&buf);
    mrg_text_unref(dependency);
    return NULL;
}

static void *drop_sessions(void *arg)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    while (!enough) {
        mrg_sessions_drop(arg, MRG_SLICE("a"));
        mrg_sessions_expire(arg, 1);
        mrg_buf_clear(&buf);
        mrg_sessions_append_json(&buf, arg);
        /* None was idle for longer than this test, as one whose clock is read at the wrong time would seem to be. */
        for (const char *p = buf.data; (p = strstr(p, "\"idle_ms\":")) != NULL; p++)
            assert_true(strtoull(p + strlen("\"idle_ms\":"), NULL, 10) < 600000);
    }
    mrg_buf_done(&buf);
    return NULL;
}

static void many_threads_share_sessions(void **state)
{
    (void)state;
    struct mrg_sessions *sessions = mrg_sessions_new();
    pthread_t users[3], dropper;
    enough = false;
    for (int i = 0; i < 3; i++)
        pthread_create(&users[i], NULL, use_sessions, sessions);
    pthread_create(&dropper, NULL, drop_sessions, sessions);
    for (int i = 0; i < 3; i++)
        pthread_join(users[i], NULL);
    enough = true;
    pthread_join(dropper, NULL);
    mrg_sessions_free(sessions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(a_session_is_made_once),
        cmocka_unit_test(idle_ones_go_but_never_default),
        cmocka_unit_test(too_many_push_the_oldest_out),
        cmocka_unit_test(one_state_for_each_dependency),
        cmocka_unit_test(resets),
        cmocka_unit_test(nth_counts_equal_requests_at_a_place),
        cmocka_unit_test(the_place_moves_by_request_and_status),
        cmocka_unit_test(windows_slide),
        cmocka_unit_test(a_window_may_shrink_and_grow),
        cmocka_unit_test(shown_as_json),
        cmocka_unit_test(many_threads_share_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
