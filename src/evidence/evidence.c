// SPDX-License-Identifier: Apache-2.0
#include "evidence/evidence.h"

#include <string.h>

#include "evidence/budget.h"
#include "evidence/parts.h"
#include "evidence/prompt.h"
#include "evidence/protos.h"
#include "evidence/tokens.h"
#include "evidence/use.h"

struct mrg_evidence {
    struct mrg_text *prompt;
    char hash[MRG_SHA256_HEX + 1];
    struct mrg_prompt_size size;
    struct mrg_drops drops;
    enum mrg_use use; /* resolved */
};

static void report_trace_file(struct mrg_parts *parts, const struct mrg_file *file,
                              const struct mrg_trace_report *report)
{
    size_t wrong = report->wrong + report->too_long;
    if (wrong > 0)
        mrg_drops_add(&parts->drops, "traces", file->name, "%zu of %zu lines cannot be read (line %zu: %s)",
                      wrong, report->lines, report->first_wrong, report->why);
}

/* An error only where nothing else is known. */
static enum mrg_err without_endpoints(struct mrg_parts *parts, struct mrg_error *err)
{
    const char *why = "no server or client span with a method and a path is the dependency's";
    if (parts->use == MRG_USE_TRACES)
        return mrg_error_set(err, MRG_ERR_INVALID, "evidence.traces: %s: %s",
                             parts->trace_files.items[0].path, why);
    mrg_drops_add(&parts->drops, "traces", "", "%s", why);
    return MRG_ERR_OK;
}

static enum mrg_err read_traces(struct mrg_parts *parts, struct mrg_error *err)
{
    struct mrg_traces traces = {0};
    struct mrg_error why;
    enum mrg_err code = MRG_ERR_OK;
    for (size_t i = 0; i < parts->trace_files.count && code == MRG_ERR_OK; i++) {
        struct mrg_file *file = &parts->trace_files.items[i];
        struct mrg_trace_report report;
        code = mrg_traces_add_file(&traces, file->path, &report, &why);
        if (code != MRG_ERR_OK) {
            (void)mrg_error_set(err, code, "evidence.traces: %s: %s", file->path, why.message);
            break;
        }
        memcpy(file->hash, report.hash, sizeof(file->hash));
        report_trace_file(parts, file, &report);
    }
    mrg_endpoints_make(&traces, parts->name, &parts->endpoints);
    if (parts->endpoints.foreign > 0)
        mrg_drops_add(&parts->drops, "traces", "", "%zu spans are of other services",
                      (size_t)parts->endpoints.foreign);
    if (traces.lost > 0)
        mrg_drops_add(&parts->drops, "traces", "", "%zu spans are past the bound of different calls",
                      (size_t)traces.lost);
    if (code == MRG_ERR_OK && parts->endpoints.count == 0)
        code = without_endpoints(parts, err);
    mrg_traces_done(&traces);
    return code;
}

static enum mrg_err read_schema(const struct mrg_dependency_config *config, struct mrg_parts *parts,
                                struct mrg_error *err)
{
    struct mrg_strings paths = mrg_evidence_schema(config);
    enum mrg_err code =
        mrg_files_read("schema", &paths, MRG_FILES_TEXT, &parts->source, &parts->schema, &parts->drops, err);
    mrg_evidence_schema_done(&paths);
    return code;
}

static enum mrg_err read_parts(const struct mrg_dependency_config *config, const struct mrg_use_parts *use,
                               struct mrg_parts *parts, struct mrg_error *err)
{
    const struct mrg_evidence_config *evidence = &config->evidence;
    struct mrg_drops *drops = &parts->drops;
    enum mrg_err code = MRG_ERR_OK;
    if (use->source)
        code = mrg_files_read("source", &evidence->source, MRG_FILES_CODE, NULL, &parts->source, drops, err);
    if (code == MRG_ERR_OK && use->caller)
        code = mrg_files_read("caller", &evidence->caller, MRG_FILES_CODE, &parts->source, &parts->caller,
                              drops, err);
    if (code == MRG_ERR_OK && use->schema)
        code = read_schema(config, parts, err);
    if (code == MRG_ERR_OK && use->traces)
        code = mrg_files_read("traces", &evidence->traces, MRG_FILES_JSON, NULL, &parts->trace_files, drops,
                              err);
    if (code == MRG_ERR_OK && use->traces)
        code = read_traces(parts, err);
    if (code == MRG_ERR_OK && use->examples)
        code = mrg_files_read("examples", &evidence->examples, MRG_FILES_JSON, NULL, &parts->example_files,
                              drops, err);
    if (code == MRG_ERR_OK && use->examples)
        code = mrg_examples_read(&parts->example_files, &config->redact, &parts->examples, drops, err);
    return code;
}

