// SPDX-License-Identifier: Apache-2.0
/*
 * Cassette writer: one thread that appends recorded lines to cassette files, in groups, one fsync a group.
 *
 * A line is queued and the caller goes on. A group that cannot be written is kept and tried again (after a
 * second, at the next flush, and when the writer is freed); the failure is told once in the log until it has
 * passed. Lines are given up, and counted in the log, only past MRG_CASSETTE_QUEUE_BYTES and at the end.
 * Thread: any, but for new and free (main).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"
#include "util/text.h"

/* What may wait for a disk that refuses: replies are small, and each was paid for. */
#define MRG_CASSETTE_QUEUE_BYTES (256u << 20)

struct mrg_cassette_writer;

struct mrg_cassette_counts {
    uint64_t written; /* lines that are on the disk */
    uint64_t failed;  /* attempts to write a group that failed */
    uint64_t lost;    /* lines given up */
    uint64_t waiting; /* lines queued or kept for another attempt */
};

/* Starts the thread. */
enum mrg_err mrg_cassette_writer_new(struct mrg_cassette_writer **ret_writer, struct mrg_error *err);
/* Writes what is queued, joins the thread. */
void mrg_cassette_writer_free(struct mrg_cassette_writer *writer);

/*
 * Queues a line (without newline; the reference is taken over) for the file at `path`, which is made when
 * needed. *written (may be NULL; outlives the writer) goes up by one when the line is on the disk.
 */
void mrg_cassette_writer_append(struct mrg_cassette_writer *writer, const char *path, struct mrg_text *line,
                                atomic_ullong *written);

/*
 * Waits until all that was queued before has been written or has failed once more; false when something still
 * waits.
 */
bool mrg_cassette_writer_flush(struct mrg_cassette_writer *writer);

struct mrg_cassette_counts mrg_cassette_writer_counts(struct mrg_cassette_writer *writer);
