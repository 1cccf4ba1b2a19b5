// SPDX-License-Identifier: Apache-2.0
/* The transport on real sockets, with a client of the same library: transports/grpc/. */
#include "grpc_stub.h"

#include "core/status.h"
#include "grpc_client.h"

static struct {
    grpc_channel *own;    /* to inventory's address */
    grpc_channel *shared; /* to the shared one */
} dialled;

static int set_up(void **state)
{
    stub_set_up(state);
    dialled.own = client_dial(stub.door->address);
    dialled.shared = client_dial(stub.shared->address);
    return 0;
}

static int tear_down(void **state)
{
    grpc_channel_destroy(dialled.own);
    grpc_channel_destroy(dialled.shared);
    return stub_tear_down(state);
}

/* ---- messages ---- */

/* Page{text}; in a buffer that the next call overwrites. */
static struct mrg_slice page(const char *text)
{
    static char bytes[512];
    size_t len = strlen(text);
    MRG_ASSERT(len < 128);
    bytes[0] = 1 << 3 | 2;
    bytes[1] = (char)len;
    memcpy(bytes + 2, text, len);
    return (struct mrg_slice){bytes, len + 2};
}

static bool holds(const struct client_call *call, const char *part)
{
    return call->reply && memmem(call->reply, call->reply_len, part, strlen(part));
}

static void assert_ok(const struct client_call *call, const char *part)
{
    if (call->status != GRPC_STATUS_OK || !holds(call, part))
        fail_msg("%d %s: %.*s; expected in it: %s", (int)call->status, call->message, (int)call->reply_len,
                 call->reply ? call->reply : "", part);
}

static void assert_status(const struct client_call *call, int status, const char *part)
{
    if ((int)call->status != status || !strstr(call->message, part))
        fail_msg("%d %s; expected %d with: %s", (int)call->status, call->message, status, part);
}

static void assert_metadata(const grpc_metadata_array *array, const char *name, const char *value)
{
    struct mrg_slice found = client_metadata(array, name);
    if (!value) {
        assert_null(found.ptr);
        return;
    }
    if (!found.ptr || !mrg_slice_eq_str(found, value))
        fail_msg("%s is %.*s; expected %s", name, (int)found.len, found.ptr ? found.ptr : "(none)", value);
}

#define READ "/inventory.v1.Inventory/Read"

static struct client_call *read_with(const char *headers)
{
    return client_do(dialled.own, READ, headers, page("x"));
}

/* ---- requests and replies ---- */

static void a_message_is_asked_in_its_normal_form(void **state)
{
    (void)state;
    struct client_call *call = client_do(dialled.own, READ, "x-one: 1\nmirage-session: s1", page("hello"));
    assert_ok(call, "{\"method\":\"POST\",\"path\":\"/inventory.v1.Inventory/Read\",");
    assert_ok(call, "\"x-one\":\"1\"");
    assert_ok(call, "\"body\":{\"text\":\"hello\",\"number\":0,\"inner\":[],\"asked\":\"\",\"data\":\"\"}");
    assert_metadata(&call->initial, "mirage-source", "llm");
    assert_metadata(&call->initial, "mirage-session", NULL);
    assert_metadata(&call->trailing, "mirage-http-status", "200");
    client_free(call);
}

static void what_another_thread_delivers_hops_to_the_calls_own(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct client_call *call =
            read_with("x-later: 1\nx-reply: {\"status\":201,\"body\":{\"text\":\"made\"}}");
        assert_ok(call, "made");
        assert_metadata(&call->initial, "mirage-session", "default");
        assert_metadata(&call->trailing, "mirage-http-status", "201");
        client_free(call);
    }
}

static void headers_and_trailers_are_metadata(void **state)
{
    (void)state;
    struct client_call *call = read_with("x-reply: "
                                         "{\"status\":200,\"headers\":{\"etag\":\"7\",\"x-bytes-bin\":"
                                         "\"AAEC\",\"content-type\":\"application/json\"},"
                                         "\"trailers\":{\"x-cost\":\"3\"},\"body\":{}}");
    assert_int_equal(call->status, GRPC_STATUS_OK);
    assert_metadata(&call->initial, "etag", "7");
    assert_metadata(&call->initial, "content-type", NULL);
    assert_metadata(&call->trailing, "x-cost", "3");
    struct mrg_slice bytes = client_metadata(&call->initial, "x-bytes-bin");
    assert_int_equal(bytes.len, 3);
    assert_memory_equal(bytes.ptr, "\0\1\2", 3);
    client_free(call);
}

