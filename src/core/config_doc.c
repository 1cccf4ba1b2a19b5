// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/config.h"
#include "core/config_table.h"

/* A part of the file as the documents show it: one scope, or one section of it. */
struct part {
    enum mrg_option_scope scope;
    const char *before; /* what stands before its options' paths */
    const char *title;
    const char *text;
};

static const struct part parts[] = {
    {MRG_SCOPE_ROOT, "", "The whole server",
     "Addresses, limits and control verbs that all dependencies share."},
    {MRG_SCOPE_MODEL, "model.", "The model",
     "Defaults for all dependencies. The same keys below `model` of a dependency override them one by one; a "
     "dependency "
     "that names another provider or base_url names its own key_env too, because a key is not sent to "
     "another place. `judges` at the top is a list of two models with these keys, which mirage verify asks."},
    {MRG_SCOPE_DEPENDENCY, "dependencies[].", "A dependency",
     "`dependencies` is a list; each item is one simulated service. It needs a name and an address: "
     "listen.http, listen.grpc or listen.zmq of its own; or, on a shared address, a prefix (http), protos "
     "(grpc) or its name in the envelope (zmq)."},
    {MRG_SCOPE_ROUTE, "dependencies[].routes[].", "A route",
     "`routes` is a list; each item gives one RPC the method and path that it stands for, so that one "
     "history "
     "serves the dependency over every wire. An annotation google.api.http in the proto does the same."},
};

static const char intro[] =
    "One YAML document in UTF-8. Relative paths begin at the file's folder. Durations are written with ms, "
    "s, m or h, "
    "sizes with B, KiB or MiB. A list may be a single value. Anchors, aliases and merge keys (<<) work; a "
    "duplicate or "
    "unknown key is an error. All errors are reported at once, each with file, line and column.";

static const char overrides[] =
    "Variables of the environment override the file, and flags override both. A variable is MIRAGE_ and the "
    "key's path in "
    "capitals, with _ for dots: MIRAGE_MODEL_BASE_URL, MIRAGE_LIMITS_BODY. A dependency's key goes by its "
    "name, with _ for - and . "
    "in it: MIRAGE_DEPENDENCIES_INVENTORY_CASSETTE_MODE. Lists are written with commas. An empty variable "
    "counts as "
    "not set, and one that fits no key is an error. MIRAGE_CONFIG names the configuration file.";

static const struct mrg_option *next_value(enum mrg_option_scope scope, size_t *index)
{
    while (*index < mrg_option_count) {
        const struct mrg_option *option = &mrg_options[(*index)++];
        if (option->scope == scope && mrg_option_is_value(option))
            return option;
    }
    return NULL;
}

static const char *default_text(const struct mrg_option *option)
{
    if (option->fallback)
        return option->fallback;
    return option->note ? option->note : "none";
}

/* The type with the range that numbers have, or the words that a list may hold. */
static void append_type(struct mrg_buf *buf, const struct mrg_option *option)
{
    mrg_buf_append_str(buf, mrg_option_type_name(option));
    if (option->type == MRG_OPTION_ENUM && option->list)
        mrg_buf_appendf(buf, " of %s", option->values);
    if (option->type == MRG_OPTION_INT || option->type == MRG_OPTION_NUMBER)
        mrg_buf_appendf(buf, ", %lld to %lld", (long long)option->min, (long long)option->max);
}

/* ---- Markdown ---- */

static void append_cell(struct mrg_buf *buf, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            mrg_buf_append_char(buf, '\\');
        mrg_buf_append_char(buf, *text);
    }
}

void mrg_config_append_markdown(struct mrg_buf *buf)
{
    mrg_buf_appendf(buf, "%s\n\n%s\n", intro, overrides);
    for (size_t i = 0; i < MRG_ARRAY_LEN(parts); i++) {
        mrg_buf_appendf(buf, "\n### %s\n\n%s\n\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n",
                        parts[i].title, parts[i].text);
        const struct mrg_option *option;
        for (size_t index = 0; (option = next_value(parts[i].scope, &index));) {
            struct mrg_buf type;
            mrg_buf_init(&type, 1024);
            append_type(&type, option);
            mrg_buf_appendf(buf, "| `%s%s` | ", parts[i].before, option->path);
            append_cell(buf, type.data);
            mrg_buf_append_str(buf, " | ");
            append_cell(buf, default_text(option));
            mrg_buf_append_str(buf, " | ");
            append_cell(buf, option->help);
            mrg_buf_append_str(buf, " |\n");
            mrg_buf_done(&type);
        }
    }
}

/* ---- the man page ---- */

static void append_roff(struct mrg_buf *buf, const char *text)
{
    if (*text == '.' || *text == '\'')
        mrg_buf_append_str(buf, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            mrg_buf_append_str(buf, "\\e");
        else if (*text == '-')
            mrg_buf_append_str(buf, "\\-");
        else if (*text != '`')
            mrg_buf_append_char(buf, *text);
    }
}

