// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "util/log.h"

static FILE *caught; /* where standard error goes during a test */
static int kept;     /* the real one */

static int catch_stderr(void **state)
{
    (void)state;
    caught = tmpfile();
    kept = dup(STDERR_FILENO);
    fflush(stderr);
    return dup2(fileno(caught), STDERR_FILENO) < 0;
}

static int release_stderr(void **state)
{
    (void)state;
    dup2(kept, STDERR_FILENO);
    close(kept);
    fclose(caught);
    mrg_log_set_level(MRG_LOG_INFO);
    return 0;
}

static size_t read_caught(char *text, size_t room)
{
    rewind(caught);
    size_t len = fread(text, 1, room - 1, caught);
    text[len] = '\0';
    return len;
}

static void test_levels(void **state)
{
    (void)state;
    char text[500];
    mrg_log(MRG_LOG_DEBUG, "Hidden");
    mrg_log(MRG_LOG_INFO, "Listening on %s", "127.0.0.1:1");
    mrg_log_set_level(MRG_LOG_ERROR);
    assert_false(mrg_log_enabled(MRG_LOG_WARN));
    mrg_log(MRG_LOG_WARN, "Hidden");
    mrg_log_set_level(MRG_LOG_DEBUG);
    mrg_log(MRG_LOG_DEBUG, "Shown");
    read_caught(text, sizeof(text));
    assert_string_equal(text, "mirage: Listening on 127.0.0.1:1\nmirage: Shown\n");
}

static void test_one_line(void **state)
{
    (void)state;
    char text[500];
    mrg_log(MRG_LOG_INFO, "a\nmirage: b\x1B[2J\r\x7F%s", "caf\xC3\xA9");
    read_caught(text, sizeof(text));
    assert_string_equal(text, "mirage: a mirage: b [2J  caf\xC3\xA9\n");
}

static void test_lengths(void **state)
{
    (void)state;
    static char text[200000];
    for (int len = 1000; len < 1040; len++) {
        rewind(caught);
        assert_int_equal(ftruncate(fileno(caught), 0), 0);
        lseek(STDERR_FILENO, 0, SEEK_SET);
        mrg_log(MRG_LOG_INFO, "%0*d", len, 7);
        assert_int_equal(read_caught(text, sizeof(text)), len + 9);
        assert_int_equal(text[len + 7], '7');
        assert_int_equal(text[len + 8], '\n');
    }
}

static void test_errno_stays(void **state)
{
    (void)state;
    close(STDERR_FILENO);
    errno = ENOENT;
    mrg_log(MRG_LOG_INFO, "To nobody");
    assert_int_equal(errno, ENOENT);
    dup2(fileno(caught), STDERR_FILENO);
}

static void *say(void *arg)
{
    for (int i = 0; i < 200; i++)
        mrg_log(MRG_LOG_INFO, "%s", (const char *)arg);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    static char text[200000];
    static char words[2][100];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        memset(words[i], 'a' + i, sizeof(words[i]) - 1);
        assert_int_equal(pthread_create(&threads[i], NULL, say, words[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    size_t len = read_caught(text, sizeof(text));
    assert_int_equal(len, 2 * 200 * (8 + 99 + 1));
    for (char *line = text; *line; line += 108) {
        assert_memory_equal(line, "mirage: ", 8);
        assert_int_equal(strspn(line + 8, (char[]){line[8], '\0'}), 99);
        assert_int_equal(line[107], '\n');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_levels, catch_stderr, release_stderr),
        cmocka_unit_test_setup_teardown(test_one_line, catch_stderr, release_stderr),
        cmocka_unit_test_setup_teardown(test_lengths, catch_stderr, release_stderr),
        cmocka_unit_test_setup_teardown(test_errno_stays, catch_stderr, release_stderr),
        cmocka_unit_test_setup_teardown(test_threads, catch_stderr, release_stderr),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
