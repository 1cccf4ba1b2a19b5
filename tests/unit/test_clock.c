// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "util/clock.h"

static void test_monotonic(void **state)
{
    (void)state;
    uint64_t before = mrg_clock_us();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = mrg_clock_us();
        assert_true(now >= before);
        before = now;
    }
    uint64_t ms = mrg_clock_ms();
    assert_true(ms >= before / 1000 && ms - before / 1000 < 1000);
}

static void test_rfc3339_of(void **state)
{
    (void)state;
    char text[MRG_CLOCK_TEXT];
    mrg_clock_rfc3339_of(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    mrg_clock_rfc3339_of(1769850900123u, text);
    assert_string_equal(text, "2026-01-31T09:15:00.123Z");
    mrg_clock_rfc3339_of(1709164800007u, text);
    assert_string_equal(text, "2024-02-29T00:00:00.007Z");
    mrg_clock_rfc3339_of(UINT64_MAX, text);
    assert_true(strlen(text) < MRG_CLOCK_TEXT && text[strlen(text) - 1] == 'Z');
}

static void test_wall(void **state)
{
    (void)state;
    uint64_t before = (uint64_t)time(NULL);
    uint64_t now = mrg_clock_wall_ms();
    assert_true(now / 1000 + 1 >= before && now / 1000 <= (uint64_t)time(NULL));
}

static void test_a_wait_ends_by_the_monotonic_clock(void **state)
{
    (void)state;
    static const uint64_t waits[] = {0, 1, 30};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never;
    mrg_cond_init_monotonic(&never);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        uint64_t began = mrg_clock_ms();
        struct timespec until;
        mrg_clock_deadline(&until, waits[i]);
        while (pthread_cond_timedwait(&never, &lock, &until) != ETIMEDOUT) {
        }
        assert_true(mrg_clock_ms() - began >= waits[i]); /* the wall clock would be decades off */
    }
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&never);
}

static void test_a_deadline_is_a_proper_time(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 3000; ms++) {
        struct timespec until;
        uint64_t before = mrg_clock_us() / 1000;
        mrg_clock_deadline(&until, ms);
        uint64_t after = mrg_clock_us() / 1000;
        assert_true(until.tv_nsec >= 0 && until.tv_nsec < 1000000000L);
        uint64_t at = (uint64_t)until.tv_sec * 1000 + (uint64_t)until.tv_nsec / 1000000;
        assert_true(at >= before + ms && at <= after + ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_monotonic),
        cmocka_unit_test(test_rfc3339_of),
        cmocka_unit_test(test_wall),
        cmocka_unit_test(test_a_wait_ends_by_the_monotonic_clock),
        cmocka_unit_test(test_a_deadline_is_a_proper_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
