// SPDX-License-Identifier: Apache-2.0
/*
 * Traces: spans counted by who was called, method, path and status, while files of any size go by.
 *
 * What is counted becomes endpoints (evidence/endpoints.h) at the end. Thread: main.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/error.h"
#include "util/hash.h"

#define MRG_MAX_CALLS                                                                                        \
    200000u /* different calls (by method, path, status) that are kept apart; further ones are only counted */
#define MRG_MAX_OWNERS     200u /* different services or peers */
#define MRG_MAX_QUERY_KEYS 12u

/* Whose spans: the service that recorded server spans, or the other side of client spans. */
struct mrg_owner {
    bool client;    /* client spans */
    char *name;     /* "" when unknown */
    uint64_t spans; /* counted */
};

/* Equal calls. */
struct mrg_call {
    size_t owner; /* index */
    char *method;
    char *path;  /* raw, or the route's template */
    bool routed; /* path is a template */
    bool rpc;    /* path is /pkg.Service/Method */
    char *status;
    uint64_t count;
    char *query_keys[MRG_MAX_QUERY_KEYS]; /* seen; NULL behind the last */
};

struct mrg_traces {
    struct mrg_owner *owners;
    size_t owner_count, owner_capacity;
    struct mrg_call *calls;
    size_t call_count, call_capacity;
    size_t *slots;     /* hash table of indices + 1 into calls */
    size_t slot_count; /* a power of two, or 0 */
    uint64_t spans;    /* of calls, counted */
    uint64_t lost;     /* of calls, past the bounds above */
};

/* What a file was like. */
struct mrg_trace_report {
    char hash[MRG_SHA256_HEX + 1]; /* of its bytes */
    size_t lines;                  /* that were not blank; 1 for a document */
    size_t wrong;                  /* lines that are not JSON */
    size_t too_long;               /* lines over MRG_MAX_TRACE_LINE */
    size_t first_wrong;            /* number of the first one, from 1 */
    char why[256];                 /* what was wrong with it */
};

/* One JSON text: a document or a line. False, with a message, when it is not JSON. */
bool mrg_traces_add(struct mrg_traces *traces, struct mrg_slice json, struct mrg_error *err);

/*
 * A file: one JSON document (up to MRG_MAX_EVIDENCE_FILE), or a JSON value a line, of any size. Fails only
 * where it cannot be read.
 */
enum mrg_err mrg_traces_add_file(struct mrg_traces *traces, const char *path,
                                 struct mrg_trace_report *ret_report, struct mrg_error *err);

void mrg_traces_done(struct mrg_traces *traces);
