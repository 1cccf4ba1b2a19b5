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
struct mrg_slice mrg_slice_of(const char *text); /* text may be NULL: the empty slice */
bool mrg_slice_eq(struct mrg_slice a, struct mrg_slice b);
bool mrg_slice_eq_str(struct mrg_slice a, const char *b);
bool mrg_slice_caseeq_str(struct mrg_slice a, const char *b); /* ASCII case only */

void mrg_buf_init(struct mrg_buf *buf, size_t max);
void mrg_buf_done(struct mrg_buf *buf);  /* frees; the buf may be used again after init */
void mrg_buf_clear(struct mrg_buf *buf); /* empty and not failed again; keeps its memory */
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
