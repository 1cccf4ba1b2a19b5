// SPDX-License-Identifier: Apache-2.0
#include "cassette_help.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "engines/cassette_file.h"

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

static void append(struct mrg_cassette_file *file, const char *text, size_t removed)
{
    struct mrg_text *line = mrg_text_new(text, strlen(text));
    struct mrg_error err;
    size_t taken;
    while (mrg_cassette_file_append(file, &line, 1, &taken, &err)) {
        if (err.code != MRG_ERR_CONFLICT) /* another process has the lock for a moment */
            fail_msg("%s", err.message);
    }
    assert_int_equal(taken, removed);
    mrg_text_unref(line);
}

static void assert_file(struct help *help, const char *expected)
{
    char *text = help_read(help->path, NULL);
    assert_string_equal(text, expected);
    free(text);
}

static struct mrg_cassette_loaded load(struct help *help)
{
    struct mrg_cassette_store *store = help_store(help);
    struct mrg_cassette_loaded loaded;
    struct mrg_error err;
    if (mrg_cassette_store_load(store, help->match, help->path, &loaded, &err))
        fail_msg("%s", err.message);
    mrg_cassette_store_free(store);
    return loaded;
}

static void test_append(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
    struct mrg_text *lines[] = {mrg_text_new("{\"b\":1}", 7), mrg_text_new("{\"c\":1}", 7)};
    size_t removed;
    append(file, "{\"a\":1}", 0);
    assert_int_equal(mrg_cassette_file_append(file, lines, 2, &removed, NULL), MRG_ERR_OK);
    assert_file(help, "{\"a\":1}\n{\"b\":1}\n{\"c\":1}\n");
    mrg_text_unref(lines[0]);
    mrg_text_unref(lines[1]);
    mrg_cassette_file_free(file);
}

static void test_folders_are_made(void **state)
{
    struct help *help = *state;
    struct mrg_error err;
    const char *deep = mrg_arena_printf(help->arena, "%s/a/b", help->dir);
    struct mrg_cassette_file *file = mrg_cassette_file_new(mrg_arena_printf(help->arena, "%s/x.jsonl", deep));
    append(file, "{}", 0);
    append(file, "{}", 0);
    mrg_cassette_file_free(file);
    assert_int_equal(mrg_cassette_make_folder(deep, &err), MRG_ERR_OK);
    assert_int_equal(mrg_cassette_make_folder(mrg_arena_printf(help->arena, "%s/x.jsonl", deep), &err),
                     MRG_ERR_IO);
    assert_non_null(strstr(err.message, "is a file; expected a folder"));
    assert_int_equal(mrg_cassette_make_folder(mrg_arena_printf(help->arena, "%s/x.jsonl/y", deep), &err),
                     MRG_ERR_IO);
    unlink(mrg_arena_printf(help->arena, "%s/x.jsonl", deep));
    rmdir(deep);
    rmdir(mrg_arena_printf(help->arena, "%s/a", help->dir));
}

static void test_ends_are_mended(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
    help_write(help->path, "{\"a\":1}", 7);
    append(file, "{}", 0);
    assert_file(help, "{\"a\":1}\n{}\n");
    help_write(help->path, "{\"a\":1}\n{\"b", 11);
    append(file, "{}", 3);
    assert_file(help, "{\"a\":1}\n{}\n");
    help_write(help->path, "{\"b", 3);
    append(file, "{}", 3);
    assert_file(help, "{}\n");
    mrg_cassette_file_free(file);
}

#define MARK "\xEF\xBB\xBF"

static void test_byte_order_mark_stays(void **state)
{
    static const struct {
        const char *before, *after;
        size_t removed;
    } all[] = {
        {MARK, MARK "{}\n", 0},
        {MARK "{\"a\":1}", MARK "{\"a\":1}\n{}\n", 0},
        {MARK "{\"a\":1}\n", MARK "{\"a\":1}\n{}\n", 0},
        {MARK "{\"a", MARK "{}\n", 3},
    };
    struct help *help = *state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(all); i++) {
        struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
        help_write(help->path, all[i].before, strlen(all[i].before));
        append(file, "{}", all[i].removed);
        assert_file(help, all[i].after);
        mrg_cassette_file_free(file);
    }
}

static void test_only_files_are_written(void **state)
{
    struct help *help = *state;
    struct mrg_text *line = mrg_text_new("{}", 2);
    struct mrg_error err;
    size_t removed;
    assert_int_equal(mkfifo(help->path, 0600), 0);
    struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
    assert_int_equal(mrg_cassette_file_append(file, &line, 1, &removed, &err), MRG_ERR_IO);
    assert_non_null(strstr(err.message, "is a pipe; expected a file"));
    mrg_cassette_file_free(file);
    mrg_text_unref(line);
}

/* Cut at any byte, appending afterwards gives a file that loads, with every whole line in it. */
static void test_append_after_cut_anywhere(void **state)
{
    struct help *help = *state;
    const char *one = help_line(help, 1), *two = help_line(help, 2), *three = help_line(help, 3);
    const char *text = mrg_arena_printf(help->arena, "%s\n%s\n", one, two);
    for (size_t len = 0; len <= strlen(text); len++) {
        struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
        struct mrg_text *line = mrg_text_new(three, strlen(three));
        size_t removed;
        help_write(help->path, text, len);
        assert_int_equal(mrg_cassette_file_append(file, &line, 1, &removed, NULL), MRG_ERR_OK);
        struct mrg_cassette_loaded loaded = load(help);
        assert_int_equal(loaded.cut_line, 0);
        assert_int_equal(loaded.lines, 1 + (len >= strlen(one)) + (len >= strlen(one) + 1 + strlen(two)));
        mrg_text_unref(line);
        mrg_cassette_file_free(file);
    }
}

