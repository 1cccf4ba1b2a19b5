// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "route_help.h"
#include "wire/route.h"

static int set_up(void **state)
{
    *state = mrg_arena_new(0);
    return help_types(NULL);
}

static int tear_down(void **state)
{
    mrg_arena_free(*state);
    return 0;
}

static enum mrg_err message_of(struct mrg_arena *arena, const char *rule, const char *rule_body,
                               const char *line, const char *body, struct mrg_buf *buf, struct mrg_error *err)
{
    struct mrg_binding *binding = rule ? help_binding(rule, rule_body, NULL) : NULL;
    struct mrg_method method = help_method(&binding, rule != NULL);
    struct mrg_request request = sample(arena, line, NULL, body);
    mrg_buf_append_char(buf, '>');
    enum mrg_err code = mrg_route_message(&method, binding, &request, buf, err);
    mrg_binding_free(binding);
    return code;
}

static void assert_message(struct mrg_arena *arena, const char *rule, const char *rule_body, const char *line,
                           const char *body, const char *expected)
{
    struct mrg_buf buf;
    struct mrg_error err = {.message = ""};
    mrg_buf_init(&buf, SIZE_MAX);
    if (message_of(arena, rule, rule_body, line, body, &buf, &err))
        fail_msg("%s: %s", line, err.message);
    assert_string_equal(buf.data + 1, expected);
    assert_int_equal(mrg_json_check((struct mrg_slice){buf.data + 1, buf.len - 1}, NULL), MRG_ERR_OK);
    mrg_buf_done(&buf);
}

static void assert_refused(struct mrg_arena *arena, const char *rule, const char *rule_body, const char *line,
                           const char *body, const char *message)
{
    struct mrg_buf buf;
    struct mrg_error err = {.message = ""};
    mrg_buf_init(&buf, SIZE_MAX);
    assert_int_equal(message_of(arena, rule, rule_body, line, body, &buf, &err), MRG_ERR_INVALID);
    assert_string_equal(err.message, message);
    mrg_buf_done(&buf);
}

static void test_paths(void **state)
{
    struct mrg_arena *a = *state;
    assert_message(a, "GET /items/{item_id}", "", "GET /items/a%20b%2Fc%25%C3%A9", NULL,
                   "{\"item_id\":\"a b/c%é\"}");
    assert_message(a, "GET /items/{item_id=**}", "", "GET /items/a%20b/c%2Fd%2f%41", NULL,
                   "{\"item_id\":\"a b/c%2Fd%2fA\"}");
    assert_message(a, "GET /items/{item_id=**}", "", "GET /items", NULL, "{\"item_id\":\"\"}");
    assert_message(a, "GET /{item_id=shelves/*}/x", "", "GET /shelves/a/x", NULL,
                   "{\"item_id\":\"shelves/a\"}");
    assert_message(a, "GET /{line.sku_code}/{line.next.count}:move", "", "GET /x/7:move", NULL,
                   "{\"line\":{\"sku_code\":\"x\",\"next\":{\"count\":7}}}");
    assert_message(
        a, "GET /{kind}/{dry_run}/{price}/{big}/{quantity}/{raw}", "",
        "GET /BOX/true/1e-7/-9223372036854775808/0/%2B%2F%3D%3D", NULL,
        "{\"kind\":\"BOX\",\"dry_run\":true,\"price\":1e-7,\"big\":-9223372036854775808,\"quantity\":0,"
        "\"raw\":\"+/==\"}");
    assert_message(a, "GET /{kind}/{dry_run}/{price}/{big}", "", "GET /1/TRUE/NaN/01", NULL,
                   "{\"kind\":1,\"dry_run\":\"TRUE\",\"price\":\"NaN\",\"big\":\"01\"}");
    assert_message(a, "GET /{quantity}", "", "GET /%201", NULL, "{\"quantity\":\" 1\"}");
    assert_message(a, "GET /{quantity}", "", "GET /1%20", NULL, "{\"quantity\":\"1 \"}");
    assert_message(a, "GET /{note}", "", "GET /7", NULL, "{\"note\":\"7\"}");
}

