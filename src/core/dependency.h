// SPDX-License-Identifier: Apache-2.0
/*
 * Dependency: what is simulated: its configuration, comparison and engine chain. Counted, immutable after it
 * is made.
 *
 * A reload makes new ones; exchanges in flight keep theirs. Thread: any.
 */
#pragma once

#include "core/config.h"
#include "core/engine.h"
#include "core/match.h"
#include "core/shape.h"
#include "core/stats.h"

struct mrg_dependency {
    atomic_uint refs;
    struct mrg_config *owner;                   /* a reference; holds `config` */
    const struct mrg_dependency_config *config; /* within owner */
    struct mrg_text *name;                      /* for records */
    struct mrg_match *match;                    /* its comparison */
    struct mrg_dependency_stats *stats;         /* its counters */
    struct mrg_shape *shape;                    /* owned; what is known of its messages; NULL: nothing */
    struct mrg_evidence *evidence;              /* owned; freed by `free_evidence` */
    void (*free_evidence)(struct mrg_evidence *evidence);
    struct mrg_engine **engines; /* the chain, in the order asked */
    size_t engine_count;
};

/*
 * Makes the comparison and the engines. Takes evidence and shape (each may be NULL) also on failure. Main
 * thread (engines may read files).
 */
enum mrg_err mrg_dependency_new(struct mrg_config *owner, const struct mrg_dependency_config *config,
                                struct mrg_evidence *evidence,
                                void (*free_evidence)(struct mrg_evidence *evidence), struct mrg_shape *shape,
                                struct mrg_services *services, struct mrg_stats *stats,
                                struct mrg_dependency **ret_dependency, struct mrg_error *err);
struct mrg_dependency *mrg_dependency_ref(struct mrg_dependency *dependency);
void mrg_dependency_unref(struct mrg_dependency *dependency);
