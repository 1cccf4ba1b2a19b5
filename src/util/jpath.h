// SPDX-License-Identifier: Apache-2.0
/*
 * Jpath: the paths of `cassette.ignore` and `redact`: header.x-request-id, query.ts, path, body.$..password,
 * body.$.items[*].id, body.$.a['odd key'], body.$.list[0].
 *
 * The body part is the child, descendant (..), index and wildcard subset of JSONPath (RFC 9535); filters and
 * slices are refused with a sentence, and so are names that RFC 9535 wants in quotes. `body` alone is the
 * whole body, as body.$ is. A path is immutable after parsing. Thread: any; the tree is its owner's.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "util/buf.h"
#include "util/error.h"

enum mrg_jpath_part { MRG_JPATH_HEADER, MRG_JPATH_QUERY, MRG_JPATH_BODY, MRG_JPATH_PATH };

struct mrg_jpath;

/* INVALID with a message such as: "body.$.a[": column 9: expected a name in quotes, an index or *. */
enum mrg_err mrg_jpath_parse(const char *text, struct mrg_jpath **ret_path, struct mrg_error *err);
void mrg_jpath_free(struct mrg_jpath *path);

enum mrg_jpath_part mrg_jpath_part(const struct mrg_jpath *path);
/* Header name in lower case (may hold * as a wildcard) or query key; NULL for body and path. Borrowed. */
const char *mrg_jpath_name(const struct mrg_jpath *path);

/* Whether a header path names this header, in any case; false for other parts. */
bool mrg_jpath_match_header(const struct mrg_jpath *path, struct mrg_slice name);

/*
 * What to do with a node, which is borrowed and may be NULL (null): returns what stands in its place, a
 * reference of its own (json_object_get(node) to keep it), NULL for null; or NULL with *ret_remove set to
 * drop it.
 */
typedef struct json_object *(*mrg_jpath_fn)(void *ctx, struct json_object *node, bool *ret_remove);

/*
 * Calls fn once for every node that the body path names, inner ones before those around them, members and
 * items in order, and puts its result in that place; returns how many there were. A tree that is dropped
 * whole becomes NULL. 0 for other parts.
 */
size_t mrg_jpath_apply(const struct mrg_jpath *path, struct json_object **tree, mrg_jpath_fn fn, void *ctx);
