// SPDX-License-Identifier: Apache-2.0
#include "fidelity/report_int.h"

#include <string.h>

static const char *const decided_names[] = {
#define X(name, text) text,
    MRG_DECIDED_MAP(X)
#undef X
};

const char *mrg_report_decided(enum mrg_decided decided)
{
    return decided_names[decided];
}

double mrg_report_percent(size_t part, size_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* "inventory-01 (2)" when scenarios are repeated. */
void mrg_report_name(struct mrg_buf *buf, const struct mrg_score *score, const struct mrg_trial_score *trial)
{
    mrg_buf_append_str(buf, trial->trial->scenario);
    if (score->scenarios > 0)
        mrg_buf_appendf(buf, " (%u)", trial->trial->repeat);
}

static void append_trial(struct mrg_buf *buf, const struct mrg_score *score,
                         const struct mrg_trial_score *trial, bool color)
{
    const char *mark = trial->error ? "!" : trial->passed ? "✓" : "✗";
    const char *paint = trial->passed ? "\033[32m" : "\033[31m";
    mrg_buf_appendf(buf, "%s%s%s ", color ? paint : "", mark, color ? "\033[0m" : "");
    mrg_report_name(buf, score, trial);
    if (trial->why[0])
        mrg_buf_appendf(buf, "\n    %s", trial->why);
    if (!trial->error && !trial->passed)
        mrg_buf_appendf(buf, " [%s]", decided_names[trial->decided]);
    mrg_buf_append_char(buf, '\n');
}

static void append_group(struct mrg_buf *buf, const struct mrg_group *group)
{
    mrg_buf_appendf(buf, "  %-24s %4zu of %4zu  %5.1f %%   key-level %5.1f %%\n",
                    group->name[0] ? group->name : "–", group->passed, group->scored,
                    mrg_report_percent(group->passed, group->scored),
                    mrg_report_percent(group->key_level, group->scored));
}

static void append_decided(struct mrg_buf *buf, const struct mrg_score *score)
{
    mrg_buf_append_str(buf, "decided by");
    for (size_t i = 0; i < MRG_DECIDED_COUNT; i++)
        if (score->decided[i] > 0 || i <= MRG_DECIDED_ORACLE)
            mrg_buf_appendf(buf, "%s %s %zu", i > 0 ? "," : "", decided_names[i], score->decided[i]);
    if (score->all.passed != score->all.passed_alone)
        mrg_buf_appendf(buf, "; without the judges' and people's acceptances %zu passed",
                        score->all.passed_alone);
    mrg_buf_append_char(buf, '\n');
}

static void append_against(struct mrg_buf *buf, const struct mrg_score *score)
{
    const struct mrg_difference *other = score->against;
    if (!other)
        return;
    mrg_buf_appendf(
        buf,
        "against %s: %zu scenarios in both, %zu passed only here, %zu only there; difference %+.1f points",
        score->against_label[0] ? score->against_label : "the other run", other->pairs, other->first,
        other->second, 100 * other->difference);
    mrg_buf_appendf(buf, " (95 %% interval %+.1f to %+.1f)\n", 100 * other->interval.low,
                    100 * other->interval.high);
}

static void append_totals(struct mrg_buf *buf, const struct mrg_score *score)
{
    struct mrg_interval interval = mrg_wilson(score->all.passed, score->all.scored);
    mrg_buf_appendf(buf, "%zu of %zu scenarios passed: %.1f %% (95 %% interval %.1f to %.1f)\n",
                    score->all.passed, score->all.scored,
                    mrg_report_percent(score->all.passed, score->all.scored), 100 * interval.low,
                    100 * interval.high);
    if (score->dependencies.count > 1)
        mrg_buf_appendf(buf, "mean of the dependencies: %.1f %%\n", 100 * score->mean);
    append_decided(buf, score);
    mrg_buf_appendf(buf, "per response: status %zu of %zu, status and shape of the body %zu of %zu\n",
                    score->status_same, score->calls, score->shape_same, score->calls);
    if (score->left_out > 0)
        mrg_buf_appendf(buf, "%zu calls left out: the wire cannot express them\n", score->left_out);
    if (score->scenarios > 0)
        mrg_buf_appendf(buf, "%zu of %zu scenarios came out the same each time\n", score->steady,
                        score->scenarios);
    if (score->errors > 0)
        mrg_buf_appendf(buf, "%zu could not be run\n", score->errors);
    append_against(buf, score);
}

void mrg_report_text(struct mrg_buf *buf, const struct mrg_score *score, bool color)
{
    for (size_t i = 0; i < score->result->trial_count; i++)
        append_trial(buf, score, &score->trials[i], color);
    mrg_buf_append_char(buf, '\n');
    for (size_t i = 0; i < score->dependencies.count; i++)
        append_group(buf, &score->dependencies.items[i]);
    mrg_buf_append_char(buf, '\n');
    for (size_t i = 0; i < score->categories.count; i++)
        append_group(buf, &score->categories.items[i]);
    mrg_buf_append_char(buf, '\n');
    append_totals(buf, score);
}
