// SPDX-License-Identifier: Apache-2.0
/*
 * Schedule: where every call of a client stands: in its lane, in flight, or waiting for a time.
 *
 * Moves no bytes and calls nobody back. Thread: the client's only.
 */
#pragma once

#include "llm/lane.h"

struct mrg_llm_schedule {
    struct mrg_list heads;   /* struct mrg_llm_head */
    struct mrg_list lanes;   /* struct mrg_llm_lane */
    struct mrg_list active;  /* calls in flight */
    struct mrg_list waiting; /* calls by due, the earliest first */
};

void mrg_llm_schedule_init(struct mrg_llm_schedule *schedule);

/* A new call: gives it lane and head, and puts it at the end of the lane. True when the lane is new. */
bool mrg_llm_schedule_admit(struct mrg_llm_schedule *schedule, struct mrg_llm_call *call);
/* Takes the call off and gives lane and head back; also for one that was never admitted. */
void mrg_llm_schedule_release(struct mrg_llm_call *call);

/* The next call that may go, now ACTIVE; NULL when there is none. Those whose wait is over go first. */
struct mrg_llm_call *mrg_llm_schedule_next(struct mrg_llm_schedule *schedule, uint64_t now);
/* An ACTIVE call's attempt is over: it leaves its place. One of the three below must follow, or _release. */
void mrg_llm_schedule_land(struct mrg_llm_call *call);
void mrg_llm_schedule_again(struct mrg_llm_call *call);
void mrg_llm_schedule_wait(struct mrg_llm_schedule *schedule, struct mrg_llm_call *call, uint64_t due);

/* Milliseconds until a wait is over, `most` at most. */
int mrg_llm_schedule_idle(const struct mrg_llm_schedule *schedule, uint64_t now, int most);
/* Requests that all lanes together may have in flight. */
unsigned mrg_llm_schedule_places(const struct mrg_llm_schedule *schedule);
/* Any call that is left; NULL: none. */
struct mrg_llm_call *mrg_llm_schedule_any(const struct mrg_llm_schedule *schedule);
