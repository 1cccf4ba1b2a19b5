// SPDX-License-Identifier: Apache-2.0
#include "core/query.h"

#include <string.h>

#include "util/hash.h"
#include "util/uri.h"
#include "util/utf8.h"

static struct mrg_slice decode(struct mrg_arena *arena, struct mrg_slice raw)
{
    if (!memchr(raw.ptr, '%', raw.len) && !memchr(raw.ptr, '+', raw.len))
        return raw;
    struct mrg_slice decoded = mrg_uri_decode(arena, raw, true);
    return mrg_utf8_valid(decoded) ? decoded : raw;
}

static size_t count_pairs(struct mrg_slice query)
{
    size_t count = 0;
    size_t cursor = 0;
    struct mrg_slice key, value;
    while (mrg_uri_next_pair(query, &cursor, &key, &value))
        count++;
    return count;
}

struct mrg_query_pair *mrg_query_read(struct mrg_arena *arena, struct mrg_slice query, size_t *ret_count)
{
    size_t count = query.len > 0 ? count_pairs(query) : 0;
    *ret_count = count;
    if (count == 0)
        return NULL;
    struct mrg_query_pair *pairs = mrg_arena_zalloc(arena, count * sizeof(*pairs));
    /* Hashes keep a query of thousands of pairs from costing millions of string comparisons. */
    uint64_t *hashes = mrg_arena_alloc(arena, count * sizeof(*hashes));
    size_t cursor = 0;
    struct mrg_slice key, value;
    for (size_t i = 0; i < count && mrg_uri_next_pair(query, &cursor, &key, &value); i++) {
        pairs[i].key = decode(arena, key);
        pairs[i].value = decode(arena, value);
        hashes[i] = mrg_hash64(pairs[i].key.ptr, pairs[i].key.len, 0);
        for (size_t j = i; j-- > 0;) {
            if (hashes[j] == hashes[i] && mrg_slice_eq(pairs[j].key, pairs[i].key)) {
                pairs[i].index = pairs[j].index + 1;
                break;
            }
        }
    }
    return pairs;
}

static void append_encoded(struct mrg_buf *buf, struct mrg_slice text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (memchr(plain, c, sizeof(plain) - 1)) {
            mrg_buf_append_char(buf, (char)c);
        } else {
            char escape[3] = {'%', digits[c >> 4], digits[c & 15]};
            mrg_buf_append(buf, escape, sizeof(escape));
        }
    }
}

void mrg_query_append_pair(struct mrg_buf *buf, struct mrg_slice key, struct mrg_slice value)
{
    if (buf->len > 0)
        mrg_buf_append_char(buf, '&');
    append_encoded(buf, key);
    mrg_buf_append_char(buf, '=');
    append_encoded(buf, value);
}
