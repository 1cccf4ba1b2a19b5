// SPDX-License-Identifier: Apache-2.0
/*
 * The grammar of google/api/http.proto:
 *
 *   Template = "/" Segments [ Verb ] ;     Segments = Segment { "/" Segment } ;
 *   Segment  = "*" | "**" | LITERAL | Variable ;
 *   Variable = "{" FieldPath [ "=" Segments ] "}" ;
 *   FieldPath = IDENT { "." IDENT } ;      Verb = ":" LITERAL ;
 *
 * and beyond it, because services have such paths: "/" alone, and a slash at the end.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/limits.h"
#include "wire/route_int.h"

struct parsing {
    struct mrg_binding *binding; /* what is being filled */
    const char *start;           /* of the template */
    const char *p;               /* next character */
    struct mrg_error *err;       /* for the first fault */
    enum mrg_err code;           /* its code */
};

static bool fail(struct parsing *s, const char *at, const char *format, ...) MRG_PRINTF(3, 4);

static bool fail(struct parsing *s, const char *at, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    s->code = mrg_error_set(s->err, MRG_ERR_INVALID, "\"%.200s\", column %zu: %s", s->start,
                            (size_t)(at - s->start) + 1, what);
    return false;
}

static bool add_segment(struct parsing *s, const char *at, enum mrg_route_kind kind, struct mrg_slice text)
{
    struct mrg_binding *binding = s->binding;
    size_t count = binding->segment_count;
    if (count > 0 && binding->segments[count - 1].kind == MRG_ROUTE_REST)
        return fail(s, at, "a segment after **; expected ** to be the last one");
    if (count == MRG_ROUTE_MAX_SEGMENTS)
        return fail(s, at, "expected at most %u segments", MRG_ROUTE_MAX_SEGMENTS);
    binding->segments[binding->segment_count++] = (struct mrg_route_segment){kind, text};
    return true;
}

/* pchar of RFC 3986 section 3.3 but for ':' and '*', which mean something here. */
static bool is_literal(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~!$&'()+,;=@%", c));
}

/* A literal, *ret_text, which may be empty. */
static struct mrg_slice literal(struct parsing *s)
{
    const char *start = s->p;
    while (is_literal(*s->p))
        s->p++;
    return (struct mrg_slice){start, (size_t)(s->p - start)};
}

static bool unexpected(struct parsing *s, const char *expected)
{
    unsigned char c = (unsigned char)*s->p;
    if (c == '\0')
        return fail(s, s->p, "the template ends here; expected %s", expected);
    if (c <= 0x20 || c >= 0x7F)
        return fail(s, s->p, "the byte 0x%02X cannot stand in a path; expected it percent-encoded", c);
    return fail(s, s->p, "'%c'; expected %s", c, expected);
}

