// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "wire/schema_int.h"

extern char **environ;

/* Starts it with `out` as its error output, in a process group of its own. Returns an error number. */
static int start(const char *path, char *const argv[], const char *folder, int out, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    posix_spawnattr_init(&attr);
    /* Our signals are blocked, and SIGPIPE is ignored: a program expects neither. */
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int error = posix_spawn(ret_pid, path, &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* False at the end of the output. What is too much is read and dropped. */
static bool read_output(int fd, struct mrg_buf *output)
{
    char piece[4096];
    ssize_t n = read(fd, piece, sizeof(piece));
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    size_t room = output->max - output->len;
    mrg_buf_append(output, piece, (size_t)n < room ? (size_t)n : room);
    return n > 0;
}

/* Until it ends, or the time is over: false. What it started may hold the pipe longer: that is not waited for. */
static bool watch(int process, int pipe, unsigned timeout_ms, struct mrg_buf *output)
{
    uint64_t deadline = mrg_clock_ms() + timeout_ms;
    struct pollfd fds[] = {{.fd = process, .events = POLLIN}, {.fd = pipe, .events = POLLIN}};
    for (;;) {
        uint64_t now = mrg_clock_ms();
        if (now >= deadline)
            return false;
        if (poll(fds, 2, (int)(deadline - now)) < 0 && errno != EINTR)
            return false;
        if (fds[1].fd >= 0 && fds[1].revents && !read_output(pipe, output))
            fds[1].fd = -1;
        else if (fds[0].revents && !(fds[1].revents & POLLIN))
            return true;
    }
}

enum mrg_err mrg_spawn(const char *path, char *const argv[], const char *folder, unsigned timeout_ms,
                       struct mrg_buf *output, int *ret_status, struct mrg_error *err)
{
    int pipes[2];
    pid_t pid;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return mrg_error_set(err, MRG_ERR_IO, "%s: %s", path, strerror(errno));
    int error = start(path, argv, folder, pipes[1], &pid);
    close(pipes[1]);
    if (error != 0) {
        close(pipes[0]);
        return mrg_error_set(err, MRG_ERR_IO, "%s: could not be started: %s", path, strerror(error));
    }
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    int process = pidfd_open(pid, 0);
    bool ended = process >= 0 && watch(process, pipes[0], timeout_ms, output);
    if (!ended)
        kill(-pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (process >= 0)
        close(process);
    close(pipes[0]);
    if (!ended)
        return mrg_error_set(err, MRG_ERR_TIMEOUT, "%s: did not end within %u ms", path, timeout_ms);
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return MRG_ERR_OK;
}
