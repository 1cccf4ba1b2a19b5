// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/server.h"
#include "util/log.h"

const struct mrg_cli_option mrg_serve_options[] = {
    {"config", 'c', "FILE", "The configuration; default mirage.yaml, or MIRAGE_CONFIG."},
    {"ready-file", 0, "FILE", "Write the addresses there as JSON once all listen."},
    {"mode", 0, "MODE", "auto, record, replay or off, instead of every dependency's own cassette.mode."},
    {"strict", 0, NULL,
     "Exit 1 at the end if a replay missed, an engine failed or a recorded reply was lost."},
    {"report", 0, "FILE",
     "Write counts, tokens and times there at the end: JSON, or JUnit XML for FILE.xml."},
    {"verbose", 'v', NULL, "Log what the libraries and engines say too."},
    {"quiet", 'q', NULL, "Log warnings and errors only."},
    {0},
};

/* SIGPIPE would end the process at the first caller that hangs up; the descriptors are for callers and
 * provider together. */
static void prepare_process(sigset_t *signals)
{
    struct rlimit limit;
    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    sigemptyset(signals);
    sigaddset(signals, SIGHUP);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    /* Before any thread starts, so that all inherit the mask and sigwait gets them. */
    pthread_sigmask(SIG_BLOCK, signals, NULL);
}

static void on_second_signal(int number)
{
    (void)number;
    _exit(MRG_EXIT_NO);
}

/* From now on a signal ends the process at once. */
static void arm_second_signal(const sigset_t *signals)
{
    struct sigaction action = {.sa_handler = on_second_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGHUP, SIG_IGN);
    pthread_sigmask(SIG_UNBLOCK, signals, NULL);
}

static struct mrg_config *load(const struct mrg_cli_values *values)
{
    char path[] = "dependencies.*.cassette.mode", origin[] = "--mode";
    const char *mode = mrg_cli_value(values, "mode");
    _cleanup_free_ char *value = mode ? mrg_strdup(mode) : NULL;
    const struct mrg_override flag = {path, value, origin};
    return mrg_cli_load(values, &flag, mode ? 1 : 0);
}

static bool tell_ready(const struct mrg_cli_values *values, const struct mrg_server *server)
{
    const char *path = mrg_cli_value(values, "ready-file");
    struct mrg_error err;
    mrg_server_tell_addresses(server);
    if (path && mrg_server_write_ready(server, path, &err)) {
        mrg_log(MRG_LOG_ERROR, "%s", err.message);
        return false;
    }
    return true;
}

static void reload(const struct mrg_cli_values *values, struct mrg_server *server)
{
    struct mrg_error err;
    struct mrg_config *config = load(values);
    if (!config) {
        mrg_log(MRG_LOG_ERROR, "The configuration is wrong; the old one stays");
        return;
    }
    if (mrg_server_reload(server, config, &err)) {
        mrg_log(MRG_LOG_ERROR, "%s; the old configuration stays", err.message);
    } else {
        mrg_log(MRG_LOG_INFO, "Reloaded %s", config->path);
        tell_ready(values, server);
    }
    mrg_config_unref(config);
}

static int end(const struct mrg_cli_values *values, struct mrg_server *server, const sigset_t *signals)
{
    const char *path = mrg_cli_value(values, "report");
    struct mrg_error err;
    int status = MRG_EXIT_OK;
    mrg_log(MRG_LOG_INFO, "Stopping; a second signal stops at once");
    arm_second_signal(signals);
    mrg_server_drain(server);
    /* The last recordings are written, or lost, now: only then do the counts stand. */
    mrg_server_free(server);
    mrg_server_tell_counts(server);
    if (path && mrg_server_write_report(server, path, &err)) {
        mrg_log(MRG_LOG_ERROR, "%s", err.message);
        status = MRG_EXIT_NO;
    }
    if (mrg_cli_value(values, "strict") && mrg_stats_any_failure(server->stats))
        status = MRG_EXIT_NO;
    mrg_server_done(server);
    return status;
}

static int run(const struct mrg_cli_values *values, struct mrg_server *server, const sigset_t *signals)
{
    if (!tell_ready(values, server)) {
        end(values, server, signals);
        return MRG_EXIT_NO;
    }
    for (;;) {
        int number = 0;
        sigwait(signals, &number);
        if (number != SIGHUP)
            return end(values, server, signals);
        reload(values, server);
    }
}

/* Before anything starts: a report that cannot be written would be found out after the whole run. */
static bool file_fits(const struct mrg_cli_values *values, const char *option)
{
    const char *path = mrg_cli_value(values, option);
    if (!path)
        return true;
    _cleanup_free_ char *folder = mrg_strdup(path);
    const char *name = dirname(folder);
    if (access(name, W_OK | X_OK) == 0)
        return true;
    mrg_cli_complain("--%s: %s cannot be written: %s: %s", option, path, name, strerror(errno));
    return false;
}

int mrg_cli_serve(const struct mrg_cli_values *values)
{
    struct mrg_error err;
    struct mrg_server server;
    sigset_t signals;
    if (mrg_cli_value(values, "verbose"))
        mrg_log_set_level(MRG_LOG_DEBUG);
    else if (mrg_cli_value(values, "quiet"))
        mrg_log_set_level(MRG_LOG_WARN);
    if (!file_fits(values, "ready-file") || !file_fits(values, "report"))
        return MRG_EXIT_USAGE;
    prepare_process(&signals);
    struct mrg_config *config = load(values);
    if (!config)
        return MRG_EXIT_USAGE;
    enum mrg_err code = mrg_server_start(&server, config, &err);
    mrg_config_unref(config);
    if (code) {
        mrg_log(MRG_LOG_ERROR, "%s", err.message);
        return MRG_EXIT_USAGE;
    }
    return run(values, &server, &signals);
}
