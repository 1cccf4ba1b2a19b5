// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "route_help.h"
#include "wire/route.h"

/* The schema of these tests: one method, with these bindings. */
static struct mrg_binding *bindings[3];
static struct mrg_method method;
static struct mrg_service service = {.full_name = {"shop.Shop", 9}, .methods = &method, .method_count = 1};
static const struct mrg_service *services[] = {&service};

const struct mrg_service *const *__wrap_mrg_schema_services(const struct mrg_schema *schema,
                                                            size_t *ret_count);
const struct mrg_method *__wrap_mrg_schema_method(const struct mrg_schema *schema, struct mrg_slice path);

const struct mrg_service *const *__wrap_mrg_schema_services(const struct mrg_schema *schema,
                                                            size_t *ret_count)
{
    (void)schema;
    *ret_count = 1;
    return services;
}

const struct mrg_method *__wrap_mrg_schema_method(const struct mrg_schema *schema, struct mrg_slice path)
{
    (void)schema;
    return mrg_slice_eq(path, method.path) ? &method : NULL;
}

static int set_up(void **state)
{
    *state = mrg_arena_new(0);
    help_types(NULL);
    bindings[0] = help_binding("POST /items/{item_id}", "*", NULL);
    bindings[1] = help_binding("GET /items/{line.next.count}", NULL, NULL);
    bindings[2] = help_binding("PUT /items/{line.sku_code}", "line", NULL);
    method = help_method(bindings, MRG_ARRAY_LEN(bindings));
    return 0;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < MRG_ARRAY_LEN(bindings); i++)
        mrg_binding_free(bindings[i]);
    mrg_arena_free(*state);
    return 0;
}

/* A request of "METHOD /path?query BODY" becomes `expected`; NULL: it stays itself, and nothing is allocated. */
static void assert_canonical(struct mrg_arena *arena, const char *line, const char *body,
                             const char *expected)
{
    struct mrg_arena *made = NULL;
    struct mrg_request request = sample(arena, line, "x: y", body);
    const char *before = help_shown(arena, &request);
    const struct mrg_request *canonical = mrg_route_canonical(NULL, &made, &request);
    assert_string_equal(help_shown(arena, &request), before);
    if (!expected) {
        if (canonical != &request)
            fail_msg("%s: became %s", before, help_shown(arena, canonical));
        assert_null(made);
        return;
    }
    if (canonical == &request)
        fail_msg("%s: not changed", before);
    const char *shown = help_shown(arena, canonical);
    if (strcmp(shown, expected) != 0)
        fail_msg("%s: became %s, not %s", before, shown, expected);
    assert_ptr_equal(canonical->headers, request.headers);
    if (canonical->body.kind == MRG_BODY_JSON)
        assert_int_equal(mrg_json_check(canonical->body.bytes, NULL), MRG_ERR_OK);
    const struct mrg_request *again = mrg_route_canonical(NULL, &made, canonical);
    assert_ptr_equal(again, canonical);
    mrg_arena_free(made);
}

