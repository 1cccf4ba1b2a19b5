// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "evidence/evidence.h"

const struct mrg_cli_option mrg_prompt_options[] = {
    {"config", 'c', "FILE", "The configuration; default mirage.yaml, or MIRAGE_CONFIG."},
    {"as", 0, "USE", "white-box, grey-box, black-box, source, caller or traces instead of evidence.use."},
    {0},
};

static const struct mrg_dependency_config *find(const struct mrg_config *config, const char *name)
{
    for (size_t i = 0; i < config->dependency_count; i++) {
        if (strcmp(config->dependencies[i].name, name) == 0)
            return &config->dependencies[i];
    }
    struct mrg_buf known;
    mrg_buf_init(&known, SIZE_MAX);
    for (size_t i = 0; i < config->dependency_count; i++)
        mrg_buf_appendf(&known, "%s%s", i ? ", " : "", config->dependencies[i].name);
    mrg_cli_complain("%s has no dependency %s; it has %s", config->path, name,
                     known.data ? known.data : "none");
    mrg_buf_done(&known);
    return NULL;
}

/* The prompt on standard output, to the byte; its size and what was left out on standard error. */
static void tell(const struct mrg_evidence *evidence)
{
    const struct mrg_prompt_size *size = mrg_evidence_size(evidence);
    struct mrg_slice prompt = mrg_text_slice(mrg_evidence_prompt(evidence));
    size_t count;
    const struct mrg_dropped *dropped = mrg_evidence_dropped(evidence, &count);
    fwrite(prompt.ptr, 1, prompt.len, stdout);
    fflush(stdout);
    for (size_t i = 0; i < count; i++)
        mrg_cli_complain("left out: %s (%s)", dropped[i].what, dropped[i].why);
    mrg_cli_complain("%zu bytes, about %d tokens: source %d, caller %d, traces %d, schema %d, examples %d",
                     size->bytes, size->tokens, size->source_tokens, size->caller_tokens, size->trace_tokens,
                     size->schema_tokens, size->example_tokens);
}

int mrg_cli_prompt(const struct mrg_cli_values *values)
{
    const char *name = mrg_cli_operand(values, 0);
    const char *as = mrg_cli_value(values, "as");
    _cleanup_free_ char *path = mrg_asprintf("dependencies.%s.evidence.use", name);
    _cleanup_free_ char *value = as ? mrg_strdup(as) : NULL;
    char origin[] = "--as";
    const struct mrg_override flag = {path, value, origin};
    struct mrg_config *config = mrg_cli_load(values, &flag, as ? 1 : 0);
    if (!config)
        return MRG_EXIT_USAGE;
    const struct mrg_dependency_config *one = find(config, name);
    struct mrg_evidence *evidence = NULL;
    struct mrg_error err;
    int status = MRG_EXIT_USAGE;
    if (one && mrg_evidence_load(one, &evidence, &err)) {
        mrg_cli_complain("%s:%d: dependency %s: %s", config->path, one->line, one->name, err.message);
    } else if (one) {
        tell(evidence);
        mrg_evidence_free(evidence);
        status = MRG_EXIT_OK;
    }
    mrg_config_unref(config);
    return status;
}