/* *, ** or a literal. */
static bool plain_segment(struct parsing *s, bool in_variable)
{
    const char *at = s->p;
    if (*s->p == '*') {
        bool rest = s->p[1] == '*';
        s->p += rest ? 2 : 1;
        s->binding->nameless |= !in_variable;
        return add_segment(s, at, rest ? MRG_ROUTE_REST : MRG_ROUTE_ONE, MRG_SLICE(""));
    }
    struct mrg_slice text = literal(s);
    if (text.len == 0 && (in_variable || *s->p != '\0'))
        return unexpected(s, in_variable ? "*, ** or text" : "*, **, text or a variable in braces");
    return add_segment(s, at, MRG_ROUTE_LITERAL, text);
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* One name of a field path; the fields before it are those that lead to `type`. */
static bool field_name(struct parsing *s, struct mrg_route_variable *variable, const struct mrg_message *type)
{
    const char *at = s->p;
    while (is_name(*s->p))
        s->p++;
    struct mrg_slice name = {at, (size_t)(s->p - at)};
    if (name.len == 0)
        return unexpected(s, "the name of a field");
    if (variable->depth == MRG_ROUTE_MAX_NESTING)
        return fail(s, at, "expected at most %u names in a field path", MRG_ROUTE_MAX_NESTING);
    const struct mrg_field *field = mrg_message_field_named(type, name);
    if (!field)
        return fail(s, at, "%.100s has no field \"%.*s\"", type->full_name.ptr,
                    (int)(name.len < 60 ? name.len : 60), at);
    variable->path[variable->depth++] = field;
    return true;
}

static bool field_path(struct parsing *s, struct mrg_route_variable *variable)
{
    const char *at = s->p;
    const struct mrg_message *type = s->binding->input;
    for (;;) {
        if (!field_name(s, variable, type))
            return false;
        const struct mrg_field *field = variable->path[variable->depth - 1];
        const char *name = field->name.ptr;
        if (*s->p != '.') {
            if (field->repeated || field->message)
                return fail(s, at, "the field \"%.60s\" is %s; a path has room for a single value only", name,
                            field->map        ? "a map"
                            : field->repeated ? "repeated"
                                              : "a message");
            return true;
        }
        if (!mrg_route_is_group(field))
            return fail(s, at, "the field \"%.60s\" is no single message; it has no fields to name", name);
        type = field->message;
        s->p++;
    }
}

static bool is_twice(const struct mrg_binding *binding, const struct mrg_route_variable *variable)
{
    for (size_t i = 0; i < binding->variable_count; i++) {
        const struct mrg_route_variable *other = &binding->variables[i];
        if (other->depth == variable->depth &&
            memcmp(other->path, variable->path, variable->depth * sizeof(variable->path[0])) == 0)
            return true;
    }
    return false;
}

/* s->p is behind the '='. */
static bool variable_segments(struct parsing *s)
{
    for (;;) {
        if (!plain_segment(s, true))
            return false;
        if (*s->p != '/')
            return true;
        s->p++;
    }
}

static bool variable(struct parsing *s)
{
    struct mrg_binding *binding = s->binding;
    struct mrg_route_variable *variable = &binding->variables[binding->variable_count];
    const char *at = s->p++;
    if (binding->variable_count == MRG_ROUTE_MAX_VARIABLES)
        return fail(s, at, "expected at most %u variables", MRG_ROUTE_MAX_VARIABLES);
    *variable = (struct mrg_route_variable){
        .path = mrg_arena_alloc(binding->arena, MRG_ROUTE_MAX_NESTING * sizeof(variable->path[0])),
        .first = binding->segment_count,
    };
    if (!field_path(s, variable))
        return false;
    if (is_twice(binding, variable))
        return fail(s, at, "the variable stands in this template before");
    if (*s->p == '=') {
        s->p++;
        if (!variable_segments(s))
            return false;
    } else if (!add_segment(s, at, MRG_ROUTE_ONE, MRG_SLICE(""))) {
        return false;
    }
    if (*s->p != '}')
        return unexpected(s, "'}'");
    s->p++;
    variable->count = binding->segment_count - variable->first;
    variable->multi =
        variable->count > 1 || binding->segments[binding->segment_count - 1].kind == MRG_ROUTE_REST;
    binding->variable_count++;
    return true;
}

/* s->p is at the ':'. */
static bool verb(struct parsing *s)
{
    s->p++;
    s->binding->verb = literal(s);
    if (s->binding->verb.len == 0)
        return unexpected(s, "a verb after ':'");
    return *s->p == '\0' || unexpected(s, "the end of the template after the verb");
}

static bool parse(struct parsing *s)
{
    if (*s->p != '/')
        return unexpected(s, "a template that begins with '/'");
    while (*s->p == '/') {
        s->p++;
        if (!(*s->p == '{' ? variable(s) : plain_segment(s, false)))
            return false;
    }
    if (*s->p == ':')
        return verb(s);
    if (*s->p == '\0')
        return true;
    if (*s->p == '{' || s->p[-1] == '}')
        return fail(s, s->p, "expected a variable to be a whole segment, between slashes");
    return unexpected(s, "'/', ':' or the end");
}

enum mrg_err mrg_route_parse(struct mrg_binding *binding, const char *path_template, struct mrg_error *err)
{
    size_t len = strlen(path_template);
    if (len > MRG_MAX_PATH)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "the template has %zu bytes; expected at most %u", len,
                             MRG_MAX_PATH);
    const char *text = mrg_arena_memdup(binding->arena, path_template, len);
    struct parsing s = {.binding = binding, .start = text, .p = text, .err = err};
    binding->segments =
        mrg_arena_alloc(binding->arena, MRG_ROUTE_MAX_SEGMENTS * sizeof(binding->segments[0]));
    binding->variables =
        mrg_arena_alloc(binding->arena, MRG_ROUTE_MAX_VARIABLES * sizeof(binding->variables[0]));
    return parse(&s) ? MRG_ERR_OK : s.code;
}
