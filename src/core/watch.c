// SPDX-License-Identifier: Apache-2.0
#include "core/watch.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/thread.h"

#define EVENTS_AT_ONCE 64
#define NO_SLOT        UINT32_MAX

/* What an epoll event may stand for. A hang-up watch is named by slot and generation and never by pointer:
 * an event may have been fetched already when its watch is cleared, its owner freed and the descriptor
 * used again. */
#define EVENT_TIMER UINT64_MAX
#define EVENT_WAKE  (UINT64_MAX - 1)

struct slot {
    struct mrg_hangup *hangup; /* NULL: free */
    uint32_t generation;       /* grows with each use */
    uint32_t next_free;        /* of the list of free slots */
};

struct mrg_watch {
    pthread_t thread;
    pthread_mutex_t lock;    /* guards all below; never held while a function runs */
    pthread_cond_t returned; /* a function has returned */
    pthread_cond_t seen;     /* nobody waits any more for one that has returned */
    unsigned waiters;        /* threads that wait for the running function */
    int epoll_fd;
    int timer_fd;
    int wake_fd; /* eventfd: the thread is to end */
    bool stop;
    const void *running;     /* the timer or hang-up watch whose function runs now */
    struct mrg_timer **heap; /* the earliest first */
    size_t timer_count;
    size_t timer_room;
    uint64_t armed_ms; /* what timer_fd is set to; 0: nothing */
    struct slot *slots;
    size_t slot_count;
    size_t slot_room;
    uint32_t free_slot; /* first free one, or NO_SLOT */
};

/* ---- the heap ---- */

static void heap_put(struct mrg_watch *watch, size_t at, struct mrg_timer *timer)
{
    watch->heap[at] = timer;
    timer->index = at + 1;
}

static void heap_up(struct mrg_watch *watch, size_t at)
{
    struct mrg_timer *timer = watch->heap[at];
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (watch->heap[parent]->due_ms <= timer->due_ms)
            break;
        heap_put(watch, at, watch->heap[parent]);
        at = parent;
    }
    heap_put(watch, at, timer);
}

static void heap_down(struct mrg_watch *watch, size_t at)
{
    struct mrg_timer *timer = watch->heap[at];
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= watch->timer_count)
            break;
        if (child + 1 < watch->timer_count && watch->heap[child + 1]->due_ms < watch->heap[child]->due_ms)
            child++;
        if (timer->due_ms <= watch->heap[child]->due_ms)
            break;
        heap_put(watch, at, watch->heap[child]);
        at = child;
    }
    heap_put(watch, at, timer);
}

static void heap_settle(struct mrg_watch *watch, size_t at)
{
    heap_up(watch, at);
    heap_down(watch, watch->heap[at]->index - 1);
}

static void heap_remove(struct mrg_watch *watch, struct mrg_timer *timer)
{
    size_t at = timer->index - 1;
    struct mrg_timer *last = watch->heap[--watch->timer_count];
    timer->index = 0;
    if (last == timer)
        return;
    heap_put(watch, at, last);
    heap_settle(watch, at);
}

/* Sets timer_fd to the earliest timer. One that fires early for a timer that was cleared meanwhile costs a
 * wake-up, no more. */
static void arm(struct mrg_watch *watch)
{
    if (watch->timer_count == 0)
        return;
    uint64_t due = watch->heap[0]->due_ms;
    if (due == 0)
        due = 1; /* zero would disarm it */
    if (watch->armed_ms != 0 && watch->armed_ms <= due)
        return;
    struct itimerspec when = {.it_value = {(time_t)(due / 1000), (long)(due % 1000) * 1000000}};
    MRG_ASSERT(timerfd_settime(watch->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) == 0);
    watch->armed_ms = due;
}

/* ---- the table of hang-up watches ---- */

