// SPDX-License-Identifier: Apache-2.0
/*
 * Config scope: what is done with all values of one struct of core/config.h at once, driven by the table.
 *
 * What MODEL and DEPENDENCIES rows hold is left to the caller. Thread: any; the structs are the caller's.
 */
#pragma once

#include <json-c/json.h>

#include "core/config_table.h"

/* Every default of a scope, into a zeroed struct. Relative paths begin at `folder`. */
void mrg_scope_defaults(enum mrg_option_scope scope, void *base, const char *folder);

/* Every value of `from` into `to`, zeroed; texts are copied. For scopes without lists. */
void mrg_scope_copy(enum mrg_option_scope scope, void *to, const void *from);

/* Frees every value; the struct may be half made. */
void mrg_scope_done(enum mrg_option_scope scope, void *base);

/* Adds every value that is set to a JSON object, nested by path, spelled as in the file. */
void mrg_scope_add_json(enum mrg_option_scope scope, const void *base, struct json_object *object);
