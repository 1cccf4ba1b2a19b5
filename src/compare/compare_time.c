// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare/compare_int.h"

/* Both sides are asked a moment apart, and a reply may read the clock twice. */
#define WITHIN_REPLY_MS 2000
/* Between two replies a simulation may think for a while that the real service does not need. */
#define BETWEEN_REPLIES_MS 120000

/* The years 2001 to 2286 in seconds, and the same in milliseconds: smaller numbers are counts. */
#define LEAST_SECONDS 1000000000LL
#define MOST_SECONDS  9999999999LL

static const char *read_fraction(const char *at, struct mrg_time *time)
{
    int64_t unit = 100;
    if (*at != '.' || !isdigit((unsigned char)at[1]))
        return at;
    for (at++; isdigit((unsigned char)*at); at++, unit /= 10) {
        time->ms += (*at - '0') * unit;
        time->digits++;
    }
    return at;
}

static bool read_zone(const char *at, struct mrg_time *time)
{
    int hours, minutes, used = 0;
    time->utc = *at == 'Z' || *at == 'z';
    if (time->utc)
        return at[1] == '\0';
    if ((*at != '+' && *at != '-') || sscanf(at + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5)
        return *at == '\0';
    time->ms -= (*at == '-' ? -1 : 1) * (hours * 60 + minutes) * 60000LL;
    return at[6] == '\0';
}

static bool read_rfc3339(const char *text, struct mrg_time *time)
{
    struct tm tm = {.tm_isdst = 0};
    const char *rest = strptime(text, "%Y-%m-%d", &tm);
    if (!rest || strlen(text) < 19 || !strchr("Tt ", *rest) || !(rest = strptime(rest + 1, "%H:%M:%S", &tm)))
        return false;
    time->form = MRG_TIME_RFC3339;
    time->ms = (int64_t)timegm(&tm) * 1000;
    return read_zone(read_fraction(rest, time), time);
}

static bool read_http(const char *text, struct mrg_time *time)
{
    struct tm tm = {.tm_isdst = 0};
    const char *rest = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    if (!rest || *rest)
        return false;
    *time = (struct mrg_time){.form = MRG_TIME_HTTP, .ms = (int64_t)timegm(&tm) * 1000, .utc = true};
    return true;
}

static bool read_number(const char *text, struct mrg_time *time)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    long long whole = strtoll(text, &end, 10);
    bool seconds = whole >= LEAST_SECONDS && whole <= MOST_SECONDS;
    bool milliseconds = whole >= LEAST_SECONDS * 1000 && whole <= MOST_SECONDS * 1000;
    if (!seconds && !milliseconds)
        return false;
    *time = (struct mrg_time){.form = seconds ? MRG_TIME_SECONDS : MRG_TIME_MILLISECONDS,
                              .ms = seconds ? whole * 1000 : whole};
    return *(seconds ? read_fraction(end, time) : end) == '\0';
}

struct mrg_time mrg_time_read(const char *text)
{
    struct mrg_time time = {.form = MRG_TIME_NONE};
    if (read_number(text, &time))
        return time;
    time = (struct mrg_time){.form = MRG_TIME_NONE};
    if (read_rfc3339(text, &time))
        return time;
    time = (struct mrg_time){.form = MRG_TIME_NONE};
    if (read_http(text, &time))
        return time;
    return (struct mrg_time){.form = MRG_TIME_NONE};
}

/* Whole seconds: two things that happened one after the other may bear the same time. */
static bool is_coarse(const struct mrg_time *time)
{
    return time->form != MRG_TIME_MILLISECONDS && time->digits == 0;
}

static bool opposite(int64_t a, int64_t b)
{
    return (a > 0 && b < 0) || (a < 0 && b > 0);
}

static const char *check_one(const struct mrg_moment *before, bool together, const struct mrg_time *real,
                             const struct mrg_time *simulated, enum mrg_verdict *ret_verdict)
{
    int64_t meant = real->ms - before->real;
    int64_t found = simulated->ms - before->simulated;
    int64_t slack = together ? WITHIN_REPLY_MS : BETWEEN_REPLIES_MS;
    *ret_verdict = MRG_VERDICT_DIFFERENT;
    if (found - meant > slack || meant - found > slack)
        return together ? "is not as far from the reply's other times" : "is not as far from earlier times";
    if (together)
        return NULL;
    if (opposite(meant, found))
        return "moves the wrong way";
    if (found == 0 && (meant > WITHIN_REPLY_MS || meant < -WITHIN_REPLY_MS))
        return "has not moved";
    if (meant == 0 && found != 0) {
        if (is_coarse(real))
            *ret_verdict = MRG_VERDICT_UNCERTAIN;
        return "is another time than the one told before";
    }
    return NULL;
}

const char *mrg_moments_check(struct mrg_walk *walk, const struct mrg_time *real,
                              const struct mrg_time *simulated, enum mrg_verdict *ret_verdict)
{
    struct mrg_moments *moments = &walk->compare->moments;
    for (size_t i = 0; i < moments->count; i++) {
        const struct mrg_moment *before = &moments->items[i];
        const char *wrong =
            check_one(before, before->call == walk->compare->call, real, simulated, ret_verdict);
        if (wrong)
            return wrong;
    }
    if (walk->quiet)
        return NULL;
    mrg_grow((void **)&moments->items, &moments->room, moments->count, sizeof(*moments->items));
    moments->items[moments->count++] = (struct mrg_moment){real->ms, simulated->ms, walk->compare->call};
    return NULL;
}
