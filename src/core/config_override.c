// SPDX-License-Identifier: Apache-2.0
#include "core/config_override.h"

#include <string.h>

#include "core/config_table.h"

#define ENV_PREFIX       "MIRAGE_"
#define ENV_DEPENDENCIES "DEPENDENCIES_"

/* The items of `dependencies` that are mappings with a name; NULL at the end. */
static struct mrg_node *next_named(const struct mrg_config_load *load, const struct mrg_node *after,
                                   const char **ret_name)
{
    const struct mrg_node *list = mrg_node_get(load->root, "dependencies");
    struct mrg_node *item = after ? after->next : list && list->kind == MRG_NODE_LIST ? list->first : NULL;
    for (; item; item = item->next) {
        const struct mrg_node *name = mrg_node_get(item, "name");
        if (name && name->kind == MRG_NODE_SCALAR && name->text[0]) {
            *ret_name = name->text;
            return item;
        }
    }
    return NULL;
}

/* Upper case, with _ for all that is neither letter nor digit. */
static char *env_spelling(const char *text)
{
    char *copy = mrg_strdup(text);
    for (char *p = copy; *p; p++) {
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - ('a' - 'A'));
        else if (*p == '.' || *p == '-')
            *p = '_';
    }
    return copy;
}

/*
 * Walks what may be overridden at the top or in a dependency, the model's options with `model.` before them.
 */
struct walk {
    enum mrg_option_scope scope;
    size_t index;
    bool in_model;
};

static const struct mrg_option *next_option(struct walk *walk, char **ret_path)
{
    for (;;) {
        if (walk->index == mrg_option_count) {
            if (walk->in_model)
                return NULL;
            walk->in_model = true;
            walk->index = 0;
        }
        const struct mrg_option *option = &mrg_options[walk->index++];
        if (option->scope != (walk->in_model ? MRG_SCOPE_MODEL : walk->scope))
            continue;
        /* A dependency's name is what overrides find it by. */
        if (option->type == MRG_OPTION_NAME ||
            (!mrg_option_is_value(option) && option->type != MRG_OPTION_LATER))
            continue;
        *ret_path = walk->in_model ? mrg_asprintf("model.%s", option->path) : mrg_strdup(option->path);
        return option;
    }
}

static void put(struct mrg_config_load *load, struct mrg_node *node, const char *path, const char *text,
                const char *origin)
{
    struct mrg_mark mark = {.origin = mrg_arena_strdup(load->arena, origin)};
    /* Where the way is blocked by something that is no mapping, the check says so. */
    mrg_node_put(load->arena, node, path, mrg_arena_strdup(load->arena, text), mark);
}

/* ---- the environment ---- */

struct variable {
    const char *name; /* whole */
    const char *rest; /* behind MIRAGE_ */
    const char *value;
};

/*
 * An option by its spelling in the environment; its path is the caller's. Otherwise the nearest spelling,
 * made here, or NULL.
 */
static char *find_spelling(enum mrg_option_scope scope, const char *spelling, char **ret_near)
{
    struct walk walk = {.scope = scope};
    struct mrg_nearest nearest = {0};
    char *path;
    while (next_option(&walk, &path)) {
        char *own = env_spelling(path);
        if (strcmp(own, spelling) == 0) {
            free(own);
            mrg_freep(ret_near);
            return path;
        }
        if (mrg_nearest_try(&nearest, spelling, own)) {
            free(*ret_near);
            nearest.name = *ret_near = MRG_TAKE(own);
        }
        free(own);
        free(path);
    }
    return NULL;
}

static void refuse_variable(struct mrg_config_load *load, const char *name, const char *before,
                            const char *near)
{
    if (near)
        mrg_problems_add(&load->problems, (struct mrg_mark){.origin = name},
                         "no option has this variable; expected one of mirage.yaml(5); did you mean %s%s?",
                         before, near);
    else
        mrg_problems_add(
            &load->problems, (struct mrg_mark){.origin = name},
            "no option has this variable; expected MIRAGE_ and a path of mirage.yaml(5) in capitals, such as "
            "MIRAGE_MODEL_NAME");
}

static void on_dependency_variable(struct mrg_config_load *load, const struct variable *variable)
{
    const char *spelling = variable->rest + strlen(ENV_DEPENDENCIES);
    _cleanup_free_ char *near = NULL;
    _cleanup_free_ char *near_before = NULL;
    struct mrg_node *target = NULL;
    _cleanup_free_ char *path = NULL;
    const char *name = NULL, *first = NULL;
    for (struct mrg_node *node = NULL; (node = next_named(load, node, &name));) {
        _cleanup_free_ char *own = env_spelling(name);
        size_t len = strlen(own);
        if (strncmp(spelling, own, len) != 0 || spelling[len] != '_')
            continue;
        char *found = find_spelling(MRG_SCOPE_DEPENDENCY, spelling + len + 1, &near);
        if (found && target) {
            mrg_problems_add(
                &load->problems, (struct mrg_mark){.origin = variable->name},
                "this may mean dependency %s or %s; expected names that differ in more than - . _", first,
                name);
            free(found);
            return;
        }
        if (found) {
            target = node;
            first = name;
            path = found;
        }
        free(near_before);
        near_before = mrg_asprintf(ENV_PREFIX ENV_DEPENDENCIES "%s_", own);
    }
    if (target)
        put(load, target, path, variable->value, variable->name);
    else if (near_before)
        refuse_variable(load, variable->name, near_before, near);
    else
        mrg_problems_add(&load->problems, (struct mrg_mark){.origin = variable->name},
                         "no dependency has this name; expected " ENV_PREFIX ENV_DEPENDENCIES
                         "NAME_… with the name of one, in capitals and with _ for - and .");
}

