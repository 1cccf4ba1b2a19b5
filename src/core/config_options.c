// SPDX-License-Identifier: Apache-2.0
/* Looking things up in the table of options. */
#include <string.h>

#include "core/config_table.h"
#include "util/alloc.h"

const struct mrg_option *mrg_option_find(enum mrg_option_scope scope, const char *path)
{
    for (size_t i = 0; i < mrg_option_count; i++) {
        if (mrg_options[i].scope == scope && strcmp(mrg_options[i].path, path) == 0)
            return &mrg_options[i];
    }
    return NULL;
}

const struct mrg_option *mrg_option_next(enum mrg_option_scope scope, const char *section, bool later,
                                         size_t *cursor)
{
    size_t len = strlen(section);
    while (*cursor < mrg_option_count) {
        const struct mrg_option *option = &mrg_options[(*cursor)++];
        if (option->scope != scope || (option->type == MRG_OPTION_LATER && !later))
            continue;
        const char *rest = option->path;
        if (len > 0) {
            if (strncmp(rest, section, len) != 0 || rest[len] != '.')
                continue;
            rest += len + 1;
        }
        if (!strchr(rest, '.'))
            return option;
    }
    return NULL;
}

bool mrg_option_section_is_live(enum mrg_option_scope scope, const char *section)
{
    size_t len = strlen(section);
    for (size_t i = 0; i < mrg_option_count; i++) {
        const struct mrg_option *option = &mrg_options[i];
        bool below = len == 0 || (strncmp(option->path, section, len) == 0 && option->path[len] == '.');
        if (option->scope == scope && below && option->live)
            return true;
    }
    return false;
}

const char *mrg_option_key(const struct mrg_option *option)
{
    const char *dot = strrchr(option->path, '.');
    return dot ? dot + 1 : option->path;
}

bool mrg_option_is_value(const struct mrg_option *option)
{
    return option->type < MRG_OPTION_SECTION;
}

int mrg_option_word(const char *words, const char *text)
{
    size_t len = strlen(text);
    int index = 0;
    for (const char *at = words; at; index++) {
        size_t word = strcspn(at, "|");
        if (word == len && strncmp(at, text, len) == 0)
            return index;
        at = at[word] ? at + word + 1 : NULL;
    }
    return -1;
}

const char *mrg_option_word_text(const struct mrg_option *option, unsigned value, char ret_word[MRG_WORD])
{
    const char *at = option->values;
    for (; value > 0; value--)
        at = strchr(at, '|') + 1;
    size_t len = strcspn(at, "|");
    MRG_ASSERT(len < MRG_WORD);
    memcpy(ret_word, at, len);
    ret_word[len] = '\0';
    return ret_word;
}

const char *mrg_option_type_name(const struct mrg_option *option)
{
    static const char *const names[][2] = {
        [MRG_OPTION_STRING] = {"text", "list of texts"},
        [MRG_OPTION_NAME] = {"name", "list of names"},
        [MRG_OPTION_ADDRESS] = {"host:port", "list of host:port"},
        [MRG_OPTION_URL] = {"URL", "list of URLs"},
        [MRG_OPTION_ENV] = {"variable name", "list of variable names"},
        [MRG_OPTION_PATH] = {"path", "list of paths"},
        [MRG_OPTION_PREFIX] = {"path prefix", "list of path prefixes"},
        [MRG_OPTION_HOST] = {"host name", "list of host names"},
        [MRG_OPTION_HEADER] = {"header name", "list of header names"},
        [MRG_OPTION_ROUTE] = {"METHOD /template", "list of METHOD /template"},
        [MRG_OPTION_JPATH] = {"request path", "list of request paths"},
        [MRG_OPTION_ENDPOINT] = {"endpoint", "list of endpoints"},
        [MRG_OPTION_RPC] = {"pkg.Service/Method", "list of pkg.Service/Method"},
        [MRG_OPTION_RULE] = {"METHOD /template", "list of METHOD /template"},
        [MRG_OPTION_FIELD] = {"field, * or nothing", "list of fields"},
        [MRG_OPTION_ENUM] = {NULL, "list of words"},
        [MRG_OPTION_INT] = {"whole number", "list of numbers"},
        [MRG_OPTION_NUMBER] = {"number or none", "list of numbers"},
        [MRG_OPTION_DURATION] = {"duration", "list of durations"},
        [MRG_OPTION_SIZE] = {"size", "list of sizes"},
        [MRG_OPTION_BOOL] = {"true|false", "list of true|false"},
        [MRG_OPTION_SECTION] = {"section", "section"},
        [MRG_OPTION_MODEL] = {"section", "section"},
        [MRG_OPTION_DEPENDENCIES] = {"list of sections", "list of sections"},
        [MRG_OPTION_JUDGES] = {"list of sections", "list of sections"},
        [MRG_OPTION_ROUTES] = {"list of sections", "list of sections"},
        [MRG_OPTION_LATER] = {"later version", "later version"},
    };
    if (option->type == MRG_OPTION_ENUM && !option->list)
        return option->values;
    return names[option->type][option->list];
}
