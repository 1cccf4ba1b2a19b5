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

static void test_rules_that_are_accepted(void **state)
{
    static const char *const rules[] = {
        "GET /",
        "GET /items/",
        "GET /items/{item_id}",
        "GET /{item_id=*}",
        "POST /v1/{item_id=shelves/*/books/**}:move",
        "PURGE /a-b_c.~!$&'()+,;=@%20/{line.next.next.sku_code}:do",
        "* /{kind}/{price}/{dry_run}/{big}/{raw}/{page_limit}",
        "GET /*/**",
    };
    (void)state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(rules); i++) {
        struct mrg_binding *binding = help_binding(rules[i], NULL, NULL);
        assert_string_equal(mrg_binding_text(binding), rules[i]);
        mrg_binding_free(binding);
    }
    mrg_binding_free(NULL);
}

static void assert_refused(const char *method, const char *path, const char *body, const char *response,
                           const char *message)
{
    struct mrg_binding *binding = NULL;
    struct mrg_error err = {.message = ""};
    assert_int_equal(
        mrg_binding_new(method, path, body, response, &help_reserve, &help_reserve, &binding, &err),
        MRG_ERR_INVALID);
    if (strcmp(err.message, message) != 0)
        fail_msg("\"%s\", not \"%s\"", err.message, message);
    assert_null(binding);
}

static void test_templates_that_are_refused(void **state)
{
    static const struct {
        const char *path;
        const char *message;
    } cases[] = {
        {"", "\"\", column 1: the template ends here; expected a template that begins with '/'"},
        {"items", "\"items\", column 1: 'i'; expected a template that begins with '/'"},
        {"/a//b", "\"/a//b\", column 4: '/'; expected *, **, text or a variable in braces"},
        {"/a b", "\"/a b\", column 3: the byte 0x20 cannot stand in a path; expected it percent-encoded"},
        {"/\xC3\xA9",
         "\"/\xC3\xA9\", column 2: the byte 0xC3 cannot stand in a path; expected it percent-encoded"},
        {"/a?b", "\"/a?b\", column 3: '?'; expected '/', ':' or the end"},
        {"/a:", "\"/a:\", column 4: the template ends here; expected a verb after ':'"},
        {"/a:b/c", "\"/a:b/c\", column 5: '/'; expected the end of the template after the verb"},
        {"/**/a", "\"/**/a\", column 5: a segment after **; expected ** to be the last one"},
        {"/***", "\"/***\", column 4: '*'; expected '/', ':' or the end"},
        {"/{item_id", "\"/{item_id\", column 10: the template ends here; expected '}'"},
        {"/{}", "\"/{}\", column 3: '}'; expected the name of a field"},
        {"/{item_id=}", "\"/{item_id=}\", column 11: '}'; expected *, ** or text"},
        {"/{item_id=a//b}", "\"/{item_id=a//b}\", column 13: '/'; expected *, ** or text"},
        {"/{item_id={note}}", "\"/{item_id={note}}\", column 11: '{'; expected *, ** or text"},
        {"/{item_id=**/a}",
         "\"/{item_id=**/a}\", column 14: a segment after **; expected ** to be the last one"},
        {"/{item_id}.json",
         "\"/{item_id}.json\", column 11: expected a variable to be a whole segment, between slashes"},
        {"/x-{item_id}",
         "\"/x-{item_id}\", column 4: expected a variable to be a whole segment, between slashes"},
        {"/{item_id}/{item_id}",
         "\"/{item_id}/{item_id}\", column 12: the variable stands in this template before"},
        {"/{item}", "\"/{item}\", column 3: shop.Reserve has no field \"item\""},
        {"/{line.item}", "\"/{line.item}\", column 8: shop.Line has no field \"item\""},
        {"/{line.}", "\"/{line.}\", column 8: '}'; expected the name of a field"},
        {"/{line}",
         "\"/{line}\", column 3: the field \"line\" is a message; a path has room for a single value only"},
        {"/{at}",
         "\"/{at}\", column 3: the field \"at\" is a message; a path has room for a single value only"},
        {"/{tags}",
         "\"/{tags}\", column 3: the field \"tags\" is repeated; a path has room for a single value only"},
        {"/{counts}",
         "\"/{counts}\", column 3: the field \"counts\" is a map; a path has room for a single value only"},
        {"/{note.a}",
         "\"/{note.a}\", column 3: the field \"note\" is no single message; it has no fields to name"},
        {"/{lines.count}",
         "\"/{lines.count}\", column 3: the field \"lines\" is no single message; it has no fields to name"},
    };
    (void)state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++)
        assert_refused("GET", cases[i].path, NULL, NULL, cases[i].message);
}

