// SPDX-License-Identifier: Apache-2.0
#include "cassette_help.h"

#include <pthread.h>
#include <semaphore.h>

#include "engines/cassette_shelf.h"
#include "engines/cassette_writer.h"

static char *ignored[] = {"header.x-trace"};

struct world {
    struct help help;
    struct mrg_cassette_shelf *shelf;
    struct mrg_dependency_config other_config; /* another identity */
    struct mrg_match *same;                    /* as help's */
    struct mrg_match *other;
};

static int set_up(void **state)
{
    static struct world world;
    world = (struct world){.shelf = mrg_cassette_shelf_new()};
    help_init(&world.help);
    world.other_config = world.help.config;
    world.other_config.cassette.ignore = (struct mrg_strings){ignored, 1};
    assert_int_equal(mrg_match_new(&world.help.config, &world.same, NULL), MRG_ERR_OK);
    assert_int_equal(mrg_match_new(&world.other_config, &world.other, NULL), MRG_ERR_OK);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    mrg_cassette_shelf_free(world->shelf);
    mrg_match_free(world->same);
    mrg_match_free(world->other);
    help_done(&world->help);
    return 0;
}

static struct mrg_cassette_seat *open_with(struct world *world, const struct mrg_match *match, size_t lines)
{
    struct mrg_cassette_seat *seat;
    struct mrg_cassette_loaded loaded;
    struct mrg_error err;
    if (mrg_cassette_shelf_open(world->shelf, world->help.path, "inventory", match, NULL, &seat, &loaded,
                                &err))
        fail_msg("%s", err.message);
    assert_int_equal(loaded.lines, lines);
    return seat;
}

static void put(struct world *world, struct mrg_cassette_seat *seat, unsigned number)
{
    struct mrg_cassette_line line;
    struct mrg_error err;
    size_t column;
    const char *text = help_line(&world->help, number);
    struct mrg_text *own = mrg_text_new(text, strlen(text));
    struct mrg_arena *arena = mrg_arena_new(0);
    if (mrg_cassette_line_parse(arena, mrg_text_slice(own), &line, &column, &err) ||
        mrg_cassette_seat_put(seat, &line, own, &err))
        fail_msg("%s", err.message);
    mrg_arena_free(arena);
    mrg_text_unref(own);
}

static bool has(struct world *world, struct mrg_cassette_seat *seat, unsigned number)
{
    struct mrg_cassette_entry *entry = help_find(&world->help, mrg_cassette_seat_store(seat), number);
    bool found = entry != NULL;
    mrg_cassette_entry_unref(entry);
    return found;
}

static void write_lines(struct world *world, unsigned first, unsigned count)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    for (unsigned i = 0; i < count; i++)
        mrg_buf_appendf(&buf, "%s\n", help_line(&world->help, first + i));
    help_write(world->help.path, buf.data, buf.len);
    mrg_buf_done(&buf);
}

static void test_one_identity_one_store(void **state)
{
    struct world *world = *state;
    write_lines(world, 1, 2);
    struct mrg_cassette_seat *old = open_with(world, world->help.match, 2);
    struct mrg_cassette_seat *new = open_with(world, world->same, 0); /* not read again */
    assert_ptr_equal(mrg_cassette_seat_store(old), mrg_cassette_seat_store(new));
    put(world, old, 7);
    assert_true(has(world, new, 7) && has(world, new, 1));
    mrg_cassette_seat_close(old);
    put(world, new, 8);
    assert_true(has(world, new, 7) && has(world, new, 8));
    mrg_cassette_seat_close(new);
    mrg_cassette_seat_close(NULL);
    /* Nobody has it any more: read anew. */
    new = open_with(world, world->same, 2);
    assert_false(has(world, new, 7));
    mrg_cassette_seat_close(new);
}

/* What an exchange of the old configuration records is found by the new one, and the other way round. */
static void test_other_identity_is_told(void **state)
{
    struct world *world = *state;
    write_lines(world, 1, 1);
    struct mrg_cassette_seat *old = open_with(world, world->help.match, 1);
    struct mrg_cassette_seat *new = open_with(world, world->other, 1);
    assert_ptr_not_equal(mrg_cassette_seat_store(old), mrg_cassette_seat_store(new));
    put(world, old, 7);
    put(world, new, 8);
    assert_true(has(world, old, 7) && has(world, old, 8) && has(world, new, 7) && has(world, new, 8));
    mrg_cassette_seat_close(old);
    put(world, new, 9);
    assert_true(has(world, new, 9));
    mrg_cassette_seat_close(new);
}

