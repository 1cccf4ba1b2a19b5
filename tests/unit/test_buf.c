// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/buf.h"

static void test_slices(void **state)
{
    (void)state;
    assert_true(mrg_slice_eq(MRG_SLICE("abc"), mrg_slice_of("abc")));
    assert_false(mrg_slice_eq(MRG_SLICE("abc"), MRG_SLICE("abd")));
    assert_false(mrg_slice_eq(MRG_SLICE("abc"), MRG_SLICE("ab")));
    assert_true(mrg_slice_eq(mrg_slice_of(NULL), (struct mrg_slice){NULL, 0}));
    assert_true(mrg_slice_eq_str(MRG_SLICE("abc"), "abc"));
    assert_false(mrg_slice_eq_str(MRG_SLICE("abc\0d"), "abc"));
    assert_true(mrg_slice_caseeq_str(MRG_SLICE("Content-TYPE"), "content-type"));
    assert_false(mrg_slice_caseeq_str(MRG_SLICE("content-typ"), "content-type"));
    assert_false(mrg_slice_caseeq_str(MRG_SLICE("\xC3\x89"), "\xC3\xA9"));
    assert_false(mrg_slice_caseeq_str(MRG_SLICE("@"), "`"));
}

static void test_slices_are_trimmed(void **state)
{
    (void)state;
    assert_true(mrg_slice_eq_str(mrg_slice_trim(MRG_SLICE(" \r\n\t a b \f\v\n")), "a b"));
    assert_true(mrg_slice_eq_str(mrg_slice_trim(MRG_SLICE("a")), "a"));
    assert_int_equal(mrg_slice_trim(MRG_SLICE(" \n ")).len, 0);
    assert_int_equal(mrg_slice_trim((struct mrg_slice){NULL, 0}).len, 0);
    assert_int_equal(mrg_slice_trim(MRG_SLICE("\x08\0\x0E\xA0")).len, 4); /* no blanks */
}

static void test_append(void **state)
{
    (void)state;
    struct mrg_buf buf;
    mrg_buf_init(&buf, 1000);
    assert_int_equal(mrg_buf_slice(&buf).len, 0);
    mrg_buf_append_str(&buf, "a");
    mrg_buf_append_char(&buf, '\0');
    mrg_buf_append_slice(&buf, MRG_SLICE("bc"));
    mrg_buf_append(&buf, NULL, 0);
    mrg_buf_appendf(&buf, "%d", 42);
    assert_int_equal(buf.len, 6);
    assert_memory_equal(buf.data, "a\0bc42", 7);
    mrg_buf_done(&buf);
}

static void test_every_step_ends_with_nul(void **state)
{
    (void)state;
    struct mrg_buf buf;
    mrg_buf_init(&buf, 100000);
    for (int i = 0; i < 5000; i++) {
        mrg_buf_append_char(&buf, 'x');
        assert_int_equal(strlen(buf.data), i + 1);
        assert_true(buf.room > buf.len);
    }
    mrg_buf_done(&buf);
}

static void test_max(void **state)
{
    (void)state;
    struct mrg_buf buf;
    mrg_buf_init(&buf, 5);
    mrg_buf_append_str(&buf, "12345");
    assert_false(mrg_buf_failed(&buf));
    mrg_buf_append_char(&buf, '6');
    assert_true(mrg_buf_failed(&buf));
    assert_string_equal(buf.data, "12345");
    mrg_buf_clear(&buf);
    assert_false(mrg_buf_failed(&buf));
    mrg_buf_append_str(&buf, "123456");
    assert_true(mrg_buf_failed(&buf));
    assert_int_equal(buf.len, 0);
    mrg_buf_append_str(&buf, "1");
    assert_int_equal(buf.len, 0);
    mrg_buf_done(&buf);
    mrg_buf_init(&buf, 0);
    mrg_buf_append_char(&buf, 'x');
    assert_true(mrg_buf_failed(&buf));
    mrg_buf_done(&buf);
}

static void test_appendf_at_every_room(void **state)
{
    (void)state;
    for (int before = 0; before < 200; before++) {
        struct mrg_buf buf;
        mrg_buf_init(&buf, 1000);
        for (int i = 0; i < before; i++)
            mrg_buf_append_char(&buf, 'x');
        mrg_buf_appendf(&buf, "%s", "0123456789");
        assert_int_equal(buf.len, before + 10);
        assert_string_equal(buf.data + before, "0123456789");
        mrg_buf_appendf(&buf, "%s", "");
        assert_int_equal(buf.len, before + 10);
        mrg_buf_done(&buf);
    }
}

static void test_appendf_max(void **state)
{
    (void)state;
    struct mrg_buf buf;
    mrg_buf_init(&buf, 70);
    mrg_buf_appendf(&buf, "%070d", 1);
    assert_false(mrg_buf_failed(&buf));
    mrg_buf_appendf(&buf, "%d", 1);
    assert_true(mrg_buf_failed(&buf));
    assert_int_equal(strlen(buf.data), 70);
    mrg_buf_done(&buf);
}

static void test_appendf_fails_whole(void **state)
{
    (void)state;
    struct mrg_buf buf;
    mrg_buf_init(&buf, 70);
    mrg_buf_appendf(&buf, "%050d", 1);
    assert_true(buf.room > 51);
    mrg_buf_appendf(&buf, "%050d", 2);
    assert_true(mrg_buf_failed(&buf));
    assert_int_equal(strlen(buf.data), 50);
    mrg_buf_done(&buf);
}

static void test_take(void **state)
{
    (void)state;
    struct mrg_buf buf;
    size_t len = 99;
    mrg_buf_init(&buf, 100);
    _cleanup_free_ char *nothing = mrg_buf_take(&buf, &len);
    assert_string_equal(nothing, "");
    assert_int_equal(len, 0);
    mrg_buf_append_str(&buf, "abc");
    _cleanup_free_ char *taken = mrg_buf_take(&buf, NULL);
    assert_string_equal(taken, "abc");
    assert_null(buf.data);
    mrg_buf_append_str(&buf, "d");
    assert_string_equal(buf.data, "d");
    mrg_buf_done(&buf);
}

static void test_no_limit(void **state)
{
    (void)state;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, "abc");
    assert_false(mrg_buf_failed(&buf));
    mrg_buf_append(&buf, "x", SIZE_MAX - 1);
    assert_true(mrg_buf_failed(&buf));
    mrg_buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),      cmocka_unit_test(test_slices_are_trimmed),
        cmocka_unit_test(test_append),      cmocka_unit_test(test_every_step_ends_with_nul),
        cmocka_unit_test(test_max),         cmocka_unit_test(test_appendf_at_every_room),
        cmocka_unit_test(test_appendf_max), cmocka_unit_test(test_appendf_fails_whole),
        cmocka_unit_test(test_take),        cmocka_unit_test(test_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
