// SPDX-License-Identifier: Apache-2.0
/*
 * Jsontext: what the readers of normal forms share: members of a checked JSON text, taken apart with
 * sentences for what is wrong.
 *
 * The sentences name the member and what was expected; people and models act on them. Texts have passed
 * mrg_json_check. Thread: any; no state.
 */
#pragma once

#include "core/request.h"

/*
 * `what` is "x"; expected `expected`: sets err to INVALID. `raw` is quoted as it stands, cut when long;
 * {NULL, 0}: is missing.
 */
enum mrg_err mrg_jsontext_expected(struct mrg_error *err, const char *what, struct mrg_slice raw,
                                   const char *expected);

/* The content of a JSON string, in the arena, a NUL behind. */
struct mrg_slice mrg_jsontext_string(struct mrg_arena *arena, struct mrg_slice raw);

/* The same for a value that may be no string: INVALID then, naming `what`. */
enum mrg_err mrg_jsontext_read_string(struct mrg_arena *arena, const char *what, struct mrg_slice raw,
                                      struct mrg_slice *ret_text, struct mrg_error *err);

/* A copy in ASCII lower case, a NUL behind. */
struct mrg_slice mrg_jsontext_lower(struct mrg_arena *arena, struct mrg_slice text);

/* Copies a value without white space between tokens, a NUL behind. */
struct mrg_slice mrg_jsontext_minified(struct mrg_arena *arena, struct mrg_slice raw);

/*
 * Calls fn for each name and value of an object whose values are scalars or arrays of scalars: the content
 * of a string, the text itself of a number, true or false. `what` names the object in messages. Stops at the
 * first error.
 */
typedef enum mrg_err (*mrg_jsontext_pair_fn)(void *ctx, struct mrg_slice name, struct mrg_slice value,
                                             struct mrg_error *err);
enum mrg_err mrg_jsontext_pairs(struct mrg_arena *arena, const char *what, struct mrg_slice object,
                                mrg_jsontext_pair_fn fn, void *ctx, struct mrg_error *err);