static void errors_have_message_status_and_details(void **state)
{
    (void)state;
    struct client_call *call = read_with("x-reply: "
                                         "{\"status\":409,\"headers\":{\"retry-after\":\"1\"},\"body\":{"
                                         "\"error\":{\"code\":\"no_stock\",\"message\":\"all gone\"}}}");
    assert_status(call, MRG_GRPC_ABORTED, "all gone");
    assert_metadata(&call->initial, "retry-after", "1");
    assert_metadata(&call->initial, "mirage-error", NULL);
    assert_metadata(&call->trailing, "mirage-http-status", "409");
    struct mrg_slice details = client_metadata(&call->trailing, "grpc-status-details-bin");
    assert_non_null(details.ptr);
    assert_non_null(memmem(details.ptr, details.len, "NO_STOCK", 8));
    assert_non_null(memmem(details.ptr, details.len, "google.protobuf.Struct", 22));
    client_free(call);
}

static void exact_statuses_pass_as_they_are(void **state)
{
    (void)state;
    struct client_call *call =
        read_with("x-reply: {\"status\":400,\"grpc_status\":400,\"grpc_message\":\"caf\\u00e9\\nempty\"}");
    assert_status(call, 400, "caf\xC3\xA9\nempty");
    client_free(call);
    call = read_with("x-reply: {\"status\":404,\"grpc_status\":\"ALREADY_EXISTS\",\"grpc_message\":\"m\"}");
    assert_status(call, MRG_GRPC_ALREADY_EXISTS, "m");
    client_free(call);
}

static void a_body_that_does_not_fit_is_internal_with_its_path(void **state)
{
    (void)state;
    struct client_call *call =
        read_with("x-reply: {\"status\":200,\"body\":{\"inner\":[{},{\"number\":\"x\"}]}}");
    assert_status(call, MRG_GRPC_INTERNAL, "the reply does not fit inventory.v1.Page: inner[1].number");
    assert_non_null(client_metadata(&call->initial, "mirage-error").ptr);
    client_free(call);
    call = read_with("x-reply: {\"status\":200,\"body_text\":\"hello\"}");
    assert_status(call, MRG_GRPC_INTERNAL, "the body is a text; expected JSON");
    client_free(call);
    call = read_with("x-reply: {\"status\":200,\"body\":{\"text\":\"t\",\"beyond\":1}}");
    assert_ok(call, "t");
    client_free(call);
    call = read_with("x-reply: {\"status\":204}");
    assert_int_equal(call->status, GRPC_STATUS_OK);
    assert_int_equal(call->reply_len, 0);
    client_free(call);
}

static void engines_learn_what_does_not_fit(void **state)
{
    (void)state;
    struct client_call *call =
        read_with("x-strict: 1\nx-reply: {\"status\":200,\"body\":{\"text\":\"t\",\"beyond\":1}}");
    assert_status(call, MRG_GRPC_INTERNAL,
                  "it does not fit: the reply does not fit inventory.v1.Page: beyond");
    client_free(call);
    call = read_with("x-strict: 1\nx-reply: {\"status\":404,\"body\":{\"anything\":1}}");
    assert_status(call, MRG_GRPC_NOT_FOUND, "HTTP 404");
    client_free(call);
}

static void messages_that_are_none_are_refused_with_their_path(void **state)
{
    (void)state;
    struct client_call *call = client_do(dialled.own, READ, NULL, MRG_SLICE("\x0A\x02\xFF\xFE"));
    assert_status(call, MRG_GRPC_INTERNAL, "the message is no valid inventory.v1.Page: text");
    client_free(call);
    call = client_new(dialled.own, READ, NULL, 0);
    client_listen(call);
    client_send(call, MRG_SLICE(""), 0);
    client_finish(call);
    assert_status(call, MRG_GRPC_INVALID_ARGUMENT, "no message came");
    client_free(call);
}

static void a_message_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    size_t len = MRG_MAX_BODY + 1;
    char *bytes = mrg_zalloc(len);
    struct client_call *call = client_do(dialled.own, READ, NULL, (struct mrg_slice){bytes, len});
    assert_status(call, MRG_GRPC_RESOURCE_EXHAUSTED, "");
    client_free(call);
    free(bytes);
}

/* ---- which method ---- */

