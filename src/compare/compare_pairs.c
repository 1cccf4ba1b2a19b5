// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "compare/compare_int.h"

/* Shorter texts stand in others by chance: a 1 in "item 1 of 10" is no id. */
#define EMBEDDED_LENGTH 6u

bool mrg_pairs_fit(const struct mrg_pairs *pairs, const char *real, const char *simulated,
                   const char **ret_other)
{
    for (size_t i = 0; i < pairs->count; i++) {
        bool same_real = strcmp(pairs->items[i].real, real) == 0;
        bool same_simulated = strcmp(pairs->items[i].simulated, simulated) == 0;
        if (same_real == same_simulated)
            continue;
        *ret_other = same_real ? pairs->items[i].simulated : NULL;
        return false;
    }
    return true;
}

static bool known(const struct mrg_pairs *pairs, const char *real)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].real, real) == 0)
            return true;
    return false;
}

bool mrg_pairs_add(struct mrg_pairs *pairs, const char *real, const char *simulated, const char **ret_other)
{
    if (!mrg_pairs_fit(pairs, real, simulated, ret_other))
        return false;
    if (known(pairs, real))
        return true;
    mrg_grow((void **)&pairs->items, &pairs->room, pairs->count, sizeof(*pairs->items));
    pairs->items[pairs->count++] = (struct mrg_pair){mrg_strdup(real), mrg_strdup(simulated)};
    return true;
}

/* The longest known value that text begins with: of two, one may begin with the other. */
static const struct mrg_pair *find_at(const struct mrg_pairs *pairs, const char *text, size_t *ret_len)
{
    const struct mrg_pair *found = NULL;
    *ret_len = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        size_t len = strlen(pairs->items[i].real);
        if (len >= EMBEDDED_LENGTH && len > *ret_len && strncmp(text, pairs->items[i].real, len) == 0) {
            found = &pairs->items[i];
            *ret_len = len;
        }
    }
    return found;
}

const char *mrg_pairs_translate(const struct mrg_pairs *pairs, struct mrg_arena *arena, const char *text)
{
    struct mrg_buf buf;
    for (size_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].real, text) == 0)
            return mrg_arena_strdup(arena, pairs->items[i].simulated);
    mrg_buf_init(&buf, SIZE_MAX);
    while (*text) {
        size_t len;
        const struct mrg_pair *pair = find_at(pairs, text, &len);
        if (pair)
            mrg_buf_append_str(&buf, pair->simulated);
        else
            mrg_buf_append_char(&buf, *text);
        text += pair ? len : 1;
    }
    const char *translated = mrg_arena_memdup(arena, buf.data ? buf.data : "", buf.len);
    mrg_buf_done(&buf);
    return translated;
}

void mrg_pairs_done(struct mrg_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        free(pairs->items[i].real);
        free(pairs->items[i].simulated);
    }
    free(pairs->items);
}
