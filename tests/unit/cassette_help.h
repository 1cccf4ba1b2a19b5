// SPDX-License-Identifier: Apache-2.0
/*
 * Cassette help: a folder of its own for a test, files in it, and recorded lines. Static functions: each test
 * includes its own copy.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config.h"
#include "core/match.h"
#include "engines/cassette_store.h"

struct help {
    char dir[64];   /* removed at the end, with the files in it */
    char path[128]; /* DIR/inventory.jsonl */
    struct mrg_arena *arena;
    struct mrg_dependency_config config;
    struct mrg_match *match;
};

static inline void help_init(struct help *help)
{
    *help = (struct help){.arena = mrg_arena_new(0)};
    snprintf(help->dir, sizeof(help->dir), "%s/mrg-cassette-XXXXXX",
             access("/tmp", W_OK) == 0 ? "/tmp" : ".");
    assert_non_null(mkdtemp(help->dir));
    snprintf(help->path, sizeof(help->path), "%s/inventory.jsonl", help->dir);
    help->config.name = (char *)(uintptr_t) "inventory";
    help->config.cassette.dir = help->dir;
    assert_int_equal(mrg_match_new(&help->config, &help->match, NULL), MRG_ERR_OK);
}

static inline void help_done(struct help *help)
{
    DIR *dir = opendir(help->dir);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(help->dir);
    mrg_match_free(help->match);
    mrg_arena_free(help->arena);
}

static inline void help_write(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
}

/* The bytes of a file, freed by the caller; a NUL behind. */
static inline char *help_read(const char *path, size_t *ret_len)
{
    struct stat info;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    char *data = mrg_malloc((size_t)info.st_size + 1);
    assert_int_equal(read(fd, data, (size_t)info.st_size), info.st_size);
    data[info.st_size] = '\0';
    close(fd);
    if (ret_len)
        *ret_len = (size_t)info.st_size;
    return data;
}

/* A recorded line, in the arena: GET /NUMBER at a place, the reply {"n":NUMBER}. */
static inline const char *help_line(struct help *help, unsigned number)
{
    return mrg_arena_printf(help->arena,
                            "{\"at\":\"00000000000000aa\",\"nth\":1,\"dep\":\"inventory\",\"req\":{"
                            "\"method\":\"GET\",\"path\":\"/%u\"},"
                            "\"rep\":{\"status\":200,\"body\":{\"n\":%u}}}",
                            number, number);
}

static inline struct mrg_cassette_store *help_store(struct help *help)
{
    (void)help;
    return mrg_cassette_store_new("inventory");
}

/* The entry for GET /NUMBER, or NULL. */
static inline struct mrg_cassette_entry *help_find(struct help *help, struct mrg_cassette_store *store,
                                                   unsigned number)
{
    const char *path = mrg_arena_printf(help->arena, "/%u", number);
    struct mrg_request request = {
        .method = MRG_SLICE("GET"), .path = mrg_slice_of(path), .query = MRG_SLICE("")};
    return mrg_cassette_store_find(store, 0xaa, mrg_match_key(help->match, &request), 1);
}
