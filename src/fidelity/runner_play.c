// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "fidelity/runner_int.h"
#include "util/json.h"

/* A trial being run. */
struct play {
    struct mrg_job *job;
    const struct mrg_scenario *scenario;
    struct mrg_kepts real, simulated;
    bool unreachable; /* a side has never answered */
};

static enum mrg_err reset_side(struct mrg_job *job, struct mrg_job_side *side, struct mrg_error *err)
{
    for (size_t i = 0; i < side->targets.count; i++) {
        const struct mrg_run_target *target = &side->targets.targets[i];
        size_t over = target->name ? mrg_job_side_find(side, target->name, true) : i;
        bool again = target->name && mrg_job_side_find(side, target->name, false) != i;
        if (!target->reset || again)
            continue;
        enum mrg_err code = mrg_job_post(job, side, over, target->reset, (struct mrg_slice){NULL, 0}, err);
        if (code)
            return code;
    }
    return MRG_ERR_OK;
}

/* Name and calls as the scenario's file has them: what the paper's harness tells its mock. */
static struct mrg_slice announcement(struct mrg_arena *arena, const struct mrg_scenario *scenario)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, "{\"name\":");
    mrg_json_append_string(&buf, mrg_slice_of(scenario->name));
    mrg_buf_append_str(&buf, ",\"calls\":[");
    for (size_t i = 0; i < scenario->call_count; i++) {
        mrg_buf_append_str(&buf, i > 0 ? ",{\"method\":" : "{\"method\":");
        mrg_json_append_string(&buf, mrg_slice_of(scenario->calls[i].method));
        mrg_buf_append_str(&buf, ",\"path\":");
        mrg_json_append_string(&buf, mrg_slice_of(scenario->calls[i].path));
        mrg_buf_append_char(&buf, '}');
    }
    mrg_buf_append_str(&buf, "]}");
    return mrg_arena_take_buf(arena, &buf);
}

static enum mrg_err announce(struct mrg_job *job, const struct mrg_scenario *scenario, struct mrg_error *err)
{
    size_t target = mrg_job_side_find(&job->simulated, scenario->dependency, true);
    if (target == SIZE_MAX)
        return MRG_ERR_OK;
    return mrg_job_post(job, &job->simulated, target, "/__mock__/scenario",
                        announcement(job->arena, scenario), err);
}

static const char *target_name(const struct play *play, const struct mrg_scenario_call *call)
{
    return call->target ? call->target : play->scenario->dependency;
}

/* One side of a call, by the wire that its first target has, or over HTTP. */
static enum mrg_err ask(struct play *play, struct mrg_job_side *side, const struct mrg_scenario_call *call,
                        bool http, struct mrg_exchanged *exchanged, struct mrg_error *err)
{
    struct mrg_client_reply reply = {.duration_us = 0};
    const char *name = target_name(play, call);
    size_t target = mrg_job_side_find(side, name, http);
    enum mrg_err code = mrg_job_send(play->job, side, target, &exchanged->request, &reply, err);
    exchanged->error = code ? mrg_arena_strdup(play->job->arena, err->message) : NULL;
    exchanged->reply = reply.reply;
    exchanged->duration_us = reply.duration_us;
    if (code == MRG_ERR_UNAVAILABLE && !atomic_load(side->reached)) {
        play->unreachable = true;
        mrg_error_wrap(err, "the %s side", side->title);
    }
    return code;
}

static bool is_misfit(enum mrg_err code)
{
    return code == MRG_ERR_INVALID || code == MRG_ERR_UNSUPPORTED || code == MRG_ERR_NOT_FOUND;
}

/* What cannot be said over one wire is said over HTTP, if it can: what follows must find its effects. */
static void leave_out(struct play *play, const struct mrg_scenario_call *call, struct mrg_result_call *made,
                      struct mrg_error *err)
{
    const char *name = target_name(play, call);
    size_t real = mrg_job_side_find(&play->job->real, name, true);
    size_t simulated = mrg_job_side_find(&play->job->simulated, name, true);
    made->left_out = made->real.error;
    made->real.error = made->simulated.error = NULL;
    if (real == mrg_job_side_find(&play->job->real, name, false) ||
        simulated == mrg_job_side_find(&play->job->simulated, name, false))
        return;
    ask(play, &play->job->real, call, true, &made->real, err);
    ask(play, &play->job->simulated, call, true, &made->simulated, err);
}

