// SPDX-License-Identifier: Apache-2.0
#include "fidelity/runner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/limits.h"
#include "fidelity/runner_int.h"
#include "util/clock.h"
#include "util/thread.h"

/* A run: jobs take trials by their number and leave each one's JSON. */
struct run {
    const struct mrg_scenarios *scenarios;
    const struct mrg_run_options *options;
    unsigned repeat, jobs;
    size_t total; /* trials */
    atomic_bool real_reached, simulated_reached;
    pthread_mutex_t lock;    /* guards all below */
    pthread_cond_t finished; /* a trial, or a job */
    size_t next;             /* trial to take */
    size_t done;             /* trials finished */
    size_t running;          /* jobs */
    const char *last;        /* scenario that finished last */
    char **texts;            /* each trial's JSON; NULL until it is finished */
    enum mrg_err code;       /* of the run */
    struct mrg_error err;
};

/* A job's thread. */
struct worker {
    struct run *run;
    pthread_t thread;
    char session[40];
};

static bool take(struct run *run, size_t *ret_trial)
{
    pthread_mutex_lock(&run->lock);
    bool more = !run->code && run->next < run->total;
    if (more)
        *ret_trial = run->next++;
    pthread_mutex_unlock(&run->lock);
    return more;
}

/*
 * What a real service sends may be more than a result can hold (core/limits.h says how much a reply may be): that is one trial's
 * error, and nothing else is lost.
 */
static void append_checked(struct mrg_buf *buf, const struct mrg_trial *trial, struct mrg_arena *arena)
{
    struct mrg_error err;
    struct mrg_buf document;
    struct mrg_result result;
    mrg_buf_init(&document, SIZE_MAX);
    mrg_buf_append_str(&document, "{\"format\":\"" MRG_RESULT_FORMAT "\",\"scenarios\":[");
    mrg_trial_append_json(&document, trial);
    mrg_buf_append_str(&document, "]}");
    if (mrg_result_parse(arena, mrg_buf_slice(&document), &result, &err)) {
        struct mrg_trial broken = *trial;
        broken.call_count = 0;
        broken.error = mrg_arena_printf(arena, "a reply cannot be kept: %s", err.message);
        mrg_trial_append_json(buf, &broken);
    } else {
        mrg_trial_append_json(buf, trial);
    }
    mrg_buf_done(&document);
}

static void leave(struct run *run, size_t number, const struct mrg_trial *trial, struct mrg_arena *arena,
                  enum mrg_err code, const struct mrg_error *err)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    if (!code)
        append_checked(&buf, trial, arena);
    pthread_mutex_lock(&run->lock);
    if (code && !run->code) {
        run->code = code;
        run->err = *err;
    }
    if (!code)
        run->texts[number] = mrg_buf_take(&buf, NULL);
    run->done++;
    run->last = run->scenarios->items[number / run->repeat].name;
    pthread_cond_signal(&run->finished);
    pthread_mutex_unlock(&run->lock);
    mrg_buf_done(&buf);
}

