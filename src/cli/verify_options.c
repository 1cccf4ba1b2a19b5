// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/call_int.h"
#include "cli/verify_int.h"
#include "core/limits.h"

static size_t count_of(const struct mrg_cli_values *values, const char *name)
{
    size_t count = 0;
    for (size_t cursor = 0; mrg_cli_each(values, name, &cursor);)
        count++;
    return count;
}

/* "inventory=http://…" or a URL alone; a `=` behind the scheme is the URL's. */
static void split(struct mrg_arena *arena, const char *text, const char *stop, const char **ret_name,
                  const char **ret_rest)
{
    const char *equals = strchr(text, '='), *end = stop ? strstr(text, stop) : NULL;
    bool named = equals && (!stop || (end && equals < end));
    *ret_name = named ? mrg_arena_memdup(arena, text, (size_t)(equals - text)) : NULL;
    *ret_rest = named ? equals + 1 : text;
}

/* The reset path for a name: the last that names it, or that names nothing; "none" turns it off. */
static enum mrg_err find_reset(const struct mrg_cli_values *values, struct mrg_arena *arena,
                               const char *option, const char *name, const char **reset,
                               struct mrg_error *err)
{
    const char *text;
    for (size_t cursor = 0; (text = mrg_cli_each(values, option, &cursor));) {
        const char *own, *path;
        split(arena, text, NULL, &own, &path);
        if (strcmp(path, "none") != 0 && path[0] != '/')
            return mrg_error_set(err, MRG_ERR_INVALID,
                                 "--%s %s: expected a path such as /__test__/reset, NAME=PATH, or none",
                                 option, text);
        if (!own || (name && strcmp(own, name) == 0))
            *reset = path[0] == '/' ? path : NULL;
    }
    return MRG_ERR_OK;
}

static enum mrg_err read_side(const struct mrg_cli_values *values, struct mrg_arena *arena, const char *side,
                              const char *reset_option, const char *reset, struct mrg_run_side *ret_side,
                              struct mrg_error *err)
{
    const char *text;
    size_t count = count_of(values, side);
    struct mrg_run_target *targets = mrg_arena_zalloc(arena, (count + 1) * sizeof(*targets));
    *ret_side = (struct mrg_run_side){targets, count};
    for (size_t cursor = 0, i = 0; (text = mrg_cli_each(values, side, &cursor)); i++) {
        struct mrg_client *client = NULL;
        targets[i].reset = reset;
        split(arena, text, "://", &targets[i].name, &targets[i].url);
        enum mrg_err code = mrg_client_open(targets[i].url, &(struct mrg_client_options){.timeout_ms = 0},
                                            &client, NULL, err);
        if (code)
            return mrg_error_wrap(err, "--%s %s", side, text);
        mrg_client_close(client);
        code = find_reset(values, arena, reset_option, targets[i].name, &targets[i].reset, err);
        if (code)
            return code;
    }
    return MRG_ERR_OK;
}

static enum mrg_err read_count(const struct mrg_cli_values *values, const char *name, unsigned most,
                               unsigned *ret_count, struct mrg_error *err)
{
    char *end;
    const char *text = mrg_cli_value(values, name);
    if (!text)
        return MRG_ERR_OK;
    unsigned long count = strtoul(text, &end, 10);
    if (*end || text[0] < '0' || text[0] > '9' || count < 1 || count > most)
        return mrg_error_set(err, MRG_ERR_INVALID, "--%s %s: expected a number from 1 to %u", name, text,
                             most);
    *ret_count = (unsigned)count;
    return MRG_ERR_OK;
}

/* With a command the targets named by --real have nothing to say but their resets. */
static enum mrg_err read_command(const struct mrg_cli_values *values, struct mrg_arena *arena,
                                 struct mrg_run_options *options, struct mrg_error *err)
{
    options->real_command = mrg_cli_value(values, "real-cmd");
    if (!options->real_command && options->real.count == 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "expected --real URL or --real-cmd COMMAND");
    if (options->real_command && options->real.count > 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "expected --real or --real-cmd, not both");
    if (!options->real_command)
        return MRG_ERR_OK;
    struct mrg_run_target *any = mrg_arena_zalloc(arena, sizeof(*any));
    options->real = (struct mrg_run_side){any, 1};
    return find_reset(values, arena, "real-reset", NULL, &any->reset, err);
}

