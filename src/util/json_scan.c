// SPDX-License-Identifier: Apache-2.0
#include "util/json_int.h"
#include "util/utf8.h"

#define SHOWN_KEY         64u /* bytes of a key in a message */
#define DEPTH_TEXT(depth) TEXT_OF(depth)
#define TEXT_OF(number)   #number

struct scan {
    struct mrg_slice text;       /* all of it */
    const char *p;               /* next byte */
    const char *end;             /* of text */
    struct mrg_error *err;       /* for the first fault */
    enum mrg_err code;           /* its code */
    unsigned depth;              /* containers open */
    bool object[MRG_JSON_DEPTH]; /* which of them are objects */
    size_t base[MRG_JSON_DEPTH]; /* where in keys those of an object begin */
    struct mrg_json_keys keys;   /* of all objects that are open */
};

enum next { NEXT_VALUE, NEXT_AFTER, NEXT_DONE, NEXT_FAILED };

static bool fail(struct scan *s, const char *at, enum mrg_err code, const char *what)
{
    size_t line, column;
    mrg_json_place(s->text, at, &line, &column);
    const char *ends = at == s->end && code == MRG_ERR_INVALID ? "; the text ends here" : "";
    s->code = mrg_error_set(s->err, code, "line %zu, column %zu: %s%s", line, column, what, ends);
    return false;
}

static bool expected(struct scan *s, const char *at, const char *what)
{
    return fail(s, at, MRG_ERR_INVALID, what);
}

static bool fail_twice(struct scan *s, struct mrg_slice key)
{
    size_t line, column;
    mrg_json_place(s->text, key.ptr - 1, &line, &column);
    int shown = (int)mrg_utf8_cut(key, SHOWN_KEY);
    s->code = mrg_error_set(s->err, MRG_ERR_INVALID,
                            "line %zu, column %zu: the key \"%.*s\" stands in this object before; "
                            "expected each key once",
                            line, column, shown, key.ptr);
    return false;
}

/* Four hex digits at p, or -1. */
static int hex4(const char *p, const char *end)
{
    if (end - p < 4)
        return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* s->p is at a backslash. */
static bool scan_escape(struct scan *s)
{
    const char *at = s->p;
    if (s->end - at < 2)
        return expected(s, s->end, "expected an escape and the end of the string");
    if (at[1] != 'u') {
        if (!memchr("\"\\/bfnrt", at[1], 8))
            return expected(s, at, "expected an escape such as \\n, \\\" or \\u0041");
        s->p += 2;
        return true;
    }
    int first = hex4(at + 2, s->end);
    if (first < 0)
        return expected(s, at, "expected four hex digits after \\u");
    s->p += 6;
    if (first < 0xD800 || first > 0xDFFF)
        return true;
    int second = s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u' ? hex4(s->p + 2, s->end) : -1;
    if (first > 0xDBFF || second < 0xDC00 || second > 0xDFFF)
        return expected(s, at, "expected a pair of surrogates, not one alone");
    s->p += 6;
    return true;
}

/* s->p is at the opening quote; then past the closing one. */
static bool scan_string(struct scan *s, struct mrg_slice *ret_raw, bool *ret_escaped)
{
    const char *start = ++s->p;
    bool escaped = false;
    for (;;) {
        s->p = mrg_json_plain(s->p, s->end);
        if (s->p == s->end)
            return expected(s, s->end, "expected the end of the string that is open");
        if (*s->p == '"')
            break;
        if (*s->p == '\\') {
            escaped = true;
            if (!scan_escape(s))
                return false;
        } else if ((unsigned char)*s->p < 0x20) {
            return expected(s, s->p, "a control character in a string; expected it escaped");
        } else {
            size_t len = mrg_utf8_len(s->p, s->end);
            if (len == 0)
                return expected(s, s->p, "bytes that are not UTF-8; expected a character");
            s->p += len;
        }
    }
    *ret_raw = (struct mrg_slice){start, (size_t)(s->p - start)};
    *ret_escaped = escaped;
    s->p++;
    return true;
}

static bool scan_digits(struct scan *s, const char *what)
{
    if (!mrg_json_is_digit(s->p, s->end))
        return expected(s, s->p, what);
    while (mrg_json_is_digit(s->p, s->end))
        s->p++;
    return true;
}

static bool scan_number(struct scan *s)
{
    if (*s->p == '-')
        s->p++;
    if (s->p < s->end && *s->p == '0') {
        s->p++;
        if (mrg_json_is_digit(s->p, s->end))
            return expected(s, s->p, "a digit after a leading 0; expected the number without it");
    } else if (!scan_digits(s, "expected a digit")) {
        return false;
    }
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        if (!scan_digits(s, "expected a digit after the decimal point"))
            return false;
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        return scan_digits(s, "expected a digit in the exponent");
    }
    return true;
}

