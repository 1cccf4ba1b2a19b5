// SPDX-License-Identifier: Apache-2.0
#include "util/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void __attribute__((noreturn)) out_of_memory(size_t size)
{
    fprintf(stderr, "mirage: Out of memory: %zu bytes could not be had\n", size);
    abort();
}

void *mrg_malloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

void *mrg_zalloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

void *mrg_zalloc_aligned(size_t alignment, size_t size)
{
    void *p = NULL;
    if (posix_memalign(&p, alignment < sizeof(void *) ? sizeof(void *) : alignment, size ? size : 1) != 0)
        out_of_memory(size);
    return memset(p, 0, size);
}

void *mrg_realloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

char *mrg_strdup(const char *text)
{
    return mrg_strndup(text, strlen(text));
}

char *mrg_strndup(const char *text, size_t len)
{
    len = strnlen(text, len);
    char *copy = mrg_malloc(len + 1);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *mrg_asprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        out_of_memory(0);
    return text;
}

void mrg_grow(void **items, size_t *capacity, size_t count, size_t item_size)
{
    if (count < *capacity)
        return;
    size_t room = *capacity ? *capacity : 4;
    while (room <= count) {
        MRG_ASSERT(room <= SIZE_MAX / 2);
        room *= 2;
    }
    MRG_ASSERT(item_size > 0 && room <= SIZE_MAX / item_size);
    *items = mrg_realloc(*items, room * item_size);
    *capacity = room;
}

void mrg_assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "mirage: A fault in Mirage: %s does not hold (%s:%d)\n", condition, file, line);
    abort();
}
