// SPDX-License-Identifier: Apache-2.0
/*
 * Use: which parts of the configured evidence a simulation is shown (evidence.use). Thread: any; no state.
 */
#pragma once

#include <stdbool.h>

#include "core/config.h"
#include "util/error.h"

/* The parts that a use takes, where they are configured. */
struct mrg_use_parts {
    bool source, caller, traces, schema, examples;
};

/*
 * What evidence.use comes to: ALL is white-box with source, else grey-box with a schema, else black-box, or
 * traces where there is nothing else; it stays ALL when nothing is configured. A use whose own part is not
 * configured is INVALID and names its key.
 */
enum mrg_err mrg_use_resolve(const struct mrg_dependency_config *config, enum mrg_use *ret_use,
                             struct mrg_use_parts *ret_parts, struct mrg_error *err);

const char *mrg_use_name(enum mrg_use use); /* as in the configuration; "all" */
