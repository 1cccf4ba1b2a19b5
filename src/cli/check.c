// SPDX-License-Identifier: Apache-2.0
#include <json-c/json.h>
#include <stdio.h>

#include "cli/check_int.h"
#include "cli/cli.h"
#include "cli/server.h"
#include "evidence/evidence.h"
#include "util/json.h"
#include "wire/schema.h"

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

/* The schemas of all dependencies, as serve would make them, NULL where there is none. The exit status: what could
 * not be made has been told. */
static int load_schemas(const struct mrg_config *config, struct mrg_schema **schemas)
{
    int status = MRG_EXIT_OK;
    for (size_t i = 0; i < config->dependency_count; i++) {
        const struct mrg_dependency_config *one = &config->dependencies[i];
        struct mrg_error err;
        enum mrg_err code = mrg_server_schema(one, &schemas[i], &err);
        if (!code)
            continue;
        mrg_cli_complain("%s:%d: dependency %s: %s", config->path, one->line, one->name, err.message);
        if (code != MRG_ERR_UNAVAILABLE)
            status = MRG_EXIT_USAGE;
        else if (status == MRG_EXIT_OK)
            status = MRG_EXIT_UNREACHABLE;
    }
    struct mrg_error err;
    if (mrg_server_check_shared(config, (const struct mrg_schema *const *)schemas, &err)) {
        mrg_cli_complain("%s", err.message);
        status = MRG_EXIT_USAGE;
    }
    return status;
}

static void append_all_rpcs(struct mrg_buf *buf, const struct mrg_config *config,
                            struct mrg_schema *const *schemas)
{
    for (size_t i = 0; i < config->dependency_count; i++) {
        if (!schemas[i])
            continue;
        mrg_buf_appendf(buf, "\n%s: the RPCs of its protos\n", config->dependencies[i].name);
        mrg_check_append_rpcs(buf, schemas[i]);
    }
}

/* RPCs stand beside the configuration, not in it: without `file` and `rpcs` it can be read again. */
static void append_json(struct mrg_buf *buf, const struct mrg_config *config,
                        struct mrg_schema *const *schemas)
{
    struct json_object *root = mrg_config_json(config);
    struct json_object *rpcs = json_object_new_object();
    for (size_t i = 0; i < config->dependency_count; i++) {
        if (schemas[i])
            json_object_object_add(rpcs, config->dependencies[i].name, mrg_check_rpcs_json(schemas[i]));
    }
    json_object_object_add(root, "rpcs", rpcs);
    mrg_json_append_tree(buf, root);
    mrg_buf_append_char(buf, '\n');
    json_object_put(root);
}

int mrg_cli_check(const struct mrg_cli_values *values)
{
    struct mrg_config *config = mrg_cli_load(values, NULL, 0);
    if (!config)
        return MRG_EXIT_USAGE;
    struct mrg_schema **schemas = mrg_zalloc((config->dependency_count + 1) * sizeof(struct mrg_schema *));
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    int status = load_schemas(config, schemas);
    if (mrg_cli_value(values, "json")) {
        append_json(&buf, config, schemas);
    } else {
        mrg_config_append_summary(&buf, config);
        append_all_rpcs(&buf, config, schemas);
        if (!append_all_evidence(&buf, config))
            status = MRG_EXIT_USAGE;
    }
    fwrite(buf.data, 1, buf.len, stdout);
    mrg_buf_done(&buf);
    for (size_t i = 0; i < config->dependency_count; i++)
        mrg_schema_free(schemas[i]);
    free(schemas);
    mrg_config_unref(config);
    return status;
}
