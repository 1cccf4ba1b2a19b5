// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes through util/uri. The first line of an input is a template or route, the rest a request target.
 */
#include <stdint.h>
#include <string.h>

#include "util/uri.h"

#define MOST (4u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool lies_in(struct mrg_slice part, struct mrg_slice whole)
{
    return part.len == 0 || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

static void try_decode(struct mrg_slice text)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_slice path = mrg_uri_decode(arena, text, false);
    struct mrg_slice form = mrg_uri_decode(arena, text, true);
    MRG_ASSERT(path.len <= text.len && form.len == path.len);
    MRG_ASSERT(path.ptr[path.len] == '\0' && form.ptr[form.len] == '\0');
    if (!text.len || (!memchr(text.ptr, '%', text.len) && !memchr(text.ptr, '+', text.len)))
        MRG_ASSERT(mrg_slice_eq(path, text) && mrg_slice_eq(form, text));
    mrg_arena_free(arena);
}

static void try_query(struct mrg_slice query)
{
    struct mrg_slice key, value;
    size_t cursor = 0;
    size_t total = 0;
    while (mrg_uri_next_pair(query, &cursor, &key, &value)) {
        MRG_ASSERT(lies_in(key, query) && lies_in(value, query) && cursor <= query.len);
        total += key.len + value.len;
        try_decode(key);
    }
    MRG_ASSERT(total <= query.len);
}

static void try_match(const char *template_text, struct mrg_slice path)
{
    _cleanup_free_ char *itself = mrg_strndup(path.ptr, path.len);
    mrg_uri_match(template_text, path);
    mrg_uri_match_route(template_text, MRG_SLICE("POST"), path);
    if (strlen(itself) == path.len && !strpbrk(itself, "{*"))
        MRG_ASSERT(mrg_uri_match(itself, path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *newline = size > 0 && size <= MOST ? memchr(text, '\n', size) : NULL;
    if (!newline)
        return 0;
    _cleanup_free_ char *template_text = mrg_strndup(text, (size_t)(newline - text));
    struct mrg_slice target = {newline + 1, size - (size_t)(newline - text) - 1};
    struct mrg_slice path, query;
    mrg_uri_split(target, &path, &query);
    MRG_ASSERT(mrg_slice_eq_str(path, "/") || lies_in(path, target));
    MRG_ASSERT(lies_in(query, target) && path.len + query.len <= target.len + 1);
    MRG_ASSERT(path.len == 0 || !memchr(path.ptr, '?', path.len));
    try_decode(path);
    try_query(query);
    try_match(template_text, path);
    return 0;
}
