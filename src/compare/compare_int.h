// SPDX-License-Identifier: Apache-2.0
/*
 * Compare, inside: what its files share. Nobody else includes it, but for their tests. Thread: as a comparison.
 */
#pragma once

#include <json-c/json.h>
#include <regex.h>

#include "compare/compare.h"
#include "util/jpath.h"

/* A rule, ready. */
struct mrg_rule {
    struct mrg_jpath *path;
    enum mrg_dynamic kind;
    bool has_pattern;
    regex_t pattern; /* when has_pattern */
};

/* Which values of one side stand for which of the other. Texts are owned. */
struct mrg_pair {
    char *real, *simulated;
};
struct mrg_pairs {
    struct mrg_pair *items; /* as they were met */
    size_t count;           /* of items */
    size_t room;            /* allocated */
};

/* A point in time on both sides, in milliseconds since 1970. */
struct mrg_moment {
    int64_t real, simulated;
    size_t call; /* the reply that told it, counted from 0 */
};
struct mrg_moments {
    struct mrg_moment *items; /* as they were met */
    size_t count;             /* of items */
    size_t room;              /* allocated */
};

struct mrg_compare {
    struct mrg_rule *rules;
    size_t rule_count; /* of rules */
    struct mrg_jpath **sets;
    size_t set_count; /* of sets */
    struct mrg_jpath **ignore;
    size_t ignore_count; /* of ignore */
    struct mrg_pairs pairs;
    struct mrg_moments moments;
    size_t call; /* replies compared so far */
};

/* A JSON node that a path of the scenario names. NULL nodes (null) are never marked. */
struct mrg_marked {
    struct json_object *node;
    const struct mrg_rule *rule; /* NULL: a set */
};
struct mrg_marks {
    struct mrg_marked *items; /* sorted by node */
    size_t count;             /* of items */
    size_t room;              /* allocated */
};

/* One comparison of two replies on its way. */
struct mrg_walk {
    struct mrg_compare *compare;
    struct mrg_arena *arena;
    struct mrg_marks marks; /* of the real tree */
    struct mrg_buf path;    /* where the walk is */
    bool quiet;             /* counts what differs, and neither tells nor remembers it */
    bool gate;              /* the gate has refused something */
    enum mrg_verdict worst; /* of what was told */
    size_t count;           /* findings, told or not */
    struct mrg_finding *findings;
    size_t room; /* allocated */
};

/* Adds a finding at the walk's path. The text is one line. */
void mrg_walk_tell(struct mrg_walk *walk, enum mrg_stage stage, enum mrg_verdict verdict, const char *format,
                   ...) MRG_PRINTF(4, 5);
/* Extends the path; returns its length before, for mrg_walk_leave. */
size_t mrg_walk_enter(struct mrg_walk *walk, const char *name);
void mrg_walk_leave(struct mrg_walk *walk, size_t length);

/* Compares two trees at the walk's path. `name` is the nearest member's. */
void mrg_compare_trees(struct mrg_walk *walk, const char *name, struct json_object *real,
                       struct json_object *simulated);
/* Two texts that no rule covers. `name` is the member's or header's, which tells prose from codes. */
void mrg_compare_texts(struct mrg_walk *walk, const char *name, const char *real, const char *simulated);
/* A value that a rule covers: the texts of both, of a number as it is spelled. */
void mrg_compare_dynamic(struct mrg_walk *walk, const struct mrg_rule *rule, const char *real,
                         const char *simulated);
/* The headers, or the trailers, of both. */
struct mrg_headers_pair {
    const struct mrg_header *real;
    size_t real_count; /* of real */
    const struct mrg_header *simulated;
    size_t simulated_count; /* of simulated */
};
/* `kind` begins the paths: "header". */
void mrg_compare_headers(struct mrg_walk *walk, const char *kind, const struct mrg_headers_pair *headers);

/* A JSON text for a finding: in the arena, cut when long. */
const char *mrg_shown(struct mrg_arena *arena, struct json_object *node);
const char *mrg_shown_text(struct mrg_arena *arena, const char *text);

/*
 * Remembers that the texts stand for each other. False when one of them stands for another already; *ret_other is
 * what the real one stands for, or NULL when it is the simulated one that is taken.
 */
bool mrg_pairs_add(struct mrg_pairs *pairs, const char *real, const char *simulated, const char **ret_other);
/* The same, without remembering. */
bool mrg_pairs_fit(const struct mrg_pairs *pairs, const char *real, const char *simulated,
                   const char **ret_other);
/* The real side's text as the simulation would say it: each known value in it replaced. In the arena. */
const char *mrg_pairs_translate(const struct mrg_pairs *pairs, struct mrg_arena *arena, const char *text);
void mrg_pairs_done(struct mrg_pairs *pairs);

/* A time and how it is spelled. Times of one form look alike. */
enum mrg_time_form {
    MRG_TIME_NONE,
    MRG_TIME_RFC3339,
    MRG_TIME_HTTP,
    MRG_TIME_SECONDS,
    MRG_TIME_MILLISECONDS
};
struct mrg_time {
    enum mrg_time_form form;
    int64_t ms;      /* since 1970 */
    unsigned digits; /* of the fraction of a second */
    bool utc;        /* spelled with Z */
};
/* RFC 3339, HTTP-date (RFC 9110 section 5.6.7), or a number of seconds or milliseconds since 1970. */
struct mrg_time mrg_time_read(const char *text);
/* NULL when the simulated time fits all that were seen, which are remembered unless the walk is quiet; else why not. */
const char *mrg_moments_check(struct mrg_walk *walk, const struct mrg_time *real,
                              const struct mrg_time *simulated, enum mrg_verdict *ret_verdict);
