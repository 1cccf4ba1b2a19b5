// SPDX-License-Identifier: Apache-2.0
/*
 * JSON: strict reading (RFC 8259), exact text, and hashes by value.
 *
 * json-c alone lets pass what is not JSON (single quotes, NaN, trailing text, invalid UTF-8) and loses
 * integers beyond 64 bits, so every text is first walked by the scanner here, which builds nothing. Where
 * only the value counts or the exact spelling must stay, work on the text; a json-c tree is made by
 * mrg_json_parse for code that needs one, and never crosses threads. Thread: any; no state.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/error.h"
#include "util/hash.h"

#define MRG_JSON_DEPTH 100 /* arrays and objects within each other: more could fill a stack */

/*
 * Whether text is exactly one JSON value (white space around it allowed), UTF-8, with each key once in its
 * object (compared after unescaping, at any size). On failure err->message names line, column (in characters)
 * and what was expected: "line 1, column 9: expected a value". INVALID, or TOO_LARGE when it is nested too
 * deep. Needs no heap for ordinary texts.
 */
enum mrg_err mrg_json_check(struct mrg_slice text, struct mrg_error *err);

/* Appends text, which must have passed mrg_json_check, without white space between tokens. Spelling stays. */
void mrg_json_minify(struct mrg_buf *buf, struct mrg_slice text);

/*
 * The raw text of a member of the object that text is (checked before): *ret_value points into text. False
 * when text is no object or has no such member. The key is compared after unescaping.
 */
bool mrg_json_member(struct mrg_slice text, const char *key, struct mrg_slice *ret_value);

/*
 * Members of a checked object text, in order. Start with *cursor = 0; false at the end, and for what is no
 * object. *ret_key is raw, without quotes.
 */
bool mrg_json_next(struct mrg_slice object, size_t *cursor, struct mrg_slice *ret_key,
                   struct mrg_slice *ret_value);
/* The same for the items of an array. */
bool mrg_json_next_item(struct mrg_slice array, size_t *cursor, struct mrg_slice *ret_value);

/*
 * The content of a checked JSON string text (quotes included), unescaped, appended to buf. May contain NULs.
 */
void mrg_json_unescape(struct mrg_buf *buf, struct mrg_slice string);

/* Appends text as a JSON string with its quotes; invalid UTF-8 becomes U+FFFD. `/` stays. */
void mrg_json_append_string(struct mrg_buf *buf, struct mrg_slice text);

/*
 * A hash of the value of a checked text: members in any order, escapes and white space do not count; numbers
 * by value within their kind: 1.0 equals 1.00 and 1e0, but not the integer 1, because services tell them
 * apart; zeros have no sign. Exact for numbers of any length; only exponents of more than 18 digits count as
 * they are spelled. The same on every machine.
 */
struct mrg_hash128 mrg_json_hash(struct mrg_slice text);

/*
 * Checks and parses. *ret_tree is the caller's (json_object_put); NULL stands for null. Doubles keep their
 * spelling. Integers beyond int64 and uint64 become doubles that keep it too. INVALID and TOO_LARGE as
 * mrg_json_check says; UNSUPPORTED for a key that holds \u0000, which json-c would cut.
 */
enum mrg_err mrg_json_parse(struct mrg_slice text, struct json_object **ret_tree, struct mrg_error *err);

/*
 * Appends a tree as compact JSON (no escaped slashes); doubles that were parsed as they were spelled, new
 * ones at their shortest.
 */
void mrg_json_append_tree(struct mrg_buf *buf, struct json_object *tree);
/*
 * The shortest decimal spelling that reads back as value, always told apart from an integer: 1.0, not 1.
 * "null" for a value that JSON cannot say.
 */
void mrg_json_append_double(struct mrg_buf *buf, double value);
