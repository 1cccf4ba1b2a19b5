// SPDX-License-Identifier: Apache-2.0
/*
 * Match: what of a request counts, for one dependency: which headers the model is shown, what is ignored when
 * requests are compared, what is redacted, and which requests change state.
 *
 * Made from the configuration, immutable after that. Thread: any. All that a model is shown of a request
 * counts in the comparison unless `cassette.ignore` names it, and nothing else does: two requests that are
 * shown alike are equal.
 */
#pragma once

#include <stdbool.h>

#include "core/request.h"
#include "util/hash.h"

struct mrg_dependency_config;
struct mrg_match;
struct mrg_shape;

/* Fails on a path that cannot be parsed, with the path in the message. `config` must outlive the match. */
enum mrg_err mrg_match_new(const struct mrg_dependency_config *config, struct mrg_match **ret_match,
                           struct mrg_error *err);
void mrg_match_free(struct mrg_match *match);
/* Keys are made of the shape's canonical form from now on. Before the match is shared; shape outlives it. */
void mrg_match_use_shape(struct mrg_match *match, const struct mrg_shape *shape);

/*
 * The same for two matches that give every request the same key: made from the same name, cassette.ignore,
 * headers.hide and preset, with shapes of the same identity.
 */
struct mrg_hash128 mrg_match_identity(const struct mrg_match *match);

/*
 * Whether the model is shown this header: not transport noise (core/request.h), not in headers.hide; with
 * `preset: paper` only authorization and idempotency-key (paper, section III-B). A mrg_header_filter_fn with
 * ctx = match. Headers that the normal form implies are left out by the normal form
 * itself.
 */
bool mrg_match_shows(const void *match, const struct mrg_header *header);

/*
 * The same request (pointer) when nothing is to be redacted, else a redacted copy in the arena. Redacted
 * values become "[redacted 1f2e3d4c]", the same for the same value, dependency and key (redact_key_env), in
 * every run. Body paths apply to JSON bodies, to forms (application/x-www-form-urlencoded, as one object of
 * strings) and to multipart bodies, whose parts are replaced in which a path's last name occurs; so are
 * strings of a JSON body that hold such a document. Any other body is redacted whole when that name occurs in
 * it, or when that cannot be decided: broken JSON, text, bytes that are no UTF-8. `body` alone stands for any
 * body. `redact: [path]` replaces the whole path.
 */
const struct mrg_request *mrg_match_redact(const struct mrg_match *match, struct mrg_arena *arena,
                                           const struct mrg_request *request);

/*
 * The request as engines, history and logs see it: redacted, and of its headers only those that the model is
 * shown. In the arena.
 */
const struct mrg_request *mrg_match_shown(const struct mrg_match *match, struct mrg_arena *arena,
                                          const struct mrg_request *request);

/*
 * GET, HEAD and OPTIONS do not, all others do; `reads` and `writes` correct it; a route in both is a write.
 */
bool mrg_match_changes_state(const struct mrg_match *match, const struct mrg_request *request);

/*
 * The request as the comparison sees it: method, path, query (order of different keys does not count, that of
 * one key's values does), shown headers (likewise) and body by value (util/json.h), without what is ignored.
 * Equal requests have equal keys, on every machine. A multipart body is compared without its boundary, which
 * clients choose at random. `request` is the redacted one, or one read back by mrg_request_parse. A small
 * request costs about a microsecond.
 */
struct mrg_hash128 mrg_match_key(const struct mrg_match *match, const struct mrg_request *request);

/*
 * One request held against many recorded ones, for the sentence about a miss. Slow: what is done once for
 * `here` (its shown form, its pairs, its tree) is kept in the differ. `here` and the match outlive it; one
 * thread at a time.
 */
struct mrg_match_differ;
struct mrg_match_differ *mrg_match_differ_new(const struct mrg_match *match, const struct mrg_request *here);
void mrg_match_differ_free(struct mrg_match_differ *differ);
/* Bytes of the normal form of `here`. */
size_t mrg_match_differ_size(const struct mrg_match_differ *differ);
/* What of a distance the targets make: a moment's work, and never more than the whole. */
unsigned mrg_match_differ_target(const struct mrg_match_differ *differ, struct mrg_slice method,
                                 struct mrg_slice path);
/*
 * The first difference between `here` and a recorded request (as mrg_request_parse gives it) in the
 * comparison's eyes, for people: `body.$.quantity: 2 here, 3 recorded`; into buf. Returns how much differs: a
 * distance that orders candidates (0: equal; other method or path weigh most). Bodies of more than
 * MRG_MISS_BYTES together are held against each other byte by byte, not member by member.
 */
unsigned mrg_match_differ_compare(struct mrg_match_differ *differ, const struct mrg_request *recorded,
                                  struct mrg_buf *buf);
