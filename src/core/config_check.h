// SPDX-License-Identifier: Apache-2.0
/*
 * Config check: the tree against the table of options, into the structs; then what must hold between values.
 *
 * Main thread.
 */
#pragma once

#include "core/config.h"
#include "core/config_tree.h"

/* One load under way. */
struct mrg_config_load {
    struct mrg_arena *arena;            /* of the tree */
    struct mrg_problems problems;       /* found so far */
    struct mrg_node *root;              /* the document; a map */
    char *folder;                       /* absolute, of the file */
    char *const *environ_list;          /* NAME=value, NULL at its end; may be NULL */
    struct mrg_config *config;          /* being filled */
    struct mrg_node **dependency_nodes; /* of config->dependencies, in the same order; in the arena */
};

/*
 * Fills config from the tree: every value, defaults, and the models of dependencies merged over the default
 * one.
 */
void mrg_config_check(struct mrg_config_load *load);

/* What must hold between values; after mrg_config_check (core/config_rules.c). */
void mrg_config_check_rules(struct mrg_config_load *load);

/* The value of an environment variable in load->environ_list; NULL. */
const char *mrg_config_getenv(const struct mrg_config_load *load, const char *name);

/* Of these, addresses and ways in (core/config_rules_listen.c). */
void mrg_config_check_listen(struct mrg_config_load *load);
/* And protos, routes and ZeroMQ formats of one dependency (core/config_rules_wires.c); `name` for messages. */
void mrg_config_check_wires(struct mrg_config_load *load, size_t index, const char *name);