static void test_nothing_to_change(void **state)
{
    static const struct {
        const char *line;
        const char *body;
    } cases[] = {
        {"POST /other", "{\"quantity\":0}"},
        {"GET /items", "{\"quantity\":0}"},
        {"POST /items/a", NULL},
        {"POST /items/a", "{}"},
        {"POST /items/a", "[{\"quantity\":0}]"},
        {"POST /items/a", "{\"quantity\":0"},
        {"POST /items/a?quantity=0", "{\"quantity\":1}"},
        {"POST /items/a",
         "{\"unknown\":0,\"quantity\":\"0\",\"note\":0,\"tags\":{},\"counts\":[],\"kind\":\"BOX\"}"},
        {"POST /items/a",
         "{\"quantity\":false,\"note\":null,\"kind\":\"unknown\",\"dry_run\":0,\"price\":\"0\"}"},
        {"POST /items/a", "{\"big\":\"0\",\"kind\":\"0\",\"kinds\":[0],\"price\":-0.1e0,\"quantity\":10}"},
        {"POST /items/a", "{\"page_limit\":0,\"most\":0,\"line\":{},\"extra\":{},\"at\":\"\"}"},
        {"POST /items/a", "{\"counts\":{\"quantity\":0},\"extra\":{\"quantity\":0},\"tags\":[\"\"]}"},
        {"GET /items/1?quantity=1&note=a&tags=&page_limit=0&kinds=0&unknown=0&most=0", NULL},
        {"GET /items/1?quantity&quantity=&dry_run=0&kind=&kind=unknown&price=0x0", NULL},
        {"GET /items/1?line.next.count=0&line=0&line.=0", NULL},
        {"GET /items/1?quantity=0&quantity=1", NULL},
        {"POST /items/a", "{\"most\":{\"value\":0}}"},
        {"GET /items/1", "{\"quantity\":0}"},
        {"PUT /items/a?line.count=0&line.sku_code=", "{\"count\":1}"},
        {"POST /shop.Shop/Reserve?quantity=0", "{\"quantity\":1}"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++)
        assert_canonical(*state, cases[i].line, cases[i].body, NULL);
}

static void assert_body(struct mrg_arena *arena, const char *body, const char *expected)
{
    assert_canonical(arena, "POST /items/a", body, mrg_arena_printf(arena, "POST /items/a %s", expected));
    assert_canonical(arena, "POST /shop.Shop/Reserve", body,
                     mrg_arena_printf(arena, "POST /shop.Shop/Reserve %s", expected));
}

static void test_defaults_are_left_out(void **state)
{
    struct mrg_arena *a = *state;
    assert_body(
        a,
        "{\"item_id\":\"\",\"quantity\":0,\"note\":\"\",\"tags\":[],\"counts\":{},\"kind\":\"UNKNOWN\","
        "\"dry_run\":false,\"price\":0.0,\"big\":-0,\"raw\":\"\",\"lines\":[ ],\"named\":{\n},\"kinds\":[]}",
        "{}");
    assert_body(a, "{\"quantity\":0.0e5,\"kind\":\"NONE\",\"price\":-0.00E+3}", "{}");
    assert_body(a, "{\"kind\":0}", "{}");
    assert_body(a, "{ \"quantity\" : 0 , \"note\" : \"n\" }", "{ \"note\" : \"n\" }");
    assert_body(a, "{ \"note\" : \"n\" , \"quantity\" : 0 }", "{ \"note\" : \"n\" }");
    assert_body(
        a, "{\"big\":0,\"quantity\":0,\"note\":\"n\",\"price\":0,\"raw\":\"\",\"x\":[1, 2.50],\"kind\":0}",
        "{\"note\":\"n\",\"x\":[1, 2.50]}");
    assert_body(a, "{\"\\u0071uantity\":0,\"note\":\"n\"}", "{\"note\":\"n\"}");
}

static void test_defaults_within_messages(void **state)
{
    struct mrg_arena *a = *state;
    assert_body(a, "{\"line\":{\"count\":0}}", "{\"line\":{}}");
    assert_body(
        a, "{\"line\":{\"count\":0,\"next\":{\"sku_code\":\"\",\"next\":{\"sku_code\":\"a\",\"count\":0}}}}",
        "{\"line\":{\"next\":{\"next\":{\"sku_code\":\"a\"}}}}");
    assert_body(a, "{\"lines\":[{\"count\":0},7,{\"count\":1},{\"sku_code\":\"\",\"x\":0}]}",
                "{\"lines\":[{},7,{\"count\":1},{\"x\":0}]}");
    assert_body(a, "{\"named\":{\"count\":{\"count\":0},\"\":{\"next\":{\"count\":0}}},\"counts\":{\"a\":0}}",
                "{\"named\":{\"count\":{},\"\":{\"next\":{}}},\"counts\":{\"a\":0}}");
    assert_body(a, "{\"quantity\":0,\"line\":{\"count\":0},\"note\":\"\"}", "{\"line\":{}}");
}

static void test_names_become_the_protos(void **state)
{
    struct mrg_arena *a = *state;
    assert_body(a, "{\"pageLimit\":0,\"dryRun\":true}", "{\"page_limit\":0,\"dry_run\":true}");
    assert_body(a, "{\"dryRun\":false,\"itemId\":\"a\"}", "{\"item_id\":\"a\"}");
    assert_body(a, "{\"lines\":[{\"skuCode\":\"a\",\"next\":{\"skuCode\":\"b\"}}]}",
                "{\"lines\":[{\"sku_code\":\"a\",\"next\":{\"sku_code\":\"b\"}}]}");
    /* No key twice. */
    assert_canonical(a, "POST /items/a", "{\"itemId\":\"a\",\"item_id\":\"b\"}", NULL);
    assert_canonical(a, "POST /items/a", "{\"itemId\":\"a\",\"item\\u005fid\":\"b\"}", NULL);
    assert_body(a, "{\"itemId\":\"a\",\"item_id\":\"b\",\"dryRun\":true}",
                "{\"itemId\":\"a\",\"item_id\":\"b\",\"dry_run\":true}");
}

/* The path says that the message is there. */
static void test_messages_that_the_path_implies(void **state)
{
    struct mrg_binding *binding = help_binding("POST /items/{line.next.sku_code}", "*", NULL);
    struct mrg_binding *before = bindings[0];
    bindings[0] = binding;
    assert_canonical(*state, "POST /items/a", "{\"line\":{\"next\":{}}}", "POST /items/a {}");
    assert_canonical(*state, "POST /items/a",
                     "{\"line\":{\"next\":{\"count\":0},\"sku_code\":\"\"},\"quantity\":1}",
                     "POST /items/a {\"quantity\":1}");
    assert_canonical(*state, "POST /items/a", "{\"line\":{\"next\":{\"count\":0},\"sku_code\":\"b\"}}",
                     "POST /items/a {\"line\":{\"sku_code\":\"b\"}}");
    assert_canonical(*state, "POST /items/a", "{\"line\":{\"next\":{\"next\":{}}}}", NULL);
    assert_canonical(*state, "POST /items/a", "{\"line\":{\"next\":3}}", NULL);
    bindings[0] = before;
    mrg_binding_free(binding);
}

static void test_a_body_that_is_a_field(void **state)
{
    assert_canonical(*state, "PUT /items/a?quantity=0",
                     "{\"skuCode\":\"b\",\"count\":0,\"next\":{\"count\":0}}",
                     "PUT /items/a {\"sku_code\":\"b\",\"next\":{}}");
    assert_canonical(*state, "PUT /items/a?note=n", "{\"count\":0,\"note\":\"\"}",
                     "PUT /items/a?note=n {\"note\":\"\"}");
}

static void assert_query(struct mrg_arena *arena, const char *query, const char *expected)
{
    assert_canonical(arena, mrg_arena_printf(arena, "GET /items/1?%s", query), NULL,
                     mrg_arena_printf(arena, "GET /items/1%s%s", *expected ? "?" : "", expected));
}

static void test_queries(void **state)
{
    struct mrg_arena *a = *state;
    assert_query(a, "quantity=0", "");
    assert_query(a, "quantity=0&note=&dry_run=false&kind=UNKNOWN&price=-0.0&big=0&raw=", "");
    assert_query(a, "kind=0", "");
    assert_query(a, "kind=NONE&note=a", "note=a");
    assert_query(a, "note=a%20b&quantity=0&tags=x+y", "note=a%20b&tags=x+y");
    assert_query(a, "line.count=0&line.next.next.sku_code=&line.sku_code=a", "line.sku_code=a");
    assert_query(a, "qu%61ntity=%30&note=a", "note=a");
    assert_query(a, "dryRun=true&line.skuCode=a%2Fb&page%4Cimit=0",
                 "dry_run=true&line.sku_code=a%2Fb&page_limit=0");
    assert_query(a, "&&note=a&&quantity=0&tags=b&&dry_run=false", "&&note=a&&tags=b&");
    assert_query(a, "note=a&big=0&dry_run=false", "note=a");
    assert_query(a, "dryRun=false&tags=a&tags=", "tags=a&tags=");
}

static void test_numbers_of_real_fields(void **state)
{
    struct mrg_arena *a = *state;
    assert_body(a, "{\"price\":5}", "{\"price\":5.0}");
    assert_body(a, "{\"price\" : -12 , \"quantity\":5}", "{\"price\" : -12.0 , \"quantity\":5}");
    assert_canonical(a, "POST /items/a", "{\"price\":5.0,\"quantity\":5}", NULL);
    assert_canonical(a, "POST /items/a", "{\"price\":\"5\",\"note\":\"1\"}", NULL);
    assert_canonical(a, "POST /items/a", "{\"price\":5e1,\"counts\":{\"a\":1}}", NULL);
}

/* Callers differ in what they escape. */
static void test_paths(void **state)
{
    struct mrg_arena *a = *state;
    assert_canonical(a, "POST /items/a:b@c,d", "{}", "POST /items/a%3Ab%40c%2Cd {}");
    assert_canonical(a, "POST /items/%61%2f%7e-%zz%4", "{}", "POST /items/a%2F~-%25zz%254 {}");
    assert_canonical(a, "POST /items/a%3Ab", "{}", NULL);
    assert_canonical(a, "POST /other/a:b", "{}", NULL);
}

/* What one message is over gRPC, and what a caller over HTTP sends for it, are alike. */
static void test_wires_agree(void **state)
{
    struct mrg_arena *made = NULL;
    struct mrg_request grpc = {.header_count = 0};
    mrg_route_request(
        &method, *state,
        MRG_SLICE("{\"item_id\":\"\",\"quantity\":0,\"note\":\"\",\"tags\":[\"a\"],\"line\":{\"sku_code\":"
                  "\"\",\"count\":0,\"next\":{\"sku_code\":\"\",\"count\":7}},\"dry_run\":true}"),
        &grpc);
    struct mrg_request http = sample(*state, "GET /items/7?tags=a&dryRun=true&quantity=0", NULL, NULL);
    const char *one = help_shown(*state, mrg_route_canonical(NULL, &made, &grpc));
    assert_string_equal(help_shown(*state, mrg_route_canonical(NULL, &made, &http)), one);
    assert_string_equal(one, "GET /items/7?tags=a&dry_run=true");
    mrg_arena_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_to_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_defaults_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_defaults_within_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_become_the_protos, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_messages_that_the_path_implies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_body_that_is_a_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_queries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numbers_of_real_fields, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wires_agree, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
