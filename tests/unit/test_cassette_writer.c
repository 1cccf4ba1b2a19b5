// SPDX-License-Identifier: Apache-2.0
#include "cassette_help.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "core/limits.h"
#include "engines/cassette_writer.h"

static int set_up(void **state)
{
    static struct help help;
    help_init(&help);
    *state = &help;
    return 0;
}

static int tear_down(void **state)
{
    help_done(*state);
    return 0;
}

#define LONG_MS 60000u /* no flush takes that long */

static struct mrg_cassette_writer *new_writer(void)
{
    struct mrg_cassette_writer *writer;
    assert_int_equal(mrg_cassette_writer_new(&writer, NULL), MRG_ERR_OK);
    return writer;
}

static struct mrg_text *line_of(struct help *help, unsigned number)
{
    const char *text = help_line(help, number);
    return mrg_text_new(text, strlen(text));
}

static size_t count_lines(struct help *help, const char *path, size_t *ret_replaced)
{
    struct mrg_cassette_store *store = help_store(help);
    struct mrg_cassette_loaded loaded;
    struct mrg_error err;
    if (mrg_cassette_store_load(store, help->match, path, &loaded, &err))
        fail_msg("%s", err.message);
    assert_int_equal(loaded.cut_line, 0);
    *ret_replaced = loaded.replaced;
    mrg_cassette_store_free(store);
    return loaded.lines;
}

static void test_nothing(void **state)
{
    (void)state;
    struct mrg_cassette_writer *writer = new_writer();
    assert_true(mrg_cassette_writer_flush(writer, LONG_MS));
    mrg_cassette_writer_free(writer);
    mrg_cassette_writer_free(NULL);
}

static void test_flush_writes(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_writer *writer = new_writer();
    struct mrg_dependency_stats stats = {0};
    size_t replaced;
    for (unsigned i = 0; i < 600; i++)
        mrg_cassette_writer_append(writer, help->path, line_of(help, i), &stats);
    assert_true(mrg_cassette_writer_flush(writer, LONG_MS));
    assert_int_equal(atomic_load(&stats.recorded), 600);
    assert_int_equal(count_lines(help, help->path, &replaced), 600);
    struct mrg_cassette_counts counts = mrg_cassette_writer_counts(writer);
    assert_true(counts.written == 600 && counts.waiting == 0 && counts.failed == 0 && counts.lost == 0);
    mrg_cassette_writer_append(writer, help->path, line_of(help, 600), NULL);
    mrg_cassette_writer_free(writer);
    assert_int_equal(count_lines(help, help->path, &replaced), 601);
}

static void test_order_stays(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_writer *writer = new_writer();
    for (unsigned i = 0; i < 300; i++)
        mrg_cassette_writer_append(writer, help->path, line_of(help, i), NULL);
    mrg_cassette_writer_free(writer);
    char *text = help_read(help->path, NULL);
    char *at = text;
    for (unsigned i = 0; i < 300; i++) {
        const char *line = help_line(help, i);
        assert_memory_equal(at, line, strlen(line));
        at += strlen(line) + 1;
    }
    free(text);
}

#define THREADS 4
#define EACH    200u

struct sender {
    struct help *help;
    struct mrg_cassette_writer *writer;
    struct mrg_text *lines[EACH];
    const char *path;
};

static void *send_all(void *arg)
{
    struct sender *sender = arg;
    for (unsigned i = 0; i < EACH; i++) {
        mrg_cassette_writer_append(sender->writer, sender->path, sender->lines[i], NULL);
        if (i % 50 == 0 && !mrg_cassette_writer_flush(sender->writer, LONG_MS))
            return arg;
    }
    return NULL;
}

