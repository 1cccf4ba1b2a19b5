// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/query.h"
#include "core/request.h"
#include "sample.h"
#include "util/base64.h"
#include "util/json.h"

static int set_up(void **state)
{
    *state = mrg_arena_new(0);
    return 0;
}

static int tear_down(void **state)
{
    mrg_arena_free(*state);
    return 0;
}

static void assert_kind(struct mrg_arena *arena, const char *type, const char *body, size_t len,
                        enum mrg_body_kind kind)
{
    struct mrg_slice content_type = mrg_slice_of(type);
    struct mrg_body got = mrg_body_classify(sample_copy(arena, body, len), type ? &content_type : NULL);
    if (got.kind != kind)
        fail_msg("%s, %s: kind %d, expected %d", type ? type : "no type", body, got.kind, kind);
}

static void test_classify(void **state)
{
    struct mrg_arena *arena = *state;
    assert_kind(arena, NULL, "", 0, MRG_BODY_NONE);
    assert_kind(arena, "application/json", "", 0, MRG_BODY_NONE);
    assert_kind(arena, NULL, "{\"a\":1}", 7, MRG_BODY_JSON);
    assert_kind(arena, "Application/JSON ; charset=utf-8", " 1 ", 3, MRG_BODY_JSON);
    assert_kind(arena, "application/merge-patch+json", "null", 4, MRG_BODY_JSON);
    assert_kind(arena, "text/json", "[]", 2, MRG_BODY_JSON);
    assert_kind(arena, "application/jsonx", "[]", 2, MRG_BODY_TEXT);
    assert_kind(arena, "text/plain", "[]", 2, MRG_BODY_TEXT);
    assert_kind(arena, "application/x-www-form-urlencoded", "a=1", 3, MRG_BODY_TEXT);
    assert_kind(arena, "application/json", "{\"a\":", 5, MRG_BODY_TEXT);
    assert_kind(arena, "application/json", "{'a':1}", 7, MRG_BODY_TEXT);
    assert_kind(arena, "text/plain", "a\0b", 3, MRG_BODY_BINARY);
    assert_kind(arena, "text/plain", "\xff", 1, MRG_BODY_BINARY);
    assert_kind(arena, "+json", "{}", 2, MRG_BODY_TEXT);
}

static void assert_form(struct mrg_arena *arena, const struct mrg_request *request, const char *expected)
{
    assert_string_equal(sample_json(arena, request, NULL), expected);
}

static void test_normal_form(void **state)
{
    struct mrg_arena *arena = *state;
    struct mrg_request request = sample(arena, "GET /a%2Fb/", NULL, NULL);
    assert_form(arena, &request, "{\"method\":\"GET\",\"path\":\"/a%2Fb/\"}");
    request = sample(arena, "POST /x?b=2&a=1&b=%20+&flag&&a=",
                     "x-b: 1\nx-a: \"q\"\nx-b: 2\ncontent-type: application/json",
                     "{ \"n\" : 100.000001, \"s\":\"2\" }");
    assert_form(
        arena, &request,
        "{\"method\":\"POST\",\"path\":\"/x\",\"query\":{\"b\":[\"2\",\"  "
        "\"],\"a\":[\"1\",\"\"],\"flag\":\"\"},"
        "\"headers\":{\"x-b\":[\"1\",\"2\"],\"x-a\":\"\\\"q\\\"\"},\"body\":{\"n\":100.000001,\"s\":\"2\"}}");
    request = sample(arena, "PUT /t", "content-type: text/plain", "a\n\"b\"");
    assert_form(arena, &request,
                "{\"method\":\"PUT\",\"path\":\"/t\",\"headers\":{\"content-type\":\"text/"
                "plain\"},\"body_text\":\"a\\n\\\"b\\\"\"}");
    request = sample_bytes(arena, "PUT /b", "content-type: image/png", "\x89PNG\0", 5);
    assert_form(arena, &request,
                "{\"method\":\"PUT\",\"path\":\"/b\",\"headers\":{\"content-type\":\"image/"
                "png\"},\"body_base64\":\"iVBORwA=\"}");
}

