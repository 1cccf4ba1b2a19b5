// SPDX-License-Identifier: Apache-2.0
/*
 * Log: one line an event on standard error, for the person who runs the server.
 *
 * Lines begin with "mirage: "; from info upwards by default. Messages start with a capital and have no final
 * full stop. Keys and whatever `redact` names never get here: callers pass no header values and no bodies.
 * Core and engines log at debug only; transports, cli and main say things once. Thread: any; a line is
 * written whole.
 */
#pragma once

#include <stdbool.h>

#include "util/alloc.h"

enum mrg_log_level { MRG_LOG_ERROR, MRG_LOG_WARN, MRG_LOG_INFO, MRG_LOG_DEBUG };

void mrg_log_set_level(enum mrg_log_level level);
bool mrg_log_enabled(enum mrg_log_level level);
void mrg_log(enum mrg_log_level level, const char *format, ...) MRG_PRINTF(2, 3);
