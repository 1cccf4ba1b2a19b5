// SPDX-License-Identifier: Apache-2.0
/*
 * Cassette store: what one dependency's cassette holds, in memory, found by place, key and nth.
 *
 * Entries are immutable and counted: a reader may hold one while a newer recording takes its place. Of two
 * lines with the same place, key and nth the later one counts: recording anew appends, and a file is never
 * rewritten here (taking the older lines out is for `mirage cassette prune`, of a later version). Thread: any
 * (sharded locks, held for a lookup only); a file is loaded into a store that is not shared yet.
 *
 * Requests are compared by the match that is handed in: all matches for one store are of one identity
 * (core/match.h).
 */
#pragma once

#include <stdatomic.h>
#include <sys/stat.h>

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
    struct mrg_text *req;    /* normal form, as recorded */
    struct mrg_text *rep;    /* text form, one line; whoever has a reference of it has `reply` */
    const char *evidence;    /* hash of the evidence; "" when not known */
    struct mrg_slice method; /* of the request */
    struct mrg_slice path;
    struct mrg_reply
        reply;    /* what `rep` says; all its bytes are rep's. Never changed: other threads read it */
    char bytes[]; /* of evidence, method and path */
};

/* Which file, and which content of it: another one when the file was written or put in another's place. */
struct mrg_cassette_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

/* What was found in a file. */
struct mrg_cassette_loaded {
    size_t lines;                    /* whole ones */
    size_t replaced;                 /* of these, older than another of the same place, key and nth */
    size_t cut_line;                 /* number of the last line when it is cut and was left out; else 0 */
    size_t cut_bytes;                /* its bytes */
    struct mrg_cassette_stamp stamp; /* of the file when it was opened */
};

struct mrg_cassette_store;

/* `dependency` is copied. */
struct mrg_cassette_store *mrg_cassette_store_new(const char *dependency);
void mrg_cassette_store_free(struct mrg_cassette_store *store);

/*
 * Reads a file. NOT_FOUND when there is none. A last line without newline that is no whole JSON value is a
 * cut one: it is left out and told in *ret_loaded. Any other line that cannot be read is an error that begins
 * with FILE:LINE:COLUMN. Blank lines are passed over.
 */
enum mrg_err mrg_cassette_store_load(struct mrg_cassette_store *store, const struct mrg_match *match,
                                     const char *path, struct mrg_cassette_loaded *ret_loaded,
                                     struct mrg_error *err);
bool mrg_cassette_stamp_equal(const struct mrg_cassette_stamp *a, const struct mrg_cassette_stamp *b);
/* Whether the file at `path` is another than that of the stamp; all zeros stand for no file. */
bool mrg_cassette_stamp_differs(const struct mrg_cassette_stamp *stamp, const char *path);

/*
 * Puts a line's exchange in, in the place of an equal one (*ret_replaced, may be NULL). Takes nothing over.
 */
enum mrg_err mrg_cassette_store_put(struct mrg_cassette_store *store, const struct mrg_match *match,
                                    const struct mrg_cassette_line *line, bool *ret_replaced,
                                    struct mrg_error *err);
/* Puts the entries of `with`, which is freed, in the place of all that the store holds. */
void mrg_cassette_store_replace(struct mrg_cassette_store *store, struct mrg_cassette_store *with);

/* A reference for the caller, or NULL. */
struct mrg_cassette_entry *mrg_cassette_store_find(struct mrg_cassette_store *store, mrg_place at,
                                                   struct mrg_hash128 key, unsigned nth);

/*
 * For messages: calls visit for at most `max` entries, in no order, under a shard's lock: it may take a
 * reference, and does nothing slow.
 */
typedef void (*mrg_cassette_visit_fn)(void *ctx, struct mrg_cassette_entry *entry);
void mrg_cassette_store_visit(struct mrg_cassette_store *store, size_t max, mrg_cassette_visit_fn visit,
                              void *ctx);

size_t mrg_cassette_store_count(struct mrg_cassette_store *store);

struct mrg_cassette_entry *mrg_cassette_entry_ref(struct mrg_cassette_entry *entry);
void mrg_cassette_entry_unref(struct mrg_cassette_entry *entry);