static void test_other_parts_that_are_refused(void **state)
{
    (void)state;
    assert_refused("", "/", NULL, NULL, "\"\" is no HTTP method");
    assert_refused("GET /", "/", NULL, NULL, "\"GET /\" is no HTTP method");
    assert_refused("POST", "/", "item", NULL, "body: shop.Reserve has no field \"item\"");
    assert_refused("POST", "/", "line.next", NULL, "body: shop.Reserve has no field \"line.next\"");
    assert_refused("POST", "/{note}", "note", NULL,
                   "body: the field \"note\" stands in the path already; expected another one");
    assert_refused("POST", "/", "*", "*", "response_body: shop.Reserve has no field \"*\"");
    assert_refused("POST", "/", "*", "reply", "response_body: shop.Reserve has no field \"reply\"");
}

static void test_limits_of_templates(void **state)
{
    struct mrg_buf path;
    struct mrg_binding *binding = NULL;
    struct mrg_error err;
    (void)state;
    mrg_buf_init(&path, SIZE_MAX);
    for (int i = 0; i < 64; i++)
        mrg_buf_append_str(&path, "/a");
    assert_int_equal(mrg_binding_new("GET", path.data, "", "", &help_reserve, &help_reserve, &binding, &err),
                     0);
    mrg_binding_free(binding);
    mrg_buf_append_str(&path, "/a");
    assert_int_equal(mrg_binding_new("GET", path.data, "", "", &help_reserve, &help_reserve, &binding, &err),
                     MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "column 130: expected at most 64 segments"));
    for (int i = 0; i < 10000; i++)
        mrg_buf_append_char(&path, 'a');
    assert_int_equal(mrg_binding_new("GET", path.data, "", "", &help_reserve, &help_reserve, &binding, &err),
                     MRG_ERR_TOO_LARGE);
    mrg_buf_clear(&path);
    mrg_buf_append_str(&path, "/{line");
    for (int i = 0; i < 8; i++)
        mrg_buf_append_str(&path, ".next");
    mrg_buf_append_str(&path, ".count}");
    assert_int_equal(mrg_binding_new("GET", path.data, "", "", &help_reserve, &help_reserve, &binding, &err),
                     MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "expected at most 8 names in a field path"));
    mrg_buf_done(&path);
}

static void assert_request(struct mrg_arena *arena, const char *rule, const char *body, const char *message,
                           const char *expected)
{
    struct mrg_request request = {.header_count = 3};
    struct mrg_binding *binding = help_binding(rule, body, NULL);
    struct mrg_method method = help_method(&binding, 1);
    size_t len = strlen(message);
    char *exact = mrg_malloc(len);
    memcpy(exact, message, len);
    mrg_route_request(&method, arena, (struct mrg_slice){exact, len}, &request);
    memset(exact, 'x', len);
    free(exact);
    const char *shown = help_shown(arena, &request);
    if (strcmp(shown, expected) != 0)
        fail_msg("%s, %s: %s, not %s", rule, message, shown, expected);
    assert_int_equal(request.header_count, 3);
    if (request.body.kind != MRG_BODY_NONE)
        assert_int_equal(mrg_json_check(request.body.bytes, NULL), MRG_ERR_OK);
    mrg_binding_free(binding);
}

