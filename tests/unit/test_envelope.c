// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/limits.h"
#include "sample.h"
#include "util/json.h"
#include "wire/envelope.h"

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

/* A text on the heap of its very size, so that a byte read behind it is seen. */
static enum mrg_err read_exact(struct mrg_arena *arena, const char *text, size_t len,
                               struct mrg_envelope *envelope, struct mrg_request *request,
                               struct mrg_error *err)
{
    char *bytes = mrg_malloc(len ? len : 1);
    memcpy(bytes, text, len);
    enum mrg_err code = mrg_envelope_read(arena, (struct mrg_slice){bytes, len}, envelope, request, err);
    memset(bytes, 'x', len);
    free(bytes);
    return code;
}

static struct mrg_request read_request(struct mrg_arena *arena, const char *text,
                                       struct mrg_envelope *envelope)
{
    struct mrg_envelope unused;
    struct mrg_request request;
    struct mrg_error err;
    if (read_exact(arena, text, strlen(text), envelope ? envelope : &unused, &request, &err))
        fail_msg("%s: %s", text, err.message);
    return request;
}

static void assert_slice(struct mrg_slice slice, const char *text)
{
    if (!mrg_slice_eq_str(slice, text))
        fail_msg("%.*s, not %s", (int)slice.len, slice.ptr, text);
}

/* Header bytes have a NUL behind them. */
static void assert_header(const struct mrg_request *request, size_t at, const char *name, const char *value)
{
    assert_true(at < request->header_count);
    assert_string_equal(request->headers[at].name.ptr, name);
    assert_int_equal(request->headers[at].name.len, strlen(name));
    assert_string_equal(request->headers[at].value.ptr, value);
    assert_int_equal(request->headers[at].value.len, strlen(value));
}

static void test_reads_a_request(void **state)
{
    struct mrg_envelope envelope;
    struct mrg_request request = read_request(
        *state,
        " {\"id\" : [1, \"a\"] ,\"dependency\":\"inventory\",\"session\":\"s1\",\"method\":\"POST\","
        "\"path\":\"/items/a%2Fb/reserve?x=1&y=%20\",\"headers\":{\"X-One\":\" a \",\"n\":2.50,\"t\":true,"
        "\"many\":[\"b\",3]},\"body\":{ \"price\" : 1.50 }}\n",
        &envelope);
    assert_slice(envelope.id, "[1, \"a\"]");
    assert_slice(envelope.dependency, "inventory");
    assert_slice(envelope.session, "s1");
    assert_slice(request.method, "POST");
    assert_slice(request.path, "/items/a%2Fb/reserve");
    assert_slice(request.query, "x=1&y=%20");
    assert_int_equal(request.header_count, 6);
    assert_header(&request, 0, "x-one", "a");
    assert_header(&request, 1, "n", "2.50");
    assert_header(&request, 2, "t", "true");
    assert_header(&request, 3, "many", "b");
    assert_header(&request, 4, "many", "3");
    assert_header(&request, 5, "mirage-session", "s1");
    assert_int_equal(request.body.kind, MRG_BODY_JSON);
    assert_string_equal(request.body.bytes.ptr, "{ \"price\" : 1.50 }");
}

static void test_few_members_suffice(void **state)
{
    struct mrg_envelope envelope;
    struct mrg_request request = read_request(
        *state, "{\"path\":\"/\",\"method\":\"get\",\"session\":null,\"headers\":null}", &envelope);
    assert_null(envelope.id.ptr);
    assert_null(envelope.dependency.ptr);
    assert_null(envelope.session.ptr);
    assert_slice(request.method, "get");
    assert_slice(request.path, "/");
    assert_int_equal(request.query.len, 0);
    assert_int_equal(request.header_count, 0);
    assert_int_equal(request.body.kind, MRG_BODY_NONE);
    read_request(*state, "{\"path\":\"/\",\"method\":\"GET\",\"id\":null}", &envelope);
    assert_slice(envelope.id, "null");
}

static void assert_body(struct mrg_arena *arena, const char *member, enum mrg_body_kind kind,
                        const char *bytes)
{
    for (int last = 0; last < 2; last++) {
        const char *text = mrg_arena_printf(arena,
                                            last ? "{\"method\":\"PUT\",\"path\":\"/a\",%s}"
                                                 : "{%s,\"method\":\"PUT\",\"path\":\"/a\"}",
                                            member);
        struct mrg_request request = read_request(arena, text, NULL);
        assert_int_equal(request.body.kind, kind);
        assert_slice(request.body.bytes, bytes);
        assert_int_equal(request.body.bytes.ptr[request.body.bytes.len], 0);
        assert_slice(request.path, "/a");
    }
}

