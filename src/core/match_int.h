// SPDX-License-Identifier: Apache-2.0
/*
 * Match, private: what match.c and the match_*.c beside it share. Nobody else includes this.
 */
#pragma once

#include "core/config.h"
#include "core/match.h"
#include "core/query.h"
#include "core/shape.h"
#include "util/jpath.h"
#include "util/json.h"

/* One path of `cassette.ignore` or `redact`. */
struct mrg_rule {
    struct mrg_jpath *path;
    enum mrg_jpath_part part;
    char *needle; /* a member name that a body must hold for the path to name anything; NULL: not known */
};

struct mrg_rules {
    struct mrg_rule *items;
    size_t count;
    bool parts[4];   /* by enum mrg_jpath_part: whether any rule is of that part */
    bool whole_body; /* a rule names the body whole, of any kind */
};

#define MRG_MATCH_KEY 32u /* bytes of a digest of HMAC-SHA-256 */

struct mrg_match {
    const struct mrg_dependency_config *config; /* outlives the match */
    const struct mrg_shape *shape;              /* outlives it too; NULL: nothing is known */
    struct mrg_rules ignore;
    struct mrg_rules redact;
    bool has_redact_key;                     /* placeholders are made with a key */
    unsigned char redact_key[MRG_MATCH_KEY]; /* made of redact_key_env's and the dependency's name */
};

/* One request being redacted. */
struct mrg_redaction {
    const struct mrg_match *match;
    struct mrg_arena *arena; /* the request's */
};

/* The placeholder of a value, in the arena. */
struct mrg_slice mrg_redaction_mark(const struct mrg_redaction *redaction, struct mrg_slice value);
/* match_redact_body.c: the body, in place. */
void mrg_redact_body(struct mrg_redaction *redaction, struct mrg_request *request);
/* Reads the key of redact_key_env, where it is named and set. Main thread. */
void mrg_match_read_redact_key(struct mrg_match *match);

/* Whether a rule names this header, or this (shown) query key. */
bool mrg_rules_header(const struct mrg_rules *rules, struct mrg_slice name);
bool mrg_rules_query(const struct mrg_rules *rules, struct mrg_slice key);

/* Whether a body rule may name anything in this JSON text: false is certain. */
bool mrg_rules_may_apply(const struct mrg_rules *rules, struct mrg_slice json);
/*
 * Whether a text of any form may hold a member or field that a body rule names: false is certain for what is
 * written in plain letters, percent-escapes included. Bytes that are not UTF-8 are not certain.
 */
bool mrg_rules_may_name(const struct mrg_rules *rules, struct mrg_slice text);

/*
 * The headers that count in the comparison (shown, not implied, not ignored), numbered, into pairs, which has
 * room for all of the request's; returns how many.
 */
size_t mrg_match_headers(const struct mrg_match *match, const struct mrg_request *request,
                         struct mrg_query_pair *pairs);

/* Drops what the ignore rules name from a tree. */
void mrg_match_drop_ignored(const struct mrg_match *match, struct json_object **tree);

/* The boundary of a multipart request; false when it is none. */
bool mrg_multipart_boundary(const struct mrg_request *request, struct mrg_slice *ret_boundary);
/* Appends text with each occurrence of boundary replaced by a fixed word. */
void mrg_multipart_append(struct mrg_buf *buf, struct mrg_slice text, struct mrg_slice boundary);
/*
 * The next piece between two delimiters and the delimiter behind it, line ends included; the last one has
 * none (len 0). *cursor starts at 0; false at the end. Pieces and delimiters together are the text.
 */
bool mrg_multipart_next(struct mrg_slice text, struct mrg_slice boundary, size_t *cursor,
                        struct mrg_slice *ret_piece, struct mrg_slice *ret_delimiter);
bool mrg_multipart_is_last(struct mrg_slice delimiter); /* the one that ends with -- */
/* A part's head, its blank line included, and its content; false when there is no blank line. */
bool mrg_multipart_split(struct mrg_slice part, struct mrg_slice *ret_head, struct mrg_slice *ret_content);

/* A comparison under way. */
struct mrg_diff {
    const struct mrg_match *match;
    struct mrg_buf *buf; /* the first difference goes there */
    bool told;           /* it has */
    unsigned distance;   /* so far */
    struct mrg_buf path; /* where in the body */
};

/* One difference. A side that has no value has ptr NULL; values are JSON texts. */
void mrg_diff_tell(struct mrg_diff *diff, unsigned distance, struct mrg_slice what, struct mrg_slice here,
                   struct mrg_slice recorded);
/* match_diff_json.c: two bodies' trees, what is ignored dropped from both. */
void mrg_diff_trees(struct mrg_diff *diff, struct json_object *here, struct json_object *recorded);
