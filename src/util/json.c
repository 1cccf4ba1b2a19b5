// SPDX-License-Identifier: Apache-2.0
#include "util/json_int.h"
#include "util/utf8.h"

const char *mrg_json_skip_string(const char *p, const char *end, bool *ret_escaped)
{
    bool escaped = false;
    p++;
    while ((p = mrg_json_run(p, end)) < end && *p == '\\') {
        escaped = true;
        p += end - p > 1 ? 2 : 1;
    }
    if (ret_escaped)
        *ret_escaped = escaped;
    return p < end ? p + 1 : end;
}

const char *mrg_json_skip_scalar(const char *p, const char *end)
{
    while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != ':' && !mrg_json_is_space(*p))
        p++;
    return p;
}

const char *mrg_json_skip_value(const char *p, const char *end)
{
    size_t depth = 0;
    do {
        if (p >= end)
            return end;
        char c = *p;
        if (c == '"') {
            p = mrg_json_skip_string(p, end, NULL);
        } else if (c == '{' || c == '[') {
            depth++;
            p++;
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
            p++;
        } else if (depth == 0) {
            p = mrg_json_skip_scalar(p, end);
        } else {
            p++;
        }
    } while (depth > 0);
    return p;
}

static unsigned hex_value(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

static uint32_t decode_unit(const char *p)
{
    return (hex_value(p[0]) << 12 | hex_value(p[1]) << 8 | hex_value(p[2]) << 4 | hex_value(p[3])) & 0xFFFF;
}

/* *at is at the u of an escape; then past the escape, or both of a pair. */
static size_t decode_unicode(const char **at, const char *end, char *out)
{
    const char *p = *at + 1;
    if (end - p < 4) {
        *at = end;
        return 0;
    }
    uint32_t code_point = decode_unit(p);
    p += 4;
    if (code_point >= 0xD800 && code_point <= 0xDBFF && end - p >= 6) {
        code_point = 0x10000 + ((code_point & 0x3FF) << 10) + (decode_unit(p + 2) & 0x3FF);
        p += 6;
    }
    *at = p;
    return mrg_utf8_encode(code_point, out);
}

size_t mrg_json_decode(struct mrg_slice raw, char *out)
{
    static const char plain[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    const char *p = raw.ptr;
    const char *end = p + raw.len;
    char *to = out;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t run = (size_t)((slash ? slash : end) - p);
        memcpy(to, p, run);
        to += run;
        p += run;
        if (end - p < 2)
            break;
        p++;
        if (*p == 'u') {
            char bytes[MRG_UTF8_MAX];
            size_t len = decode_unicode(&p, end, bytes);
            memcpy(to, bytes, len);
            to += len;
        } else {
            const char *found = memchr(plain, *p++, sizeof(plain) - 1);
            *to++ = found ? meant[found - plain] : p[-1];
        }
    }
    return (size_t)(to - out);
}

void mrg_json_content_init(struct mrg_json_content *content, struct mrg_slice raw, bool escaped)
{
    content->heap = NULL;
    content->text = raw;
    if (!escaped)
        return;
    char *to = content->small;
    if (raw.len > sizeof(content->small))
        to = content->heap = mrg_malloc(raw.len);
    content->text = (struct mrg_slice){to, mrg_json_decode(raw, to)};
}

void mrg_json_place(struct mrg_slice text, const char *at, size_t *ret_line, size_t *ret_column)
{
    size_t line = 1;
    const char *start = text.ptr;
    const char *newline;
    while (start < at && (newline = memchr(start, '\n', (size_t)(at - start)))) {
        line++;
        start = newline + 1;
    }
    size_t column = 1;
    for (const char *p = start; p < at; p++)
        column += ((unsigned char)*p & 0xC0) != 0x80;
    *ret_line = line;
    *ret_column = column;
}

void mrg_json_minify(struct mrg_buf *buf, struct mrg_slice text)
{
    const char *p = text.ptr;
    const char *end = p + text.len;
    while ((p = mrg_json_skip_space(p, end)) < end) {
        const char *run = p;
        while (p < end && !mrg_json_is_space(*p))
            p = *p == '"' ? mrg_json_skip_string(p, end, NULL) : p + 1;
        mrg_buf_append(buf, run, (size_t)(p - run));
    }
}

/* Where the next member or item begins; NULL at the end or when text is no such container. */
static const char *next_in(struct mrg_slice text, char bracket, size_t cursor)
{
    const char *end = text.ptr + text.len;
    const char *p = text.ptr + cursor;
    if (cursor == 0) {
        p = mrg_json_skip_space(p, end);
        if (p == end || *p != bracket)
            return NULL;
        p++;
    }
    p = mrg_json_skip_space(p, end);
    if (p < end && *p == ',')
        p = mrg_json_skip_space(p + 1, end);
    return p == end || *p == '}' || *p == ']' ? NULL : p;
}

bool mrg_json_next_item(struct mrg_slice array, size_t *cursor, struct mrg_slice *ret_value)
{
    const char *p = next_in(array, '[', *cursor);
    if (!p)
        return false;
    const char *past = mrg_json_skip_value(p, array.ptr + array.len);
    *ret_value = (struct mrg_slice){p, (size_t)(past - p)};
    *cursor = (size_t)(past - array.ptr);
    return true;
}

bool mrg_json_next(struct mrg_slice object, size_t *cursor, struct mrg_slice *ret_key,
                   struct mrg_slice *ret_value)
{
    const char *end = object.ptr + object.len;
    const char *key = next_in(object, '{', *cursor);
    if (!key || *key != '"')
        return false;
    const char *past = mrg_json_skip_string(key, end, NULL);
    const char *p = mrg_json_skip_space(past, end);
    p = mrg_json_skip_space(p < end ? p + 1 : end, end);
    if (p == end || past - key < 2)
        return false;
    *ret_key = (struct mrg_slice){key + 1, (size_t)(past - key) - 2};
    past = mrg_json_skip_value(p, end);
    *ret_value = (struct mrg_slice){p, (size_t)(past - p)};
    *cursor = (size_t)(past - object.ptr);
    return true;
}

static bool key_is(struct mrg_slice raw, const char *key, size_t len)
{
    if (raw.len < len)
        return false;
    if (!memchr(raw.ptr, '\\', raw.len))
        return raw.len == len && memcmp(raw.ptr, key, len) == 0;
    struct mrg_json_content content;
    mrg_json_content_init(&content, raw, true);
    bool same = content.text.len == len && memcmp(content.text.ptr, key, len) == 0;
    mrg_json_content_done(&content);
    return same;
}

bool mrg_json_member(struct mrg_slice text, const char *key, struct mrg_slice *ret_value)
{
    size_t cursor = 0;
    size_t len = strlen(key);
    struct mrg_slice raw, value;
    while (mrg_json_next(text, &cursor, &raw, &value)) {
        if (key_is(raw, key, len)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

void mrg_json_unescape(struct mrg_buf *buf, struct mrg_slice string)
{
    if (string.len < 2)
        return;
    struct mrg_slice raw = {string.ptr + 1, string.len - 2};
    struct mrg_json_content content;
    mrg_json_content_init(&content, raw, memchr(raw.ptr, '\\', raw.len) != NULL);
    mrg_buf_append_slice(buf, content.text);
    mrg_json_content_done(&content);
}