static void test_paths(void **state)
{
    struct mrg_arena *a = *state;
    assert_request(a, "GET /items/{item_id}", "", "{\"item_id\":\"a b/c%\\u00e9\"}",
                   "GET /items/a%20b%2Fc%25%C3%A9");
    assert_request(a, "GET /items/{item_id=**}", "", "{\"item_id\":\"a b/c//d\"}", "GET /items/a%20b/c//d");
    assert_request(a, "GET /{item_id=shelves/*}/x", "", "{\"item_id\":\"shelves/a-._~B9\"}",
                   "GET /shelves/a-._~B9/x");
    assert_request(a, "GET /{item_id=only}", "", "{\"item_id\":\"only\"}", "GET /only");
    assert_request(a, "GET /{line.sku_code}/{line.next.count}:move", "",
                   "{\"line\":{\"sku_code\":\"x\",\"count\":0,\"next\":{\"sku_code\":\"\",\"count\":7}}}",
                   "GET /x/7:move");
    assert_request(a, "GET /{kind}/{dry_run}/{price}/{big}/{quantity}/{raw}/{page_limit}", "",
                   "{\"quantity\":0,\"page_limit\":0,\"kind\":\"UNKNOWN\",\"dry_run\":false,\"price\":1e-7,"
                   "\"big\":9223372036854775807,\"raw\":\"+/==\"}",
                   "GET /UNKNOWN/false/1e-7/9223372036854775807/0/%2B%2F%3D%3D/0");
    assert_request(a, "GET /items/", "", "{}", "GET /items/");
    assert_request(a, "* /items", "", "{}", "GET /items");
    assert_request(a, "* /items", "*", "{}", "POST /items {}");
}

