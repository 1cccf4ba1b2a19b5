// SPDX-License-Identifier: Apache-2.0
/*
 * Words: what a model is told beside the evidence. They decide how faithful replies are: measure before and
 * after a change.
 *
 * Every byte is part of the prompt that providers cache, and costs each request; keep them under 900 tokens
 * together.
 */
#pragma once

/* First; between them the dependency's name. */
extern const char mrg_words_intro[];
extern const char mrg_words_intro_end[];

/* How to work out a reply with the source at hand. */
extern const char mrg_words_with_source[];
extern const char mrg_words_source_wins[]; /* where there is other evidence, too */

/* Without it: a beginning, one line for each kind of evidence that there is, and an end. */
extern const char mrg_words_without_source[];
extern const char mrg_words_schema_weight[];
extern const char mrg_words_example_weight[];
extern const char mrg_words_caller_weight[];
extern const char mrg_words_trace_weight[];
extern const char mrg_words_without_source_end[];

/* Last: values made up, what a request looks like, what the answer must be. */
extern const char mrg_words_made_up[];
extern const char mrg_words_request[];
extern const char mrg_words_answer[];
extern const char mrg_words_grpc[]; /* where it may be called over gRPC */
extern const char mrg_words_unsure_with_source[];
extern const char mrg_words_unsure_without_source[];
