// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a finished run: what is taken must come back the same when it is written and read again, and be scored. */
#include <stdint.h>
#include <string.h>

#include "fidelity/report.h"

#define MOST (64u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void report(const struct mrg_score *score)
{
    static void (*const reports[])(struct mrg_buf *, const struct mrg_score *) = {
        mrg_report_json, mrg_report_junit, mrg_report_html, mrg_report_markdown};
    for (size_t i = 0; i < MRG_ARRAY_LEN(reports); i++) {
        struct mrg_buf buf;
        mrg_buf_init(&buf, SIZE_MAX);
        reports[i](&buf, score);
        MRG_ASSERT(buf.len > 0);
        mrg_buf_done(&buf);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mrg_result result, again;
    struct mrg_score score;
    struct mrg_error err = {.message = ""};
    struct mrg_buf first, second;
    if (size > MOST)
        return 0;
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_slice text = {mrg_arena_memdup(arena, data, size), size};
    mrg_buf_init(&first, SIZE_MAX);
    mrg_buf_init(&second, SIZE_MAX);
    if (mrg_result_parse(arena, text, &result, &err)) {
        MRG_ASSERT(err.message[0] != '\0');
    } else {
        mrg_result_append_json(&first, &result);
        if (mrg_result_parse(arena, mrg_buf_slice(&first), &again, &err))
            mrg_assert_failed(err.message, __FILE__, __LINE__);
        mrg_result_append_json(&second, &again);
        MRG_ASSERT(mrg_slice_eq(mrg_buf_slice(&first), mrg_buf_slice(&second)));
        if (mrg_score_result(&result, arena, &score, &err) == MRG_ERR_OK)
            report(&score);
    }
    mrg_buf_done(&first);
    mrg_buf_done(&second);
    mrg_arena_free(arena);
    return 0;
}