static uint32_t slot_take(struct mrg_watch *watch, struct mrg_hangup *hangup)
{
    uint32_t at = watch->free_slot;
    if (at == NO_SLOT) {
        MRG_ASSERT(watch->slot_count < NO_SLOT - 1);
        mrg_grow((void **)&watch->slots, &watch->slot_room, watch->slot_count, sizeof(*watch->slots));
        at = (uint32_t)watch->slot_count++;
        watch->slots[at].generation = 0;
    } else {
        watch->free_slot = watch->slots[at].next_free;
    }
    watch->slots[at].hangup = hangup;
    /* The top bit stays clear, so that no watch looks like EVENT_TIMER. */
    watch->slots[at].generation = (watch->slots[at].generation + 1) & 0x7FFFFFFF;
    return at;
}

static void slot_drop(struct mrg_watch *watch, struct mrg_hangup *hangup)
{
    uint32_t at = hangup->slot - 1;
    watch->slots[at].hangup = NULL;
    watch->slots[at].next_free = watch->free_slot;
    watch->free_slot = at;
    hangup->slot = 0;
}

/* ---- the thread ---- */

static void begin(struct mrg_watch *watch, const void *what)
{
    watch->running = what;
    pthread_mutex_unlock(&watch->lock);
}

static void end(struct mrg_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->running = NULL;
    pthread_cond_broadcast(&watch->returned);
    /* Who clears a timer that sets itself again at once would else hardly ever find it at rest. */
    while (watch->waiters > 0)
        pthread_cond_wait(&watch->seen, &watch->lock);
}

static void run_timers(struct mrg_watch *watch)
{
    uint64_t now = mrg_clock_ms();
    watch->armed_ms = 0;
    while (watch->timer_count > 0 && watch->heap[0]->due_ms <= now) {
        struct mrg_timer *timer = watch->heap[0];
        heap_remove(watch, timer);
        begin(watch, timer);
        timer->fn(timer);
        end(watch);
    }
    arm(watch);
}

static void run_hangup(struct mrg_watch *watch, uint64_t event)
{
    uint32_t at = (uint32_t)event;
    if (watch->slots[at].generation != (uint32_t)(event >> 32) || !watch->slots[at].hangup)
        return;
    struct mrg_hangup *hangup = watch->slots[at].hangup;
    epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, hangup->fd, NULL);
    slot_drop(watch, hangup);
    begin(watch, hangup);
    hangup->fn(hangup);
    end(watch);
}

