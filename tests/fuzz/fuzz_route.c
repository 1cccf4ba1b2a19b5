// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes through wire/route. The first line of an input is a rule's template, the second one its body, the
 * rest a message as JSON or, when it does not begin with a brace, a request target with a body on the next line.
 */
#include <stdint.h>
#include <string.h>

#include "../unit/route_types.h"
#include "util/json.h"
#include "util/uri.h"
#include "wire/route_int.h"

#define MOST (16u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool cut_line(struct mrg_slice *rest, struct mrg_slice *ret_line)
{
    const char *newline = memchr(rest->ptr, '\n', rest->len);
    if (!newline)
        return false;
    *ret_line = (struct mrg_slice){rest->ptr, (size_t)(newline - rest->ptr)};
    *rest = (struct mrg_slice){newline + 1, rest->len - ret_line->len - 1};
    return true;
}

static void assert_json(struct mrg_slice text)
{
    MRG_ASSERT(mrg_json_check(text, NULL) == MRG_ERR_OK);
    MRG_ASSERT(text.ptr[text.len] == '\0');
}

/* The canonical form is whole, and canonical. */
static void try_canonical(const struct mrg_method *method, const struct mrg_binding *binding,
                          const struct mrg_request *request)
{
    struct mrg_arena *arena = NULL;
    const struct mrg_request *once = mrg_route_trim(method, binding, &arena, request);
    MRG_ASSERT((once != request) == (arena != NULL));
    if (once->body.kind == MRG_BODY_JSON)
        assert_json(once->body.bytes);
    MRG_ASSERT(mrg_route_trim(method, binding, &arena, once) == once);
    mrg_arena_free(arena);
}

static void try_request(const struct mrg_method *method, const struct mrg_binding *binding,
                        const struct mrg_request *request)
{
    struct mrg_buf buf;
    struct mrg_error err = {.message = ""};
    mrg_buf_init(&buf, SIZE_MAX);
    if (mrg_route_message(method, binding, request, &buf, &err) == MRG_ERR_OK)
        assert_json(mrg_buf_slice(&buf));
    else
        MRG_ASSERT(err.message[0] != '\0');
    mrg_buf_done(&buf);
    try_canonical(method, binding, request);
}

static void try_target(const struct mrg_method *method, struct mrg_arena *arena, struct mrg_slice text)
{
    struct mrg_slice values[MRG_ROUTE_MAX_VARIABLES];
    struct mrg_slice target = text;
    struct mrg_slice body = MRG_SLICE("");
    struct mrg_request request = {.method = MRG_SLICE("PUT")};
    const struct mrg_binding *binding = method->bindings[0];
    const struct mrg_binding *found = NULL;
    struct mrg_service service = {.methods = (struct mrg_method[]){*method}, .method_count = 1};
    const struct mrg_service *const services[] = {&service};
    if (cut_line(&text, &target))
        body = (struct mrg_slice){mrg_arena_memdup(arena, text.ptr, text.len), text.len};
    mrg_uri_split(target, &request.path, &request.query);
    request.body = mrg_body_classify(body, NULL);
    struct mrg_routes *routes = mrg_routes_new(services, 1);
    bool matches = mrg_route_matches(binding, request.method, request.path, values);
    MRG_ASSERT(matches == (mrg_routes_find(routes, request.method, request.path, &found) != NULL));
    for (size_t i = 0; matches && i < binding->variable_count; i++)
        MRG_ASSERT(values[i].len <= request.path.len && values[i].ptr >= request.path.ptr &&
                   values[i].ptr + values[i].len <= request.path.ptr + request.path.len);
    if (matches)
        try_request(method, found, &request);
    mrg_routes_free(routes);
}

static void try_message(const struct mrg_method *method, struct mrg_arena *arena, struct mrg_slice json)
{
    struct mrg_request request = {.header_count = 0};
    if (mrg_json_check(json, NULL) != MRG_ERR_OK)
        return;
    mrg_route_request(method, arena, json, &request);
    bool named = mrg_slice_eq(request.path, method->path);
    MRG_ASSERT(request.path.len > 0 && *request.path.ptr == '/');
    MRG_ASSERT(!mrg_has_control(request.path) && !mrg_has_control(request.query));
    if (!named)
        MRG_ASSERT(mrg_route_matches(method->bindings[0], request.method, request.path, NULL));
    if (request.body.kind == MRG_BODY_JSON)
        assert_json(request.body.bytes);
    try_request(method, named ? NULL : method->bindings[0], &request);
    mrg_route_reply(method, &request, arena, json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mrg_slice rest = {(const char *)data, size};
    struct mrg_slice path, body;
    struct mrg_binding *binding = NULL;
    struct mrg_error err = {.message = ""};
    if (size > MOST || !cut_line(&rest, &path) || !cut_line(&rest, &body))
        return 0;
    help_types(NULL);
    struct mrg_arena *arena = mrg_arena_new(0);
    const char *template_text = mrg_arena_memdup(arena, path.ptr, path.len);
    const char *body_text = mrg_arena_memdup(arena, body.ptr, body.len);
    if (mrg_binding_new("PUT", template_text, body_text, "lines", &help_reserve, &help_reserve, &binding,
                        &err)) {
        MRG_ASSERT(err.message[0] != '\0');
    } else {
        struct mrg_method method = {.path = MRG_SLICE("/shop.Shop/Reserve"),
                                    .input = &help_reserve,
                                    .output = &help_reserve,
                                    .bindings = &binding,
                                    .binding_count = 1};
        struct mrg_slice text = {mrg_arena_memdup(arena, rest.ptr, rest.len), rest.len};
        if (text.len > 0 && *text.ptr == '{')
            try_message(&method, arena, text);
        else
            try_target(&method, arena, text);
    }
    mrg_binding_free(binding);
    mrg_arena_free(arena);
    return 0;
}
