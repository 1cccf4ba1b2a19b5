// SPDX-License-Identifier: Apache-2.0
/*
 * Jpath, inside: a parsed path. jpath_parse.c makes it, jpath.c walks trees with it; nobody else includes
 * this.
 */
#pragma once

#include <stdint.h>

#include "util/jpath.h"

#define MRG_JPATH_STEPS 63u /* a walk keeps the places in a path as bits of one word */

enum mrg_jpath_kind { STEP_NAME, STEP_INDEX, STEP_ANY };

struct mrg_jpath_step {
    enum mrg_jpath_kind kind; /* what of a container it takes */
    bool deep;                /* of the node or anything in it: `..` stood before */
    char *name;               /* of STEP_NAME */
    int64_t index;            /* of STEP_INDEX; below 0: from the end */
};

struct mrg_jpath {
    enum mrg_jpath_part part;     /* what of a request */
    char *name;                   /* of a header or a query key */
    struct mrg_jpath_step *steps; /* of a body path */
    size_t count;                 /* of steps */
    size_t capacity;              /* of steps */
};
