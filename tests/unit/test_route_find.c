// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "route_help.h"
#include "wire/route_int.h"

#define MANY 800u /* more bindings than any schema has */

/* The schema of these tests: one service, whose methods have a binding each. */
static struct mrg_method methods[MANY];
static struct mrg_binding *bindings[MANY];
static struct mrg_service service = {.full_name = {"shop.Shop", 9}, .methods = methods};
static const struct mrg_service *services[] = {&service};
static const struct mrg_schema *const schema = NULL;

const struct mrg_service *const *__wrap_mrg_schema_services(const struct mrg_schema *one, size_t *ret_count);
const struct mrg_method *__wrap_mrg_schema_method(const struct mrg_schema *one, struct mrg_slice path);

const struct mrg_service *const *__wrap_mrg_schema_services(const struct mrg_schema *one, size_t *ret_count)
{
    assert_ptr_equal(one, schema);
    *ret_count = 1;
    return services;
}

const struct mrg_method *__wrap_mrg_schema_method(const struct mrg_schema *one, struct mrg_slice path)
{
    assert_ptr_equal(one, schema);
    for (size_t i = 0; i < service.method_count; i++) {
        if (mrg_slice_eq(methods[i].path, path))
            return &methods[i];
    }
    return NULL;
}

static void add(const char *rule)
{
    size_t at = service.method_count++;
    assert_true(at < MANY);
    bindings[at] = rule ? help_binding(rule, "", NULL) : NULL;
    methods[at] = help_method(&bindings[at], rule != NULL);
    methods[at].service = &service;
}

static int set_up(void **state)
{
    *state = mrg_arena_new(0);
    service.method_count = 0;
    return help_types(NULL);
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < service.method_count; i++)
        mrg_binding_free(bindings[i]);
    mrg_arena_free(*state);
    return 0;
}

/* The rule that is found for "METHOD /path"; NULL: none. */
static const char *found(struct mrg_arena *arena, const char *line)
{
    const struct mrg_binding *binding = (const struct mrg_binding *)&binding;
    struct mrg_request request = sample(arena, line, NULL, NULL);
    const struct mrg_method *method = mrg_route_find(schema, &request, &binding);
    if (!method) {
        assert_ptr_equal(binding, &binding);
        return NULL;
    }
    if (!binding)
        return "by name";
    assert_ptr_equal(method->bindings[0], binding);
    return mrg_binding_text(binding);
}

static void assert_found(struct mrg_arena *arena, const char *line, const char *rule)
{
    const char *text = found(arena, line);
    if (rule ? !text || strcmp(text, rule) != 0 : text != NULL)
        fail_msg("%s: %s, not %s", line, text ? text : "none", rule ? rule : "none");
}

static void test_what_is_found(void **state)
{
    add(NULL);
    add("GET /");
    add("GET /items");
    add("POST /items");
    add("GET /items/");
    add("GET /items/{item_id}");
    add("POST /items/{item_id}/reserve");
    add("GET /files/{item_id=**}");
    add("GET /shelves/{item_id=*/books/*}");
    assert_found(*state, "GET /", "GET /");
    assert_found(*state, "GET /items", "GET /items");
    assert_found(*state, "POST /items", "POST /items");
    assert_found(*state, "PUT /items", NULL);
    assert_found(*state, "get /items", NULL);
    assert_found(*state, "GET /items/", "GET /items/");
    assert_found(*state, "GET /items/a", "GET /items/{item_id}");
    assert_found(*state, "GET /items/a%2Fb:c", "GET /items/{item_id}");
    assert_found(*state, "GET /items/a/", NULL);
    assert_found(*state, "POST /items/a/reserve", "POST /items/{item_id}/reserve");
    assert_found(*state, "POST /items//reserve", NULL);
    assert_found(*state, "GET /files", "GET /files/{item_id=**}");
    assert_found(*state, "GET /files/", "GET /files/{item_id=**}");
    assert_found(*state, "GET /files/a//b", "GET /files/{item_id=**}");
    assert_found(*state, "GET /filesystem", NULL);
    assert_found(*state, "GET /shelves/1/books/2", "GET /shelves/{item_id=*/books/*}");
    assert_found(*state, "GET /shelves/1/books", NULL);
    assert_found(*state, "GET *", NULL);
    assert_found(*state, "GET ", NULL);
    assert_found(*state, "POST /shop.Shop/Reserve", "by name");
    assert_found(*state, "GET /shop.Shop/Reserve", NULL);
    assert_found(*state, "POST shop.Shop/Reserve", NULL);
}

static void test_what_goes_first(void **state)
{
    add("* /v1/{item_id}");
    add("GET /v1/{note=**}");
    add("GET /v1/{note}");
    add("GET /v1/{item_id}");
    add("GET /v1/fixed");
    add("GET /v1/{note}:do");
    add("GET /{item_id}/x/{note}");
    add("GET /v1/x/y/z");
    assert_found(*state, "GET /v1/fixed", "GET /v1/fixed");
    assert_found(*state, "GET /v1/a", "GET /v1/{note}");
    assert_found(*state, "PUT /v1/a", "* /v1/{item_id}");
    assert_found(*state, "PUT /v1/fixed", "* /v1/{item_id}");
    assert_found(*state, "GET /v1/a:do", "GET /v1/{note}:do");
    assert_found(*state, "GET /v1/fixed:do", "GET /v1/{note}:do");
    assert_found(*state, "GET /v1/a:b:do", "GET /v1/{note}:do");
    assert_found(*state, "GET /v1/a:", "GET /v1/{note}");
    assert_found(*state, "GET /v1/:do", "GET /v1/{note}");
    assert_found(*state, "GET /v1/a:undo", "GET /v1/{note}");
    assert_found(*state, "GET /v1/x/a", "GET /v1/{note=**}");
    assert_found(*state, "GET /v2/x/a", "GET /{item_id}/x/{note}");
}

