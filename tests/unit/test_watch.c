// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/watch.h"
#include "util/clock.h"

#define PATIENCE_S 20 /* only a failing test waits so long */

static struct mrg_watch *watch;

static int set_up(void **state)
{
    (void)state;
    struct mrg_error err;
    return mrg_watch_new(&watch, &err) == MRG_ERR_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mrg_watch_free(watch);
    watch = NULL;
    return 0;
}

static void wait_for(sem_t *sem)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    assert_int_equal(sem_timedwait(sem, &until), 0);
}

/* ---- timers ---- */

struct probe {
    struct mrg_timer timer;
    sem_t *fired;
    uint64_t at_ms;  /* when it ran */
    unsigned order;  /* 1 for the first that ran */
    unsigned repeat; /* how often it sets itself again */
    unsigned runs;
    struct probe *clears; /* cleared by its function */
    bool cleared;         /* what that said */
};

static atomic_uint sequence;

static void on_probe(struct mrg_timer *timer)
{
    struct probe *probe = MRG_CONTAINER_OF(timer, struct probe, timer);
    probe->at_ms = mrg_clock_ms();
    probe->order = atomic_fetch_add(&sequence, 1) + 1;
    probe->runs++;
    if (probe->clears)
        probe->cleared = mrg_watch_timer_clear(watch, &probe->clears->timer);
    if (probe->repeat > 0) {
        probe->repeat--;
        mrg_watch_timer_set(watch, timer, mrg_clock_ms() + 1);
        return;
    }
    sem_post(probe->fired);
}

static void test_timer_runs_when_due_and_not_before(void **state)
{
    (void)state;
    sem_t fired;
    sem_init(&fired, 0, 0);
    struct probe probe = {.timer.fn = on_probe, .fired = &fired};
    uint64_t due = mrg_clock_ms() + 30;
    mrg_watch_timer_set(watch, &probe.timer, due);
    wait_for(&fired);
    assert_true(probe.at_ms >= due);
    assert_false(mrg_watch_timer_clear(watch, &probe.timer));
    mrg_watch_timer_set(watch, &probe.timer, 0); /* long past */
    wait_for(&fired);
    assert_int_equal(probe.runs, 2);
    sem_destroy(&fired);
}

static void test_timers_run_in_order_of_their_due_times(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    sem_t fired;
    sem_init(&fired, 0, 0);
    atomic_store(&sequence, 0);
    struct probe probes[COUNT];
    memset(probes, 0, sizeof(probes));
    uint64_t base = mrg_clock_ms() + 60;
    for (unsigned i = 0; i < COUNT; i++) {
        probes[i] = (struct probe){.timer.fn = on_probe, .fired = &fired};
        mrg_watch_timer_set(watch, &probes[i].timer, base + (i * 37) % COUNT / 4);
    }
    for (unsigned i = 0; i < COUNT; i++) /* every third goes, every fifth moves to the end */
        if (i % 3 == 0)
            assert_true(mrg_watch_timer_clear(watch, &probes[i].timer));
        else if (i % 5 == 0)
            mrg_watch_timer_set(watch, &probes[i].timer, base + COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        if (i % 3 != 0)
            wait_for(&fired);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(probes[i].runs, i % 3 != 0);
        for (unsigned j = 0; j < COUNT; j++)
            if (probes[i].runs && probes[j].runs && probes[i].timer.due_ms < probes[j].timer.due_ms)
                assert_true(probes[i].order < probes[j].order);
    }
    sem_destroy(&fired);
}

static void test_a_timer_may_set_itself_and_clear_others(void **state)
{
    (void)state;
    sem_t fired;
    sem_init(&fired, 0, 0);
    struct probe other = {.timer.fn = on_probe, .fired = &fired};
    struct probe probe = {.timer.fn = on_probe, .fired = &fired, .repeat = 5, .clears = &other};
    mrg_watch_timer_set(watch, &other.timer, mrg_clock_ms() + 3600000);
    mrg_watch_timer_set(watch, &probe.timer, mrg_clock_ms());
    wait_for(&fired);
    assert_int_equal(probe.runs, 6);
    assert_int_equal(other.runs, 0);
    assert_int_equal(other.timer.index, 0);
    sem_destroy(&fired);
}

struct freed {
    struct mrg_timer timer;
    sem_t *fired;
};

static void on_freed(struct mrg_timer *timer)
{
    struct freed *freed = MRG_CONTAINER_OF(timer, struct freed, timer);
    sem_t *fired = freed->fired;
    free(freed);
    sem_post(fired);
}

static void test_a_timer_may_free_its_owner(void **state)
{
    (void)state;
    sem_t fired;
    sem_init(&fired, 0, 0);
    struct freed *freed = mrg_zalloc(sizeof(*freed));
    freed->timer.fn = on_freed;
    freed->fired = &fired;
    mrg_watch_timer_set(watch, &freed->timer, mrg_clock_ms() + 1);
    wait_for(&fired);
    sem_destroy(&fired);
}