static void test_bodies(void **state)
{
    assert_body(*state, "\"body\":null", MRG_BODY_JSON, "null");
    assert_body(*state, "\"body\":-0.0", MRG_BODY_JSON, "-0.0");
    assert_body(*state, "\"body\":\"a\\n\"", MRG_BODY_JSON, "\"a\\n\"");
    assert_body(*state, "\"body\":[1 ,2]", MRG_BODY_JSON, "[1 ,2]");
    assert_body(*state, "\"body_text\":\"{\\\"a\\\"\"", MRG_BODY_TEXT, "{\"a\"");
    assert_body(*state, "\"body_text\":\"plain\"", MRG_BODY_TEXT, "plain");
    assert_body(*state, "\"body_text\":\"\"", MRG_BODY_NONE, "");
    assert_body(*state, "\"body_base64\":\"Zm9v\"", MRG_BODY_BINARY, "foo");
    assert_body(*state, "\"body_base64\":null,\"body_text\":null,\"body\":1", MRG_BODY_JSON, "1");
}

static void test_escapes_in_strings(void **state)
{
    struct mrg_request request = read_request(
        *state,
        "{\"method\":\"P\\u004fST\",\"path\":\"\\/a\\u003fb=1\",\"headers\":{\"X\\u002dA\":\"\\u00e9\\t\"}}",
        NULL);
    assert_slice(request.method, "POST");
    assert_slice(request.path, "/a");
    assert_slice(request.query, "b=1");
    assert_header(&request, 0, "x-a", "é");
}

static void test_session_member_wins(void **state)
{
    struct mrg_request request = read_request(
        *state,
        "{\"session\":\"member\",\"method\":\"GET\",\"path\":\"/\",\"headers\":{\"Mirage-Session\":"
        "\"header\"}}",
        NULL);
    assert_int_equal(request.header_count, 1);
    assert_header(&request, 0, "mirage-session", "member");
}

static void assert_refused(struct mrg_arena *arena, const char *text, size_t len, enum mrg_err code,
                           const char *message)
{
    struct mrg_envelope envelope;
    struct mrg_request request = {.method = {NULL, 77}};
    struct mrg_error err = {.message = ""};
    assert_int_equal(read_exact(arena, text, len ? len : strlen(text), &envelope, &request, &err), code);
    if (!strstr(err.message, message))
        fail_msg("%s: \"%s\", not \"%s\"", text, err.message, message);
    assert_int_equal(request.method.len, 77);
}

static void test_refusals_name_the_member(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "the envelope: line 1, column 1: expected a value"},
        {"\x80\x81", "the envelope: line 1, column 1"},
        {"[1]", "the envelope is [1]; expected an object with \"method\" and \"path\""},
        {" 7 ", "the envelope is 7; expected an object"},
        {"{\"path\":\"/\"}", "\"method\" is missing; expected a string"},
        {"{\"method\":\"GET\"}", "\"path\" is missing; expected a string that begins with a slash"},
        {"{\"method\":7,\"path\":\"/\"}", "\"method\" is 7; expected a string"},
        {"{\"method\":\"G T\",\"path\":\"/\"}", "\"method\" is \"G T\"; expected a method such as POST"},
        {"{\"method\":\"\",\"path\":\"/\"}", "\"method\" is \"\""},
        {"{\"method\":\"GET\",\"path\":[]}", "\"path\" is []; expected a string"},
        {"{\"method\":\"GET\",\"path\":\"\"}",
         "\"path\" is \"\"; expected a string that begins with a slash"},
        {"{\"method\":\"GET\",\"path\":\"a\"}", "\"path\" is \"a\""},
        {"{\"method\":\"GET\",\"path\":\"http://h/a\"}", "\"path\" is \"http://h/a\""},
        {"{\"method\":\"GET\",\"path\":\"/a b\"}", "\"path\" has a blank or control character"},
        {"{\"method\":\"GET\",\"path\":\"/a\\u0000b\"}", "\"path\" has a blank or control character"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"header\":{}}",
         "unknown member \"header\"; expected id, dependency"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"headers\":[]}",
         "\"headers\" is []; expected an object of strings"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"headers\":{\"a\":{}}}",
         "\"a\" of \"headers\" is {}; expected a string"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"headers\":{\"a\":[null]}}", "\"a\" of \"headers\" is null"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"headers\":{\"\":\"x\"}}", "header name \"\""},
        {"{\"method\":\"GET\",\"path\":\"/\",\"headers\":{\"a:\":\"x\"}}", "header name \"a:\""},
        {"{\"method\":\"GET\",\"path\":\"/\",\"headers\":{\"a\":\"x\\n\"}}",
         "the value of header \"a\" has a control character"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"session\":1}", "\"session\" is 1; expected a string"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"session\":\"a\\r\"}", "\"session\" has a control character"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"dependency\":{}}", "\"dependency\" is {}; expected a string"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"body\":1,\"body_text\":\"\"}",
         "\"body_text\" is a second body"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"body_text\":1}", "\"body_text\" is no string"},
        {"{\"method\":\"GET\",\"path\":\"/\",\"body_base64\":\"Zm9\"}", "\"body_base64\" is no base64"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++)
        assert_refused(*state, cases[i].text, 0, MRG_ERR_INVALID, cases[i].message);
}

