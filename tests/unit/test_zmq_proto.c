// SPDX-License-Identifier: Apache-2.0
/* Format protobuf, by the health service of the built-in schema. */
#include "zmq_stub.h"

#include "util/json.h"
#include "wire/proto.h"
#include "wire/schema.h"

static char check[] = "grpc.health.v1.Health/Check", watch[] = "/grpc.health.v1.Health/Watch",
            unknown[] = "grpc.health.v1.Health/Nothing";

#define RESPONSE "grpc.health.v1.HealthCheckResponse"

static void set_rpc(char *rpc)
{
    pthread_mutex_lock(&stub.lock);
    stub_configs[0].zmq.rpc = rpc;
    stub_dependencies[0].shape = mrg_schema_shape((struct mrg_schema *)(uintptr_t)mrg_schema_builtin());
    pthread_mutex_unlock(&stub.lock);
}

static int set_up_proto(void **state)
{
    (void)state;
    stub_start(MRG_ZMQ_PROTOBUF);
    set_rpc(check);
    return 0;
}

/* The next message is an error: its google.rpc.Status as JSON; the caller frees. */
static char *get_status(void *socket)
{
    char bytes[4096], word[16];
    const struct mrg_schema *schema = mrg_schema_builtin();
    struct mrg_error err = {0};
    struct mrg_buf json;
    int len = zmq_recv(socket, bytes, sizeof(bytes), 0);
    assert_true(len > 0);
    assert_int_equal(zmq_recv(socket, word, sizeof(word), ZMQ_DONTWAIT), 6);
    assert_memory_equal(word, "status", 6);
    mrg_buf_init(&json, SIZE_MAX);
    if (mrg_proto_to_json(schema, mrg_schema_message(schema, MRG_SLICE("google.rpc.Status")),
                          (struct mrg_slice){bytes, (size_t)len}, MRG_PROTO_JSON, &json, &err) != MRG_ERR_OK)
        fail_msg("%s", err.message);
    return mrg_buf_take(&json, NULL);
}

static void assert_status(void *socket, const char *want)
{
    _cleanup_free_ char *json = get_status(socket);
    assert_has(json, want);
}

static void assert_bytes(void *socket, const char *want, size_t len)
{
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    assert_true(zmq_msg_recv(&frame, socket, 0) >= 0);
    assert_false(zmq_msg_more(&frame));
    assert_int_equal(zmq_msg_size(&frame), len);
    assert_memory_equal(zmq_msg_data(&frame), want, len);
    zmq_msg_close(&frame);
}

static char *_Atomic seen; /* the request as echo shows it */

static void answer_json(struct mrg_exchange *exchange, const char *json)
{
    echo(exchange);
    free(atomic_exchange(&seen, mrg_strdup(exchange->reply.body.bytes.ptr)));
    mrg_reply_json(exchange->arena, &exchange->reply, 200, mrg_slice_of(json));
}

static void make_serving(struct mrg_exchange *exchange)
{
    answer_json(exchange, " {\"status\": \"SERVING\"} ");
}

static void assert_seen(const char *want)
{
    _cleanup_free_ char *text = atomic_exchange(&seen, NULL);
    assert_has(text, want);
}

static void test_messages_both_ways(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ), *dealer = caller(ZMQ_DEALER);
    stub.hook = make_serving;
    PUT(req, "\x0a\x03"
             "abc");
    assert_bytes(req, "\x08\x01", 2);
    assert_seen("POST /grpc.health.v1.Health/Check ?\n\njson:{\"service\":\"abc\"}");
    PUT(req, ""); /* a message of which every field has its default */
    assert_bytes(req, "\x08\x01", 2);
    assert_seen("json:{\"service\":\"\"}");
    PUT(dealer, "\x0a\x01x");
    assert_bytes(dealer, "\x08\x01", 2);
    assert_seen("json:{\"service\":\"x\"}");
}

static void make_nothing(struct mrg_exchange *exchange)
{
    exchange->reply.status = 204;
}

