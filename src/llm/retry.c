// SPDX-License-Identifier: Apache-2.0
#include "llm/retry.h"

#include <stdio.h>
#include <string.h>

#include "core/limits.h"

bool mrg_llm_retry_fault(enum mrg_llm_fault fault)
{
    return fault == MRG_LLM_FAULT_CONNECT || fault == MRG_LLM_FAULT_LOST || fault == MRG_LLM_FAULT_TIMEOUT;
}

bool mrg_llm_retry_status(long status, const struct mrg_llm_trouble *trouble)
{
    if (status == 429)
        return strcmp(trouble->type, "insufficient_quota") != 0 &&
               strcmp(trouble->code, "insufficient_quota") != 0;
    return status == 408 || status == 409 || (status >= 500 && status <= 599);
}

static int month_of(const char name[4])
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const char *at = strstr(names, name);
    return at && strlen(name) == 3 && (at - names) % 3 == 0 ? (int)((at - names) / 3) : -1;
}

/* sscanf with widths, and not strptime: month names must not follow the locale. */
static bool read_date(const char *value, time_t *ret_time)
{
    struct tm tm = {0};
    char month[4] = "";
    int year = 0;
    if (sscanf(value, "%*3[A-Za-z], %2d %3s %4d %2d:%2d:%2d GMT", &tm.tm_mday, month, &year, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec) == 6) {
        tm.tm_year = year - 1900;
    } else if (sscanf(value, "%*9[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d GMT", &tm.tm_mday, month, &year,
                      &tm.tm_hour, &tm.tm_min, &tm.tm_sec) == 6) {
        tm.tm_year = year + 100;
    } else if (sscanf(value, "%*3[A-Za-z] %3s %2d %2d:%2d:%2d %4d", month, &tm.tm_mday, &tm.tm_hour,
                      &tm.tm_min, &tm.tm_sec, &year) == 6) {
        tm.tm_year = year - 1900;
    } else {
        return false;
    }
    tm.tm_mon = month_of(month);
    if (tm.tm_mon < 0 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour < 0 || tm.tm_hour > 23 ||
        tm.tm_min < 0 || tm.tm_min > 59 || tm.tm_sec < 0 || tm.tm_sec > 60)
        return false;
    *ret_time = timegm(&tm);
    return true;
}

uint64_t mrg_llm_retry_after(const char *value, time_t now)
{
    if (!value)
        return MRG_LLM_NO_RETRY_AFTER;
    value += strspn(value, " \t");
    size_t digits = strspn(value, "0123456789");
    size_t rest = digits + strspn(value + digits, " \t");
    if (digits > 0 && value[rest] == '\0') {
        uint64_t seconds = 0;
        for (size_t i = 0; i < digits && seconds < UINT32_MAX; i++)
            seconds = seconds * 10 + (uint64_t)(value[i] - '0');
        return seconds * 1000;
    }
    time_t when = 0;
    if (!read_date(value, &when))
        return MRG_LLM_NO_RETRY_AFTER;
    return when > now ? (uint64_t)(when - now) * 1000 : 0;
}

static uint64_t draw(uint64_t most, uint32_t random)
{
    return (most + 1) * random >> 32;
}

uint64_t mrg_llm_backoff(unsigned failures, uint64_t retry_after, uint32_t random)
{
    uint64_t wait = 0;
    if (retry_after != MRG_LLM_NO_RETRY_AFTER) {
        if (retry_after >= MRG_LLM_BACKOFF_MAX_MS)
            return MRG_LLM_BACKOFF_MAX_MS;
        wait = retry_after + draw(MRG_LLM_BACKOFF_MS / 2, random);
    } else {
        uint64_t most = MRG_LLM_BACKOFF_MS;
        for (unsigned i = 1; i < failures && most < MRG_LLM_BACKOFF_MAX_MS; i++)
            most *= 2;
        wait = draw(most < MRG_LLM_BACKOFF_MAX_MS ? most : MRG_LLM_BACKOFF_MAX_MS, random);
    }
    return wait < MRG_LLM_BACKOFF_MAX_MS ? wait : MRG_LLM_BACKOFF_MAX_MS;
}
