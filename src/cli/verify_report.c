// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/verify_int.h"
#include "core/limits.h"
#include "fidelity/report.h"
#include "util/slurp.h"

enum mrg_err mrg_verify_load(const char *option, const char *file, struct mrg_arena *arena,
                             struct mrg_result *ret_result, struct mrg_error *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    enum mrg_err code = mrg_slurp(file, MRG_MAX_RESULT, &text, &len, err);
    if (!code)
        code = mrg_result_parse(arena, (struct mrg_slice){text, len}, ret_result, err);
    return code ? mrg_error_wrap(err, "--%s %s", option, file) : MRG_ERR_OK;
}

static enum mrg_err write_all(const char *option, const char *file, const struct mrg_buf *buf,
                              struct mrg_error *err)
{
    bool standard = strcmp(file, "-") == 0;
    FILE *to = standard ? stdout : fopen(file, "we");
    bool written = to && fwrite(buf->data, 1, buf->len, to) == buf->len;
    if (to && !standard)
        written = fclose(to) == 0 && written;
    return written ? MRG_ERR_OK
                   : mrg_error_set(err, MRG_ERR_INVALID, "--%s %s: %s", option, file, strerror(errno));
}

static const struct {
    const char *option;
    void (*append)(struct mrg_buf *buf, const struct mrg_score *score);
} reports[] = {
    {"json", mrg_report_json},
    {"junit", mrg_report_junit},
    {"markdown", mrg_report_markdown},
    {"html", mrg_report_html},
};

enum mrg_err mrg_verify_check_files(const struct mrg_cli_values *values, struct mrg_error *err)
{
    for (size_t i = 0; i < MRG_ARRAY_LEN(reports); i++) {
        const char *file = mrg_cli_value(values, reports[i].option);
        if (!file || strcmp(file, "-") == 0)
            continue;
        int to = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (to < 0)
            return mrg_error_set(err, MRG_ERR_INVALID, "--%s %s: %s", reports[i].option, file,
                                 strerror(errno));
        close(to);
    }
    return MRG_ERR_OK;
}

enum mrg_err mrg_verify_report(const struct mrg_cli_values *values, const struct mrg_score *score,
                               struct mrg_error *err)
{
    bool shown = false;
    struct mrg_buf buf;
    enum mrg_err code = MRG_ERR_OK;
    mrg_buf_init(&buf, SIZE_MAX);
    for (size_t i = 0; i < MRG_ARRAY_LEN(reports) && !code; i++) {
        const char *file = mrg_cli_value(values, reports[i].option);
        if (!file)
            continue;
        mrg_buf_clear(&buf);
        reports[i].append(&buf, score);
        shown |= strcmp(file, "-") == 0;
        code = write_all(reports[i].option, file, &buf, err);
    }
    /* A report on standard output stands there alone. */
    if (!shown && !code) {
        mrg_buf_clear(&buf);
        mrg_report_text(&buf, score, isatty(STDOUT_FILENO) == 1);
        fwrite(buf.data, 1, buf.len, stdout);
    }
    mrg_buf_done(&buf);
    return code;
}
