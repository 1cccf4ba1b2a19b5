// SPDX-License-Identifier: Apache-2.0
#include "util/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX   "mirage: "
#define ORDINARY 1024u

/* One process has one standard error, so the level is one for all. */
static atomic_int level_now = MRG_LOG_INFO;

void mrg_log_set_level(enum mrg_log_level level)
{
    atomic_store_explicit(&level_now, (int)level, memory_order_relaxed);
}

bool mrg_log_enabled(enum mrg_log_level level)
{
    return (int)level <= atomic_load_explicit(&level_now, memory_order_relaxed);
}

/*
 * One write(2) for the whole line keeps lines of several threads apart; what standard error refuses is lost.
 */
static void write_whole(const char *line, size_t len)
{
    while (len > 0) {
        ssize_t done = write(STDERR_FILENO, line, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return;
        line += done;
        len -= (size_t)done;
    }
}

/* A value from outside must not be able to begin a line or to steer a terminal. */
static void make_one_line(char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F)
            line[i] = ' ';
    }
    line[len] = '\n';
}

void mrg_log(enum mrg_log_level level, const char *format, ...)
{
    if (!mrg_log_enabled(level))
        return;
    int saved = errno;
    char small[ORDINARY] = PREFIX;
    _cleanup_free_ char *large = NULL;
    char *line = small;
    const size_t head = sizeof(PREFIX) - 1;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(small + head, sizeof(small) - head, format, args);
    va_end(args);
    MRG_ASSERT(len >= 0);
    size_t total = head + (size_t)len;
    if (total >= sizeof(small)) {
        line = large = mrg_malloc(total + 1);
        memcpy(large, PREFIX, head);
        va_start(args, format);
        vsnprintf(large + head, (size_t)len + 1, format, args);
        va_end(args);
    }
    make_one_line(line, total);
    write_whole(line, total + 1);
    errno = saved;
}
