// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "fidelity/report_int.h"

/* Within a table's cell. */
static void append_cell(struct mrg_buf *buf, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '\\')
            mrg_buf_append_char(buf, '\\');
        mrg_buf_append_char(buf, *text == '\n' || *text == '\r' ? ' ' : *text);
    }
}

static void append_row(struct mrg_buf *buf, const struct mrg_group *group, const char *name)
{
    mrg_buf_append_str(buf, "| ");
    append_cell(buf, name);
    mrg_buf_appendf(buf, " | %zu | %.1f %% | %.1f %% |\n", group->scored,
                    mrg_report_percent(group->key_level, group->scored),
                    mrg_report_percent(group->passed, group->scored));
}

static void append_groups(struct mrg_buf *buf, const char *title, const struct mrg_groups *groups,
                          const struct mrg_group *all)
{
    mrg_buf_appendf(buf, "| %s | N | key-level | total pass |\n|---|---|---|---|\n", title);
    for (size_t i = 0; i < groups->count; i++)
        append_row(buf, &groups->items[i], groups->items[i].name[0] ? groups->items[i].name : "–");
    append_row(buf, all, "all");
    mrg_buf_append_char(buf, '\n');
}

static void append_failures(struct mrg_buf *buf, const struct mrg_score *score)
{
    bool some = false;
    for (size_t i = 0; i < score->result->trial_count; i++) {
        const struct mrg_trial_score *trial = &score->trials[i];
        if (trial->passed)
            continue;
        if (!some)
            mrg_buf_append_str(buf, "\n| not passed | decided by | first difference |\n|---|---|---|\n");
        some = true;
        mrg_buf_append_str(buf, "| ");
        mrg_report_name(buf, score, trial);
        mrg_buf_appendf(buf, " | %s | ", trial->error ? "not run" : mrg_report_decided(trial->decided));
        append_cell(buf, trial->why);
        mrg_buf_append_str(buf, " |\n");
    }
}

void mrg_report_markdown(struct mrg_buf *buf, const struct mrg_score *score)
{
    struct mrg_interval interval = mrg_wilson(score->all.passed, score->all.scored);
    append_groups(buf, "dependency", &score->dependencies, &score->all);
    append_groups(buf, "category", &score->categories, &score->all);
    mrg_buf_appendf(
        buf,
        "Total pass %zu of %zu, %.1f %% (95 %% interval %.1f to %.1f); mean of the dependencies %.1f %%; ",
        score->all.passed, score->all.scored, mrg_report_percent(score->all.passed, score->all.scored),
        100 * interval.low, 100 * interval.high, 100 * score->mean);
    mrg_buf_appendf(buf,
                    "without judges %zu. Per response: status %.1f %%, status and shape %.1f %% of %zu.\n",
                    score->all.passed_alone, mrg_report_percent(score->status_same, score->calls),
                    mrg_report_percent(score->shape_same, score->calls), score->calls);
    append_failures(buf, score);
}
