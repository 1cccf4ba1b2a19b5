// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

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

/* ---- arenas that are kept ---- */

enum { MORE_THAN_KEPT = 10 };

#if defined(__SANITIZE_ADDRESS__)
static const bool keeps = false;
#else
static const bool keeps = true;
#endif

static struct {
    const void *arenas[MORE_THAN_KEPT];
    size_t count, freed;
} seen; /* by one thread at a time */

void __real_free(void *p);
void __wrap_free(void *p);

void __wrap_free(void *p)
{
    for (size_t i = 0; p && i < seen.count; i++)
        seen.freed += seen.arenas[i] == p;
    __real_free(p);
}

/* Makes and frees arenas; what the thread keeps of them it frees when it ends. */
static void *make_and_free(void *data)
{
    struct mrg_arena *arenas[MORE_THAN_KEPT];
    for (size_t i = 0; i < MORE_THAN_KEPT; i++)
        seen.arenas[i] = arenas[i] = mrg_arena_new(MRG_ARENA_KEPT);
    seen.count = MORE_THAN_KEPT;
    for (size_t i = 0; i < MORE_THAN_KEPT; i++)
        mrg_arena_free(arenas[i]);
    *(size_t *)data = seen.freed;
    return NULL;
}

static void test_the_threads_end_frees_what_it_kept(void **state)
{
    (void)state;
    pthread_t thread;
    size_t at_once;
    seen.freed = 0;
    assert_int_equal(pthread_create(&thread, NULL, make_and_free, &at_once), 0);
    pthread_join(thread, NULL);
    if (keeps)
        assert_true(at_once > 0 && at_once < MORE_THAN_KEPT);
    else
        assert_int_equal(at_once, MORE_THAN_KEPT);
    assert_int_equal(seen.freed, MORE_THAN_KEPT);
    seen.count = 0;
}

static pthread_key_t late_key;

static void free_late(void *arena)
{
    mrg_arena_free(arena);
}

/* The key is newer than the arenas' own, so that its function comes after theirs. */
static void *leave_one_for_the_end(void *data)
{
    (void)data;
    mrg_arena_free(mrg_arena_new(MRG_ARENA_KEPT));
    assert_int_equal(pthread_key_create(&late_key, free_late), 0);
    struct mrg_arena *arena = mrg_arena_new(64), *last = mrg_arena_new(MRG_ARENA_KEPT);
    struct mrg_arena *second = mrg_arena_new(MRG_ARENA_KEPT);
    mrg_arena_free(arena);
    mrg_arena_free(second);
    seen.arenas[0] = last;
    seen.count = 1;
    pthread_setspecific(late_key, last);
    return NULL;
}

static void test_an_arena_may_be_freed_while_its_thread_ends(void **state)
{
    (void)state;
    pthread_t thread;
    seen.freed = 0;
    assert_int_equal(pthread_create(&thread, NULL, leave_one_for_the_end, NULL), 0);
    pthread_join(thread, NULL);
    pthread_key_delete(late_key);
    assert_int_equal(seen.freed, 1);
    seen.count = 0;
}

static void test_only_one_size_is_kept(void **state)
{
    (void)state;
    struct mrg_arena *kept = mrg_arena_new(MRG_ARENA_KEPT);
    size_t fresh = mrg_arena_size(kept);
    mrg_arena_alloc(kept, 100000);
    memset(mrg_arena_alloc(kept, 3000), 0x55, 3000);
    mrg_arena_free(kept);
    struct mrg_arena *other = mrg_arena_new(2 * MRG_ARENA_KEPT);
    assert_true(other != kept && mrg_arena_size(other) > 2 * MRG_ARENA_KEPT);
    struct mrg_arena *small = mrg_arena_new(64);
    assert_true(small != kept);
    struct mrg_arena *again = mrg_arena_new(MRG_ARENA_KEPT);
    assert_int_equal(again == kept, keeps); /* under AddressSanitizer the address would hide a late use */
    assert_int_equal(mrg_arena_size(again), fresh);
    char *zeroed = mrg_arena_zalloc(again, 3000);
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(zeroed[i], 0);
    mrg_arena_free(other);
    mrg_arena_free(small);
    mrg_arena_free(again);
    struct mrg_arena *more = mrg_arena_new(64); /* which a freed one of another size does not become */
    assert_int_equal(mrg_arena_size(more) < MRG_ARENA_KEPT, true);
    mrg_arena_free(more);
}

/* ---- made by one thread, freed by another ---- */

enum { PASSED = 2000 };

static struct mrg_arena *_Atomic passed;

static void *take_and_free(void *data)
{
    (void)data;
    for (int i = 0; i < PASSED;) {
        struct mrg_arena *arena = atomic_exchange(&passed, NULL);
        if (!arena) {
            sched_yield();
            continue;
        }
        mrg_arena_free(arena);
        struct mrg_arena *own = mrg_arena_new(MRG_ARENA_KEPT);
        memset(mrg_arena_alloc(own, 1000), i, 1000);
        mrg_arena_free(own);
        i++;
    }
    return NULL;
}

static void test_arenas_go_from_thread_to_thread(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_and_free, NULL), 0);
    for (int i = 0; i < PASSED; i++) {
        struct mrg_arena *arena = mrg_arena_new(MRG_ARENA_KEPT), *expected = NULL;
        memset(mrg_arena_alloc(arena, 2000), i, 2000);
        while (!atomic_compare_exchange_weak(&passed, &expected, arena)) {
            expected = NULL;
            sched_yield();
        }
    }
    pthread_join(thread, NULL);
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
        cmocka_unit_test(test_the_threads_end_frees_what_it_kept),
        cmocka_unit_test(test_an_arena_may_be_freed_while_its_thread_ends),
        cmocka_unit_test(test_only_one_size_is_kept),
        cmocka_unit_test(test_arenas_go_from_thread_to_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
