// SPDX-License-Identifier: Apache-2.0
/*
 * Cli: the `mirage` program's commands and their options, declared once.
 *
 * One file per command. From the tables come parsing, --help, the man page mirage(1) and the shell
 * completions. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/config.h"
#include "util/buf.h"

/* Exit status, the same for every command. */
enum mrg_exit {
    MRG_EXIT_OK = 0,          /* done */
    MRG_EXIT_NO = 1,          /* the answer is no */
    MRG_EXIT_USAGE = 2,       /* usage or configuration */
    MRG_EXIT_UNREACHABLE = 3, /* a target or provider could not be reached */
};

#define MRG_CLI_OPERANDS 64u /* the most that a command takes */

struct mrg_cli_option {
    const char *name;     /* long form, without -- */
    char letter;          /* short form; 0: none */
    const char *argument; /* what the value is called in --help; NULL: a switch */
    const char *help;     /* one sentence, without quotes and brackets */
    bool many;            /* may be given several times */
};

struct mrg_cli_values; /* what was given */

struct mrg_cli_command {
    const char *name;
    const char *operands;                 /* as in the usage line: "DEP" or "" */
    size_t operand_count;                 /* how many it needs */
    const char *help;                     /* one sentence */
    const struct mrg_cli_option *options; /* ends with an empty one */
    int (*run)(const struct mrg_cli_values *values);
    bool hidden;        /* not in --help: for the build */
    bool more_operands; /* takes up to MRG_CLI_OPERANDS of them */
};

/* The value of an option, or NULL; "" for a switch that was given; the last one of several. Borrowed from argv. */
const char *mrg_cli_value(const struct mrg_cli_values *values, const char *name);
/* All values of an option that may be given several times, in order: start with *cursor = 0; NULL at the end. */
const char *mrg_cli_each(const struct mrg_cli_values *values, const char *name, size_t *cursor);
const char *mrg_cli_operand(const struct mrg_cli_values *values, size_t i);

/* All commands; ends with an empty one. */
extern const struct mrg_cli_command mrg_cli_commands[];
/* Their definitions. */
extern const struct mrg_cli_option mrg_serve_options[], mrg_check_options[], mrg_prompt_options[],
    mrg_call_options[], mrg_ls_options[], mrg_verify_options[], mrg_docs_options[];
int mrg_cli_serve(const struct mrg_cli_values *values);
int mrg_cli_check(const struct mrg_cli_values *values);
int mrg_cli_prompt(const struct mrg_cli_values *values);
int mrg_cli_call(const struct mrg_cli_values *values);
int mrg_cli_ls(const struct mrg_cli_values *values);
int mrg_cli_verify(const struct mrg_cli_values *values);
int mrg_cli_docs(const struct mrg_cli_values *values);

/* Parses argv and runs the command. The exit status. */
int mrg_cli_main(int argc, char **argv);

/* Loads -c (MIRAGE_CONFIG, mirage.yaml) with the overrides of the environment and of these flags; tells
 * errors on standard error. NULL on failure. */
struct mrg_config *mrg_cli_load(const struct mrg_cli_values *values, const struct mrg_override *flags,
                                size_t count);
/* "mirage: …" on standard error. */
void mrg_cli_complain(const char *format, ...) MRG_PRINTF(1, 2);

/* cli/help.c */
void mrg_cli_append_usage(struct mrg_buf *buf);
void mrg_cli_append_help(struct mrg_buf *buf, const struct mrg_cli_command *command);
void mrg_cli_append_man(struct mrg_buf *buf);
void mrg_cli_append_bash(struct mrg_buf *buf);
void mrg_cli_append_zsh(struct mrg_buf *buf);
