// SPDX-License-Identifier: Apache-2.0
/*
 * Journal: the last exchanges, for people and tests that ask what happened.
 *
 * A ring bounded by entries and bytes (core/limits.h); what fell out is counted, so that "not there" and "no
 * longer there" differ. Thread: any; a short lock an entry.
 */
#pragma once

#include "core/record.h"
#include "util/buf.h"

struct mrg_journal;

struct mrg_journal *mrg_journal_new(size_t max_entries, size_t max_bytes);
void mrg_journal_free(struct mrg_journal *journal);
/* Takes a reference of its own, and gives the record its seq: nobody else may have it yet. */
void mrg_journal_add(struct mrg_journal *journal, struct mrg_record *record);

struct mrg_journal_filter {
    const char *dependency; /* NULL: all */
    const char *session;    /* NULL: all */
    uint64_t after;         /* only entries with a greater seq */
    size_t limit;           /* the newest so many; 0: all */
};

/* {"entries":[{"seq","at","dependency","session","source","status","duration_ms","gone"?,"failed"?,"request":{…},"reply":{…}}],
 * "evicted":N,"last":seq} */
void mrg_journal_append_json(struct mrg_buf *buf, struct mrg_journal *journal,
                             const struct mrg_journal_filter *filter);