struct slow {
    struct mrg_timer timer;
    sem_t entered, leave;
    atomic_bool done;
};

static void on_slow(struct mrg_timer *timer)
{
    struct slow *slow = MRG_CONTAINER_OF(timer, struct slow, timer);
    sem_post(&slow->entered);
    sem_wait(&slow->leave);
    atomic_store(&slow->done, true);
}

static void *let_go(void *data)
{
    sem_post(&((struct slow *)data)->leave);
    return NULL;
}

static void test_clear_waits_for_a_function_that_is_running(void **state)
{
    (void)state;
    struct slow *slow = mrg_zalloc(sizeof(*slow));
    slow->timer.fn = on_slow;
    sem_init(&slow->entered, 0, 0);
    sem_init(&slow->leave, 0, 0);
    mrg_watch_timer_set(watch, &slow->timer, 0);
    wait_for(&slow->entered);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, let_go, slow), 0);
    assert_false(mrg_watch_timer_clear(watch, &slow->timer));
    assert_true(atomic_load(&slow->done));
    pthread_join(other, NULL);
    sem_destroy(&slow->entered);
    sem_destroy(&slow->leave);
    free(slow); /* a use after this is what AddressSanitizer looks for */
}

/* Sets itself again in each run, as late as possible and at once. */
struct restless {
    struct mrg_timer timer;
    sem_t entered;
    atomic_uint runs;
};

static void on_restless(struct mrg_timer *timer)
{
    struct restless *restless = MRG_CONTAINER_OF(timer, struct restless, timer);
    if (atomic_fetch_add(&restless->runs, 1) == 0)
        sem_post(&restless->entered);
    sched_yield();
    mrg_watch_timer_set(watch, timer, mrg_clock_ms());
}

static void test_a_timer_that_sets_itself_again_at_once_is_cleared(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        struct restless *restless = mrg_zalloc(sizeof(*restless));
        restless->timer.fn = on_restless;
        sem_init(&restless->entered, 0, 0);
        mrg_watch_timer_set(watch, &restless->timer, 0);
        wait_for(&restless->entered);
        assert_true(mrg_watch_timer_clear(watch, &restless->timer)); /* a run was due always */
        assert_int_equal(restless->timer.index, 0);
        unsigned runs = atomic_load(&restless->runs);
        assert_false(mrg_watch_timer_clear(watch, &restless->timer));
        assert_int_equal(atomic_load(&restless->runs), runs);
        sem_destroy(&restless->entered);
        free(restless); /* a run after this is what AddressSanitizer looks for */
    }
}

/* ---- callers that hang up ---- */

struct caller {
    struct mrg_hangup hangup;
    sem_t *left;
    int sockets[2]; /* ours, theirs */
    atomic_uint calls;
};

static void on_left(struct mrg_hangup *hangup)
{
    struct caller *caller = MRG_CONTAINER_OF(hangup, struct caller, hangup);
    atomic_fetch_add(&caller->calls, 1);
    sem_post(caller->left);
}

static void caller_init(struct caller *caller, sem_t *left)
{
    memset(caller, 0, sizeof(*caller));
    caller->hangup.fn = on_left;
    caller->left = left;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, caller->sockets), 0);
}

static void test_hangup_is_reported_once(void **state)
{
    (void)state;
    sem_t left;
    sem_init(&left, 0, 0);
    struct caller caller;
    caller_init(&caller, &left);
    mrg_watch_hangup_set(watch, &caller.hangup, caller.sockets[0]);
    assert_int_equal(write(caller.sockets[1], "x", 1), 1); /* data is no hang-up */
    close(caller.sockets[1]);
    wait_for(&left);
    assert_false(mrg_watch_hangup_clear(watch, &caller.hangup));
    assert_int_equal(atomic_load(&caller.calls), 1);
    close(caller.sockets[0]);
    sem_destroy(&left);
}

static void test_hangup_before_the_watch_and_half_closed(void **state)
{
    (void)state;
    sem_t left;
    sem_init(&left, 0, 0);
    struct caller caller;
    caller_init(&caller, &left);
    shutdown(caller.sockets[1], SHUT_WR);
    mrg_watch_hangup_set(watch, &caller.hangup, caller.sockets[0]);
    wait_for(&left);
    close(caller.sockets[0]);
    close(caller.sockets[1]);
    sem_destroy(&left);
}

