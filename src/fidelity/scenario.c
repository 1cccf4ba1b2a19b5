// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/limits.h"
#include "fidelity/scenario_int.h"
#include "fidelity/yaml.h"

static bool find_kind(const char *text, enum mrg_dynamic *ret_kind)
{
    static const char *const names[] = {
#define X(name, text) text,
        MRG_DYNAMIC_MAP(X)
#undef X
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(names); i++)
        if (strcmp(names[i], text) == 0) {
            *ret_kind = (enum mrg_dynamic)i;
            return true;
        }
    return false;
}

static void read_rule(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                      struct mrg_compare_rule *rule)
{
    static const char *const names[] = {"path", "kind", "pattern", NULL};
    if (!mrg_scenario_keys(reader, node, "an entry of dynamic", names) || !node)
        return;
    const char *kind = mrg_scenario_text(reader, node, "kind", true);
    rule->path = mrg_scenario_text(reader, node, "path", true);
    rule->pattern = mrg_scenario_text(reader, node, "pattern", false);
    if (kind && !find_kind(kind, &rule->kind))
        mrg_problems_add(reader->problems, mrg_node_mark_at(node, "kind"),
                         "kind: expected one of id, token, time, number, text");
}

void mrg_scenario_read_rules(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                             struct mrg_compare_rules *ret_rules)
{
    const struct mrg_node *dynamic = mrg_node_get(node, "dynamic");
    mrg_scenario_texts(reader, node, "sets", &ret_rules->sets, &ret_rules->set_count);
    mrg_scenario_texts(reader, node, "ignore", &ret_rules->ignore, &ret_rules->ignore_count);
    if (!dynamic)
        return;
    if (dynamic->kind != MRG_NODE_LIST) {
        mrg_problems_add(reader->problems, dynamic->mark, "dynamic: expected a list; got %s",
                         mrg_node_kind_name(dynamic));
        return;
    }
    struct mrg_compare_rule *rules = mrg_arena_zalloc(reader->arena, (dynamic->count + 1) * sizeof(*rules));
    for (const struct mrg_node *child = dynamic->first; child; child = child->next)
        read_rule(reader, child, &rules[ret_rules->dynamic_count++]);
    ret_rules->dynamic = rules;
}

/* The rules' paths and patterns, where their line is known. */
static void check_rules(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                        const struct mrg_compare_rules *rules)
{
    struct mrg_compare *compare = NULL;
    struct mrg_error err;
    for (size_t i = 0; i < rules->dynamic_count; i++)
        if (!rules->dynamic[i].path)
            return;
    if (mrg_compare_new(rules, &compare, &err))
        mrg_problems_add(reader->problems, node->mark, "%s", err.message);
    mrg_compare_free(compare);
}

static const char *text_or(const char *text, const char *other)
{
    return text ? text : other;
}

/* Whether a call before `count` saves that name. */
static bool is_saved(const struct mrg_scenario *scenario, size_t count, struct mrg_slice name)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < scenario->calls[i].save_count; j++)
            if (mrg_slice_eq_str(name, scenario->calls[i].saves[j].name))
                return true;
    return false;
}

static void check_text(struct mrg_scenario_reader *reader, const struct mrg_scenario *scenario, size_t count,
                       const char *text, struct mrg_mark mark)
{
    for (const char *at = text; at && (at = strstr(at, "${")) != NULL; at++) {
        struct mrg_slice name = {at + 2, strcspn(at + 2, "}")};
        if (at[2 + name.len] && !is_saved(scenario, count, name))
            mrg_problems_add(reader->problems, mark, "${%.*s} is saved by no earlier call", (int)name.len,
                             name.ptr);
    }
}

/* Every reference of a call has a value by then. */
static void check_references(struct mrg_scenario_reader *reader, const struct mrg_scenario *scenario,
                             size_t index, struct mrg_mark mark)
{
    const struct mrg_scenario_call *call = &scenario->calls[index];
    check_text(reader, scenario, index, call->path, mark);
    check_text(reader, scenario, index, call->query, mark);
    check_text(reader, scenario, index, call->body, mark);
    for (size_t i = 0; i < call->header_count; i++)
        check_text(reader, scenario, index, call->headers[i].value.ptr, mark);
}

static void read_calls(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                       struct mrg_scenario *scenario)
{
    const struct mrg_node *calls = mrg_node_get(node, "calls");
    if (!calls || calls->kind != MRG_NODE_LIST || calls->count == 0 ||
        calls->count > MRG_MAX_SCENARIO_CALLS) {
        mrg_problems_add(reader->problems, calls ? calls->mark : node->mark,
                         "calls: expected a list of 1 to %u calls", MRG_MAX_SCENARIO_CALLS);
        return;
    }
    scenario->calls = mrg_arena_zalloc(reader->arena, calls->count * sizeof(*scenario->calls));
    for (const struct mrg_node *child = calls->first; child; child = child->next) {
        mrg_scenario_read_call(reader, child, &scenario->calls[scenario->call_count]);
        check_references(reader, scenario, scenario->call_count++, child->mark);
    }
}

