// SPDX-License-Identifier: Apache-2.0
/*
 * Evidence help: what the tests of the evidence share: their data, a scratch folder, lists of paths, and
 * questions to drops.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "evidence/evidence.h"

/* Into tests/unit/data/evidence, so that paths can be short. */
static inline int enter_evidence(void **state)
{
    (void)state;
    const char *data = getenv("MIRAGE_TEST_DATA");
    return chdir(data ? data : "tests/unit/data") || chdir("evidence");
}

/* A new empty folder, entered; the caller frees its path and removes it with leave_scratch. */
static inline char *enter_scratch(void)
{
    const char *tmp = getenv("TMPDIR");
    char *path = mrg_asprintf("%s/mirage-evidence-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    assert_int_equal(chdir(path), 0);
    return path;
}

static inline void leave_scratch(char *path)
{
    assert_int_equal(chdir("/"), 0);
    _cleanup_free_ char *command = mrg_asprintf("rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
    free(path);
}

static inline void write_file(const char *path, const void *data, size_t len)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

/* The reason for which `what` was left out, or NULL. */
static inline const char *why_dropped(const struct mrg_dropped *items, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(items[i].what, what) == 0)
            return items[i].why;
    }
    return NULL;
}

#define PATHS(...)                                                                                           \
    (struct mrg_strings)                                                                                     \
    {                                                                                                        \
        (char *[]){__VA_ARGS__}, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)                            \
    }
