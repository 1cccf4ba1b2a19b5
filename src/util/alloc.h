// SPDX-License-Identifier: Apache-2.0
/*
 * Memory: allocation that cannot fail, and scope clean-up.
 *
 * A server of this size does not recover from an empty heap, so these functions print a sentence and abort
 * instead of returning NULL. Sizes that come from outside are checked against core/limits.h before they get
 * here. Thread: any.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#define MRG_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#define MRG_MUST_USE            __attribute__((warn_unused_result))

/* Never return NULL; the caller frees with free(). */
void *mrg_malloc(size_t size) __attribute__((malloc, returns_nonnull, alloc_size(1)));
void *mrg_zalloc(size_t size) __attribute__((malloc, returns_nonnull, alloc_size(1)));
void *mrg_realloc(void *old, size_t size) __attribute__((returns_nonnull, alloc_size(2)));
/* Zeroed, at an address that is a multiple of `alignment` (a power of 2). */
void *mrg_zalloc_aligned(size_t alignment, size_t size)
    __attribute__((malloc, returns_nonnull, alloc_align(1), alloc_size(2)));
char *mrg_strdup(const char *text) __attribute__((malloc, returns_nonnull));
char *mrg_strndup(const char *text, size_t len) __attribute__((malloc, returns_nonnull));
char *mrg_asprintf(const char *format, ...) __attribute__((malloc, returns_nonnull)) MRG_PRINTF(1, 2);

/*
 * Grow `*items` (elements of `item_size`) so that index `count` may be written; doubles, updates *capacity.
 */
void mrg_grow(void **items, size_t *capacity, size_t count, size_t item_size);

/* Stays on in release builds: states that no input may bring about. */
#define MRG_ASSERT(condition) ((condition) ? (void)0 : mrg_assert_failed(#condition, __FILE__, __LINE__))
void mrg_assert_failed(const char *condition, const char *file, int line) __attribute__((noreturn));

static inline void mrg_freep(void *p)
{
    void **slot = p;
    free(*slot);
    *slot = NULL;
}

/* `_cleanup_free_ char *x` frees x when it leaves scope; `_cleanup_(fn)` calls fn(&x). */
#define _cleanup_(fn)  __attribute__((cleanup(fn)))
#define _cleanup_free_ _cleanup_(mrg_freep)
#define MRG_TAKE(pointer)                                                                                    \
    ({                                                                                                       \
        __typeof__(pointer) taken_ = (pointer);                                                              \
        (pointer) = NULL;                                                                                    \
        taken_;                                                                                              \
    })
#define MRG_ARRAY_LEN(array)                    (sizeof(array) / sizeof((array)[0]))
#define MRG_CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
