// SPDX-License-Identifier: Apache-2.0
/*
 * Cut: what is done about a reply that was ended by its length: a larger limit, or pieces put together.
 * Pure functions. Thread: any.
 */
#pragma once

#include <stdbool.h>

#include "util/buf.h"

/* What the user says after the partial answer. */
#define MRG_LLM_CONTINUE                                                                                     \
    "Your answer was cut off by a length limit. Continue exactly where it stopped: begin with the very "     \
    "next "                                                                                                  \
    "character, repeat nothing, add no introduction and no new code fence."

/* Twice the limit, within MRG_MAX_TOKENS_CEILING; 0 when it is there already. */
int mrg_llm_cut_double(int limit);

/* Appends a continuation to what came before; a beginning of it that repeats the end of `text` is left
 * out. */
void mrg_llm_cut_join(struct mrg_buf *text, struct mrg_slice piece);
