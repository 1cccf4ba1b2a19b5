// SPDX-License-Identifier: Apache-2.0
#include "core/config_check.h"

#include <string.h>

#include "core/config_scope.h"
#include "core/config_value.h"
#include "core/limits.h"

#define OPENAI_URL    "https://api.openai.com/v1"
#define ANTHROPIC_URL "https://api.anthropic.com"
#define MAX_ROUTES    10000u /* routes of one dependency */

/* A mapping being held against one scope of the table. */
struct level {
    struct mrg_config_load *load;
    enum mrg_option_scope scope;
    void *base;          /* the scope's struct */
    const char *section; /* path within the scope; "" */
    const char *place;   /* path for messages; "" at the top */
};

static void check_map(const struct level *level, const struct mrg_node *map);

static char *join(const char *before, const char *key)
{
    return before[0] ? mrg_asprintf("%s.%s", before, key) : mrg_strdup(key);
}

static void refuse_key(const struct level *level, const struct mrg_node *child)
{
    struct mrg_nearest nearest = {0};
    struct mrg_buf known;
    mrg_buf_init(&known, 4096);
    const struct mrg_option *option;
    for (size_t cursor = 0; (option = mrg_option_next(level->scope, level->section, false, &cursor));) {
        mrg_nearest_try(&nearest, child->key, mrg_option_key(option));
        mrg_buf_appendf(&known, "%s%s", known.len ? ", " : "", mrg_option_key(option));
    }
    char quoted[MRG_QUOTED];
    mrg_problems_add(&level->load->problems, child->key_mark, "unknown key %s%s%s; expected one of %s%s%s%s",
                     mrg_quoted(child->key, quoted), level->place[0] ? " in " : "", level->place, known.data,
                     nearest.name ? "; did you mean \"" : "", nearest.name ? nearest.name : "",
                     nearest.name ? "\"?" : "");
    mrg_buf_done(&known);
}

static void check_child(const struct level *level, const struct mrg_node *child)
{
    _cleanup_free_ char *path = join(level->section, child->key);
    _cleanup_free_ char *place = join(level->place, child->key);
    const struct mrg_option *option = strchr(child->key, '.') ? NULL : mrg_option_find(level->scope, path);
    if (!option) {
        refuse_key(level, child);
        return;
    }
    struct level below = *level;
    below.section = path;
    below.place = place;
    switch (option->type) {
    case MRG_OPTION_LATER:
        mrg_problems_add(&level->load->problems, child->key_mark, "`%s` belongs to a later version; %s", path,
                         option->help);
        break;
    case MRG_OPTION_MODEL:
    case MRG_OPTION_DEPENDENCIES:
    case MRG_OPTION_JUDGES:
    case MRG_OPTION_ROUTES:
        break; /* in an order of their own, which is not the file's */
    case MRG_OPTION_SECTION:
        check_map(&below, child);
        break;
    default:
        mrg_option_set(option, child, level->base, place, level->load->folder, &level->load->problems);
    }
}

static void check_map(const struct level *level, const struct mrg_node *map)
{
    if (mrg_node_is_null(map))
        return; /* a section whose keys are all commented out */
    if (map->kind != MRG_NODE_MAP) {
        mrg_problems_add(&level->load->problems, map->mark,
                         "%s: expected a mapping of keys and values; got %s",
                         level->place[0] ? level->place : "the file", mrg_node_kind_name(map));
        return;
    }
    for (const struct mrg_node *child = map->first; child; child = child->next)
        check_child(level, child);
}

static void replace(char **slot, const char *text)
{
    free(*slot);
    *slot = text ? mrg_strdup(text) : NULL;
}

