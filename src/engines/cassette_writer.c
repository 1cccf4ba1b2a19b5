// SPDX-License-Identifier: Apache-2.0
/*
 * Lock: `lock` guards everything but the files, which are the thread's own; nothing is written with the lock
 * held. While a group is written its lines stay at the head of their list, and only the thread takes lines
 * off.
 */
#include "engines/cassette_writer.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/limits.h"
#include "engines/cassette_file.h"
#include "util/list.h"
#include "util/log.h"

#define RETRY_MS 1000u /* between attempts to write what was refused */
#define LAST_MS  2000u /* for attempts when the writer is freed */
#define PAUSE_MS 100u  /* between these */
#define GRACE_MS 1000u /* for a write that is under way then */
#define GROUP    256   /* lines of one group at most */
#define NEVER    UINT64_MAX

struct append {
    struct mrg_list link; /* in its target's kept lines */
    struct mrg_text *line;
    uint64_t number; /* of the lines ever queued */
    struct mrg_dependency_stats *stats;
};

/* One file. */
struct target {
    struct target *next;            /* made before it */
    struct mrg_cassette_file *file; /* the thread's own, but for its path */
    struct mrg_list kept;           /* lines to be written, oldest first */
    size_t count;                   /* of kept */
    uint64_t retry_ms;              /* monotonic: no attempt before; 0: none has failed */
    bool told;                      /* the failure stands in the log */
};

struct mrg_cassette_writer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;    /* for the thread: something to do */
    pthread_cond_t done;    /* for flush and free: a round, or the thread, has ended */
    struct target *targets; /* the newest first; none goes before the end */
    uint64_t queued;        /* lines ever queued */
    uint64_t asked;         /* flushes ever asked for */
    uint64_t served;        /* of these, those that a round has served */
    uint64_t waiting_bytes; /* of lines kept */
    uint64_t stop_by_ms;    /* monotonic: the end of the last attempts */
    bool stopping;
    bool ended;     /* the thread touches nothing any more */
    bool left;      /* free has gone: the thread frees the writer */
    bool told_full; /* that new lines are given up stands in the log */
    struct mrg_cassette_counts counts;
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* False when that moment has passed. */
static bool wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t at_ms)
{
    struct timespec until = {(time_t)(at_ms / 1000u), (long)(at_ms % 1000u) * 1000000L};
    return pthread_cond_timedwait(cond, lock, &until) != ETIMEDOUT;
}

static void count(atomic_ullong *counter, long long by)
{
    atomic_fetch_add_explicit(counter, (unsigned long long)by, memory_order_relaxed);
}

/* With the lock held: the target's oldest line is on the disk, or given up. */
static void drop_first(struct mrg_cassette_writer *writer, struct target *target, bool written)
{
    struct append *append = MRG_CONTAINER_OF(mrg_list_pop(&target->kept), struct append, link);
    struct mrg_dependency_stats *stats = append->stats;
    target->count--;
    writer->waiting_bytes -= append->line->len;
    writer->counts.waiting--;
    if (written)
        writer->counts.written++;
    else
        writer->counts.lost++;
    if (stats) {
        count(&stats->waiting, -1);
        count(written ? &stats->recorded : &stats->lost, 1);
    }
    mrg_text_unref(append->line);
    free(append);
}

/*
 * With the lock held: references to the first lines of a target, as many as fit into one group. Free may give
 * the lines up while they are being written.
 */
static size_t take_group(struct target *target, size_t most, struct mrg_text *lines[GROUP])
{
    struct append *append;
    size_t taken = 0;
    MRG_LIST_EACH (append, &target->kept, link) {
        if (taken == GROUP || taken == most)
            break;
        lines[taken++] = mrg_text_ref(append->line);
    }
    return taken;
}

/* With the lock held. */
static void note_failure(struct mrg_cassette_writer *writer, struct target *target,
                         const struct mrg_error *err)
{
    struct append *first = MRG_CONTAINER_OF(target->kept.next, struct append, link);
    writer->counts.failed++;
    if (first->stats)
        count(&first->stats->record_retries, 1);
    target->retry_ms = now_ms() + RETRY_MS;
    if (!target->told)
        mrg_log(MRG_LOG_ERROR, "Recorded replies cannot be written and are kept in memory for now: %s",
                err->message);
    target->told = true;
}

