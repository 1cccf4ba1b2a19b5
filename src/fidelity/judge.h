// SPDX-License-Identifier: Apache-2.0
/*
 * Judge: what gate and oracle leave uncertain is shown to two models and to the verdicts of people.
 *
 * A judge sees the anonymised pair (A and B, in an order drawn from a hash of the pair) and a rubric, never which side is
 * which. Both must say the same; a split is a failure until a person decides in verdicts.yaml.
 */
#pragma once

#include "core/config.h"
#include "fidelity/score.h"

/* What a run of judges did. */
struct mrg_judged {
    size_t asked, accepted, refused, split,
        failed; /* uncertain trials; failed: a provider's error, counts as a split */
    uint64_t tokens_in, tokens_cached, tokens_out;
    size_t requests;
};

/*
 * Asks both judges about each uncertain trial and changes the score. Blocks; main thread. A judge that cannot be
 * reached is no error of the run: that trial is split, with the reason. INVALID: judges are not two.
 */
enum mrg_err mrg_judge_score(struct mrg_score *score, const struct mrg_model_config *judges, size_t count,
                             struct mrg_arena *arena, struct mrg_judged *ret_judged, struct mrg_error *err);

/*
 * Applies a file of people's verdicts: a list of {scenario, label, pair, verdict: same|different, why}, where `pair` is the
 * hash of both sides' replies, so that a verdict is never applied to other replies. Not there: nothing is done. INVALID:
 * place and what was expected.
 */
enum mrg_err mrg_verdicts_apply(struct mrg_score *score, const char *file, struct mrg_arena *arena,
                                struct mrg_error *err);
/* Appends the entries that a person has to decide, verdict left open, as YAML. */
void mrg_verdicts_append_open(struct mrg_buf *buf, const struct mrg_score *score);