static void test_changed_file_is_read_again(void **state)
{
    struct world *world = *state;
    struct mrg_cassette_seat *old = open_with(world, world->help.match, 0);
    assert_false(has(world, old, 1));
    write_lines(world, 1, 3);
    struct mrg_cassette_seat *new = open_with(world, world->same, 3);
    assert_true(has(world, old, 1) && has(world, new, 3));
    write_lines(world, 2, 1); /* lines were taken out */
    struct mrg_cassette_seat *third = open_with(world, world->same, 1);
    assert_false(has(world, third, 1));
    assert_true(has(world, third, 2));
    unlink(world->help.path);
    struct mrg_cassette_seat *fourth = open_with(world, world->same, 0);
    assert_false(has(world, fourth, 2));
    mrg_cassette_seat_close(old);
    mrg_cassette_seat_close(new);
    mrg_cassette_seat_close(third);
    mrg_cassette_seat_close(fourth);
}

static void test_broken_file_changes_nothing(void **state)
{
    struct world *world = *state;
    struct mrg_cassette_seat *seat = NULL;
    struct mrg_error err;
    write_lines(world, 1, 1);
    struct mrg_cassette_seat *old = open_with(world, world->help.match, 1);
    help_write(world->help.path, "x\ny\n", 4);
    assert_int_equal(mrg_cassette_shelf_open(world->shelf, world->help.path, "inventory", world->same, NULL,
                                             &seat, NULL, &err),
                     MRG_ERR_INVALID);
    assert_int_equal(mrg_cassette_shelf_open(world->shelf, world->help.path, "inventory", world->other, NULL,
                                             &seat, NULL, &err),
                     MRG_ERR_INVALID);
    assert_null(seat);
    assert_true(has(world, old, 1));
    put(world, old, 7);
    assert_true(has(world, old, 7));
    mrg_cassette_seat_close(old);
}

static void test_news_are_told_once(void **state)
{
    struct world *world = *state;
    struct mrg_cassette_seat *old = open_with(world, world->help.match, 0);
    assert_true(mrg_cassette_seat_first(old, MRG_CASSETTE_NEWS_STALE));
    assert_true(mrg_cassette_seat_first(old, MRG_CASSETTE_NEWS_CUT));
    assert_false(mrg_cassette_seat_first(old, MRG_CASSETTE_NEWS_STALE));
    struct mrg_cassette_seat *new = open_with(world, world->other, 0);
    mrg_cassette_seat_close(old);
    assert_false(mrg_cassette_seat_first(new, MRG_CASSETTE_NEWS_STALE));
    assert_false(mrg_cassette_seat_first(new, MRG_CASSETTE_NEWS_CUT));
    write_lines(world, 1, 1);
    struct mrg_cassette_seat *third = open_with(world, world->other, 1);
    assert_false(mrg_cassette_seat_first(third, MRG_CASSETTE_NEWS_STALE));
    assert_true(mrg_cassette_seat_first(third, MRG_CASSETTE_NEWS_CUT)); /* another content */
    mrg_cassette_seat_close(third);
    assert_true(mrg_cassette_seat_first(new, MRG_CASSETTE_NEWS_UNFIT));
    mrg_cassette_seat_close(new);
}

/* ---- threads ---- */

struct opener {
    struct world *world;
    struct mrg_cassette_seat *seat;
};

static void *open_other(void *arg)
{
    struct opener *opener = arg;
    struct world *world = opener->world;
    MRG_ASSERT(!mrg_cassette_shelf_open(world->shelf, world->help.path, "inventory", world->other, NULL,
                                        &opener->seat, NULL, NULL));
    return NULL;
}

/* The next read of a cassette waits until the test lets it go: linked with --wrap=read. */
static atomic_bool stuck;
static sem_t reached, released;

