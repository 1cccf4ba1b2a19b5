// SPDX-License-Identifier: Apache-2.0
/*
 * Cassette file: appending whole lines to one file, all of a group or none.
 *
 * Each line leaves with one write to a descriptor opened with O_APPEND, and one fsync ends the group. A last
 * line that is cut (its writer was killed, the disk was full) is taken off first, so that nothing is glued
 * onto it; one that only lacks its newline gets it. Processes that share a file take turns by flock, for which
 * nobody waits here. A file that was removed or replaced is opened anew. Thread: one at a time.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/text.h"

struct mrg_cassette_file;

/* Opens nothing yet. */
struct mrg_cassette_file *mrg_cassette_file_new(const char *path);
void mrg_cassette_file_free(struct mrg_cassette_file *file);
const char *mrg_cassette_file_path(const struct mrg_cassette_file *file);

/*
 * Appends `count` lines (without newlines) and syncs. On failure the file is as it was before, as far as the
 * disk allows, and the group may be appended again. *ret_removed: bytes of a cut line that were taken off,
 * usually 0. IO; CONFLICT while another process has the lock; TOO_LARGE for a file whose last line has no end.
 */
enum mrg_err mrg_cassette_file_append(struct mrg_cassette_file *file, struct mrg_text *const *lines,
                                      size_t count, size_t *ret_removed, struct mrg_error *err);

/*
 * Whether what is open is a regular file, and its state; IO with a sentence for anything else. Whoever opens
 * a cassette does so with O_NONBLOCK, since a pipe would hang.
 */
enum mrg_err mrg_cassette_check_file(int fd, const char *path, struct stat *ret_info, struct mrg_error *err);
/* Bytes of the byte order mark that a file's text begins with: 3 or 0. */
size_t mrg_cassette_mark(struct mrg_slice text);

/* Makes the folder `path` and those above it that are missing. */
enum mrg_err mrg_cassette_make_folder(const char *path, struct mrg_error *err);