static void tell(void *ctx, size_t done, size_t total, uint64_t left_ms, const char *scenario)
{
    bool terminal = *(const bool *)ctx;
    if (!terminal && done % 10 != 0 && done != total)
        return;
    fprintf(stderr, "%s%zu of %zu, %s", terminal ? "\r\033[K" : "mirage: ", done, total, scenario);
    if (done < total)
        fprintf(stderr, ", about %llu s left", (unsigned long long)(left_ms + 999) / 1000);
    fputs(terminal && done < total ? "" : "\n", stderr);
    fflush(stderr);
}

enum mrg_err mrg_verify_read_options(const struct mrg_cli_values *values, struct mrg_arena *arena,
                                     struct mrg_run_options *ret_options, struct mrg_schema **ret_schema,
                                     struct mrg_error *err)
{
    static bool terminal;
    struct mrg_client_options client = {.timeout_ms = 0};
    struct mrg_run_options options = {.label = mrg_cli_value(values, "label"),
                                      .inject = mrg_cli_value(values, "inject") != NULL,
                                      .ctx = &terminal};
    terminal = isatty(STDERR_FILENO) == 1;
    options.progress = mrg_cli_value(values, "quiet") ? NULL : tell;
    *ret_schema = NULL;
    enum mrg_err code = read_count(values, "repeat", MRG_MAX_VERIFY_REPEAT, &options.repeat, err);
    if (!code)
        code = read_count(values, "jobs", MRG_MAX_VERIFY_JOBS, &options.jobs, err);
    if (!code)
        code = mrg_call_target(values, &client, err);
    if (!code)
        code = read_side(values, arena, "real", "real-reset", NULL, &options.real, err);
    if (!code)
        code = read_side(values, arena, "sim", "sim-reset", "/__mock__/reset", &options.simulated, err);
    if (!code)
        code = read_command(values, arena, &options, err);
    if (!code && options.simulated.count == 0)
        code = mrg_error_set(err, MRG_ERR_INVALID, "expected --sim URL");
    if (!code && options.jobs > 1 && !options.real_command) {
        mrg_cli_complain(
            "--jobs %u: one at a time, since a real service at a URL has one state; --real-cmd starts "
            "one for each job",
            options.jobs);
        options.jobs = 1;
    }
    if (!code)
        code = mrg_call_schema(values, ret_schema, err);
    options.timeout_ms = client.timeout_ms;
    options.ca_file = client.ca_file;
    options.schema = *ret_schema;
    if (!code)
        *ret_options = options;
    return code;
}

static bool is_wanted(const struct mrg_cli_values *values, const char *name)
{
    const char *only;
    size_t cursor = 0;
    if (!mrg_cli_value(values, "only"))
        return true;
    while ((only = mrg_cli_each(values, "only", &cursor)))
        if (strncmp(name, only, strlen(only)) == 0)
            return true;
    return false;
}

enum mrg_err mrg_verify_scenarios(const struct mrg_cli_values *values, struct mrg_arena *arena,
                                  struct mrg_scenarios *ret_scenarios, struct mrg_error *err)
{
    const char *paths[MRG_CLI_OPERANDS];
    size_t count = 0, kept = 0;
    while (count < MRG_CLI_OPERANDS && mrg_cli_operand(values, count)) {
        paths[count] = mrg_cli_operand(values, count);
        count++;
    }
    if (count == 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "expected SCENARIOS: files, or folders of *.yaml");
    enum mrg_err code = mrg_scenarios_load(arena, paths, count, ret_scenarios, err);
    if (code)
        return code;
    for (size_t i = 0; i < ret_scenarios->count; i++)
        if (is_wanted(values, ret_scenarios->items[i].name))
            ret_scenarios->items[kept++] = ret_scenarios->items[i];
    ret_scenarios->count = kept;
    return kept > 0 ? MRG_ERR_OK
                    : mrg_error_set(err, MRG_ERR_INVALID, "--only %s: no scenario's name begins so",
                                    mrg_cli_value(values, "only"));
}
