// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/limits.h"
#include "core/reply.h"
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

static struct mrg_reply parse(struct mrg_arena *arena, const char *text)
{
    struct mrg_reply reply;
    struct mrg_error err;
    if (mrg_reply_parse(arena, mrg_slice_of(text), &reply, &err))
        fail_msg("%s: %s", text, err.message);
    return reply;
}

static void assert_body(struct mrg_arena *arena, const char *text, enum mrg_body_kind kind, const char *bytes)
{
    struct mrg_reply reply = parse(arena, text);
    if (reply.body.kind != kind || !mrg_slice_eq_str(reply.body.bytes, bytes))
        fail_msg("%s: kind %d, %s", text, reply.body.kind, reply.body.bytes.ptr);
    assert_int_equal(reply.body.bytes.ptr[reply.body.bytes.len], 0);
}

static void test_bodies(void **state)
{
    struct mrg_arena *arena = *state;
    assert_body(arena, " {\"status\":204}", MRG_BODY_NONE, "");
    assert_body(arena, "{\"status\":200,\"body\":null}", MRG_BODY_JSON, "null");
    assert_body(arena, "{\"status\":200,\"body\":{ \"a\" : 1.50 }}", MRG_BODY_JSON, "{\"a\":1.50}");
    assert_body(arena, "{\"status\":200,\"body\":\"x\"}", MRG_BODY_JSON, "\"x\"");
    assert_body(arena, "{\"status\":200,\"headers\":{\"content-type\":\"text/plain\"},\"body\":\"x\\n\"}",
                MRG_BODY_TEXT, "x\n");
    assert_body(arena, "{\"status\":200,\"body\":\"x\",\"headers\":{\"Content-Type\":\"text/plain\"}}",
                MRG_BODY_TEXT, "x");
    assert_body(arena, "{\"status\":200,\"body\":\"x\",\"headers\":{\"content-type\":\"application/json\"}}",
                MRG_BODY_JSON, "\"x\"");
    assert_body(arena, "{\"status\":200,\"body\":[1],\"headers\":{\"content-type\":\"text/plain\"}}",
                MRG_BODY_JSON, "[1]");
    assert_body(arena, "{\"status\":200,\"body_text\":\"{\"}", MRG_BODY_TEXT, "{");
    assert_body(arena, "{\"status\":200,\"body_base64\":\"Zm9v\"}", MRG_BODY_BINARY, "foo");
    assert_body(arena, "{\"status\":200,\"body_text\":null,\"body\":1}", MRG_BODY_JSON, "1");
}

static void test_headers(void **state)
{
    struct mrg_reply reply = parse(
        *state,
        "{\"status\":201,\"headers\":{\"Location\":\" /x \",\"Set-Cookie\":[\"a=1\",\"b=2\"],\"n\":3}}");
    assert_int_equal(reply.status, 201);
    assert_int_equal(reply.header_count, 4);
    assert_string_equal(reply.headers[0].name.ptr, "location");
    assert_string_equal(reply.headers[0].value.ptr, "/x");
    assert_string_equal(reply.headers[2].name.ptr, "set-cookie");
    assert_string_equal(reply.headers[2].value.ptr, "b=2");
    assert_string_equal(reply.headers[3].value.ptr, "3");
}

static void test_later_members_are_dropped(void **state)
{
    struct mrg_reply reply = parse(*state, "{\"status\":409,\"messages\":[1],\"state\":{\"n\":1},"
                                           "\"unsure\":null,\"headers\":null,\"body\":{}}");
    assert_int_equal(reply.status, 409);
    assert_int_equal(reply.header_count, 0);
    assert_int_equal(reply.unsure.len, 0);
    parse(*state, "{\"status\":200,\"messages\":null,\"grpc_message\":null}");
    parse(*state, "{\"unsure\":\"why\",\"messages\":[]}");
}

