// SPDX-License-Identifier: Apache-2.0
#include "fidelity/score.h"

#include <string.h>

static void fail(struct mrg_trial_score *trial, enum mrg_decided decided, const char *why)
{
    trial->passed = trial->passed_alone = false;
    trial->decided = decided;
    trial->why = why;
}

static const char *finding_text(struct mrg_arena *arena, size_t call, const struct mrg_finding *finding)
{
    return mrg_arena_printf(arena, "call %zu: %s: %s", call + 1, finding->path, finding->text);
}

/* The first call that decides: the gate's before the oracle's, and what is different before what is uncertain. */
static void sum_up(struct mrg_trial_score *trial, struct mrg_arena *arena)
{
    const char *gate = NULL, *different = NULL, *uncertain = NULL;
    for (size_t i = 0; i < trial->trial->call_count; i++) {
        const struct mrg_comparison *comparison = &trial->calls[i].comparison;
        if (trial->calls[i].left_out)
            continue;
        for (size_t j = 0; j < comparison->finding_count; j++) {
            const struct mrg_finding *finding = &comparison->findings[j];
            const char **slot = finding->verdict == MRG_VERDICT_UNCERTAIN ? &uncertain
                                : finding->stage == MRG_STAGE_GATE        ? &gate
                                                                          : &different;
            if (!*slot)
                *slot = finding_text(arena, i, finding);
        }
    }
    trial->key_level = !gate;
    trial->passed = trial->passed_alone = true;
    trial->decided = MRG_DECIDED_ORACLE;
    trial->why = "";
    trial->uncertain = !gate && !different && uncertain;
    if (gate)
        fail(trial, MRG_DECIDED_GATE, gate);
    else if (different)
        fail(trial, MRG_DECIDED_ORACLE, different);
    else if (uncertain)
        fail(trial, MRG_DECIDED_NOBODY, uncertain);
}

/* A simulation that gives no reply has not passed the gate. */
static void no_answer(const struct mrg_exchanged *side, struct mrg_arena *arena,
                      struct mrg_comparison *ret_comparison)
{
    struct mrg_finding *finding = mrg_arena_zalloc(arena, sizeof(*finding));
    *finding = (struct mrg_finding){MRG_STAGE_GATE, MRG_VERDICT_DIFFERENT, "status",
                                    mrg_arena_printf(arena, "no answer: %s", side->error)};
    *ret_comparison =
        (struct mrg_comparison){.verdict = MRG_VERDICT_DIFFERENT, .findings = finding, .finding_count = 1};
}

static void score_call(struct mrg_compare *compare, const struct mrg_result_call *call,
                       struct mrg_arena *arena, struct mrg_call_score *ret_score)
{
    ret_score->left_out = call->left_out != NULL;
    mrg_compare_requests(compare, &call->real.request, &call->simulated.request);
    if (call->simulated.error)
        no_answer(&call->simulated, arena, &ret_score->comparison);
    else
        mrg_compare_replies(compare, &call->real.reply, &call->simulated.reply, arena,
                            &ret_score->comparison);
}

static const char *error_of(const struct mrg_trial *trial, struct mrg_arena *arena)
{
    if (trial->error)
        return trial->error;
    for (size_t i = 0; i < trial->call_count; i++)
        if (trial->calls[i].real.error)
            return mrg_arena_printf(arena, "call %zu: the real side gave no answer: %s", i + 1,
                                    trial->calls[i].real.error);
    return NULL;
}

static enum mrg_err score_trial(const struct mrg_trial *trial, struct mrg_arena *arena,
                                struct mrg_trial_score *ret_score, struct mrg_error *err)
{
    struct mrg_compare *compare = NULL;
    *ret_score = (struct mrg_trial_score){.trial = trial, .error = error_of(trial, arena)};
    ret_score->calls = mrg_arena_zalloc(arena, (trial->call_count + 1) * sizeof(*ret_score->calls));
    if (ret_score->error) {
        fail(ret_score, MRG_DECIDED_NOBODY, ret_score->error);
        return MRG_ERR_OK;
    }
    enum mrg_err code = mrg_compare_new(&trial->rules, &compare, err);
    if (code)
        return mrg_error_wrap(err, "%s", trial->scenario);
    for (size_t i = 0; i < trial->call_count; i++)
        score_call(compare, &trial->calls[i], arena, &ret_score->calls[i]);
    mrg_compare_free(compare);
    sum_up(ret_score, arena);
    return MRG_ERR_OK;
}