static const char *repeated(struct mrg_arena *arena, const char *before, const char *piece, size_t count,
                            const char *after)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, before);
    for (size_t i = 0; i < count; i++)
        mrg_buf_append_str(&buf, piece);
    mrg_buf_append_str(&buf, after);
    return mrg_arena_take_buf(arena, &buf).ptr;
}

static void test_limits(void **state)
{
    static const char start[] = "{\"method\":\"GET\",\"path\":\"/\",\"headers\":{\"a\":[1";
    struct mrg_arena *arena = *state;
    const char *most = repeated(arena, start, ",1", MRG_MAX_HEADERS - 1, "]}}");
    assert_int_equal(read_request(arena, most, NULL).header_count, MRG_MAX_HEADERS);
    assert_refused(arena, repeated(arena, start, ",1", MRG_MAX_HEADERS, "]}}"), 0, MRG_ERR_TOO_LARGE,
                   "\"headers\" has more than 200 values");
    most = repeated(arena, "{\"method\":\"GET\",\"path\":\"/", "a", MRG_MAX_PATH - 1, "\"}");
    assert_int_equal(read_request(arena, most, NULL).path.len, MRG_MAX_PATH);
    assert_refused(arena, repeated(arena, "{\"method\":\"GET\",\"path\":\"/", "a", MRG_MAX_PATH, "\"}"), 0,
                   MRG_ERR_TOO_LARGE, "\"path\" has 8193 bytes; expected at most 8192");
    const char *deep =
        repeated(arena, "{\"method\":\"PUT\",\"path\":\"/\",\"body\":", "[", MRG_MAX_BODY_DEPTH, "");
    most = repeated(arena, deep, "]", MRG_MAX_BODY_DEPTH, "}");
    assert_int_equal(read_request(arena, most, NULL).body.kind, MRG_BODY_JSON);
    deep = repeated(arena, "{\"method\":\"PUT\",\"path\":\"/\",\"body\":", "[", MRG_MAX_BODY_DEPTH + 1, "");
    assert_refused(arena, repeated(arena, deep, "]", MRG_MAX_BODY_DEPTH + 1, "}"), 0, MRG_ERR_TOO_LARGE,
                   "\"body\" is nested too deep");
}

static void test_id_is_found_when_the_rest_is_wrong(void **state)
{
    static const char *const texts[] = {
        "{\"id\":{\"a\":\"b\"},\"method\":1,\"path\":\"/\"}",
        "{\"method\":1,\"path\":\"/\",\"id\":{\"a\":\"b\"}}",
        "{\"headers\":{\"a\":\"b\",\"c\":{}},\"body\":[\"}\"],\"bod\":2,\"id\":{\"a\":\"b\"}}",
        "{\"body_text\":\"x\",\"body\":1,\"session\":\"\\n\",\"id\":{\"a\":\"b\"}}",
    };
    struct mrg_envelope envelope;
    struct mrg_request request;
    for (size_t i = 0; i < MRG_ARRAY_LEN(texts); i++) {
        assert_int_equal(read_exact(*state, texts[i], strlen(texts[i]), &envelope, &request, NULL),
                         MRG_ERR_INVALID);
        assert_slice(envelope.id, "{\"a\":\"b\"}");
    }
    assert_int_equal(read_exact(*state, "{\"id\":1", 7, &envelope, &request, NULL), MRG_ERR_INVALID);
    assert_null(envelope.id.ptr);
}

static struct mrg_reply parse_reply(struct mrg_arena *arena, const char *text)
{
    struct mrg_reply reply;
    struct mrg_error err;
    if (mrg_reply_parse(arena, mrg_slice_of(text), &reply, &err))
        fail_msg("%s: %s", text, err.message);
    return reply;
}