ssize_t __real_read(int fd, void *bytes, size_t len);
ssize_t __wrap_read(int fd, void *bytes, size_t len);

ssize_t __wrap_read(int fd, void *bytes, size_t len)
{
    if (atomic_exchange(&stuck, false)) {
        sem_post(&reached);
        sem_wait(&released);
    }
    return __real_read(fd, bytes, len);
}

/* What is recorded while another engine reads the file is in both. */
static void test_recorded_while_loading(void **state)
{
    struct world *world = *state;
    struct opener opener = {.world = world};
    pthread_t thread;
    struct mrg_cassette_seat *old = open_with(world, world->help.match, 0);
    const char *line = help_line(&world->help, 1);
    FILE *file = fopen(world->help.path, "w");
    assert_non_null(file);
    assert_true(fputs(line, file) >= 0);
    fclose(file);
    sem_init(&reached, 0, 0);
    sem_init(&released, 0, 0);
    atomic_store(&stuck, true);
    assert_int_equal(pthread_create(&thread, NULL, open_other, &opener), 0);
    sem_wait(&reached);
    put(world, old, 7);
    sem_post(&released);
    pthread_join(thread, NULL);
    assert_true(has(world, old, 7));
    assert_true(has(world, opener.seat, 1));
    assert_true(has(world, opener.seat, 7));
    mrg_cassette_seat_close(old);
    mrg_cassette_seat_close(opener.seat);
}

#define RECORDED 400u

struct recorder {
    struct world *world;
    struct mrg_cassette_seat *seat;
    struct mrg_cassette_writer *writer;
    const char *lines[RECORDED];
    atomic_bool done;
};

static void *record_all(void *arg)
{
    struct recorder *recorder = arg;
    for (unsigned i = 0; i < RECORDED; i++) {
        struct mrg_cassette_line line;
        size_t column;
        struct mrg_arena *arena = mrg_arena_new(0);
        struct mrg_text *text = mrg_text_new(recorder->lines[i], strlen(recorder->lines[i]));
        MRG_ASSERT(!mrg_cassette_line_parse(arena, mrg_text_slice(text), &line, &column, NULL));
        MRG_ASSERT(!mrg_cassette_seat_put(recorder->seat, &line, text, NULL));
        mrg_cassette_writer_append(recorder->writer, recorder->world->help.path, text, NULL);
        mrg_arena_free(arena);
    }
    atomic_store(&recorder->done, true);
    return NULL;
}

/* Reload upon reload while an old configuration records: nothing of it is missing in the end. */
static void test_reloads_while_recording(void **state)
{
    struct world *world = *state;
    struct mrg_error err;
    pthread_t thread;
    struct recorder *recorder = mrg_zalloc(sizeof(*recorder));
    recorder->world = world;
    assert_int_equal(mrg_cassette_writer_new(&recorder->writer, &err), MRG_ERR_OK);
    for (unsigned i = 0; i < RECORDED; i++)
        recorder->lines[i] = help_line(&world->help, i);
    recorder->seat = open_with(world, world->help.match, 0);
    struct mrg_cassette_seat *same = open_with(world, world->same, 0), *other = NULL;
    assert_int_equal(pthread_create(&thread, NULL, record_all, recorder), 0);
    do {
        struct mrg_cassette_seat *fresh[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(mrg_cassette_shelf_open(world->shelf, world->help.path, "inventory",
                                                     i ? world->other : world->same, recorder->writer,
                                                     &fresh[i], NULL, &err),
                             MRG_ERR_OK);
        mrg_cassette_seat_close(same);
        mrg_cassette_seat_close(other);
        same = fresh[0];
        other = fresh[1];
    } while (!atomic_load(&recorder->done));
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < RECORDED; i++) {
        if (!has(world, recorder->seat, i) || !has(world, same, i) || !has(world, other, i))
            fail_msg("%u is missing", i);
    }
    mrg_cassette_seat_close(recorder->seat);
    mrg_cassette_seat_close(same);
    mrg_cassette_seat_close(other);
    mrg_cassette_writer_free(recorder->writer);
    free(recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_identity_one_store, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_identity_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changed_file_is_read_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_file_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_news_are_told_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_recorded_while_loading, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reloads_while_recording, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
