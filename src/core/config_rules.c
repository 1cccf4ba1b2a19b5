// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/config_check.h"
#include "core/config_text.h"
#include "core/limits.h"

const char *mrg_config_getenv(const struct mrg_config_load *load, const char *name)
{
    size_t len = strlen(name);
    for (char *const *entry = load->environ_list; entry && *entry; entry++) {
        if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=')
            return *entry + len + 1;
    }
    return NULL;
}

static bool has(const struct mrg_strings *strings, const char *text)
{
    for (size_t i = 0; i < strings->count; i++) {
        if (strcmp(strings->items[i], text) == 0)
            return true;
    }
    return false;
}

/* `first` tells where the other one is, in a message about the second. */
static char *where(struct mrg_mark first)
{
    return first.origin ? mrg_asprintf("in %s", first.origin) : mrg_asprintf("on line %d", first.line);
}

static void check_name(const struct mrg_config_load *load, size_t index, struct mrg_problems *problems)
{
    const char *name = load->config->dependencies[index].name;
    for (size_t i = 0; name && i < index; i++) {
        const char *other = load->config->dependencies[i].name;
        if (!other || strcmp(other, name) != 0)
            continue;
        mrg_problems_add(problems, mrg_node_mark_at(load->dependency_nodes[index], "name"),
                         "a second dependency %s; expected a name of its own, and line %d has this one", name,
                         mrg_node_mark_at(load->dependency_nodes[i], "name").line);
        return;
    }
}

static void check_prefix(const struct mrg_config_load *load, size_t index, struct mrg_problems *problems)
{
    const char *prefix = load->config->dependencies[index].prefix;
    for (size_t i = 0; prefix && i < index; i++) {
        const char *other = load->config->dependencies[i].prefix;
        if (!other || strcmp(other, prefix) != 0)
            continue;
        _cleanup_free_ char *there = where(mrg_node_mark_at(load->dependency_nodes[i], "prefix"));
        mrg_problems_add(problems, mrg_node_mark_at(load->dependency_nodes[index], "prefix"),
                         "prefix %s is taken %s already; expected one of its own", prefix, there);
        return;
    }
}

static void check_chain(const struct mrg_config_load *load, size_t index, const char *name,
                        struct mrg_problems *problems)
{
    const struct mrg_node *node = load->dependency_nodes[index];
    const struct mrg_dependency_config *dependency = &load->config->dependencies[index];
    const struct mrg_strings *engines = &dependency->engines;
    struct mrg_mark mark = mrg_node_mark_at(node, "engines");
    enum mrg_cassette_mode mode = dependency->cassette.mode;
    for (size_t i = 0; i < engines->count; i++) {
        const struct mrg_strings before = {engines->items, i};
        if (has(&before, engines->items[i]))
            mrg_problems_add(problems, mark, "engine %s stands twice in the chain; expected it once",
                             engines->items[i]);
    }
    if (engines->count == 0) {
        const struct mrg_node *given = mrg_node_get(node, "engines");
        if (given && given->count == 0)
            mrg_problems_add(problems, mark, "dependency %s has no engines; expected at least one", name);
        return;
    }
    bool asks = has(engines, "llm");
    bool may_ask = asks && dependency->cassette.mode != MRG_CASSETTE_REPLAY;
    if (may_ask && !dependency->model.name && !mrg_node_find(node, "model.name") &&
        !mrg_node_find(load->root, "model.name"))
        mrg_problems_add(problems, node->mark,
                         "dependency %s asks llm, but no model is named; expected model.name", name);
    if (!asks && mode != MRG_CASSETTE_REPLAY) {
        struct mrg_mark at =
            mrg_node_find(node, "cassette.mode") ? mrg_node_mark_at(node, "cassette.mode") : mark;
        if (mode == MRG_CASSETTE_OFF)
            mrg_problems_add(problems, at,
                             "dependency %s has nothing to answer from: no llm, and the cassette is off; "
                             "expected llm among its engines, or cassette.mode replay",
                             name);
        else
            mrg_problems_add(problems, at,
                             "dependency %s has nothing to record from: no llm among its engines; "
                             "expected llm, or cassette.mode replay",
                             name);
    }
}

static void check_use(const struct mrg_config_load *load, size_t index, struct mrg_problems *problems)
{
    const struct mrg_node *node = load->dependency_nodes[index];
    static const struct {
        const char *use, *needs;
    } needs[] = {
        [MRG_USE_ALL] = {"all", NULL},
        [MRG_USE_WHITE_BOX] = {"white-box", "evidence.source"},
        [MRG_USE_GREY_BOX] = {"grey-box", "evidence.schema"},
        [MRG_USE_BLACK_BOX] = {"black-box", NULL},
        [MRG_USE_SOURCE] = {"source", "evidence.source"},
        [MRG_USE_CALLER] = {"caller", "evidence.caller"},
        [MRG_USE_TRACES] = {"traces", "evidence.traces"},
    };
    enum mrg_use use = load->config->dependencies[index].evidence.use;
    if (needs[use].needs && !mrg_node_find(node, needs[use].needs))
        mrg_problems_add(problems, mrg_node_mark_at(node, "evidence.use"),
                         "evidence.use is %s, which needs %s; expected it", needs[use].use, needs[use].needs);
}

static void check_format(struct mrg_problems *problems, const struct mrg_node *model,
                         enum mrg_provider provider, enum mrg_response_format format)
{
    if (provider == MRG_PROVIDER_ANTHROPIC && format != MRG_RESPONSE_NONE &&
        mrg_node_get(model, "response_format"))
        mrg_problems_add(problems, mrg_node_mark_at(model, "response_format"),
                         "response_format is for the provider openai only; expected none");
}

static void check_token(struct mrg_config_load *load)
{
    const char *name = load->config->control_token_env;
    const char *token = name ? mrg_config_getenv(load, name) : NULL;
    if (name && (!token || !token[0]))
        mrg_problems_add(&load->problems, mrg_node_mark_at(load->root, "control.token_env"),
                         "control.token_env: the variable %s is %s; expected it to hold the token", name,
                         token ? "empty" : "not set");
}

void mrg_config_check_rules(struct mrg_config_load *load)
{
    struct mrg_config *config = load->config;
    struct mrg_problems *problems = &load->problems;
    check_token(load);
    check_format(problems, mrg_node_get(load->root, "model"), config->model.provider,
                 config->model.response_format);
    mrg_config_check_listen(load);
    for (size_t i = 0; i < config->dependency_count; i++) {
        const struct mrg_dependency_config *dependency = &config->dependencies[i];
        _cleanup_free_ char *name =
            dependency->name ? mrg_strdup(dependency->name) : mrg_asprintf("number %zu", i + 1);
        check_name(load, i, problems);
        check_prefix(load, i, problems);
        mrg_config_check_wires(load, i, name);
        check_chain(load, i, name, problems);
        check_use(load, i, problems);
        check_format(problems, mrg_node_get(load->dependency_nodes[i], "model"), dependency->model.provider,
                     dependency->model.response_format);
    }
}
