// SPDX-License-Identifier: Apache-2.0
/*
 * Text: immutable bytes with a reference count, which any thread may hold and read.
 *
 * Histories, prompts and recorded replies are texts, so that they are shared and not copied. The count is
 * atomic; the bytes never change after mrg_text_new. A NUL follows them.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "util/buf.h"

struct mrg_text {
    atomic_uint refs;
    size_t len; /* bytes without the NUL */
    char data[];
};

struct mrg_text *mrg_text_new(const void *data, size_t len); /* one reference, the caller's */
struct mrg_text *mrg_text_ref(struct mrg_text *text);        /* NULL gives NULL */
void mrg_text_unref(struct mrg_text *text);                  /* NULL is allowed */
static inline struct mrg_slice mrg_text_slice(const struct mrg_text *text)
{
    return text ? (struct mrg_slice){text->data, text->len} : (struct mrg_slice){"", 0};
}