static void test_grpc_members(void **state)
{
    static const char text[] =
        "{\"status\":409,\"grpc_status\":\"ABORTED\",\"grpc_message\":\"x\",\"grpc_details\":"
        "[{\"@type\":\"t\"}],\"trailers\":{\"a\":\"b\",\"c\":[\"1\",\"2\"]}}";
    struct mrg_reply reply = parse(*state, text);
    assert_true(reply.has_grpc_status);
    assert_int_equal(reply.grpc_status, 10);
    assert_string_equal(reply.grpc_message.ptr, "x");
    assert_string_equal(reply.grpc_details.ptr, "[{\"@type\":\"t\"}]");
    assert_int_equal(reply.trailer_count, 3);
    assert_string_equal(reply.trailers[2].value.ptr, "2");
    assert_int_equal(mrg_reply_grpc_status(&reply), 10);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_reply_append_json(&buf, &reply);
    assert_string_equal(buf.data, text);
    mrg_buf_done(&buf);

    reply = parse(*state, "{\"grpc_status\":\"NOT_FOUND\"}");
    assert_int_equal(reply.status, 404);
    reply = parse(*state, "{\"grpc_status\":77,\"status\":422,\"body\":{}}");
    assert_int_equal(reply.status, 422);
    assert_int_equal(mrg_reply_grpc_status(&reply), 77);
    reply = parse(*state, "{\"grpc_status\":2147483647}");
    assert_int_equal(mrg_reply_grpc_status(&reply), 2147483647);
    reply = parse(*state, "{\"status\":422,\"body\":{}}");
    assert_false(reply.has_grpc_status);
    assert_int_equal(mrg_reply_grpc_status(&reply), 3);
}

static void test_body_of_a_grpc_status(void **state)
{
    struct mrg_reply reply = parse(*state, "{\"grpc_status\":\"NOT_FOUND\",\"grpc_message\":\"no \\\"x\\\"\","
                                           "\"grpc_details\":[ {\"@type\":\"t\"}]}");
    struct mrg_body body = mrg_reply_body(&reply, *state);
    assert_int_equal(body.kind, MRG_BODY_JSON);
    assert_string_equal(body.bytes.ptr,
                        "{\"code\":5,\"message\":\"no \\\"x\\\"\",\"details\":[{\"@type\":\"t\"}]}");
    reply = parse(*state, "{\"grpc_status\":\"NOT_FOUND\"}");
    assert_string_equal(mrg_reply_body(&reply, *state).bytes.ptr,
                        "{\"code\":5,\"message\":\"\",\"details\":[]}");
    reply = parse(*state, "{\"grpc_status\":\"OK\"}");
    assert_int_equal(mrg_reply_body(&reply, *state).kind, MRG_BODY_NONE);
    reply = parse(*state, "{\"grpc_status\":\"ABORTED\",\"body\":[]}");
    assert_string_equal(mrg_reply_body(&reply, *state).bytes.ptr, "[]");
}

static void test_unsure(void **state)
{
    struct mrg_reply reply = parse(*state, "{\"unsure\":\"no source\"}");
    assert_int_equal(reply.status, 0);
    assert_string_equal(reply.unsure.ptr, "no source");
    reply = parse(*state, "{\"unsure\":\"\",\"status\":200}");
    assert_int_equal(reply.unsure.len, 0);
}

static void assert_refused(const char *text, const char *part)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_reply reply = {.status = 77};
    struct mrg_error err = {.message = ""};
    if (!mrg_reply_parse(arena, mrg_slice_of(text), &reply, &err))
        fail_msg("%s is taken", text);
    if (!strstr(err.message, part))
        fail_msg("%s: \"%s\" does not hold \"%s\"", text, err.message, part);
    assert_int_equal(reply.status, 77);
    mrg_arena_free(arena);
}