/* Whether a token_env, key_env or redact_key_env of the file names it. */
static bool is_named(const struct mrg_node *node, const char *name)
{
    for (const struct mrg_node *child = node->first; child; child = child->next) {
        bool names =
            child->key && (strcmp(child->key, "token_env") == 0 || strcmp(child->key, "key_env") == 0 ||
                           strcmp(child->key, "redact_key_env") == 0);
        if (names && child->kind == MRG_NODE_SCALAR && strcmp(child->text, name) == 0)
            return true;
        if (is_named(child, name))
            return true;
    }
    return false;
}

/*
 * MIRAGE_SERVICE_HOST, MIRAGE_PORT=tcp://… and their like stand in every container beside a Kubernetes
 * service `mirage`.
 */
static bool is_platforms(const char *rest, const char *value)
{
    return strstr(rest, "SERVICE_HOST") || strstr(rest, "SERVICE_PORT") || strncmp(rest, "PORT_", 5) == 0 ||
           strstr(rest, "_PORT_") || (strstr(rest, "PORT") && strstr(value, "://"));
}

static void on_variable(struct mrg_config_load *load, const struct variable *variable)
{
    if (strcmp(variable->rest, "CONFIG") == 0 || strncmp(variable->rest, "TEST_", 5) == 0 ||
        variable->value[0] == '\0')
        return;
    if (strncmp(variable->rest, ENV_DEPENDENCIES, strlen(ENV_DEPENDENCIES)) == 0) {
        on_dependency_variable(load, variable);
        return;
    }
    _cleanup_free_ char *near = NULL;
    _cleanup_free_ char *path = find_spelling(MRG_SCOPE_ROOT, variable->rest, &near);
    if (path)
        put(load, load->root, path, variable->value, variable->name);
    else if (!is_named(load->root, variable->name) && !is_platforms(variable->rest, variable->value))
        refuse_variable(load, variable->name, ENV_PREFIX, near);
}

void mrg_override_environment(struct mrg_config_load *load)
{
    for (char *const *entry = load->environ_list; entry && *entry; entry++) {
        size_t len = strcspn(*entry, "=");
        if (strncmp(*entry, ENV_PREFIX, strlen(ENV_PREFIX)) != 0 || (*entry)[len] != '=')
            continue;
        const char *name = mrg_arena_memdup(load->arena, *entry, len);
        on_variable(load, &(struct variable){name, name + strlen(ENV_PREFIX), *entry + len + 1});
    }
}

/* ---- flags ---- */

static bool is_option(enum mrg_option_scope scope, const char *path)
{
    struct walk walk = {.scope = scope};
    char *own;
    while (next_option(&walk, &own)) {
        bool same = strcmp(own, path) == 0;
        free(own);
        if (same)
            return true;
    }
    return false;
}

static void refuse_path(struct mrg_config_load *load, const struct mrg_override *flag,
                        enum mrg_option_scope scope, const char *path)
{
    struct mrg_nearest nearest = {0};
    _cleanup_free_ char *near = NULL;
    struct walk walk = {.scope = scope};
    char *own;
    while (next_option(&walk, &own)) {
        if (mrg_nearest_try(&nearest, path, own)) {
            free(near);
            nearest.name = near = MRG_TAKE(own);
        }
        free(own);
    }
    char quoted[MRG_QUOTED];
    mrg_problems_add(&load->problems, (struct mrg_mark){.origin = flag->origin},
                     "unknown option %s; expected a path of mirage.yaml(5)%s%s%s", mrg_quoted(path, quoted),
                     near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static void on_dependency_flag(struct mrg_config_load *load, const struct mrg_override *flag,
                               const char *rest)
{
    bool all = strncmp(rest, "*.", 2) == 0;
    const char *name = NULL, *best = NULL;
    size_t best_len = 0;
    for (struct mrg_node *node = NULL; (node = next_named(load, node, &name));) {
        size_t len = strlen(name);
        if (len > best_len && strncmp(rest, name, len) == 0 && rest[len] == '.') {
            best = name;
            best_len = len;
        }
    }
    if (!all && !best) {
        char quoted[MRG_QUOTED];
        _cleanup_free_ char *given = mrg_strndup(rest, strcspn(rest, "."));
        mrg_problems_add(&load->problems, (struct mrg_mark){.origin = flag->origin},
                         "there is no dependency %s; expected the name of one, or *",
                         mrg_quoted(given, quoted));
        return;
    }
    const char *path = rest + (all ? 2 : best_len + 1);
    if (!is_option(MRG_SCOPE_DEPENDENCY, path)) {
        refuse_path(load, flag, MRG_SCOPE_DEPENDENCY, path);
        return;
    }
    for (struct mrg_node *node = NULL; (node = next_named(load, node, &name));) {
        if (all || strcmp(name, best) == 0)
            put(load, node, path, flag->value, flag->origin);
    }
}

void mrg_override_flags(struct mrg_config_load *load, const struct mrg_override *flags, size_t count)
{
    static const char dependencies[] = "dependencies.";
    for (size_t i = 0; i < count; i++) {
        const struct mrg_override *flag = &flags[i];
        if (strncmp(flag->path, dependencies, strlen(dependencies)) == 0)
            on_dependency_flag(load, flag, flag->path + strlen(dependencies));
        else if (is_option(MRG_SCOPE_ROOT, flag->path))
            put(load, load->root, flag->path, flag->value, flag->origin);
        else
            refuse_path(load, flag, MRG_SCOPE_ROOT, flag->path);
    }
}
