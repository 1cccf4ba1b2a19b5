// SPDX-License-Identifier: Apache-2.0
#include "core/config_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/config.h"
#include "core/config_text.h"
#include "util/json.h"

#define MAX_ITEMS 1000u /* items of one list */

struct unit {
    const char *name;
    uint64_t times;
};
static const struct unit duration_units[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const struct unit size_units[] = {{"MiB", 1u << 20}, {"KiB", 1u << 10}, {"B", 1}};

static void *at(void *base, size_t offset)
{
    return (char *)base + offset;
}

static bool read_int(const char *text, int64_t *ret_value)
{
    bool minus = text[0] == '-';
    const char *digits = text + minus;
    size_t len = strspn(digits, "0123456789");
    if (len == 0 || len > 15 || digits[len] != '\0')
        return false;
    int64_t value = strtoll(digits, NULL, 10);
    *ret_value = minus ? -value : value;
    return true;
}

static bool read_units(const char *text, const struct unit *units, size_t count, int64_t *ret_value)
{
    size_t len = strspn(text, "0123456789");
    if (len == 0 || len > 9)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text + len, units[i].name) != 0)
            continue;
        *ret_value = strtoll(text, NULL, 10) * (int64_t)units[i].times;
        return true;
    }
    return false;
}

static bool read_double(const char *text, double *ret_value)
{
    /* strtod alone takes hexadecimal, infinity and what the locale says. */
    if (text[0] == '\0' || text[strspn(text, "0123456789.")] != '\0' || strlen(text) > 20)
        return false;
    struct json_object *number = NULL;
    if (mrg_json_parse(mrg_slice_of(text), &number, NULL))
        return false;
    *ret_value = json_object_get_double(number);
    json_object_put(number);
    return isfinite(*ret_value);
}

static const char *unit_text(uint64_t value, const struct unit *units, size_t count,
                             char ret_text[MRG_UNIT_TEXT])
{
    size_t i = 0;
    while (i + 1 < count && (value == 0 || value % units[i].times != 0))
        i++;
    if (value == 0 && count == MRG_ARRAY_LEN(duration_units))
        i = 2;
    snprintf(ret_text, MRG_UNIT_TEXT, "%" PRIu64 "%s", value / units[i].times, units[i].name);
    return ret_text;
}

const char *mrg_duration_text(uint64_t ms, char ret_text[MRG_UNIT_TEXT])
{
    return unit_text(ms, duration_units, MRG_ARRAY_LEN(duration_units), ret_text);
}

const char *mrg_size_text(size_t bytes, char ret_text[MRG_UNIT_TEXT])
{
    return unit_text(bytes, size_units, MRG_ARRAY_LEN(size_units), ret_text);
}

/* What is wrong with a value: in words, and with the value itself unless it may be a secret. */
static void refuse(const struct mrg_option *option, const struct mrg_node *node, const char *path,
                   const char *expected, struct mrg_problems *problems)
{
    char quoted[MRG_QUOTED], made[MRG_EXPECTED];
    if (!expected)
        expected = mrg_option_expected(option, made);
    if (node->kind != MRG_NODE_SCALAR || mrg_node_is_null(node))
        mrg_problems_add(problems, node->mark, "%s: expected %s; got %s", path, expected,
                         mrg_node_kind_name(node));
    else if (option->type == MRG_OPTION_ENV)
        mrg_problems_add(problems, node->mark,
                         "%s: expected %s; got something else, not shown because it may be a key", path,
                         expected);
    else if (option->type == MRG_OPTION_URL)
        mrg_problems_add(problems, node->mark, "%s: expected %s", path, expected);
    else
        mrg_problems_add(problems, node->mark, "%s: expected %s; got %s", path, expected,
                         mrg_quoted(node->text, quoted));
}

