// SPDX-License-Identifier: Apache-2.0
#include "util/clock.h"

#include <stdio.h>

uint64_t mrg_clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

uint64_t mrg_clock_ms(void)
{
    return mrg_clock_us() / 1000u;
}

uint64_t mrg_clock_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

void mrg_clock_rfc3339_of(uint64_t wall_ms, char ret_text[MRG_CLOCK_TEXT])
{
    time_t seconds = (time_t)(wall_ms / 1000u);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    size_t len = strftime(ret_text, MRG_CLOCK_TEXT, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(ret_text + len, MRG_CLOCK_TEXT - len, ".%03uZ", (unsigned)(wall_ms % 1000u));
}

void mrg_cond_init_monotonic(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

void mrg_clock_deadline(struct timespec *ret_at, uint64_t ms)
{
    clock_gettime(CLOCK_MONOTONIC, ret_at);
    ret_at->tv_sec += (time_t)(ms / 1000u);
    ret_at->tv_nsec += (long)(ms % 1000u) * 1000000L;
    if (ret_at->tv_nsec >= 1000000000L) {
        ret_at->tv_sec++;
        ret_at->tv_nsec -= 1000000000L;
    }
}
