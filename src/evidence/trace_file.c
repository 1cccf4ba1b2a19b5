// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/limits.h"
#include "util/slurp.h"
#include "evidence/traces.h"
#include "util/json.h"

#define PIECE (256u << 10) /* bytes read at once */

/* Bytes go in, lines come out. */
struct lines {
    struct mrg_traces *traces;
    struct mrg_trace_report *report;
    struct mrg_buf line; /* the one under way; failed when it is too long */
    size_t number;       /* of it, from 1 */
};

static void note_wrong(struct mrg_trace_report *report, size_t number, const char *why)
{
    if (report->first_wrong != 0)
        return;
    report->first_wrong = number;
    snprintf(report->why, sizeof(report->why), "%.*s", (int)sizeof(report->why) - 1, why);
}

static void end_line(struct lines *lines)
{
    struct mrg_slice line = mrg_buf_slice(&lines->line);
    struct mrg_trace_report *report = lines->report;
    struct mrg_error err;
    bool blank = true;
    for (size_t i = 0; i < line.len && blank; i++)
        blank = line.ptr[i] == ' ' || line.ptr[i] == '\t' || line.ptr[i] == '\r';
    if (mrg_buf_failed(&lines->line)) {
        report->lines++;
        report->too_long++;
        note_wrong(report, lines->number, "longer than 4 MiB");
    } else if (!blank) {
        report->lines++;
        if (!mrg_traces_add(lines->traces, line, &err)) {
            report->wrong++;
            note_wrong(report, lines->number, err.message);
        }
    }
    mrg_buf_clear(&lines->line);
    lines->number++;
}

static void feed(struct lines *lines, struct mrg_slice bytes)
{
    while (bytes.len > 0) {
        const char *newline = memchr(bytes.ptr, '\n', bytes.len);
        size_t len = newline ? (size_t)(newline - bytes.ptr) : bytes.len;
        mrg_buf_append(&lines->line, bytes.ptr, len);
        if (newline)
            end_line(lines);
        len += newline != NULL;
        bytes.ptr += len;
        bytes.len -= len;
    }
}

static enum mrg_err stream(int fd, struct lines *lines, struct mrg_sha256 *sha, struct mrg_error *err)
{
    _cleanup_free_ char *piece = mrg_malloc(PIECE);
    for (;;) {
        ssize_t got = read(fd, piece, PIECE);
        if (got < 0 && errno == EINTR)
            continue;
        char text[128];
        if (got < 0)
            return mrg_error_set(err, MRG_ERR_IO, "%s", strerror_r(errno, text, sizeof(text)));
        if (got == 0)
            return MRG_ERR_OK;
        mrg_sha256_add(sha, piece, (size_t)got);
        feed(lines, (struct mrg_slice){piece, (size_t)got});
    }
}

/* A file too large to be taken as one document. */
static enum mrg_err add_large(struct mrg_traces *traces, const char *path, struct mrg_trace_report *report,
                              struct mrg_error *err)
{
    char text[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return mrg_error_set(err, MRG_ERR_IO, "%s", strerror_r(errno, text, sizeof(text)));
    struct lines lines = {.traces = traces, .report = report, .number = 1};
    mrg_buf_init(&lines.line, MRG_MAX_TRACE_LINE);
    struct mrg_sha256 *sha = mrg_sha256_new();
    enum mrg_err code = stream(fd, &lines, sha, err);
    (void)close(fd);
    end_line(&lines);
    mrg_sha256_finish(sha, report->hash);
    mrg_buf_done(&lines.line);
    return code;
}

enum mrg_err mrg_traces_add_file(struct mrg_traces *traces, const char *path,
                                 struct mrg_trace_report *ret_report, struct mrg_error *err)
{
    *ret_report = (struct mrg_trace_report){0};
    _cleanup_free_ char *data = NULL;
    size_t len = 0;
    struct mrg_error why;
    enum mrg_err code = mrg_slurp(path, MRG_MAX_EVIDENCE_FILE, &data, &len, &why);
    if (code == MRG_ERR_TOO_LARGE)
        return add_large(traces, path, ret_report, err);
    if (code != MRG_ERR_OK)
        return mrg_error_set(err, code, "%s", why.message);
    struct mrg_slice text = {data, len};
    mrg_sha256_hex(data, len, ret_report->hash);
    if (mrg_json_check(text, NULL) == MRG_ERR_OK && mrg_traces_add(traces, text, NULL)) {
        ret_report->lines = 1;
        return MRG_ERR_OK;
    }
    struct lines lines = {.traces = traces, .report = ret_report, .number = 1};
    mrg_buf_init(&lines.line, MRG_MAX_TRACE_LINE);
    feed(&lines, text);
    end_line(&lines);
    mrg_buf_done(&lines.line);
    return MRG_ERR_OK;
}
