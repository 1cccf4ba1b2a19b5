// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "compare/compare_int.h"

/* Not the simulated service's to set: the server's own, and Mirage's. */
static bool counts(const struct mrg_header *header)
{
    struct mrg_slice own = MRG_SLICE("mirage-");
    bool is_own = header->name.len > own.len && memcmp(header->name.ptr, own.ptr, own.len) == 0;
    return !is_own && !mrg_header_is_transport(header->name) && !mrg_slice_eq_str(header->name, "server");
}

static const struct mrg_header *nth(const struct mrg_header *headers, size_t count, struct mrg_slice name,
                                    size_t index)
{
    for (size_t i = 0; i < count; i++)
        if (mrg_slice_eq(headers[i].name, name) && index-- == 0)
            return &headers[i];
    return NULL;
}

static size_t index_of(const struct mrg_header *headers, size_t at)
{
    size_t index = 0;
    for (size_t i = 0; i < at; i++)
        index += mrg_slice_eq(headers[i].name, headers[at].name);
    return index;
}

static const char *text_of(struct mrg_arena *arena, const struct mrg_header *header)
{
    struct mrg_slice value = mrg_slice_trim(header->value);
    return mrg_arena_memdup(arena, value.ptr, value.len);
}

/* Type and parameters without case and blanks (RFC 9110 section 8.3.1); UTF-8 is JSON's only charset. */
static const char *media_type(struct mrg_arena *arena, const char *text)
{
    size_t len = 0;
    char *type = mrg_arena_strdup(arena, text);
    for (; *text; text++)
        if (*text != ' ' && *text != '\t' && *text != '"')
            type[len++] = (char)(*text >= 'A' && *text <= 'Z' ? *text + 32 : *text);
    type[len] = '\0';
    if (strcmp(type, "application/json;charset=utf-8") == 0)
        type[strlen("application/json")] = '\0';
    return type;
}

static const struct mrg_rule *rule_of(const struct mrg_compare *compare, struct mrg_slice name)
{
    for (size_t i = 0; i < compare->rule_count; i++)
        if (mrg_jpath_match_header(compare->rules[i].path, name))
            return &compare->rules[i];
    return NULL;
}

static bool is_ignored(const struct mrg_compare *compare, struct mrg_slice name)
{
    for (size_t i = 0; i < compare->ignore_count; i++)
        if (mrg_jpath_match_header(compare->ignore[i], name))
            return true;
    return false;
}

static void compare_values(struct mrg_walk *walk, struct mrg_slice name, const char *real,
                           const char *simulated)
{
    const struct mrg_rule *rule = rule_of(walk->compare, name);
    if (rule) {
        mrg_compare_dynamic(walk, rule, real, simulated);
        return;
    }
    if (mrg_slice_eq_str(name, "content-type")) {
        real = media_type(walk->arena, real);
        simulated = media_type(walk->arena, simulated);
    }
    mrg_compare_texts(walk, "", real, simulated);
}

static void tell(struct mrg_walk *walk, const char *text)
{
    mrg_walk_tell(walk, MRG_STAGE_ORACLE, MRG_VERDICT_DIFFERENT, "%s", text);
}

/* The headers of `from`, each with its namesake on the other side. */
static void each(struct mrg_walk *walk, const struct mrg_headers_pair *headers, bool real)
{
    const struct mrg_header *from = real ? headers->real : headers->simulated;
    const struct mrg_header *to = real ? headers->simulated : headers->real;
    size_t from_count = real ? headers->real_count : headers->simulated_count;
    size_t to_count = real ? headers->simulated_count : headers->real_count;
    for (size_t i = 0; i < from_count; i++) {
        if (!counts(&from[i]) || is_ignored(walk->compare, from[i].name))
            continue;
        const struct mrg_header *other = nth(to, to_count, from[i].name, index_of(from, i));
        size_t length =
            mrg_walk_enter(walk, mrg_arena_memdup(walk->arena, from[i].name.ptr, from[i].name.len));
        if (!other)
            tell(walk, real ? "missing" : "not expected");
        else if (real)
            compare_values(walk, from[i].name, text_of(walk->arena, &from[i]), text_of(walk->arena, other));
        mrg_walk_leave(walk, length);
    }
}

void mrg_compare_headers(struct mrg_walk *walk, const char *kind, const struct mrg_headers_pair *headers)
{
    size_t length = mrg_walk_enter(walk, kind);
    each(walk, headers, true);
    each(walk, headers, false);
    mrg_walk_leave(walk, length);
}
