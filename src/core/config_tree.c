// SPDX-License-Identifier: Apache-2.0
#include "core/config_tree.h"

#include <string.h>

struct mrg_node *mrg_node_new(struct mrg_arena *arena, enum mrg_node_kind kind, struct mrg_mark mark)
{
    struct mrg_node *node = mrg_arena_zalloc(arena, sizeof(*node));
    node->kind = kind;
    node->mark = mark;
    return node;
}

void mrg_node_append(struct mrg_node *parent, struct mrg_node *child)
{
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    child->next = NULL;
    parent->count++;
}

struct mrg_node *mrg_node_copy(struct mrg_arena *arena, const struct mrg_node *from, size_t levels,
                               size_t *left)
{
    if (*left == 0 || levels == 0)
        return NULL;
    (*left)--;
    struct mrg_node *node = mrg_node_new(arena, from->kind, from->mark);
    node->text = from->text;
    node->quoted = from->quoted;
    for (const struct mrg_node *child = from->first; child; child = child->next) {
        struct mrg_node *twin = mrg_node_copy(arena, child, levels - 1, left);
        if (!twin)
            return NULL;
        twin->key = child->key;
        twin->key_mark = child->key_mark;
        mrg_node_append(node, twin);
    }
    return node;
}

bool mrg_node_is_null(const struct mrg_node *node)
{
    if (node->kind != MRG_NODE_SCALAR || node->quoted || node->mark.origin)
        return false;
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(nulls); i++) {
        if (strcmp(node->text, nulls[i]) == 0)
            return true;
    }
    return false;
}

const char *mrg_node_kind_name(const struct mrg_node *node)
{
    switch (node->kind) {
    case MRG_NODE_MAP:
        return "a mapping";
    case MRG_NODE_LIST:
        return "a list";
    case MRG_NODE_SCALAR:
        break;
    }
    return mrg_node_is_null(node) ? "nothing" : "a value";
}

static struct mrg_node *get(const struct mrg_node *node, const char *key, size_t len)
{
    if (!node || node->kind != MRG_NODE_MAP)
        return NULL;
    for (struct mrg_node *child = node->first; child; child = child->next) {
        if (strncmp(child->key, key, len) == 0 && child->key[len] == '\0')
            return child;
    }
    return NULL;
}

struct mrg_node *mrg_node_get(const struct mrg_node *node, const char *key)
{
    return get(node, key, strlen(key));
}

struct mrg_node *mrg_node_find(const struct mrg_node *node, const char *path)
{
    for (;;) {
        size_t len = strcspn(path, ".");
        struct mrg_node *child = get(node, path, len);
        if (!child || path[len] == '\0')
            return child;
        node = child;
        path += len + 1;
    }
}

struct mrg_mark mrg_node_mark_at(const struct mrg_node *node, const char *path)
{
    for (;;) {
        size_t len = strcspn(path, ".");
        const struct mrg_node *child = get(node, path, len);
        if (!child)
            return node->mark;
        if (path[len] == '\0')
            return child->mark;
        node = child;
        path += len + 1;
    }
}

bool mrg_node_put(struct mrg_arena *arena, struct mrg_node *node, const char *path, const char *text,
                  struct mrg_mark mark)
{
    for (;;) {
        if (mrg_node_is_null(node))
            node->kind = MRG_NODE_MAP;
        if (node->kind != MRG_NODE_MAP)
            return false;
        size_t len = strcspn(path, ".");
        bool leaf = path[len] == '\0';
        struct mrg_node *child = get(node, path, len);
        if (!child) {
            child = mrg_node_new(arena, leaf ? MRG_NODE_SCALAR : MRG_NODE_MAP, mark);
            child->key = mrg_arena_memdup(arena, path, len);
            child->key_mark = mark;
            mrg_node_append(node, child);
        }
        if (leaf) {
            child->kind = MRG_NODE_SCALAR;
            child->first = child->last = NULL;
            child->count = 0;
            child->text = text;
            child->mark = mark;
            return true;
        }
        node = child;
        path += len + 1;
    }
}