static void test_query_that_is_not_utf8_stays_raw(void **state)
{
    struct mrg_arena *arena = *state;
    struct mrg_request request = sample(arena, "GET /x?a=%FF&b=%C3%A9", NULL, NULL);
    assert_form(arena, &request,
                "{\"method\":\"GET\",\"path\":\"/x\",\"query\":{\"a\":\"%FF\",\"b\":\"\xC3\xA9\"}}");
}

static void test_bytes_that_are_not_utf8_are_shown(void **state)
{
    struct mrg_arena *arena = *state;
    struct mrg_request request =
        sample(arena, "GET /caf\xE9/\xC3\xA9?\xff=\xfe+1&b=\xC3\xA9", "x: caf\xE9 \\n\ny: \\xE9", NULL);
    assert_form(
        arena, &request,
        "{\"method\":\"GET\",\"path\":\"/caf%E9/\xC3\xA9\",\"query\":{\"%FF\":\"%FE+1\",\"b\":\"\xC3\xA9\"},"
        "\"headers\":{\"x\":\" caf\\\\xE9 \\\\\\\\n\",\"y\":\"\\\\xE9\"}}");
}

/* A line of a cassette puts two levels around a body. */
static void test_deep_bodies_are_text(void **state)
{
    struct mrg_arena *arena = *state;
    for (size_t depth = 97; depth <= 100; depth++) {
        char *deep = mrg_arena_zalloc(arena, 8 * depth + 1);
        for (size_t i = 0; i < depth; i++)
            memcpy(deep + 5 * i, i + 1 < depth ? "{\"]\":" : "[\"\\\"[", 5);
        memset(deep + 5 * depth, '}', depth);
        memcpy(deep + 5 * depth, "\"]", 2);
        memset(deep + 5 * depth + 2, '}', depth - 1);
        deep[5 * depth + 2 + depth - 1] = '\0';
        struct mrg_slice bytes = mrg_slice_of(deep);
        assert_int_equal(mrg_json_check(bytes, NULL), MRG_ERR_OK);
        assert_int_equal(mrg_body_classify(bytes, NULL).kind, depth <= 98 ? MRG_BODY_JSON : MRG_BODY_TEXT);
    }
}

static void assert_implied(struct mrg_arena *arena, const char *header, const char *body, bool implied)
{
    struct mrg_request request = sample(arena, "POST /x", header, body);
    if (mrg_header_is_implied(&request, &request.headers[0]) != implied)
        fail_msg("%s beside %s: expected %d", header, body ? body : "nothing", implied);
}

static void test_implied_headers(void **state)
{
    struct mrg_arena *arena = *state;
    assert_implied(arena, "content-type: application/json", "{}", true);
    assert_implied(arena, "content-type: application/json; charset=UTF-8", "{}", true);
    assert_implied(arena, "content-type: application/json; charset=latin-1", "{}", false);
    assert_implied(arena, "content-type: application/json", "{", false);
    assert_implied(arena, "content-type: application/json", NULL, false);
    assert_implied(arena, "content-type: application/vnd.x+json", "{}", false);
    assert_implied(arena, "accept: */*", NULL, true);
    assert_implied(arena, "accept: application/json", NULL, true);
    assert_implied(arena, "accept: application/json, text/plain, */*", NULL, true);
    assert_implied(arena, "accept: application/json;q=0.9", NULL, true);
    assert_implied(arena, "accept: application/json;version=2", NULL, false);
    assert_implied(arena, "accept: text/csv, */*", NULL, false);
    assert_implied(arena, "accept: */*, text/csv", NULL, false);
    assert_implied(arena, "accept: ", NULL, false);
    assert_implied(arena, "x-accept: */*", NULL, false);
    struct mrg_request read = sample(arena, "GET /x", "content-type: application/json", NULL);
    assert_true(mrg_header_is_implied(&read, &read.headers[0]));
    read = sample(arena, "GET /x", "content-type: text/csv", NULL);
    assert_false(mrg_header_is_implied(&read, &read.headers[0]));
}

