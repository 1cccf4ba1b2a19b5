// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/* An option as it was given. */
struct given {
    const struct mrg_cli_option *option; /* of the command's */
    const char *value;                   /* "" for a switch */
};

struct mrg_cli_values {
    const struct mrg_cli_command *command;
    struct given *given; /* in the order given */
    size_t given_count;
    size_t given_room;
    const char *operands[MRG_CLI_OPERANDS];
    size_t operand_count;
};

const struct mrg_cli_command mrg_cli_commands[] = {
    {"serve", "", 0, "Answer callers as the dependencies of the configuration.", mrg_serve_options,
     mrg_cli_serve, false},
    {"check", "", 0,
     "Say what of the configuration was understood, the RPCs of its protos, and what will be sent to the "
     "model.",
     mrg_check_options, mrg_cli_check, false},
    {"prompt", "DEP", 1, "Print exactly what the model will be told of a dependency, and its size.",
     mrg_prompt_options, mrg_cli_prompt, false},
    {"call", "URL", 1,
     "Send one request over HTTP, gRPC or ZeroMQ (http://, grpc://, zmq+tcp://) and print the reply.",
     mrg_call_options, mrg_cli_call, false},
    {"ls", "TARGET", 1,
     "List a gRPC server's services and methods by reflection, or the dependencies of a Mirage server.",
     mrg_ls_options, mrg_cli_ls, false},
    {"verify", "[SCENARIOS...]", 0,
     "Say how faithful a simulation is: the same calls to it and to the real service, and their replies "
     "compared.",
     mrg_verify_options, mrg_cli_verify, false, true},
    {"docs", "KIND", 1, "Print man1, man5, example, options, bash or zsh, made from the tables of options.",
     mrg_docs_options, mrg_cli_docs, true},
    {0},
};

static const char *const later[] = {"log", "cassette", "record", "compile", "drive", "draft", "ioco", "init"};

void mrg_cli_complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("mirage: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

const char *mrg_cli_each(const struct mrg_cli_values *values, const char *name, size_t *cursor)
{
    while (*cursor < values->given_count) {
        const struct given *given = &values->given[(*cursor)++];
        if (strcmp(given->option->name, name) == 0)
            return given->value;
    }
    return NULL;
}

const char *mrg_cli_value(const struct mrg_cli_values *values, const char *name)
{
    const char *last = NULL, *value;
    size_t cursor = 0;
    while ((value = mrg_cli_each(values, name, &cursor)))
        last = value;
    return last;
}

static void give(struct mrg_cli_values *values, const struct mrg_cli_option *option, const char *value)
{
    mrg_grow((void **)&values->given, &values->given_room, values->given_count, sizeof(*values->given));
    values->given[values->given_count++] = (struct given){option, value};
}

const char *mrg_cli_operand(const struct mrg_cli_values *values, size_t i)
{
    return i < values->operand_count ? values->operands[i] : NULL;
}

static const struct mrg_cli_command *find_command(const char *name)
{
    for (size_t i = 0; mrg_cli_commands[i].name; i++) {
        if (strcmp(mrg_cli_commands[i].name, name) == 0)
            return &mrg_cli_commands[i];
    }
    return NULL;
}

/* The option that `word` (after its dashes, up to =) or letter is; NULL when there is none. */
static const struct mrg_cli_option *find_option(const struct mrg_cli_command *command, const char *word,
                                                size_t len, bool is_long)
{
    for (const struct mrg_cli_option *option = command->options; option->name; option++) {
        if (is_long ? strlen(option->name) == len && memcmp(option->name, word, len) == 0
                    : len == 1 && option->letter == word[0])
            return option;
    }
    return NULL;
}

/* Takes one option word and perhaps its value; the number of words taken, 0 when it is wrong (told). */
static int take_option(struct mrg_cli_values *values, int argc, char **argv, int at)
{
    const char *word = argv[at];
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    const char *equals = is_long ? strchr(name, '=') : NULL;
    size_t len = equals ? (size_t)(equals - name) : is_long ? strlen(name) : 1;
    const struct mrg_cli_option *option = find_option(values->command, name, len, is_long);
    if (!option) {
        mrg_cli_complain("%s has no option %s; see mirage %s --help", values->command->name, word,
                         values->command->name);
        return 0;
    }
    const char *attached = equals ? equals + 1 : !is_long && name[1] ? name + 1 : NULL;
    if (!option->argument) {
        if (attached)
            mrg_cli_complain("%s takes no value", word);
        give(values, option, "");
        return attached ? 0 : 1;
    }
    if (!attached && at + 1 >= argc) {
        mrg_cli_complain("%s needs a value: %s", word, option->argument);
        return 0;
    }
    give(values, option, attached ? attached : argv[at + 1]);
    return attached ? 1 : 2;
}

static bool take_words(struct mrg_cli_values *values, int argc, char **argv)
{
    bool only_operands = false;
    for (int at = 0; at < argc;) {
        const char *word = argv[at];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
            at++;
        } else if (!only_operands && word[0] == '-' && word[1]) {
            int taken = take_option(values, argc, argv, at);
            if (!taken)
                return false;
            at += taken;
        } else if (values->operand_count ==
                   (values->command->more_operands ? MRG_CLI_OPERANDS : values->command->operand_count)) {
            mrg_cli_complain("%s does not expect %s; see mirage %s --help", values->command->name, word,
                             values->command->name);
            return false;
        } else {
            values->operands[values->operand_count++] = word;
            at++;
        }
    }
    if (values->operand_count < values->command->operand_count) {
        mrg_cli_complain("%s needs %s; see mirage %s --help", values->command->name,
                         values->command->operands, values->command->name);
        return false;
    }
    return true;
}