static void test_a_cleared_hangup_stays_silent_and_its_place_is_used_again(void **state)
{
    (void)state;
    sem_t left;
    sem_init(&left, 0, 0);
    struct caller first, second;
    caller_init(&first, &left);
    caller_init(&second, &left);
    mrg_watch_hangup_set(watch, &first.hangup, first.sockets[0]);
    assert_true(mrg_watch_hangup_clear(watch, &first.hangup));
    close(first.sockets[1]);
    mrg_watch_hangup_set(watch, &second.hangup, second.sockets[0]);
    close(second.sockets[1]);
    wait_for(&left);
    assert_int_equal(atomic_load(&first.calls), 0);
    assert_int_equal(atomic_load(&second.calls), 1);
    assert_false(mrg_watch_hangup_clear(watch, &first.hangup));
    close(first.sockets[0]);
    close(second.sockets[0]);
    sem_destroy(&left);
}

static void test_a_descriptor_that_cannot_be_watched_is_let_be(void **state)
{
    (void)state;
    sem_t left;
    sem_init(&left, 0, 0);
    struct caller caller;
    caller_init(&caller, &left);
    mrg_watch_hangup_set(watch, &caller.hangup, 1 << 20); /* not open */
    assert_false(mrg_watch_hangup_clear(watch, &caller.hangup));
    mrg_watch_hangup_set(watch, &caller.hangup, caller.sockets[0]);
    assert_true(mrg_watch_hangup_clear(watch, &caller.hangup));
    close(caller.sockets[0]);
    close(caller.sockets[1]);
    sem_destroy(&left);
}

struct returning {
    struct mrg_hangup hangup;
    sem_t entered;
    int fd;
    atomic_uint runs;
};

static void on_returning(struct mrg_hangup *hangup)
{
    struct returning *returning = MRG_CONTAINER_OF(hangup, struct returning, hangup);
    if (atomic_fetch_add(&returning->runs, 1) == 0)
        sem_post(&returning->entered);
    sched_yield();
    mrg_watch_hangup_set(watch, hangup, returning->fd);
}

static void test_a_hangup_that_is_set_again_at_once_is_cleared(void **state)
{
    (void)state;
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    close(sockets[1]);
    for (unsigned i = 0; i < 300; i++) {
        struct returning *returning = mrg_zalloc(sizeof(*returning));
        returning->hangup.fn = on_returning;
        returning->fd = sockets[0];
        sem_init(&returning->entered, 0, 0);
        mrg_watch_hangup_set(watch, &returning->hangup, sockets[0]);
        wait_for(&returning->entered);
        assert_true(mrg_watch_hangup_clear(watch, &returning->hangup));
        assert_int_equal(returning->hangup.slot, 0);
        sem_destroy(&returning->entered);
        free(returning);
    }
    close(sockets[0]);
}

/* ---- many threads: owners on their own stacks, freed right after the clear ---- */

enum { THREADS = 4, ROUNDS = 500 };

static atomic_uint happened;

static void on_race_timer(struct mrg_timer *timer)
{
    struct probe *probe = MRG_CONTAINER_OF(timer, struct probe, timer);
    probe->runs++;
    atomic_fetch_add(&happened, 1);
}

static void *race(void *data)
{
    unsigned seed = (unsigned)(uintptr_t)data;
    sem_t left;
    sem_init(&left, 0, 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct probe *probe = mrg_zalloc(sizeof(*probe));
        struct caller *caller = mrg_zalloc(sizeof(*caller));
        caller_init(caller, &left);
        probe->timer.fn = on_race_timer;
        mrg_watch_timer_set(watch, &probe->timer, mrg_clock_ms() + rand_r(&seed) % 2);
        mrg_watch_hangup_set(watch, &caller->hangup, caller->sockets[0]);
        close(caller->sockets[1]);
        bool late = mrg_watch_hangup_clear(watch, &caller->hangup);
        assert_int_equal(atomic_load(&caller->calls), late ? 0 : 1);
        close(caller->sockets[0]);
        bool was_set = mrg_watch_timer_clear(watch, &probe->timer);
        assert_int_equal(probe->runs, was_set ? 0 : 1);
        free(caller);
        free(probe);
    }
    sem_destroy(&left);
    return NULL;
}

static void test_owners_are_freed_right_after_clear(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    atomic_store(&happened, 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race, (void *)(i + 1)), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void test_free_without_anything_set(void **state)
{
    (void)state;
    struct mrg_watch *idle;
    assert_int_equal(mrg_watch_new(&idle, NULL), MRG_ERR_OK);
    mrg_watch_free(idle);
    mrg_watch_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_timer_runs_when_due_and_not_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_timers_run_in_order_of_their_due_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_timer_may_set_itself_and_clear_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_timer_may_free_its_owner, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clear_waits_for_a_function_that_is_running, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_timer_that_sets_itself_again_at_once_is_cleared, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_hangup_that_is_set_again_at_once_is_cleared, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_hangup_is_reported_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hangup_before_the_watch_and_half_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_cleared_hangup_stays_silent_and_its_place_is_used_again,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_descriptor_that_cannot_be_watched_is_let_be, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_owners_are_freed_right_after_clear, set_up, tear_down),
        cmocka_unit_test(test_free_without_anything_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
