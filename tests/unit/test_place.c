// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/place.h"

static void test_start(void **state)
{
    (void)state;
    mrg_place plain = mrg_place_start("inventory", NULL);
    assert_true(plain == mrg_place_start("inventory", ""));
    assert_true(plain == mrg_place_start("inventory", NULL));
    assert_true(plain != mrg_place_start("payment", NULL));
    assert_true(plain != mrg_place_start("inventory", "{\"name\":\"x\"}"));
    assert_true(mrg_place_start("inventory", "{\"name\":\"x\"}") !=
                mrg_place_start("inventory", "{\"name\":\"y\"}"));
    assert_true(mrg_place_start("ab", "c") != mrg_place_start("a", "bc"));
}

static void test_after(void **state)
{
    (void)state;
    mrg_place start = mrg_place_start("inventory", NULL);
    struct mrg_hash128 one = {1, 2}, other = {2, 1};
    mrg_place after = mrg_place_after(start, one, 201);
    assert_true(after == mrg_place_after(start, one, 201));
    assert_true(after != start);
    assert_true(after != mrg_place_after(start, other, 201));
    assert_true(after != mrg_place_after(start, one, 409));
    assert_true(mrg_place_after(after, other, 200) !=
                mrg_place_after(mrg_place_after(start, other, 200), one, 201));
    assert_true(mrg_place_after(after, one, 201) != after);
}

/* Places stand in files: another value here orphans every cassette that was ever recorded. */
static void test_values_are_frozen(void **state)
{
    char text[MRG_PLACE_TEXT + 1];
    (void)state;
    mrg_place_text(mrg_place_start("inventory", NULL), text);
    assert_string_equal(text, "f494ba3f48ea5db6");
    mrg_place_text(mrg_place_start("inventory", "{\"name\":\"happy\"}"), text);
    assert_string_equal(text, "f5c285a498aab924");
    mrg_place_text(mrg_place_after(0x0123456789abcdefu, (struct mrg_hash128){3, 4}, 201), text);
    assert_string_equal(text, "cd43ae67bcb523de");
    mrg_place_text(0xa, text);
    assert_string_equal(text, "000000000000000a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_after),
        cmocka_unit_test(test_values_are_frozen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
