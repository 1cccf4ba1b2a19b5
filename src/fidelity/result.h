// SPDX-License-Identifier: Apache-2.0
/*
 * Result: what a run of verify kept: every request and every reply of both sides, whole. Scores are made from
 * it (fidelity/score.h) and from nothing else, so that a finished run can be scored again offline.
 *
 * As a file it is one JSON document (docs/fidelity.md has the form) with replies and requests in the normal form.
 * All of a result lies in one arena. Thread: whoever has it.
 */
#pragma once

#include <stdint.h>

#include "compare/compare.h"
#include "core/reply.h"
#include "core/request.h"
#include "util/arena.h"

#define MRG_RESULT_FORMAT "mirage-verify/1"

/* One side of one call. */
struct mrg_exchanged {
    struct mrg_request request; /* as sent, references filled in */
    struct mrg_reply reply;     /* when error is NULL */
    const char *error;          /* why there was no reply: not reached, too late, no reply at all; NULL */
    uint64_t duration_us;       /* 0: unknown */
};

struct mrg_result_call {
    struct mrg_exchanged real, simulated;
    const char *left_out; /* the wire cannot express the call: why; neither side was asked; NULL */
};

/* One scenario, run once. */
struct mrg_trial {
    const char *scenario;
    const char *category;   /* "" */
    const char *dependency; /* "" */
    unsigned repeat;        /* from 1 */
    struct mrg_compare_rules rules;
    struct mrg_result_call *calls;
    size_t call_count; /* of calls */
    const char *error; /* a reset failed or a target could not be reached: not scored; NULL */
};

struct mrg_result {
    const char *label;   /* --label: what was measured; "" */
    const char *started; /* RFC 3339, UTC; "" */
    const char *wire;    /* http, grpc, zmq, or "" when mixed */
    const char *real;    /* targets, as given; several joined by a blank */
    const char *simulated;
    struct mrg_trial *trials; /* in the order of the files, repeats of a scenario side by side */
    size_t trial_count;       /* of trials */
};

/* Appends the document, one line a call so that it diffs well; equal results give equal bytes. */
void mrg_result_append_json(struct mrg_buf *buf, const struct mrg_result *result);
/* The object of one trial, as in the document. */
void mrg_trial_append_json(struct mrg_buf *buf, const struct mrg_trial *trial);
/* INVALID: the place (scenarios[3].calls[0].real) and what was expected. The text need not live on. */
enum mrg_err mrg_result_parse(struct mrg_arena *arena, struct mrg_slice text, struct mrg_result *ret_result,
                              struct mrg_error *err);
