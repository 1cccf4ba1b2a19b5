// SPDX-License-Identifier: Apache-2.0
/*
 * Idioms: the words by which source code is seen to define routes or to make calls. Thread: any; no state.
 */
#pragma once

#include <stdbool.h>

#include "util/buf.h"

bool mrg_idioms_route(struct mrg_slice source); /* defines routes or request handlers */
bool mrg_idioms_call(struct mrg_slice source);  /* makes HTTP or RPC calls */

/* Whether text occurs in source; `word`: not within a longer word; case counts only where `exact`. */
bool mrg_idioms_mentions(struct mrg_slice source, const char *text, bool word, bool exact);
