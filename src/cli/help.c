// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

void mrg_cli_append_usage(struct mrg_buf *buf)
{
    mrg_buf_append_str(buf, "mirage stands in for the dependencies of a microservice under test.\n\nUsage: "
                            "mirage COMMAND [OPTIONS]\n\n");
    for (const struct mrg_cli_command *one = mrg_cli_commands; one->name; one++) {
        if (!one->hidden)
            mrg_buf_appendf(buf, "  %s %-*s %s\n", one->name, (int)(10 - strlen(one->name)), one->operands,
                            one->help);
    }
    mrg_buf_append_str(
        buf,
        "\n  --help     this text; `mirage COMMAND --help` tells the options of a command\n"
        "  --version  the version\n\n"
        "Exit status: 0 done; 1 the answer is no; 2 usage or configuration; 3 a target or "
        "provider could not be reached.\n"
        "Signals of serve: SIGHUP reloads the configuration; SIGTERM and SIGINT stop, a second one at once.\n"
        "Configuration keys: `mirage docs options`; an example: `mirage docs example`.\n");
}

static void append_option(struct mrg_buf *buf, const struct mrg_cli_option *option)
{
    char head[64];
    snprintf(head, sizeof(head), "%c%c%s--%s%s%s", option->letter ? '-' : ' ',
             option->letter ? option->letter : ' ', option->letter ? ", " : "  ", option->name,
             option->argument ? " " : "", option->argument ? option->argument : "");
    mrg_buf_appendf(buf, "  %-28s %s%s\n", head, option->help, option->many ? " May be repeated." : "");
}

void mrg_cli_append_help(struct mrg_buf *buf, const struct mrg_cli_command *command)
{
    mrg_buf_appendf(buf, "Usage: mirage %s%s%s [OPTIONS]\n\n%s\n\n", command->name,
                    command->operands[0] ? " " : "", command->operands, command->help);
    for (const struct mrg_cli_option *option = command->options; option->name; option++)
        append_option(buf, option);
    mrg_buf_append_str(buf, "  -h, --help                   This text.\n");
}

static void append_man_command(struct mrg_buf *buf, const struct mrg_cli_command *command)
{
    mrg_buf_appendf(buf, ".SS mirage %s %s\n%s\n", command->name, command->operands, command->help);
    for (const struct mrg_cli_option *option = command->options; option->name; option++) {
        mrg_buf_append_str(buf, ".TP\n");
        if (option->letter)
            mrg_buf_appendf(buf, "\\fB\\-%c\\fR, ", option->letter);
        mrg_buf_appendf(buf, "\\fB\\-\\-%s\\fR%s%s\n%s%s\n", option->name, option->argument ? " " : "",
                        option->argument ? option->argument : "", option->help,
                        option->many ? " May be repeated." : "");
    }
}

void mrg_cli_append_man(struct mrg_buf *buf)
{
    mrg_buf_append_str(buf, ".TH MIRAGE 1 \"\" \"mirage " MRG_VERSION "\" \"User Commands\"\n.SH NAME\n"
                            "mirage \\- stand in for the dependencies of a microservice under test\n"
                            ".SH SYNOPSIS\n.B mirage\nCOMMAND [OPTIONS]\n.SH COMMANDS\n");
    for (const struct mrg_cli_command *one = mrg_cli_commands; one->name; one++) {
        if (!one->hidden)
            append_man_command(buf, one);
    }
    mrg_buf_append_str(
        buf,
        ".SH EXIT STATUS\n0 done; 1 the answer is no; 2 usage or configuration; 3 a target or provider could "
        "not be reached.\n.SH SIGNALS\nSIGHUP reloads the configuration; SIGTERM and SIGINT stop after the "
        "requests in flight; a second one stops at once.\n.SH SEE ALSO\n.BR mirage.yaml (5)\n");
}

void mrg_cli_append_bash(struct mrg_buf *buf)
{
    mrg_buf_append_str(buf,
                       "# bash completion for mirage\n_mirage() {\n    local cur=${COMP_WORDS[COMP_CWORD]}\n"
                       "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    for (const struct mrg_cli_command *one = mrg_cli_commands; one->name; one++) {
        if (!one->hidden)
            mrg_buf_appendf(buf, "%s ", one->name);
    }
    mrg_buf_append_str(
        buf, "--help --version\" -- \"$cur\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (const struct mrg_cli_command *one = mrg_cli_commands; one->name; one++) {
        if (one->hidden)
            continue;
        mrg_buf_appendf(buf, "    %s) COMPREPLY=($(compgen -W \"--help", one->name);
        for (const struct mrg_cli_option *option = one->options; option->name; option++)
            mrg_buf_appendf(buf, " --%s", option->name);
        mrg_buf_append_str(buf, "\" -- \"$cur\") $(compgen -f -- \"$cur\"));;\n");
    }
    mrg_buf_append_str(buf, "    esac\n}\ncomplete -F _mirage mirage\n");
}

void mrg_cli_append_zsh(struct mrg_buf *buf)
{
    mrg_buf_append_str(
        buf, "#compdef mirage\n# zsh completion for mirage\nif (( CURRENT == 2 )); then\n    compadd ");
    for (const struct mrg_cli_command *one = mrg_cli_commands; one->name; one++) {
        if (!one->hidden)
            mrg_buf_appendf(buf, "%s ", one->name);
    }
    mrg_buf_append_str(buf, "-- --help --version\n    return\nfi\ncase $words[2] in\n");
    for (const struct mrg_cli_command *one = mrg_cli_commands; one->name; one++) {
        if (one->hidden)
            continue;
        mrg_buf_appendf(buf, "    %s) _arguments", one->name);
        for (const struct mrg_cli_option *option = one->options; option->name; option++)
            mrg_buf_appendf(buf, " '%s--%s[%s]%s%s%s'", option->many ? "*" : "", option->name, option->help,
                            option->argument ? ":" : "", option->argument ? option->argument : "",
                            option->argument ? ":_files" : "");
        mrg_buf_append_str(buf, ";;\n");
    }
    mrg_buf_append_str(buf, "esac\n");
}
