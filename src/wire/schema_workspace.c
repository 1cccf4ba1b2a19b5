// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/schema_int.h"

#define OWN "own" /* the folder of the embedded texts */

enum mrg_err mrg_schema_read_file(const char *path, size_t max, struct mrg_buf *buf, struct mrg_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat stat;
    if (fd < 0 || fstat(fd, &stat) != 0) {
        enum mrg_err code = errno == ENOENT || errno == ENOTDIR ? MRG_ERR_NOT_FOUND : MRG_ERR_IO;
        mrg_error_set(err, code, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return code;
    }
    enum mrg_err code = MRG_ERR_OK;
    if (!S_ISREG(stat.st_mode))
        code = mrg_error_set(err, MRG_ERR_INVALID, "%s: not a regular file", path);
    else if ((uint64_t)stat.st_size > max)
        code = mrg_error_set(err, MRG_ERR_TOO_LARGE, "%s: larger than %zu bytes", path, max);
    char piece[16384];
    size_t got = 0;
    while (code == MRG_ERR_OK) {
        ssize_t n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            code = mrg_error_set(err, MRG_ERR_IO, "%s: %s", path, strerror(errno));
        if (n <= 0)
            break;
        got += (size_t)n;
        if (got > max)
            code = mrg_error_set(err, MRG_ERR_TOO_LARGE, "%s: larger than %zu bytes", path, max);
        else
            mrg_buf_append(buf, piece, (size_t)n);
    }
    close(fd);
    return code;
}

bool mrg_schema_write_file(const char *path, struct mrg_slice content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    size_t at = 0;
    while (at < content.len) {
        ssize_t n = write(fd, content.ptr + at, content.len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    bool written = close(fd) == 0 && at == content.len;
    if (!written)
        unlink(path);
    return written;
}

/* The folders above the last part of `path`, from the one behind `base` on: made, or removed from the last on. */
static bool make_folders(const char *path, size_t base)
{
    _cleanup_free_ char *copy = mrg_strdup(path);
    for (char *p = strchr(copy + base, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(copy, 0700) != 0 && errno != EEXIST)
            return false;
        *p = '/';
    }
    return true;
}

static void remove_folders(const char *path, size_t base)
{
    _cleanup_free_ char *copy = mrg_strdup(path);
    for (char *p = strrchr(copy, '/'); p && (size_t)(p - copy) > base; p = strrchr(copy, '/')) {
        *p = '\0';
        rmdir(copy);
    }
}

static bool fill(struct mrg_workspace *work, const struct mrg_strings *roots)
{
    _cleanup_free_ char *empty = mrg_asprintf("%s/empty", work->path);
    if (mkdir(empty, 0700) != 0)
        return false;
    for (; work->roots < roots->count; work->roots++) {
        _cleanup_free_ char *link = mrg_asprintf("%s/root%zu", work->path, work->roots);
        if (symlink(roots->items[work->roots], link) != 0)
            return false;
    }
    for (size_t i = 0; i < mrg_embedded_text_count; i++) {
        const struct mrg_embedded_text *text = &mrg_embedded_texts[i];
        _cleanup_free_ char *path = mrg_asprintf("%s/" OWN "/%s", work->path, text->name);
        if (!make_folders(path, strlen(work->path) + 1) ||
            !mrg_schema_write_file(path, (struct mrg_slice){(const char *)text->data, text->len}))
            return false;
    }
    return true;
}

enum mrg_err mrg_workspace_init(struct mrg_workspace *work, const struct mrg_strings *roots,
                                struct mrg_error *err)
{
    const char *folder = getenv("TMPDIR");
    *work = (struct mrg_workspace){0};
    char *path = mrg_asprintf("%s/mirage-protoc-XXXXXX", folder && *folder == '/' ? folder : "/tmp");
    if (!mkdtemp(path)) {
        enum mrg_err code = mrg_error_set(err, MRG_ERR_IO, "%s: %s", path, strerror(errno));
        free(path);
        return code;
    }
    work->path = path;
    if (fill(work, roots))
        return MRG_ERR_OK;
    enum mrg_err code = mrg_error_set(err, MRG_ERR_IO, "%s: could not be filled: %s", path, strerror(errno));
    mrg_workspace_done(work);
    return code;
}

void mrg_workspace_done(struct mrg_workspace *work)
{
    if (!work->path)
        return;
    for (size_t i = 0; i < work->roots; i++) {
        _cleanup_free_ char *link = mrg_asprintf("%s/root%zu", work->path, i);
        unlink(link);
    }
    for (size_t i = 0; i < mrg_embedded_text_count; i++) {
        _cleanup_free_ char *path = mrg_asprintf("%s/" OWN "/%s", work->path, mrg_embedded_texts[i].name);
        unlink(path);
        remove_folders(path, strlen(work->path));
    }
    _cleanup_free_ char *empty = mrg_asprintf("%s/empty", work->path);
    _cleanup_free_ char *made = mrg_asprintf("%s/set.binpb", work->path);
    rmdir(empty);
    unlink(made);
    rmdir(work->path);
    free(work->path);
    *work = (struct mrg_workspace){0};
}
