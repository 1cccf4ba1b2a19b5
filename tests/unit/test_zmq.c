// SPDX-License-Identifier: Apache-2.0
/* What goes in and comes out. Addresses, deadlines, peers that leave and closing are test_zmq_life.c's. */
#include "zmq_stub.h"

#include "transports/zmq/zmq_int.h"

/* ---- where the route back ends ---- */

static void check_route(const char *const *frames, unsigned count, enum mrg_zmq_format format, unsigned want)
{
    struct zm_message message = {.count = count, .received = count};
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(zmq_msg_init_size(&message.frames[i], strlen(frames[i])), 0);
        memcpy(zmq_msg_data(&message.frames[i]), frames[i], strlen(frames[i]));
    }
    assert_int_equal(zm_route_len(&message, format), want);
    zm_message_done(&message);
}

#define ROUTE(format, want, ...)                                                                             \
    check_route((const char *const[]){__VA_ARGS__},                                                          \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), (format), (want))

static void test_route_of_one_body_frame(void **state)
{
    (void)state;
    ROUTE(MRG_ZMQ_ENVELOPE, 1, "id", "{}");
    ROUTE(MRG_ZMQ_ENVELOPE, 2, "id", "", "{}");
    ROUTE(MRG_ZMQ_ENVELOPE, 3, "id", "\1\1\1\1", "", "{}");
    ROUTE(MRG_ZMQ_ENVELOPE, 4, "p", "q", "id", "", "{}");
    ROUTE(MRG_ZMQ_ENVELOPE, 2, "id", "");
    ROUTE(MRG_ZMQ_ENVELOPE, 2, "id", "", "");
    ROUTE(MRG_ZMQ_ENVELOPE, 2, "id", "", "", "{}");
    ROUTE(MRG_ZMQ_ENVELOPE, 2, "p", "id", "{}");
    ROUTE(MRG_ZMQ_BODY, 2, "id", "", "POST /a");
    ROUTE(MRG_ZMQ_BODY, 1, "id", "POST /a");
}

static void test_route_of_multipart(void **state)
{
    (void)state;
    ROUTE(MRG_ZMQ_MULTIPART, 1, "id", "GET /a");
    ROUTE(MRG_ZMQ_MULTIPART, 1, "id", "GET /a", "", "");
    ROUTE(MRG_ZMQ_MULTIPART, 1, "id", "POST /a", "", "{}");
    ROUTE(MRG_ZMQ_MULTIPART, 2, "id", "", "GET /a", "", "");
    ROUTE(MRG_ZMQ_MULTIPART, 3, "id", "\1\1\1\1", "", "GET /a", "{}", "");
    ROUTE(MRG_ZMQ_MULTIPART, 2, "p", "id", "GET /a", "", "x");
    ROUTE(MRG_ZMQ_MULTIPART, 3, "p", "id", "", "GET /a");
    ROUTE(MRG_ZMQ_MULTIPART, 1, "id", "hello", "there", "x");
    ROUTE(MRG_ZMQ_MULTIPART, 2, "id", "");
}

/* ---- envelope ---- */

#define GET_A  "{\"id\":7,\"method\":\"GET\",\"path\":\"/a?x=1\"}"
#define SAYS_A "{\"id\":7,\"status\":200,"

static void test_every_socket(void **state)
{
    (void)state;
    const int on = 1;
    void *req = caller(ZMQ_REQ), *dealer = caller(ZMQ_DEALER), *correlate = caller(ZMQ_REQ);
    zmq_setsockopt(correlate, ZMQ_REQ_CORRELATE, &on, sizeof(on));
    zmq_setsockopt(correlate, ZMQ_REQ_RELAXED, &on, sizeof(on));
    assert_answer(req, GET_A, SAYS_A);
    assert_answer(req, GET_A, "GET /a ?x=1");
    assert_answer(correlate, GET_A, SAYS_A);
    _cleanup_free_ char *bare = (PUT(dealer, GET_A), get(dealer));
    assert_memory_equal(bare, SAYS_A, strlen(SAYS_A));
    _cleanup_free_ char *delimited = (PUT(dealer, "", GET_A), get(dealer));
    assert_memory_equal(delimited, "|" SAYS_A, strlen("|" SAYS_A));
}

