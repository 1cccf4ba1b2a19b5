// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/jpath_int.h"
#include "util/json.h"
#include "util/utf8.h"

#define LARGEST_INDEX        9007199254740991 /* RFC 9535: integers that every implementation has */
#define LARGEST_INDEX_DIGITS 16u
#define SHOWN_PATH           200u /* bytes of a path in a message */

struct parse {
    const char *text;       /* the whole path */
    const char *p;          /* next byte; a NUL ends it */
    struct mrg_jpath *path; /* what is being made */
    struct mrg_error *err;  /* for the first fault */
    enum mrg_err code;      /* its code */
};

static bool fail(struct parse *s, const char *what)
{
    size_t column = 1;
    for (const char *p = s->text; p < s->p; p++)
        column += ((unsigned char)*p & 0xC0) != 0x80;
    int shown = (int)mrg_utf8_cut(mrg_slice_of(s->text), SHOWN_PATH);
    s->code =
        mrg_error_set(s->err, MRG_ERR_INVALID, "\"%.*s\": column %zu: %s", shown, s->text, column, what);
    return false;
}

static bool add_step(struct parse *s, struct mrg_jpath_step step)
{
    struct mrg_jpath *path = s->path;
    if (path->count == MRG_JPATH_STEPS) {
        free(step.name);
        return fail(s, "expected at most 63 steps");
    }
    void *steps = path->steps;
    mrg_grow(&steps, &path->capacity, path->count, sizeof(step));
    path->steps = steps;
    path->steps[path->count++] = step;
    return true;
}

static bool is_name_byte(char c, bool first)
{
    unsigned char u = (unsigned char)c;
    return u >= 0x80 || c == '_' || isalpha(u) || (!first && isdigit(u));
}

/* A name as it may stand behind a dot. */
static bool parse_bare_name(struct parse *s, bool deep)
{
    const char *start = s->p;
    if (!is_name_byte(*s->p, true))
        return fail(s, deep ? "expected a name, * or [ after .." : "expected a name or * after the dot");
    while (is_name_byte(*s->p, false))
        s->p++;
    if (*s->p && !strchr(".[", *s->p))
        return fail(s, "expected '.', '[' or the end; other names stand in quotes: ['odd key']");
    struct mrg_jpath_step step = {.kind = STEP_NAME, .deep = deep};
    step.name = mrg_strndup(start, (size_t)(s->p - start));
    return add_step(s, step);
}

/* Makes a JSON string of a quoted name, so that the scanner judges its escapes. */
static bool to_json(struct parse *s, char quote, struct mrg_buf *buf)
{
    mrg_buf_append_char(buf, '"');
    for (; *s->p != quote; s->p++) {
        if (*s->p == '\0')
            return fail(s, quote == '\'' ? "expected a closing '" : "expected a closing \"");
        if (*s->p == '"') {
            mrg_buf_append_str(buf, "\\\"");
        } else if (*s->p == '\\' && s->p[1] == '\'' && quote == '\'') {
            mrg_buf_append_char(buf, *++s->p);
        } else if (*s->p == '\\' && s->p[1] != '\0') {
            mrg_buf_append_char(buf, *s->p++);
            mrg_buf_append_char(buf, *s->p);
        } else {
            mrg_buf_append_char(buf, *s->p);
        }
    }
    mrg_buf_append_char(buf, '"');
    s->p++;
    return true;
}

static bool parse_quoted_name(struct parse *s, bool deep)
{
    const char *start = s->p;
    char quote = *s->p++;
    _cleanup_(mrg_buf_done) struct mrg_buf json, name;
    mrg_buf_init(&json, SIZE_MAX);
    mrg_buf_init(&name, SIZE_MAX);
    if (!to_json(s, quote, &json))
        return false;
    bool good = mrg_json_check(mrg_buf_slice(&json), NULL) == MRG_ERR_OK;
    if (good)
        mrg_json_unescape(&name, mrg_buf_slice(&json));
    if (!good || strlen(mrg_buf_slice(&name).ptr) != name.len) {
        s->p = start;
        return fail(s, "expected a name with the escapes of JSON, without NUL");
    }
    return add_step(
        s, (struct mrg_jpath_step){.kind = STEP_NAME, .deep = deep, .name = mrg_buf_take(&name, NULL)});
}

