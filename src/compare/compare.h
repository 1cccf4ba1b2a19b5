// SPDX-License-Identifier: Apache-2.0
/*
 * Compare: a simulated reply held against the real one: a hard gate (statuses, JSON validity, keys, types and
 * shape), then an oracle of patterns that is grounded on the real reply. What the oracle can neither accept nor
 * reject is UNCERTAIN, never the same.
 *
 * A comparison is one scenario: it remembers which dynamic values each side has issued, so that an id is
 * right when it is the one that was issued before, and a time when it moves as the real one does. Replies are
 * given in the order of the calls. Used by verify (paper sections III-E and III-F). Thread: any; a comparison
 * belongs to one.
 */
#pragma once

#include "core/reply.h"
#include "core/request.h"

/* What a dynamic value is. */
#define MRG_DYNAMIC_MAP(X)                                                                                   \
    X(ID, "id")         /* issued by the service: the same at the same places, another for another thing */  \
    X(TOKEN, "token")   /* as an id */                                                                       \
    X(TIME, "time")     /* a point in time: the same format; order and differences as the real ones */       \
    X(NUMBER, "number") /* any number of the same type and sign */                                           \
    X(TEXT, "text")     /* any text: compared by pattern if there is one, else uncertain when it differs */

enum mrg_dynamic {
#define X(name, text) MRG_DYNAMIC_##name,
    MRG_DYNAMIC_MAP(X)
#undef X
};

/* A place whose value is not compared byte by byte: an entry of a scenario's `dynamic`. */
struct mrg_compare_rule {
    const char *path; /* util/jpath.h: body.$..id, body.$.items[*].at, header.location */
    enum mrg_dynamic kind;
    const char *pattern; /* extended POSIX regular expression for the whole text; NULL: none */
};

/* What a scenario says of all its replies. Borrowed; outlives the comparison. */
struct mrg_compare_rules {
    const struct mrg_compare_rule *dynamic;
    size_t dynamic_count;      /* of dynamic */
    const char *const *sets;   /* paths of arrays whose order does not count; util/jpath.h */
    size_t set_count;          /* of sets */
    const char *const *ignore; /* paths that do not count at all */
    size_t ignore_count;       /* of ignore */
};

enum mrg_verdict {
    MRG_VERDICT_SAME,
    MRG_VERDICT_UNCERTAIN, /* key-level pass; the oracle cannot decide */
    MRG_VERDICT_DIFFERENT,
};

enum mrg_stage { MRG_STAGE_GATE, MRG_STAGE_ORACLE };

/* One difference, in the arena of the call. */
struct mrg_finding {
    enum mrg_stage stage;     /* that found it */
    enum mrg_verdict verdict; /* UNCERTAIN or DIFFERENT */
    const char *path;         /* "status", "body", "body.items[2].id", "header.location", "grpc_message" */
    const char *text;         /* "201 became 200", "missing", "\"a\" became \"b\"" */
};

struct mrg_comparison {
    enum mrg_verdict verdict;
    bool key_level;               /* the gate was passed */
    bool status_same;             /* the first version's metrics: statuses agree, */
    bool shape_same;              /* and keys and types of the bodies do */
    bool identical;               /* bodies byte for byte the same, and all else too */
    struct mrg_finding *findings; /* in document order; the gate's first */
    size_t finding_count;         /* of findings */
};

struct mrg_compare;

/* INVALID: which rule, and what was expected of its path or pattern. */
enum mrg_err mrg_compare_new(const struct mrg_compare_rules *rules, struct mrg_compare **ret_compare,
                             struct mrg_error *err);
void mrg_compare_free(struct mrg_compare *compare); /* NULL is allowed */

/*
 * What the caller is about to send on each side: values that a side had issued and that stand in its request are
 * known to stand for each other. Before each mrg_compare_replies.
 */
void mrg_compare_requests(struct mrg_compare *compare, const struct mrg_request *real,
                          const struct mrg_request *simulated);

/*
 * Compares the replies of one call. Over gRPC (has_grpc_status) the statuses are the gRPC numbers, the message and
 * the details count, and `status` does not. Headers: those that the real service sets must be there with the
 * same value, others must not be; the transport's own (mrg_header_is_transport) and mirage-* do not count.
 * Findings lie in the arena.
 */
void mrg_compare_replies(struct mrg_compare *compare, const struct mrg_reply *real,
                         const struct mrg_reply *simulated, struct mrg_arena *arena,
                         struct mrg_comparison *ret_comparison);
