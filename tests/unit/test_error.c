// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/error.h"

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(mrg_err_text(MRG_ERR_OK), "done");
    assert_string_equal(mrg_err_text(MRG_ERR_NOT_FOUND), "not found");
    assert_string_equal(mrg_err_text((enum mrg_err)999), "an unknown error");
}

static void test_set_and_wrap(void **state)
{
    (void)state;
    struct mrg_error err = {0};
    assert_int_equal(mrg_error_set(&err, MRG_ERR_INVALID, "line %d", 3), MRG_ERR_INVALID);
    assert_string_equal(err.message, "line 3");
    assert_int_equal(mrg_error_wrap(&err, "reading %s", "a.yaml"), MRG_ERR_INVALID);
    assert_string_equal(err.message, "reading a.yaml: line 3");
    assert_int_equal(err.code, MRG_ERR_INVALID);
}

static void test_null(void **state)
{
    (void)state;
    assert_int_equal(mrg_error_set(NULL, MRG_ERR_IO, "x"), MRG_ERR_IO);
    assert_int_equal(mrg_error_wrap(NULL, "x"), MRG_ERR_INTERNAL);
}

static void test_own_message_as_argument(void **state)
{
    (void)state;
    struct mrg_error err = {0};
    mrg_error_set(&err, MRG_ERR_IO, "disk full");
    mrg_error_set(&err, MRG_ERR_INTERNAL, "[%s]", err.message);
    assert_string_equal(err.message, "[disk full]");
    mrg_error_wrap(&err, "<%s>", err.message);
    assert_string_equal(err.message, "<[disk full]>: [disk full]");
}

static void test_cut(void **state)
{
    (void)state;
    struct mrg_error err = {0};
    char long_text[2000];
    memset(long_text, 'a', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    mrg_error_set(&err, MRG_ERR_IO, "%s", long_text);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
    mrg_error_wrap(&err, "what");
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
    assert_memory_equal(err.message, "what: aaa", 9);
    mrg_error_wrap(&err, "%s", long_text);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

static void test_cut_keeps_characters_whole(void **state)
{
    (void)state;
    struct mrg_error err = {0};
    char text[1100];
    for (int shift = 0; shift < 4; shift++) {
        memset(text, 'a', (size_t)shift);
        for (int i = shift; i + 4 < 1096; i += 4)
            memcpy(text + i, "\xF0\x9F\x98\x80", 5);
        mrg_error_set(&err, MRG_ERR_IO, "%s", text);
        size_t len = strlen(err.message);
        assert_true(len >= sizeof(err.message) - 4);
        assert_int_equal((len - (size_t)shift) % 4, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts), cmocka_unit_test(test_set_and_wrap),
        cmocka_unit_test(test_null),  cmocka_unit_test(test_own_message_as_argument),
        cmocka_unit_test(test_cut),   cmocka_unit_test(test_cut_keeps_characters_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