static bool scan_word(struct scan *s, const char *word, const char *what)
{
    size_t len = strlen(word);
    if ((size_t)(s->end - s->p) < len || memcmp(s->p, word, len) != 0)
        return expected(s, s->p, what);
    s->p += len;
    return true;
}

/* A key and its colon. */
static bool scan_key(struct scan *s, const char *what)
{
    struct mrg_slice raw = {NULL, 0};
    bool escaped = false;
    if (s->p == s->end || *s->p != '"')
        return expected(s, s->p, what);
    if (!scan_string(s, &raw, &escaped))
        return false;
    if (!mrg_json_keys_add(&s->keys, s->base[s->depth - 1], raw, escaped))
        return fail_twice(s, raw);
    s->p = mrg_json_skip_space(s->p, s->end);
    if (s->p == s->end || *s->p != ':')
        return expected(s, s->p, "expected ':'");
    s->p++;
    return true;
}

static bool close_container(struct scan *s)
{
    struct mrg_slice twice;
    s->p++;
    s->depth--;
    if (s->object[s->depth] && mrg_json_keys_close(&s->keys, s->base[s->depth], &twice))
        return fail_twice(s, twice);
    return true;
}

static enum next open_container(struct scan *s, bool object)
{
    if (s->depth == MRG_JSON_DEPTH) {
        fail(s, s->p, MRG_ERR_TOO_LARGE,
             "expected at most " DEPTH_TEXT(MRG_JSON_DEPTH) " arrays and objects in each other");
        return NEXT_FAILED;
    }
    s->object[s->depth] = object;
    s->base[s->depth] = s->keys.count;
    s->depth++;
    s->p = mrg_json_skip_space(s->p + 1, s->end);
    if (s->p < s->end && *s->p == (object ? '}' : ']'))
        return close_container(s) ? NEXT_AFTER : NEXT_FAILED;
    if (object && !scan_key(s, "expected a key in double quotes or '}'"))
        return NEXT_FAILED;
    return NEXT_VALUE;
}

static enum next scan_value(struct scan *s)
{
    struct mrg_slice raw;
    bool escaped, good;
    s->p = mrg_json_skip_space(s->p, s->end);
    switch (s->p < s->end ? *s->p : '\0') {
    case '{':
        return open_container(s, true);
    case '[':
        return open_container(s, false);
    case '"':
        good = scan_string(s, &raw, &escaped);
        break;
    case 't':
        good = scan_word(s, "true", "expected true");
        break;
    case 'f':
        good = scan_word(s, "false", "expected false");
        break;
    case 'n':
        good = scan_word(s, "null", "expected null");
        break;
    default:
        if (s->p < s->end && (*s->p == '-' || mrg_json_is_digit(s->p, s->end)))
            good = scan_number(s);
        else
            good = expected(s, s->p, "expected a value");
    }
    return good ? NEXT_AFTER : NEXT_FAILED;
}

/* A value has ended: what is around it goes on or ends too. */
static enum next scan_after(struct scan *s)
{
    for (;;) {
        s->p = mrg_json_skip_space(s->p, s->end);
        if (s->depth == 0)
            break;
        bool object = s->object[s->depth - 1];
        if (s->p < s->end && *s->p == ',') {
            s->p = mrg_json_skip_space(s->p + 1, s->end);
            return !object || scan_key(s, "expected a key in double quotes") ? NEXT_VALUE : NEXT_FAILED;
        }
        if (s->p == s->end || *s->p != (object ? '}' : ']')) {
            expected(s, s->p, object ? "expected ',' or '}'" : "expected ',' or ']'");
            return NEXT_FAILED;
        }
        if (!close_container(s))
            return NEXT_FAILED;
    }
    if (s->p == s->end)
        return NEXT_DONE;
    expected(s, s->p, "expected nothing after the value");
    return NEXT_FAILED;
}

enum mrg_err mrg_json_check(struct mrg_slice text, struct mrg_error *err)
{
    static const char nothing[] = "";
    struct scan s; /* its tables are filled as they are used */
    s.text = text.ptr ? text : (struct mrg_slice){nothing, 0};
    s.p = s.text.ptr;
    s.end = s.text.ptr + s.text.len;
    s.err = err;
    s.code = MRG_ERR_OK;
    s.depth = 0;
    mrg_json_keys_init(&s.keys);
    enum next next = NEXT_VALUE;
    while (next == NEXT_VALUE || next == NEXT_AFTER)
        next = next == NEXT_VALUE ? scan_value(&s) : scan_after(&s);
    mrg_json_keys_done(&s.keys);
    return s.code;
}
