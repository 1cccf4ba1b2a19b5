// SPDX-License-Identifier: Apache-2.0
/*
 * Files: the evidence files of one part (source, caller, …), found in files and folders in a stable order.
 *
 * Folders are walked by sorted names; symbolic links within them are not followed, so there are no loops and
 * nothing outside is read. No path from outside the configured roots gets into a name. Thread: main.
 */
#pragma once

#include <stdbool.h>

#include "core/config.h"
#include "evidence/drops.h"
#include "util/error.h"
#include "util/hash.h"

struct mrg_file {
    char *path; /* where it is */
    char *
        name; /* as shown: below its root, with the root's own name before it where there are several roots */
    const char *rel; /* below its root (a root that is a file: its base name); points into path */
    size_t root;     /* index of the root */
    char *data;      /* UTF-8 without NULs (wrong bytes are U+FFFD); NULL until loaded */
    size_t len;      /* bytes of data */
    char hash[MRG_SHA256_HEX + 1]; /* of the bytes on disk; "" until read */
    int tokens;                    /* estimated, with its header */
    unsigned distance;             /* from routes or calls; set when something must go */
    bool left_out;                 /* for the budget */
};

struct mrg_files {
    struct mrg_file *items; /* in the order of the roots, then by name */
    size_t count;           /* of items */
    size_t capacity;        /* allocated */
};

enum mrg_files_kind {
    MRG_FILES_CODE, /* text; tests are left out */
    MRG_FILES_TEXT, /* text of any kind */
    MRG_FILES_JSON, /* traces, examples: found by their ending within folders, not loaded */
};

/*
 * Finds the files of the roots of `part` ("source": named in messages as evidence.source) and loads them
 * unless they are of the kind JSON. Files whose path is in `shown` (may be NULL) are not taken again. A root
 * that cannot be read is an error; what is left out within folders goes to drops. *files is empty at first;
 * the caller frees it with mrg_files_done after an error too.
 */
enum mrg_err mrg_files_read(const char *part, const struct mrg_strings *roots, enum mrg_files_kind kind,
                            const struct mrg_files *shown, struct mrg_files *files, struct mrg_drops *drops,
                            struct mrg_error *err);

void mrg_files_done(struct mrg_files *files);
