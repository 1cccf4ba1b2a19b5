// SPDX-License-Identifier: Apache-2.0
/*
 * Place: where a state stands: a hash of dependency, scenario context and the state-changing exchanges so
 * far.
 *
 * Never of prompt or evidence. An exchange counts with its request's key and the reply's status, not the
 * reply's body, so that a recorded reply may be edited by hand without orphaning what follows it. Thread:
 * any; values only.
 */
#pragma once

#include <stdint.h>

#include "util/hash.h"

typedef uint64_t mrg_place;

/* `scenario` is the context's JSON, minified; NULL or "" when there is none. */
mrg_place mrg_place_start(const char *dependency, const char *scenario);
mrg_place mrg_place_after(mrg_place place, struct mrg_hash128 request_key, int status);

#define MRG_PLACE_TEXT 16
void mrg_place_text(mrg_place place, char ret_text[MRG_PLACE_TEXT + 1]); /* 16 lower-case hex digits */