static void test_no_body_is_an_empty_message(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ);
    stub.hook = make_nothing;
    PUT(req, "");
    assert_bytes(req, "", 0);
}

static void test_what_is_no_message(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ), *dealer = caller(ZMQ_DEALER);
    PUT(req, "\x0a\x09"
             "abc");
    assert_status(req,
                  "{\"code\":3,\"message\":\"the message is no grpc.health.v1.HealthCheckRequest: service");
    PUT(req, "\x0a\x01\xFF");
    assert_status(req,
                  "{\"code\":3,\"message\":\"the message is no grpc.health.v1.HealthCheckRequest: service");
    PUT(req, "a", "b");
    assert_status(req, "{\"code\":3,\"message\":\"2 frames behind the empty one; expected one\"}");
    PUT(dealer, "");
    _cleanup_free_ char *empty = (zmq_recv(dealer, NULL, 0, 0), get_status(dealer));
    assert_has(empty, "{\"code\":3,\"message\":\"the message has no body");
    assert_int_equal(stub_count(&stub.submitted), 0);
}

static void test_rpc_that_is_not_there(void **state)
{
    (void)state;
    set_rpc(unknown);
    void *req = caller(ZMQ_REQ);
    PUT(req, "");
    assert_status(
        req, "{\"code\":12,\"message\":\"the protos have no RPC grpc.health.v1.Health/Nothing (zmq.rpc)\"}");
}

static void test_rpc_that_is_streaming(void **state)
{
    (void)state;
    set_rpc(watch);
    void *req = caller(ZMQ_REQ);
    PUT(req, "");
    assert_status(req, "{\"code\":12,\"message\":\"/grpc.health.v1.Health/Watch is streaming; this version");
}

/* ---- errors ---- */

static void make_not_found(struct mrg_exchange *exchange)
{
    mrg_reply_json(exchange->arena, &exchange->reply, 404, MRG_SLICE("{\"detail\":\"no such\",\"n\":1}"));
}

static void make_nested(struct mrg_exchange *exchange)
{
    mrg_reply_json(exchange->arena, &exchange->reply, 409,
                   MRG_SLICE("{\"message\":\"outer\",\"error\":{\"message\":\"inner\"}}"));
}

static void make_text(struct mrg_exchange *exchange)
{
    exchange->reply.status = 503;
    exchange->reply.body = (struct mrg_body){MRG_BODY_TEXT, MRG_SLICE("down")};
}

static void make_exact(struct mrg_exchange *exchange)
{
    exchange->reply.status = 409;
    exchange->reply.has_grpc_status = true;
    exchange->reply.grpc_status = 6;
    exchange->reply.grpc_message = MRG_SLICE("there is one");
    exchange->reply.grpc_details = MRG_SLICE(
        "[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"TAKEN\",\"domain\":\"d\"}]");
}

static void make_odd_details(struct mrg_exchange *exchange)
{
    make_exact(exchange);
    exchange->reply.grpc_details = MRG_SLICE("[{\"@type\":\"type.googleapis.com/no.such.Type\",\"a\":1}]");
}

static void make_mirages_failure(struct mrg_exchange *exchange)
{
    mrg_reply_fail(exchange->arena, &exchange->reply, 500, "nothing recorded");
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        void (*hook)(struct mrg_exchange *exchange);
        const char *want;
    } cases[] = {
        {make_not_found, "{\"code\":5,\"message\":\"no "
                         "such\",\"details\":[{\"@type\":\"type.googleapis.com/google.protobuf.Struct\","
                         "\"value\":{\"detail\":\"no such\",\"n\":1}}]}"},
        {make_nested, "{\"code\":10,\"message\":\"inner\",\"details\":["},
        {make_text, "{\"code\":14,\"message\":\"down\"}"},
        {make_exact, "{\"code\":6,\"message\":\"there is "
                     "one\",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\","
                     "\"reason\":\"TAKEN\",\"domain\":\"d\"}]}"},
        {make_odd_details, "{\"code\":6,\"message\":\"there is one\"}"},
        {make_mirages_failure, "{\"code\":13,\"message\":\"nothing recorded\"}"},
    };
    void *req = caller(ZMQ_REQ);
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        stub.hook = cases[i].hook;
        PUT(req, "");
        assert_status(req, cases[i].want);
    }
}

