// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/utf8.h"

static bool valid(const char *text)
{
    return mrg_utf8_valid(mrg_slice_of(text));
}

static void test_valid(void **state)
{
    (void)state;
    assert_true(valid(""));
    assert_true(valid("plain ascii that is longer than eight bytes"));
    assert_true(
        valid("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF \xED\x9F\xBF \xEE\x80\x80"));
    assert_true(mrg_utf8_valid((struct mrg_slice){"a\0b", 3}));
}

static void test_invalid(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "\x80",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC3",
        "\xC3(",
        "\xE0\x80\x80",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xE2\x82",
        "\xE2(\xA1",
        "\xF0\x80\x80\x80",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xF0\x9F\x98",
        "\xF0\x9F(\x80",
        "\xFF",
        "\xFE",
        "12345678\xFF",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++)
        assert_false(valid(wrong[i]));
}

static void test_every_code_point(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        char bytes[MRG_UTF8_MAX];
        if (c == 0xD800)
            c = 0xE000;
        size_t len = mrg_utf8_encode(c, bytes);
        assert_int_equal(mrg_utf8_len(bytes, bytes + len), len);
        if (len > 1)
            assert_int_equal(mrg_utf8_len(bytes, bytes + len - 1), 0);
    }
}

static void test_cut(void **state)
{
    (void)state;
    struct mrg_slice text = MRG_SLICE("a\xE2\x82\xAC\xF0\x9F\x98\x80");
    static const size_t cuts[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 8};
    for (size_t max = 0; max < MRG_ARRAY_LEN(cuts); max++)
        assert_int_equal(mrg_utf8_cut(text, max), cuts[max]);
    assert_int_equal(mrg_utf8_cut(MRG_SLICE("\x80\x80\x80\x80\x80\x80\x80"), 6), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