static void assert_reply(struct mrg_arena *arena, const char *id, const struct mrg_reply *reply, size_t shows,
                         const char *expected)
{
    static const struct mrg_header own[] = {{{"mirage-source", 13}, {"llm", 3}},
                                            {{"mirage-session", 14}, {"default", 7}}};
    struct mrg_slice raw = {id, id ? strlen(id) : 0};
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, ">");
    mrg_envelope_append_reply(&buf, raw, reply, own, shows);
    assert_string_equal(buf.data + 1, expected);
    assert_int_equal(mrg_json_check((struct mrg_slice){buf.data + 1, buf.len - 1}, NULL), MRG_ERR_OK);
    mrg_buf_done(&buf);
    (void)arena;
}

static void test_replies(void **state)
{
    struct mrg_reply reply = parse_reply(
        *state,
        "{\"status\":201,\"headers\":{\"Location\":\"/x\",\"a\":[\"1\",\"2\"]},\"body\":{\"n\": 1.50}}");
    assert_reply(
        *state, NULL, &reply, 0,
        "{\"status\":201,\"headers\":{\"location\":\"/x\",\"a\":[\"1\",\"2\"]},\"body\":{\"n\":1.50}}");
    assert_reply(
        *state, "\"x\"", &reply, 2,
        "{\"id\":\"x\",\"status\":201,\"headers\":{\"mirage-source\":\"llm\",\"mirage-session\":\"default\","
        "\"location\":\"/x\",\"a\":[\"1\",\"2\"]},\"body\":{\"n\":1.50}}");
    reply = parse_reply(*state, "{\"status\":404,\"grpc_status\":\"NOT_FOUND\",\"grpc_message\":\"no\","
                                "\"trailers\":{\"t\":\"1\"},\"unsure\":\"why\"}");
    assert_reply(
        *state, "null", &reply, 1,
        "{\"id\":null,\"status\":404,\"headers\":{\"mirage-source\":\"llm\"},\"grpc_status\":\"NOT_FOUND\","
        "\"grpc_message\":\"no\",\"trailers\":{\"t\":\"1\"}}");
    mrg_reply_fail(*state, &reply, 503, "the \"queue\" is full");
    assert_reply(*state, "[7]", &reply, 2,
                 "{\"id\":[7],\"status\":503,\"error\":\"the \\\"queue\\\" is full\"}");
    assert_reply(*state, NULL, &reply, 2, "{\"status\":503,\"error\":\"the \\\"queue\\\" is full\"}");
}

static void test_a_reply_with_many_headers(void **state)
{
    const char *text = repeated(*state, "{\"status\":200,\"headers\":{\"a\":[0", ",1", 60, "]}}");
    struct mrg_reply reply = parse_reply(*state, text);
    const char *expected = repeated(
        *state,
        "{\"status\":200,\"headers\":{\"mirage-source\":\"llm\",\"mirage-session\":\"default\",\"a\":[\"0\"",
        ",\"1\"", 60, "]}}");
    assert_reply(*state, NULL, &reply, 2, expected);
}

static void test_a_reply_past_its_maximum(void **state)
{
    struct mrg_reply reply = parse_reply(*state, "{\"status\":200,\"body\":\"0123456789\"}");
    struct mrg_buf buf;
    for (size_t max = 0; max < 40; max++) {
        mrg_buf_init(&buf, max);
        mrg_envelope_append_reply(&buf, MRG_SLICE("1"), &reply, NULL, 0);
        assert_true(mrg_buf_failed(&buf));
        mrg_buf_done(&buf);
    }
    mrg_buf_init(&buf, 41);
    mrg_envelope_append_reply(&buf, MRG_SLICE("1"), &reply, NULL, 0);
    assert_string_equal(buf.data, "{\"id\":1,\"status\":200,\"body\":\"0123456789\"}");
    mrg_buf_done(&buf);
}

/* What is written is read back as the same request. */
static void assert_round_trip(struct mrg_arena *arena, const struct mrg_envelope *envelope,
                              const struct mrg_request *request, const char *expected)
{
    struct mrg_envelope again;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_envelope_append_request(&buf, envelope, request);
    assert_string_equal(buf.data, expected);
    struct mrg_request read = read_request(arena, buf.data, &again);
    assert_true(mrg_slice_eq(again.id, envelope->id));
    assert_true(mrg_slice_eq(again.dependency, envelope->dependency));
    assert_true(mrg_slice_eq(read.path, request->path));
    assert_true(mrg_slice_eq(read.query, request->query));
    assert_true(mrg_slice_eq(read.body.bytes, request->body.bytes));
    assert_int_equal(read.body.kind, request->body.kind);
    assert_int_equal(read.header_count, request->header_count + (envelope->session.ptr != NULL));
    mrg_buf_done(&buf);
}