/* Moves one message, as a proxy does. */
static void forward(void *from, void *to)
{
    zmq_msg_t frame;
    bool more = true;
    while (more) {
        zmq_msg_init(&frame);
        assert_true(zmq_msg_recv(&frame, from, 0) >= 0);
        more = zmq_msg_more(&frame);
        assert_true(zmq_msg_send(&frame, to, more ? ZMQ_SNDMORE : 0) >= 0);
    }
}

static void test_through_a_proxy(void **state)
{
    (void)state;
    void *front = new_socket(ZMQ_ROUTER), *back = caller(ZMQ_DEALER);
    assert_int_equal(zmq_bind(front, "inproc://front"), 0);
    void *req = connect_to(ZMQ_REQ, "inproc://front"), *dealer = connect_to(ZMQ_DEALER, "inproc://front");
    PUT(req, GET_A);
    forward(front, back);
    forward(back, front);
    assert_next(req, SAYS_A);
    PUT(dealer, GET_A); /* without a delimiter: the last frame is the body */
    forward(front, back);
    forward(back, front);
    assert_next(dealer, SAYS_A);
}

static void test_garbage_is_answered(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ), *dealer = caller(ZMQ_DEALER);
    assert_answer(req, "hello", "{\"status\":400,\"error\":\"");
    assert_answer(req, "", "{\"status\":400,\"error\":\"");
    assert_answer(req, "{\"id\":\"x\",\"method\":7}", "{\"id\":\"x\",\"status\":400,\"error\":\"");
    PUT(req, "a", "b");
    assert_next(req, "2 frames behind the empty one; expected one");
    PUT(dealer, "");
    assert_next(dealer, "|{\"status\":400,\"error\":\"the message has no body");
    PUT(dealer, "x", "");
    assert_next(dealer, "x||{\"status\":400,\"error\":\"the message has no body");
    assert_answer(req, GET_A, SAYS_A);
    assert_int_equal(stub_count(&stub.submitted), 1);
}

static void test_too_many_frames(void **state)
{
    (void)state;
    void *dealer = caller(ZMQ_DEALER);
    for (int i = 0; i < 999; i++)
        assert_int_equal(zmq_send(dealer, "x", 1, ZMQ_SNDMORE), 1);
    PUT(dealer, "x");
    assert_next(dealer, "{\"status\":413,\"error\":\"the message has 1001 frames; at most 64 are taken\"}|");
    for (int i = 0; i < 16; i++)
        assert_int_equal(zmq_send(dealer, "p", 1, ZMQ_SNDMORE), 1);
    PUT(dealer, "", GET_A);
    assert_next(dealer, "p|p||{\"status\":400,\"error\":\"17 frames before the empty one; at most 16");
    assert_answer(dealer, GET_A, SAYS_A);
}

static void test_too_many_bytes(void **state)
{
    (void)state;
    void *dealer = caller(ZMQ_DEALER);
    size_t len = stub_config.limits.body + stub_config.limits.headers;
    _cleanup_free_ char *big = mrg_zalloc(len + 1);
    memset(big, 'x', len);
    PUT(dealer, "", big);
    assert_next(dealer, "{\"status\":413,\"error\":\"the message's 1064");
    /* The same in pieces: the library has a limit for one frame only. */
    big[len / 2] = '\0';
    PUT(dealer, "", big, big, "x");
    assert_next(dealer, "{\"status\":413,\"error\":\"the message's 1064");
    assert_answer(dealer, GET_A, SAYS_A);
}

