// SPDX-License-Identifier: Apache-2.0
#include "core/query.h"

#include <string.h>

#include "util/hash.h"
#include "util/uri.h"
#include "util/utf8.h"

#define FEW 32u /* pairs up to which comparing each with each is quicker than a table */

/* A key that has been seen. */
struct slot {
    uint64_t hash;
    size_t last; /* 1 and the number of its last pair so far; 0: free */
};

/* *arena (made when needed) is where decoded bytes go. */
static struct mrg_slice decode(struct mrg_arena **arena, struct mrg_slice raw)
{
    if (!memchr(raw.ptr, '%', raw.len) && !memchr(raw.ptr, '+', raw.len) && mrg_utf8_valid(raw))
        return raw;
    if (!*arena)
        *arena = mrg_arena_new(0);
    struct mrg_slice decoded = mrg_uri_decode(*arena, raw, true);
    return mrg_utf8_valid(decoded) ? decoded : mrg_uri_shown(*arena, raw);
}

struct mrg_slice mrg_uri_shown(struct mrg_arena *arena, struct mrg_slice text)
{
    if (mrg_utf8_valid(text))
        return text;
    struct mrg_buf buf;
    const char *end = text.ptr + text.len;
    mrg_buf_init(&buf, SIZE_MAX);
    for (const char *p = text.ptr; p < end;) {
        size_t len = mrg_utf8_len(p, end);
        if (len == 0)
            mrg_buf_appendf(&buf, "%%%02X", (unsigned)(unsigned char)*p++);
        mrg_buf_append(&buf, p, len);
        p += len;
    }
    return mrg_arena_take_buf(arena, &buf);
}

/* The first `room` pairs; returns how many there are in all. */
static size_t read_pairs(struct mrg_arena **arena, struct mrg_slice text, struct mrg_query_pair *pairs,
                         size_t room)
{
    size_t count = 0;
    size_t cursor = 0;
    struct mrg_slice key, value;
    while (mrg_uri_next_pair(text, &cursor, &key, &value)) {
        if (count < room)
            pairs[count] = (struct mrg_query_pair){.key = decode(arena, key), .value = decode(arena, value)};
        count++;
    }
    return count;
}

static void follow(struct mrg_query_pair *pairs, size_t last, size_t at)
{
    pairs[at].index = pairs[last].index + 1;
    pairs[last].next = (unsigned)at;
}

static void number_few(struct mrg_query_pair *pairs, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        size_t before = i;
        while (before > 0 && !mrg_slice_eq(pairs[before - 1].key, pairs[i].key))
            before--;
        if (before > 0)
            follow(pairs, before - 1, i);
    }
}

static void number_many(struct mrg_query_pair *pairs, size_t count)
{
    size_t room = 4 * (size_t)FEW;
    while (room < 2 * count)
        room *= 2;
    struct slot *slots = mrg_zalloc(room * sizeof(*slots));
    uint64_t seed = (uint64_t)(uintptr_t)slots; /* nobody outside can choose keys that meet in one slot */
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = mrg_hash64(pairs[i].key.ptr, pairs[i].key.len, seed);
        size_t at = hash & (room - 1);
        while (slots[at].last > 0 &&
               (slots[at].hash != hash || !mrg_slice_eq(pairs[slots[at].last - 1].key, pairs[i].key)))
            at = (at + 1) & (room - 1);
        if (slots[at].last > 0)
            follow(pairs, slots[at].last - 1, i);
        slots[at] = (struct slot){hash, i + 1};
    }
    free(slots);
}

void mrg_query_number(struct mrg_query_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pairs[i].index = pairs[i].next = 0;
    if (count <= FEW)
        number_few(pairs, count);
    else
        number_many(pairs, count);
}

struct mrg_query_pair *mrg_query_read(struct mrg_arena *arena, struct mrg_slice query, size_t *ret_count)
{
    size_t count = query.len > 0 ? read_pairs(&arena, query, NULL, 0) : 0;
    *ret_count = count;
    if (count == 0)
        return NULL;
    struct mrg_query_pair *pairs = mrg_arena_alloc(arena, count * sizeof(*pairs));
    read_pairs(&arena, query, pairs, count);
    mrg_query_number(pairs, count);
    return pairs;
}

void mrg_query_init(struct mrg_query *query, struct mrg_slice text)
{
    query->arena = NULL;
    query->pairs = query->few;
    query->count = text.len > 0 ? read_pairs(&query->arena, text, query->few, MRG_QUERY_FEW) : 0;
    if (query->count > MRG_QUERY_FEW) {
        if (!query->arena)
            query->arena = mrg_arena_new(0);
        query->pairs = mrg_query_read(query->arena, text, &query->count);
    } else {
        mrg_query_number(query->pairs, query->count);
    }
}

void mrg_query_done(struct mrg_query *query)
{
    mrg_arena_free(query->arena);
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
