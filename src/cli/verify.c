// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <string.h>

#include "cli/call_int.h"
#include "cli/verify_int.h"
#include "fidelity/judge.h"

const struct mrg_cli_option mrg_verify_options[] = {
    {"real", 0, "TARGET", "The real service: a URL, or NAME=URL for one of several dependencies.", true},
    {"sim", 0, "TARGET", "The simulation, likewise.", true},
    {"real-cmd", 0, "COMMAND",
     "In place of --real: starts a fresh real service for each scenario; its first line of output has its "
     "URL, or "
     "NAME=URL words.",
     false},
    {"real-reset", 0, "PATH", "Path that is POSTed to on the real side before each scenario; or NAME=PATH.",
     true},
    {"sim-reset", 0, "PATH", "The same on the simulated side; default /__mock__/reset, none turns it off.",
     true},
    {"inject", 0, NULL, "Announce each scenario to the simulation before its calls.", false},
    {"repeat", 0, "N", "How often each scenario is run; default once.", false},
    {"jobs", 0, "N", "Scenarios side by side, each in a session of its own; one where --real is a URL.",
     false},
    {"only", 0, "NAME", "Scenarios whose name begins so.", true},
    {"label", 0, "TEXT", "A name for the run, kept with the result.", false},
    MRG_CALL_TARGET_OPTIONS,
    {"config", 'c', "FILE", "The configuration whose judges are asked; default mirage.yaml.", false},
    {"judge", 0, NULL, "Let the two judges of the configuration decide what the checker cannot.", false},
    {"verdicts", 0, "FILE", "What people decided, and in which open cases are listed; read if it is there.",
     false},
    {"rescore", 0, "FILE", "Score a finished run (its --json) again; no calls are made.", false},
    {"against", 0, "FILE", "Another finished run, paired by scenario: the difference of the pass rates.",
     false},
    {"json", 0, "FILE", "Write the whole result with its score; - is standard output, as for all reports.",
     false},
    {"junit", 0, "FILE", "Write JUnit XML.", false},
    {"markdown", 0, "FILE", "Write Markdown tables.", false},
    {"html", 0, "FILE", "Write one HTML page with the replies side by side.", false},
    {"quiet", 'q', NULL, "No progress.", false},
    {0},
};

static void end(int signal)
{
    mrg_run_kill();
    raise(signal); /* by its default, which SA_RESETHAND has brought back */
}

/* Services that --real-cmd started would outlive a Ctrl-C: they are in groups of their own. */
static void handle_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < MRG_ARRAY_LEN(signals); i++)
        sigaction(signals[i], &action, NULL);
}

/* The other run, scored by the same rules; in the arena. */
static enum mrg_err hold_against(const struct mrg_cli_values *values, struct mrg_arena *arena,
                                 struct mrg_score *score, struct mrg_error *err)
{
    const char *file = mrg_cli_value(values, "against");
    if (!file)
        return MRG_ERR_OK;
    struct mrg_result *result = mrg_arena_zalloc(arena, sizeof(*result));
    struct mrg_score *other = mrg_arena_zalloc(arena, sizeof(*other));
    struct mrg_difference *difference = mrg_arena_zalloc(arena, sizeof(*difference));
    const char *verdicts = mrg_cli_value(values, "verdicts");
    enum mrg_err code = mrg_verify_load("against", file, arena, result, err);
    if (!code)
        code = mrg_score_result(result, arena, other, err);
    if (!code && verdicts)
        code = mrg_verdicts_apply(other, verdicts, arena, err);
    if (code)
        return code;
    *difference = mrg_score_difference(score, other);
    score->against = difference;
    score->against_label = result->label[0] ? result->label : file;
    return MRG_ERR_OK;
}

static enum mrg_err run(const struct mrg_cli_values *values, struct mrg_arena *arena,
                        struct mrg_result *ret_result, struct mrg_error *err)
{
    struct mrg_run_options options;
    struct mrg_scenarios scenarios;
    struct mrg_schema *schema = NULL;
    enum mrg_err code = mrg_verify_scenarios(values, arena, &scenarios, err);
    if (!code)
        code = mrg_verify_read_options(values, arena, &options, &schema, err);
    if (!code)
        handle_signals();
    if (!code)
        code = mrg_run(&scenarios, &options, arena, ret_result, err);
    mrg_schema_free(schema);
    return code;
}

/* Faithful: all passed, and all could be run. */
static int exit_of(const struct mrg_score *score)
{
    if (score->all.scored == 0 && score->errors > 0)
        return MRG_EXIT_UNREACHABLE;
    return score->errors == 0 && score->all.passed == score->all.scored ? MRG_EXIT_OK : MRG_EXIT_NO;
}

int mrg_cli_verify(const struct mrg_cli_values *values)
{
    struct mrg_result result;
    struct mrg_score score;
    struct mrg_error err;
    struct mrg_arena *arena = mrg_arena_new(1 << 16);
    const char *again = mrg_cli_value(values, "rescore");
    enum mrg_err code = mrg_verify_check_files(values, &err);
    if (!code)
        code = again ? mrg_verify_load("rescore", again, arena, &result, &err)
                     : run(values, arena, &result, &err);
    if (!code)
        code = mrg_score_result(&result, arena, &score, &err);
    if (!code)
        code = mrg_verify_judge(values, arena, &score, &err);
    if (!code)
        code = hold_against(values, arena, &score, &err);
    if (!code)
        code = mrg_verify_report(values, &score, &err);
    int status = code ? mrg_call_failed(code, &err) : exit_of(&score);
    mrg_arena_free(arena);
    return status;
}
