// SPDX-License-Identifier: Apache-2.0
/*
 * Lock: `lock` guards the queue and the counters. The files and their kept lines are the thread's own;
 * nothing is written with the lock held.
 */
#include "engines/cassette_writer.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "engines/cassette_file.h"
#include "util/list.h"
#include "util/log.h"

#define RETRY_S 1   /* between attempts to write what was refused */
#define GROUP   256 /* lines of one group at most */

struct append {
    struct mrg_list link; /* in the writer's queue, then in its target's kept lines */
    char *path;           /* until its target is known */
    struct mrg_text *line;
    atomic_ullong *written;
};

/* One file, the thread's own. */
struct target {
    struct target *next;
    struct mrg_cassette_file *file;
    struct mrg_list kept; /* lines to be written, oldest first */
    bool told;            /* the failure stands in the log */
};

struct mrg_cassette_writer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;    /* for the thread: something to do */
    pthread_cond_t done;    /* for flush: an attempt has ended */
    struct mrg_list queue;  /* not yet seen by the thread */
    uint64_t queued;        /* lines ever queued */
    uint64_t attempted;     /* of these, those that an attempt has tried to write */
    uint64_t attempts;      /* ended so far */
    bool clean;             /* the last one left nothing behind */
    uint64_t waiting_bytes; /* of lines queued or kept */
    bool flush;             /* somebody waits for an attempt */
    bool stopping;
    struct mrg_cassette_counts counts;
    struct target *targets; /* the thread's own */
};

static void append_free(struct append *append)
{
    free(append->path);
    mrg_text_unref(append->line);
    free(append);
}

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

/* The first lines of a target, as many as fit into one group. */
static size_t take_group(struct target *target, struct mrg_text *lines[GROUP])
{
    struct append *append;
    size_t count = 0;
    MRG_LIST_EACH (append, &target->kept, link) {
        if (count == GROUP)
            break;
        lines[count++] = append->line;
    }
    return count;
}

static void drop_first(struct mrg_cassette_writer *writer, struct target *target, size_t count, bool written)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        struct append *append = MRG_CONTAINER_OF(mrg_list_pop(&target->kept), struct append, link);
        bytes += append->line->len;
        if (written && append->written)
            atomic_fetch_add_explicit(append->written, 1, memory_order_relaxed);
        append_free(append);
    }
    pthread_mutex_lock(&writer->lock);
    writer->counts.waiting -= count;
    writer->waiting_bytes -= bytes;
    if (written)
        writer->counts.written += count;
    else
        writer->counts.lost += count;
    pthread_mutex_unlock(&writer->lock);
}

static void tell_failure(struct mrg_cassette_writer *writer, struct target *target,
                         const struct mrg_error *err)
{
    pthread_mutex_lock(&writer->lock);
    writer->counts.failed++;
    pthread_mutex_unlock(&writer->lock);
    if (!target->told)
        mrg_log(MRG_LOG_ERROR, "Recorded replies cannot be written and are kept in memory for now: %s",
                err->message);
    target->told = true;
}

/* True when all of the target's lines are on the disk. */
static bool write_target(struct mrg_cassette_writer *writer, struct target *target)
{
    struct mrg_text *lines[GROUP];
    while (!mrg_list_empty(&target->kept)) {
        struct mrg_error err;
        size_t removed;
        size_t count = take_group(target, lines);
        enum mrg_err code = mrg_cassette_file_append(target->file, lines, count, &removed, &err);
        if (removed > 0)
            mrg_log(MRG_LOG_WARN,
                    "%s: The last line was cut; its %zu bytes were taken off before the next was written",
                    mrg_cassette_file_path(target->file), removed);
        if (code) {
            tell_failure(writer, target, &err);
            return false;
        }
        drop_first(writer, target, count, true);
    }
    if (target->told)
        mrg_log(MRG_LOG_INFO, "%s: Recorded replies are written again", mrg_cassette_file_path(target->file));
    target->told = false;
    return true;
}

static void take_queue(struct mrg_cassette_writer *writer, struct mrg_list *batch)
{
    while (!mrg_list_empty(batch)) {
        struct append *append = MRG_CONTAINER_OF(mrg_list_pop(batch), struct append, link);
        mrg_list_append(&target_of(writer, append->path)->kept, &append->link);
    }
}

static bool write_all(struct mrg_cassette_writer *writer)
{
    bool all = true;
    for (struct target *target = writer->targets; target; target = target->next)
        all &= write_target(writer, target);
    return all;
}

static size_t list_length(const struct mrg_list *head)
{
    size_t count = 0;
    for (const struct mrg_list *node = head->next; node != head; node = node->next)
        count++;
    return count;
}

