// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/call_int.h"

static void add(struct mrg_strings *strings, char *text)
{
    size_t capacity = strings->count;
    mrg_grow((void **)&strings->items, &capacity, strings->count, sizeof(*strings->items));
    strings->items[strings->count++] = text;
}

static void done(struct mrg_strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        free(strings->items[i]);
    free(strings->items);
}

static enum mrg_err add_paths(const struct mrg_cli_values *values, const char *option,
                              struct mrg_strings *paths, struct mrg_error *err)
{
    const char *name;
    size_t cursor = 0;
    while ((name = mrg_cli_each(values, option, &cursor))) {
        char *path = realpath(name, NULL);
        if (!path)
            return mrg_error_set(err, MRG_ERR_NOT_FOUND, "--%s %s: %s", option, name, strerror(errno));
        add(paths, path);
    }
    return MRG_ERR_OK;
}

/* As an import would name it: relative to the root that it lies in; as a root has it; NULL. */
static char *name_in_root(const char *name, const struct mrg_strings *roots)
{
    _cleanup_free_ char *path = realpath(name, NULL);
    for (size_t i = 0; path && i < roots->count; i++) {
        size_t len = strlen(roots->items[i]);
        if (strncmp(path, roots->items[i], len) == 0 && path[len] == '/')
            return mrg_strdup(path + len + 1);
    }
    for (size_t i = 0; name[0] != '/' && i < roots->count; i++) {
        _cleanup_free_ char *below = mrg_asprintf("%s/%s", roots->items[i], name);
        if (access(below, R_OK) == 0)
            return mrg_strdup(name);
    }
    return NULL;
}

/* Without a root: an absolute name lies in its own folder, others below the current one. */
static enum mrg_err add_rootless(const char *name, struct mrg_protos_config *protos, struct mrg_error *err)
{
    const char *slash = name[0] == '/' ? strrchr(name, '/') : NULL;
    char *root = slash > name ? mrg_strndup(name, (size_t)(slash - name))
                 : slash      ? mrg_strdup("/")
                              : getcwd(NULL, 0);
    if (!root)
        return mrg_error_set(err, MRG_ERR_NOT_FOUND, "the current folder: %s", strerror(errno));
    add(&protos->roots, root);
    if (access(name, R_OK) != 0)
        return mrg_error_set(err, MRG_ERR_NOT_FOUND, "--proto %s: %s", name, strerror(errno));
    char *file = slash ? mrg_strdup(slash + 1) : name_in_root(name, &protos->roots);
    if (!file)
        return mrg_error_set(err, MRG_ERR_NOT_FOUND,
                             "--proto %s lies outside the current folder; expected --proto-path", name);
    add(&protos->files, file);
    return MRG_ERR_OK;
}

static enum mrg_err add_files(const struct mrg_cli_values *values, struct mrg_protos_config *protos,
                              struct mrg_error *err)
{
    const char *name;
    size_t cursor = 0;
    bool rootless = protos->roots.count == 0;
    while ((name = mrg_cli_each(values, "proto", &cursor))) {
        enum mrg_err code = rootless ? add_rootless(name, protos, err) : MRG_ERR_OK;
        if (code)
            return code;
        if (rootless)
            continue;
        char *file = name_in_root(name, &protos->roots);
        if (!file)
            return mrg_error_set(err, MRG_ERR_NOT_FOUND, "--proto %s: no such file in any --proto-path",
                                 name);
        add(&protos->files, file);
    }
    return MRG_ERR_OK;
}

enum mrg_err mrg_call_schema(const struct mrg_cli_values *values, struct mrg_schema **ret_schema,
                             struct mrg_error *err)
{
    struct mrg_protos_config protos = {.reflect = NULL};
    *ret_schema = NULL;
    enum mrg_err code = add_paths(values, "proto-path", &protos.roots, err);
    if (!code)
        code = add_files(values, &protos, err);
    if (!code)
        code = add_paths(values, "descriptor-set", &protos.sets, err);
    if (!code && protos.files.count + protos.sets.count > 0) {
        const struct mrg_schema_source source = {.protos = &protos};
        code = mrg_schema_load(&source, ret_schema, err);
    }
    done(&protos.roots);
    done(&protos.files);
    done(&protos.sets);
    return code;
}

/* "500ms", "10s", "2m", "1h". */
static bool read_duration(const char *text, uint64_t *ret_ms)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 9)
        return false;
    for (size_t i = 0; i < MRG_ARRAY_LEN(units); i++) {
        if (strcmp(text + digits, units[i].name) == 0) {
            *ret_ms = strtoull(text, NULL, 10) * units[i].ms;
            return *ret_ms > 0;
        }
    }
    return false;
}

enum mrg_err mrg_call_target(const struct mrg_cli_values *values, struct mrg_client_options *options,
                             struct mrg_error *err)
{
    const char *timeout = mrg_cli_value(values, "timeout");
    if (timeout && !read_duration(timeout, &options->timeout_ms))
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "--timeout %s: expected a duration such as 500ms, 10s or 2m", timeout);
    options->ca_file = mrg_cli_value(values, "cacert");
    signal(SIGPIPE, SIG_IGN);
    /* What gRPC's library would print beside the error that is told. */
    setenv("GRPC_VERBOSITY", "NONE", 0);
    return MRG_ERR_OK;
}

int mrg_call_failed(enum mrg_err code, const struct mrg_error *err)
{
    mrg_cli_complain("%s", err->message);
    bool usage = code == MRG_ERR_INVALID || code == MRG_ERR_NOT_FOUND || code == MRG_ERR_UNSUPPORTED;
    return usage ? MRG_EXIT_USAGE : MRG_EXIT_UNREACHABLE;
}
