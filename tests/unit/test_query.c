// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "core/query.h"

static int set_up(void **state)
{
    *state = mrg_arena_new(0);
    return 0;
}

static int tear_down(void **state)
{
    mrg_arena_free(*state);
    return 0;
}

static void test_read(void **state)
{
    size_t count;
    struct mrg_query_pair *pairs = mrg_query_read(*state, MRG_SLICE("a=1&&b&%61=x+y%21&c=%FF"), &count);
    assert_int_equal(count, 4);
    assert_true(mrg_slice_eq_str(pairs[0].key, "a") && mrg_slice_eq_str(pairs[0].value, "1"));
    assert_true(mrg_slice_eq_str(pairs[1].key, "b") && pairs[1].value.len == 0);
    assert_true(mrg_slice_eq_str(pairs[2].key, "a") && mrg_slice_eq_str(pairs[2].value, "x y!"));
    assert_true(mrg_slice_eq_str(pairs[3].value, "%FF")); /* no UTF-8: as it was sent */
    assert_true(pairs[0].index == 0 && pairs[0].next == 2 && pairs[2].index == 1 && pairs[2].next == 0);
    assert_true(pairs[1].index == 0 && pairs[1].next == 0);
    assert_null(mrg_query_read(*state, MRG_SLICE(""), &count));
    assert_int_equal(count, 0);
}

/* Few and many are numbered in different ways, to the same numbers. */
static void test_number(void **state)
{
    static const size_t counts[] = {1, 2, 31, 32, 33, 500};
    for (size_t round = 0; round < MRG_ARRAY_LEN(counts); round++) {
        size_t count = counts[round];
        struct mrg_query_pair *pairs = mrg_arena_zalloc(*state, count * sizeof(*pairs));
        for (size_t i = 0; i < count; i++)
            pairs[i].key = mrg_slice_of(mrg_arena_printf(*state, "%zu", i * i % 11));
        mrg_query_number(pairs, count);
        for (size_t i = 0; i < count; i++) {
            unsigned index = 0;
            size_t next = i + 1;
            for (size_t j = 0; j < i; j++)
                index += mrg_slice_eq(pairs[j].key, pairs[i].key);
            while (next < count && !mrg_slice_eq(pairs[next].key, pairs[i].key))
                next++;
            assert_int_equal(pairs[i].index, index);
            assert_int_equal(pairs[i].next, next < count ? next : 0);
        }
    }
}

static void test_init(void **state)
{
    for (size_t count = 0; count < 3 * MRG_QUERY_FEW; count++) {
        struct mrg_buf text;
        struct mrg_query query;
        size_t expected;
        mrg_buf_init(&text, SIZE_MAX);
        for (size_t i = 0; i < count; i++)
            mrg_buf_appendf(&text, "%sk%%3%zu=%zu", i ? "&" : "", i % 7, i);
        struct mrg_query_pair *pairs = mrg_query_read(*state, mrg_buf_slice(&text), &expected);
        mrg_query_init(&query, mrg_buf_slice(&text));
        assert_int_equal(query.count, count);
        assert_int_equal(expected, count);
        for (size_t i = 0; i < count; i++) {
            assert_true(mrg_slice_eq(query.pairs[i].key, pairs[i].key));
            assert_true(mrg_slice_eq(query.pairs[i].value, pairs[i].value));
            assert_true(query.pairs[i].index == pairs[i].index && query.pairs[i].next == pairs[i].next);
        }
        mrg_query_done(&query);
        mrg_buf_done(&text);
    }
}

static void test_append_pair(void **state)
{
    struct mrg_buf buf;
    (void)state;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_query_append_pair(&buf, MRG_SLICE("a b"), MRG_SLICE("1&2"));
    mrg_query_append_pair(&buf, MRG_SLICE("c"), MRG_SLICE(""));
    assert_string_equal(buf.data, "a%20b=1%262&c=");
    mrg_buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_init, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_append_pair, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