/* With the lock held. */
static void note_success(struct mrg_cassette_writer *writer, struct target *target, size_t lines)
{
    for (size_t i = 0; i < lines; i++)
        drop_first(writer, target, true);
    target->retry_ms = 0;
    writer->told_full = false;
    if (target->told)
        mrg_log(MRG_LOG_INFO, "%s: Recorded replies are written again", mrg_cassette_file_path(target->file));
    target->told = false;
}

/* With the lock held, which is let go of for the writing: what a target holds now. */
static void write_target(struct mrg_cassette_writer *writer, struct target *target)
{
    struct mrg_text *lines[GROUP];
    enum mrg_err code = MRG_ERR_OK;
    size_t left = target->count;
    while (left > 0 && !code && !writer->left) {
        struct mrg_error err;
        size_t removed;
        size_t taken = take_group(target, left, lines);
        pthread_mutex_unlock(&writer->lock);
        code = mrg_cassette_file_append(target->file, lines, taken, &removed, &err);
        if (removed > 0)
            mrg_log(MRG_LOG_WARN,
                    "%s: The last line was cut; its %zu bytes were taken off before the next was written",
                    mrg_cassette_file_path(target->file), removed);
        for (size_t i = 0; i < taken; i++)
            mrg_text_unref(lines[i]);
        pthread_mutex_lock(&writer->lock);
        if (writer->left)
            break; /* the lines were counted as lost, and their counters may be no more */
        if (code)
            note_failure(writer, target, &err);
        else
            note_success(writer, target, taken);
        left -= taken;
    }
}

/* With the lock held: when there is something to do; NEVER when nothing waits. */
static uint64_t due_ms(const struct mrg_cassette_writer *writer)
{
    uint64_t due = NEVER;
    for (const struct target *target = writer->targets; target; target = target->next) {
        if (target->count > 0 && target->retry_ms < due)
            due = target->retry_ms;
    }
    return due;
}

/* With the lock held. */
static void wait_for_work(struct mrg_cassette_writer *writer)
{
    while (!writer->stopping && writer->asked == writer->served) {
        uint64_t due = due_ms(writer);
        if (due == NEVER)
            pthread_cond_wait(&writer->wake, &writer->lock);
        else if (due <= now_ms() || !wait_until(&writer->wake, &writer->lock, due))
            return;
    }
}

/* With the lock held: the targets that are due; `all`: all that have lines. */
static void write_round(struct mrg_cassette_writer *writer, bool all)
{
    uint64_t now = now_ms();
    for (struct target *target = writer->targets; target; target = target->next) {
        if (all || target->retry_ms <= now)
            write_target(writer, target);
    }
}

static void destroy(struct mrg_cassette_writer *writer)
{
    struct target *next;
    for (struct target *target = writer->targets; target; target = next) {
        next = target->next;
        mrg_cassette_file_free(target->file);
        free(target);
    }
    pthread_cond_destroy(&writer->wake);
    pthread_cond_destroy(&writer->done);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}

static void *run(void *arg)
{
    struct mrg_cassette_writer *writer = arg;
    pthread_mutex_lock(&writer->lock);
    for (;;) {
        wait_for_work(writer);
        uint64_t asked = writer->asked;
        bool stopping = writer->stopping;
        write_round(writer, stopping || asked != writer->served);
        writer->served = asked;
        pthread_cond_broadcast(&writer->done);
        if (writer->left || (stopping && (writer->counts.waiting == 0 || now_ms() >= writer->stop_by_ms)))
            break;
        if (stopping)
            wait_until(&writer->wake, &writer->lock, now_ms() + PAUSE_MS);
    }
    bool left = writer->left;
    writer->ended = true;
    pthread_cond_broadcast(&writer->done);
    pthread_mutex_unlock(&writer->lock);
    if (left)
        destroy(writer);
    return NULL;
}

enum mrg_err mrg_cassette_writer_new(struct mrg_cassette_writer **ret_writer, struct mrg_error *err)
{
    struct mrg_cassette_writer *writer = mrg_zalloc(sizeof(*writer));
    pthread_condattr_t monotonic;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&writer->wake, &monotonic);
    pthread_cond_init(&writer->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int failed = pthread_create(&writer->thread, NULL, run, writer);
    if (failed) {
        destroy(writer);
        return mrg_error_set(err, MRG_ERR_INTERNAL, "the cassette writer's thread cannot be started: %s",
                             strerror(failed));
    }
    *ret_writer = writer;
    return MRG_ERR_OK;
}