static void methods_that_are_not_there_are_refused_at_once(void **state)
{
    (void)state;
    struct client_call *call = client_do(dialled.own, "/inventory.v1.Inventory/Sell", NULL, page("x"));
    assert_status(call, MRG_GRPC_UNIMPLEMENTED,
                  "inventory.v1.Inventory has no method Sell; it has Read, Write, Follow, Collect");
    client_free(call);
    call = client_do(dialled.own, "/payment.v1.Payment/Read", NULL, page("x"));
    assert_status(
        call, MRG_GRPC_UNIMPLEMENTED,
        "no service payment.v1.Payment is served at this address; the services are inventory.v1.Inventory, "
        "grpc.health.v1.Health,");
    client_free(call);
    call = client_do(dialled.own, "/inventory.v1.Inventory/Follow", NULL, page("x"));
    assert_status(call, MRG_GRPC_UNIMPLEMENTED, "Follow is streaming; this version answers unary calls");
    client_free(call);
    call = client_do(dialled.own, "/inventory.v1.Inventory/Collect", NULL, page("x"));
    assert_status(call, MRG_GRPC_UNIMPLEMENTED, "Collect is streaming");
    client_free(call);
}

static void a_shared_address_knows_dependencies_by_their_services(void **state)
{
    (void)state;
    struct client_call *call = client_do(dialled.shared, "/payment.v1.Payment/Write", NULL, page("x"));
    assert_ok(call, "\"path\":\"/payment.v1.Payment/Write\"");
    client_free(call);
    call = client_do(dialled.shared, READ, NULL, page("x"));
    assert_ok(call, "\"path\":\"/inventory.v1.Inventory/Read\"");
    client_free(call);
}

static void control_verbs_are_methods(void **state)
{
    (void)state;
    client_free(read_with("mirage-session: s7"));
    struct client_call *call = client_do(dialled.own, "/mirage.v1.Control/Health", NULL, MRG_SLICE(""));
    assert_ok(call, "serving");
    assert_ok(call, "inventory");
    assert_false(holds(call, "payment"));
    client_free(call);
    call = client_do(dialled.shared, "/mirage.v1.Control/GetSession", NULL, MRG_SLICE("\x0A\x02s7"));
    assert_ok(call, "inventory");
    client_free(call);
    call = client_do(dialled.shared, "/mirage.v1.Control/GetSession", NULL, MRG_SLICE("\x0A\x02s8"));
    assert_status(call, MRG_GRPC_NOT_FOUND, "there is no session s8");
    client_free(call);
    call = client_do(dialled.own, "/mirage.v1.Control/PutState", NULL, MRG_SLICE(""));
    assert_status(call, MRG_GRPC_UNIMPLEMENTED, "later version");
    client_free(call);
}

/* ---- ends ---- */

static void a_caller_that_cancels_is_told_to_the_engine(void **state)
{
    (void)state;
    struct client_call *call = client_new(dialled.own, READ, "x-hold: 1", 0);
    client_listen(call);
    client_send(call, page("x"), 1);
    stub_await_held(1);
    grpc_call_cancel(call->call, NULL);
    assert_int_equal(client_finish(call), GRPC_STATUS_CANCELLED);
    client_free(call);
    stub_await_gone(1);
    stub_release();
}

static void a_callers_deadline_cancels(void **state)
{
    (void)state;
    struct client_call *call = client_new(dialled.own, READ, "x-hold: 1", 200);
    client_listen(call);
    client_send(call, page("x"), 1);
    assert_int_equal(client_finish(call), GRPC_STATUS_DEADLINE_EXCEEDED);
    client_free(call);
    stub_await_gone(1);
    stub_release();
}

static void limits_deadline_ends_a_call(void **state)
{
    (void)state;
    stub.config->limits.deadline_ms = 50;
    mrg_transport_grpc.configure(stub.transport, stub.config);
    struct client_call *call = read_with("x-hold: 1");
    assert_status(call, MRG_GRPC_DEADLINE_EXCEEDED, "no reply within 50 ms (limits.deadline)");
    client_free(call);
    stub_await_gone(1);
    stub_release();
}

static void what_is_in_flight_is_finished_when_an_address_closes(void **state)
{
    (void)state;
    struct client_call *call = client_new(dialled.own, READ, "x-hold: 1", 0);
    client_listen(call);
    client_send(call, page("x"), 1);
    stub_await_held(1);
    mrg_transport_grpc.close(stub.transport, stub.door);
    struct client_call *other = client_do(dialled.shared, "/payment.v1.Payment/Read", NULL, page("x"));
    assert_int_equal(other->status, GRPC_STATUS_OK);
    client_free(other);
    stub_release();
    assert_int_equal(client_finish(call), GRPC_STATUS_OK);
    client_free(call);
    other = client_do(dialled.own, READ, NULL, page("x"));
    assert_int_equal(other->status, GRPC_STATUS_UNAVAILABLE);
    client_free(other);
}

