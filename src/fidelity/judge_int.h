// SPDX-License-Identifier: Apache-2.0
/*
 * Judge, inside: the question and the answer. Nobody else includes it, but for its test. Main thread.
 */
#pragma once

#include "fidelity/judge.h"
#include "util/hash.h"

/* The rubric: the same for every pair, so that a provider's cache can hold it. */
const char *mrg_judge_rubric(void);
/*
 * A trial as a judge sees it: its calls, and for each the two replies as A and B. Which side is A is drawn from a hash of
 * the pair. Values that were issued by either side, and that stand for each other, have the same placeholder.
 */
void mrg_judge_append_question(struct mrg_buf *buf, const struct mrg_trial_score *trial);
/* {"same": true|false, "why": "…"}; INVALID: what was expected. *ret_why lies in the arena. */
enum mrg_err mrg_judge_read_answer(struct mrg_slice text, struct mrg_arena *arena, bool *ret_same,
                                   const char **ret_why, struct mrg_error *err);

/* Of both sides' replies and the requests: a verdict is of this pair and no other. 16 hex digits. */
#define MRG_PAIR_TEXT 16
void mrg_pair_text(const struct mrg_trial *trial, char ret_text[MRG_PAIR_TEXT + 1]);
/* What people or judges said of an uncertain trial. */
void mrg_trial_decide(struct mrg_trial_score *trial, enum mrg_decided decided, bool same, const char *why);
