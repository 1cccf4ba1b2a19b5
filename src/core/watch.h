// SPDX-License-Identifier: Apache-2.0
/*
 * Watch: one thread for deadlines, delays and callers that hang up (timerfd and epoll with EPOLLRDHUP).
 *
 * Timers and hang-up watches are embedded in their owner's struct, which starts zeroed. Their functions run
 * on the watch's thread, must not block, and may set, clear or free anything, themselves included. Clearing
 * from another thread waits until a function that is running has returned: on return the timer or watch is
 * neither set, not even by that function, nor running, so that its owner may be freed right after. Do not
 * hold a lock that the function takes. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct mrg_watch;

struct mrg_timer {
    void (*fn)(struct mrg_timer *timer); /* set before the first use */
    uint64_t due_ms;                     /* private: monotonic */
    size_t index;                        /* private: place in the heap + 1; 0 when not set */
};

struct mrg_hangup {
    void (*fn)(
        struct mrg_hangup *hangup); /* set before the first use; called once, then the watch is cleared */
    int fd;                         /* private: the watched socket, while slot is not 0 */
    uint32_t slot;                  /* private: place in the watch's table + 1; 0 when not set */
};

enum mrg_err mrg_watch_new(struct mrg_watch **ret_watch, struct mrg_error *err); /* starts the thread */
void mrg_watch_free(struct mrg_watch *watch); /* joins it; NULL is allowed; nothing may be set any more */

void mrg_watch_timer_set(struct mrg_watch *watch, struct mrg_timer *timer,
                         uint64_t due_ms); /* moves one that is set */
/* On return it is neither set nor running (on the watch's own thread: not set). True when a run that was due
 * will not come. */
bool mrg_watch_timer_clear(struct mrg_watch *watch, struct mrg_timer *timer);

/* fn is called when the peer of socket `fd` closes its side or resets. The caller keeps fd open until
 * clear or fn. Level: a peer that has already gone is reported at once. One watch a socket at a time; when
 * the kernel refuses to watch it, fn is never called. */
void mrg_watch_hangup_set(struct mrg_watch *watch, struct mrg_hangup *hangup, int fd);
/* As for a timer. */
bool mrg_watch_hangup_clear(struct mrg_watch *watch, struct mrg_hangup *hangup);