static void test_session_and_headers(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ);
    assert_answer(req,
                  "{\"session\":\"s1\",\"method\":\"POST\",\"path\":\"/a\",\"headers\":{\"X-A\":\"1\"},"
                  "\"body\":{\"n\":1.00}}",
                  "json:{\\\"n\\\":1.00}");
    assert_answer(req, "{\"session\":\"s1\",\"method\":\"GET\",\"path\":\"/a\"}", "mirage-session=s1");
    assert_answer(req, "{\"session\":\"\",\"method\":\"GET\",\"path\":\"/a\"}",
                  "\"status\":400,\"error\":\"");
    assert_answer(req, GET_A, "\"headers\":{\"mirage-source\":\"stub\"");
}

static void make_odd_headers(struct mrg_exchange *exchange)
{
    static struct mrg_header headers[] = {
        {{"x-a", 3}, {"1", 1}},
        {{"connection", 10}, {"close", 5}},
        {{"mirage-source", 13}, {"forged", 6}},
        {{"x-a", 3}, {"2", 1}},
    };
    mrg_reply_json(exchange->arena, &exchange->reply, 201, MRG_SLICE("{\"ok\":true}"));
    exchange->reply.headers = headers;
    exchange->reply.header_count = 4;
}

static void test_reply_headers(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ);
    stub.hook = make_odd_headers;
    assert_answer(req, GET_A,
                  "{\"id\":7,\"status\":201,\"headers\":{\"x-a\":[\"1\",\"2\"]},\"body\":{\"ok\":true}}|");
}

static void make_failure(struct mrg_exchange *exchange)
{
    mrg_reply_fail(exchange->arena, &exchange->reply, 503, "no \"luck\"");
}

static void test_failures_are_named(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ);
    stub.hook = make_failure;
    assert_answer(req, GET_A, "{\"id\":7,\"status\":503,\"error\":\"no \\\"luck\\\"\"}|");
}

static void make_no_status(struct mrg_exchange *exchange)
{
    exchange->reply.status = 1000;
}

static void test_impossible_status(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ);
    stub.hook = make_no_status;
    assert_answer(req, GET_A, "{\"id\":7,\"status\":500,\"error\":\"the reply's status is 1000");
}

/* ---- doors ---- */

static void make_name(struct mrg_exchange *exchange)
{
    const char *name = exchange->dependency ? exchange->dependency->config->name : "none";
    mrg_reply_json(exchange->arena, &exchange->reply, 200, MRG_SLICE("{}"));
    exchange->reply.source = name;
}

static void test_shared_address(void **state)
{
    (void)state;
    struct mrg_door *door = open_at(MRG_DOOR_SHARED, NULL, false, "tcp://127.0.0.1:0");
    void *req = connect_to(ZMQ_REQ, door->address);
    stub.hook = make_name;
    assert_answer(req, "{\"dependency\":\"payment\",\"method\":\"GET\",\"path\":\"/a\"}",
                  "\"mirage-source\":\"payment\"");
    assert_answer(req, GET_A,
                  "{\"id\":7,\"status\":400,\"error\":\"\\\"dependency\\\" is missing; expected one of "
                  "inventory, payment\"}");
    assert_answer(req, "{\"dependency\":\"stock\",\"method\":\"GET\",\"path\":\"/a\"}",
                  "\"status\":404,\"error\":\"there is no dependency \\\"stock\\\"; expected one of "
                  "inventory, payment");
    assert_answer(req, "{\"method\":\"GET\",\"path\":\"/__mock__/health\"}", "\"mirage-source\":\"none\"");
    assert_answer(req, "{\"method\":\"POST\",\"path\":\"/__s/x/__mock__/reset\"}",
                  "\"mirage-source\":\"none\"");
    assert_answer(req, "{\"method\":\"GET\",\"path\":\"/__mock__x\"}", "is missing");
    assert_answer(req, "{\"dependency\":\"payment\",\"method\":\"GET\",\"path\":\"/__mock__/log\"}",
                  "\"mirage-source\":\"payment\"");
    mrg_door_unref(door);
}

static void test_own_address_of_another(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ);
    stub.hook = make_name;
    assert_answer(req, "{\"dependency\":\"inventory\",\"method\":\"GET\",\"path\":\"/a\"}",
                  "\"mirage-source\":\"inventory\"");
    assert_answer(req, "{\"dependency\":\"payment\",\"method\":\"GET\",\"path\":\"/a\"}",
                  "\"status\":400,\"error\":\"this is the address of inventory, not of \\\"payment\\\"");
}

