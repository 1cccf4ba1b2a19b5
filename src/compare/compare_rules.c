// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "compare/compare_int.h"

static enum mrg_err parse_path(const char *what, const char *text, struct mrg_jpath **ret_path,
                               struct mrg_error *err)
{
    enum mrg_err code = mrg_jpath_parse(text, ret_path, err);
    if (code) {
        mrg_error_wrap(err, "%s", what);
        return code;
    }
    enum mrg_jpath_part part = mrg_jpath_part(*ret_path);
    if (part == MRG_JPATH_BODY || part == MRG_JPATH_HEADER)
        return MRG_ERR_OK;
    return mrg_error_set(err, MRG_ERR_INVALID,
                         "%s: \"%s\": expected body.… or header.NAME, since it is of replies", what, text);
}

static enum mrg_err parse_pattern(const char *text, struct mrg_rule *rule, struct mrg_error *err)
{
    char why[200];
    _cleanup_free_ char *whole = mrg_asprintf("^(%s)$", text);
    int code = regcomp(&rule->pattern, whole, REG_EXTENDED | REG_NOSUB);
    rule->has_pattern = code == 0;
    if (code == 0)
        return MRG_ERR_OK;
    regerror(code, &rule->pattern, why, sizeof(why));
    return mrg_error_set(err, MRG_ERR_INVALID,
                         "dynamic: pattern \"%s\": %s; expected an extended POSIX regular expression", text,
                         why);
}

static enum mrg_err parse_paths(const char *what, const char *const *texts, size_t count,
                                struct mrg_jpath ***ret_paths, size_t *ret_count, struct mrg_error *err)
{
    *ret_paths = mrg_zalloc((count + 1) * sizeof(struct mrg_jpath *));
    for (; *ret_count < count; (*ret_count)++) {
        enum mrg_err code = parse_path(what, texts[*ret_count], &(*ret_paths)[*ret_count], err);
        if (code) {
            mrg_jpath_free((*ret_paths)[*ret_count]);
            return code;
        }
    }
    return MRG_ERR_OK;
}

static enum mrg_err parse_rules(const struct mrg_compare_rules *rules, struct mrg_compare *compare,
                                struct mrg_error *err)
{
    enum mrg_err code = MRG_ERR_OK;
    compare->rules = mrg_zalloc((rules->dynamic_count + 1) * sizeof(*compare->rules));
    while (!code && compare->rule_count < rules->dynamic_count) {
        const struct mrg_compare_rule *from = &rules->dynamic[compare->rule_count];
        struct mrg_rule *rule = &compare->rules[compare->rule_count++];
        rule->kind = from->kind;
        code = parse_path("dynamic", from->path, &rule->path, err);
        if (!code && from->pattern)
            code = parse_pattern(from->pattern, rule, err);
    }
    return code;
}

enum mrg_err mrg_compare_new(const struct mrg_compare_rules *rules, struct mrg_compare **ret_compare,
                             struct mrg_error *err)
{
    struct mrg_compare *compare = mrg_zalloc(sizeof(*compare));
    enum mrg_err code = parse_rules(rules, compare, err);
    if (!code)
        code = parse_paths("sets", rules->sets, rules->set_count, &compare->sets, &compare->set_count, err);
    if (!code)
        code = parse_paths("ignore", rules->ignore, rules->ignore_count, &compare->ignore,
                           &compare->ignore_count, err);
    if (code)
        mrg_compare_free(compare);
    else
        *ret_compare = compare;
    return code;
}

static void free_paths(struct mrg_jpath **paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mrg_jpath_free(paths[i]);
    free(paths);
}

void mrg_compare_free(struct mrg_compare *compare)
{
    if (!compare)
        return;
    for (size_t i = 0; i < compare->rule_count; i++) {
        mrg_jpath_free(compare->rules[i].path);
        if (compare->rules[i].has_pattern)
            regfree(&compare->rules[i].pattern);
    }
    free(compare->rules);
    free_paths(compare->sets, compare->set_count);
    free_paths(compare->ignore, compare->ignore_count);
    mrg_pairs_done(&compare->pairs);
    free(compare->moments.items);
    free(compare);
}
