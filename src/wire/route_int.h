// SPDX-License-Identifier: Apache-2.0
/*
 * Route, inside: what a rule is once it is read, and what its files share. Nobody else includes it.
 *
 * A set of a binding's variables is a mask of bits, by their index. Thread: any.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/limits.h"
#include "util/arena.h"
#include "wire/route.h"

enum mrg_route_kind {
    MRG_ROUTE_LITERAL, /* this text */
    MRG_ROUTE_ONE,     /* *, any one segment that is not empty */
    MRG_ROUTE_REST,    /* **, any number of segments; always the last */
};

struct mrg_route_segment {
    enum mrg_route_kind kind;
    struct mrg_slice
        text; /* of a literal; only the last one of a template may be empty (a slash at the end) */
};

struct mrg_route_variable {
    const struct mrg_field **path; /* from the input message inwards; the last one holds the value */
    size_t depth;                  /* of path */
    size_t first;                  /* of its segments in the binding */
    size_t count;                  /* of its segments */
    bool multi;                    /* its value may hold slashes that stay what they are */
};

struct mrg_routes;

struct mrg_binding {
    struct mrg_arena *arena;            /* owns everything below, and the binding itself */
    const char *text;                   /* for people */
    struct mrg_slice method;            /* as the rule has it */
    bool any_method;                    /* method is "*" */
    bool nameless;                      /* has wildcards that no field fills: no request can be made of it */
    struct mrg_slice verb;              /* behind the last ':'; empty: none */
    struct mrg_route_segment *segments; /* all of them, those of variables too */
    size_t segment_count;               /* of segments; at least 1 */
    struct mrg_route_variable *variables; /* in the order of the template */
    size_t variable_count;                /* of variables */
    bool whole_body;                      /* body is "*" */
    const struct mrg_field *body;         /* the field that is the body, or NULL */
    const struct mrg_field *response;     /* the output's field that is the reply's body, or NULL */
    const struct mrg_message *input;      /* the method's */
    _Atomic(struct mrg_routes *)
        routes; /* all routes of the schema whose first binding this is; see route_find.c */
};

/* Reads a template into binding's text, segments, variables and verb; its input is set. INVALID. */
enum mrg_err mrg_route_parse(struct mrg_binding *binding, const char *path_template, struct mrg_error *err);

/* The variables of `active` that go on below this field, which is at depth `level` of their paths; those that
 * end with it are in *ret_ends (may be NULL). */
uint32_t mrg_route_below(const struct mrg_binding *binding, uint32_t active, size_t level,
                         const struct mrg_field *field, uint32_t *ret_ends);
static inline uint32_t mrg_route_all(const struct mrg_binding *binding)
{
    return (1u << binding->variable_count) - 1;
}

/* Whether a method and a raw path are the binding's; ret_values (may be NULL; room for all variables) gets what
 * the variables stand for, raw, in path. */
bool mrg_route_matches(const struct mrg_binding *binding, struct mrg_slice method, struct mrg_slice path,
                       struct mrg_slice *ret_values);

/* An index over all routes of a schema, for mrg_route_find. */
struct mrg_routes *mrg_routes_new(const struct mrg_service *const *services, size_t count);
void mrg_routes_free(struct mrg_routes *routes); /* NULL is allowed */
const struct mrg_method *mrg_routes_find(const struct mrg_routes *routes, struct mrg_slice method,
                                         struct mrg_slice path, const struct mrg_binding **ret_binding);

/* The field that a raw key (between its quotes) of a message's JSON names, by either name; NULL. */
const struct mrg_field *mrg_route_field(const struct mrg_message *type, struct mrg_slice raw_key);

/* Whether a JSON value is exactly the default of a field without presence. */
bool mrg_route_is_default(const struct mrg_field *field, struct mrg_slice raw);

/* Whether the items of a field are single values in JSON, as scalars and timestamps are. */
bool mrg_route_is_single(const struct mrg_field *field);
/* Whether a field is one message of a user's own, which has fields to name in a query or a template. */
bool mrg_route_is_group(const struct mrg_field *field);

/* What stands in a path or a query for a single JSON value: a string's content (in the arena when it has
 * escapes), else the text itself. False for null, arrays and objects. */
bool mrg_route_text(struct mrg_arena *arena, struct mrg_slice raw, struct mrg_slice *ret_text);
/* And back, by the field's type; what cannot be one of its values becomes a string, which proto.h refuses. */
void mrg_route_append_value(struct mrg_buf *buf, const struct mrg_field *field, struct mrg_slice text);

/* Percent-encodes for a path; `slashes` stay then. Writes at most 3 * text.len bytes; returns the end. */
char *mrg_route_encode(char *out, struct mrg_slice text, bool slashes);
/* Whether mrg_route_encode leaves it as it is. */
bool mrg_route_is_plain(struct mrg_slice text, bool slashes);
/* Appends a path's part that is encoded in some way as mrg_route_encode would have written it. */
void mrg_route_append_spelled(struct mrg_buf *buf, struct mrg_slice raw, bool slashes);
/* And back, in the arena, a NUL behind; with `slashes` %2F stays as it is. */
struct mrg_slice mrg_route_decode(struct mrg_arena *arena, struct mrg_slice text, bool slashes);

/*
 * The field that a query's key (decoded) names, a.b for nested ones; NULL when there is none, or when one of
 * the names before the last is not of a message of the user's own. ret_path (room for
 * MRG_ROUTE_MAX_KEY) gets the fields from the input inwards.
 */
const struct mrg_field *mrg_route_query_field(const struct mrg_message *type, struct mrg_slice key,
                                              const struct mrg_field **ret_path, size_t *ret_depth);

/* The canonical form of a request whose route is known. */
const struct mrg_request *mrg_route_trim(const struct mrg_method *method, const struct mrg_binding *binding,
                                         struct mrg_arena **arena, const struct mrg_request *request);
