// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "util/text.h"

static void test_new(void **state)
{
    (void)state;
    struct mrg_text *text = mrg_text_new("a\0b", 3);
    assert_int_equal(text->len, 3);
    assert_memory_equal(text->data, "a\0b", 4);
    assert_true(mrg_slice_eq(mrg_text_slice(text), (struct mrg_slice){"a\0b", 3}));
    assert_ptr_equal(mrg_text_ref(text), text);
    mrg_text_unref(text);
    assert_int_equal(text->len, 3);
    mrg_text_unref(text);
}

static void test_null(void **state)
{
    (void)state;
    assert_null(mrg_text_ref(NULL));
    mrg_text_unref(NULL);
    assert_int_equal(mrg_text_slice(NULL).len, 0);
    struct mrg_text *empty = mrg_text_new(NULL, 0);
    assert_string_equal(empty->data, "");
    mrg_text_unref(empty);
}

static void *hold_and_drop(void *arg)
{
    struct mrg_text *text = arg;
    size_t sum = 0;
    for (int i = 0; i < 2000; i++) {
        struct mrg_text *mine = mrg_text_ref(text);
        sum += mine->len;
        mrg_text_unref(mine);
    }
    mrg_text_unref(text);
    return sum == 10000 ? text : NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    struct mrg_text *text = mrg_text_new("order", 5);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_and_drop, mrg_text_ref(text)), 0);
    for (size_t i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
    assert_int_equal(atomic_load(&text->refs), 1);
    mrg_text_unref(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