static void test_control_speaks_the_envelope(void **state)
{
    (void)state;
    struct mrg_door *door = open_at(MRG_DOOR_DEPENDENCY, "inventory", true, "tcp://127.0.0.1:*");
    void *req = connect_to(ZMQ_REQ, door->address), *body = caller(ZMQ_REQ);
    assert_answer(req, GET_A, SAYS_A);
    assert_answer(body, GET_A, "POST /orders");
    mrg_door_unref(door);
}

static void test_dependency_no_longer_there(void **state)
{
    (void)state;
    struct mrg_door *door = open_at(MRG_DOOR_DEPENDENCY, "stock", false, "tcp://127.0.0.1:*");
    void *req = connect_to(ZMQ_REQ, door->address);
    assert_answer(req, GET_A,
                  "\"status\":503,\"error\":\"dependency stock is no longer in the configuration\"}|");
    mrg_door_unref(door);
}

/* ---- body ---- */

static void test_body_format(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ), *dealer = caller(ZMQ_DEALER);
    assert_answer(req, "{\"a\": 1}", "POST /orders/a%2Fb ?x=1\n\njson:{\"a\": 1}|");
    assert_answer(req, "hello", "text:hello|");
    assert_answer(req, "\xFF\x01", "binary:\xFF\x01|");
    assert_answer(req, "", "none:|");
    assert_answer(dealer, "{\"b\":2}", "json:{\"b\":2}|");
    _cleanup_free_ char *delimited = (PUT(dealer, "", "x"), get(dealer));
    assert_memory_equal(delimited, "|POST ", 6);
    stub.hook = make_failure;
    assert_answer(req, "x", "{\"error\":\"no \\\"luck\\\"\"}|");
    PUT(req, "x", "y");
    assert_next(req, "{\"error\":\"2 frames behind the empty one; expected one\"}|");
}

/* ---- multipart ---- */

#define HEAD "200|{\"mirage-source\":\"stub\",\"content-type\":\"text/plain; charset=utf-8\"}|"

static void test_multipart_format(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ), *dealer = caller(ZMQ_DEALER);
    assert_answer(req, "GET /a?x=%20", HEAD "GET /a ?x=%20\n\nnone:|");
    PUT(req, "POST /a", " {\"X-A\": [\"1\", 2, true], \"x-b\":\" b \"} ", "{\"n\":1.0}");
    assert_next(req, HEAD "POST /a ?\nx-a=1\nx-a=2\nx-a=true\nx-b=b\n\njson:{\"n\":1.0}|");
    PUT(req, "POST /a", "", "{}");
    assert_next(req, "json:{}|");
    PUT(req, "POST /a", "{\"content-type\":\"text/plain\"}", "{}");
    assert_next(req, "text:{}|");
    PUT(dealer, "GET /a", "", "");
    assert_next(dealer, HEAD "GET /a ?\n\nnone:|");
    PUT(dealer, "GET /b", "", "x");
    assert_next(dealer, HEAD "GET /b ?\n\ntext:x|");
    PUT(dealer, "", "GET /c", "{}");
    assert_next(dealer, "|" HEAD "GET /c ?");
    stub.hook = make_odd_headers;
    assert_answer(req, "GET /a",
                  "201|{\"x-a\":[\"1\",\"2\"],\"content-type\":\"application/json\"}|{\"ok\":true}|");
    stub.hook = make_failure;
    assert_answer(req, "GET /a",
                  "503|{\"mirage-error\":\"no \\\"luck\\\"\",\"content-type\":\"application/json\"}|"
                  "{\"error\":\"no \\\"luck\\\"\"}|");
}

