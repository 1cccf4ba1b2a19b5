// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/arena.h"

static void test_alignment_and_content(void **state)
{
    (void)state;
    struct mrg_arena *arena = mrg_arena_new(0);
    unsigned char *blocks[500];
    for (size_t i = 0; i < 500; i++) {
        size_t size = i * 7 % 300;
        blocks[i] = mrg_arena_alloc(arena, size);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i & 0xFF), size);
    }
    for (size_t i = 0; i < 500; i++) {
        for (size_t k = 0; k < i * 7 % 300; k++)
            assert_int_equal(blocks[i][k], i & 0xFF);
    }
    assert_true(mrg_arena_size(arena) >= 500 * 140);
    mrg_arena_free(arena);
}

static void test_zalloc_after_use(void **state)
{
    (void)state;
    struct mrg_arena *arena = mrg_arena_new(64);
    for (int i = 0; i < 50; i++) {
        char *p = mrg_arena_zalloc(arena, 40);
        for (int k = 0; k < 40; k++)
            assert_int_equal(p[k], 0);
        memset(p, 0x55, 40);
    }
    mrg_arena_free(arena);
}

static void test_large_block_leaves_chunk_in_use(void **state)
{
    (void)state;
    struct mrg_arena *arena = mrg_arena_new(4096);
    char *before = mrg_arena_alloc(arena, 16);
    mrg_arena_alloc(arena, 1u << 20);
    size_t size = mrg_arena_size(arena);
    char *after = mrg_arena_alloc(arena, 16);
    assert_true(after > before && after - before < 4096);
    assert_int_equal(mrg_arena_size(arena), size);
    assert_true(size >= (1u << 20) && size < (1u << 20) + 8192);
    mrg_arena_free(arena);
}

static void test_size_grows_by_chunks(void **state)
{
    (void)state;
    struct mrg_arena *arena = mrg_arena_new(0);
    size_t first = mrg_arena_size(arena);
    assert_true(first >= 2048 && first < 2300);
    mrg_arena_alloc(arena, 1000);
    assert_int_equal(mrg_arena_size(arena), first);
    mrg_arena_alloc(arena, 1500);
    assert_true(mrg_arena_size(arena) > first);
    mrg_arena_free(arena);
}

static void test_copies(void **state)
{
    (void)state;
    struct mrg_arena *arena = mrg_arena_new(32);
    char *bytes = mrg_arena_memdup(arena, "a\0b", 3);
    assert_memory_equal(bytes, "a\0b", 4);
    assert_string_equal(mrg_arena_memdup(arena, NULL, 0), "");
    assert_string_equal(mrg_arena_strdup(arena, "order"), "order");
    mrg_arena_free(arena);
}

static void test_printf(void **state)
{
    (void)state;
    struct mrg_arena *arena = mrg_arena_new(0);
    assert_string_equal(mrg_arena_printf(arena, "%d/%s", 4, "x"), "4/x");
    for (int width = 250; width < 262; width++) {
        char *text = mrg_arena_printf(arena, "%*d", width, 7);
        assert_int_equal(strlen(text), width);
        assert_int_equal(text[width - 1], '7');
    }
    mrg_arena_free(arena);
}

static void test_free_null(void **state)
{
    (void)state;
    mrg_arena_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment_and_content),
        cmocka_unit_test(test_zalloc_after_use),
        cmocka_unit_test(test_large_block_leaves_chunk_in_use),
        cmocka_unit_test(test_size_grows_by_chunks),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_free_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