static void test_writes_a_request(void **state)
{
    struct mrg_envelope none = {.id = {NULL, 0}};
    struct mrg_envelope all = {MRG_SLICE("{\"n\":1}"), MRG_SLICE("inv\"entory"), MRG_SLICE("s")};
    struct mrg_request request = sample(*state, "GET /a%20b", NULL, NULL);
    assert_round_trip(*state, &none, &request, "{\"method\":\"GET\",\"path\":\"/a%20b\"}");
    request = sample(*state, "PUT /a?b=1&c", "x: 1\ny: 2\nx: 3", "{\"p\":1.50}");
    assert_round_trip(
        *state, &all, &request,
        "{\"id\":{\"n\":1},\"dependency\":\"inv\\\"entory\",\"session\":\"s\",\"method\":\"PUT\","
        "\"path\":\"/a?b=1&c\",\"headers\":{\"x\":[\"1\",\"3\"],\"y\":\"2\"},\"body\":{\"p\":1.50}}");
    request = sample(*state, "PUT /a", "content-type: text/plain", "{}");
    assert_round_trip(*state, &none, &request,
                      "{\"method\":\"PUT\",\"path\":\"/a\",\"headers\":{\"content-type\":\"text/plain\"},"
                      "\"body_text\":\"{}\"}");
    request = sample_bytes(*state, "PUT /a", NULL, "\0\xFF", 2);
    assert_round_trip(*state, &none, &request,
                      "{\"method\":\"PUT\",\"path\":\"/a\",\"body_base64\":\"AP8=\"}");
}

static void test_a_path_that_is_not_utf8_is_encoded(void **state)
{
    struct mrg_envelope none = {.id = {NULL, 0}};
    struct mrg_request request = sample(*state, "GET /a\xFF?b=\xFE", NULL, NULL);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_envelope_append_request(&buf, &none, &request);
    assert_string_equal(buf.data, "{\"method\":\"GET\",\"path\":\"/a%FF?b=%FE\"}");
    mrg_buf_done(&buf);
}

static void test_reads_a_reply(void **state)
{
    struct mrg_slice id;
    struct mrg_reply reply;
    struct mrg_error err;
    const char *text = " {\"status\":201, \"id\" : {\"a\":1} ,\"headers\":{\"X\":\"y\"},\"body\":[1.50]}";
    assert_int_equal(mrg_envelope_read_reply(*state, mrg_slice_of(text), &id, &reply, &err), MRG_ERR_OK);
    assert_slice(id, "{\"a\":1}");
    assert_int_equal(reply.status, 201);
    assert_string_equal(reply.headers[0].name.ptr, "x");
    assert_slice(reply.body.bytes, "[1.50]");
    assert_null(reply.error);
    text = "{\"id\":7,\"status\":503,\"error\":\"full\"}";
    assert_int_equal(mrg_envelope_read_reply(*state, mrg_slice_of(text), &id, &reply, &err), MRG_ERR_OK);
    assert_slice(id, "7");
    assert_int_equal(reply.status, 503);
    assert_string_equal(reply.error, "full");
    text = "{\"status\":204}";
    assert_int_equal(mrg_envelope_read_reply(*state, mrg_slice_of(text), &id, &reply, &err), MRG_ERR_OK);
    assert_null(id.ptr);
}

static void test_refuses_a_reply(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "the reply: line 1, column 1"},
        {"[]", "the reply is []; expected an object with \"status\""},
        {"{}", "\"status\" is missing; expected an integer from 200 to 999"},
        {"{\"id\":1}", "\"status\" is missing"},
        {"{\"status\":99}", "\"status\" is 99"},
        {"{\"status\":500,\"error\":7}", "\"error\" is 7; expected a string"},
        {"{\"status\":500,\"error\":\"a\",\"body\":1}", "\"error\" stands beside headers or a body"},
        {"{\"status\":200,\"ids\":7}", "unknown member \"ids\""},
    };
    struct mrg_error err;
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct mrg_slice id = {NULL, 77};
        struct mrg_reply reply = {.status = 7};
        assert_int_equal(mrg_envelope_read_reply(*state, mrg_slice_of(cases[i].text), &id, &reply, &err),
                         MRG_ERR_INVALID);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s: %s", cases[i].text, err.message);
        assert_int_equal(reply.status, 7);
        assert_int_equal(id.len, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reads_a_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_few_members_suffice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_escapes_in_strings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_session_member_wins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals_name_the_member, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_id_is_found_when_the_rest_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_reply_with_many_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_reply_past_its_maximum, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_writes_a_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_path_that_is_not_utf8_is_encoded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reads_a_reply, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refuses_a_reply, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