/* Past the bound the oldest lines go; told each time, since each is a reply that was paid for. */
static void keep_bound(struct mrg_cassette_writer *writer)
{
    for (struct target *target = writer->targets; target; target = target->next) {
        size_t lost = 0;
        for (;;) {
            pthread_mutex_lock(&writer->lock);
            bool over = writer->waiting_bytes > MRG_CASSETTE_QUEUE_BYTES;
            pthread_mutex_unlock(&writer->lock);
            if (!over || mrg_list_empty(&target->kept))
                break;
            drop_first(writer, target, 1, false);
            lost++;
        }
        if (lost > 0)
            mrg_log(MRG_LOG_ERROR,
                    "%s: %zu recorded replies were given up: more than %u MiB wait for the disk",
                    mrg_cassette_file_path(target->file), lost, MRG_CASSETTE_QUEUE_BYTES >> 20);
    }
}

/* With the lock held: until there is something to do. `again`: lines are kept for another attempt. */
static void wait_for_work(struct mrg_cassette_writer *writer, bool again)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += RETRY_S;
    while (!writer->stopping && !writer->flush && (again || mrg_list_empty(&writer->queue))) {
        if (!again)
            pthread_cond_wait(&writer->wake, &writer->lock);
        else if (pthread_cond_timedwait(&writer->wake, &writer->lock, &until) == ETIMEDOUT)
            break;
    }
}

static void *run(void *arg)
{
    struct mrg_cassette_writer *writer = arg;
    bool all = true;
    bool stopping = false;
    while (!stopping) {
        struct mrg_list batch;
        mrg_list_init(&batch);
        pthread_mutex_lock(&writer->lock);
        wait_for_work(writer, !all);
        while (!mrg_list_empty(&writer->queue))
            mrg_list_append(&batch, mrg_list_pop(&writer->queue));
        uint64_t seen = writer->queued;
        stopping = writer->stopping;
        writer->flush = false;
        pthread_mutex_unlock(&writer->lock);

        take_queue(writer, &batch);
        all = write_all(writer);
        if (!all)
            keep_bound(writer);

        pthread_mutex_lock(&writer->lock);
        writer->attempted = seen;
        writer->attempts++;
        writer->clean = all;
        pthread_cond_broadcast(&writer->done);
        pthread_mutex_unlock(&writer->lock);
    }
    return NULL;
}

enum mrg_err mrg_cassette_writer_new(struct mrg_cassette_writer **ret_writer, struct mrg_error *err)
{
    struct mrg_cassette_writer *writer = mrg_zalloc(sizeof(*writer));
    pthread_condattr_t monotonic;
    mrg_list_init(&writer->queue);
    writer->clean = true;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&writer->wake, &monotonic);
    pthread_cond_init(&writer->done, NULL);
    pthread_condattr_destroy(&monotonic);
    int failed = pthread_create(&writer->thread, NULL, run, writer);
    if (failed) {
        free(writer);
        return mrg_error_set(err, MRG_ERR_INTERNAL, "the cassette writer's thread cannot be started: %s",
                             strerror(failed));
    }
    *ret_writer = writer;
    return MRG_ERR_OK;
}

void mrg_cassette_writer_free(struct mrg_cassette_writer *writer)
{
    if (!writer)
        return;
    pthread_mutex_lock(&writer->lock);
    writer->stopping = true;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    struct target *next;
    for (struct target *target = writer->targets; target; target = next) {
        size_t left = list_length(&target->kept);
        next = target->next;
        if (left > 0)
            mrg_log(MRG_LOG_ERROR, "%s: %zu recorded replies could not be written and are lost",
                    mrg_cassette_file_path(target->file), left);
        drop_first(writer, target, left, false);
        mrg_cassette_file_free(target->file);
        free(target);
    }
    pthread_cond_destroy(&writer->wake);
    pthread_cond_destroy(&writer->done);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}

void mrg_cassette_writer_append(struct mrg_cassette_writer *writer, const char *path, struct mrg_text *line,
                                atomic_ullong *written)
{
    struct append *append = mrg_zalloc(sizeof(*append));
    append->path = mrg_strdup(path);
    append->line = line;
    append->written = written;
    pthread_mutex_lock(&writer->lock);
    mrg_list_append(&writer->queue, &append->link);
    writer->queued++;
    writer->counts.waiting++;
    writer->waiting_bytes += line->len;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
}

bool mrg_cassette_writer_flush(struct mrg_cassette_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    uint64_t wanted = writer->queued;
    uint64_t attempts = writer->attempts;
    while (writer->attempted < wanted || (!writer->clean && writer->attempts == attempts)) {
        writer->flush = true;
        pthread_cond_signal(&writer->wake);
        pthread_cond_wait(&writer->done, &writer->lock);
    }
    bool all = writer->clean;
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
