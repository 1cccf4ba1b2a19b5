// SPDX-License-Identifier: Apache-2.0
/*
 * Uri: request targets (RFC 3986) and route templates.
 *
 * The raw path is what counts everywhere (`%2F` is not `/`); decoding happens only where a value is read.
 * Thread: any; no state.
 */
#pragma once

#include <stdbool.h>

#include "util/arena.h"
#include "util/buf.h"

/*
 * Percent-decodes into the arena, a NUL behind; `plus` turns + into a space (query and form). Wrong escapes
 * stay as they are.
 */
struct mrg_slice mrg_uri_decode(struct mrg_arena *arena, struct mrg_slice text, bool plus);

/*
 * Splits a raw target at the first '?'. A fragment is cut off; an absolute target loses scheme and authority,
 * and has the path "/" when that leaves nothing. Both point into target or at a constant.
 */
void mrg_uri_split(struct mrg_slice target, struct mrg_slice *ret_path, struct mrg_slice *ret_query);

/*
 * The next key=value of a raw query; *cursor starts at 0; false at the end. Empty pieces are passed over; no
 * '=': an empty value.
 */
bool mrg_uri_next_pair(struct mrg_slice query, size_t *cursor, struct mrg_slice *ret_key,
                       struct mrg_slice *ret_value);

/*
 * Whether `path` fits a template such as /shipments/{id}: {name} is one non-empty segment, or the part of one
 * that literals around it leave, as in /items/{id}:confirm; a trailing slash counts; so does every byte,
 * since the raw path is compared. A last segment * or {name=**} is any rest, also an empty one: /files/ and
 * /files/a/b fit /files/ and a star, /files does not.
 */
bool mrg_uri_match(const char *template_text, struct mrg_slice path);

/*
 * "METHOD /template" (or just "/template": any method; ASCII case aside) against a method and a path:
 * `reads`, `writes`, stubs.
 */
bool mrg_uri_match_route(const char *route, struct mrg_slice method, struct mrg_slice path);
