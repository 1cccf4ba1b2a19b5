// SPDX-License-Identifier: Apache-2.0
/*
 * Config problems: what is wrong with a configuration, gathered with its places and shown at once, in the
 * file's order.
 *
 * Also the words that such messages need: the nearest known name, and values shortened for a line. Main
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

/* Where something stands: in the file, or where it was set from outside. */
struct mrg_mark {
    int line;           /* from 1; 0: the file as a whole */
    int column;         /* from 1, in characters */
    const char *origin; /* "--mode", "MIRAGE_MODEL_NAME": in place of file, line and column; NULL: the file */
};

struct mrg_problem;

struct mrg_problems {
    const char *file;          /* as given; borrowed */
    struct mrg_problem *items; /* in the order found */
    size_t count;              /* of items */
    size_t capacity;
    size_t total; /* found; more than count when there were too many to keep */
};

void mrg_problems_init(struct mrg_problems *problems, const char *file);
void mrg_problems_done(struct mrg_problems *problems);

/* Notes one. The message has neither place nor full stop: "unknown key \"evidense\"; expected …". */
void mrg_problems_add(struct mrg_problems *problems, struct mrg_mark mark, const char *format, ...)
    MRG_PRINTF(3, 4);

/*
 * One line each, sorted by line, those from outside last, the same line once; at most MRG_MAX_CONFIG_ERRORS.
 */
void mrg_problems_append(struct mrg_problems *problems, struct mrg_buf *errors);

/* The nearest candidate so far; start zeroed. */
struct mrg_nearest {
    const char *name; /* NULL while none is near */
    size_t distance;
};
/*
 * Takes `candidate` (borrowed) for the nearest to `name` when it is nearer than those before, and near at
 * all; says whether it did.
 */
bool mrg_nearest_try(struct mrg_nearest *nearest, const char *name, const char *candidate);

#define MRG_QUOTED 96
/* `text` as it is shown in a message: in double quotes, shortened, without control characters. */
const char *mrg_quoted(const char *text, char ret_quoted[MRG_QUOTED]);
