// SPDX-License-Identifier: Apache-2.0
#include "core/config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/config_check.h"
#include "core/config_override.h"
#include "core/config_scope.h"
#include "core/config_yaml.h"
#include "core/limits.h"

static void config_free(struct mrg_config *config)
{
    for (size_t i = 0; i < config->dependency_count; i++) {
        struct mrg_dependency_config *one = &config->dependencies[i];
        for (size_t k = 0; k < one->route_count; k++)
            mrg_scope_done(MRG_SCOPE_ROUTE, &one->routes[k]);
        free(one->routes);
        mrg_scope_done(MRG_SCOPE_MODEL, &one->model);
        mrg_scope_done(MRG_SCOPE_DEPENDENCY, one);
    }
    free(config->dependencies);
    mrg_scope_done(MRG_SCOPE_MODEL, &config->model);
    for (size_t i = 0; i < config->judge_count; i++)
        mrg_scope_done(MRG_SCOPE_MODEL, &config->judges[i]);
    free(config->judges);
    mrg_scope_done(MRG_SCOPE_ROOT, config);
    free(config->path);
    free(config);
}

/* The folder of a file, absolute, so that what lies beside the file is found after a chdir too. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *folder = slash ? mrg_strndup(path, (size_t)(slash - path)) : NULL;
    if (path[0] == '/')
        return MRG_TAKE(folder);
    _cleanup_free_ char *here = getcwd(NULL, 0);
    return mrg_asprintf("%s%s%s", here ? here : "", folder ? "/" : "", folder ? folder : "");
}

static void read_tree(struct mrg_config_load *load, struct mrg_slice text, const struct mrg_override *flags,
                      size_t flag_count)
{
    load->root = mrg_yaml_parse(load->arena, text, &load->problems);
    if (!load->root)
        return;
    if (load->root->kind != MRG_NODE_MAP) {
        mrg_problems_add(&load->problems, load->root->mark,
                         "the file is %s; expected a mapping with `dependencies`",
                         mrg_node_kind_name(load->root));
        return;
    }
    mrg_override_environment(load);
    mrg_override_flags(load, flags, flag_count);
    mrg_config_check(load);
    mrg_config_check_rules(load);
}

enum mrg_err mrg_config_parse(const char *path, struct mrg_slice text, char *const *environ_list,
                              const struct mrg_override *flags, size_t flag_count,
                              struct mrg_config **ret_config, struct mrg_buf *errors)
{
    struct mrg_config *config = mrg_zalloc(sizeof(*config));
    atomic_init(&config->refs, 1);
    config->path = mrg_strdup(path);
    struct mrg_config_load load = {
        .arena = mrg_arena_new(0),
        .folder = folder_of(path),
        .environ_list = environ_list,
        .config = config,
    };
    mrg_problems_init(&load.problems, path);
    read_tree(&load, text, flags, flag_count);
    enum mrg_err result = load.problems.total > 0 ? MRG_ERR_INVALID : MRG_ERR_OK;
    mrg_problems_append(&load.problems, errors);
    mrg_problems_done(&load.problems);
    mrg_arena_free(load.arena);
    free(load.folder);
    if (result == MRG_ERR_OK)
        *ret_config = config;
    else
        config_free(config);
    return result;
}

/* The file's bytes, one more than allowed when there is too much. False with errno on failure. */
static bool read_file(const char *path, struct mrg_buf *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    char chunk[16384];
    ssize_t got;
    while (!mrg_buf_failed(text) && (got = read(fd, chunk, sizeof(chunk))) != 0) {
        if (got > 0) {
            mrg_buf_append(text, chunk, (size_t)got);
        } else if (errno != EINTR) {
            int why = errno;
            close(fd);
            errno = why;
            return false;
        }
    }
    close(fd);
    return true;
}

enum mrg_err mrg_config_load(const char *path, char *const *environ_list, const struct mrg_override *flags,
                             size_t flag_count, struct mrg_config **ret_config, struct mrg_buf *errors)
{
    struct mrg_buf text;
    mrg_buf_init(&text, MRG_MAX_CONFIG);
    enum mrg_err result;
    if (!read_file(path, &text)) {
        result = errno == ENOENT || errno == ENOTDIR ? MRG_ERR_NOT_FOUND : MRG_ERR_INVALID;
        mrg_buf_appendf(errors, "%s: cannot be read (%s); expected a configuration file, and -c names it\n",
                        path, strerror(errno));
    } else if (mrg_buf_failed(&text)) {
        result = MRG_ERR_INVALID;
        mrg_buf_appendf(errors, "%s: too large; expected at most %u bytes\n", path, MRG_MAX_CONFIG);
    } else {
        result =
            mrg_config_parse(path, mrg_buf_slice(&text), environ_list, flags, flag_count, ret_config, errors);
    }
    mrg_buf_done(&text);
    return result;
}

struct mrg_config *mrg_config_ref(struct mrg_config *config)
{
    if (config)
        atomic_fetch_add_explicit(&config->refs, 1, memory_order_relaxed);
    return config;
}

void mrg_config_unref(struct mrg_config *config)
{
    if (config && atomic_fetch_sub_explicit(&config->refs, 1, memory_order_acq_rel) == 1)
        config_free(config);
}

bool mrg_dependency_has_engine(const struct mrg_dependency_config *config, const char *engine)
{
    for (size_t i = 0; i < config->engines.count; i++) {
        if (strcmp(config->engines.items[i], engine) == 0)
            return true;
    }
    return false;
}

bool mrg_dependency_records(const struct mrg_dependency_config *config)
{
    bool may = config->cassette.mode == MRG_CASSETTE_AUTO || config->cassette.mode == MRG_CASSETTE_RECORD;
    return may && mrg_dependency_has_engine(config, "cassette");
}