static void test_bodies(void **state)
{
    struct mrg_arena *a = *state;
    assert_message(a, NULL, NULL, "POST /shop.Shop/Reserve", NULL, "{}");
    assert_message(a, NULL, NULL, "POST /shop.Shop/Reserve", " { \"a\" : 1.50 }", "{\"a\":1.50}");
    assert_message(a, "POST /items/{item_id}", "*", "POST /items/a", NULL, "{\"item_id\":\"a\"}");
    assert_message(a, "POST /items/{item_id}", "*", "POST /items/a", "{}", "{\"item_id\":\"a\"}");
    assert_message(a, "POST /items/{item_id}", "*", "POST /items/a", "{\"quantity\":2.0,\"odd\":[{}]}",
                   "{\"quantity\":2.0,\"odd\":[{}],\"item_id\":\"a\"}");
    assert_message(a, "POST /items/{item_id}", "*", "POST /items/a", "{\"item_id\":\"b\",\"note\":\"n\"}",
                   "{\"item_id\":\"a\",\"note\":\"n\"}");
    assert_message(a, "POST /items/{item_id}", "*", "POST /items/a",
                   "{\"itemId\":\"b\",\"item_id\":\"c\",\"\\u0069tem_id\\u0032\":1}",
                   "{\"itemId\":\"a\",\"\\u0069tem_id\\u0032\":1}");
    assert_message(a, "POST /items/{line.sku_code}", "*", "POST /items/a",
                   "{\"line\":{\"count\":1},\"note\":\"n\"}",
                   "{\"line\":{\"count\":1,\"sku_code\":\"a\"},\"note\":\"n\"}");
    assert_message(a, "POST /items/{line.sku_code}", "line", "POST /items/a?note=n", "{\"count\":1}",
                   "{\"line\":{\"count\":1,\"sku_code\":\"a\"},\"note\":\"n\"}");
    assert_message(a, "POST /items", "tags", "POST /items", "[\"a\"]", "{\"tags\":[\"a\"]}");
    assert_message(a, "POST /items", "line", "POST /items", NULL, "{}");
    assert_message(a, "DELETE /items", "", "DELETE /items", "{ }", "{}");
}

static void test_bodies_that_are_refused(void **state)
{
    struct mrg_arena *a = *state;
    assert_refused(a, NULL, NULL, "POST /shop.Shop/Reserve", "[1]", "the body is [1]; expected an object");
    assert_refused(a, NULL, NULL, "POST /shop.Shop/Reserve", "{", "the body is not JSON; expected an object");
    assert_refused(a, "POST /items", "line", "POST /items", "\xFF",
                   "the body is not JSON; expected a JSON value");
    assert_refused(a, "GET /items", "", "GET /items", "{\"a\":1}",
                   "the body is {\"a\":1}; expected none: this call has all its fields in path and query");
    assert_refused(a, "POST /items/{line.sku_code}", "*", "POST /items/a", "{\"line\":3}",
                   "\"line\" of the body is 3; expected an object, as the path has a field of it");
    assert_refused(a, "POST /items/{line.sku_code}", "line", "POST /items/a", "3",
                   "\"line\" of the body is 3; expected an object, as the path has a field of it");
}

static void test_queries(void **state)
{
    struct mrg_arena *a = *state;
    assert_message(
        a, "GET /items", "",
        "GET /items?item_id=a%26b+c&quantity=-3&page_limit=0&kind=BOX&dryRun=true&price=0.10&raw=AP8%3D",
        NULL,
        "{\"item_id\":\"a&b c\",\"quantity\":-3,\"page_limit\":0,\"kind\":\"BOX\",\"dry_run\":true,"
        "\"price\":0.10,\"raw\":\"AP8=\"}");
    assert_message(a, "GET /items", "", "GET /items?tags=a&kinds=1&tags=&kinds=BOX&tags=b", NULL,
                   "{\"tags\":[\"a\",\"\",\"b\"],\"kinds\":[1,\"BOX\"]}");
    assert_message(
        a, "GET /items/{line.next.count}", "",
        "GET /items/4?line.skuCode=x&line.next.sku_code=y&line.next.next.count=5", NULL,
        "{\"line\":{\"next\":{\"count\":4,\"sku_code\":\"y\",\"next\":{\"count\":5}},\"sku_code\":\"x\"}}");
    assert_message(a, "GET /items", "", "GET /items?at=2026-01-31T09%3A15%3A00Z&most=7&&", NULL,
                   "{\"at\":\"2026-01-31T09:15:00Z\",\"most\":7}");
    assert_message(a, "GET /items", "", "GET /items?quantity=&dry_run", NULL,
                   "{\"quantity\":\"\",\"dry_run\":\"\"}");
}

