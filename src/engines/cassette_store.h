// SPDX-License-Identifier: Apache-2.0
/*
 * Cassette store: what one dependency's cassette holds, in memory, found by place, key and nth.
 *
 * Entries are immutable and counted: a reader may hold one while a newer recording takes its place. Of two
 * lines with the same place, key and nth the later one counts: recording anew appends, and a file is never
 * rewritten here (taking the older lines out is for `mirage cassette prune`, of a later version). Thread: any
 * (sharded locks, held for a lookup only); loading is done by whoever makes the store, before it is shared.
 */
#pragma once

#include <stdatomic.h>

#include "core/match.h"
#include "core/place.h"
#include "core/reply.h"
#include "engines/cassette_line.h"
#include "util/text.h"

struct mrg_cassette_entry {
    atomic_uint refs;
    struct mrg_cassette_entry *next; /* in its bucket; guarded by the shard's lock */
    mrg_place at;
    struct mrg_hash128 key; /* of the request, by the dependency's comparison */
    unsigned nth;
    struct mrg_text *req;   /* normal form, as recorded */
    struct mrg_text *rep;   /* text form, one line */
    const char *evidence;   /* hash of the evidence; "" when not known */
    struct mrg_reply reply; /* what `rep` says; its bytes are the entry's and rep's */
    char bytes[];           /* of headers, evidence and a body that does not stand in rep */
};

/* What was found in a file. */
struct mrg_cassette_loaded {
    size_t lines;     /* whole ones */
    size_t replaced;  /* of these, older than another of the same place, key and nth */
    size_t cut_line;  /* number of the last line when it is cut and was left out; else 0 */
    size_t cut_bytes; /* its bytes */
};

struct mrg_cassette_store;

/* `match` outlives the store; `dependency` is copied. */
struct mrg_cassette_store *mrg_cassette_store_new(const struct mrg_match *match, const char *dependency);
void mrg_cassette_store_free(struct mrg_cassette_store *store);

/*
 * Reads a file. NOT_FOUND when there is none. A last line without newline that is no whole JSON value is a
 * cut one: it is left out and told in *ret_loaded. Any other line that cannot be read is an error that begins
 * with FILE:LINE:COLUMN. Blank lines are passed over.
 */
enum mrg_err mrg_cassette_store_load(struct mrg_cassette_store *store, const char *path,
                                     struct mrg_cassette_loaded *ret_loaded, struct mrg_error *err);

/*
 * Puts a line's exchange in, in the place of an equal one (*ret_replaced, may be NULL). Takes nothing over.
 */
enum mrg_err mrg_cassette_store_put(struct mrg_cassette_store *store, const struct mrg_cassette_line *line,
                                    bool *ret_replaced, struct mrg_error *err);

/* A reference for the caller, or NULL. */
struct mrg_cassette_entry *mrg_cassette_store_find(struct mrg_cassette_store *store, mrg_place at,
                                                   struct mrg_hash128 key, unsigned nth);

/*
 * References to at most `max` entries at a place (at any: `everywhere`), into `entries`; returns how many.
 * For messages: it walks the whole store.
 */
size_t mrg_cassette_store_collect(struct mrg_cassette_store *store, mrg_place at, bool everywhere,
                                  struct mrg_cassette_entry **entries, size_t max);

size_t mrg_cassette_store_count(struct mrg_cassette_store *store);

void mrg_cassette_entry_unref(struct mrg_cassette_entry *entry);
/* A copy of the entry's reply, in the arena. */
void mrg_cassette_entry_reply(const struct mrg_cassette_entry *entry, struct mrg_arena *arena,
                              struct mrg_reply *ret_reply);