static void test_noise(void **state)
{
    static const char *const hidden[] = {
        "connection",
        "content-length",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "host",
        "user-agent",
        "accept-encoding",
        "accept-language",
        "date",
        "via",
        "forwarded",
        "x-forwarded-for",
        "x-real-ip",
        "traceparent",
        "tracestate",
        "baggage",
        "mirage-session",
        "expect",
        "pragma",
        "cache-control",
        "sec-fetch-mode",
    };
    static const char *const shown[] = {
        "authorization", "idempotency-key", "x-request-id", "cookie", "if-none-match",
        "range",         "content-type",    "accept",       "hosts",  "x-forwarded",
        "mirage",        "x-b3-traceid",    "dat",          "prox",   "",
    };
    (void)state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(hidden); i++) {
        if (!mrg_header_is_noise(mrg_slice_of(hidden[i])))
            fail_msg("%s is shown", hidden[i]);
    }
    for (size_t i = 0; i < MRG_ARRAY_LEN(shown); i++) {
        if (mrg_header_is_noise(mrg_slice_of(shown[i])))
            fail_msg("%s is hidden", shown[i]);
    }
}

static void assert_round(struct mrg_arena *arena, const struct mrg_request *request)
{
    struct mrg_request back;
    struct mrg_error err;
    const char *json = sample_json(arena, request, NULL);
    if (mrg_request_parse(arena, mrg_slice_of(json), &back, &err))
        fail_msg("%s: %s", json, err.message);
    assert_string_equal(sample_json(arena, &back, NULL), json);
    assert_int_equal(back.body.kind, request->body.kind);
    assert_int_equal(back.body.bytes.ptr[back.body.bytes.len], 0);
}

static void test_round_trip(void **state)
{
    struct mrg_arena *arena = *state;
    struct mrg_request request = sample(arena, "GET /", NULL, NULL);
    assert_round(arena, &request);
    request = sample(arena, "POST /x%2f?a=1&a=%26%3D&z=%FF&%C3%A9=+&=v&a=3", "x: 1\ny: a, b\nx: \xC3\xA9",
                     " {\"a\": [1.50, 123456789012345678901234567890, null]} ");
    assert_round(arena, &request);
    request = sample(arena, "POST /x", "content-type: application/x-www-form-urlencoded", "a=1&b=%20");
    assert_round(arena, &request);
    request = sample_bytes(arena, "POST /x", "content-type: application/octet-stream", "\0\1\2\xff", 4);
    assert_round(arena, &request);
}

static void assert_refused(const char *json, const char *part)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_request request = {.header_count = 77};
    struct mrg_error err = {.message = ""};
    if (!mrg_request_parse(arena, mrg_slice_of(json), &request, &err))
        fail_msg("%s is taken", json);
    if (!strstr(err.message, part))
        fail_msg("%s: \"%s\" does not hold \"%s\"", json, err.message, part);
    assert_int_equal(request.header_count, 77);
    mrg_arena_free(arena);
}

static void test_parse_refuses(void **state)
{
    (void)state;
    assert_refused("{", "line 1");
    assert_refused("[]", "\"method\" is missing");
    assert_refused("{\"path\":\"/\"}", "\"method\" is missing");
    assert_refused("{\"method\":\"GET\"}", "\"path\" is missing; expected a string");
    assert_refused("{\"method\":7,\"path\":\"/\"}", "\"method\" is 7; expected a string");
    assert_refused("{\"method\":\"GET\",\"path\":\"/\",\"quary\":{}}", "unknown member \"quary\"");
    assert_refused("{\"method\":\"GET\",\"path\":\"/\",\"query\":[]}", "\"query\" is []; expected an object");
    assert_refused("{\"method\":\"GET\",\"path\":\"/\",\"query\":{\"a\":{}}}", "\"a\" of \"query\" is {}");
    assert_refused("{\"method\":\"GET\",\"path\":\"/\",\"headers\":{\"a\":[null]}}",
                   "\"a\" of \"headers\" is null");
    assert_refused("{\"method\":\"GET\",\"path\":\"/\",\"body\":1,\"body_text\":\"x\"}", "second body");
    assert_refused("{\"method\":\"GET\",\"path\":\"/\",\"body_base64\":\"x\"}", "base64");
    assert_refused("{\"method\":\"GET\",\"path\":\"/\",\"body_text\":{}}", "\"body_text\" is {}");
}

