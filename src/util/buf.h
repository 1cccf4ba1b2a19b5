// SPDX-License-Identifier: Apache-2.0
/*
 * Buf: a growing run of bytes with a maximum, always followed by a NUL.
 *
 * Past its maximum a buf fails for good: appends are ignored and mrg_buf_failed() says so, so that callers
 * check once at the end. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "util/alloc.h"

struct mrg_buf {
    char *data;  /* NULL until the first append; NUL-terminated */
    size_t len;  /* bytes without the NUL */
    size_t room; /* bytes allocated */
    size_t max;  /* the most that len may be */
    bool failed; /* an append went past max */
};

/* A run of bytes that somebody else owns; may hold NULs; not NUL-terminated unless said. */
struct mrg_slice {
    const char *ptr;
    size_t len;
};

#define MRG_SLICE(literal) ((struct mrg_slice){(literal), sizeof(literal) - 1})
/* Inline: with a literal on one side they come to a comparison of lengths and a memcmp. */
static inline struct mrg_slice mrg_slice_of(const char *text) /* NULL: the empty slice */
{
    return text ? (struct mrg_slice){text, strlen(text)} : (struct mrg_slice){"", 0};
}

static inline bool mrg_slice_eq(struct mrg_slice a, struct mrg_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool mrg_slice_eq_str(struct mrg_slice a, const char *b)
{
    return mrg_slice_eq(a, mrg_slice_of(b));
}

static inline bool mrg_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Without the white space (ASCII's, line ends too) around it. */
static inline struct mrg_slice mrg_slice_trim(struct mrg_slice text)
{
    while (text.len > 0 && mrg_is_blank(text.ptr[text.len - 1]))
        text.len--;
    while (text.len > 0 && mrg_is_blank(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    return text;
}

bool mrg_slice_caseeq_str(struct mrg_slice a, const char *b); /* ASCII case only */

void mrg_buf_init(struct mrg_buf *buf, size_t max);
void mrg_buf_done(struct mrg_buf *buf);  /* frees; the buf may be used again after init */
void mrg_buf_clear(struct mrg_buf *buf); /* empty and not failed again; keeps its memory */
/* Makes room for `more` bytes at once, within the maximum, so that appends of about that much do not reallocate. */
void mrg_buf_reserve(struct mrg_buf *buf, size_t more);
void mrg_buf_append(struct mrg_buf *buf, const void *data, size_t len);
void mrg_buf_append_str(struct mrg_buf *buf, const char *text);
void mrg_buf_append_slice(struct mrg_buf *buf, struct mrg_slice slice);
void mrg_buf_append_char(struct mrg_buf *buf, char c);
void mrg_buf_appendf(struct mrg_buf *buf, const char *format, ...) MRG_PRINTF(2, 3);
static inline bool mrg_buf_failed(const struct mrg_buf *buf)
{
    return buf->failed;
}
/* The bytes, owned by the caller from now on (free()); "" when nothing was appended. Leaves the buf empty. */
char *mrg_buf_take(struct mrg_buf *buf, size_t *ret_len);
struct mrg_slice mrg_buf_slice(const struct mrg_buf *buf); /* borrowed until the next append */
struct mrg_arena;
/* Moves the bytes into the arena, a NUL behind, and frees what the buf held. */
struct mrg_slice mrg_arena_take_buf(struct mrg_arena *arena, struct mrg_buf *buf);
