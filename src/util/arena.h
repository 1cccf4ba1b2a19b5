// SPDX-License-Identifier: Apache-2.0
/*
 * Arena: memory of one exchange, freed in one place.
 *
 * Everything that is parsed from a request or made for its reply lies here. Not thread-safe: whoever has the
 * exchange has the arena. Blocks are never freed one by one. Each thread keeps a few freed arenas of one size,
 * MRG_ARENA_KEPT, for its next ones, and frees them when it ends; not under AddressSanitizer.
 */
#pragma once

#include <stddef.h>

#include "util/alloc.h"

struct mrg_arena;

#define MRG_ARENA_KEPT 4000u /* for exchanges; with the allocator's own bytes a little below a page */

/* `first` is the size of the first chunk in bytes (0: a default of 2 KiB); later chunks grow. */
struct mrg_arena *mrg_arena_new(size_t first);
void mrg_arena_free(struct mrg_arena *arena);

/* 16-byte aligned; never NULL; lives until the arena is freed. */
void *mrg_arena_alloc(struct mrg_arena *arena, size_t size) __attribute__((returns_nonnull));
void *mrg_arena_zalloc(struct mrg_arena *arena, size_t size) __attribute__((returns_nonnull));
/* A copy of len bytes with a NUL behind them. */
char *mrg_arena_memdup(struct mrg_arena *arena, const void *data, size_t len)
    __attribute__((returns_nonnull));
char *mrg_arena_strdup(struct mrg_arena *arena, const char *text) __attribute__((returns_nonnull));
char *mrg_arena_printf(struct mrg_arena *arena, const char *format, ...) MRG_PRINTF(2, 3);
/* Bytes taken from the heap so far. */
size_t mrg_arena_size(const struct mrg_arena *arena);
