// SPDX-License-Identifier: Apache-2.0
/*
 * Roots: how the configured files and folders of a part are called in a prompt, without their places on this
 * machine.
 *
 * One folder alone has no name (its files are named below it); several are told apart by the fewest last
 * parts of their paths that differ. Thread: any; no state.
 */
#pragma once

#include "core/config.h"

/*
 * The label of roots->items[index]: "", "inventory", "a/lib", "main.py" … `folder`: whether it is one. The
 * caller frees it.
 */
char *mrg_root_label(const struct mrg_strings *roots, size_t index, bool folder);

/*
 * label and rel joined as a name that may stand in a prompt: no control characters, quotes or angle brackets.
 * The caller frees it.
 */
char *mrg_root_name(const char *label, const char *rel);
