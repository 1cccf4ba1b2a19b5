// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/alloc.h"

static void test_zero_sizes(void **state)
{
    (void)state;
    _cleanup_free_ char *a = mrg_malloc(0);
    _cleanup_free_ char *b = mrg_zalloc(0);
    assert_non_null(a);
    assert_non_null(b);
    a = mrg_realloc(a, 0);
    assert_non_null(a);
}

static void test_zalloc_is_zero(void **state)
{
    (void)state;
    _cleanup_free_ char *p = mrg_zalloc(300);
    for (int i = 0; i < 300; i++)
        assert_int_equal(p[i], 0);
}

static void test_strings(void **state)
{
    (void)state;
    _cleanup_free_ char *whole = mrg_strdup("order");
    _cleanup_free_ char *cut = mrg_strndup("order", 3);
    _cleanup_free_ char *short_one = mrg_strndup("or", 30);
    _cleanup_free_ char *made = mrg_asprintf("%s-%03d", "item", 7);
    assert_string_equal(whole, "order");
    assert_string_equal(cut, "ord");
    assert_string_equal(short_one, "or");
    assert_string_equal(made, "item-007");
}

static void test_grow(void **state)
{
    (void)state;
    void *items = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        mrg_grow(&items, &capacity, i, sizeof(size_t));
        assert_true(capacity > i);
        ((size_t *)items)[i] = i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(((size_t *)items)[i], i);
    assert_int_equal(capacity, 1024);
    mrg_grow(&items, &capacity, 5000, sizeof(size_t));
    assert_int_equal(capacity, 8192);
    free(items);
}

static void test_take(void **state)
{
    (void)state;
    char *from = mrg_strdup("x");
    _cleanup_free_ char *to = MRG_TAKE(from);
    assert_null(from);
    assert_string_equal(to, "x");
}

struct outer {
    int first;
    int inner;
};

static void test_container_of(void **state)
{
    (void)state;
    struct outer outer = {1, 2};
    int *inner = &outer.inner;
    assert_ptr_equal(MRG_CONTAINER_OF(inner, struct outer, inner), &outer);
    int three[3];
    assert_int_equal(MRG_ARRAY_LEN(three), 3);
    (void)three;
}

/* Runs fn in a child and gives what it wrote on standard error; the child must die of SIGABRT. */
static void assert_aborts(void (*fn)(void), const char *message)
{
    int ends[2];
    char text[512] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        fn();
        _exit(0);
    }
    close(ends[1]);
    ssize_t len = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_true(len > 0);
    assert_non_null(strstr(text, message));
}

static void break_assert(void)
{
    volatile int two = 2;
    MRG_ASSERT(two == 3);
}

static void overflow_grow(void)
{
    void *items = NULL;
    size_t capacity = 0;
    mrg_grow(&items, &capacity, SIZE_MAX / 4, 16);
}

static void test_aborts(void **state)
{
    (void)state;
    assert_aborts(break_assert, "mirage: A fault in Mirage: two == 3 does not hold");
    assert_aborts(overflow_grow, "mirage: A fault in Mirage: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zero_sizes), cmocka_unit_test(test_zalloc_is_zero),
        cmocka_unit_test(test_strings),    cmocka_unit_test(test_grow),
        cmocka_unit_test(test_take),       cmocka_unit_test(test_container_of),
        cmocka_unit_test(test_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
