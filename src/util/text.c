// SPDX-License-Identifier: Apache-2.0
#include "util/text.h"

#include <stdint.h>
#include <string.h>

struct mrg_text *mrg_text_new(const void *data, size_t len)
{
    MRG_ASSERT(len < SIZE_MAX / 2);
    struct mrg_text *text = mrg_malloc(sizeof(*text) + len + 1);
    atomic_init(&text->refs, 1);
    text->len = len;
    if (len > 0)
        memcpy(text->data, data, len);
    text->data[len] = '\0';
    return text;
}

struct mrg_text *mrg_text_ref(struct mrg_text *text)
{
    if (text)
        atomic_fetch_add_explicit(&text->refs, 1, memory_order_relaxed);
    return text;
}

/* Release, then acquire by the last one: every holder's reads come before the free. */
void mrg_text_unref(struct mrg_text *text)
{
    if (!text)
        return;
    unsigned before = atomic_fetch_sub_explicit(&text->refs, 1, memory_order_acq_rel);
    MRG_ASSERT(before > 0);
    if (before == 1)
        free(text);
}
