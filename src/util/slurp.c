// SPDX-License-Identifier: Apache-2.0
#include "util/slurp.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/buf.h"

#define PIECE (64u << 10) /* bytes asked of the system at once */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static enum mrg_err fail_errno(struct mrg_error *err)
{
    enum mrg_err code = errno == ENOENT || errno == ENOTDIR ? MRG_ERR_NOT_FOUND : MRG_ERR_IO;
    char text[128];
    return mrg_error_set(err, code, "%s", strerror_r(errno, text, sizeof(text)));
}

static enum mrg_err read_all(int fd, struct mrg_buf *buf, struct mrg_error *err)
{
    _cleanup_free_ char *piece = mrg_malloc(PIECE);
    for (;;) {
        ssize_t got = read(fd, piece, PIECE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err);
        if (got == 0)
            return MRG_ERR_OK;
        mrg_buf_append(buf, piece, (size_t)got);
        if (mrg_buf_failed(buf))
            return mrg_error_set(err, MRG_ERR_TOO_LARGE, "larger than %zu bytes", buf->max);
    }
}

enum mrg_err mrg_slurp(const char *path, size_t max, char **ret_data, size_t *ret_len, struct mrg_error *err)
{
    /* Without O_NONBLOCK, opening a FIFO would wait for a writer. */
    _cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_errno(err);
    if (!S_ISREG(st.st_mode))
        return mrg_error_set(err, MRG_ERR_INVALID, "not a regular file");
    struct mrg_buf buf;
    mrg_buf_init(&buf, max);
    enum mrg_err code = read_all(fd, &buf, err);
    if (code == MRG_ERR_OK)
        *ret_data = mrg_buf_take(&buf, ret_len);
    mrg_buf_done(&buf);
    return code;
}
