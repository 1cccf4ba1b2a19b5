// SPDX-License-Identifier: Apache-2.0
/*
 * Nearness: how far a source file is from the routes, and a caller's file from the calls, so that the budget
 * drops the furthest first.
 *
 * Routes and calls are recognised by the idioms of the common frameworks, paths of traced endpoints and the
 * dependency's name; from there, imports are followed by file names. It guesses: a wrong distance costs
 * order, never a file that fits. Thread: main.
 */
#pragma once

#include "evidence/endpoints.h"
#include "evidence/files.h"

#define MRG_FAR 1000u /* nothing leads there */

/* Sets distance: 0 defines routes or handlers, 1 is imported by such a file, … */
void mrg_nearness_source(struct mrg_files *files);

/*
 * Sets distance: 0 mentions a traced path or the dependency's name, 1 makes HTTP or RPC calls, further by
 * imports.
 */
void mrg_nearness_caller(struct mrg_files *files, const struct mrg_endpoints *endpoints,
                         const char *dependency);
