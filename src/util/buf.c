// SPDX-License-Identifier: Apache-2.0
#include "util/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/arena.h"

#define FIRST_ROOM 64u

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool mrg_slice_caseeq_str(struct mrg_slice a, const char *b)
{
    if (a.len != strlen(b))
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (lower(a.ptr[i]) != lower(b[i]))
            return false;
    }
    return true;
}

void mrg_buf_init(struct mrg_buf *buf, size_t max)
{
    *buf = (struct mrg_buf){.max = max < SIZE_MAX / 4 ? max : SIZE_MAX / 4};
}

void mrg_buf_done(struct mrg_buf *buf)
{
    free(buf->data);
    *buf = (struct mrg_buf){.max = buf->max};
}

void mrg_buf_clear(struct mrg_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

static void grow(struct mrg_buf *buf, size_t need)
{
    size_t room = buf->room ? buf->room : FIRST_ROOM;
    while (room < need)
        room *= 2;
    if (room > buf->max + 1)
        room = buf->max + 1;
    buf->data = mrg_realloc(buf->data, room);
    buf->room = room;
}

/* Where `len` bytes (and a NUL) may be written; NULL once the buf has failed. */
static inline char *reserve(struct mrg_buf *buf, size_t len)
{
    if (buf->failed || len > buf->max - buf->len) {
        buf->failed = true;
        return NULL;
    }
    if (buf->len + len >= buf->room)
        grow(buf, buf->len + len + 1);
    return buf->data + buf->len;
}

void mrg_buf_reserve(struct mrg_buf *buf, size_t more)
{
    if (!buf->failed && more <= buf->max - buf->len && buf->len + more >= buf->room)
        grow(buf, buf->len + more + 1);
}

void mrg_buf_append(struct mrg_buf *buf, const void *data, size_t len)
{
    char *to = len > 0 ? reserve(buf, len) : NULL;
    if (!to)
        return;
    memcpy(to, data, len);
    to[len] = '\0';
    buf->len += len;
}

void mrg_buf_append_str(struct mrg_buf *buf, const char *text)
{
    mrg_buf_append(buf, text, strlen(text));
}

void mrg_buf_append_slice(struct mrg_buf *buf, struct mrg_slice slice)
{
    mrg_buf_append(buf, slice.ptr, slice.len);
}

void mrg_buf_append_char(struct mrg_buf *buf, char c)
{
    char *to = reserve(buf, 1);
    if (!to)
        return;
    to[0] = c;
    to[1] = '\0';
    buf->len++;
}

void mrg_buf_appendf(struct mrg_buf *buf, const char *format, ...)
{
    if (buf->failed)
        return;
    size_t left = buf->data ? buf->room - buf->len : 0;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(buf->data ? buf->data + buf->len : NULL, left, format, args);
    va_end(args);
    MRG_ASSERT(len >= 0);
    if ((size_t)len >= left) {
        if (buf->data)
            buf->data[buf->len] = '\0';
        if (len == 0 || !reserve(buf, (size_t)len))
            return;
        va_start(args, format);
        vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
        va_end(args);
    }
    buf->len += (size_t)len;
}

char *mrg_buf_take(struct mrg_buf *buf, size_t *ret_len)
{
    char *data = buf->data ? buf->data : mrg_strdup("");
    if (ret_len)
        *ret_len = buf->len;
    *buf = (struct mrg_buf){.max = buf->max};
    return data;
}

struct mrg_slice mrg_buf_slice(const struct mrg_buf *buf)
{
    return buf->data ? (struct mrg_slice){buf->data, buf->len} : (struct mrg_slice){"", 0};
}

struct mrg_slice mrg_arena_take_buf(struct mrg_arena *arena, struct mrg_buf *buf)
{
    struct mrg_slice copy = {mrg_arena_memdup(arena, buf->data, buf->len), buf->len};
    mrg_buf_done(buf);
    return copy;
}
