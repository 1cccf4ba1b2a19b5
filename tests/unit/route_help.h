// SPDX-License-Identifier: Apache-2.0
/*
 * Route help: calls for the tests of routes that fail the test with a sentence, over the types of route_types.h.
 *
 * Static functions: each test includes its own copy.
 */
#pragma once

#include <string.h>

#include "route_types.h"
#include "sample.h"
#include "util/json.h"
#include "wire/route.h"

/* "POST /items/{item_id}". */
static inline struct mrg_binding *help_binding(const char *rule, const char *body, const char *response)
{
    struct mrg_binding *binding = NULL;
    struct mrg_error err = {.message = ""};
    const char *blank = strchr(rule, ' ');
    _cleanup_free_ char *method = mrg_strndup(rule, (size_t)(blank - rule));
    if (mrg_binding_new(method, blank + 1, body, response, &help_reserve, &help_reserve, &binding, &err))
        fail_msg("%s: %s", rule, err.message);
    return binding;
}

/* /shop.Shop/Reserve with these rules. */
static inline struct mrg_method help_method(struct mrg_binding **bindings, size_t count)
{
    return (struct mrg_method){.path = MRG_SLICE("/shop.Shop/Reserve"),
                               .name = MRG_SLICE("Reserve"),
                               .input = &help_reserve,
                               .output = &help_reserve,
                               .bindings = bindings,
                               .binding_count = count};
}

/* "METHOD /path?query BODY", in the arena. */
static inline const char *help_shown(struct mrg_arena *arena, const struct mrg_request *request)
{
    bool body = request->body.kind != MRG_BODY_NONE;
    assert_true(body == (request->body.bytes.len > 0));
    if (body)
        assert_int_equal(request->body.bytes.ptr[request->body.bytes.len], 0);
    return mrg_arena_printf(arena, "%.*s %.*s%s%.*s%s%.*s", (int)request->method.len, request->method.ptr,
                            (int)request->path.len, request->path.ptr, request->query.len ? "?" : "",
                            (int)request->query.len, request->query.ptr, body ? " " : "",
                            (int)request->body.bytes.len, request->body.bytes.ptr);
}
