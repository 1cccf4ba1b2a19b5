// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/limits.h"
#include "fidelity/runner_int.h"
#include "util/clock.h"

extern char **environ;

/* The groups that run, for a signal's handler; 0 is free. A job has at most one. */
static _Atomic pid_t running[MRG_MAX_VERIFY_JOBS];

static void note(pid_t from, pid_t to)
{
    for (size_t i = 0; i < MRG_ARRAY_LEN(running); i++) {
        pid_t expected = from;
        if (atomic_compare_exchange_strong(&running[i], &expected, to))
            return;
    }
}

void mrg_run_kill(void)
{
    for (size_t i = 0; i < MRG_ARRAY_LEN(running); i++) {
        pid_t pid = atomic_load(&running[i]);
        if (pid > 0)
            kill(-pid, SIGKILL);
    }
}

static enum mrg_err spawn(const char *command, int output, pid_t *ret_pid, struct mrg_error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    char shell[] = "sh", option[] = "-c";
    _cleanup_free_ char *text = mrg_strdup(command);
    char *const argv[] = {shell, option, text, NULL};
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawn(ret_pid, "/bin/sh", &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code ? mrg_error_set(err, MRG_ERR_INTERNAL, "/bin/sh could not be started: %s", strerror(code))
                : MRG_ERR_OK;
}

/* The first line, without its end. */
static enum mrg_err read_line(int output, uint64_t timeout_ms, struct mrg_buf *line, struct mrg_error *err)
{
    uint64_t until = mrg_clock_ms() + timeout_ms;
    for (char c = 0;;) {
        uint64_t now = mrg_clock_ms();
        struct pollfd wait = {.fd = output, .events = POLLIN};
        int ready = now < until ? poll(&wait, 1, (int)(until - now)) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return mrg_error_set(err, MRG_ERR_TIMEOUT, "it printed no line within %llu ms",
                                 (unsigned long long)timeout_ms);
        if (read(output, &c, 1) != 1)
            return mrg_error_set(err, MRG_ERR_UNAVAILABLE, "it ended before it printed a line with its URL");
        if (c == '\n')
            return MRG_ERR_OK;
        mrg_buf_append_char(line, c);
        if (mrg_buf_failed(line))
            return mrg_error_set(err, MRG_ERR_INVALID, "its first line has more than %zu bytes", line->max);
    }
}

static const char *reset_of(const struct mrg_run_side *side, const char *name)
{
    for (size_t i = 0; i < side->count; i++)
        if (!side->targets[i].name || (name && strcmp(side->targets[i].name, name) == 0))
            return side->targets[i].reset;
    return NULL;
}

/* "listening on http=http://…": what stands before the = is the wire, and names no dependency. */
static bool is_wire(const char *name)
{
    static const char *const wires[] = {"http", "https", "grpc", "grpcs", "zmq"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(wires); i++)
        if (strcmp(wires[i], name) == 0)
            return true;
    return false;
}

/* Words of the form URL or NAME=URL; others are passed over. */
static void read_targets(struct mrg_arena *arena, char *line, const struct mrg_run_side *resets,
                         struct mrg_real_process *process)
{
    char *rest = line;
    process->targets = mrg_arena_zalloc(arena, (strlen(line) / 4 + 1) * sizeof(*process->targets));
    for (char *word; (word = strsep(&rest, " \t")) != NULL;) {
        char *scheme = strstr(word, "://"), *equals = strchr(word, '=');
        if (!scheme)
            continue;
        bool named = equals && equals < scheme;
        if (named)
            *equals = '\0';
        struct mrg_run_target *target = &process->targets[process->count++];
        target->name = named && !is_wire(word) ? mrg_arena_strdup(arena, word) : NULL;
        target->url = mrg_arena_strdup(arena, named ? equals + 1 : word);
        target->reset = reset_of(resets, target->name);
    }
}

enum mrg_err mrg_real_start(struct mrg_arena *arena, const struct mrg_run_options *options,
                            struct mrg_real_process *ret_process, struct mrg_error *err)
{
    int ends[2];
    struct mrg_buf line;
    struct mrg_real_process process = {.count = 0};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "no pipe: %s", strerror(errno));
    enum mrg_err code = spawn(options->real_command, ends[1], &process.pid, err);
    close(ends[1]);
    process.output = ends[0];
    if (code) {
        close(ends[0]);
        return code;
    }
    note(0, process.pid);
    mrg_buf_init(&line, MRG_MAX_COMMAND_LINE);
    code = read_line(process.output, MRG_REAL_START_MS, &line, err);
    if (!code) {
        mrg_buf_append_char(&line, '\0');
        char *text = mrg_arena_memdup(arena, line.data, line.len);
        read_targets(arena, text, &options->real, &process);
        if (process.count == 0)
            code = mrg_error_set(err, MRG_ERR_INVALID,
                                 "its first line is \"%.200s\"; expected URL or NAME=URL", line.data);
    }
    mrg_buf_done(&line);
    if (code) {
        mrg_real_stop(&process);
        return mrg_error_wrap(err, "--real-cmd");
    }
    *ret_process = process;
    return MRG_ERR_OK;
}

static bool ended_within(pid_t pid, int timeout_ms)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (fd < 0)
        return false;
    bool ended = poll(&wait, 1, timeout_ms) == 1;
    close(fd);
    return ended;
}

void mrg_real_stop(struct mrg_real_process *process)
{
    kill(-process->pid, SIGTERM);
    ended_within(process->pid, MRG_REAL_STOP_MS);
    /* The leader, and what it left behind in its group. */
    kill(-process->pid, SIGKILL);
    note(process->pid, 0);
    waitpid(process->pid, NULL, 0);
    close(process->output);
}
