// SPDX-License-Identifier: Apache-2.0
/*
 * Lane: the way to one model at one endpoint with one key: who waits for a place, and how many are on it.
 *
 * Calls past the model's `concurrency` wait here, without a handle of the library. Thread: the client's only.
 */
#pragma once

#include "llm/call.h"
#include "util/list.h"

struct mrg_llm_lane {
    struct mrg_list node; /* in the client's list of lanes */
    enum mrg_provider provider;
    char *base_url;
    char *model;
    char *key;     /* NULL: none is sent */
    char *url;     /* where requests go */
    void *headers; /* the client's list of header lines; freed by `free_headers` */
    void (*free_headers)(void *headers);
    struct mrg_list queue; /* calls whose turn it is, in order */
    unsigned active;       /* requests in flight */
    unsigned concurrency;  /* the most that any of its calls allows */
    unsigned refs;         /* calls that use it */
};

/* The lane that fits the call, made when there is none; *ret_new says so, and the caller then sets
 * headers. */
struct mrg_llm_lane *mrg_llm_lane_get(struct mrg_list *lanes, const struct mrg_llm_call *call, bool *ret_new);
void mrg_llm_lane_put(struct mrg_llm_lane *lane); /* NULL is allowed */

/* Queues a call: at the end, or (one that has waited already) at the front. */
void mrg_llm_lane_push(struct mrg_llm_lane *lane, struct mrg_llm_call *call, bool front);
/* The next call if there is a place for it, which it then holds until mrg_llm_lane_leave; else NULL. */
struct mrg_llm_call *mrg_llm_lane_pop(struct mrg_llm_lane *lane);
void mrg_llm_lane_leave(struct mrg_llm_lane *lane);
