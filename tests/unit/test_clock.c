// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <time.h>

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

static void test_rfc3339(void **state)
{
    (void)state;
    char text[MRG_CLOCK_TEXT];
    struct tm parts = {0};
    int ms = -1;
    char zone = 0;
    time_t before = time(NULL);
    mrg_clock_rfc3339(text);
    assert_int_equal(strlen(text), 24);
    int got = sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3d%c", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                     &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &ms, &zone);
    assert_int_equal(got, 8);
    assert_int_equal(zone, 'Z');
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    time_t said = timegm(&parts);
    assert_true(said >= before - 1 && said <= time(NULL));
    assert_true(ms >= 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_monotonic),
        cmocka_unit_test(test_rfc3339),
        cmocka_unit_test(test_rfc3339_of),
        cmocka_unit_test(test_wall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