static void test_many_senders_two_files(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_writer *writer = new_writer();
    struct sender senders[THREADS];
    pthread_t threads[THREADS];
    const char *other = mrg_arena_printf(help->arena, "%s/other.jsonl", help->dir);
    size_t replaced;
    for (unsigned i = 0; i < THREADS; i++) {
        senders[i] = (struct sender){.help = help, .writer = writer, .path = i % 2 ? help->path : other};
        for (unsigned j = 0; j < EACH; j++)
            senders[i].lines[j] = line_of(help, i * EACH + j);
        assert_int_equal(pthread_create(&threads[i], NULL, send_all, &senders[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    mrg_cassette_writer_free(writer);
    assert_int_equal(count_lines(help, help->path, &replaced), 2 * EACH);
    assert_int_equal(replaced, 0);
    assert_int_equal(count_lines(help, other, &replaced), 2 * EACH);
    assert_int_equal(replaced, 0);
}

/* The file cannot be opened: lines are kept, the failure is counted, and they are written when it can. */
static void test_failure_keeps_lines(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_writer *writer = new_writer();
    struct mrg_dependency_stats stats = {0};
    size_t replaced;
    assert_int_equal(mkdir(help->path, 0777), 0);
    mrg_cassette_writer_append(writer, help->path, line_of(help, 1), &stats);
    assert_false(mrg_cassette_writer_flush(writer, LONG_MS));
    mrg_cassette_writer_append(writer, help->path, line_of(help, 2), &stats);
    assert_false(mrg_cassette_writer_flush(writer, LONG_MS));
    struct mrg_cassette_counts counts = mrg_cassette_writer_counts(writer);
    assert_true(counts.written == 0 && counts.waiting == 2 && counts.failed >= 2 && counts.lost == 0);
    assert_int_equal(atomic_load(&stats.waiting), 2);
    assert_int_equal(atomic_load(&stats.record_retries), counts.failed);
    assert_int_equal(atomic_load(&stats.recorded), 0);
    assert_int_equal(rmdir(help->path), 0);
    assert_true(mrg_cassette_writer_flush(writer, LONG_MS));
    assert_int_equal(atomic_load(&stats.recorded), 2);
    assert_int_equal(count_lines(help, help->path, &replaced), 2);
    mrg_cassette_writer_free(writer);
}

/* One file that refuses does not hold the others up. */
static void test_failure_of_one_file(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_writer *writer = new_writer();
    struct mrg_dependency_stats stats = {0};
    size_t replaced;
    const char *other = mrg_arena_printf(help->arena, "%s/other.jsonl", help->dir);
    assert_int_equal(mkdir(other, 0777), 0);
    mrg_cassette_writer_append(writer, other, line_of(help, 1), &stats);
    mrg_cassette_writer_append(writer, help->path, line_of(help, 2), &stats);
    assert_false(mrg_cassette_writer_flush(writer, LONG_MS));
    assert_int_equal(atomic_load(&stats.recorded), 1);
    assert_int_equal(count_lines(help, help->path, &replaced), 1);
    assert_int_equal(rmdir(other), 0);
    mrg_cassette_writer_free(writer);
    assert_int_equal(atomic_load(&stats.recorded), 2);
    assert_int_equal(count_lines(help, other, &replaced), 1);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static int lock_file(struct help *help, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0666);
    (void)help;
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    return fd;
}

/* Another process has the lock and keeps it: neither flush nor free wait for it, and what is lost is counted. */
static void test_locked_file_blocks_nobody(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_writer *writer = new_writer();
    struct mrg_dependency_stats stats = {0};
    size_t replaced;
    int fd = lock_file(help, help->path);
    mrg_cassette_writer_append(writer, help->path, line_of(help, 1), &stats);
    assert_false(mrg_cassette_writer_flush(writer, LONG_MS));
    assert_int_equal(atomic_load(&stats.waiting), 1);
    close(fd);
    assert_true(mrg_cassette_writer_flush(writer, LONG_MS));
    assert_int_equal(count_lines(help, help->path, &replaced), 1);
    fd = lock_file(help, help->path);
    mrg_cassette_writer_append(writer, help->path, line_of(help, 2), &stats);
    mrg_cassette_writer_append(writer, help->path, line_of(help, 3), &stats);
    uint64_t before = now_ms();
    mrg_cassette_writer_free(writer);
    assert_in_range(now_ms() - before, 1900, 20000);
    assert_int_equal(atomic_load(&stats.recorded), 1);
    assert_int_equal(atomic_load(&stats.lost), 2);
    assert_int_equal(atomic_load(&stats.waiting), 0);
    close(fd);
}

/* The lock goes while the writer makes its last attempts. */
static void *unlock_soon(void *arg)
{
    struct timespec pause = {0, 300000000};
    nanosleep(&pause, NULL);
    close(*(int *)arg);
    return NULL;
}

static void test_last_attempts(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_writer *writer = new_writer();
    struct mrg_dependency_stats stats = {0};
    pthread_t thread;
    int fd = lock_file(help, help->path);
    mrg_cassette_writer_append(writer, help->path, line_of(help, 1), &stats);
    assert_false(mrg_cassette_writer_flush(writer, LONG_MS));
    assert_int_equal(pthread_create(&thread, NULL, unlock_soon, &fd), 0);
    mrg_cassette_writer_free(writer);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&stats.recorded), 1);
    assert_int_equal(atomic_load(&stats.lost), 0);
}

/* The next writev waits until the test lets it go: linked with --wrap=writev. */
static atomic_bool stuck;
static sem_t reached, released;

ssize_t __real_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);

ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
    if (atomic_exchange(&stuck, false)) {
        sem_post(&reached);
        sem_wait(&released);
    }
    return __real_writev(fd, parts, count);
}