/* With the lock held. */
static void give_up(struct mrg_cassette_writer *writer)
{
    for (struct target *target = writer->targets; target; target = target->next) {
        if (target->count > 0)
            mrg_log(MRG_LOG_ERROR, "%s: %zu recorded replies could not be written and are lost",
                    mrg_cassette_file_path(target->file), target->count);
        while (target->count > 0)
            drop_first(writer, target, false);
    }
}

void mrg_cassette_writer_free(struct mrg_cassette_writer *writer)
{
    if (!writer)
        return;
    pthread_t thread = writer->thread;
    pthread_mutex_lock(&writer->lock);
    writer->stopping = true;
    writer->stop_by_ms = now_ms() + LAST_MS;
    pthread_cond_signal(&writer->wake);
    while (!writer->ended && wait_until(&writer->done, &writer->lock, writer->stop_by_ms + GRACE_MS))
        ;
    bool ended = writer->ended;
    writer->left = !ended;
    give_up(writer);
    pthread_mutex_unlock(&writer->lock);
    if (ended) {
        pthread_join(thread, NULL);
        destroy(writer);
    } else {
        pthread_detach(thread);
    }
}

/* With the lock held. */
static struct target *target_of(struct mrg_cassette_writer *writer, const char *path)
{
    struct target *target = writer->targets;
    while (target && strcmp(mrg_cassette_file_path(target->file), path) != 0)
        target = target->next;
    if (target)
        return target;
    target = mrg_zalloc(sizeof(*target));
    target->file = mrg_cassette_file_new(path);
    mrg_list_init(&target->kept);
    target->next = writer->targets;
    writer->targets = target;
    return target;
}

/* With the lock held: there is no room for a line more. */
static void refuse(struct mrg_cassette_writer *writer, const char *path, struct mrg_dependency_stats *stats)
{
    writer->counts.lost++;
    if (stats)
        count(&stats->lost, 1);
    if (!writer->told_full)
        mrg_log(MRG_LOG_ERROR, "%s: Recorded replies are lost: %u MiB wait for the disk already", path,
                MRG_CASSETTE_QUEUE_BYTES >> 20);
    writer->told_full = true;
}

void mrg_cassette_writer_append(struct mrg_cassette_writer *writer, const char *path, struct mrg_text *line,
                                struct mrg_dependency_stats *stats)
{
    pthread_mutex_lock(&writer->lock);
    if (writer->waiting_bytes + line->len > MRG_CASSETTE_QUEUE_BYTES) {
        refuse(writer, path, stats);
        pthread_mutex_unlock(&writer->lock);
        mrg_text_unref(line);
        return;
    }
    struct target *target = target_of(writer, path);
    struct append *append = mrg_zalloc(sizeof(*append));
    append->line = line;
    append->stats = stats;
    append->number = ++writer->queued;
    mrg_list_append(&target->kept, &append->link);
    target->count++;
    writer->counts.waiting++;
    writer->waiting_bytes += line->len;
    if (stats)
        count(&stats->waiting, 1);
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
}

/* With the lock held: whether a line up to that number still waits. */
static bool waits(const struct mrg_cassette_writer *writer, uint64_t number)
{
    for (const struct target *target = writer->targets; target; target = target->next) {
        if (target->count > 0 && MRG_CONTAINER_OF(target->kept.next, struct append, link)->number <= number)
            return true;
    }
    return false;
}

bool mrg_cassette_writer_flush(struct mrg_cassette_writer *writer, uint64_t timeout_ms)
{
    uint64_t until = now_ms() + timeout_ms;
    pthread_mutex_lock(&writer->lock);
    uint64_t wanted = writer->queued;
    if (waits(writer, wanted)) {
        uint64_t asked = ++writer->asked;
        pthread_cond_signal(&writer->wake);
        while (writer->served < asked && wait_until(&writer->done, &writer->lock, until))
            ;
    }
    bool all = !waits(writer, wanted);
    pthread_mutex_unlock(&writer->lock);
    return all;
}

struct mrg_cassette_counts mrg_cassette_writer_counts(struct mrg_cassette_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    struct mrg_cassette_counts counts = writer->counts;
    pthread_mutex_unlock(&writer->lock);
    return counts;
}
