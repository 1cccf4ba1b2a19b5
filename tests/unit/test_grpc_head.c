// SPDX-License-Identifier: Apache-2.0
/* Metadata in and out, without a server: transports/grpc/grpc_head.c and grpc_metadata.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "transports/grpc/grpc_int.h"

/* A call as rpc_head_read sees it. */
struct fixture {
    struct rpc_transport transport;
    struct rpc_listener listener;
    struct rpc_queue queue;
    struct mrg_method method;
    struct rpc_call call;
    grpc_metadata entries[MRG_MAX_HEADERS + 2];
    grpc_metadata_array metadata;
    char why[256];
};

static void on_deliver(struct mrg_exchange *exchange)
{
    (void)exchange;
}

static int set_up(void **state)
{
    struct fixture *fixture = mrg_zalloc(sizeof(*fixture));
    grpc_init();
    atomic_init(&fixture->transport.max_headers, 16u << 10);
    fixture->listener.transport = &fixture->transport;
    mrg_buf_init(&fixture->queue.bytes, SIZE_MAX);
    fixture->method.path = MRG_SLICE("/a.B/C");
    fixture->call.listener = &fixture->listener;
    fixture->call.queue = &fixture->queue;
    fixture->call.method = &fixture->method;
    fixture->call.exchange = mrg_exchange_new(0, on_deliver);
    fixture->metadata.metadata = fixture->entries;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < fixture->metadata.count; i++) {
        grpc_slice_unref(fixture->entries[i].key);
        grpc_slice_unref(fixture->entries[i].value);
    }
    mrg_buf_done(&fixture->queue.bytes);
    mrg_exchange_unref(fixture->call.exchange);
    free(fixture);
    grpc_shutdown();
    return 0;
}

static void put_bytes(struct fixture *fixture, const char *key, const void *value, size_t len)
{
    fixture->entries[fixture->metadata.count++] = (grpc_metadata){
        .key = grpc_slice_from_copied_string(key), .value = grpc_slice_from_copied_buffer(value, len)};
}

static void put(struct fixture *fixture, const char *key, const char *value)
{
    put_bytes(fixture, key, value, strlen(value));
}

static int head(struct fixture *fixture)
{
    return rpc_head_read(&fixture->call, &fixture->metadata, fixture->why);
}

static void assert_header(const struct fixture *fixture, size_t i, const char *name, const char *value)
{
    const struct mrg_request *request = &fixture->call.exchange->request;
    assert_true(i < request->header_count);
    assert_string_equal(request->headers[i].name.ptr, name);
    assert_string_equal(request->headers[i].value.ptr, value);
    assert_int_equal(request->headers[i].value.len, strlen(value));
}

static void the_wires_own_metadata_is_left_out(void **state)
{
    struct fixture *fixture = *state;
    put(fixture, "user-agent", "grpc-c/29");
    put(fixture, "grpc-trace-bin", "x");
    put(fixture, "content-type", "application/grpc");
    put(fixture, "te", "trailers");
    put(fixture, ":authority", "localhost");
    put(fixture, "authorization", "Bearer t");
    put(fixture, "x-two", "  a b ");
    put(fixture, "x-two", "c");
    assert_int_equal(head(fixture), MRG_GRPC_OK);
    assert_int_equal(fixture->call.exchange->request.header_count, 3);
    assert_header(fixture, 0, "authorization", "Bearer t");
    assert_header(fixture, 1, "x-two", "a b");
    assert_header(fixture, 2, "x-two", "c");
}

static void binary_values_are_base64_without_padding(void **state)
{
    struct fixture *fixture = *state;
    put_bytes(fixture, "x-key-bin", "\0\1\2\377", 4);
    put_bytes(fixture, "x-none-bin", "", 0);
    put_bytes(fixture, "x-three-bin", "abc", 3);
    assert_int_equal(head(fixture), MRG_GRPC_OK);
    assert_header(fixture, 0, "x-key-bin", "AAEC/w");
    assert_header(fixture, 1, "x-none-bin", "");
    assert_header(fixture, 2, "x-three-bin", "YWJj");
}

static void too_many_entries_are_refused(void **state)
{
    struct fixture *fixture = *state;
    put(fixture, "user-agent", "does not count");
    for (size_t i = 0; i < MRG_MAX_HEADERS; i++)
        put(fixture, "a", "b");
    assert_int_equal(head(fixture), MRG_GRPC_OK);
    fixture->call.exchange->request.header_count = 0;
    put(fixture, "a", "b");
    assert_int_equal(head(fixture), MRG_GRPC_RESOURCE_EXHAUSTED);
    assert_string_equal(fixture->why, "more than 200 metadata entries");
}

