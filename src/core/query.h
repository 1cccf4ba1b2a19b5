// SPDX-License-Identifier: Apache-2.0
/*
 * Query: the pairs of a raw query string as they are shown and compared.
 *
 * Keys and values are percent-decoded, + is a space; a piece whose decoded bytes are not UTF-8 stays as it
 * was sent, the bytes in it that are not UTF-8 percent-encoded, so that what is shown can be read back.
 * Thread: any; no state.
 */
#pragma once

#include <stdbool.h>

#include "util/arena.h"
#include "util/buf.h"

struct mrg_query_pair {
    struct mrg_slice key;   /* as shown */
    struct mrg_slice value; /* as shown; empty when there was no '=' */
    unsigned index;         /* how many pairs before this one have the same key */
    unsigned next;          /* the next pair of the same key, 0: none */
};

/*
 * A raw path or piece of a query as it is shown: bytes that are not UTF-8 as %FF, upper case; in the arena
 * then, else text itself.
 */
struct mrg_slice mrg_uri_shown(struct mrg_arena *arena, struct mrg_slice text);

/* The pairs in the order sent, in the arena; *ret_count 0 and NULL when there are none. */
struct mrg_query_pair *mrg_query_read(struct mrg_arena *arena, struct mrg_slice query, size_t *ret_count);

/* Sets index and next of pairs by their keys, in time that grows with their number only. */
void mrg_query_number(struct mrg_query_pair *pairs, size_t count);

/* Pairs read for a moment: without the heap where they are few and nothing is escaped. */
#define MRG_QUERY_FEW 16
struct mrg_query {
    struct mrg_query_pair *pairs; /* in the order sent */
    size_t count;
    struct mrg_arena *arena;                  /* private: what `few` has no room for; NULL when nothing */
    struct mrg_query_pair few[MRG_QUERY_FEW]; /* private */
};

/* `text` outlives the query. */
void mrg_query_init(struct mrg_query *query, struct mrg_slice text);
void mrg_query_done(struct mrg_query *query);

/* Appends `key=value`, percent-encoded, an '&' before it when buf is not empty. */
void mrg_query_append_pair(struct mrg_buf *buf, struct mrg_slice key, struct mrg_slice value);