static void *work(void *ctx)
{
    struct worker *worker = ctx;
    struct run *run = worker->run;
    struct mrg_job job = {.options = run->options};
    size_t number;
    job.real = (struct mrg_job_side){.title = "real", .reached = &run->real_reached};
    job.simulated = (struct mrg_job_side){.title = "simulated", .reached = &run->simulated_reached};
    job.simulated.session = run->jobs > 1 ? worker->session : NULL;
    if (!run->options->real_command)
        mrg_job_side_init(&job.real, run->options->real);
    mrg_job_side_init(&job.simulated, run->options->simulated);
    while (take(run, &number)) {
        struct mrg_trial trial;
        struct mrg_error err = {.code = MRG_ERR_OK};
        const struct mrg_scenario *scenario = &run->scenarios->items[number / run->repeat];
        job.arena = mrg_arena_new(0);
        enum mrg_err code = mrg_job_play(&job, scenario, (unsigned)(number % run->repeat) + 1, &trial, &err);
        leave(run, number, &trial, job.arena, code, &err);
        mrg_arena_free(job.arena);
    }
    if (!run->options->real_command)
        mrg_job_side_done(&job.real);
    mrg_job_side_done(&job.simulated);
    pthread_mutex_lock(&run->lock);
    run->running--;
    pthread_cond_signal(&run->finished);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* Tells of each trial that finishes, until all jobs have ended. */
static void watch(struct run *run)
{
    uint64_t begun = mrg_clock_ms();
    size_t told = 0;
    pthread_mutex_lock(&run->lock);
    while (run->running > 0 || told < run->done) {
        while (told == run->done && run->running > 0)
            pthread_cond_wait(&run->finished, &run->lock);
        size_t done = run->done;
        const char *last = run->last;
        if (told == done)
            continue;
        told = done;
        pthread_mutex_unlock(&run->lock);
        uint64_t left = (mrg_clock_ms() - begun) * (run->total - done) / done;
        if (run->options->progress)
            run->options->progress(run->options->ctx, done, run->total, left, last);
        pthread_mutex_lock(&run->lock);
    }
    pthread_mutex_unlock(&run->lock);
}

static void run_jobs(struct run *run)
{
    struct worker *workers = mrg_zalloc(run->jobs * sizeof(*workers));
    unsigned started = 0;
    for (; started < run->jobs; started++) {
        struct worker *worker = &workers[started];
        worker->run = run;
        snprintf(worker->session, sizeof(worker->session), "verify-%ld-%u", (long)getpid(), started + 1);
        pthread_mutex_lock(&run->lock);
        run->running++;
        pthread_mutex_unlock(&run->lock);
        if (mrg_thread_start(&worker->thread, "verify", work, worker) != 0)
            break;
    }
    if (started < run->jobs) {
        pthread_mutex_lock(&run->lock);
        run->running--;
        if (started == 0)
            run->code = mrg_error_set(&run->err, MRG_ERR_INTERNAL, "no thread could be started");
        pthread_mutex_unlock(&run->lock);
    }
    watch(run);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    free(workers);
}

static const char *wire_of(const struct mrg_run_side *side)
{
    const char *wire = "";
    for (size_t i = 0; i < side->count; i++) {
        const char *url = side->targets[i].url;
        const char *own = strncmp(url, "http", 4) == 0   ? "http"
                          : strncmp(url, "grpc", 4) == 0 ? "grpc"
                                                         : "zmq";
        bool second = false;
        for (size_t j = 0; j < i && side->targets[i].name && !second; j++)
            second = side->targets[j].name && strcmp(side->targets[i].name, side->targets[j].name) == 0;
        if (second)
            continue;
        if (wire[0] && strcmp(wire, own) != 0)
            return "";
        wire = own;
    }
    return wire;
}

static const char *urls_of(struct mrg_arena *arena, const struct mrg_run_side *side, const char *command)
{
    struct mrg_buf buf;
    if (command)
        return mrg_arena_strdup(arena, command);
    mrg_buf_init(&buf, SIZE_MAX);
    for (size_t i = 0; i < side->count; i++) {
        const struct mrg_run_target *target = &side->targets[i];
        mrg_buf_appendf(&buf, "%s%s%s%s", i > 0 ? " " : "", target->name ? target->name : "",
                        target->name ? "=" : "", target->url);
    }
    const char *text = mrg_arena_memdup(arena, buf.data ? buf.data : "", buf.len);
    mrg_buf_done(&buf);
    return text;
}

/* The trials were left as text, so that their arenas could go; here they come back into one. */
static enum mrg_err gather(struct run *run, struct mrg_arena *arena, struct mrg_result *ret_result,
                           struct mrg_error *err)
{
    struct mrg_buf buf;
    char started[MRG_CLOCK_TEXT];
    struct mrg_result head = {.label = run->options->label ? run->options->label : "", .started = started};
    mrg_clock_rfc3339_of(mrg_clock_wall_ms(), started);
    head.wire = wire_of(&run->options->simulated);
    head.real = urls_of(arena, &run->options->real, run->options->real_command);
    head.simulated = urls_of(arena, &run->options->simulated, NULL);
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_result_append_json(&buf, &head);
    buf.len -= strlen("]}\n");
    for (size_t i = 0; i < run->total; i++)
        mrg_buf_appendf(&buf, "%s%s", i > 0 ? ",\n" : "", run->texts[i]);
    mrg_buf_append_str(&buf, "]}");
    enum mrg_err code = mrg_result_parse(arena, mrg_buf_slice(&buf), ret_result, err);
    mrg_buf_done(&buf);
    return code;
}

enum mrg_err mrg_run(const struct mrg_scenarios *scenarios, const struct mrg_run_options *options,
                     struct mrg_arena *arena, struct mrg_result *ret_result, struct mrg_error *err)
{
    struct run run = {.scenarios = scenarios, .options = options};
    for (size_t i = 0; i < scenarios->count; i++) {
        enum mrg_err code = MRG_ERR_OK;
        if (!options->real_command)
            code = mrg_job_side_check(&options->real, &scenarios->items[i], "real", err);
        if (!code)
            code = mrg_job_side_check(&options->simulated, &scenarios->items[i], "simulated", err);
        if (code)
            return code;
    }
    run.repeat = options->repeat ? options->repeat : 1;
    run.total = scenarios->count * run.repeat;
    run.jobs = options->jobs ? options->jobs : 1;
    if (run.jobs > run.total)
        run.jobs = run.total > 0 ? (unsigned)run.total : 1;
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.finished, NULL);
    run.texts = mrg_zalloc((run.total + 1) * sizeof(*run.texts));
    run_jobs(&run);
    enum mrg_err code = run.code;
    if (code)
        mrg_error_set(err, code, "%s", run.err.message);
    else
        code = gather(&run, arena, ret_result, err);
    for (size_t i = 0; i < run.total; i++)
        free(run.texts[i]);
    free(run.texts);
    pthread_cond_destroy(&run.finished);
    pthread_mutex_destroy(&run.lock);
    return code;
}
