// SPDX-License-Identifier: Apache-2.0
/*
 * Drops: the list of what was left out of the evidence and why.
 *
 * Belongs to one mrg_evidence while it is loaded; read-only after that. Bounded: past its end, entries are
 * only counted.
 */
#pragma once

#include "evidence/evidence.h"

#define MRG_MAX_DROPS 1000u /* entries kept; a folder of a million hidden files must not fill memory */

struct mrg_drops {
    struct mrg_dropped *items; /* in the order found */
    size_t count;              /* of items */
    size_t capacity;           /* allocated */
    size_t more;               /* further ones that were only counted */
};

/* Adds "part name" (a blank between them; name may be "") and its reason; both are copied. */
void mrg_drops_add(struct mrg_drops *drops, const char *part, const char *name, const char *why, ...)
    MRG_PRINTF(4, 5);

/* Puts the number of entries that were only counted at the end. Call once, after the last add. */
void mrg_drops_close(struct mrg_drops *drops);

void mrg_drops_done(struct mrg_drops *drops);
