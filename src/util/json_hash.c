// SPDX-License-Identifier: Apache-2.0
#include <endian.h>

#include "util/json_int.h"

/*
 * Every kind has a seed of its own, so that "1", 1, 1.0 and [1] differ. A container's hash folds those of
 * what it holds: items one after another; members through a sum, which knows no order, of the hashes of (key,
 * value) pairs. These numbers are part of cassettes: they may not change.
 */
enum seed {
    SEED_STRING = 1,
    SEED_INTEGER,
    SEED_FLOAT,
    SEED_WORD,
    SEED_ITEM,
    SEED_MEMBER,
    SEED_ARRAY,
    SEED_OBJECT,
};

#define FLOAT_HEAD      9u   /* sign and exponent before a float's digits */
#define ORDINARY_DIGITS 119u /* more go to the heap */
#define EXPONENT_DIGITS 18u  /* an exponent that surely fits int64 with the digits' own shift */

struct frame {
    struct mrg_hash128 sum; /* of what came before */
    struct mrg_hash128 key; /* of the member under way */
    uint64_t count;         /* members or items so far */
    bool object;            /* else an array */
};

static struct mrg_hash128 hash_pair(struct mrg_hash128 a, struct mrg_hash128 b, enum seed seed)
{
    uint64_t words[4] = {htole64(a.low), htole64(a.high), htole64(b.low), htole64(b.high)};
    return mrg_hash128_of(words, sizeof(words), seed);
}

/* *at is at an opening quote; then past the closing one. */
static struct mrg_hash128 hash_string(const char **at, const char *end)
{
    bool escaped;
    const char *past = mrg_json_skip_string(*at, end, &escaped);
    struct mrg_slice raw = {*at + 1, past - *at > 1 ? (size_t)(past - *at) - 2 : 0};
    *at = past;
    if (!escaped)
        return mrg_hash128_of(raw.ptr, raw.len, SEED_STRING);
    struct mrg_json_content content;
    mrg_json_content_init(&content, raw, true);
    struct mrg_hash128 hash = mrg_hash128_of(content.text.ptr, content.text.len, SEED_STRING);
    mrg_json_content_done(&content);
    return hash;
}

/* A float's parts: (-) whole . fraction e (-) exponent. */
struct decimal {
    bool negative;
    struct mrg_slice whole;
    struct mrg_slice fraction;
    bool exponent_negative;
    struct mrg_slice exponent; /* without leading zeros */
};

static struct mrg_slice take_digits(const char **p, const char *end)
{
    const char *start = *p;
    while (mrg_json_is_digit(*p, end))
        (*p)++;
    return (struct mrg_slice){start, (size_t)(*p - start)};
}

static size_t leading_zeros(struct mrg_slice digits)
{
    size_t count = 0;
    while (count < digits.len && digits.ptr[count] == '0')
        count++;
    return count;
}

static size_t trailing_zeros(struct mrg_slice digits)
{
    size_t count = 0;
    while (count < digits.len && digits.ptr[digits.len - 1 - count] == '0')
        count++;
    return count;
}

static struct mrg_slice without_first(struct mrg_slice digits, size_t count)
{
    return (struct mrg_slice){digits.ptr + count, digits.len - count};
}

static struct decimal read_decimal(const char *p, const char *end)
{
    struct decimal d = {.negative = *p == '-'};
    p += d.negative;
    d.whole = take_digits(&p, end);
    d.fraction = (struct mrg_slice){p, 0};
    if (p < end && *p == '.') {
        p++;
        d.fraction = take_digits(&p, end);
    }
    if (p < end)
        p++;
    if (p < end && (*p == '-' || *p == '+'))
        d.exponent_negative = *p++ == '-';
    d.exponent = take_digits(&p, end);
    d.exponent = without_first(d.exponent, leading_zeros(d.exponent));
    return d;
}

/*
 * Strips the zeros at both ends of the digits; returns the power of ten of the last digit that is left,
 * before the exponent.
 */
static int64_t strip(struct decimal *d)
{
    d->fraction.len -= trailing_zeros(d->fraction);
    int64_t power = -(int64_t)d->fraction.len;
    if (d->fraction.len == 0) {
        size_t zeros = trailing_zeros(d->whole);
        d->whole.len -= zeros;
        power = (int64_t)zeros;
    }
    d->whole = without_first(d->whole, leading_zeros(d->whole));
    if (d->whole.len == 0)
        d->fraction = without_first(d->fraction, leading_zeros(d->fraction));
    return power;
}

static int64_t exponent_value(const struct decimal *d)
{
    int64_t value = 0;
    for (size_t i = 0; i < d->exponent.len; i++)
        value = value * 10 + (d->exponent.ptr[i] - '0');
    return d->exponent_negative ? -value : value;
}

