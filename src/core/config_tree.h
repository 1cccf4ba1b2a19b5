// SPDX-License-Identifier: Apache-2.0
/*
 * Config tree: a YAML document as plain nodes that know where they stand.
 *
 * Not a json-c tree, because a key needs a place too, and because whether 5 was quoted must stay known. Nodes
 * and texts lie in the arena of the load and die with it. Every alias has nodes of its own, so that an
 * override changes one place only. Main thread.
 */
#pragma once

#include "core/config_problems.h"
#include "util/arena.h"

enum mrg_node_kind { MRG_NODE_SCALAR, MRG_NODE_MAP, MRG_NODE_LIST };

struct mrg_node {
    enum mrg_node_kind kind;
    bool quoted;          /* SCALAR: in quotes, or a block: never null */
    struct mrg_mark mark; /* of the value */
    const char *text;     /* SCALAR */
    const char *key;      /* in a map: its key; NULL in a list and at the top */
    struct mrg_mark key_mark;
    struct mrg_node *first; /* MAP, LIST: children in order */
    struct mrg_node *last;
    struct mrg_node *next; /* sibling */
    size_t count;          /* children */
};

struct mrg_node *mrg_node_new(struct mrg_arena *arena, enum mrg_node_kind kind, struct mrg_mark mark);
void mrg_node_append(struct mrg_node *parent, struct mrg_node *child);

/*
 * A deep copy without key and siblings. Takes one from *left for each node; NULL when *left or `levels` (the
 * node itself is one) do not suffice.
 */
struct mrg_node *mrg_node_copy(struct mrg_arena *arena, const struct mrg_node *from, size_t levels,
                               size_t *left);

/* Whether nothing was given: `key:`, `key: null`, `key: ~`. */
bool mrg_node_is_null(const struct mrg_node *node);
/* "a mapping", "a list", "nothing"; for a scalar "a value". */
const char *mrg_node_kind_name(const struct mrg_node *node);

/* Child by key; NULL when there is none or node is no map (or NULL). */
struct mrg_node *mrg_node_get(const struct mrg_node *node, const char *key);
/* The node at a path such as cassette.mode; NULL. */
struct mrg_node *mrg_node_find(const struct mrg_node *node, const char *path);
/* The mark of the node at that path, or of the nearest one above it. */
struct mrg_mark mrg_node_mark_at(const struct mrg_node *node, const char *path);

/*
 * Puts a scalar at a path, making maps on the way. False when something on the way is no map. `text` must
 * live as long as the arena.
 */
bool mrg_node_put(struct mrg_arena *arena, struct mrg_node *node, const char *path, const char *text,
                  struct mrg_mark mark);