static bool parse_index(struct parse *s, bool deep)
{
    const char *start = s->p;
    s->p += *s->p == '-';
    const char *digits = s->p;
    while (isdigit((unsigned char)*s->p))
        s->p++;
    size_t len = (size_t)(s->p - digits);
    int64_t index = len <= LARGEST_INDEX_DIGITS ? strtoll(start, NULL, 10) : INT64_MAX;
    bool zero_first = *digits == '0' && (len > 1 || digits > start);
    if (len == 0 || zero_first || index > LARGEST_INDEX || index < -LARGEST_INDEX) {
        s->p = start;
        return fail(s, "expected an index such as 0, 12 or -1");
    }
    return add_step(s, (struct mrg_jpath_step){.kind = STEP_INDEX, .deep = deep, .index = index});
}

static void pass_blanks(struct parse *s)
{
    s->p += strspn(s->p, " ");
}

/* s->p is behind the opening bracket. */
static bool parse_bracket(struct parse *s, bool deep)
{
    bool good;
    pass_blanks(s);
    if (*s->p == '\'' || *s->p == '"') {
        good = parse_quoted_name(s, deep);
    } else if (*s->p == '*') {
        s->p++;
        good = add_step(s, (struct mrg_jpath_step){.kind = STEP_ANY, .deep = deep});
    } else if (*s->p == '-' || isdigit((unsigned char)*s->p)) {
        good = parse_index(s, deep);
    } else if (*s->p == '?') {
        good = fail(s, "filters are not supported; expected a name in quotes, an index or *");
    } else if (*s->p == ':') {
        good = fail(s, "slices are not supported; expected a name in quotes, an index or *");
    } else {
        good = fail(s, "expected a name in quotes, an index or *");
    }
    if (!good)
        return false;
    pass_blanks(s);
    if (*s->p == ':')
        return fail(s, "slices are not supported; expected ]");
    if (*s->p == ',')
        return fail(s, "lists are not supported; expected ], and a path of its own for each");
    if (*s->p != ']')
        return fail(s, "expected ]");
    s->p++;
    return true;
}

static bool parse_steps(struct parse *s)
{
    while (*s->p) {
        bool dot = *s->p == '.';
        bool deep = dot && s->p[1] == '.';
        s->p += deep ? 2 : dot ? 1 : 0;
        bool good;
        if (*s->p == '[' && (deep || !dot)) {
            s->p++;
            good = parse_bracket(s, deep);
        } else if (!dot) {
            good = fail(s, "expected '.', '[' or the end");
        } else if (*s->p == '*') {
            s->p++;
            good = add_step(s, (struct mrg_jpath_step){.kind = STEP_ANY, .deep = deep});
        } else {
            good = parse_bare_name(s, deep);
        }
        if (!good)
            return false;
    }
    return true;
}

static bool parse_header(struct parse *s)
{
    const char *start = s->p;
    for (; *s->p; s->p++) {
        if (!isalnum((unsigned char)*s->p) && !strchr("!#$%&'*+-.^_`|~", *s->p))
            return fail(s, "expected a header name, which may hold *");
    }
    if (s->p == start)
        return fail(s, "expected a header name, which may hold *");
    s->path->name = mrg_strdup(start);
    for (char *c = s->path->name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return true;
}

static bool parse_path(struct parse *s)
{
    static const char header[] = "header.";
    static const char query[] = "query.";
    static const char body[] = "body";
    if (strncmp(s->text, header, sizeof(header) - 1) == 0) {
        s->path->part = MRG_JPATH_HEADER;
        s->p += sizeof(header) - 1;
        return parse_header(s);
    }
    if (strncmp(s->text, query, sizeof(query) - 1) == 0) {
        s->path->part = MRG_JPATH_QUERY;
        s->p += sizeof(query) - 1;
        s->path->name = mrg_strdup(s->p);
        return *s->p ? true : fail(s, "expected a query key");
    }
    if (strcmp(s->text, "path") == 0) {
        s->path->part = MRG_JPATH_PATH;
        return true;
    }
    s->path->part = MRG_JPATH_BODY;
    if (strcmp(s->text, body) == 0)
        return true;
    if (strncmp(s->text, "body.", sizeof(body)) != 0)
        return fail(s, "expected header.NAME, query.KEY, path or body.$…");
    s->p += sizeof(body);
    if (*s->p != '$')
        return fail(s, "expected $, as in body.$.items[*].id");
    s->p++;
    return parse_steps(s);
}

enum mrg_err mrg_jpath_parse(const char *text, struct mrg_jpath **ret_path, struct mrg_error *err)
{
    struct mrg_jpath *path = mrg_zalloc(sizeof(*path));
    struct parse s = {.text = text, .p = text, .path = path, .err = err};
    if (!parse_path(&s)) {
        mrg_jpath_free(path);
        return s.code;
    }
    *ret_path = path;
    return MRG_ERR_OK;
}
