// SPDX-License-Identifier: Apache-2.0
/*
 * Clock: monotonic time for durations, wall time for what people read. Thread: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t mrg_clock_ms(void);      /* monotonic milliseconds */
uint64_t mrg_clock_us(void);      /* monotonic microseconds */
uint64_t mrg_clock_wall_ms(void); /* milliseconds since 1970, UTC */

#define MRG_CLOCK_TEXT 32
/* Now as RFC 3339 in UTC with milliseconds: 2026-01-31T09:15:00.123Z. */
void mrg_clock_rfc3339(char ret_text[MRG_CLOCK_TEXT]);
/* The same for a wall time in milliseconds. */
void mrg_clock_rfc3339_of(uint64_t wall_ms, char ret_text[MRG_CLOCK_TEXT]);