static void test_cut_end_longer_than_one_look(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
    char *big = mrg_malloc(300000);
    memset(big, 'x', 300000);
    memcpy(big, "{\"a\":1}\n\"", 9);
    help_write(help->path, big, 300000);
    append(file, "{}", 300000 - 8);
    assert_file(help, "{\"a\":1}\n{}\n");
    free(big);
    mrg_cassette_file_free(file);
}

static void test_replaced_file_is_found(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
    const char *other = mrg_arena_printf(help->arena, "%s/other", help->dir);
    append(file, "{\"a\":1}", 0);
    help_write(other, "{\"new\":1}\n", 10);
    assert_int_equal(rename(other, help->path), 0);
    append(file, "{\"b\":1}", 0);
    assert_file(help, "{\"new\":1}\n{\"b\":1}\n");
    assert_int_equal(unlink(help->path), 0);
    append(file, "{\"c\":1}", 0);
    assert_file(help, "{\"c\":1}\n");
    mrg_cassette_file_free(file);
}

/* The disk is full in the middle of a group: nothing of it stays, and it can be written again. */
static void test_full_disk_takes_the_group_back(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
    struct mrg_text *lines[] = {mrg_text_new("{\"b\":1}", 7), mrg_text_new("{\"c\":123456}", 12)};
    struct rlimit old, small;
    struct mrg_error err;
    size_t removed;
    append(file, "{\"a\":1}", 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (rlim_t room = 8; room < 29; room++) {
        small = (struct rlimit){room, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        assert_int_equal(mrg_cassette_file_append(file, lines, 2, &removed, &err), MRG_ERR_IO);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_non_null(strstr(err.message, help->path));
        assert_file(help, "{\"a\":1}\n");
    }
    assert_int_equal(mrg_cassette_file_append(file, lines, 2, &removed, &err), MRG_ERR_OK);
    assert_file(help, "{\"a\":1}\n{\"b\":1}\n{\"c\":123456}\n");
    mrg_text_unref(lines[0]);
    mrg_text_unref(lines[1]);
    mrg_cassette_file_free(file);
}

static void test_a_folder_is_no_file(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_file *file = mrg_cassette_file_new(help->dir);
    struct mrg_text *line = mrg_text_new("{}", 2);
    struct mrg_error err;
    size_t removed;
    assert_int_equal(mrg_cassette_file_append(file, &line, 1, &removed, &err), MRG_ERR_IO);
    assert_non_null(strstr(err.message, "cannot be opened"));
    mrg_text_unref(line);
    mrg_cassette_file_free(file);
}

/* Nobody waits for another process's lock. */
static void test_locked_file(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
    struct mrg_text *line = mrg_text_new("{}", 2);
    struct mrg_error err;
    size_t removed;
    int fd = open(help->path, O_RDWR | O_CREAT, 0666);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(mrg_cassette_file_append(file, &line, 1, &removed, &err), MRG_ERR_CONFLICT);
    assert_non_null(strstr(err.message, "inventory.jsonl: is locked by another process"));
    close(fd);
    append(file, "{}", 0);
    assert_file(help, "{}\n");
    mrg_text_unref(line);
    mrg_cassette_file_free(file);
}

/* A child: appends lines for ever, telling of each that is on the disk. */
static void append_for_ever(struct help *help, unsigned from, int told)
{
    struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
    for (unsigned number = from;; number++) {
        const char *text = help_line(help, number);
        struct mrg_text *line = mrg_text_new(text, strlen(text));
        size_t removed;
        enum mrg_err code;
        do
            code = mrg_cassette_file_append(file, &line, 1, &removed, NULL);
        while (code == MRG_ERR_CONFLICT);
        if (code || write(told, &number, sizeof(number)) < 0)
            _exit(1);
        mrg_text_unref(line);
    }
}

static unsigned kill_in_the_middle(struct help *help, unsigned from, unsigned lines)
{
    int ends[2];
    unsigned last = from;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        append_for_ever(help, from, ends[1]);
    }
    close(ends[1]);
    for (unsigned i = 0; i < lines; i++)
        assert_int_equal(read(ends[0], &last, sizeof(last)), sizeof(last));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (read(ends[0], &last, sizeof(last)) == (ssize_t)sizeof(last))
        ;
    close(ends[0]);
    return last;
}

/* A killed writer leaves whole lines and at most one that is cut, and what it told of is there. */
static void test_killed_writer(void **state)
{
    struct help *help = *state;
    unsigned next = 0;
    for (unsigned round = 0; round < 10; round++) {
        unsigned last = kill_in_the_middle(help, next, 3 + round);
        struct mrg_cassette_loaded loaded = load(help);
        assert_true(loaded.lines >= last + 1);
        assert_int_equal(loaded.replaced, 0);
        next = (unsigned)loaded.lines;
    }
}

/* Two processes that record into the same file. */
static void test_shared_file(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_file *file = mrg_cassette_file_new(help->path);
    int ends[2];
    unsigned number;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        append_for_ever(help, 1000, ends[1]);
    assert_int_equal(read(ends[0], &number, sizeof(number)), sizeof(number));
    for (unsigned i = 0; i < 50; i++)
        append(file, help_line(help, i), 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    struct mrg_cassette_loaded loaded = load(help);
    assert_true(loaded.lines >= 51);
    assert_int_equal(loaded.replaced, 0);
    mrg_cassette_file_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_append, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folders_are_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ends_are_mended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_byte_order_mark_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_files_are_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_append_after_cut_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut_end_longer_than_one_look, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replaced_file_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk_takes_the_group_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_is_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_locked_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed_writer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shared_file, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
