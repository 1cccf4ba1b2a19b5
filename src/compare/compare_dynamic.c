// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <string.h>

#include "compare/compare_int.h"

static bool is_all(const char *text, size_t len, const char *alphabet)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr(alphabet, text[i]))
            return false;
    return true;
}

/* A run of letters and digits of an id: numbers vary in length, hex and mixtures do not, words are kept. */
static bool same_part(const char *real, size_t real_len, const char *simulated, size_t simulated_len)
{
    static const char *const hex[] = {"0123456789abcdef", "0123456789ABCDEF"};
    const char *digits = "0123456789";
    if (is_all(real, real_len, digits) && is_all(simulated, simulated_len, digits) && real_len < 16)
        return true;
    bool mixed = false;
    for (size_t i = 0; i < real_len; i++)
        mixed |= isdigit((unsigned char)real[i]) || (isupper((unsigned char)real[i]) && i > 0);
    if (!mixed && real_len < 8)
        return real_len == simulated_len && memcmp(real, simulated, real_len) == 0;
    for (size_t i = 0; i < MRG_ARRAY_LEN(hex); i++)
        if (is_all(real, real_len, hex[i]) && !is_all(simulated, simulated_len, hex[i]))
            return false;
    return real_len == simulated_len;
}

static size_t part_of(const char *text)
{
    size_t len = 0;
    while (isalnum((unsigned char)text[len]))
        len++;
    return len;
}

/* Whether two ids are made alike: the same separators at the same places, and parts of one kind between them. */
static bool same_form(const char *real, const char *simulated)
{
    for (;;) {
        size_t a = part_of(real), b = part_of(simulated);
        if ((a == 0) != (b == 0) || (a > 0 && !same_part(real, a, simulated, b)))
            return false;
        real += a;
        simulated += b;
        if (*real != *simulated)
            return false;
        if (!*real)
            return true;
        real++;
        simulated++;
    }
}

static void differ(struct mrg_walk *walk, const char *real, const char *simulated, const char *why)
{
    mrg_walk_tell(walk, MRG_STAGE_ORACLE, MRG_VERDICT_DIFFERENT, "%s, for %s, %s",
                  mrg_shown_text(walk->arena, simulated), mrg_shown_text(walk->arena, real), why);
}

static bool fits_pattern(struct mrg_walk *walk, const struct mrg_rule *rule, const char *real,
                         const char *simulated)
{
    if (regexec(&rule->pattern, real, 0, NULL, 0) != 0) {
        mrg_walk_tell(walk, MRG_STAGE_ORACLE, MRG_VERDICT_UNCERTAIN, "the real %s does not match its pattern",
                      mrg_shown_text(walk->arena, real));
        return false;
    }
    if (regexec(&rule->pattern, simulated, 0, NULL, 0) == 0)
        return true;
    differ(walk, real, simulated, "does not match its pattern");
    return false;
}

static void compare_ids(struct mrg_walk *walk, const struct mrg_rule *rule, const char *real,
                        const char *simulated)
{
    const char *other = NULL;
    struct mrg_pairs *pairs = &walk->compare->pairs;
    if (!*simulated && *real) {
        differ(walk, real, simulated, "is empty");
        return;
    }
    if (!rule->has_pattern && !same_form(real, simulated)) {
        differ(walk, real, simulated, "is not of its form");
        return;
    }
    bool fits = walk->quiet ? mrg_pairs_fit(pairs, real, simulated, &other)
                            : mrg_pairs_add(pairs, real, simulated, &other);
    if (fits)
        return;
    differ(walk, real, simulated,
           other ? mrg_arena_printf(walk->arena, "is not %s, which stood for it before",
                                    mrg_shown_text(walk->arena, other))
                 : "stood for another before");
}

static void compare_times(struct mrg_walk *walk, const char *real, const char *simulated)
{
    struct mrg_time a = mrg_time_read(real), b = mrg_time_read(simulated);
    enum mrg_verdict verdict;
    if (a.form == MRG_TIME_NONE) {
        if (strcmp(real, simulated) != 0)
            mrg_walk_tell(walk, MRG_STAGE_ORACLE, MRG_VERDICT_UNCERTAIN, "%s is no time that is understood",
                          mrg_shown_text(walk->arena, real));
        return;
    }
    if (a.form != b.form || a.digits != b.digits || a.utc != b.utc) {
        differ(walk, real, simulated, "is not spelled like it");
        return;
    }
    const char *wrong = mrg_moments_check(walk, &a, &b, &verdict);
    if (wrong)
        mrg_walk_tell(walk, MRG_STAGE_ORACLE, verdict, "%s, for %s, %s",
                      mrg_shown_text(walk->arena, simulated), mrg_shown_text(walk->arena, real), wrong);
}

static void compare_numbers(struct mrg_walk *walk, const char *real, const char *simulated)
{
    if ((*real == '-') != (*simulated == '-'))
        differ(walk, real, simulated, "has another sign");
}

static void compare_free(struct mrg_walk *walk, const struct mrg_rule *rule, const char *real,
                         const char *simulated)
{
    if (strcmp(real, simulated) != 0 && !rule->has_pattern)
        mrg_walk_tell(walk, MRG_STAGE_ORACLE, MRG_VERDICT_UNCERTAIN, "%s became %s",
                      mrg_shown_text(walk->arena, real), mrg_shown_text(walk->arena, simulated));
}

void mrg_compare_dynamic(struct mrg_walk *walk, const struct mrg_rule *rule, const char *real,
                         const char *simulated)
{
    if (rule->has_pattern && !fits_pattern(walk, rule, real, simulated))
        return;
    switch (rule->kind) {
    case MRG_DYNAMIC_ID:
    case MRG_DYNAMIC_TOKEN:
        compare_ids(walk, rule, real, simulated);
        break;
    case MRG_DYNAMIC_TIME:
        compare_times(walk, real, simulated);
        break;
    case MRG_DYNAMIC_NUMBER:
        compare_numbers(walk, real, simulated);
        break;
    case MRG_DYNAMIC_TEXT:
        compare_free(walk, rule, real, simulated);
        break;
    }
}
