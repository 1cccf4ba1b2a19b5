// SPDX-License-Identifier: Apache-2.0
/*
 * Match, private: what match.c and the match_*.c beside it share. Nobody else includes this.
 */
#pragma once

#include "core/config.h"
#include "core/match.h"
#include "core/query.h"
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

struct mrg_match {
    const struct mrg_dependency_config *config; /* outlives the match */
    struct mrg_rules ignore;
    struct mrg_rules redact;
};

/* Whether a rule names this header, or this (shown) query key. */
bool mrg_rules_header(const struct mrg_rules *rules, struct mrg_slice name);
bool mrg_rules_query(const struct mrg_rules *rules, struct mrg_slice key);

/* Whether a body rule may name anything in this JSON text: false is certain. */
bool mrg_rules_may_apply(const struct mrg_rules *rules, struct mrg_slice json);

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