static void too_many_bytes_are_refused(void **state)
{
    struct fixture *fixture = *state;
    /* The path's 6, and an entry's 1 + 3 + 4 each. */
    atomic_store(&fixture->transport.max_headers, 6 + 2 * 8);
    put(fixture, "a", "bcd");
    put(fixture, "a", "bcd");
    assert_int_equal(head(fixture), MRG_GRPC_OK);
    fixture->call.exchange->request.header_count = 0;
    atomic_store(&fixture->transport.max_headers, 6 + 2 * 8 - 1);
    assert_int_equal(head(fixture), MRG_GRPC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(fixture->why, "larger than 21 bytes (limits.headers)"));
}

static void control_characters_and_odd_names_are_refused(void **state)
{
    struct fixture *fixture = *state;
    put(fixture, "x-a", "one\ntwo");
    assert_int_equal(head(fixture), MRG_GRPC_INVALID_ARGUMENT);
    assert_non_null(strstr(fixture->why, "\"x-a\" has a control character"));
    fixture->metadata.count = 0;
    put(fixture, "x b", "v");
    assert_int_equal(head(fixture), MRG_GRPC_INVALID_ARGUMENT);
    assert_non_null(strstr(fixture->why, "\"x b\" has a name that is no token"));
}

/* ---- out ---- */

static struct mrg_header header(const char *name, const char *value)
{
    return (struct mrg_header){mrg_slice_of(name), mrg_slice_of(value)};
}

static void assert_sent(const struct rpc_metadata *list, size_t i, const char *key, const char *value,
                        size_t len)
{
    assert_true(i < list->count);
    assert_int_equal(grpc_slice_str_cmp(list->items[i].key, key), 0);
    assert_int_equal(GRPC_SLICE_LENGTH(list->items[i].value), len);
    assert_memory_equal(GRPC_SLICE_START_PTR(list->items[i].value), value, len);
    if (!grpc_is_binary_header(list->items[i].key))
        assert_true(grpc_header_nonbin_value_is_legal(list->items[i].value));
}

static void what_cannot_be_sent_is_encoded(void **state)
{
    (void)state;
    grpc_metadata items[2];
    struct rpc_metadata list = {.items = items};
    rpc_metadata_add(&list, "mirage-error", MRG_SLICE("caf\xC3\xA9\n100%"));
    rpc_metadata_add(&list, "mirage-source", MRG_SLICE("llm"));
    assert_sent(&list, 0, "mirage-error", "caf%C3%A9%0A100%", 16);
    assert_sent(&list, 1, "mirage-source", "llm", 3);
    assert_int_equal(list.size, 12 + 16 + 32 + 13 + 3 + 32);
    rpc_metadata_done(&list);
    assert_int_equal(list.count, 0);
}

static void a_services_headers_are_sent_but_for_the_wires(void **state)
{
    (void)state;
    struct mrg_arena *arena = mrg_arena_new(0);
    const struct mrg_header headers[] = {
        header("content-type", "application/json"),
        header("content-length", "3"),
        header("connection", "close"),
        header("grpc-status", "0"),
        header("mirage-source", "me"),
        header("x(y)", "a name that the library refuses"),
        header("x-bad-bin", "***"),
        header("x-good-bin", "AAEC/w"),
        header("x-padded-bin", "AAEC/w=="),
        header("etag", "\"1\""),
        header("x-name", "M\xC3\xBCller"),
        header("x-empty", ""),
    };
    grpc_metadata items[MRG_ARRAY_LEN(headers)];
    struct rpc_metadata list = {.items = items};
    rpc_metadata_add_service(&list, arena, headers, MRG_ARRAY_LEN(headers));
    assert_int_equal(list.count, 5);
    assert_sent(&list, 0, "x-good-bin", "\0\1\2\377", 4);
    assert_sent(&list, 1, "x-padded-bin", "\0\1\2\377", 4);
    assert_sent(&list, 2, "etag", "\"1\"", 3);
    assert_sent(&list, 3, "x-name", "M%C3%BCller", 11);
    assert_sent(&list, 4, "x-empty", "", 0);
    rpc_metadata_done(&list);
    mrg_arena_free(arena);
}

static void what_finds_no_room_is_left_out(void **state)
{
    (void)state;
    static char large[MRG_GRPC_METADATA_ROOM];
    memset(large, 'x', sizeof(large) - 1);
    struct mrg_arena *arena = mrg_arena_new(0);
    const struct mrg_header headers[] = {header("a", "1"), header("b", large), header("c", "3")};
    grpc_metadata items[3];
    struct rpc_metadata list = {.items = items};
    rpc_metadata_add_service(&list, arena, headers, 3);
    assert_int_equal(list.count, 2);
    assert_sent(&list, 1, "c", "3", 1);
    assert_true(list.size <= MRG_GRPC_METADATA_ROOM);
    rpc_metadata_done(&list);
    mrg_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_wires_own_metadata_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(binary_values_are_base64_without_padding, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_many_entries_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_many_bytes_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(control_characters_and_odd_names_are_refused, set_up, tear_down),
        cmocka_unit_test(what_cannot_be_sent_is_encoded),
        cmocka_unit_test(a_services_headers_are_sent_but_for_the_wires),
        cmocka_unit_test(what_finds_no_room_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