static enum mrg_err make_call(struct play *play, const struct mrg_scenario_call *call,
                              struct mrg_result_call *made, struct mrg_error *err)
{
    struct mrg_arena *arena = play->job->arena;
    struct mrg_error why = {.code = MRG_ERR_OK};
    mrg_fill_request(arena, call, &play->real, &made->real.request);
    mrg_fill_request(arena, call, &play->simulated, &made->simulated.request);
    enum mrg_err code = ask(play, &play->job->real, call, false, &made->real, &why);
    if (is_misfit(code))
        leave_out(play, call, made, &why);
    else if (!play->unreachable)
        ask(play, &play->job->simulated, call, false, &made->simulated, &why);
    mrg_fill_save(arena, call, made->real.error ? NULL : &made->real.reply, &play->real);
    mrg_fill_save(arena, call, made->simulated.error ? NULL : &made->simulated.reply, &play->simulated);
    return play->unreachable ? mrg_error_set(err, MRG_ERR_UNAVAILABLE, "%s", why.message) : MRG_ERR_OK;
}

static enum mrg_err make_calls(struct play *play, struct mrg_trial *trial, struct mrg_error *err)
{
    const struct mrg_scenario *scenario = play->scenario;
    trial->calls = mrg_arena_zalloc(play->job->arena, scenario->call_count * sizeof(*trial->calls));
    for (size_t i = 0; i < scenario->call_count; i++) {
        enum mrg_err code = make_call(play, &scenario->calls[i], &trial->calls[trial->call_count++], err);
        if (code)
            return code;
    }
    return MRG_ERR_OK;
}

/* A side that cannot be brought to its start is the trial's error, or the run's when it was never reached. */
static enum mrg_err prepare(struct mrg_job *job, const struct mrg_scenario *scenario, struct mrg_trial *trial,
                            struct mrg_error *err)
{
    struct mrg_job_side *sides[] = {&job->real, &job->simulated};
    for (size_t i = 0; i < MRG_ARRAY_LEN(sides); i++) {
        enum mrg_err code = reset_side(job, sides[i], err);
        if (code == MRG_ERR_UNAVAILABLE && !atomic_load(sides[i]->reached))
            return code;
        if (code)
            trial->error = mrg_arena_strdup(job->arena, err->message);
    }
    if (job->options->inject && !trial->error && announce(job, scenario, err))
        trial->error = mrg_arena_strdup(job->arena, err->message);
    return MRG_ERR_OK;
}

static enum mrg_err play_on(struct mrg_job *job, const struct mrg_scenario *scenario, struct mrg_trial *trial,
                            struct mrg_error *err)
{
    struct play play = {.job = job, .scenario = scenario};
    enum mrg_err code = prepare(job, scenario, trial, err);
    if (!code && !trial->error)
        code = make_calls(&play, trial, err);
    free(play.real.items);
    free(play.simulated.items);
    return code;
}

static enum mrg_err play_fresh(struct mrg_job *job, const struct mrg_scenario *scenario,
                               struct mrg_trial *trial, struct mrg_error *err)
{
    struct mrg_real_process process;
    if (mrg_real_start(job->arena, job->options, &process, err)) {
        trial->error = mrg_arena_strdup(job->arena, err->message);
        return MRG_ERR_OK;
    }
    mrg_job_side_init(&job->real, (struct mrg_run_side){process.targets, process.count});
    enum mrg_err code = MRG_ERR_OK;
    if (mrg_job_side_check(&job->real.targets, scenario, "real", err))
        trial->error = mrg_arena_strdup(job->arena, err->message);
    else
        code = play_on(job, scenario, trial, err);
    mrg_job_side_done(&job->real);
    mrg_real_stop(&process);
    return code;
}

enum mrg_err mrg_job_play(struct mrg_job *job, const struct mrg_scenario *scenario, unsigned repeat,
                          struct mrg_trial *ret_trial, struct mrg_error *err)
{
    *ret_trial = (struct mrg_trial){.scenario = scenario->name,
                                    .category = scenario->category,
                                    .dependency = scenario->dependency,
                                    .repeat = repeat,
                                    .rules = scenario->rules};
    return job->options->real_command ? play_fresh(job, scenario, ret_trial, err)
                                      : play_on(job, scenario, ret_trial, err);
}
