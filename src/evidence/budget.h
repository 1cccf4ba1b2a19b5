// SPDX-License-Identifier: Apache-2.0
/*
 * Budget: makes the evidence fit a number of tokens by leaving out, in this order and as wholes: the rare
 * endpoints of traces (the ten most frequent stay as long as anything else can go), caller files furthest
 * from the calls, source files furthest from the routes.
 *
 * Of the part that matters most (source, else caller, else traces) the last one stays. Thread: main.
 */
#pragma once

#include "evidence/parts.h"

/*
 * Marks what goes (left_out) and lists it in parts->drops. TOO_LARGE, with a sentence that names the smallest
 * budget that would do, when what must stay does not fit. `tokens` is evidence.budget.
 */
enum mrg_err mrg_budget_keep(struct mrg_parts *parts, int tokens, struct mrg_error *err);