static void append_roff_options(struct mrg_buf *buf, const struct part *part)
{
    const struct mrg_option *option;
    for (size_t index = 0; (option = next_value(part->scope, &index));) {
        struct mrg_buf type;
        mrg_buf_init(&type, 1024);
        append_type(&type, option);
        mrg_buf_append_str(buf, ".TP\n.B ");
        append_roff(buf, part->before);
        append_roff(buf, option->path);
        mrg_buf_append_char(buf, '\n');
        append_roff(buf, option->help);
        mrg_buf_append_str(buf, ".\n.br\n");
        append_roff(buf, type.data);
        mrg_buf_append_str(buf, "; default: ");
        append_roff(buf, default_text(option));
        mrg_buf_append_char(buf, '\n');
        mrg_buf_done(&type);
    }
}

void mrg_config_append_man(struct mrg_buf *buf)
{
    mrg_buf_append_str(buf,
                       ".TH MIRAGE.YAML 5 \"\" \"Mirage\" \"File formats\"\n.SH NAME\nmirage.yaml \\- what "
                       "mirage simulates, and how\n.SH DESCRIPTION\n");
    append_roff(buf, intro);
    for (size_t i = 0; i < MRG_ARRAY_LEN(parts); i++) {
        mrg_buf_appendf(buf, "\n.SH \"%s\"\n", parts[i].title);
        append_roff(buf, parts[i].text);
        mrg_buf_append_char(buf, '\n');
        append_roff_options(buf, &parts[i]);
    }
    mrg_buf_append_str(buf, ".SH OVERRIDES\n");
    append_roff(buf, overrides);
    mrg_buf_append_str(
        buf, "\n.SH EXAMPLE\nA whole configuration for one dependency:\n.PP\n.nf\n.RS\n"
             "dependencies:\n"
             "  \\- name: inventory\n"
             "    listen: {http: 127.0.0.1:8001}\n"
             "    evidence: {source: [services/inventory]}\n"
             "model: {provider: anthropic, name: claude\\-sonnet\\-4\\-5, key_env: ANTHROPIC_API_KEY}\n"
             ".RE\n.fi\n.SH \"SEE ALSO\"\n.BR mirage (1)\n");
}

/* ---- the example file ---- */

static void append_indent(struct mrg_buf *buf, unsigned indent)
{
    mrg_buf_appendf(buf, "%*s", (int)indent, "");
}

static void append_comment(struct mrg_buf *buf, unsigned indent, const struct mrg_option *option)
{
    append_indent(buf, indent);
    mrg_buf_appendf(buf, "# %s", option->help);
    if (option->type == MRG_OPTION_ENUM && strchr(option->values, '|'))
        mrg_buf_appendf(buf, " (%s)", option->values);
    if (mrg_option_is_value(option) && option->example && !option->live)
        mrg_buf_appendf(buf, "; default: %s", default_text(option));
    mrg_buf_append_char(buf, '\n');
}

static void append_example_value(struct mrg_buf *buf, unsigned indent, const struct mrg_option *option,
                                 bool first)
{
    append_comment(buf, first ? indent - 2 : indent, option);
    if (first)
        mrg_buf_appendf(buf, "%*s- ", (int)indent - 2, "");
    else
        append_indent(buf, indent);
    bool brackets = option->list && !option->example;
    mrg_buf_appendf(buf, "%s%s: %s%s%s\n", option->live ? "" : "#", mrg_option_key(option),
                    brackets ? "[" : "", option->example ? option->example : option->fallback,
                    brackets ? "]" : "");
}

static void append_example_level(struct mrg_buf *buf, enum mrg_option_scope scope, const char *section,
                                 unsigned indent)
{
    const struct mrg_option *option;
    bool first = scope == MRG_SCOPE_DEPENDENCY && section[0] == '\0';
    for (size_t cursor = 0; (option = mrg_option_next(scope, section, false, &cursor)); first = false) {
        if (mrg_option_is_value(option)) {
            append_example_value(buf, indent, option, first);
            continue;
        }
        if (scope == MRG_SCOPE_ROOT)
            mrg_buf_append_char(buf, '\n');
        append_comment(buf, indent, option);
        append_indent(buf, indent);
        bool routes = option->type == MRG_OPTION_ROUTES;
        bool judges = option->type == MRG_OPTION_JUDGES;
        bool below = routes || judges || (scope == MRG_SCOPE_DEPENDENCY && option->type == MRG_OPTION_MODEL);
        bool live =
            option->type == MRG_OPTION_SECTION ? mrg_option_section_is_live(scope, option->path) : !below;
        mrg_buf_appendf(buf, "%s%s:%s%s\n", live ? "" : "#", mrg_option_key(option), below ? " " : "",
                        routes || judges ? option->example
                        : below          ? "{max_tokens: 4096}"
                                         : "");
        if (option->type == MRG_OPTION_SECTION)
            append_example_level(buf, scope, option->path, indent + 2);
        else if (option->type == MRG_OPTION_DEPENDENCIES)
            append_example_level(buf, MRG_SCOPE_DEPENDENCY, "", indent + 4);
        else if (!below)
            append_example_level(buf, MRG_SCOPE_MODEL, "", indent + 2);
    }
}

void mrg_config_append_example(struct mrg_buf *buf)
{
    mrg_buf_append_str(
        buf, "# An example of mirage.yaml with every key. What is commented out as `#key: value` shows the "
             "default,\n# or an example where the default is none. See mirage.yaml(5).\n");
    append_example_level(buf, MRG_SCOPE_ROOT, "", 0);
}
