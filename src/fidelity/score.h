// SPDX-License-Identifier: Apache-2.0
/*
 * Score: how faithful a result's trials are, stage by stage: gate, oracle, judges and verdicts (paper
 * section III-F). A scenario passes when all its calls do. Thread: whoever has it.
 */
#pragma once

#include "fidelity/result.h"

#define MRG_DECIDED_MAP(X)                                                                                   \
    X(GATE, "gate")     /* refused by the gate */                                                            \
    X(ORACLE, "oracle") /* accepted or refused by the oracle */                                              \
    X(JUDGES, "judges") /* uncertain, and both judges agreed */                                              \
    X(PERSON, "person") /* uncertain, and verdicts.yaml says */                                              \
    X(NOBODY, "nobody") /* uncertain, undecided: counts as a failure */

enum mrg_decided {
#define X(name, text) MRG_DECIDED_##name,
    MRG_DECIDED_MAP(X)
#undef X
        MRG_DECIDED_COUNT
};

struct mrg_call_score {
    struct mrg_comparison comparison;
    bool left_out; /* not counted */
};

struct mrg_trial_score {
    const struct mrg_trial *trial;
    struct mrg_call_score *calls; /* trial->call_count */
    bool key_level;               /* all calls passed the gate */
    bool passed;                  /* total pass, judges' acceptances counted */
    bool passed_alone;            /* without them */
    bool uncertain;               /* gate and oracle cannot decide: for judges */
    enum mrg_decided decided;     /* who decided the scenario */
    const char *error;            /* could not be run: the trial's, or the real side's; NULL */
    const char *why;              /* first difference, judge's reason or the error; "" when passed */
};

/* A rate's 95 % interval by Wilson's score (no continuity correction); 0 to 1. Of none: 0 and 1. */
struct mrg_interval {
    double low, high;
};
struct mrg_interval mrg_wilson(size_t passed, size_t count);

/* Two runs of the same scenarios, paired by name and repeat. */
struct mrg_difference {
    size_t pairs;               /* trials that both have and that both could run */
    size_t both, first, second; /* passed in both, only in the first, only in the second */
    double difference;          /* of the rates, first minus second */
    struct mrg_interval
        interval; /* 95 %, Newcombe's method 10 for paired proportions (Statist. Med. 17, 1998) */
};
/* Trials that have something in common. */
struct mrg_group {
    const char *name;
    size_t scored;       /* trials, without those with an error */
    size_t passed;       /* judges' acceptances counted */
    size_t passed_alone; /* without them */
    size_t key_level;
};
struct mrg_groups {
    struct mrg_group *items; /* in the order met */
    size_t count;            /* of items */
};

struct mrg_score {
    const struct mrg_result *result;
    struct mrg_arena *arena;
    struct mrg_trial_score *trials; /* result->trial_count */
    struct mrg_group all;
    struct mrg_groups dependencies, categories;
    double mean;                          /* of the dependencies' pass rates, as the paper counts; 0 to 1 */
    size_t errors;                        /* trials that could not be run */
    size_t decided[MRG_DECIDED_COUNT];    /* scored trials by who decided */
    size_t calls, left_out;               /* calls compared, and those that the wire cannot express */
    size_t status_same, shape_same;       /* the first version's metrics, per response */
    const struct mrg_difference *against; /* from another run; NULL: none */
    const char *against_label;            /* that run's; "" */
    size_t scenarios, steady; /* scenarios run more than once, and those that came out the same each time */
};

/* Scores by gate and oracle alone. Lies in the arena, which the result's must outlive. INVALID: a rule, as mrg_compare_new. */
enum mrg_err mrg_score_result(const struct mrg_result *result, struct mrg_arena *arena,
                              struct mrg_score *ret_score, struct mrg_error *err);
/* Counts again after judges or verdicts changed trials. */
void mrg_score_total(struct mrg_score *score);

struct mrg_difference mrg_score_difference(const struct mrg_score *first, const struct mrg_score *second);
