// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "fidelity/report_int.h"
#include "util/json.h"

static void append_group(struct mrg_buf *buf, const struct mrg_group *group)
{
    mrg_buf_appendf(buf, "{\"scored\":%zu,\"passed\":%zu,\"passed_alone\":%zu,\"key_level\":%zu}",
                    group->scored, group->passed, group->passed_alone, group->key_level);
}

static void append_groups(struct mrg_buf *buf, const char *name, const struct mrg_groups *groups)
{
    mrg_buf_appendf(buf, ",\"%s\":{", name);
    for (size_t i = 0; i < groups->count; i++) {
        if (i > 0)
            mrg_buf_append_char(buf, ',');
        mrg_json_append_string(buf, mrg_slice_of(groups->items[i].name));
        mrg_buf_append_char(buf, ':');
        append_group(buf, &groups->items[i]);
    }
    mrg_buf_append_char(buf, '}');
}

static void append_trial(struct mrg_buf *buf, const struct mrg_trial_score *trial)
{
    mrg_buf_append_str(buf, "{\"name\":");
    mrg_json_append_string(buf, mrg_slice_of(trial->trial->scenario));
    mrg_buf_appendf(buf, ",\"repeat\":%u,\"passed\":%s,\"passed_alone\":%s,\"key_level\":%s",
                    trial->trial->repeat, trial->passed ? "true" : "false",
                    trial->passed_alone ? "true" : "false", trial->key_level ? "true" : "false");
    if (trial->error)
        mrg_buf_append_str(buf, ",\"error\":true");
    else
        mrg_buf_appendf(buf, ",\"decided\":\"%s\"", mrg_report_decided(trial->decided));
    if (trial->why[0]) {
        mrg_buf_append_str(buf, ",\"why\":");
        mrg_json_append_string(buf, mrg_slice_of(trial->why));
    }
    mrg_buf_append_char(buf, '}');
}

static void append_against(struct mrg_buf *buf, const struct mrg_difference *other)
{
    mrg_buf_appendf(buf, ",\"against\":{\"pairs\":%zu,\"only_here\":%zu,\"only_there\":%zu", other->pairs,
                    other->first, other->second);
    mrg_buf_appendf(buf, ",\"difference\":%.4f,\"interval\":[%.4f,%.4f]}", other->difference,
                    other->interval.low, other->interval.high);
}

static void append_score(struct mrg_buf *buf, const struct mrg_score *score)
{
    struct mrg_interval interval = mrg_wilson(score->all.passed, score->all.scored);
    mrg_buf_append_str(buf, "\"score\":{\"all\":");
    append_group(buf, &score->all);
    mrg_buf_appendf(buf, ",\"interval\":[%.4f,%.4f],\"mean\":%.4f,\"errors\":%zu", interval.low,
                    interval.high, score->mean, score->errors);
    append_groups(buf, "dependencies", &score->dependencies);
    append_groups(buf, "categories", &score->categories);
    mrg_buf_append_str(buf, ",\"decided\":{");
    for (size_t i = 0; i < MRG_DECIDED_COUNT; i++)
        mrg_buf_appendf(buf, "%s\"%s\":%zu", i > 0 ? "," : "", mrg_report_decided((enum mrg_decided)i),
                        score->decided[i]);
    mrg_buf_appendf(buf, "},\"calls\":%zu,\"left_out\":%zu,\"status_same\":%zu,\"shape_same\":%zu",
                    score->calls, score->left_out, score->status_same, score->shape_same);
    if (score->against)
        append_against(buf, score->against);
    mrg_buf_appendf(buf, ",\"repeated\":%zu,\"steady\":%zu,\"scenarios\":[", score->scenarios, score->steady);
    for (size_t i = 0; i < score->result->trial_count; i++) {
        mrg_buf_append_str(buf, i > 0 ? ",\n  " : "\n  ");
        append_trial(buf, &score->trials[i]);
    }
    mrg_buf_append_str(buf, "]},\n");
}

void mrg_report_json(struct mrg_buf *buf, const struct mrg_score *score)
{
    struct mrg_buf result;
    mrg_buf_init(&result, SIZE_MAX);
    mrg_result_append_json(&result, score->result);
    /* Before the scenarios, so that a reader sees it first. */
    const char *scenarios = strstr(result.data, "\"scenarios\":[\n");
    size_t head = scenarios ? (size_t)(scenarios - result.data) : 0;
    mrg_buf_append(buf, result.data, head);
    if (head > 0)
        append_score(buf, score);
    mrg_buf_append(buf, result.data + head, result.len - head);
    mrg_buf_done(&result);
}
