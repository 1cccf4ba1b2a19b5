// SPDX-License-Identifier: Apache-2.0
#include "wire/proto_int.h"

#define FIRST_SECOND  (-62135596800LL) /* 0001-01-01T00:00:00Z */
#define LAST_SECOND   253402300799LL   /* 9999-12-31T23:59:59Z */
#define LONGEST       315576000000LL   /* seconds of a duration: some 10,000 years */
#define NANOS         1000000000
#define DAY           86400
#define FRACTION      9 /* digits of a second at most */
#define YEARS_CYCLE   400
#define DAYS_CYCLE    146097 /* of 400 years */
#define EPOCH_DAYS    719468 /* from 0000-03-01 to 1970-01-01 */
#define SECOND_DIGITS 12     /* of LONGEST */

/* The calendar is counted in cycles of 400 years that begin in March, so that a leap day comes last. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2);
    int64_t cycle = (y >= 0 ? y : y - (YEARS_CYCLE - 1)) / YEARS_CYCLE;
    int64_t in_cycle = y - cycle * YEARS_CYCLE;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return cycle * DAYS_CYCLE + in_cycle * 365 + in_cycle / 4 - in_cycle / 100 + day_of_year - EPOCH_DAYS;
}

static void date_of(int64_t days, int *ret_year, int *ret_month, int *ret_day)
{
    int64_t z = days + EPOCH_DAYS; /* not negative from year 1 on */
    int64_t cycle = z / DAYS_CYCLE;
    int64_t in_cycle = z - cycle * DAYS_CYCLE;
    int64_t year = (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
    int64_t day_of_year = in_cycle - (365 * year + year / 4 - year / 100);
    int64_t from_march = (5 * day_of_year + 2) / 153;
    *ret_day = (int)(day_of_year - (153 * from_march + 2) / 5 + 1);
    *ret_month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
    *ret_year = (int)(year + cycle * YEARS_CYCLE + (*ret_month <= 2));
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

static void append_fraction(struct mrg_buf *buf, int32_t nanos)
{
    if (nanos == 0)
        return;
    if (nanos % 1000000 == 0)
        mrg_buf_appendf(buf, ".%03d", (int)(nanos / 1000000));
    else if (nanos % 1000 == 0)
        mrg_buf_appendf(buf, ".%06d", (int)(nanos / 1000));
    else
        mrg_buf_appendf(buf, ".%09d", (int)nanos);
}

bool mrg_proto_append_timestamp(struct mrg_buf *buf, int64_t seconds, int32_t nanos)
{
    if (seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0 || nanos >= NANOS)
        return false;
    int64_t days = (seconds - FIRST_SECOND) / DAY + FIRST_SECOND / DAY;
    int rest = (int)((seconds - FIRST_SECOND) % DAY);
    int year, month, day;
    date_of(days, &year, &month, &day);
    mrg_buf_appendf(buf, "%04d-%02d-%02dT%02d:%02d:%02d", year, month, day, rest / 3600, rest / 60 % 60,
                    rest % 60);
    append_fraction(buf, nanos);
    mrg_buf_append_char(buf, 'Z');
    return true;
}

bool mrg_proto_append_duration(struct mrg_buf *buf, int64_t seconds, int32_t nanos)
{
    if (seconds < -LONGEST || seconds > LONGEST || nanos <= -NANOS || nanos >= NANOS ||
        (seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0))
        return false;
    if (seconds < 0 || nanos < 0)
        mrg_buf_append_char(buf, '-');
    mrg_proto_append_integer(buf, (uint64_t)(seconds < 0 ? -seconds : seconds), false);
    append_fraction(buf, nanos < 0 ? -nanos : nanos);
    mrg_buf_append_char(buf, 's');
    return true;
}

/* Exactly `count` digits at *p; -1. */
static int read_digits(const char **p, const char *end, int count)
{
    int value = 0;
    if (end - *p < count)
        return -1;
    for (int i = 0; i < count; i++) {
        char c = (*p)[i];
        if (c < '0' || c > '9')
            return -1;
        value = value * 10 + (c - '0');
    }
    *p += count;
    return value;
}

/* As read_digits, with one character behind them. */
static int read_part(const char **p, const char *end, int count, char behind)
{
    int value = read_digits(p, end, count);
    if (value < 0 || *p == end || **p != behind)
        return -1;
    ++*p;
    return value;
}

/* Nothing, or a point and 1 to 9 digits. */
static bool read_fraction(const char **p, const char *end, int32_t *ret_nanos)
{
    int32_t value = 0;
    int count = 0;
    *ret_nanos = 0;
    if (*p == end || **p != '.')
        return true;
    for (++*p; *p < end && **p >= '0' && **p <= '9'; ++*p) {
        if (++count > FRACTION)
            return false;
        value = value * 10 + (**p - '0');
    }
    if (count == 0)
        return false;
    for (; count < FRACTION; count++)
        value *= 10;
    *ret_nanos = value;
    return true;
}

/* Z, or +01:30; the text ends behind it. */
static bool read_zone(const char *p, const char *end, int *ret_seconds)
{
    *ret_seconds = 0;
    if (end - p == 1 && *p == 'Z')
        return true;
    if (p == end || (*p != '+' && *p != '-'))
        return false;
    int sign = *p++ == '-' ? -1 : 1;
    int hours = read_part(&p, end, 2, ':');
    int minutes = hours < 0 ? -1 : read_digits(&p, end, 2);
    if (minutes < 0 || minutes > 59 || hours > 23 || p != end)
        return false;
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

bool mrg_proto_read_timestamp(struct mrg_slice text, int64_t *ret_seconds, int32_t *ret_nanos)
{
    const char *p = text.ptr;
    const char *end = p + text.len;
    int32_t nanos;
    int zone;
    int year = read_part(&p, end, 4, '-');
    int month = year < 1 ? -1 : read_part(&p, end, 2, '-');
    int day = month < 1 || month > 12 ? -1 : read_part(&p, end, 2, 'T');
    int hour = day < 1 || day > days_in(year, month) ? -1 : read_part(&p, end, 2, ':');
    int minute = hour < 0 || hour > 23 ? -1 : read_part(&p, end, 2, ':');
    int second = minute < 0 || minute > 59 ? -1 : read_digits(&p, end, 2);
    if (second < 0 || second > 59 || !read_fraction(&p, end, &nanos) || !read_zone(p, end, &zone))
        return false;
    int64_t seconds = days_of(year, month, day) * DAY + hour * 3600 + minute * 60 + second - zone;
    if (seconds < FIRST_SECOND || seconds > LAST_SECOND)
        return false;
    *ret_seconds = seconds;
    *ret_nanos = nanos;
    return true;
}

bool mrg_proto_read_duration(struct mrg_slice text, int64_t *ret_seconds, int32_t *ret_nanos)
{
    const char *p = text.ptr;
    const char *end = p + text.len;
    int64_t seconds = 0;
    int32_t nanos;
    bool negative = p < end && *p == '-';
    p += negative;
    const char *digits = p;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        if (p - digits >= SECOND_DIGITS)
            return false;
        seconds = seconds * 10 + (*p - '0');
    }
    if (p == digits || !read_fraction(&p, end, &nanos) || end - p != 1 || *p != 's' || seconds > LONGEST)
        return false;
    *ret_seconds = negative ? -seconds : seconds;
    *ret_nanos = negative ? -nanos : nanos;
    return true;
}
