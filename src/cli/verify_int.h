// SPDX-License-Identifier: Apache-2.0
/*
 * Verify, inside: what the files of `mirage verify` share. Nobody else includes it. Main thread.
 */
#pragma once

#include "cli/cli.h"
#include "fidelity/runner.h"
#include "fidelity/score.h"

/* The targets of both sides and the other options of a run, in the arena; the schema is the caller's to free. */
enum mrg_err mrg_verify_read_options(const struct mrg_cli_values *values, struct mrg_arena *arena,
                                     struct mrg_run_options *ret_options, struct mrg_schema **ret_schema,
                                     struct mrg_error *err);
/* The scenarios of the operands, those that --only names. */
enum mrg_err mrg_verify_scenarios(const struct mrg_cli_values *values, struct mrg_arena *arena,
                                  struct mrg_scenarios *ret_scenarios, struct mrg_error *err);
/* A finished run from the file that an option names. */
enum mrg_err mrg_verify_load(const char *option, const char *file, struct mrg_arena *arena,
                             struct mrg_result *ret_result, struct mrg_error *err);
/* Judges and verdicts, as the options say. */
enum mrg_err mrg_verify_judge(const struct mrg_cli_values *values, struct mrg_arena *arena,
                              struct mrg_score *score, struct mrg_error *err);
/* Whether the reports' files can be written, before there is anything to lose. INVALID. */
enum mrg_err mrg_verify_check_files(const struct mrg_cli_values *values, struct mrg_error *err);
/* Writes the reports that the options name, and the text to standard output. */
enum mrg_err mrg_verify_report(const struct mrg_cli_values *values, const struct mrg_score *score,
                               struct mrg_error *err);
