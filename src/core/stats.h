// SPDX-License-Identifier: Apache-2.0
/*
 * Stats: what was answered, by whom, and what it cost, by dependency; Prometheus text and the report at exit.
 *
 * Counters are atomic and only grow (but for `waiting`); they survive a reload (found again by name). Thread: any.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"

struct mrg_dependency_stats {
    char *name;                   /* the dependency's */
    atomic_ullong requests;       /* exchanges that took a turn */
    atomic_ullong from_cassette;  /* answered by the cassette */
    atomic_ullong from_llm;       /* answered by the language model */
    atomic_ullong from_other;     /* answered by another engine */
    atomic_ullong failed;         /* answered with a failure of Mirage's own */
    atomic_ullong missed;         /* of these: nothing recorded, in replay */
    atomic_ullong gone;           /* callers that hung up first */
    atomic_ullong unreachable;    /* replies over ZeroMQ that found their peer gone */
    atomic_ullong dropped;        /* replies over ZeroMQ that their peer did not read */
    atomic_ullong recorded;       /* cassette lines written */
    atomic_ullong lost;           /* cassette lines given up: paid for and not recorded */
    atomic_ullong record_retries; /* attempts to write cassette lines that failed */
    atomic_ullong waiting;        /* cassette lines on their way to the disk; goes up and down */
    atomic_ullong stale;          /* cassette answers whose evidence has changed since */
    atomic_ullong llm_calls;   /* requests to the provider that were answered, retries and repairs included */
    atomic_ullong llm_retries; /* attempts after 429, 5xx, 529 or a lost connection */
    atomic_ullong llm_repairs; /* replies sent back with their error */
    atomic_ullong llm_tokens_in;       /* tokens of prompts, cached ones included */
    atomic_ullong llm_tokens_cached;   /* of these, read from the provider's prompt cache */
    atomic_ullong llm_tokens_out;      /* tokens of replies */
    atomic_ullong llm_ms;              /* milliseconds spent waiting for the provider */
    struct mrg_dependency_stats *next; /* private */
};

struct mrg_stats;

struct mrg_stats *mrg_stats_new(void);
void mrg_stats_free(struct mrg_stats *stats);
/* The counters of a dependency, made at first; they live as long as stats. */
struct mrg_dependency_stats *mrg_stats_dependency(struct mrg_stats *stats, const char *name);

/* Prometheus text format 0.0.4, series named mirage_…_total{dependency="…"}: requests_total has a label
 * source; llm_calls_total, llm_tokens_total{kind="in|cached|out"}, llm_seconds_total … Those of one dependency, or of all when
 * it is NULL. */
void mrg_stats_append_prometheus(struct mrg_buf *buf, struct mrg_stats *stats, const char *dependency);
/* {"dependencies":[{"name":…,"requests":…,…}],"failed":N,"missed":N,"lost":N} */
void mrg_stats_append_json(struct mrg_buf *buf, struct mrg_stats *stats);
/* JUnit XML: one test case a dependency, failed when anything was missed, failed or lost. */
void mrg_stats_append_junit(struct mrg_buf *buf, struct mrg_stats *stats);
/* Whether any replay missed, any engine failed or any recorded reply was lost (--strict). */
bool mrg_stats_any_failure(struct mrg_stats *stats);