static void test_deadline(void **state)
{
    (void)state;
    struct mrg_config config = stub_config;
    config.limits.deadline_ms = 20;
    mrg_transport_zmq.configure(stub.transport, &config);
    void *req = caller(ZMQ_REQ);
    atomic_store(&stub.hold_all, true);
    PUT(req, "");
    assert_status(req, "{\"code\":4,\"message\":\"no reply within 20 ms (limits.deadline)\"}");
    atomic_store(&stub.hold_all, false);
}

/* ---- whether a reply fits ---- */

static struct mrg_error fit; /* of the last reply, by exchange->fits */

static void judge(struct mrg_exchange *exchange)
{
    assert_non_null(exchange->fits);
    pthread_mutex_lock(&stub.lock);
    memset(&fit, 0, sizeof(fit));
    exchange->fits(exchange, &exchange->reply, &fit);
    pthread_mutex_unlock(&stub.lock);
}

static void assert_fit(enum mrg_err code, const char *message)
{
    pthread_mutex_lock(&stub.lock);
    struct mrg_error copy = fit;
    pthread_mutex_unlock(&stub.lock);
    assert_int_equal(copy.code, code);
    assert_has(copy.message, message);
}

#define MAKER(name, json)                                                                                    \
    static void name(struct mrg_exchange *exchange)                                                          \
    {                                                                                                        \
        answer_json(exchange, json);                                                                         \
        judge(exchange);                                                                                     \
    }

MAKER(make_good, "{\"status\":1}")
MAKER(make_wrong_enum, "{\"status\":\"NOPE\"}")
MAKER(make_unknown_member, "{\"status\":\"SERVING\",\"more\":1}")

static void make_text_body(struct mrg_exchange *exchange)
{
    exchange->reply.status = 200;
    exchange->reply.body = (struct mrg_body){MRG_BODY_TEXT, MRG_SLICE("yes")};
    judge(exchange);
}

static void make_judged_details(struct mrg_exchange *exchange)
{
    make_odd_details(exchange);
    judge(exchange);
}

static void test_replies_that_do_not_fit(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ);
    stub.hook = make_good;
    PUT(req, "");
    assert_bytes(req, "\x08\x01", 2);
    assert_fit(MRG_ERR_OK, "");
    stub.hook = make_wrong_enum;
    PUT(req, "");
    assert_status(req, "{\"code\":13,\"message\":\"the reply does not fit " RESPONSE ": status");
    assert_fit(MRG_ERR_INVALID, "the body does not fit " RESPONSE ": status");
    stub.hook = make_unknown_member; /* the engine may mend it; a recording is sent without it */
    PUT(req, "");
    assert_bytes(req, "\x08\x01", 2);
    assert_fit(MRG_ERR_INVALID, "more");
    stub.hook = make_text_body;
    PUT(req, "");
    assert_status(req,
                  "{\"code\":13,\"message\":\"the reply does not fit " RESPONSE ": the body is no JSON\"}");
    assert_fit(MRG_ERR_INVALID, "the body is no JSON");
    stub.hook = make_judged_details;
    PUT(req, "");
    assert_status(req, "{\"code\":6,");
    assert_fit(MRG_ERR_INVALID, "grpc_details[0]: ");
    free(atomic_exchange(&seen, NULL));
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, set_up_proto, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(test_messages_both_ways),
        WITH(test_no_body_is_an_empty_message),
        WITH(test_what_is_no_message),
        WITH(test_rpc_that_is_not_there),
        WITH(test_rpc_that_is_streaming),
        WITH(test_errors),
        WITH(test_deadline),
        WITH(test_replies_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