static void print(void (*append)(struct mrg_buf *buf))
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    append(&buf);
    fwrite(buf.data, 1, buf.len, stdout);
    mrg_buf_done(&buf);
}

static void print_help(const struct mrg_cli_command *command)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_cli_append_help(&buf, command);
    fwrite(buf.data, 1, buf.len, stdout);
    mrg_buf_done(&buf);
}

static bool asks_help(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

static int unknown_command(const char *name)
{
    for (size_t i = 0; i < MRG_ARRAY_LEN(later); i++) {
        if (strcmp(later[i], name) == 0) {
            mrg_cli_complain(
                "%s belongs to a later version; this one has serve, check, prompt, call, ls and verify",
                name);
            return MRG_EXIT_USAGE;
        }
    }
    mrg_cli_complain("there is no command %s; see mirage --help", name);
    return MRG_EXIT_USAGE;
}

int mrg_cli_main(int argc, char **argv)
{
    if (argc < 2) {
        mrg_cli_complain("which command? See mirage --help");
        return MRG_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("mirage " MRG_VERSION);
        return MRG_EXIT_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print(mrg_cli_append_usage);
        return MRG_EXIT_OK;
    }
    struct mrg_cli_values values = {.command = find_command(argv[1])};
    if (!values.command)
        return unknown_command(argv[1]);
    if (asks_help(argc - 2, argv + 2)) {
        print_help(values.command);
        return MRG_EXIT_OK;
    }
    int status = MRG_EXIT_USAGE;
    if (take_words(&values, argc - 2, argv + 2))
        status = values.command->run(&values);
    free(values.given);
    return status;
}

struct mrg_config *mrg_cli_load(const struct mrg_cli_values *values, const struct mrg_override *flags,
                                size_t count)
{
    const char *path = mrg_cli_value(values, "config");
    if (!path)
        path = getenv("MIRAGE_CONFIG");
    if (!path)
        path = "mirage.yaml";
    struct mrg_config *config = NULL;
    struct mrg_buf errors;
    mrg_buf_init(&errors, SIZE_MAX);
    if (mrg_config_load(path, environ, flags, count, &config, &errors) != MRG_ERR_OK) {
        for (char *line = errors.data, *end; line && *line; line = end) {
            end = strchrnul(line, '\n');
            fprintf(stderr, "mirage: %.*s\n", (int)(end - line), line);
            end += *end == '\n';
        }
    }
    mrg_buf_done(&errors);
    return config;
}
