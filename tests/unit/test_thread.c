// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <semaphore.h>
#include <signal.h>

#include "util/thread.h"

struct look {
    sem_t leave;
    sigset_t mask; /* of the thread */
};

static void *look_around(void *ctx)
{
    struct look *look = ctx;
    pthread_sigmask(SIG_SETMASK, NULL, &look->mask);
    sem_wait(&look->leave);
    return ctx;
}

static void test_no_signals_and_a_name(void **state)
{
    (void)state;
    struct look look;
    pthread_t thread;
    sigset_t mine;
    char name[16];
    void *result;
    sem_init(&look.leave, 0, 0);
    assert_int_equal(mrg_thread_start(&thread, "mirage-fifteen!", look_around, &look), 0);
    assert_int_equal(pthread_getname_np(thread, name, sizeof(name)), 0);
    assert_string_equal(name, "mirage-fifteen!");
    sem_post(&look.leave);
    pthread_join(thread, &result);
    assert_ptr_equal(result, &look);
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1, SIGCHLD};
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        assert_int_equal(sigismember(&look.mask, signals[i]), 1);
        assert_int_equal(sigismember(&mine, signals[i]), 0); /* the starter's are as they were */
    }
    sem_destroy(&look.leave);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_signals_and_a_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
