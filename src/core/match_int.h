// SPDX-License-Identifier: Apache-2.0
/*
 * Match, private: what match.c, match_key.c, match_redact.c and match_diff.c share. Nobody else includes
 * this.
 */
#pragma once

#include "core/config.h"
#include "core/match.h"
#include "util/jpath.h"

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

/* Whether this header counts in the comparison: shown, not implied, not ignored. */
bool mrg_match_counts(const struct mrg_match *match, const struct mrg_request *request,
                      const struct mrg_header *header);

/* Drops what the ignore rules name from a tree. */
void mrg_match_drop_ignored(const struct mrg_match *match, struct json_object **tree);

/* The boundary of a multipart request; false when it is none. */
bool mrg_multipart_boundary(const struct mrg_request *request, struct mrg_slice *ret_boundary);
/* Appends text with each occurrence of boundary replaced by a fixed word. */
void mrg_multipart_append(struct mrg_buf *buf, struct mrg_slice text, struct mrg_slice boundary);