static void refuse_range(const struct mrg_option *option, const struct mrg_node *node, const char *path,
                         struct mrg_problems *problems)
{
    char low[MRG_UNIT_TEXT], high[MRG_UNIT_TEXT], text[MRG_EXPECTED];
    if (option->type == MRG_OPTION_DURATION)
        snprintf(text, sizeof(text), "a duration from %s to %s",
                 mrg_duration_text((uint64_t)option->min, low),
                 mrg_duration_text((uint64_t)option->max, high));
    else if (option->type == MRG_OPTION_SIZE)
        snprintf(text, sizeof(text), "a size from %s to %s", mrg_size_text((size_t)option->min, low),
                 mrg_size_text((size_t)option->max, high));
    else
        mrg_option_expected(option, text);
    refuse(option, node, path, text, problems);
}

static bool refuse_later(const struct mrg_option *option, const struct mrg_node *node, const char *path,
                         struct mrg_problems *problems)
{
    if (option->type != MRG_OPTION_ENUM || !option->later || mrg_option_word(option->later, node->text) < 0)
        return false;
    char made[MRG_EXPECTED];
    mrg_problems_add(problems, node->mark, "%s: `%s` belongs to a later version; expected %s", path,
                     node->text, mrg_option_expected(option, made));
    return true;
}

/* One text; NULL when it is refused. */
static char *read_text(const struct mrg_option *option, const struct mrg_node *node, const char *path,
                       const char *folder, struct mrg_problems *problems)
{
    if (node->kind != MRG_NODE_SCALAR || mrg_node_is_null(node)) {
        refuse(option, node, path, NULL, problems);
        return NULL;
    }
    if (refuse_later(option, node, path, problems))
        return NULL;
    struct mrg_error why = {0};
    char *text = mrg_option_read_text(option, folder, node->text, &why);
    if (!text && why.code == MRG_ERR_NOT_FOUND)
        mrg_problems_add(problems, node->mark, "%s: %s", path, why.message);
    else if (!text)
        refuse(option, node, path, why.message[0] ? why.message : NULL, problems);
    return text;
}

void mrg_strings_done(struct mrg_strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        free(strings->items[i]);
    free(strings->items);
    *strings = (struct mrg_strings){0};
}

static void strings_add(struct mrg_strings *strings, size_t *capacity, char *item)
{
    mrg_grow((void **)&strings->items, capacity, strings->count, sizeof(*strings->items));
    strings->items[strings->count++] = item;
}

/* The items of a text from outside the file, apart by commas. */
static void read_commas(const struct mrg_option *option, const struct mrg_node *node, const char *path,
                        const char *folder, struct mrg_strings *strings, struct mrg_problems *problems)
{
    size_t capacity = 0;
    for (const char *text = node->text; *text;) {
        size_t len = strcspn(text, ",");
        const char *from = text + strspn(text, " ");
        const char *to = text + len;
        while (to > from && to[-1] == ' ')
            to--;
        _cleanup_free_ char *part = to > from ? mrg_strndup(from, (size_t)(to - from)) : NULL;
        struct mrg_node one = {.kind = MRG_NODE_SCALAR, .quoted = true, .mark = node->mark, .text = part};
        char *item =
            part && strings->count < MAX_ITEMS ? read_text(option, &one, path, folder, problems) : NULL;
        if (item)
            strings_add(strings, &capacity, item);
        text += len + (text[len] == ',');
    }
}

static void set_list(const struct mrg_option *option, const struct mrg_node *node, void *base,
                     const char *path, const char *folder, struct mrg_problems *problems)
{
    struct mrg_strings strings = {0};
    size_t capacity = 0;
    if (node->kind == MRG_NODE_MAP) {
        char made[MRG_EXPECTED];
        mrg_problems_add(problems, node->mark, "%s: expected a list, each item %s; got a mapping", path,
                         mrg_option_expected(option, made));
        return;
    }
    if (node->kind == MRG_NODE_LIST && node->count > MAX_ITEMS) {
        mrg_problems_add(problems, node->mark, "%s: too long; expected at most %u items", path, MAX_ITEMS);
        return;
    }
    if (node->kind == MRG_NODE_SCALAR && node->mark.origin) {
        read_commas(option, node, path, folder, &strings, problems);
    } else if (node->kind == MRG_NODE_SCALAR && !mrg_node_is_null(node)) {
        char *item = read_text(option, node, path, folder, problems);
        if (item)
            strings_add(&strings, &capacity, item);
    }
    for (const struct mrg_node *child = node->first; child; child = child->next) {
        char *item = read_text(option, child, path, folder, problems);
        if (item)
            strings_add(&strings, &capacity, item);
    }
    struct mrg_strings *slot = at(base, option->offset);
    mrg_strings_done(slot);
    *slot = strings;
}