static void *run(void *data)
{
    struct mrg_watch *watch = data;
    struct epoll_event events[EVENTS_AT_ONCE];
    pthread_mutex_lock(&watch->lock);
    while (!watch->stop) {
        pthread_mutex_unlock(&watch->lock);
        int count = epoll_wait(watch->epoll_fd, events, EVENTS_AT_ONCE, -1);
        MRG_ASSERT(count >= 0 || errno == EINTR);
        pthread_mutex_lock(&watch->lock);
        for (int i = 0; i < count; i++) {
            uint64_t expirations;
            if (events[i].data.u64 == EVENT_TIMER) {
                (void)!read(watch->timer_fd, &expirations, sizeof(expirations));
                run_timers(watch);
            } else if (events[i].data.u64 != EVENT_WAKE) {
                run_hangup(watch, events[i].data.u64);
            }
        }
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

/* ---- public ---- */

static bool add(struct mrg_watch *watch, int fd, uint32_t events, uint64_t what)
{
    struct epoll_event event = {.events = events, .data = {.u64 = what}};
    return epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void close_all(struct mrg_watch *watch)
{
    int fds[] = {watch->epoll_fd, watch->timer_fd, watch->wake_fd};
    for (size_t i = 0; i < MRG_ARRAY_LEN(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    pthread_mutex_destroy(&watch->lock);
    pthread_cond_destroy(&watch->returned);
    pthread_cond_destroy(&watch->seen);
    free(watch->heap);
    free(watch->slots);
    free(watch);
}

enum mrg_err mrg_watch_new(struct mrg_watch **ret_watch, struct mrg_error *err)
{
    struct mrg_watch *watch = mrg_zalloc(sizeof(*watch));
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->returned, NULL);
    pthread_cond_init(&watch->seen, NULL);
    watch->free_slot = NO_SLOT;
    watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int why = 0;
    if (watch->epoll_fd < 0 || watch->timer_fd < 0 || watch->wake_fd < 0 ||
        !add(watch, watch->timer_fd, EPOLLIN, EVENT_TIMER) ||
        !add(watch, watch->wake_fd, EPOLLIN, EVENT_WAKE))
        why = errno;
    else
        why = mrg_thread_start(&watch->thread, "mirage-watch", run, watch);
    if (why != 0) {
        close_all(watch);
        return mrg_error_set(err, MRG_ERR_IO, "starting the watch: %s", strerror(why));
    }
    *ret_watch = watch;
    return MRG_ERR_OK;
}

void mrg_watch_free(struct mrg_watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_mutex_unlock(&watch->lock);
    const uint64_t one = 1;
    MRG_ASSERT(write(watch->wake_fd, &one, sizeof(one)) == sizeof(one));
    pthread_join(watch->thread, NULL);
    close_all(watch);
}

void mrg_watch_timer_set(struct mrg_watch *watch, struct mrg_timer *timer, uint64_t due_ms)
{
    pthread_mutex_lock(&watch->lock);
    timer->due_ms = due_ms;
    if (timer->index == 0) {
        mrg_grow((void **)&watch->heap, &watch->timer_room, watch->timer_count, sizeof(*watch->heap));
        heap_put(watch, watch->timer_count++, timer);
    }
    heap_settle(watch, timer->index - 1);
    arm(watch);
    pthread_mutex_unlock(&watch->lock);
}

/* Under the lock: whether that function runs on the watch's thread, and this is another one. When true, it
 * has returned meanwhile, and nothing has run since. */
static bool wait_returned(struct mrg_watch *watch, const void *what)
{
    if (watch->running != what || pthread_equal(pthread_self(), watch->thread))
        return false;
    watch->waiters++;
    while (watch->running == what)
        pthread_cond_wait(&watch->returned, &watch->lock);
    if (--watch->waiters == 0)
        pthread_cond_signal(&watch->seen);
    return true;
}

bool mrg_watch_timer_clear(struct mrg_watch *watch, struct mrg_timer *timer)
{
    bool was_set = false;
    pthread_mutex_lock(&watch->lock);
    do {
        if (timer->index != 0) {
            heap_remove(watch, timer);
            was_set = true;
        }
    } while (wait_returned(watch, timer));
    pthread_mutex_unlock(&watch->lock);
    return was_set;
}

void mrg_watch_hangup_set(struct mrg_watch *watch, struct mrg_hangup *hangup, int fd)
{
    pthread_mutex_lock(&watch->lock);
    MRG_ASSERT(hangup->slot == 0);
    uint32_t at = slot_take(watch, hangup);
    hangup->fd = fd;
    hangup->slot = at + 1;
    if (!add(watch, fd, EPOLLRDHUP, (uint64_t)watch->slots[at].generation << 32 | at)) {
        mrg_log(MRG_LOG_DEBUG, "Cannot watch a caller's socket: %s", strerror(errno));
        slot_drop(watch, hangup);
    }
    pthread_mutex_unlock(&watch->lock);
}

bool mrg_watch_hangup_clear(struct mrg_watch *watch, struct mrg_hangup *hangup)
{
    bool was_set = false;
    pthread_mutex_lock(&watch->lock);
    do {
        if (hangup->slot != 0) {
            epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, hangup->fd, NULL);
            slot_drop(watch, hangup);
            was_set = true;
        }
    } while (wait_returned(watch, hangup));
    pthread_mutex_unlock(&watch->lock);
    return was_set;
}
