// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a text of no known form may hold what a body rule names. Nothing is taken apart here: what cannot
 * be decided is a yes.
 */
#include <string.h>

#include "core/match_int.h"
#include "util/uri.h"
#include "util/utf8.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A name that is not a part of a longer one; the letter of an escape such as \n belongs to none. */
static bool holds_name(struct mrg_slice text, const char *name)
{
    size_t len = strlen(name);
    const char *end = text.ptr + text.len;
    const char *hit = text.ptr;
    while ((hit = memmem(hit, (size_t)(end - hit), name, len))) {
        size_t before = (size_t)(hit - text.ptr);
        bool begins = before == 0 || !is_word(hit[-1]) || (before > 1 && hit[-2] == '\\');
        bool ends = hit + len == end || !is_word(hit[len]);
        if (begins && ends)
            return true;
        hit++;
    }
    return false;
}

/* An escape that may stand for a letter of a name, or for a slash. */
static bool holds_odd_escape(struct mrg_slice text)
{
    const char *end = text.ptr + text.len;
    const char *p = text.ptr;
    while ((p = memchr(p, '\\', (size_t)(end - p)))) {
        p++;
        if (p < end && (*p == '\0' || !strchr("\"\\nrtbf", *p)))
            return true;
    }
    return false;
}

static bool holds_any(const struct mrg_rules *rules, struct mrg_slice text)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct mrg_rule *rule = &rules->items[i];
        if (rule->part == MRG_JPATH_BODY && (!rule->needle || holds_name(text, rule->needle)))
            return true;
    }
    return false;
}

bool mrg_rules_may_name(const struct mrg_rules *rules, struct mrg_slice text)
{
    if (!rules->parts[MRG_JPATH_BODY] || text.len == 0)
        return false;
    if (memchr(text.ptr, '\0', text.len) || !mrg_utf8_valid(text) || holds_odd_escape(text) ||
        holds_any(rules, text))
        return true;
    if (!memchr(text.ptr, '%', text.len))
        return false;
    struct mrg_arena *arena = mrg_arena_new(0);
    bool holds = holds_any(rules, mrg_uri_decode(arena, text, false));
    mrg_arena_free(arena);
    return holds;
}
