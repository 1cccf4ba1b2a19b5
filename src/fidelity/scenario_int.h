// SPDX-License-Identifier: Apache-2.0
/*
 * Scenario, inside: what reading a file needs. Nobody else includes it. Main thread.
 */
#pragma once

#include "core/config_tree.h"
#include "fidelity/scenario.h"

/* One file being read. */
struct mrg_scenario_reader {
    struct mrg_arena *arena;
    struct mrg_problems *problems;
};

/* Whether all keys of a map are among `names` (NULL ends them); notes those that are not, and a node that is no map. */
bool mrg_scenario_keys(struct mrg_scenario_reader *reader, const struct mrg_node *node, const char *what,
                       const char *const *names);
/* The text of a scalar member; NULL when there is none (a problem when it is needed) or it is no text. */
const char *mrg_scenario_text(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                              const char *key, bool needed);
/* A list of texts. */
void mrg_scenario_texts(struct mrg_scenario_reader *reader, const struct mrg_node *node, const char *key,
                        const char *const **ret_texts, size_t *ret_count);

/* What a node of YAML is as JSON: plain scalars by YAML 1.2's core schema, others as strings. */
void mrg_scenario_append_json(struct mrg_buf *buf, const struct mrg_node *node);

/* One call of the list. */
void mrg_scenario_read_call(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                            struct mrg_scenario_call *ret_call);
/* dynamic, sets and ignore. */
void mrg_scenario_read_rules(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                             struct mrg_compare_rules *ret_rules);
