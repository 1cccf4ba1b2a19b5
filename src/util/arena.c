// SPDX-License-Identifier: Apache-2.0
#include "util/arena.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Under AddressSanitizer what is not handed out is poisoned and blocks have a gap between them. */
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define GAP 16u
#else
#define GAP                                 0u
#define ASAN_POISON_MEMORY_REGION(p, len)   ((void)(p), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(p, len) ((void)(p), (void)(len))
#endif

/* Exchanges come and go by the thousand each second, and past a kilobyte the allocator has no fast path of
 * its own. */
#define KEPT_COUNT 4u

#define ALIGN        16u
#define FIRST_CHUNK  2048u
#define LARGEST_STEP (64u << 10) /* chunks double up to this */

struct chunk {
    struct chunk *next; /* the one before it in time */
    size_t size;        /* bytes behind this head */
    char data[] __attribute__((aligned(ALIGN)));
};

struct mrg_arena {
    char *at;             /* next free byte of the newest chunk */
    char *end;            /* its end */
    struct chunk *chunks; /* all but the first, newest first */
    size_t first_size;    /* bytes of the first chunk */
    size_t step;          /* bytes of the next chunk */
    size_t total;         /* bytes taken from the heap */
    char first[] __attribute__((aligned(ALIGN)));
};

static size_t align_up(size_t size)
{
    MRG_ASSERT(size <= SIZE_MAX / 2);
    return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

#ifndef ARENA_ASAN
struct kept {
    struct mrg_arena *items[KEPT_COUNT];
    unsigned count;
    bool listed; /* the thread's end will free them */
};

static _Thread_local struct kept kept;
static pthread_key_t kept_key;
static bool has_key; /* threads' ends can be told; without that nothing is kept */
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;

static void on_thread_end(void *arg)
{
    struct kept *own = arg;
    while (own->count > 0)
        free(own->items[--own->count]);
    /* Another library's destructor may free an arena after this one, which then runs again. */
    own->listed = false;
}

static void make_key(void)
{
    has_key = pthread_key_create(&kept_key, on_thread_end) == 0;
}

/* True when the arena is kept; its bytes are the next one's. */
static bool keep(struct mrg_arena *arena)
{
    if (arena->first_size != MRG_ARENA_KEPT || kept.count == KEPT_COUNT)
        return false;
    if (!kept.listed) {
        pthread_once(&kept_once, make_key);
        kept.listed = has_key && pthread_setspecific(kept_key, &kept) == 0;
    }
    if (!kept.listed)
        return false;
    kept.items[kept.count++] = arena;
    return true;
}

static struct mrg_arena *take_kept(size_t size)
{
    return size == MRG_ARENA_KEPT && kept.count > 0 ? kept.items[--kept.count] : NULL;
}
#else
static bool keep(struct mrg_arena *arena)
{
    (void)arena;
    return false;
}

static struct mrg_arena *take_kept(size_t size)
{
    (void)size;
    return NULL;
}
#endif

struct mrg_arena *mrg_arena_new(size_t first)
{
    size_t size = align_up(first ? first : FIRST_CHUNK);
    struct mrg_arena *arena = take_kept(size);
    if (!arena)
        arena = mrg_malloc(sizeof(*arena) + size);
    arena->at = arena->first;
    arena->end = arena->first + size;
    arena->chunks = NULL;
    arena->first_size = size;
    arena->step = size < LARGEST_STEP ? size * 2 : LARGEST_STEP;
    arena->total = sizeof(*arena) + size;
    ASAN_POISON_MEMORY_REGION(arena->first, size);
    return arena;
}

void mrg_arena_free(struct mrg_arena *arena)
{
    if (!arena)
        return;
    struct chunk *chunk = arena->chunks;
    while (chunk) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    if (!keep(arena))
        free(arena);
}

/*
 * A chunk that holds `need`; when that is much, a chunk of its own, so that the newest one's rest stays in
 * use.
 */
static void *alloc_slow(struct mrg_arena *arena, size_t size, size_t need)
{
    bool own = need > arena->step / 2;
    size_t room = own ? need : arena->step;
    struct chunk *chunk = mrg_malloc(sizeof(*chunk) + room);
    chunk->size = room;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->total += sizeof(*chunk) + room;
    ASAN_POISON_MEMORY_REGION(chunk->data, room);
    if (!own) {
        arena->at = chunk->data + need;
        arena->end = chunk->data + room;
        if (arena->step < LARGEST_STEP)
            arena->step *= 2;
    }
    ASAN_UNPOISON_MEMORY_REGION(chunk->data, size);
    return chunk->data;
}

void *mrg_arena_alloc(struct mrg_arena *arena, size_t size)
{
    size_t need = align_up(size ? size : 1) + GAP;
    if (need > (size_t)(arena->end - arena->at))
        return alloc_slow(arena, size, need);
    void *p = arena->at;
    arena->at += need;
    ASAN_UNPOISON_MEMORY_REGION(p, size);
    return p;
}

void *mrg_arena_zalloc(struct mrg_arena *arena, size_t size)
{
    return memset(mrg_arena_alloc(arena, size), 0, size);
}

char *mrg_arena_memdup(struct mrg_arena *arena, const void *data, size_t len)
{
    MRG_ASSERT(len < SIZE_MAX / 2);
    char *copy = mrg_arena_alloc(arena, len + 1);
    if (len > 0)
        memcpy(copy, data, len);
    copy[len] = '\0';
    return copy;
}

char *mrg_arena_strdup(struct mrg_arena *arena, const char *text)
{
    return mrg_arena_memdup(arena, text, strlen(text));
}

char *mrg_arena_printf(struct mrg_arena *arena, const char *format, ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    MRG_ASSERT(len >= 0);
    if ((size_t)len < sizeof(small))
        return mrg_arena_memdup(arena, small, (size_t)len);
    char *text = mrg_arena_alloc(arena, (size_t)len + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    return text;
}

size_t mrg_arena_size(const struct mrg_arena *arena)
{
    return arena->total;
}