static void what_is_in_flight_is_finished_at_the_end(void **state)
{
    (void)state;
    struct client_call *call = client_new(dialled.own, READ, "x-hold: 1", 0);
    client_listen(call);
    client_send(call, page("x"), 1);
    stub_await_held(1);
    mrg_transport_grpc.quiesce(stub.transport);
    stub_release();
    stub_stop_transport();
    assert_int_equal(client_finish(call), GRPC_STATUS_OK);
    client_free(call);
}

static void a_caller_that_never_sends_its_message_does_not_hold_up_the_end(void **state)
{
    (void)state;
    struct client_call *call = client_new(dialled.own, READ, NULL, 0);
    grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    grpc_call_start_batch(call->call, &op, 1, &call->metadata, NULL);
    client_wait(call, &call->metadata);
    client_listen(call);
    client_free(read_with(NULL)); /* the head of the one before is in, too */
    stub_stop_transport();
    assert_int_not_equal(client_finish(call), GRPC_STATUS_OK);
    client_free(call);
}

/* ---- addresses ---- */

static void addresses_that_cannot_be_had_are_told(void **state)
{
    (void)state;
    struct mrg_error err;
    struct mrg_door *door = mrg_door_new(MRG_DOOR_SHARED, NULL, NULL);
    assert_int_equal(mrg_transport_grpc.open(stub.transport, stub.door->address, door, &err),
                     MRG_ERR_CONFLICT);
    assert_non_null(strstr(err.message, "the address is in use by another process or listener"));
    assert_non_null(strstr(err.message, stub.door->address));
    static const char *const wrong[] = {"127.0.0.1", "127.0.0.1:",      ":9001",
                                        "::1:9001",  "127.0.0.1:99999", "x:y"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++) {
        assert_int_equal(mrg_transport_grpc.open(stub.transport, wrong[i], door, &err), MRG_ERR_INVALID);
        assert_non_null(strstr(err.message, "expected host:port"));
    }
    assert_int_equal(mrg_transport_grpc.open(stub.transport, "no.such.host.invalid:0", door, &err),
                     MRG_ERR_INVALID);
    assert_int_equal(mrg_transport_grpc.open(stub.transport, "localhost:0", door, &err), MRG_ERR_OK);
    assert_memory_equal(door->address, "localhost:", 10);
    mrg_transport_grpc.quiesce(stub.transport);
    assert_int_equal(mrg_transport_grpc.open(stub.transport, "127.0.0.1:0", door, &err), MRG_ERR_UNAVAILABLE);
    mrg_door_unref(door);
}

static void a_sessions_own_address_opens_and_closes(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct mrg_door *door = stub_open(MRG_DOOR_DEPENDENCY, "payment", "own");
        grpc_channel *channel = client_dial(door->address);
        struct client_call *call = client_do(channel, "/payment.v1.Payment/Read", NULL, page("x"));
        assert_ok(call, "/payment.v1.Payment/Read");
        assert_metadata(&call->initial, "mirage-session", "own");
        client_free(call);
        mrg_transport_grpc.close(stub.transport, door);
        grpc_channel_destroy(channel);
        mrg_door_unref(door);
    }
}

static void a_transport_without_addresses_costs_nothing(void **state)
{
    (void)state;
    const struct mrg_config config = {.limits = {.body = 1, .headers = 1, .deadline_ms = 1}};
    const struct mrg_transport_env env = {.config = &config};
    struct mrg_transport *transport;
    struct mrg_error err;
    assert_false(grpc_is_initialized());
    assert_int_equal(mrg_transport_grpc.start(&env, &transport, &err), MRG_ERR_OK);
    mrg_transport_grpc.configure(transport, &config);
    assert_false(grpc_is_initialized());
    mrg_transport_grpc.quiesce(transport);
    mrg_transport_grpc.stop(transport);
    assert_false(grpc_is_initialized());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transport_without_addresses_costs_nothing),
        cmocka_unit_test_setup_teardown(a_message_is_asked_in_its_normal_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_another_thread_delivers_hops_to_the_calls_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(headers_and_trailers_are_metadata, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_have_message_status_and_details, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exact_statuses_pass_as_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_body_that_does_not_fit_is_internal_with_its_path, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(engines_learn_what_does_not_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(messages_that_are_none_are_refused_with_their_path, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_beyond_the_limit_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(methods_that_are_not_there_are_refused_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_shared_address_knows_dependencies_by_their_services, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(control_verbs_are_methods, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_caller_that_cancels_is_told_to_the_engine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_callers_deadline_cancels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_deadline_ends_a_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_in_flight_is_finished_when_an_address_closes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_in_flight_is_finished_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_caller_that_never_sends_its_message_does_not_hold_up_the_end,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(addresses_that_cannot_be_had_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sessions_own_address_opens_and_closes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