static void test_multipart_garbage(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ), *dealer = caller(ZMQ_DEALER);
    static const struct {
        const char *line, *headers, *want;
    } cases[] = {
        {"hello", "", "400|{\"mirage-error\":\"the first frame is \\\"hello\\\"; expected METHOD /path\""},
        {"", "", "400|{"},
        {"GET a", "", "400|{"},
        {"GET  /a", "", "400|{"},
        {"G T /a", "", "400|{"},
        {"GET /a b", "", "400|{\"mirage-error\":\"a blank or control character"},
        {"GET /a", "[]", "400|{\"mirage-error\":\"the second frame is no object of headers"},
        {"GET /a", "{", "400|{\"mirage-error\":\"the second frame is no object of headers"},
        {"GET /a", "{\"a b\":\"1\"}",
         "400|{\"mirage-error\":\"the second frame is no object of headers: \\\"a b\\\""},
        {"GET /a", "{\"a\":\"1\\n2\"}", "400|{"},
        {"GET /a", "{\"a\":null}", "400|{"},
        {"GET /a", "{\"a\":{}}", "400|{"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        PUT(req, cases[i].line, cases[i].headers, "{}");
        assert_next(req, cases[i].want);
    }
    PUT(req, "GET /a", "{}", "x", "y");
    assert_next(req, "400|{\"mirage-error\":\"4 frames; expected METHOD /path");
    PUT(dealer, "hello", "there");
    assert_next(dealer, "400|{\"mirage-error\":\"the first frame is \\\"hello\\\"");
    PUT(dealer, "");
    assert_next(dealer, "|400|{\"mirage-error\":\"the message has no body");
    assert_int_equal(stub_count(&stub.submitted), 0);
}

static void test_multipart_limits(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ);
    _cleanup_free_ char *path = mrg_zalloc(10000), *value = mrg_zalloc(20000);
    memset(path, 'a', 9000);
    memcpy(path, "GET /", 5);
    assert_answer(req, path, "414|{");
    memset(value, 'v', 17000);
    _cleanup_free_ char *headers = mrg_asprintf("{\"a\":\"%s\"}", value);
    PUT(req, "GET /a", headers, "");
    assert_next(req, "431|{");
    struct mrg_buf many;
    mrg_buf_init(&many, SIZE_MAX);
    for (int i = 0; i < 201; i++)
        mrg_buf_appendf(&many, "%s\"h%d\":\"\"", i ? "," : "{", i);
    mrg_buf_append_char(&many, '}');
    PUT(req, "GET /a", many.data, "");
    assert_next(req, "431|{");
    mrg_buf_done(&many);
}

static void test_headers_switched_off(void **state)
{
    (void)state;
    struct mrg_config silent = stub_config;
    silent.reply_headers = false;
    mrg_transport_zmq.configure(stub.transport, &silent);
    void *req = caller(ZMQ_REQ);
    assert_answer(req, "GET /a", "200|{\"content-type\":\"text/plain; charset=utf-8\"}|");
    stub.hook = make_failure;
    assert_answer(req, "GET /a", "503|{\"content-type\":\"application/json\"}|");
}

#define WITH(name, how) cmocka_unit_test_setup_teardown(name, how, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_of_one_body_frame),
        cmocka_unit_test(test_route_of_multipart),
        WITH(test_every_socket, set_up),
        WITH(test_through_a_proxy, set_up),
        WITH(test_garbage_is_answered, set_up),
        WITH(test_too_many_frames, set_up),
        WITH(test_too_many_bytes, set_up),
        WITH(test_session_and_headers, set_up),
        WITH(test_reply_headers, set_up),
        WITH(test_failures_are_named, set_up),
        WITH(test_impossible_status, set_up),
        WITH(test_shared_address, set_up),
        WITH(test_own_address_of_another, set_up),
        WITH(test_control_speaks_the_envelope, set_up_body),
        WITH(test_dependency_no_longer_there, set_up),
        WITH(test_body_format, set_up_body),
        WITH(test_multipart_format, set_up_multipart),
        WITH(test_multipart_garbage, set_up_multipart),
        WITH(test_multipart_limits, set_up_multipart),
        WITH(test_headers_switched_off, set_up_multipart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