static void test_refusals(void **state)
{
    (void)state;
    assert_refused("", "line 1, column 1");
    assert_refused("{\"status\":200", "line 1");
    assert_refused("[1]", "the reply is [1]; expected a JSON object");
    assert_refused("{}", "\"status\" is missing; expected an integer from 200 to 999");
    assert_refused("{\"unsure\":\"\"}", "\"status\" is missing");
    assert_refused("{\"status\":\"created\"}",
                   "\"status\" is \"created\"; expected an integer from 200 to 999");
    assert_refused("{\"status\":199}", "\"status\" is 199");
    assert_refused("{\"status\":1000}", "\"status\" is 1000");
    assert_refused("{\"status\":200.0}", "\"status\" is 200.0");
    assert_refused("{\"status\":-201}", "\"status\" is -201");
    assert_refused("{\"status\":20000000000201}", "\"status\" is 2000");
    assert_refused("{\"status\":null}", "\"status\" is null");
    assert_refused("{\"status\":200,\"sttus\":1}", "unknown member \"sttus\"");
    assert_refused("{\"status\":200,\"headers\":[]}", "\"headers\" is []; expected an object");
    assert_refused("{\"status\":200,\"headers\":{\"a\":{}}}",
                   "\"a\" of \"headers\" is {}; expected a string");
    assert_refused("{\"status\":200,\"headers\":{\"a b\":\"x\"}}", "header name \"a b\"");
    assert_refused("{\"status\":200,\"headers\":{\"\":\"x\"}}", "header name \"\"");
    assert_refused("{\"status\":200,\"headers\":{\"a\":\"x\\r\\nb: c\"}}",
                   "header \"a\" has a control character");
    assert_refused("{\"status\":200,\"headers\":{\"a\":\"x\\u0000\"}}", "control character");
    assert_refused("{\"status\":200,\"headers\":{\"a\":\"x\\u007f\"}}", "control character");
    assert_refused("{\"status\":200,\"body\":1,\"body_text\":\"x\"}", "\"body_text\" stands beside \"body\"");
    assert_refused("{\"status\":200,\"body_text\":1}", "\"body_text\" is 1; expected a string");
    assert_refused("{\"status\":200,\"body_base64\":\"Zg\"}", "\"body_base64\" is \"Zg\"; expected base64");
    assert_refused("{\"status\":200,\"unsure\":true}", "\"unsure\" is true");
    assert_refused("{\"status\":200,\"grpc_status\":[]}", "\"grpc_status\" is []");
    assert_refused("{\"status\":200,\"grpc_details\":[{}]}",
                   "\"grpc_details\" is [{}]; expected an array of objects with \"@type\"");
    assert_refused("{\"status\":200,\"state\":[]}", "\"state\" is []; expected an object");
    assert_refused("{\"status\":200,\"messages\":{}}", "\"messages\" is {}");
    assert_refused("{\"status\":200,\"messages\":[{}]}",
                   "\"messages\" has no meaning here; expected \"body\"");
    assert_refused("{\"status\":204,\"grpc_status\":0,\"messages\":[]}", "\"messages\" has no meaning here");
    assert_refused("{\"grpc_status\":\"aborted\"}", "\"grpc_status\" is \"aborted\"; expected a status name");
    assert_refused("{\"grpc_status\":2147483648}", "or a number from 0 to 2147483647");
    assert_refused("{\"status\":200,\"grpc_message\":7}", "\"grpc_message\"");
    assert_refused("{\"status\":200,\"trailers\":{\"a b\":\"\"}}", "has characters that a name cannot have");
}

static void test_too_many_headers(void **state)
{
    struct mrg_buf buf;
    struct mrg_reply reply;
    struct mrg_error err;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, "{\"status\":200,\"headers\":{\"a\":[1");
    for (int i = 1; i < MRG_MAX_REPLY_HEADERS; i++)
        mrg_buf_append_str(&buf, ",1");
    mrg_buf_append_str(&buf, "]}}");
    assert_int_equal(mrg_reply_parse(*state, mrg_buf_slice(&buf), &reply, &err), MRG_ERR_OK);
    assert_int_equal(reply.header_count, MRG_MAX_REPLY_HEADERS);
    buf.len -= 3;
    mrg_buf_append_str(&buf, ",1]}}");
    assert_int_equal(mrg_reply_parse(*state, mrg_buf_slice(&buf), &reply, &err), MRG_ERR_TOO_LARGE);
    mrg_buf_done(&buf);
}

/* Two values that fit each by itself are more than a connection has room for. */
static void test_too_large_headers(void **state)
{
    struct mrg_reply reply;
    struct mrg_error err;
    char *half = mrg_arena_alloc(*state, 4092);
    memset(half, 'x', 4091);
    half[4091] = '\0';
    const char *fits =
        mrg_arena_printf(*state, "{\"status\":200,\"headers\":{\"a\":[\"%s\",\"%s\"]}}", half, half);
    const char *more =
        mrg_arena_printf(*state, "{\"status\":200,\"headers\":{\"a\":[\"%s\",\"%sx\"]}}", half, half);
    assert_int_equal(mrg_reply_parse(*state, mrg_slice_of(fits), &reply, &err), MRG_ERR_OK);
    assert_int_equal(mrg_reply_parse(*state, mrg_slice_of(more), &reply, &err), MRG_ERR_TOO_LARGE);
    assert_string_equal(err.message, "\"headers\" has more than 8192 bytes in all");
}

