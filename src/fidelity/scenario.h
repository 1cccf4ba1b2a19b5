// SPDX-License-Identifier: Apache-2.0
/*
 * Scenario: a file of calls, without expected replies: the real service says what is right.
 *
 * YAML, one scenario a file (docs/fidelity.md has the form); places of errors as for mirage.yaml. Scenarios lie in
 * the arena that the caller gave and are immutable after loading. Thread: any after loading.
 */
#pragma once

#include "compare/compare.h"
#include "util/arena.h"

/* A value kept from a reply for later calls, each side its own. */
struct mrg_saved {
    const char *name; /* ${NAME} */
    const char *path; /* body.access_token, body.items[0].id, header.location */
};

/* One call as the file says it, references not filled in. */
struct mrg_scenario_call {
    const char *method;
    const char *path;   /* "/items/${ID}": references are percent-encoded where they are filled in */
    const char *query;  /* the raw query, references in it percent-encoded too; "" when there is none */
    const char *target; /* name of the target it goes to; NULL: the scenario's */
    struct mrg_header *headers; /* names in lower case */
    size_t header_count;        /* of headers */
    const char *body;           /* JSON or text with references; NULL: no body */
    bool json;                  /* body is JSON: content-type application/json unless headers say another */
    const struct mrg_saved *saves;
    size_t save_count; /* of saves */
};

struct mrg_scenario {
    const char *name;
    const char *category;    /* "" when the file has none */
    const char *description; /* for the announcement; "" when the file has none */
    const char *dependency;  /* target; "" when the file has none */
    const char *file;        /* where it was read */
    struct mrg_scenario_call *calls;
    size_t call_count; /* of calls */
    struct mrg_compare_rules rules;
};

struct mrg_scenarios {
    struct mrg_scenario *items; /* in the order of the paths given; within a folder by file name */
    size_t count;               /* of items */
};

/*
 * Reads a file or a folder's *.yaml and *.yml (not recursively). INVALID: the first problem, with file, line and what
 * was expected; NOT_FOUND; names are unique.
 */
enum mrg_err mrg_scenarios_load(struct mrg_arena *arena, const char *const *paths, size_t path_count,
                                struct mrg_scenarios *ret_scenarios, struct mrg_error *err);
