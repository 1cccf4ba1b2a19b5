// SPDX-License-Identifier: Apache-2.0
/*
 * Clock: monotonic time for durations and waits, wall time for what people read. Thread: any.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

uint64_t mrg_clock_ms(void);      /* monotonic milliseconds */
uint64_t mrg_clock_us(void);      /* monotonic microseconds */
uint64_t mrg_clock_wall_ms(void); /* milliseconds since 1970, UTC */

#define MRG_CLOCK_TEXT 32
/* A wall time in milliseconds as RFC 3339 in UTC: 2026-01-31T09:15:00.123Z. */
void mrg_clock_rfc3339_of(uint64_t wall_ms, char ret_text[MRG_CLOCK_TEXT]);

/* A condition variable whose timed waits end by the monotonic clock, and a time for them: `ms` from now. */
void mrg_cond_init_monotonic(pthread_cond_t *cond);
void mrg_clock_deadline(struct timespec *ret_at, uint64_t ms);
