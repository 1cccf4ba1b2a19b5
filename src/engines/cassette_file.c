// SPDX-License-Identifier: Apache-2.0
#include "engines/cassette_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/limits.h"
#include "util/json.h"

#define BACK       (64u << 10) /* bytes looked at in one step when searching for the last newline */
#define OPEN_TRIES 5           /* a file that is replaced again and again while it is being opened */

struct mrg_cassette_file {
    char *path;
    int fd; /* -1 while closed */
};

struct mrg_cassette_file *mrg_cassette_file_new(const char *path)
{
    struct mrg_cassette_file *file = mrg_zalloc(sizeof(*file));
    file->path = mrg_strdup(path);
    file->fd = -1;
    return file;
}

static void close_file(struct mrg_cassette_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

void mrg_cassette_file_free(struct mrg_cassette_file *file)
{
    if (!file)
        return;
    close_file(file);
    free(file->path);
    free(file);
}

const char *mrg_cassette_file_path(const struct mrg_cassette_file *file)
{
    return file->path;
}

static enum mrg_err failed(const char *path, const char *what, struct mrg_error *err)
{
    int reason = errno;
    return mrg_error_set(err, MRG_ERR_IO, "%s: %s: %s", path, what, strerror(reason));
}

enum mrg_err mrg_cassette_make_folder(const char *path, struct mrg_error *err)
{
    _cleanup_free_ char *part = mrg_strdup(path);
    struct stat info;
    for (char *slash = part; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            return failed(part, "the folder cannot be made", err);
        *slash = '/';
    }
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return failed(path, "the folder cannot be made", err);
    if (stat(path, &info) < 0)
        return failed(path, "the folder cannot be read", err);
    if (!S_ISDIR(info.st_mode))
        return mrg_error_set(err, MRG_ERR_IO, "%s: is a file; expected a folder", path);
    return MRG_ERR_OK;
}

enum mrg_err mrg_cassette_check_file(int fd, const char *path, struct stat *ret_info, struct mrg_error *err)
{
    if (fstat(fd, ret_info) < 0)
        return failed(path, "cannot be read", err);
    if (S_ISREG(ret_info->st_mode))
        return MRG_ERR_OK;
    const char *what = S_ISDIR(ret_info->st_mode)    ? "a folder"
                       : S_ISFIFO(ret_info->st_mode) ? "a pipe"
                       : S_ISSOCK(ret_info->st_mode) ? "a socket"
                                                     : "a device";
    return mrg_error_set(err, MRG_ERR_IO, "%s: is %s; expected a file", path, what);
}

size_t mrg_cassette_mark(struct mrg_slice text)
{
    return text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* A new name in a folder is only safe when the folder is synced too. */
static void sync_folder(const char *path)
{
    _cleanup_free_ char *folder = mrg_strdup(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder ? 1 : 0] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

static enum mrg_err open_file(struct mrg_cassette_file *file, struct mrg_error *err)
{
    const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    struct stat info;
    file->fd = open(file->path, flags);
    if (file->fd < 0 && errno == ENOENT) {
        _cleanup_free_ char *folder = mrg_strdup(file->path);
        char *slash = strrchr(folder, '/');
        if (slash && slash != folder) {
            *slash = '\0';
            enum mrg_err code = mrg_cassette_make_folder(folder, err);
            if (code)
                return code;
        }
        file->fd = open(file->path, flags | O_CREAT, 0666);
        if (file->fd >= 0)
            sync_folder(file->path);
    }
    if (file->fd < 0)
        return failed(file->path, "cannot be opened", err);
    enum mrg_err code = mrg_cassette_check_file(file->fd, file->path, &info, err);
    if (code)
        close_file(file);
    return code;
}

/* Whether the path still leads to the file that is open. */
static bool is_current(const struct mrg_cassette_file *file)
{
    struct stat open_one, named;
    return fstat(file->fd, &open_one) == 0 && stat(file->path, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* Opens and locks the file that the path leads to. */
static enum mrg_err take_file(struct mrg_cassette_file *file, struct mrg_error *err)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        enum mrg_err code = file->fd < 0 ? open_file(file, err) : MRG_ERR_OK;
        if (code)
            return code;
        int locked;
        do
            locked = flock(file->fd, LOCK_EX | LOCK_NB);
        while (locked < 0 && errno == EINTR);
        if (locked < 0 && errno == EWOULDBLOCK)
            return mrg_error_set(err, MRG_ERR_CONFLICT, "%s: is locked by another process", file->path);
        if (locked < 0)
            return failed(file->path, "cannot be locked", err);
        if (is_current(file))
            return MRG_ERR_OK;
        close_file(file);
    }
    return mrg_error_set(err, MRG_ERR_IO, "%s: is being replaced all the time", file->path);
}

/* The offset behind the last newline; false when there is none within the length of the longest line. */
static bool find_last_line(int fd, off_t size, off_t *ret_start)
{
    _cleanup_free_ char *chunk = mrg_malloc(BACK);
    off_t end = size;
    while (end > 0 && size - end <= (off_t)MRG_MAX_CASSETTE_LINE) {
        size_t len = end < (off_t)BACK ? (size_t)end : BACK;
        if (pread(fd, chunk, len, end - (off_t)len) != (ssize_t)len)
            return false;
        const char *newline = memrchr(chunk, '\n', len);
        end -= (off_t)len;
        if (newline) {
            *ret_start = end + (newline - chunk) + 1;
            return true;
        }
    }
    *ret_start = 0;
    return end == 0;
}

/* Looks at what stands behind the last newline: a whole line that wants one, or a cut one, which goes. */
static enum mrg_err mend_end(struct mrg_cassette_file *file, off_t *size, bool *ret_newline,
                             size_t *ret_removed, struct mrg_error *err)
{
    char last;
    off_t start;
    *ret_newline = false;
    if (*size == 0 || (pread(file->fd, &last, 1, *size - 1) == 1 && last == '\n'))
        return MRG_ERR_OK;
    if (!find_last_line(file->fd, *size, &start))
        return mrg_error_set(err, MRG_ERR_TOO_LARGE,
                             "%s: the last line has no end; nothing is appended to it", file->path);
    size_t len = (size_t)(*size - start);
    _cleanup_free_ char *rest = mrg_malloc(len + 1);
    if (pread(file->fd, rest, len, start) != (ssize_t)len)
        return failed(file->path, "cannot be read", err);
    rest[len] = '\0';
    size_t mark = start == 0 ? mrg_cassette_mark((struct mrg_slice){rest, len}) : 0;
    if (mark == len) /* a byte order mark and no line */
        return MRG_ERR_OK;
    if (mrg_json_check((struct mrg_slice){rest + mark, len - mark}, NULL) == MRG_ERR_OK) {
        *ret_newline = true;
        return MRG_ERR_OK;
    }
    if (ftruncate(file->fd, start + (off_t)mark) < 0)
        return failed(file->path, "the cut last line cannot be taken off", err);
    *ret_removed = len - mark;
    *size = start + (off_t)mark;
    return MRG_ERR_OK;
}

static enum mrg_err write_line(struct mrg_cassette_file *file, struct mrg_text *line, bool newline_first,
                               struct mrg_error *err)
{
    static char newline[] = "\n";
    struct iovec parts[3];
    int count = 0;
    if (newline_first)
        parts[count++] = (struct iovec){newline, 1};
    parts[count++] = (struct iovec){line->data, line->len};
    parts[count++] = (struct iovec){newline, 1};
    ssize_t wrote;
    do
        wrote = writev(file->fd, parts, count);
    while (wrote < 0 && errno == EINTR);
    if (wrote < 0)
        return failed(file->path, "cannot be written", err);
    if ((size_t)wrote != line->len + (newline_first ? 2 : 1))
        return mrg_error_set(err, MRG_ERR_IO,
                             "%s: only a part of a line could be written; the disk may be full", file->path);
    return MRG_ERR_OK;
}

static enum mrg_err append_locked(struct mrg_cassette_file *file, struct mrg_text *const *lines, size_t count,
                                  size_t *ret_removed, struct mrg_error *err)
{
    struct stat info;
    bool newline;
    if (fstat(file->fd, &info) < 0)
        return failed(file->path, "cannot be read", err);
    off_t size = info.st_size;
    enum mrg_err code = mend_end(file, &size, &newline, ret_removed, err);
    if (code)
        return code;
    for (size_t i = 0; !code && i < count; i++)
        code = write_line(file, lines[i], newline && i == 0, err);
    if (!code && fsync(file->fd) < 0)
        code = failed(file->path, "cannot be synced", err);
    /*
     * After a failed fsync nobody knows what the disk has, so the group is taken back and written again
     * later. Where that fails too its lines stand in the file twice, and the later ones count.
     */
    if (code)
        (void)!ftruncate(file->fd, size);
    return code;
}

enum mrg_err mrg_cassette_file_append(struct mrg_cassette_file *file, struct mrg_text *const *lines,
                                      size_t count, size_t *ret_removed, struct mrg_error *err)
{
    *ret_removed = 0;
    enum mrg_err code = take_file(file, err);
    if (!code)
        code = append_locked(file, lines, count, ret_removed, err);
    if (file->fd >= 0)
        flock(file->fd, LOCK_UN);
    if (code)
        close_file(file);
    return code;
}
