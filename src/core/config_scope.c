// SPDX-License-Identifier: Apache-2.0
#include "core/config_scope.h"

#include <string.h>

#include "core/config_value.h"
#include "util/json.h"

static const size_t sizes[] = {
    [MRG_OPTION_ENUM] = sizeof(unsigned), [MRG_OPTION_INT] = sizeof(int),
    [MRG_OPTION_NUMBER] = sizeof(double), [MRG_OPTION_DURATION] = sizeof(uint64_t),
    [MRG_OPTION_SIZE] = sizeof(size_t),   [MRG_OPTION_BOOL] = sizeof(bool),
};

static void *at(void *base, size_t offset)
{
    return (char *)base + offset;
}

static const void *at_const(const void *base, size_t offset)
{
    return (const char *)base + offset;
}

/* The next row that has a value in the scope's struct; *index starts at 0. */
static const struct mrg_option *next_value(enum mrg_option_scope scope, size_t *index)
{
    while (*index < mrg_option_count) {
        const struct mrg_option *option = &mrg_options[(*index)++];
        if (option->scope == scope && mrg_option_is_value(option) && option->offset != MRG_OPTION_NOWHERE)
            return option;
    }
    return NULL;
}

void mrg_scope_defaults(enum mrg_option_scope scope, void *base, const char *folder)
{
    const struct mrg_option *option;
    for (size_t index = 0; (option = next_value(scope, &index));) {
        if (!option->fallback)
            continue;
        struct mrg_problems problems;
        mrg_problems_init(&problems, "default");
        struct mrg_node node = {
            .kind = MRG_NODE_SCALAR, .mark = {.origin = "default"}, .text = option->fallback};
        mrg_option_set(option, &node, base, option->path, folder, &problems);
        /* A path's default may meet something wrong on disk; that is found again when the path is used. */
        MRG_ASSERT(problems.total == 0 || option->type == MRG_OPTION_PATH);
        mrg_problems_done(&problems);
    }
}

void mrg_scope_copy(enum mrg_option_scope scope, void *to, const void *from)
{
    const struct mrg_option *option;
    for (size_t index = 0; (option = next_value(scope, &index));) {
        MRG_ASSERT(!option->list);
        if (option->type < MRG_OPTION_ENUM) {
            char *const *text = at_const(from, option->offset);
            *(char **)at(to, option->offset) = *text ? mrg_strdup(*text) : NULL;
        } else {
            memcpy(at(to, option->offset), at_const(from, option->offset), sizes[option->type]);
        }
        if (option->has_flag)
            *(bool *)at(to, option->flag) = *(const bool *)at_const(from, option->flag);
    }
}

void mrg_scope_done(enum mrg_option_scope scope, void *base)
{
    const struct mrg_option *option;
    for (size_t index = 0; (option = next_value(scope, &index));) {
        if (option->list)
            mrg_strings_done(at(base, option->offset));
        else if (option->type < MRG_OPTION_ENUM)
            mrg_freep(at(base, option->offset));
    }
}

static struct json_object *json_text(const char *text, size_t len)
{
    return json_object_new_string_len(text, (int)len);
}

static struct json_object *json_list(const struct mrg_strings *strings)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < strings->count; i++)
        json_object_array_add(array, json_text(strings->items[i], strlen(strings->items[i])));
    return array;
}

static struct json_object *json_number(const struct mrg_option *option, const void *base)
{
    if (!*(const bool *)at_const(base, option->flag))
        return json_text("none", 4);
    double value = *(const double *)at_const(base, option->offset);
    struct mrg_buf text;
    mrg_buf_init(&text, 64);
    mrg_json_append_double(&text, value);
    struct json_object *number = json_object_new_double_s(value, text.data);
    mrg_buf_done(&text);
    return number;
}

/* NULL: it is not set. */
static struct json_object *json_value(const struct mrg_option *option, const void *base)
{
    const void *slot = at_const(base, option->offset);
    char text[MRG_UNIT_TEXT], word[MRG_WORD];
    if (option->list)
        return json_list(slot);
    switch (option->type) {
    case MRG_OPTION_ENUM:
        mrg_option_word_text(option, *(const unsigned *)slot, word);
        return json_text(word, strlen(word));
    case MRG_OPTION_INT:
        if (option->has_flag && *(const bool *)at_const(base, option->flag) != option->flag_value)
            return NULL;
        return json_object_new_int64(*(const int *)slot);
    case MRG_OPTION_NUMBER:
        return json_number(option, base);
    case MRG_OPTION_DURATION:
        mrg_duration_text(*(const uint64_t *)slot, text);
        return json_text(text, strlen(text));
    case MRG_OPTION_SIZE:
        mrg_size_text(*(const size_t *)slot, text);
        return json_text(text, strlen(text));
    case MRG_OPTION_BOOL:
        return json_object_new_boolean(*(const bool *)slot);
    default:
        return *(char *const *)slot ? json_text(*(char *const *)slot, strlen(*(char *const *)slot)) : NULL;
    }
}

void mrg_scope_add_json(enum mrg_option_scope scope, const void *base, struct json_object *object)
{
    const struct mrg_option *option;
    for (size_t index = 0; (option = next_value(scope, &index));) {
        struct json_object *value = json_value(option, base);
        if (!value)
            continue;
        struct json_object *parent = object;
        const char *path = option->path;
        for (size_t len; path[len = strcspn(path, ".")] == '.'; path += len + 1) {
            _cleanup_free_ char *key = mrg_strndup(path, len);
            struct json_object *child = NULL;
            if (!json_object_object_get_ex(parent, key, &child)) {
                child = json_object_new_object();
                json_object_object_add(parent, key, child);
            }
            parent = child;
        }
        json_object_object_add(parent, path, value);
    }
}