static void hash_files(struct mrg_sha256 *sha, const char *part, const struct mrg_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct mrg_file *file = &files->items[i];
        if (file->left_out)
            continue;
        _cleanup_free_ char *head = mrg_asprintf("%s %zu %zu:", part, file->root, strlen(file->rel));
        mrg_sha256_add(sha, head, strlen(head));
        mrg_sha256_add(sha, file->rel, strlen(file->rel));
        mrg_sha256_add(sha, file->hash, strlen(file->hash));
    }
}

/* Names below their roots, bytes and use: what was known, however we put it. */
static void hash_parts(const struct mrg_parts *parts, char ret_hex[MRG_SHA256_HEX + 1])
{
    struct mrg_sha256 *sha = mrg_sha256_new();
    const char *use = mrg_use_name(parts->use);
    mrg_sha256_add(sha, use, strlen(use));
    hash_files(sha, "source", &parts->source);
    hash_files(sha, "caller", &parts->caller);
    hash_files(sha, "schema", &parts->schema);
    hash_files(sha, "traces", &parts->trace_files);
    hash_files(sha, "examples", &parts->example_files);
    mrg_sha256_finish(sha, ret_hex);
}

static enum mrg_err write_prompt(struct mrg_evidence *evidence, struct mrg_parts *parts,
                                 struct mrg_error *err)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, MRG_MAX_PROMPT);
    _cleanup_free_ char *tag = mrg_prompt_tag(parts, evidence->hash);
    if (parts->paper)
        mrg_prompt_append_paper(&buf, parts, tag, &evidence->size);
    else
        mrg_prompt_append(&buf, parts, tag, &evidence->size);
    enum mrg_err code = MRG_ERR_OK;
    if (mrg_buf_failed(&buf))
        code = mrg_error_set(err, MRG_ERR_TOO_LARGE, "evidence: the prompt would be larger than 512 MiB");
    else
        evidence->prompt = mrg_text_new(buf.data, buf.len);
    evidence->size.bytes = buf.len;
    evidence->size.tokens = mrg_tokens(mrg_buf_slice(&buf));
    mrg_buf_done(&buf);
    return code;
}

static void tell_ignored(const struct mrg_dependency_config *config, struct mrg_drops *drops)
{
    if (config->preset != MRG_PRESET_PAPER)
        return;
    if (config->evidence.schema.count > 0)
        mrg_drops_add(drops, "schema", "", "preset paper shows none");
    if (config->evidence.examples.count > 0)
        mrg_drops_add(drops, "examples", "", "preset paper shows none");
}

static enum mrg_err load(const struct mrg_dependency_config *config, struct mrg_parts *parts,
                         struct mrg_evidence *evidence, struct mrg_error *err)
{
    struct mrg_use_parts use;
    enum mrg_err code = mrg_use_resolve(config, &parts->use, &use, err);
    if (code == MRG_ERR_OK)
        code = read_parts(config, &use, parts, err);
    if (code == MRG_ERR_OK && !parts->paper)
        code = mrg_budget_keep(parts, config->evidence.budget, err);
    if (code != MRG_ERR_OK)
        return code;
    tell_ignored(config, &parts->drops);
    hash_parts(parts, evidence->hash);
    code = write_prompt(evidence, parts, err);
    mrg_drops_close(&parts->drops);
    evidence->drops = parts->drops;
    parts->drops = (struct mrg_drops){0};
    evidence->use = parts->use;
    return code;
}

enum mrg_err mrg_evidence_load(const struct mrg_dependency_config *config, struct mrg_evidence **ret_evidence,
                               struct mrg_error *err)
{
    struct mrg_evidence *evidence = mrg_zalloc(sizeof(*evidence));
    struct mrg_parts parts = {
        .name = config->name,
        .paper = config->preset == MRG_PRESET_PAPER,
        .grpc = mrg_dependency_has_protos(config),
    };
    enum mrg_err code = load(config, &parts, evidence, err);
    mrg_parts_done(&parts);
    if (code != MRG_ERR_OK)
        mrg_evidence_free(evidence);
    else
        *ret_evidence = evidence;
    return code;
}

void mrg_evidence_free(struct mrg_evidence *evidence)
{
    if (!evidence)
        return;
    mrg_text_unref(evidence->prompt);
    mrg_drops_done(&evidence->drops);
    free(evidence);
}

struct mrg_text *mrg_evidence_prompt(const struct mrg_evidence *evidence)
{
    return evidence->prompt;
}

const char *mrg_evidence_hash(const struct mrg_evidence *evidence)
{
    return evidence->hash;
}

const struct mrg_prompt_size *mrg_evidence_size(const struct mrg_evidence *evidence)
{
    return &evidence->size;
}

const struct mrg_dropped *mrg_evidence_dropped(const struct mrg_evidence *evidence, size_t *ret_count)
{
    *ret_count = evidence->drops.count;
    return evidence->drops.items;
}

enum mrg_use mrg_evidence_use(const struct mrg_evidence *evidence)
{
    return evidence->use;
}