static void test_by_name_though_there_are_bindings(void **state)
{
    add("GET /items/{item_id}");
    assert_found(*state, "POST /shop.Shop/Reserve", "by name");
}

static void test_without_bindings(void **state)
{
    assert_found(*state, "POST /shop.Shop/Reserve", NULL);
    add(NULL);
    assert_found(*state, "POST /shop.Shop/Reserve", "by name");
    assert_found(*state, "GET /", NULL);
    struct mrg_request request = sample(*state, "POST /shop.Shop/Reserve", NULL, NULL);
    assert_ptr_equal(mrg_route_find(schema, &request, NULL), &methods[0]);
}

/* Each number is a text of up to `most` pieces. */
static const char *nth_text(struct mrg_arena *arena, const char *start, const char *const *pieces,
                            size_t count, unsigned number, unsigned most)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, start);
    for (unsigned i = 0; i < most && number > 0; i++, number /= (unsigned)count)
        mrg_buf_append_str(&buf, pieces[number % count]);
    return mrg_arena_take_buf(arena, &buf).ptr;
}

/* The index and the matching of one binding are two programs, which must agree. */
static void test_agrees_with_matching_one_by_one(void **state)
{
    static const char *const templates[] = {"GET /a",
                                            "GET /{note}",
                                            "GET /a/{note}",
                                            "GET /{note}/a",
                                            "GET /{note=**}",
                                            "GET /a/{note=**}",
                                            "GET /{note=a/*}:v",
                                            "GET /{item_id}/{note}",
                                            "GET /a/a:v",
                                            "GET /{note=*/a/**}:w",
                                            "GET /a/"};
    static const char *const pieces[] = {"/", "a", "/a", ":v", "b", ":w"};
    for (unsigned set = 1; set < 1u << MRG_ARRAY_LEN(templates); set += 13) {
        for (size_t i = 0; i < MRG_ARRAY_LEN(templates); i++) {
            if (set >> i & 1)
                add(templates[i]);
        }
        for (unsigned number = 0; number < 1296; number += 7) {
            const char *line = nth_text(*state, "GET /", pieces, MRG_ARRAY_LEN(pieces), number, 4);
            struct mrg_slice path = mrg_slice_of(line + 4);
            const char *text = found(*state, line);
            bool any = false;
            for (size_t i = 0; i < service.method_count; i++) {
                bool matches = mrg_route_matches(bindings[i], MRG_SLICE("GET"), path, NULL);
                any |= matches;
                if (text && strcmp(text, mrg_binding_text(bindings[i])) == 0)
                    assert_true(matches);
            }
            if (any != (text != NULL))
                fail_msg("%s: %s, but %s one by one", line, text ? text : "none", any ? "some" : "none");
        }
        tear_down(state);
        set_up(state);
    }
}

static void test_many_bindings(void **state)
{
    for (unsigned i = 0; i < MANY; i++)
        add(mrg_arena_printf(*state, "GET /v1/projects/{item_id}/kind%u/{note}/part%u", i / 8, i % 8));
    for (unsigned i = 0; i < MANY; i++) {
        const char *line = mrg_arena_printf(*state, "GET /v1/projects/p/kind%u/n/part%u", i / 8, i % 8);
        assert_found(*state, line, mrg_binding_text(bindings[i]));
    }
    assert_found(*state, "GET /v1/projects/p/kind1/n/part8", NULL);
}

/* A path that fits at every step but the last does not take more steps than there are rules. */
static void test_a_path_that_fits_many_rules_nearly(void **state)
{
    for (unsigned i = 0; i < 256; i++) {
        struct mrg_buf rule;
        mrg_buf_init(&rule, SIZE_MAX);
        mrg_buf_append_str(&rule, "GET ");
        for (unsigned bit = 0; bit < 8; bit++)
            mrg_buf_append_str(&rule, i >> bit & 1 ? "/a" : "/*");
        add(rule.data);
        mrg_buf_done(&rule);
    }
    assert_found(*state, "GET /a/a/a/a/a/a/a/a", mrg_binding_text(bindings[255]));
    assert_found(*state, "GET /b/a/a/a/a/a/a/a", mrg_binding_text(bindings[254]));
    assert_found(*state, "GET /a/a/a/a/a/a/a/a/b", NULL);
}

static char astray; /* what a thread that found another gives back */

static void *look(void *ctx)
{
    struct mrg_request request = {.method = MRG_SLICE("GET"), .path = MRG_SLICE("/items/a")};
    const struct mrg_binding *binding = NULL;
    (void)ctx;
    bool right = mrg_route_find(schema, &request, &binding) == &methods[1] && binding == bindings[1];
    return right ? NULL : &astray;
}

static void test_first_asked_by_several_threads(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        pthread_t threads[4];
        void *wrong;
        add("GET /items");
        add("GET /items/{item_id}");
        for (size_t i = 0; i < MRG_ARRAY_LEN(threads); i++)
            assert_int_equal(pthread_create(&threads[i], NULL, look, NULL), 0);
        for (size_t i = 0; i < MRG_ARRAY_LEN(threads); i++) {
            assert_int_equal(pthread_join(threads[i], &wrong), 0);
            assert_null(wrong);
        }
        tear_down(state);
        set_up(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_goes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_by_name_though_there_are_bindings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_bindings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_agrees_with_matching_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_bindings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_path_that_fits_many_rules_nearly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_asked_by_several_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