/* The call is made by its name when no rule can say it. */
static void test_values_that_do_not_fit_a_path(void **state)
{
    static const struct {
        const char *rule;
        const char *message;
    } cases[] = {
        {"GET /items/{item_id}", "{}"},
        {"GET /items/{item_id}", "{\"item_id\":\"\"}"},
        {"GET /items/{item_id}", "{\"item_id\":null}"},
        {"GET /items/{line.sku_code}", "{\"item_id\":\"a\"}"},
        {"GET /items/{line.sku_code}", "{\"line\":{}}"},
        {"GET /items/{page_limit}", "{\"quantity\":1}"},
        {"GET /{item_id=shelves/*}", "{\"item_id\":\"shelves\"}"},
        {"GET /{item_id=shelves/*}", "{\"item_id\":\"shelves/\"}"},
        {"GET /{item_id=shelves/*}", "{\"item_id\":\"shelves/a/b\"}"},
        {"GET /{item_id=shelves/*}", "{\"item_id\":\"racks/a\"}"},
        {"GET /{item_id=*/**}", "{\"item_id\":\"/b\"}"},
        {"GET /{item_id=only}", "{\"item_id\":\"other\"}"},
        {"GET /items/*", "{\"item_id\":\"a\"}"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        const char *expected = mrg_arena_printf(*state, "POST /shop.Shop/Reserve %s", cases[i].message);
        assert_request(*state, cases[i].rule, "", cases[i].message, expected);
    }
}

static void test_bodies(void **state)
{
    struct mrg_arena *a = *state;
    assert_request(a, "POST /items/{item_id}", "*",
                   "{\"item_id\":\"a\",\"quantity\":2,\"note\":\"\",\"price\":1.50}",
                   "POST /items/a {\"quantity\":2,\"note\":\"\",\"price\":1.50}");
    assert_request(a, "POST /items/{item_id}", "*", "{\"quantity\":2,\"item_id\":\"a\"}",
                   "POST /items/a {\"quantity\":2}");
    assert_request(a, "POST /items/{item_id}", "*", "{\"item_id\":\"a\"}", "POST /items/a {}");
    assert_request(a, "POST /items", "*", " {\"item_id\":\"a\"} ", "POST /items {\"item_id\":\"a\"}");
    assert_request(a, "POST /items/{line.sku_code}", "*",
                   "{\"line\":{\"sku_code\":\"a\",\"count\":0},\"note\":\"n\"}",
                   "POST /items/a {\"line\":{\"count\":0},\"note\":\"n\"}");
    assert_request(a, "POST /items/{line.next.sku_code}", "*",
                   "{\"note\":\"n\",\"line\":{\"next\":{\"sku_code\":\"a\"}},\"tags\":[]}",
                   "POST /items/a {\"note\":\"n\",\"tags\":[]}");
    assert_request(
        a, "POST /items/{item_id}", "line",
        "{\"item_id\":\"a\",\"line\":{\"sku_code\":\"x\",\"count\":0},\"note\":\"n\",\"quantity\":0}",
        "POST /items/a?note=n {\"sku_code\":\"x\",\"count\":0}");
    assert_request(a, "POST /{line.sku_code}", "line", "{\"line\":{\"sku_code\":\"x\",\"count\":1}}",
                   "POST /x {\"count\":1}");
    assert_request(a, "POST /{line.sku_code}", "line", "{\"line\":{\"sku_code\":\"x\"}}", "POST /x {}");
    assert_request(a, "POST /items", "line", "{\"note\":\"n\"}", "POST /items?note=n");
    assert_request(a, "POST /items", "tags", "{\"tags\":[\"a\"]}", "POST /items [\"a\"]");
    assert_request(a, "POST /items", "note", "{\"note\":\"\"}", "POST /items \"\"");
}

static void test_queries(void **state)
{
    struct mrg_arena *a = *state;
    assert_request(
        a, "GET /items", NULL,
        "{\"item_id\":\"\",\"quantity\":0,\"tags\":[],\"counts\":{},\"kind\":\"UNKNOWN\",\"dry_run\":false,"
        "\"price\":-0.0,\"big\":0,\"raw\":\"\",\"lines\":[],\"kinds\":[]}",
        "GET /items");
    assert_request(
        a, "GET /items", NULL,
        "{\"item_id\":\"a&b=c d+é\",\"quantity\":-3,\"page_limit\":0,\"kind\":\"BOX\",\"dry_run\":true,"
        "\"price\":0.10,\"big\":9007199254740993,\"raw\":\"AP8=\"}",
        "GET /items?item_id=a%26b%3Dc%20d%2B%C3%A9&quantity=-3&page_limit=0&kind=BOX&dry_run=true&"
        "price=0.10&big=9007199254740993&raw=AP8%3D");
    assert_request(a, "GET /items", NULL, "{\"tags\":[\"a\",\"\",\"b\"],\"kinds\":[\"BOX\",\"UNKNOWN\",7]}",
                   "GET /items?tags=a&tags=&tags=b&kinds=BOX&kinds=UNKNOWN&kinds=7");
    assert_request(
        a, "GET /items/{line.next.count}", NULL,
        "{\"line\":{\"sku_code\":\"x\",\"count\":0,\"next\":{\"sku_code\":\"y\",\"count\":4,\"next\":{"
        "\"sku_code\":\"z\",\"count\":5}}},\"note\":\"n\"}",
        "GET /items/4?line.sku_code=x&line.next.sku_code=y&line.next.next.sku_code=z&line.next.next.count=5"
        "&note=n");
    assert_request(
        a, "GET /items", NULL,
        "{\"at\":\"2026-01-31T09:15:00Z\",\"most\":0,\"counts\":{},\"lines\":[],\"named\":{},\"extra\":null}",
        "GET /items?at=2026-01-31T09%3A15%3A00Z&most=0");
}

/* Two messages that differ must not become one request: the call is made by its name. */
static void test_what_a_query_cannot_say(void **state)
{
    static const char *const messages[] = {
        "{\"counts\":{\"a\":1}}",
        "{\"lines\":[{\"count\":1}]}",
        "{\"named\":{\"a\":{}}}",
        "{\"extra\":{\"a\":1}}",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(messages); i++) {
        const char *named = mrg_arena_printf(*state, "POST /shop.Shop/Reserve %s", messages[i]);
        assert_request(*state, "GET /items", NULL, messages[i], named);
        assert_request(*state, "POST /items", "line", messages[i], named);
        assert_request(*state, "POST /items", "*", messages[i],
                       mrg_arena_printf(*state, "POST /items %s", messages[i]));
    }
    assert_request(*state, "POST /items", "counts", messages[0], "POST /items {\"a\":1}");
}

static void test_the_first_rule_that_fits(void **state)
{
    struct mrg_request request = {.header_count = 0};
    struct mrg_binding *bindings[] = {
        help_binding("GET /v1/{item_id}/{note}", NULL, NULL),
        help_binding("GET /v1/{item_id}", NULL, NULL),
    };
    struct mrg_method method = help_method(bindings, 2);
    mrg_route_request(&method, *state, MRG_SLICE("{\"item_id\":\"a\",\"note\":\"b\"}"), &request);
    assert_string_equal(help_shown(*state, &request), "GET /v1/a/b");
    mrg_route_request(&method, *state, MRG_SLICE("{\"item_id\":\"a\",\"note\":\"\"}"), &request);
    assert_string_equal(help_shown(*state, &request), "GET /v1/a");
    mrg_route_request(&method, *state, MRG_SLICE("{\"item_id\":\"\",\"note\":\"b\"}"), &request);
    assert_string_equal(help_shown(*state, &request),
                        "POST /shop.Shop/Reserve {\"item_id\":\"\",\"note\":\"b\"}");
    mrg_binding_free(bindings[0]);
    mrg_binding_free(bindings[1]);
}

static void test_replies(void **state)
{
    struct mrg_request request = {.header_count = 0};
    struct mrg_binding *bindings[] = {
        help_binding("GET /v1/{item_id=**}", NULL, "lines"),
        help_binding("GET /v1/notes/{note}", NULL, "tags"),
        help_binding("PUT /v1", "*", NULL),
    };
    struct mrg_method method = help_method(bindings, 3);
    mrg_route_request(&method, *state, MRG_SLICE("{\"item_id\":\"a/b\"}"), &request);
    struct mrg_slice reply = mrg_route_reply(&method, &request, *state, MRG_SLICE("[{}]"));
    assert_string_equal(reply.ptr, "{\"lines\":[{}]}");
    assert_int_equal(reply.len, 14);
    /* The path is one of the first rule as well, but it was not made by it. */
    mrg_route_request(&method, *state, MRG_SLICE("{\"note\":\"b\"}"), &request);
    assert_string_equal(mrg_route_reply(&method, &request, *state, MRG_SLICE("[]")).ptr, "{\"tags\":[]}");
    request = sample(*state, "GET /v1/notes/b", NULL, NULL);
    assert_string_equal(mrg_route_reply(&method, &request, *state, MRG_SLICE("[]")).ptr, "{\"lines\":[]}");
    mrg_route_request(&method, *state, MRG_SLICE("{\"quantity\":1}"), &request);
    assert_string_equal(mrg_route_reply(&method, &request, *state, MRG_SLICE("{\"a\":1}")).ptr, "{\"a\":1}");
    request = sample(*state, "POST /shop.Shop/Reserve", NULL, "{}");
    assert_string_equal(mrg_route_reply(&method, &request, *state, MRG_SLICE("{\"a\":1}")).ptr, "{\"a\":1}");
    for (size_t i = 0; i < 3; i++)
        mrg_binding_free(bindings[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rules_that_are_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_templates_that_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_parts_that_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_of_templates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_that_do_not_fit_a_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_queries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_a_query_cannot_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_first_rule_that_fits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replies, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
