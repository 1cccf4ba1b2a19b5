// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <unistd.h>

#include "fidelity/judge_int.h"
#include "fidelity/yaml.h"
#include "util/json.h"

static const char *text_of(const struct mrg_node *entry, const char *key)
{
    const struct mrg_node *node = mrg_node_get(entry, key);
    return node && node->kind == MRG_NODE_SCALAR && !mrg_node_is_null(node) ? node->text : NULL;
}

/* An entry's verdict over the trials that it is of. Left open: nothing yet. */
static void apply(struct mrg_score *score, const struct mrg_node *entry, struct mrg_arena *arena,
                  struct mrg_problems *problems)
{
    char pair[MRG_PAIR_TEXT + 1];
    const char *scenario = text_of(entry, "scenario"), *of = text_of(entry, "pair");
    const char *verdict = text_of(entry, "verdict"), *why = text_of(entry, "why");
    if (entry->kind != MRG_NODE_MAP || !scenario || !of) {
        mrg_problems_add(problems, entry->mark, "expected a mapping with scenario, pair and verdict");
        return;
    }
    bool same = verdict && strcmp(verdict, "same") == 0;
    if (!verdict)
        return;
    if (!same && strcmp(verdict, "different") != 0) {
        mrg_problems_add(problems, mrg_node_mark_at(entry, "verdict"), "verdict: expected same or different");
        return;
    }
    for (size_t i = 0; i < score->result->trial_count; i++) {
        struct mrg_trial_score *trial = &score->trials[i];
        if (!trial->uncertain || strcmp(trial->trial->scenario, scenario) != 0)
            continue;
        mrg_pair_text(trial->trial, pair);
        if (strcmp(pair, of) == 0)
            mrg_trial_decide(trial, MRG_DECIDED_PERSON, same,
                             mrg_arena_printf(arena, "verdicts.yaml: %s", why ? why : "different"));
    }
}

static void apply_all(struct mrg_score *score, const struct mrg_node *list, struct mrg_arena *arena,
                      struct mrg_problems *problems)
{
    if (!list || mrg_node_is_null(list))
        return;
    if (list->kind != MRG_NODE_LIST)
        mrg_problems_add(problems, list->mark, "expected a list of verdicts; got %s",
                         mrg_node_kind_name(list));
    else
        for (const struct mrg_node *entry = list->first; entry; entry = entry->next)
            apply(score, entry, arena, problems);
}

enum mrg_err mrg_verdicts_apply(struct mrg_score *score, const char *file, struct mrg_arena *arena,
                                struct mrg_error *err)
{
    struct mrg_problems problems;
    struct mrg_node *list = NULL;
    if (access(file, F_OK) != 0)
        return MRG_ERR_OK;
    mrg_problems_init(&problems, file);
    enum mrg_err code = mrg_yaml_file(file, arena, &problems, &list, err);
    if (!code) {
        apply_all(score, list, arena, &problems);
        code = mrg_yaml_problem(&problems, err);
    }
    mrg_problems_done(&problems);
    if (code)
        return mrg_error_wrap(err, "--verdicts");
    mrg_score_total(score);
    return MRG_ERR_OK;
}

void mrg_verdicts_append_open(struct mrg_buf *buf, const struct mrg_score *score)
{
    char pair[MRG_PAIR_TEXT + 1];
    for (size_t i = 0; i < score->result->trial_count; i++) {
        const struct mrg_trial_score *trial = &score->trials[i];
        if (!trial->uncertain)
            continue;
        mrg_pair_text(trial->trial, pair);
        mrg_buf_append_str(buf, "- scenario: ");
        mrg_json_append_string(buf, mrg_slice_of(trial->trial->scenario));
        mrg_buf_appendf(buf, "\n  pair: \"%s\"\n  # ", pair);
        for (const char *at = trial->why; *at; at++)
            mrg_buf_append_char(buf, *at == '\n' ? ' ' : *at);
        mrg_buf_append_str(buf, "\n  verdict:      # same, or different\n  why:\n");
    }
}
