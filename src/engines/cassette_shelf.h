// SPDX-License-Identifier: Apache-2.0
/*
 * Cassette shelf: the open cassettes of a process, by path, shared by the engines of an old and a new
 * configuration.
 *
 * While a reload goes on, exchanges of the old configuration are still being recorded. Engines whose
 * comparisons are of one identity (core/match.h) have one store; where they differ, each recording is put into
 * all the stores of its path. So what is recorded meanwhile is found by both. Also keeps what has been told of
 * a file. Thread: any; opening is main's. An engine holds a seat and closes it; the last one closes the store.
 */
#pragma once

#include <stdbool.h>

#include "engines/cassette_store.h"

struct mrg_cassette_shelf;
struct mrg_cassette_seat; /* an engine's hold of an open cassette */
struct mrg_cassette_writer;

struct mrg_cassette_shelf *mrg_cassette_shelf_new(void);
/* All seats are closed. */
void mrg_cassette_shelf_free(struct mrg_cassette_shelf *shelf);

/*
 * Opens the cassette at `path` for a dependency: has the writer (may be NULL) write what waits, then reads the
 * file, unless it is open already and has not changed since. A file that is not there is an empty cassette.
 * `match` outlives the seat. *ret_loaded (may be NULL): what was read; its stamp is all zeros when there is no
 * file. Errors as of mrg_cassette_store_load; other seats keep what they have then.
 */
enum mrg_err mrg_cassette_shelf_open(struct mrg_cassette_shelf *shelf, const char *path,
                                     const char *dependency, const struct mrg_match *match,
                                     struct mrg_cassette_writer *writer, struct mrg_cassette_seat **ret_seat,
                                     struct mrg_cassette_loaded *ret_loaded, struct mrg_error *err);
void mrg_cassette_seat_close(struct mrg_cassette_seat *seat); /* NULL is allowed */

/* Borrowed until the seat is closed. */
struct mrg_cassette_store *mrg_cassette_seat_store(const struct mrg_cassette_seat *seat);

/* Puts a line (`text` is its own text) into all the stores of the path; errors of the seat's own. */
enum mrg_err mrg_cassette_seat_put(struct mrg_cassette_seat *seat, const struct mrg_cassette_line *line,
                                   struct mrg_text *text, struct mrg_error *err);

/* What is told of a file once; that it is cut or not there, once for each content. */
enum mrg_cassette_news {
    MRG_CASSETTE_NEWS_NONE_THERE, /* there is no such file */
    MRG_CASSETTE_NEWS_CUT,        /* its last line is cut */
    MRG_CASSETTE_NEWS_STALE,      /* recorded with other evidence */
    MRG_CASSETTE_NEWS_UNFIT,      /* a reply that cannot be recorded */
};
/* True the first time for this file, whichever engine asks. */
bool mrg_cassette_seat_first(struct mrg_cassette_seat *seat, enum mrg_cassette_news news);
