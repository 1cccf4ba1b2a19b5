// SPDX-License-Identifier: Apache-2.0
/*
 * Config value: one option's value, from a node of the file into its struct, and back into words.
 *
 * Main thread.
 */
#pragma once

#include "core/config.h"
#include "core/config_table.h"
#include "core/config_tree.h"

/*
 * Reads a node into its place within `base`; what was there before is freed. Faults go to problems, and then
 * nothing changes. `path` is how messages name the option; `folder` is what relative paths begin at. A scalar
 * that was set from outside the file is split at its commas where a list is wanted.
 */
void mrg_option_set(const struct mrg_option *option, const struct mrg_node *node, void *base,
                    const char *path, const char *folder, struct mrg_problems *problems);

void mrg_strings_done(struct mrg_strings *strings);

/* As written in the file, in the largest unit that keeps it whole: "60s" is 1m, 1500 ms are "1500ms". */
#define MRG_UNIT_TEXT 32
const char *mrg_duration_text(uint64_t ms, char ret_text[MRG_UNIT_TEXT]);
const char *mrg_size_text(size_t bytes, char ret_text[MRG_UNIT_TEXT]);