static void set_text(const struct mrg_option *option, const struct mrg_node *node, void *base,
                     const char *path, const char *folder, struct mrg_problems *problems)
{
    char *text = read_text(option, node, path, folder, problems);
    if (!text)
        return;
    char **slot = at(base, option->offset);
    free(*slot);
    *slot = text;
}

static void set_enum(const struct mrg_option *option, const struct mrg_node *node, void *base,
                     const char *path, struct mrg_problems *problems)
{
    if (refuse_later(option, node, path, problems))
        return;
    int word = mrg_option_word(option->values, node->text);
    if (word < 0)
        refuse(option, node, path, NULL, problems);
    else if (option->offset != MRG_OPTION_NOWHERE)
        *(unsigned *)at(base, option->offset) = (unsigned)word;
}

static void set_bool(const struct mrg_option *option, const struct mrg_node *node, void *base,
                     const char *path, struct mrg_problems *problems)
{
    bool yes = strcasecmp(node->text, "true") == 0;
    if (!yes && strcasecmp(node->text, "false") != 0)
        refuse(option, node, path, NULL, problems);
    else
        *(bool *)at(base, option->offset) = yes;
}

static void set_double(const struct mrg_option *option, const struct mrg_node *node, void *base,
                       const char *path, struct mrg_problems *problems)
{
    double value = 0;
    bool none = strcmp(node->text, "none") == 0;
    if (!none && !read_double(node->text, &value)) {
        refuse(option, node, path, NULL, problems);
        return;
    }
    if (value < (double)option->min || value > (double)option->max) {
        refuse_range(option, node, path, problems);
        return;
    }
    *(double *)at(base, option->offset) = value;
    *(bool *)at(base, option->flag) = !none;
}

static void set_integer(const struct mrg_option *option, const struct mrg_node *node, void *base,
                        const char *path, struct mrg_problems *problems)
{
    int64_t value = 0;
    bool ok;
    if (option->type == MRG_OPTION_DURATION)
        ok = read_units(node->text, duration_units, MRG_ARRAY_LEN(duration_units), &value);
    else if (option->type == MRG_OPTION_SIZE)
        ok = read_units(node->text, size_units, MRG_ARRAY_LEN(size_units), &value);
    else
        ok = read_int(node->text, &value);
    if (!ok) {
        refuse(option, node, path, NULL, problems);
        return;
    }
    if (value < option->min || value > option->max) {
        refuse_range(option, node, path, problems);
        return;
    }
    if (option->type == MRG_OPTION_DURATION)
        *(uint64_t *)at(base, option->offset) = (uint64_t)value;
    else if (option->type == MRG_OPTION_SIZE)
        *(size_t *)at(base, option->offset) = (size_t)value;
    else
        *(unsigned *)at(base, option->offset) = (unsigned)value;
    if (option->has_flag)
        *(bool *)at(base, option->flag) = option->flag_value;
}

void mrg_option_set(const struct mrg_option *option, const struct mrg_node *node, void *base,
                    const char *path, const char *folder, struct mrg_problems *problems)
{
    if (option->list) {
        set_list(option, node, base, path, folder, problems);
        return;
    }
    if (node->kind != MRG_NODE_SCALAR || mrg_node_is_null(node)) {
        refuse(option, node, path, NULL, problems);
        return;
    }
    switch (option->type) {
    case MRG_OPTION_ENUM:
        set_enum(option, node, base, path, problems);
        break;
    case MRG_OPTION_BOOL:
        set_bool(option, node, base, path, problems);
        break;
    case MRG_OPTION_NUMBER:
        set_double(option, node, base, path, problems);
        break;
    case MRG_OPTION_INT:
    case MRG_OPTION_DURATION:
    case MRG_OPTION_SIZE:
        set_integer(option, node, base, path, problems);
        break;
    default:
        MRG_ASSERT(option->type < MRG_OPTION_ENUM);
        set_text(option, node, base, path, folder, problems);
    }
}