static struct mrg_group *group_of(struct mrg_groups *groups, const char *name)
{
    for (size_t i = 0; i < groups->count; i++)
        if (strcmp(groups->items[i].name, name) == 0)
            return &groups->items[i];
    groups->items[groups->count] = (struct mrg_group){.name = name};
    return &groups->items[groups->count++];
}

static void count_in(struct mrg_group *group, const struct mrg_trial_score *trial)
{
    group->scored++;
    group->passed += trial->passed;
    group->passed_alone += trial->passed_alone;
    group->key_level += trial->key_level;
}

static void count_calls(struct mrg_score *score, const struct mrg_trial_score *trial)
{
    for (size_t i = 0; i < trial->trial->call_count; i++) {
        score->left_out += trial->calls[i].left_out;
        if (trial->calls[i].left_out)
            continue;
        score->calls++;
        score->status_same += trial->calls[i].comparison.status_same;
        score->shape_same += trial->calls[i].comparison.status_same && trial->calls[i].comparison.shape_same;
    }
}

/* Repeats of a scenario stand side by side. */
static void count_steady(struct mrg_score *score)
{
    size_t count = score->result->trial_count;
    for (size_t i = 0, next; i < count; i = next) {
        bool same = true;
        for (next = i + 1; next < count &&
                           strcmp(score->trials[next].trial->scenario, score->trials[i].trial->scenario) == 0;
             next++)
            same &= score->trials[next].passed == score->trials[i].passed;
        score->scenarios += next > i + 1;
        score->steady += next > i + 1 && same;
    }
}

static void clear(struct mrg_score *score)
{
    *score = (struct mrg_score){.result = score->result,
                                .arena = score->arena,
                                .trials = score->trials,
                                .against = score->against,
                                .against_label = score->against_label,
                                .dependencies.items = score->dependencies.items,
                                .categories.items = score->categories.items};
}

void mrg_score_total(struct mrg_score *score)
{
    clear(score);
    for (size_t i = 0; i < score->result->trial_count; i++) {
        const struct mrg_trial_score *trial = &score->trials[i];
        if (trial->error) {
            score->errors++;
            continue;
        }
        count_in(&score->all, trial);
        count_in(group_of(&score->dependencies, trial->trial->dependency), trial);
        count_in(group_of(&score->categories, trial->trial->category), trial);
        score->decided[trial->decided]++;
        count_calls(score, trial);
    }
    for (size_t i = 0; i < score->dependencies.count; i++) {
        const struct mrg_group *group = &score->dependencies.items[i];
        score->mean += (double)group->passed / (double)group->scored / (double)score->dependencies.count;
    }
    count_steady(score);
}

enum mrg_err mrg_score_result(const struct mrg_result *result, struct mrg_arena *arena,
                              struct mrg_score *ret_score, struct mrg_error *err)
{
    size_t room = result->trial_count + 1;
    struct mrg_score score = {.result = result, .arena = arena};
    score.trials = mrg_arena_zalloc(arena, room * sizeof(*score.trials));
    score.dependencies.items = mrg_arena_zalloc(arena, room * sizeof(struct mrg_group));
    score.categories.items = mrg_arena_zalloc(arena, room * sizeof(struct mrg_group));
    for (size_t i = 0; i < result->trial_count; i++) {
        enum mrg_err code = score_trial(&result->trials[i], arena, &score.trials[i], err);
        if (code)
            return code;
    }
    mrg_score_total(&score);
    *ret_score = score;
    return MRG_ERR_OK;
}
