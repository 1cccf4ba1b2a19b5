// SPDX-License-Identifier: Apache-2.0
/*
 * Cassette writer: one thread that appends recorded lines to cassette files, in groups, one fsync a group.
 *
 * A line is queued and the caller goes on. A group that cannot be written (the disk is full, another process
 * has the file's lock) is kept and tried again after a second, at the next flush, and when the writer is
 * freed; other files are not held up. The failure is told once in the log until it has passed. A line is
 * given up, and counted, only when MRG_CASSETTE_QUEUE_BYTES wait already (the new one is, since what is
 * recorded later builds on what was recorded before) and at the end. Thread: any, but for new and free (main).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/stats.h"
#include "util/error.h"
#include "util/text.h"

struct mrg_cassette_writer;

struct mrg_cassette_counts {
    uint64_t written; /* lines that are on the disk */
    uint64_t failed;  /* attempts to write a group that failed */
    uint64_t lost;    /* lines given up */
    uint64_t waiting; /* lines queued or kept for another attempt */
};

/* Starts the thread. */
enum mrg_err mrg_cassette_writer_new(struct mrg_cassette_writer **ret_writer, struct mrg_error *err);

/*
 * Tries for two seconds to write what waits, and tells in the log how much of which file is lost. Does not
 * wait much longer than that for a disk that does not answer: the thread then ends by itself, and touches
 * nothing of the caller's any more.
 */
void mrg_cassette_writer_free(struct mrg_cassette_writer *writer);

/*
 * Queues a line (without newline; the reference is taken over) for the file at `path`, which is made when
 * needed. `stats` (may be NULL; outlives the writer) counts what becomes of it: waiting, then recorded or lost.
 */
void mrg_cassette_writer_append(struct mrg_cassette_writer *writer, const char *path, struct mrg_text *line,
                                struct mrg_dependency_stats *stats);

/*
 * Has all files tried and waits, at most timeout_ms, until all that was queued before has been written or has
 * failed once more; false when something of it still waits.
 */
bool mrg_cassette_writer_flush(struct mrg_cassette_writer *writer, uint64_t timeout_ms);

struct mrg_cassette_counts mrg_cassette_writer_counts(struct mrg_cassette_writer *writer);