static void test_parse_by_hand(void **state)
{
    struct mrg_arena *arena = *state;
    struct mrg_request request;
    struct mrg_slice json = MRG_SLICE(
        "{\"path\":\"/x\",\"method\":\"GET\",\"query\":{\"n\":5,\"b\":true},\"headers\":{\"X-A\":1}}");
    assert_int_equal(mrg_request_parse(arena, json, &request, NULL), MRG_ERR_OK);
    assert_true(mrg_slice_eq_str(request.query, "n=5&b=true"));
    assert_non_null(mrg_request_header(&request, "x-a"));
    assert_null(mrg_request_header(&request, "x-"));
    assert_string_equal(mrg_request_header(&request, "x-a")->ptr, "1");
}

static void test_long_query_is_quick(void **state)
{
    struct mrg_arena *arena = *state;
    struct mrg_buf buf;
    size_t count;
    mrg_buf_init(&buf, SIZE_MAX);
    for (int i = 0; i < 4096; i++)
        mrg_buf_append_str(&buf, i ? "&a" : "a");
    struct mrg_query_pair *pairs = mrg_query_read(arena, mrg_buf_slice(&buf), &count);
    assert_int_equal(count, 4096);
    assert_int_equal(pairs[4095].index, 4095);
    mrg_buf_done(&buf);
}

static void test_base64(void **state)
{
    struct mrg_arena *arena = *state;
    static const char *const pairs[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
    static const char *const wrong[] = {
        "Z", "Zg=", "Zg", "Zh==", "Zm9=", "Zm9v\n", "Z===", "====", "Zg==Zg==", "Zm9-"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(pairs); i++) {
        struct mrg_buf buf;
        struct mrg_slice bytes;
        mrg_buf_init(&buf, SIZE_MAX);
        mrg_base64_append(&buf, mrg_slice_of(pairs[i][0]));
        assert_true(mrg_slice_eq_str(mrg_buf_slice(&buf), pairs[i][1]));
        assert_true(mrg_base64_decode(arena, mrg_slice_of(pairs[i][1]), &bytes));
        assert_true(mrg_slice_eq_str(bytes, pairs[i][0]));
        mrg_buf_done(&buf);
    }
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++) {
        struct mrg_slice bytes;
        if (mrg_base64_decode(arena, mrg_slice_of(wrong[i]), &bytes))
            fail_msg("%s is taken", wrong[i]);
    }
}

static void test_tokens_and_controls(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char text[] = {'a', (char)c};
        bool token = c > 0x20 && c < 0x7f && !strchr("\"(),/:;<=>?@[\\]{}", c);
        assert_int_equal(mrg_is_token((struct mrg_slice){text, 2}), token);
        assert_int_equal(mrg_token_lower[c], !token ? 0 : c >= 'A' && c <= 'Z' ? c + 32 : c);
        assert_int_equal(mrg_has_control((struct mrg_slice){text, 2}), (c < 0x20 && c != '\t') || c == 0x7f);
    }
    assert_false(mrg_is_token(MRG_SLICE("")));
    assert_false(mrg_has_control(MRG_SLICE("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_and_controls),
        cmocka_unit_test_setup_teardown(test_classify, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_normal_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_query_that_is_not_utf8_stays_raw, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes_that_are_not_utf8_are_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deep_bodies_are_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_implied_headers, set_up, tear_down),
        cmocka_unit_test(test_noise),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test_setup_teardown(test_parse_by_hand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_query_is_quick, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_base64, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
