// SPDX-License-Identifier: Apache-2.0
#include "util/uri.h"

#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

struct mrg_slice mrg_uri_decode(struct mrg_arena *arena, struct mrg_slice text, bool plus)
{
    char *out = mrg_arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%' && text.len - i > 2) {
            int high = hex_digit(text.ptr[i + 1]);
            int low = hex_digit(text.ptr[i + 2]);
            if (high >= 0 && low >= 0) {
                c = (char)(high * 16 + low);
                i += 2;
            }
        } else if (c == '+' && plus) {
            c = ' ';
        }
        out[len++] = c;
    }
    out[len] = '\0';
    return (struct mrg_slice){out, len};
}

static const char *find(struct mrg_slice text, char c)
{
    return text.len > 0 ? memchr(text.ptr, c, text.len) : NULL;
}

static void cut_at(struct mrg_slice *text, const char *at)
{
    if (at)
        text->len = (size_t)(at - text->ptr);
}

static void pass(struct mrg_slice *text, size_t count)
{
    text->ptr += count;
    text->len -= count;
}

static bool is_scheme(struct mrg_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!letter && (i == 0 || !other))
            return false;
    }
    return text.len > 0;
}

/* http://host:80/a?b becomes /a?b. */
static void cut_authority(struct mrg_slice *target)
{
    const char *colon = find(*target, ':');
    struct mrg_slice rest = *target;
    struct mrg_slice scheme = *target;
    cut_at(&scheme, colon);
    if (!colon || !is_scheme(scheme))
        return;
    pass(&rest, scheme.len);
    if (rest.len < 3 || memcmp(rest.ptr, "://", 3) != 0)
        return;
    pass(&rest, 3);
    while (rest.len > 0 && *rest.ptr != '/' && *rest.ptr != '?')
        pass(&rest, 1);
    *target = rest;
}

void mrg_uri_split(struct mrg_slice target, struct mrg_slice *ret_path, struct mrg_slice *ret_query)
{
    bool empty = target.len == 0;
    cut_at(&target, find(target, '#'));
    cut_authority(&target);
    struct mrg_slice path = target;
    struct mrg_slice query = MRG_SLICE("");
    const char *mark = find(target, '?');
    if (mark) {
        cut_at(&path, mark);
        query = target;
        pass(&query, path.len + 1);
    }
    *ret_path = path.len > 0 || empty ? path : MRG_SLICE("/");
    *ret_query = query;
}

bool mrg_uri_next_pair(struct mrg_slice query, size_t *cursor, struct mrg_slice *ret_key,
                       struct mrg_slice *ret_value)
{
    struct mrg_slice rest = query;
    pass(&rest, *cursor < query.len ? *cursor : query.len);
    while (rest.len > 0 && *rest.ptr == '&')
        pass(&rest, 1);
    if (rest.len == 0)
        return false;
    struct mrg_slice piece = rest;
    cut_at(&piece, find(rest, '&'));
    *cursor = (size_t)(piece.ptr + piece.len - query.ptr);
    struct mrg_slice key = piece;
    struct mrg_slice value = {piece.ptr + piece.len, 0};
    cut_at(&key, find(piece, '='));
    if (key.len < piece.len) {
        value = piece;
        pass(&value, key.len + 1);
    }
    *ret_key = key;
    *ret_value = value;
    return true;
}

/* Bytes of the {name} or whole-segment * that begins a pattern; 0 for a literal. */
static size_t variable(struct mrg_slice pattern, bool whole)
{
    if (pattern.len > 0 && *pattern.ptr == '{') {
        const char *close = find(pattern, '}');
        return close ? (size_t)(close - pattern.ptr) + 1 : 0;
    }
    return whole && pattern.len == 1 && *pattern.ptr == '*' ? 1 : 0;
}

/*
 * One segment against its pattern: literals, and variables of at least one byte. On a mismatch the last
 * variable takes one more.
 */
static bool match_segment(struct mrg_slice pattern, struct mrg_slice segment)
{
    bool whole = true;
    struct mrg_slice after = {NULL, 0}; /* the pattern behind the last variable */
    struct mrg_slice resume = segment;  /* where that variable next ends */
    while (pattern.len > 0 || segment.len > 0) {
        size_t name = variable(pattern, whole);
        whole = false;
        if (name > 0 && segment.len > 0) {
            pass(&pattern, name);
            pass(&segment, 1);
            after = pattern;
            resume = segment;
        } else if (name == 0 && pattern.len > 0 && segment.len > 0 && *pattern.ptr == *segment.ptr) {
            pass(&pattern, 1);
            pass(&segment, 1);
        } else {
            if (!after.ptr || resume.len == 0)
                return false;
            pass(&resume, 1);
            pattern = after;
            segment = resume;
        }
    }
    return true;
}

/* The last segment of a template that takes any rest. */
static bool is_rest(struct mrg_slice pattern)
{
    static const char stars[] = "=**}";
    const size_t len = sizeof(stars) - 1;
    if (mrg_slice_eq_str(pattern, "*") || mrg_slice_eq_str(pattern, "**"))
        return true;
    return pattern.len > len && *pattern.ptr == '{' &&
           memcmp(pattern.ptr + pattern.len - len, stars, len) == 0;
}

bool mrg_uri_match(const char *template_text, struct mrg_slice path)
{
    struct mrg_slice pattern = mrg_slice_of(template_text);
    for (;;) {
        struct mrg_slice want = pattern;
        struct mrg_slice have = path;
        const char *want_end = find(pattern, '/');
        const char *have_end = find(path, '/');
        if (!want_end && is_rest(pattern))
            return true;
        cut_at(&want, want_end);
        cut_at(&have, have_end);
        if (!want_end != !have_end || !match_segment(want, have))
            return false;
        if (!want_end)
            return true;
        pass(&pattern, want.len + 1);
        pass(&path, have.len + 1);
    }
}

bool mrg_uri_match_route(const char *route, struct mrg_slice method, struct mrg_slice path)
{
    size_t blank = strcspn(route, " ");
    if (route[blank] == '\0')
        return mrg_uri_match(route, path);
    _cleanup_free_ char *verb = mrg_strndup(route, blank);
    const char *template_text = route + blank;
    while (*template_text == ' ')
        template_text++;
    return mrg_slice_caseeq_str(method, verb) && mrg_uri_match(template_text, path);
}
