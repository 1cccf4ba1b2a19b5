// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "fidelity/scenario_int.h"
#include "util/json.h"

static void unknown(struct mrg_scenario_reader *reader, const struct mrg_node *child, const char *what,
                    const char *const *names)
{
    char quoted[MRG_QUOTED];
    struct mrg_nearest nearest = {.name = NULL};
    struct mrg_buf all;
    mrg_buf_init(&all, SIZE_MAX);
    for (size_t i = 0; names[i]; i++) {
        mrg_nearest_try(&nearest, child->key, names[i]);
        mrg_buf_appendf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    mrg_problems_add(reader->problems, child->key_mark, "unknown key %s in %s; expected one of %s%s%s%s",
                     mrg_quoted(child->key, quoted), what, all.data, nearest.name ? "; did you mean " : "",
                     nearest.name ? nearest.name : "", nearest.name ? "?" : "");
    mrg_buf_done(&all);
}

bool mrg_scenario_keys(struct mrg_scenario_reader *reader, const struct mrg_node *node, const char *what,
                       const char *const *names)
{
    if (!node || node->kind != MRG_NODE_MAP) {
        struct mrg_mark top = {.line = 1, .column = 1};
        mrg_problems_add(reader->problems, node ? node->mark : top, "expected %s as a mapping; got %s", what,
                         node ? mrg_node_kind_name(node) : "nothing");
        return false;
    }
    bool all = true;
    for (const struct mrg_node *child = node->first; child; child = child->next) {
        bool known = false;
        for (size_t i = 0; names[i] && !known; i++)
            known = strcmp(names[i], child->key) == 0;
        if (!known)
            unknown(reader, child, what, names);
        all &= known;
    }
    return all;
}

const char *mrg_scenario_text(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                              const char *key, bool needed)
{
    const struct mrg_node *child = mrg_node_get(node, key);
    if (!child && !needed)
        return NULL;
    if (!child)
        mrg_problems_add(reader->problems, node->mark, "%s is missing", key);
    else if (child->kind != MRG_NODE_SCALAR || mrg_node_is_null(child))
        mrg_problems_add(reader->problems, child->mark, "%s: expected a text; got %s", key,
                         mrg_node_kind_name(child));
    else
        return child->text;
    return NULL;
}

void mrg_scenario_texts(struct mrg_scenario_reader *reader, const struct mrg_node *node, const char *key,
                        const char *const **ret_texts, size_t *ret_count)
{
    const struct mrg_node *list = mrg_node_get(node, key);
    if (!list)
        return;
    if (list->kind != MRG_NODE_LIST) {
        mrg_problems_add(reader->problems, list->mark, "%s: expected a list of paths; got %s", key,
                         mrg_node_kind_name(list));
        return;
    }
    const char **texts = mrg_arena_zalloc(reader->arena, (list->count + 1) * sizeof(*texts));
    size_t count = 0;
    for (const struct mrg_node *child = list->first; child; child = child->next) {
        if (child->kind == MRG_NODE_SCALAR && !mrg_node_is_null(child))
            texts[count++] = child->text;
        else
            mrg_problems_add(reader->problems, child->mark, "%s: expected a path; got %s", key,
                             mrg_node_kind_name(child));
    }
    *ret_texts = texts;
    *ret_count = count;
}

static bool is_number(const char *text)
{
    const char *first = *text == '-' ? text + 1 : text;
    struct mrg_slice slice = mrg_slice_of(text);
    return *first >= '0' && *first <= '9' && mrg_json_check(slice, NULL) == MRG_ERR_OK;
}

static void append_scalar(struct mrg_buf *buf, const struct mrg_node *node)
{
    bool plain = !node->quoted;
    if (mrg_node_is_null(node))
        mrg_buf_append_str(buf, "null");
    else if (plain &&
             (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0 || is_number(node->text)))
        mrg_buf_append_str(buf, node->text);
    else
        mrg_json_append_string(buf, mrg_slice_of(node->text));
}

void mrg_scenario_append_json(struct mrg_buf *buf, const struct mrg_node *node)
{
    if (node->kind == MRG_NODE_SCALAR) {
        append_scalar(buf, node);
        return;
    }
    bool map = node->kind == MRG_NODE_MAP;
    mrg_buf_append_char(buf, map ? '{' : '[');
    for (const struct mrg_node *child = node->first; child; child = child->next) {
        if (child != node->first)
            mrg_buf_append_str(buf, ", ");
        if (map) {
            mrg_json_append_string(buf, mrg_slice_of(child->key));
            mrg_buf_append_str(buf, ": ");
        }
        mrg_scenario_append_json(buf, child);
    }
    mrg_buf_append_char(buf, map ? '}' : ']');
}