/*
 * By its sign, the power of ten of its last digit, and its digits: 1.50, 15e-1 and 0.15E+1 are all (+, -1,
 * "15").
 */
static struct mrg_hash128 hash_float(const char *p, const char *end)
{
    struct decimal d = read_decimal(p, end);
    int64_t power = strip(&d);
    size_t digits = d.whole.len + d.fraction.len;
    if (digits == 0)
        return mrg_hash128_of("0", 1, SEED_FLOAT);
    bool huge = d.exponent.len > EXPONENT_DIGITS;
    size_t len = FLOAT_HEAD + digits + (huge ? 1 + d.exponent.len : 0);
    char small[FLOAT_HEAD + ORDINARY_DIGITS];
    _cleanup_free_ char *heap = len > sizeof(small) ? mrg_malloc(len) : NULL;
    char *bytes = heap ? heap : small;
    uint64_t shift = htole64((uint64_t)(huge ? power : power + exponent_value(&d)));
    bytes[0] = d.negative ? '-' : '+';
    memcpy(bytes + 1, &shift, sizeof(shift));
    memcpy(bytes + FLOAT_HEAD, d.whole.ptr, d.whole.len);
    memcpy(bytes + FLOAT_HEAD + d.whole.len, d.fraction.ptr, d.fraction.len);
    if (huge) {
        bytes[FLOAT_HEAD + digits] = d.exponent_negative ? 'n' : 'p';
        memcpy(bytes + FLOAT_HEAD + digits + 1, d.exponent.ptr, d.exponent.len);
    }
    return mrg_hash128_of(bytes, len, SEED_FLOAT);
}

/* A number or a word; *at is then past it. */
static struct mrg_hash128 hash_scalar(const char **at, const char *end)
{
    const char *p = *at;
    *at = mrg_json_skip_scalar(p, end);
    size_t len = (size_t)(*at - p);
    if (*p != '-' && !mrg_json_is_digit(p, end))
        return mrg_hash128_of(p, len, SEED_WORD);
    for (size_t i = 0; i < len; i++) {
        if (p[i] == '.' || p[i] == 'e' || p[i] == 'E')
            return hash_float(p, *at);
    }
    if (len == 2 && p[0] == '-' && p[1] == '0')
        return mrg_hash128_of("0", 1, SEED_INTEGER);
    return mrg_hash128_of(p, len, SEED_INTEGER);
}

static void add(struct frame *frame, struct mrg_hash128 value)
{
    frame->count++;
    if (!frame->object) {
        frame->sum = hash_pair(frame->sum, value, SEED_ITEM);
        return;
    }
    struct mrg_hash128 member = hash_pair(frame->key, value, SEED_MEMBER);
    frame->sum.low += member.low;
    frame->sum.high += member.high;
}

static struct mrg_hash128 finish(const struct frame *frame)
{
    struct mrg_hash128 count = {frame->count, 0};
    return hash_pair(frame->sum, count, frame->object ? SEED_OBJECT : SEED_ARRAY);
}

static const char *hash_key(struct frame *frame, const char *p, const char *end)
{
    frame->key = hash_string(&p, end);
    p = mrg_json_skip_space(p, end);
    return p < end ? p + 1 : end;
}

/* What follows a bracket or comma: true when it is a member or an item, whose key is then read. */
static bool begin_member(struct frame *frame, const char **p, const char *end)
{
    *p = mrg_json_skip_space(*p, end);
    if (*p == end || **p == '}' || **p == ']')
        return false;
    if (frame->object)
        *p = hash_key(frame, *p, end);
    return true;
}

struct mrg_hash128 mrg_json_hash(struct mrg_slice text)
{
    struct frame frames[MRG_JSON_DEPTH];
    size_t depth = 0;
    const char *p = text.ptr;
    const char *end = p + text.len;
    for (;;) {
        struct mrg_hash128 value = {0, 0};
        p = mrg_json_skip_space(p, end);
        MRG_ASSERT(p < end);
        if (*p == '{' || *p == '[') {
            MRG_ASSERT(depth < MRG_JSON_DEPTH);
            frames[depth++] = (struct frame){.object = *p++ == '{'};
            if (begin_member(&frames[depth - 1], &p, end))
                continue;
            value = finish(&frames[--depth]);
            p += p < end;
        } else {
            value = *p == '"' ? hash_string(&p, end) : hash_scalar(&p, end);
        }
        for (; depth > 0; depth--) {
            struct frame *top = &frames[depth - 1];
            add(top, value);
            p = mrg_json_skip_space(p, end);
            if (p < end && *p++ == ',' && begin_member(top, &p, end))
                break;
            value = finish(top);
        }
        if (depth == 0)
            return value;
    }
}
