// SPDX-License-Identifier: Apache-2.0
/*
 * Runner, inside: what its files share. Nobody else includes it. Thread: each job has its own.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "fidelity/runner.h"

/* One side as a job uses it. */
struct mrg_job_side {
    struct mrg_run_side targets;
    struct mrg_client **clients; /* one for each target; opened when first needed */
    struct mrg_client *
        *controls; /* for resets and announcements over gRPC where the types are given: these say nothing of
                                     mirage.v1.Control, so it is asked for by reflection */
    const char **paths;   /* the URLs' own paths */
    const char *session;  /* "mirage-session" of all calls; NULL: none */
    const char *title;    /* "real", "simulated": for messages */
    atomic_bool *reached; /* whether any target of this side has ever answered */
};

/* A value that a side has saved. */
struct mrg_kept {
    const char *name;
    const char *value;
};
struct mrg_kepts {
    struct mrg_kept *items; /* as they were saved; a later one of a name counts */
    size_t count;           /* of items */
    size_t room;            /* allocated */
};

/* A job: its clients and the trial that it runs. */
struct mrg_job {
    const struct mrg_run_options *options;
    struct mrg_job_side real, simulated;
    struct mrg_arena *arena; /* of the trial */
};

/* Runs one scenario; the trial lies in the job's arena. UNAVAILABLE: a side that never answered. */
enum mrg_err mrg_job_play(struct mrg_job *job, const struct mrg_scenario *scenario, unsigned repeat,
                          struct mrg_trial *ret_trial, struct mrg_error *err);

/* INVALID: a call goes to a name that has no target on that side. */
enum mrg_err mrg_job_side_check(const struct mrg_run_side *targets, const struct mrg_scenario *scenario,
                                const char *title, struct mrg_error *err);
/* Opens no connection yet. */
void mrg_job_side_init(struct mrg_job_side *side, struct mrg_run_side targets);
void mrg_job_side_done(struct mrg_job_side *side);
/* The index of the target for a name; with `http` the one that is reached over HTTP, if there is one. SIZE_MAX: none. */
size_t mrg_job_side_find(const struct mrg_job_side *side, const char *name, bool http);
/* Sends to a target; the request's path stands behind the URL's own. */
enum mrg_err mrg_job_send(struct mrg_job *job, struct mrg_job_side *side, size_t target,
                          const struct mrg_request *request, struct mrg_client_reply *ret_reply,
                          struct mrg_error *err);
/* POSTs to a path of the target's server; an error status is INVALID. */
enum mrg_err mrg_job_post(struct mrg_job *job, struct mrg_job_side *side, size_t target, const char *path,
                          struct mrg_slice json, struct mrg_error *err);

/* The request of a call, references filled in. In the arena. */
void mrg_fill_request(struct mrg_arena *arena, const struct mrg_scenario_call *call,
                      const struct mrg_kepts *knowns, struct mrg_request *ret_request);
/* Keeps what the call saves; a value that is not there is "missing-name". reply NULL: none is. */
void mrg_fill_save(struct mrg_arena *arena, const struct mrg_scenario_call *call,
                   const struct mrg_reply *reply, struct mrg_kepts *knowns);

/* A fresh real side. */
struct mrg_real_process {
    pid_t pid; /* leader of its group */
    int output;
    struct mrg_run_target *targets; /* in the arena */
    size_t count;                   /* of targets */
};
/* TIMEOUT, UNAVAILABLE (it ended), INVALID (its first line has no URL): with that line. */
enum mrg_err mrg_real_start(struct mrg_arena *arena, const struct mrg_run_options *options,
                            struct mrg_real_process *ret_process, struct mrg_error *err);
/* Ends the whole group: SIGTERM, and SIGKILL when it takes too long. */
void mrg_real_stop(struct mrg_real_process *process);