static void test_queries_that_are_refused(void **state)
{
    struct mrg_arena *a = *state;
    assert_refused(a, "GET /items", "", "GET /items?item=1", NULL,
                   "query \"item\": shop.Reserve has no such field");
    assert_refused(a, "GET /items", "", "GET /items?line.=1", NULL,
                   "query \"line.\": shop.Reserve has no such field");
    assert_refused(a, "GET /items", "", "GET /items?note.a=1", NULL,
                   "query \"note.a\": shop.Reserve has no such field");
    assert_refused(a, "GET /items", "", "GET /items?lines.count=1", NULL,
                   "query \"lines.count\": shop.Reserve has no such field");
    assert_refused(
        a, "GET /items", "", "GET /items?line=1", NULL,
        "query \"line\": a message or a map, which a query cannot hold; expected one of its fields");
    assert_refused(
        a, "GET /items", "", "GET /items?counts=1", NULL,
        "query \"counts\": a message or a map, which a query cannot hold; expected one of its fields");
    assert_refused(a, "GET /items", "", "GET /items?note=1&note=2", NULL,
                   "query \"note\": a second value for a field that is not repeated");
    assert_refused(a, "GET /items/{note}", "", "GET /items/a?note=a", NULL,
                   "query \"note\": the path gives this field; expected it there alone");
    assert_refused(a, "POST /items", "line", "POST /items?line.count=1", "{}",
                   "query \"line.count\": the field is the body of this call; expected it there");
    assert_refused(a, "POST /items", "*", "POST /items?note=1", "{}",
                   "query \"note\": the body holds all fields of this call; expected no query");
    assert_refused(a, NULL, NULL, "POST /shop.Shop/Reserve?note=1", "{}",
                   "query \"note\": the body holds all fields of this call; expected no query");
}

/* A message that a request was made of comes back, but for what a query leaves out. */
static void test_round_trips(void **state)
{
    static const struct {
        const char *rule;
        const char *body;
        const char *message;
    } cases[] = {
        {"POST /{note}/{line.next.sku_code}:do", "*",
         "{\"item_id\":\"a\",\"quantity\":0,\"note\":\"x/"
         "y\",\"line\":{\"count\":3,\"next\":{\"sku_code\":\"é\"}}}"},
        {"POST /{line.sku_code}", "line",
         "{\"note\":\"x\",\"tags\":[\"a\",\"b\"],\"line\":{\"sku_code\":\"1\"}}"},
        {"GET /{item_id=a/*/**}", "", "{\"item_id\":\"a/b/c/ d\",\"big\":9223372036854775807,\"most\":-1}"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct mrg_request request = {.header_count = 0};
        struct mrg_binding *binding = help_binding(cases[i].rule, cases[i].body, NULL);
        struct mrg_method method = help_method(&binding, 1);
        struct mrg_buf buf;
        struct mrg_error err;
        mrg_buf_init(&buf, SIZE_MAX);
        mrg_route_request(&method, *state, mrg_slice_of(cases[i].message), &request);
        assert_int_equal(mrg_route_message(&method, binding, &request, &buf, &err), MRG_ERR_OK);
        struct mrg_hash128 before = mrg_json_hash(mrg_slice_of(cases[i].message));
        struct mrg_hash128 after = mrg_json_hash(mrg_buf_slice(&buf));
        if (before.low != after.low || before.high != after.high)
            fail_msg("%s: %s", cases[i].message, buf.data);
        mrg_buf_done(&buf);
        mrg_binding_free(binding);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bodies_that_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_queries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_queries_that_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round_trips, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
