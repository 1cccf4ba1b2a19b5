// SPDX-License-Identifier: Apache-2.0
/*
 * Endpoints: what traces come to: method and path template, with how many calls gave which status.
 *
 * Only spans of one dependency count: its server spans by the service's name; where there are none, client
 * spans that name it as their other side; where no name fits, all spans if they are of one service. Thread:
 * main; immutable once made but for left_out.
 */
#pragma once

#include "evidence/traces.h"

struct mrg_status_count {
    char *status;   /* "201", "NOT_FOUND", "none" */
    uint64_t count; /* of spans */
};

struct mrg_endpoint {
    char *method;
    char *path; /* template, or /pkg.Service/Method */
    bool rpc;
    struct mrg_status_count *statuses; /* by status */
    size_t status_count, status_capacity;
    char *query_keys[MRG_MAX_QUERY_KEYS]; /* sorted; NULL behind the last */
    uint64_t total;                       /* spans */
    bool left_out;                        /* for the budget */
};

struct mrg_endpoints {
    struct mrg_endpoint *items; /* most frequent first */
    size_t count, capacity;
    uint64_t spans;   /* that are the dependency's */
    uint64_t foreign; /* of calls to others */
};

/* *ret_endpoints may come out empty. Free with mrg_endpoints_done. */
void mrg_endpoints_make(const struct mrg_traces *traces, const char *dependency,
                        struct mrg_endpoints *ret_endpoints);
void mrg_endpoints_done(struct mrg_endpoints *endpoints);

/*
 * Appends one line an endpoint, those left out excepted: `GET /items/{id}: 200 (41), 404 (2)`; with `queries`
 * also which query keys were seen.
 */
void mrg_endpoints_append(struct mrg_buf *buf, const struct mrg_endpoints *endpoints, bool queries);
void mrg_endpoint_append(struct mrg_buf *buf, const struct mrg_endpoint *endpoint, bool queries);

/*
 * Whether a service's or host's name (stock, stock-service, stock.default.svc:8080) is that of the
 * dependency.
 */
bool mrg_owner_is(const char *name, const char *dependency);