static void read_scenario(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                          struct mrg_scenario *scenario)
{
    static const char *const names[] = {"name",    "category", "description", "dependency", "calls",
                                        "dynamic", "sets",     "ignore",      NULL};
    if (!mrg_scenario_keys(reader, node, "a scenario", names) || !node)
        return;
    scenario->name = mrg_scenario_text(reader, node, "name", true);
    scenario->category = text_or(mrg_scenario_text(reader, node, "category", false), "");
    scenario->description = text_or(mrg_scenario_text(reader, node, "description", false), "");
    scenario->dependency = text_or(mrg_scenario_text(reader, node, "dependency", false), "");
    read_calls(reader, node, scenario);
    mrg_scenario_read_rules(reader, node, &scenario->rules);
    check_rules(reader, node, &scenario->rules);
}

static enum mrg_err load_file(struct mrg_arena *arena, const char *file, struct mrg_scenario *scenario,
                              struct mrg_error *err)
{
    struct mrg_problems problems;
    struct mrg_node *node = NULL;
    mrg_problems_init(&problems, file);
    enum mrg_err code = mrg_yaml_file(file, arena, &problems, &node, err);
    if (!code) {
        struct mrg_scenario_reader reader = {arena, &problems};
        *scenario = (struct mrg_scenario){.file = mrg_arena_strdup(arena, file)};
        if (node || problems.total == 0)
            read_scenario(&reader, node, scenario);
        code = mrg_yaml_problem(&problems, err);
    }
    mrg_problems_done(&problems);
    return code;
}

/* Scenarios being gathered; items on the heap until all are there. */
struct gathered {
    struct mrg_scenario *items; /* as they were read */
    size_t count;               /* of items */
    size_t room;                /* allocated */
};

static enum mrg_err add_file(struct mrg_arena *arena, const char *file, struct gathered *all,
                             struct mrg_error *err)
{
    struct mrg_scenario scenario;
    enum mrg_err code = load_file(arena, file, &scenario, err);
    if (code)
        return code;
    MRG_ASSERT(scenario.name != NULL);
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].name, scenario.name) == 0)
            return mrg_error_set(err, MRG_ERR_INVALID, "%s: the scenario \"%s\" is in %s too", file,
                                 scenario.name, all->items[i].file);
    mrg_grow((void **)&all->items, &all->room, all->count, sizeof(*all->items));
    all->items[all->count++] = scenario;
    return MRG_ERR_OK;
}

static int is_yaml(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static enum mrg_err add_folder(struct mrg_arena *arena, const char *folder, struct gathered *all,
                               struct mrg_error *err)
{
    struct dirent **entries = NULL;
    enum mrg_err code = MRG_ERR_OK;
    int count = scandir(folder, &entries, is_yaml, alphasort);
    if (count < 0)
        return mrg_error_set(err, MRG_ERR_NOT_FOUND, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        _cleanup_free_ char *file = mrg_asprintf("%s/%s", folder, entries[i]->d_name);
        if (!code)
            code = add_file(arena, file, all, err);
        free(entries[i]);
    }
    free(entries);
    if (count == 0)
        return mrg_error_set(err, MRG_ERR_NOT_FOUND, "%s: expected *.yaml or *.yml in that folder", folder);
    return code;
}

enum mrg_err mrg_scenarios_load(struct mrg_arena *arena, const char *const *paths, size_t path_count,
                                struct mrg_scenarios *ret_scenarios, struct mrg_error *err)
{
    struct gathered all = {.count = 0};
    enum mrg_err code = MRG_ERR_OK;
    for (size_t i = 0; i < path_count && !code; i++) {
        struct stat status;
        if (stat(paths[i], &status) != 0)
            code = mrg_error_set(err, MRG_ERR_NOT_FOUND, "%s: %s", paths[i], strerror(errno));
        else if (S_ISDIR(status.st_mode))
            code = add_folder(arena, paths[i], &all, err);
        else
            code = add_file(arena, paths[i], &all, err);
    }
    if (!code) {
        ret_scenarios->items = mrg_arena_zalloc(arena, (all.count + 1) * sizeof(*all.items));
        for (size_t i = 0; i < all.count; i++)
            ret_scenarios->items[i] = all.items[i];
        ret_scenarios->count = all.count;
    }
    free(all.items);
    return code;
}
