// SPDX-License-Identifier: Apache-2.0
#include "evidence/use.h"

/* What a use must have, and may have. */
static const struct {
    const char *name;
    struct mrg_use_parts needs;
    struct mrg_use_parts takes;
} uses[] = {
    [MRG_USE_ALL] = {"all", {0}, {0}},
    [MRG_USE_WHITE_BOX] =
        {"white-box",
         {.source = true},
         {.source = true, .caller = true, .traces = true, .schema = true, .examples = true}},
    [MRG_USE_GREY_BOX] = {"grey-box",
                          {.schema = true},
                          {.caller = true, .traces = true, .schema = true, .examples = true}},
    [MRG_USE_BLACK_BOX] = {"black-box", {.caller = true}, {.caller = true, .traces = true, .examples = true}},
    [MRG_USE_SOURCE] = {"source", {.source = true}, {.source = true}},
    [MRG_USE_CALLER] = {"caller", {.caller = true}, {.caller = true}},
    [MRG_USE_TRACES] = {"traces", {.traces = true}, {.traces = true}},
};

const char *mrg_use_name(enum mrg_use use)
{
    return uses[use].name;
}

static enum mrg_use fullest(const struct mrg_use_parts *have)
{
    if (have->source)
        return MRG_USE_WHITE_BOX;
    if (have->schema)
        return MRG_USE_GREY_BOX;
    if (have->caller || have->examples)
        return MRG_USE_BLACK_BOX;
    return have->traces ? MRG_USE_TRACES : MRG_USE_ALL;
}

/* The key of the first part that is needed and not there, or NULL. */
static const char *missing(const struct mrg_use_parts *needs, const struct mrg_use_parts *have)
{
    if (needs->source && !have->source)
        return "source";
    if (needs->schema && !have->schema)
        return "schema";
    if (needs->caller && !have->caller)
        return "caller";
    return needs->traces && !have->traces ? "traces" : NULL;
}

enum mrg_err mrg_use_resolve(const struct mrg_dependency_config *config, enum mrg_use *ret_use,
                             struct mrg_use_parts *ret_parts, struct mrg_error *err)
{
    const struct mrg_evidence_config *evidence = &config->evidence;
    bool paper = config->preset == MRG_PRESET_PAPER;
    struct mrg_use_parts have = {
        .source = evidence->source.count > 0,
        .caller = evidence->caller.count > 0,
        .traces = evidence->traces.count > 0,
        .schema = (evidence->schema.count > 0 || config->protos.files.count > 0) && !paper,
        .examples = evidence->examples.count > 0 && !paper,
    };
    enum mrg_use use = evidence->use;
    if (paper && use == MRG_USE_GREY_BOX)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "evidence.use: grey-box is not one of preset paper's; expected white-box, "
                             "black-box, source, caller or traces");
    const char *key = missing(&uses[use].needs, &have);
    if (key)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "evidence.use: %s needs evidence.%s, which is not configured", uses[use].name,
                             key);
    if (use == MRG_USE_ALL)
        use = fullest(&have);
    const struct mrg_use_parts *takes = &uses[use].takes;
    *ret_use = use;
    *ret_parts = (struct mrg_use_parts){
        .source = takes->source && have.source,
        .caller = takes->caller && have.caller,
        .traces = takes->traces && have.traces,
        .schema = takes->schema && have.schema,
        .examples = takes->examples && have.examples,
    };
    return MRG_ERR_OK;
}
