// SPDX-License-Identifier: Apache-2.0
/* `mirage docs KIND`: what the build installs, made from the declared tables. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/status.h"

const struct mrg_cli_option mrg_docs_options[] = {{0}};

static const struct {
    const char *kind;
    void (*append)(struct mrg_buf *buf);
} kinds[] = {
    {"man1", mrg_cli_append_man},
    {"man5", mrg_config_append_man},
    {"example", mrg_config_append_example},
    {"options", mrg_config_append_markdown},
    {"bash", mrg_cli_append_bash},
    {"zsh", mrg_cli_append_zsh},
    {"statuses", mrg_status_append_markdown},
};

int mrg_cli_docs(const struct mrg_cli_values *values)
{
    const char *kind = mrg_cli_operand(values, 0);
    for (size_t i = 0; i < MRG_ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].kind, kind) != 0)
            continue;
        struct mrg_buf buf;
        mrg_buf_init(&buf, SIZE_MAX);
        kinds[i].append(&buf);
        fwrite(buf.data, 1, buf.len, stdout);
        mrg_buf_done(&buf);
        return MRG_EXIT_OK;
    }
    mrg_cli_complain("docs knows no %s; expected man1, man5, example, options, statuses, bash or zsh", kind);
    return MRG_EXIT_USAGE;
}
