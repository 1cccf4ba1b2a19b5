// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "cli/verify_int.h"
#include "fidelity/judge.h"

static enum mrg_err ask_judges(const struct mrg_cli_values *values, struct mrg_arena *arena,
                               struct mrg_score *score, struct mrg_error *err)
{
    struct mrg_config *config = mrg_cli_load(values, NULL, 0);
    struct mrg_judged judged;
    if (!config)
        return mrg_error_set(err, MRG_ERR_INVALID, "--judge needs a configuration with `judges`");
    enum mrg_err code = mrg_judge_score(score, config->judges, config->judge_count, arena, &judged, err);
    mrg_config_unref(config);
    if (code)
        return code;
    fprintf(
        stderr,
        "mirage: the judges were asked about %zu scenarios: %zu the same, %zu not, %zu split, %zu without an "
        "answer; %zu requests, %llu tokens in (%llu cached), %llu out\n",
        judged.asked, judged.accepted, judged.refused, judged.split, judged.failed, judged.requests,
        (unsigned long long)judged.tokens_in, (unsigned long long)judged.tokens_cached,
        (unsigned long long)judged.tokens_out);
    return MRG_ERR_OK;
}

/* What is left for a person; the file is theirs, and is not written to. */
static void list_open(const struct mrg_score *score)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_verdicts_append_open(&buf, score);
    if (buf.len > 0) {
        fputs("mirage: for a person to decide (entries for the file of --verdicts):\n", stderr);
        fwrite(buf.data, 1, buf.len, stderr);
    }
    mrg_buf_done(&buf);
}

enum mrg_err mrg_verify_judge(const struct mrg_cli_values *values, struct mrg_arena *arena,
                              struct mrg_score *score, struct mrg_error *err)
{
    const char *file = mrg_cli_value(values, "verdicts");
    enum mrg_err code = file ? mrg_verdicts_apply(score, file, arena, err) : MRG_ERR_OK;
    if (!code && mrg_cli_value(values, "judge"))
        code = ask_judges(values, arena, score, err);
    if (!code && file)
        list_open(score);
    return code;
}