/* What is answered can be recorded: a line puts two levels around a body. */
static void test_deep_bodies(void **state)
{
    struct mrg_reply reply;
    struct mrg_error err;
    for (int depth = 97; depth <= 99; depth++) {
        char open[100] = {0}, close[100] = {0};
        memset(open, '[', (size_t)depth);
        memset(close, ']', (size_t)depth);
        const char *text = mrg_arena_printf(*state, "{\"status\":200,\"body\":%s%s}", open, close);
        assert_int_equal(mrg_reply_parse(*state, mrg_slice_of(text), &reply, &err),
                         depth <= 98 ? MRG_ERR_OK : MRG_ERR_TOO_LARGE);
    }
    assert_string_equal(err.message,
                        "the body is nested too deep; expected at most 98 arrays and objects in each other");
}

static void assert_round(struct mrg_arena *arena, const char *text, const char *expected)
{
    struct mrg_reply reply = parse(arena, text);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_reply_append_json(&buf, &reply);
    assert_string_equal(buf.data, expected ? expected : text);
    struct mrg_reply again = parse(arena, buf.data);
    assert_int_equal(again.body.kind, reply.body.kind);
    assert_true(mrg_slice_eq(again.body.bytes, reply.body.bytes));
    mrg_buf_done(&buf);
}

static void test_round_trip(void **state)
{
    struct mrg_arena *arena = *state;
    assert_round(arena, "{\"status\":204}", NULL);
    assert_round(
        arena,
        "{\"status\":200,\"headers\":{\"b\":[\"1\",\"2\"],\"a\":\"x\"},\"body\":{\"s\":\"a/b\",\"n\":1.0}}",
        NULL);
    assert_round(arena, "{\"status\":200,\"headers\":{\"content-type\":\"text/html\"},\"body\":\"<p>\"}",
                 NULL);
    assert_round(arena, "{\"status\":200,\"body_text\":\"x\"}", NULL);
    assert_round(arena, "{\"status\":200,\"body_base64\":\"AP8=\"}", NULL);
    assert_round(arena, "{\"status\":200,\"body\":\"s\"}", NULL);
    assert_round(arena, "{\"status\":200,\"body_text\":\"\"}", NULL);
    assert_round(arena, "{ \"status\" : 200,\n\"body\" : [1, 2] }", "{\"status\":200,\"body\":[1,2]}");
}

static void test_json_string_beside_text_type(void **state)
{
    struct mrg_header type = {MRG_SLICE("content-type"), MRG_SLICE("text/plain")};
    struct mrg_reply reply = {
        .status = 200, .headers = &type, .header_count = 1, .body = {MRG_BODY_JSON, MRG_SLICE("\"x\"")}};
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_reply_append_json(&buf, &reply);
    struct mrg_reply back = parse(*state, buf.data);
    assert_string_equal(back.body.bytes.ptr, "\"x\"");
    mrg_buf_done(&buf);
}

static void test_fail(void **state)
{
    struct mrg_reply reply = {.status = 1, .header_count = 3, .source = "llm"};
    char longer[600];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    mrg_reply_fail(*state, &reply, 500, "say \"%s\" %d", "why", 5);
    assert_int_equal(reply.status, 500);
    assert_int_equal(reply.header_count, 0);
    assert_null(reply.source);
    assert_string_equal(reply.error, "say \"why\" 5");
    assert_string_equal(reply.body.bytes.ptr, "{\"error\":\"say \\\"why\\\" 5\"}");
    mrg_reply_fail(*state, &reply, 500, "%s", longer);
    assert_string_equal(reply.error, longer);
    mrg_reply_json(*state, &reply, 200, MRG_SLICE("{}"));
    assert_null(reply.error);
    assert_int_equal(reply.body.kind, MRG_BODY_JSON);
}

static void test_transport_headers(void **state)
{
    (void)state;
    assert_true(mrg_header_is_transport(MRG_SLICE("Content-Length")));
    assert_true(mrg_header_is_transport(MRG_SLICE("transfer-encoding")));
    assert_true(mrg_header_is_transport(MRG_SLICE("date")));
    assert_true(mrg_header_is_transport(MRG_SLICE("connection")));
    assert_false(mrg_header_is_transport(MRG_SLICE("content-type")));
    assert_false(mrg_header_is_transport(MRG_SLICE("location")));
    assert_false(mrg_header_is_transport(MRG_SLICE("retry-after")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_later_members_are_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grpc_members, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_body_of_a_grpc_status, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unsure, set_up, tear_down),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test_setup_teardown(test_too_many_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_large_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deep_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json_string_beside_text_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fail, set_up, tear_down),
        cmocka_unit_test(test_transport_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