/* A disk that does not answer: flush and free end all the same, and what the thread still does touches nobody. */
static void test_write_that_never_ends(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_writer *writer = new_writer();
    struct mrg_dependency_stats *stats = mrg_zalloc(sizeof(*stats));
    sem_init(&reached, 0, 0);
    sem_init(&released, 0, 0);
    atomic_store(&stuck, true);
    mrg_cassette_writer_append(writer, help->path, line_of(help, 1), stats);
    sem_wait(&reached);
    assert_false(mrg_cassette_writer_flush(writer, 100));
    mrg_cassette_writer_append(writer, help->path, line_of(help, 2), stats);
    mrg_cassette_writer_free(writer);
    assert_int_equal(atomic_load(&stats->lost), 2);
    assert_int_equal(atomic_load(&stats->waiting), 0);
    free(stats);
    sem_post(&released);
    /* The thread lets go of the file when it is through. */
    int fd = open(help->path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    close(fd);
}

/* While one file is refused, what is recorded for others is written at once, without a flush. */
static void test_healthy_files_are_not_held_up(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_writer *writer = new_writer();
    struct mrg_dependency_stats stats = {0};
    struct timespec pause = {0, 1000000};
    int fd = lock_file(help, help->path);
    const char *other = mrg_arena_printf(help->arena, "%s/other.jsonl", help->dir);
    mrg_cassette_writer_append(writer, help->path, line_of(help, 1), NULL);
    assert_false(mrg_cassette_writer_flush(writer, LONG_MS));
    uint64_t before = now_ms();
    for (unsigned i = 1; i <= 20; i++) {
        mrg_cassette_writer_append(writer, other, line_of(help, i), &stats);
        while (atomic_load(&stats.recorded) < i)
            nanosleep(&pause, NULL);
    }
    assert_true(now_ms() - before < 10000); /* 20 s and more if each waits for the next attempt */
    close(fd);
    mrg_cassette_writer_free(writer);
}

/* Past the bound new lines are given up at once, and memory does not grow. */
static void test_bound(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_writer *writer = new_writer();
    struct mrg_dependency_stats stats = {0};
    size_t size = 16u << 20;
    char *big = mrg_malloc(size);
    memset(big, ' ', size);
    int fd = lock_file(help, help->path);
    struct mrg_text *line = mrg_text_new(big, size);
    size_t fit = MRG_CASSETTE_QUEUE_BYTES / size;
    for (size_t i = 0; i < fit + 3; i++)
        mrg_cassette_writer_append(writer, help->path, mrg_text_ref(line), &stats);
    assert_int_equal(atomic_load(&stats.waiting), fit);
    assert_int_equal(atomic_load(&stats.lost), 3);
    mrg_cassette_writer_free(writer);
    assert_int_equal(atomic_load(&stats.lost), fit + 3);
    mrg_text_unref(line);
    close(fd);
    free(big);
}

static void append_until_killed(struct help *help, int told)
{
    struct mrg_cassette_writer *writer = new_writer();
    for (unsigned number = 0;; number++) {
        mrg_cassette_writer_append(writer, help->path, line_of(help, number), NULL);
        if (number % 20 == 19 && mrg_cassette_writer_flush(writer, LONG_MS) &&
            write(told, &number, sizeof(number)) < 0)
            _exit(1);
    }
}

/* What a flush has promised is there, whatever becomes of the process. */
static void test_killed_after_flush(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_store *store = help_store(help);
    struct mrg_cassette_loaded loaded;
    int ends[2];
    unsigned last = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        append_until_killed(help, ends[1]);
    close(ends[1]);
    for (int i = 0; i < 5; i++)
        assert_int_equal(read(ends[0], &last, sizeof(last)), sizeof(last));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    assert_int_equal(mrg_cassette_store_load(store, help->match, help->path, &loaded, NULL), MRG_ERR_OK);
    assert_true(loaded.lines >= last + 1);
    for (unsigned i = 0; i <= last; i++) {
        struct mrg_cassette_entry *entry = help_find(help, store, i);
        assert_non_null(entry);
        mrg_cassette_entry_unref(entry);
    }
    mrg_cassette_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_killed_after_flush, set_up, tear_down), /* first: it forks */
        cmocka_unit_test_setup_teardown(test_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flush_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_senders_two_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failure_keeps_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failure_of_one_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_locked_file_blocks_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_last_attempts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_write_that_never_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_healthy_files_are_not_held_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bound, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
