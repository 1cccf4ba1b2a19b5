// SPDX-License-Identifier: Apache-2.0
/*
 * Config yaml: text to a tree of nodes with places (core/config_tree.h). Knows nothing of options.
 *
 * One YAML 1.2 document in UTF-8 (a BOM and CRLF are fine). Anchors, aliases and merge keys (<<) work; tags
 * other than YAML's own, keys that are no plain scalars, duplicate keys and further documents are refused.
 * Depth, nodes (those that aliases make included) and anchors are bounded. Main thread.
 */
#pragma once

#include "core/config_tree.h"

#define MRG_YAML_DEPTH   32      /* mappings and lists within each other; options need 5 */
#define MRG_YAML_NODES   100000u /* nodes of a document, aliases expanded; 500 dependencies need 30,000 */
#define MRG_YAML_KEYS    200u    /* keys of one mapping */
#define MRG_YAML_ANCHORS 1000u   /* anchors of a document */

/*
 * The document's top node, in the arena; NULL when it cannot be read or is empty. Problems may have been
 * added either way. `text` need not live on.
 */
struct mrg_node *mrg_yaml_parse(struct mrg_arena *arena, struct mrg_slice text,
                                struct mrg_problems *problems);