static void complete_model(struct mrg_model_config *model)
{
    bool anthropic = model->provider == MRG_PROVIDER_ANTHROPIC;
    const char *usual = anthropic ? ANTHROPIC_URL : OPENAI_URL;
    if (!model->base_url)
        replace(&model->base_url, usual);
    size_t len = strlen(model->base_url);
    if (anthropic && len > 3 && strcmp(model->base_url + len - 3, "/v1") == 0)
        model->base_url[len - 3] = '\0'; /* the client appends /v1/messages */
    if (!model->key_env && strcmp(model->base_url, usual) == 0)
        replace(&model->key_env, anthropic ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY");
}

static void check_model_map(struct mrg_config_load *load, const struct mrg_node *node,
                            struct mrg_model_config *model, const char *place)
{
    const struct level level = {load, MRG_SCOPE_MODEL, model, "", place};
    check_map(&level, node);
    const struct mrg_node *plain = mrg_node_get(node, "max_tokens");
    const struct mrg_node *completion = mrg_node_get(node, "max_completion_tokens");
    if (plain && completion)
        mrg_problems_add(&load->problems, completion->mark,
                         "%s: max_tokens and max_completion_tokens; expected one of them", place);
}

/*
 * A dependency's model over the default one. Where it goes to another provider or place, the default's key is
 * not sent there: what belongs to the old place is not taken over.
 */
static void check_dependency_model(struct mrg_config_load *load, const struct mrg_node *node,
                                   struct mrg_model_config *model, const char *place)
{
    const struct mrg_model_config *common = &load->config->model;
    mrg_scope_copy(MRG_SCOPE_MODEL, model, common);
    if (node)
        check_model_map(load, node, model, place);
    if (model->provider != common->provider) {
        if (!mrg_node_get(node, "base_url"))
            replace(&model->base_url, NULL);
        if (!mrg_node_get(node, "name"))
            replace(&model->name, NULL);
        if (!mrg_node_get(node, "response_format"))
            model->response_format = MRG_RESPONSE_NONE;
        if (!mrg_node_get(node, "key_env"))
            replace(&model->key_env, NULL);
    }
    complete_model(model);
    if (strcmp(model->base_url, common->base_url) != 0 && !mrg_node_get(node, "key_env")) {
        replace(&model->key_env, NULL);
        complete_model(model);
    }
}

/* Where nothing else is said, files are looked for beside the configuration. */
static void use_folder(struct mrg_strings *roots, const char *folder)
{
    roots->items = mrg_zalloc(sizeof(*roots->items));
    roots->items[0] = mrg_strdup(folder);
    roots->count = 1;
}

static void check_route(struct mrg_config_load *load, const struct mrg_node *node,
                        struct mrg_route_config *route, const char *place)
{
    const struct level level = {load, MRG_SCOPE_ROUTE, route, "", place};
    route->line = node->mark.line;
    if (node->kind != MRG_NODE_MAP) {
        mrg_problems_add(&load->problems, node->mark, "%s: expected a mapping with rpc and http; got %s",
                         place, mrg_node_kind_name(node));
        return;
    }
    check_map(&level, node);
    for (size_t i = 0; i < 2; i++) {
        const char *key = i ? "http" : "rpc";
        if (!mrg_node_get(node, key))
            mrg_problems_add(&load->problems, node->mark, "%s has no %s; expected rpc and http", place, key);
    }
}

static void check_routes(struct mrg_config_load *load, const struct mrg_node *list,
                         struct mrg_dependency_config *dependency, const char *place)
{
    if (!list || mrg_node_is_null(list))
        return;
    if (list->kind != MRG_NODE_LIST || list->count > MAX_ROUTES) {
        mrg_problems_add(&load->problems, list->mark,
                         "%s.routes: expected a list of at most %u mappings with rpc and http; got %s", place,
                         MAX_ROUTES, mrg_node_kind_name(list));
        return;
    }
    dependency->routes = mrg_zalloc((list->count + 1) * sizeof(*dependency->routes));
    for (const struct mrg_node *item = list->first; item; item = item->next) {
        _cleanup_free_ char *at = mrg_asprintf("%s.routes[%zu]", place, dependency->route_count);
        check_route(load, item, &dependency->routes[dependency->route_count++], at);
    }
}

static void check_dependency(struct mrg_config_load *load, const struct mrg_node *node, size_t index,
                             struct mrg_dependency_config *dependency)
{
    mrg_scope_defaults(MRG_SCOPE_DEPENDENCY, dependency, load->folder);
    dependency->line = node->mark.line;
    const struct mrg_node *name = mrg_node_get(node, "name");
    bool named = name && name->kind == MRG_NODE_SCALAR && strlen(name->text) < 64 && name->text[0];
    _cleanup_free_ char *place =
        named ? mrg_asprintf("dependencies.%s", name->text) : mrg_asprintf("dependencies[%zu]", index);
    _cleanup_free_ char *model_place = join(place, "model");
    const struct level level = {load, MRG_SCOPE_DEPENDENCY, dependency, "", place};
    check_map(&level, node);
    if (!name)
        mrg_problems_add(&load->problems, node->mark, "%s has no name; expected name: something", place);
    check_routes(load, mrg_node_get(node, "routes"), dependency, place);
    if (dependency->protos.files.count > 0 && !mrg_node_find(node, "protos.roots"))
        use_folder(&dependency->protos.roots, load->folder);
    check_dependency_model(load, mrg_node_get(node, "model"), &dependency->model, model_place);
}

static void check_dependencies(struct mrg_config_load *load)
{
    struct mrg_node *list = mrg_node_get(load->root, "dependencies");
    struct mrg_config *config = load->config;
    if (list && list->kind != MRG_NODE_LIST && !mrg_node_is_null(list)) {
        mrg_problems_add(&load->problems, list->mark,
                         "dependencies: expected a list, each item with a name; got %s",
                         mrg_node_kind_name(list));
        return;
    }
    if (!list || list->count == 0) {
        mrg_problems_add(&load->problems, list ? list->mark : load->root->mark,
                         "no dependencies; expected at least one below `dependencies`");
        return;
    }
    if (list->count > MRG_MAX_DEPENDENCIES) {
        mrg_problems_add(&load->problems, list->mark, "%zu dependencies; expected at most %u", list->count,
                         MRG_MAX_DEPENDENCIES);
        return;
    }
    config->dependencies = mrg_zalloc(list->count * sizeof(*config->dependencies));
    load->dependency_nodes = mrg_arena_zalloc(load->arena, list->count * sizeof(struct mrg_node *));
    size_t index = 0;
    for (struct mrg_node *item = list->first; item; item = item->next, index++) {
        if (item->kind != MRG_NODE_MAP) {
            mrg_problems_add(&load->problems, item->mark,
                             "dependencies[%zu]: expected a mapping with a name; got %s", index,
                             mrg_node_kind_name(item));
            continue;
        }
        load->dependency_nodes[config->dependency_count] = item;
        check_dependency(load, item, index, &config->dependencies[config->dependency_count++]);
    }
}

/* One judge would have nobody to agree with. */
static void check_judges(struct mrg_config_load *load)
{
    struct mrg_config *config = load->config;
    const struct mrg_node *list = mrg_node_get(load->root, "judges");
    if (!list || mrg_node_is_null(list))
        return;
    if (list->kind != MRG_NODE_LIST || list->count != 2) {
        mrg_problems_add(&load->problems, list->mark, "judges: expected a list of two models; got %s%s",
                         mrg_node_kind_name(list), list->kind == MRG_NODE_LIST ? " of another length" : "");
        return;
    }
    config->judges = mrg_zalloc(list->count * sizeof(*config->judges));
    for (const struct mrg_node *item = list->first; item; item = item->next) {
        _cleanup_free_ char *place = mrg_asprintf("judges[%zu]", config->judge_count);
        check_dependency_model(load, item, &config->judges[config->judge_count++], place);
    }
}

void mrg_config_check(struct mrg_config_load *load)
{
    struct mrg_config *config = load->config;
    mrg_scope_defaults(MRG_SCOPE_ROOT, config, load->folder);
    mrg_scope_defaults(MRG_SCOPE_MODEL, &config->model, load->folder);
    const struct level level = {load, MRG_SCOPE_ROOT, config, "", ""};
    check_map(&level, load->root);
    const struct mrg_node *model = mrg_node_get(load->root, "model");
    if (model)
        check_model_map(load, model, &config->model, "model");
    complete_model(&config->model);
    check_judges(load);
    check_dependencies(load);
}
