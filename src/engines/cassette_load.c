// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a cassette file, line by line, with bounded memory: mrg_cassette_store_load of cassette_store.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/limits.h"
#include "engines/cassette_file.h"
#include "engines/cassette_store.h"
#include "util/json.h"

#define CHUNK (64u << 10) /* bytes of a read */

struct loading {
    struct mrg_cassette_store *store;
    const struct mrg_match *match;
    const char *path;
    struct mrg_cassette_loaded loaded; /* so far */
    size_t line;                       /* number of the current one */
};

static bool is_blank(struct mrg_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!strchr(" \t\r", text.ptr[i]) || text.ptr[i] == '\0')
            return false;
    }
    return true;
}

/* What some editors put before the first line. */
static struct mrg_slice without_mark(const struct loading *loading, struct mrg_slice text)
{
    size_t mark = loading->line == 1 ? mrg_cassette_mark(text) : 0;
    return (struct mrg_slice){text.ptr + mark, text.len - mark};
}

static bool is_conflict_mark(struct mrg_slice text)
{
    return text.len >= 7 && (memcmp(text.ptr, "<<<<<<<", 7) == 0 || memcmp(text.ptr, "=======", 7) == 0 ||
                             memcmp(text.ptr, ">>>>>>>", 7) == 0);
}

/* `text` is followed by a NUL. */
static enum mrg_err load_line(struct loading *loading, struct mrg_slice text, struct mrg_error *err)
{
    struct mrg_cassette_line line;
    size_t column = 1;
    bool replaced = false;
    if (is_blank(text))
        return MRG_ERR_OK;
    struct mrg_arena *arena = mrg_arena_new(0);
    enum mrg_err code = mrg_cassette_line_parse(arena, text, &line, &column, err);
    if (code && is_conflict_mark(text))
        mrg_error_set(err, code, "a mark of a merge conflict; expected a recorded exchange");
    if (!code)
        code = mrg_cassette_store_put(loading->store, loading->match, &line, &replaced, err);
    mrg_arena_free(arena);
    if (code)
        return mrg_error_wrap(err, "%s:%zu:%zu", loading->path, loading->line, column);
    loading->loaded.lines++;
    loading->loaded.replaced += replaced;
    return MRG_ERR_OK;
}

/* All whole lines of buf; what is behind the last newline stays at its beginning. */
static enum mrg_err load_lines(struct loading *loading, struct mrg_buf *buf, struct mrg_error *err)
{
    size_t start = 0;
    char *newline;
    while (start < buf->len && (newline = memchr(buf->data + start, '\n', buf->len - start))) {
        size_t len = (size_t)(newline - buf->data) - start;
        *newline = '\0';
        loading->line++;
        struct mrg_slice text = {buf->data + start, len};
        enum mrg_err code = load_line(loading, without_mark(loading, text), err);
        if (code)
            return code;
        start += len + 1;
    }
    if (start > 0) {
        memmove(buf->data, buf->data + start, buf->len - start);
        buf->len -= start;
        buf->data[buf->len] = '\0';
    }
    return MRG_ERR_OK;
}

/* What is left at the end of the file: a whole line without its newline, or a cut one. */
static enum mrg_err load_rest(struct loading *loading, struct mrg_slice rest, struct mrg_error *err)
{
    loading->line++;
    rest = without_mark(loading, rest);
    if (is_blank(rest) || mrg_json_check(rest, NULL) == MRG_ERR_OK)
        return load_line(loading, rest, err);
    loading->loaded.cut_line = loading->line;
    loading->loaded.cut_bytes = rest.len;
    return MRG_ERR_OK;
}

static enum mrg_err load_descriptor(struct loading *loading, int fd, struct mrg_buf *buf,
                                    struct mrg_error *err)
{
    _cleanup_free_ char *chunk = mrg_malloc(CHUNK);
    for (;;) {
        ssize_t got = read(fd, chunk, CHUNK);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return mrg_error_set(err, MRG_ERR_IO, "%s: %s", loading->path, strerror(errno));
        if (got == 0)
            return buf->len > 0 ? load_rest(loading, mrg_buf_slice(buf), err) : MRG_ERR_OK;
        mrg_buf_append(buf, chunk, (size_t)got);
        enum mrg_err code = load_lines(loading, buf, err);
        if (code)
            return code;
        if (mrg_buf_failed(buf) || buf->len > MRG_MAX_CASSETTE_LINE)
            return mrg_error_set(err, MRG_ERR_TOO_LARGE, "%s:%zu: the line is longer than %u bytes",
                                 loading->path, loading->line + 1, MRG_MAX_CASSETTE_LINE);
    }
}

static struct mrg_cassette_stamp stamp_of(const struct stat *info)
{
    return (struct mrg_cassette_stamp){info->st_dev, info->st_ino, info->st_size, info->st_mtim};
}

bool mrg_cassette_stamp_equal(const struct mrg_cassette_stamp *a, const struct mrg_cassette_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

bool mrg_cassette_stamp_differs(const struct mrg_cassette_stamp *stamp, const char *path)
{
    struct stat info = {0};
    if (stat(path, &info) < 0)
        info = (struct stat){0};
    struct mrg_cassette_stamp now = stamp_of(&info);
    return !mrg_cassette_stamp_equal(&now, stamp);
}

enum mrg_err mrg_cassette_store_load(struct mrg_cassette_store *store, const struct mrg_match *match,
                                     const char *path, struct mrg_cassette_loaded *ret_loaded,
                                     struct mrg_error *err)
{
    struct loading loading = {.store = store, .match = match, .path = path};
    struct mrg_buf buf;
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return mrg_error_set(err, errno == ENOENT ? MRG_ERR_NOT_FOUND : MRG_ERR_IO, "%s: %s", path,
                             strerror(errno));
    enum mrg_err plain = mrg_cassette_check_file(fd, path, &info, err);
    if (plain) {
        close(fd);
        return plain;
    }
    loading.loaded.stamp = stamp_of(&info);
    mrg_buf_init(&buf, MRG_MAX_CASSETTE_LINE + CHUNK);
    enum mrg_err code = load_descriptor(&loading, fd, &buf, err);
    mrg_buf_done(&buf);
    close(fd);
    if (!code)
        *ret_loaded = loading.loaded;
    return code;
}
