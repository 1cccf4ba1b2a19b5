// SPDX-License-Identifier: Apache-2.0
/*
 * Runner: makes a scenario's calls on the real side and on the simulated side, and keeps what came back.
 *
 * Both sides are reset before each scenario. References are filled in on both sides alike, each from its own
 * replies; one whose reply did not have the value is "missing-name". With several jobs each has a session of its own on
 * the simulated side, and a process of its own on the real one. Main thread; jobs have threads of their own.
 */
#pragma once

#include "clients/client.h"
#include "fidelity/result.h"
#include "fidelity/scenario.h"

/* Where calls to one name go. Of several targets of a name the first is meant; an HTTP one beside it takes what the first
 * one's wire cannot express, resets and announcements. */
struct mrg_run_target {
    const char *name;  /* a scenario's dependency or a call's target; NULL: every name */
    const char *url;   /* with a path: calls' paths stand behind it */
    const char *reset; /* path that is POSTed to before each scenario; NULL: none */
};
struct mrg_run_side {
    const struct mrg_run_target *targets; /* as given */
    size_t count;                         /* of targets */
};

struct mrg_run_options {
    struct mrg_run_side real, simulated;
    const char *
        real_command; /* shell command that starts a fresh real side, whose first line of output has its URL, or
                                 NAME=URL for each name; it takes the place of real.targets, whose resets it keeps. NULL */
    const char *label;   /* kept with the result; NULL: "" */
    bool inject;         /* announce each scenario to the simulation */
    unsigned repeat;     /* times each scenario is run; 0: once */
    unsigned jobs;       /* side by side, each in a session of its own; 0: one, in the default session */
    uint64_t timeout_ms; /* one call; 0: MRG_CALL_TIMEOUT_MS */
    const struct mrg_schema *schema; /* gRPC; NULL: by reflection */
    const char *ca_file;             /* NULL: the system's */
    /* After each trial, on the caller's thread; may be NULL. `left_ms` is an estimate. */
    void (*progress)(void *ctx, size_t done, size_t total, uint64_t left_ms, const char *scenario);
    void *ctx;
};

/* Kills all processes that real_command has started. Async-signal-safe: for the handler of a signal that ends the program. */
void mrg_run_kill(void);

/*
 * Runs all and keeps what came back. A trial whose reset failed, or whose real side did not start, carries `error`.
 * UNAVAILABLE: a target that never answered, with its name; INVALID: a URL, or a scenario's target that has none.
 */
enum mrg_err mrg_run(const struct mrg_scenarios *scenarios, const struct mrg_run_options *options,
                     struct mrg_arena *arena, struct mrg_result *ret_result, struct mrg_error *err);
