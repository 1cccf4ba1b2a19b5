// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "cli/cli.h"
#include "evidence/evidence.h"

const struct mrg_cli_option mrg_check_options[] = {
    {"config", 'c', "FILE", "The configuration; default mirage.yaml, or MIRAGE_CONFIG."},
    {"json", 0, NULL, "Print one JSON document."},
    {0},
};

static void append_evidence(struct mrg_buf *buf, const struct mrg_evidence *evidence)
{
    static const char *const uses[] = {"all",    "white-box", "grey-box", "black-box",
                                       "source", "caller",    "traces"};
    const struct mrg_prompt_size *size = mrg_evidence_size(evidence);
    size_t count;
    const struct mrg_dropped *dropped = mrg_evidence_dropped(evidence, &count);
    mrg_buf_appendf(
        buf, "  prompt     %s, about %d tokens: source %d, caller %d, traces %d, schema %d, examples %d\n",
        uses[mrg_evidence_use(evidence)], size->tokens, size->source_tokens, size->caller_tokens,
        size->trace_tokens, size->schema_tokens, size->example_tokens);
    for (size_t i = 0; i < count; i++)
        mrg_buf_appendf(buf, "  left out   %s (%s)\n", dropped[i].what, dropped[i].why);
}

/* Reads every dependency's evidence, as serve would. False when some could not be read (told). */
static bool append_all_evidence(struct mrg_buf *buf, const struct mrg_config *config)
{
    bool good = true;
    for (size_t i = 0; i < config->dependency_count; i++) {
        const struct mrg_dependency_config *one = &config->dependencies[i];
        struct mrg_evidence *evidence = NULL;
        struct mrg_error err;
        if (mrg_evidence_load(one, &evidence, &err)) {
            mrg_cli_complain("%s:%d: dependency %s: %s", config->path, one->line, one->name, err.message);
            good = false;
            continue;
        }
        mrg_buf_appendf(buf, "\n%s: what will be sent to the model\n", one->name);
        append_evidence(buf, evidence);
        mrg_evidence_free(evidence);
    }
    return good;
}

int mrg_cli_check(const struct mrg_cli_values *values)
{
    struct mrg_config *config = mrg_cli_load(values, NULL, 0);
    if (!config)
        return MRG_EXIT_USAGE;
    struct mrg_buf buf;
    bool good = true;
    mrg_buf_init(&buf, SIZE_MAX);
    if (mrg_cli_value(values, "json")) {
        mrg_config_append_json(&buf, config);
        mrg_buf_append_char(&buf, '\n');
    } else {
        mrg_config_append_summary(&buf, config);
        good = append_all_evidence(&buf, config);
    }
    fwrite(buf.data, 1, buf.len, stdout);
    mrg_buf_done(&buf);
    mrg_config_unref(config);
    return good ? MRG_EXIT_OK : MRG_EXIT_USAGE;
}
