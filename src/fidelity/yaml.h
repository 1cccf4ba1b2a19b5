// SPDX-License-Identifier: Apache-2.0
/*
 * Yaml: the files of fidelity, scenarios and verdicts, as trees; what is wrong with them as one error. Main thread.
 */
#pragma once

#include "core/config_tree.h"
#include "util/error.h"

/*
 * The top node of a file, in the arena; NULL when it is empty or is no YAML, which `problems` (initialised with the file's name)
 * then says. NOT_FOUND, INVALID, TOO_LARGE: it cannot be read; the message names it.
 */
enum mrg_err mrg_yaml_file(const char *file, struct mrg_arena *arena, struct mrg_problems *problems,
                           struct mrg_node **ret_node, struct mrg_error *err);
/* INVALID with the first problem in the file's order, place and all; OK when there is none. */
enum mrg_err mrg_yaml_problem(struct mrg_problems *problems, struct mrg_error *err);
