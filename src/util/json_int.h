// SPDX-License-Identifier: Apache-2.0
/*
 * Json, inside: what the files of util/json share. Nobody else includes it.
 *
 * The walkers (skip, decode) want text that mrg_json_check has passed: they look for no errors, but never
 * read past `end`. Thread: any; no state.
 */
#pragma once

#include <string.h>

#include "util/json.h"

/*
 * The first byte from p on that is a quote, a backslash, a control character or not ASCII; `end` when there
 * is none.
 */
static inline const char *mrg_json_plain(const char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t tops = 0x8080808080808080u;
    while (end - p >= 8) {
        uint64_t eight;
        memcpy(&eight, p, 8);
        uint64_t quote = eight ^ (ones * '"');
        uint64_t slash = eight ^ (ones * '\\');
        if ((eight | (eight - ones * 0x20) | (quote - ones) | (slash - ones)) & tops)
            break;
        p += 8;
    }
    while (p < end) {
        unsigned char c = (unsigned char)*p;
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
            break;
        p++;
    }
    return p;
}

/* The first quote or backslash from p on; `end` when there is none. */
static inline const char *mrg_json_run(const char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t tops = 0x8080808080808080u;
    while (end - p >= 8) {
        uint64_t eight;
        memcpy(&eight, p, 8);
        uint64_t quote = eight ^ (ones * '"');
        uint64_t slash = eight ^ (ones * '\\');
        if ((((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops)
            break;
        p += 8;
    }
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

static inline bool mrg_json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *mrg_json_skip_space(const char *p, const char *end)
{
    while (p < end && mrg_json_is_space(*p))
        p++;
    return p;
}

static inline bool mrg_json_is_digit(const char *p, const char *end)
{
    return p < end && *p >= '0' && *p <= '9';
}

/*
 * p is at an opening quote; past the closing one. *ret_escaped (may be NULL): whether there are backslashes.
 */
const char *mrg_json_skip_string(const char *p, const char *end, bool *ret_escaped);
/* Past a number, true, false or null. */
const char *mrg_json_skip_scalar(const char *p, const char *end);
/* Past the value that begins at p. */
const char *mrg_json_skip_value(const char *p, const char *end);

/*
 * Unescapes what stands between the quotes. `out` has room for raw.len bytes, which always suffice. Returns
 * the bytes.
 */
size_t mrg_json_decode(struct mrg_slice raw, char *out);

/* The content of a string: `raw` itself when it has no backslash, else unescaped into `small` or the heap. */
struct mrg_json_content {
    struct mrg_slice text; /* the content */
    char *heap;            /* what done frees, or NULL */
    char small[256];       /* most strings fit */
};
void mrg_json_content_init(struct mrg_json_content *content, struct mrg_slice raw, bool escaped);
static inline void mrg_json_content_done(struct mrg_json_content *content)
{
    free(content->heap);
}

/* Line and column in a checked text, or up to the fault, from 1; columns count characters. */
void mrg_json_place(struct mrg_slice text, const char *at, size_t *ret_line, size_t *ret_column);

/* The keys of the objects that are open during a check, to find duplicates. */
struct mrg_json_key {
    uint64_t hash;      /* of the content */
    const char *raw;    /* between the quotes */
    size_t len : 63;    /* bytes of raw */
    size_t escaped : 1; /* raw has backslashes */
};

struct mrg_json_keys {
    struct mrg_json_key *items;    /* those of the inner objects behind those of the outer ones */
    size_t count;                  /* of items */
    size_t capacity;               /* of items */
    struct mrg_json_key small[32]; /* the first items, so that ordinary texts need no heap */
};

void mrg_json_keys_init(struct mrg_json_keys *keys);
void mrg_json_keys_done(struct mrg_json_keys *keys);
/*
 * Adds a key of the object whose keys begin at `base`. False when it is there; in large objects only close
 * finds that.
 */
bool mrg_json_keys_add(struct mrg_json_keys *keys, size_t base, struct mrg_slice raw, bool escaped);
/* The object ends: forgets its keys. True, and *ret_twice, when one of them stood there before. */
bool mrg_json_keys_close(struct mrg_json_keys *keys, size_t base, struct mrg_slice *ret_twice);
