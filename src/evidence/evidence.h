// SPDX-License-Identifier: Apache-2.0
/*
 * Evidence: what a simulation may know, made into the system prompt (paper, section III-B, "Context
 * Builder").
 *
 * Read once, on main, from files and folders; immutable after that. The prompt is stable to the byte for the
 * same evidence and options, so that providers' prompt caches hit; nothing in it changes with time, session
 * or request. Thread: any.
 */
#pragma once

#include "core/config.h"
#include "util/error.h"
#include "util/text.h"

struct mrg_evidence;

/* One thing that was left out or cut, and why. */
struct mrg_dropped {
    char *what; /* "source inventory/big.py", "traces GET /health" */
    char *why;  /* "budget", "binary", "vendored", "cut to 8,000 characters (preset paper)" */
};

struct mrg_prompt_size {
    size_t bytes;      /* of the whole system prompt */
    int tokens;        /* estimated */
    int source_tokens; /* of its parts */
    int caller_tokens;
    int trace_tokens;
    int schema_tokens;
    int example_tokens;
};

/*
 * A path that cannot be read is an error that names it; files within folders that cannot are dropped and
 * told.
 */
enum mrg_err mrg_evidence_load(const struct mrg_dependency_config *config, struct mrg_evidence **ret_evidence,
                               struct mrg_error *err);
void mrg_evidence_free(struct mrg_evidence *evidence);

struct mrg_text *mrg_evidence_prompt(const struct mrg_evidence *evidence); /* the system prompt; borrowed */
const char *
mrg_evidence_hash(const struct mrg_evidence
                      *evidence); /* SHA-256 of the evidence itself (files used), not of our words; hex */
const struct mrg_prompt_size *mrg_evidence_size(const struct mrg_evidence *evidence);
const struct mrg_dropped *mrg_evidence_dropped(const struct mrg_evidence *evidence, size_t *ret_count);
enum mrg_use mrg_evidence_use(const struct mrg_evidence *evidence); /* what MRG_USE_ALL came to */
