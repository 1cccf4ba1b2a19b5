// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "compare/compare_int.h"

/* Members whose texts are written for people, as the common error formats call them (RFC 9457 among them). */
static const char *const prose_names[] = {"message",     "detail",       "details", "title",
                                          "description", "reason",       "error",   "error_description",
                                          "hint",        "grpc_message", "msg",     "body"};

static bool is_prose(const char *name, const char *text)
{
    if (!strchr(text, ' '))
        return false;
    for (size_t i = 0; i < MRG_ARRAY_LEN(prose_names); i++)
        if (strcasecmp(prose_names[i], name) == 0)
            return true;
    return false;
}

static bool is_fact_byte(const char *at)
{
    return isalnum((unsigned char)*at) || *at == '_' || (*at == '.' && isdigit((unsigned char)at[1]));
}

/* What stands in quotes at begin; not an apostrophe, which follows a letter. */
static bool quoted_at(const char *text, const char *begin, struct mrg_slice *ret_fact)
{
    const char *end = strchr("'\"`", *begin) ? strchr(begin + 1, *begin) : NULL;
    if (!end || (begin > text && isalnum((unsigned char)begin[-1])))
        return false;
    *ret_fact = (struct mrg_slice){begin + 1, (size_t)(end - begin - 1)};
    return true;
}

/* The next fact in a text from *at on: a word with a digit or an underscore, or what stands in quotes. */
static bool next_fact(const char *text, const char **at, struct mrg_slice *ret_fact)
{
    while (**at) {
        const char *begin = *at;
        bool fact = false;
        if (quoted_at(text, begin, ret_fact)) {
            *at = ret_fact->ptr + ret_fact->len + 1;
            return true;
        }
        for (; **at && is_fact_byte(*at); (*at)++)
            fact |= isdigit((unsigned char)**at) || **at == '_';
        *ret_fact = (struct mrg_slice){begin, (size_t)(*at - begin)};
        if (fact)
            return true;
        if (*at == begin)
            (*at)++;
    }
    return false;
}

/* Whether two sentences name the same numbers, codes and quoted things in the same order. */
static bool same_facts(const char *real, const char *simulated)
{
    const char *real_at = real, *simulated_at = simulated;
    struct mrg_slice a, b;
    for (;;) {
        bool more = next_fact(real, &real_at, &a);
        if (next_fact(simulated, &simulated_at, &b) != more)
            return false;
        if (!more)
            return true;
        if (!mrg_slice_eq(a, b))
            return false;
    }
}

void mrg_compare_texts(struct mrg_walk *walk, const char *name, const char *real, const char *simulated)
{
    const char *meant = mrg_pairs_translate(&walk->compare->pairs, walk->arena, real);
    if (strcmp(meant, simulated) == 0)
        return;
    bool wording = is_prose(name, meant) && is_prose(name, simulated) && same_facts(meant, simulated);
    mrg_walk_tell(walk, MRG_STAGE_ORACLE, wording ? MRG_VERDICT_UNCERTAIN : MRG_VERDICT_DIFFERENT,
                  "%s became %s", mrg_shown_text(walk->arena, meant), mrg_shown_text(walk->arena, simulated));
}
