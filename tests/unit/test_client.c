// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <google/rpc/status.pb-c.h>
#include <stdio.h>
#include <string.h>

#include "clients/client.h"
#include "clients/client_int.h"
#include "clients/grpc_int.h"

static void expect(const char *url, const char *scheme, const char *address, const char *path)
{
    struct mrg_target target;
    const struct mrg_client_ops *ops = NULL;
    struct mrg_error err;
    assert_int_equal(mrg_target_parse(url, &target, &ops, &err), MRG_ERR_OK);
    assert_string_equal(target.scheme.ptr, scheme);
    assert_true(mrg_slice_eq_str(target.address, address));
    assert_string_equal(target.path, path);
    assert_non_null(ops);
}

static void test_targets(void **state)
{
    (void)state;
    expect("http://a", "http", "a", "");
    expect("HTTPS://a:8443/b?c#d", "https", "a:8443", "/b?c#d");
    expect("http://a?b", "http", "a", "?b");
    expect("http://u:p@a:1/x", "http", "u:p@a:1", "/x");
    expect("grpc://[::1]:50051/p.S/M", "grpc", "[::1]:50051", "/p.S/M");
    expect("grpcs://h:1", "grpcs", "h:1", "");
    expect("zmq+tcp://127.0.0.1:5001/items?x=1", "zmq+tcp", "127.0.0.1:5001", "/items?x=1");
    expect("zmq+ipc:///run/a.sock", "zmq+ipc", "/run/a.sock", "");
    expect("zmq+ipc:///run/a:b.sock:/items", "zmq+ipc", "/run/a:b.sock", "/items");
    expect("zmq+ipc://@name:/x", "zmq+ipc", "@name", "/x");
}

static void test_targets_that_are_none(void **state)
{
    static const struct {
        const char *url;
        const char *message;
    } cases[] = {
        {"", ": expected http://, https://, grpc://, grpcs://, zmq+tcp:// or zmq+ipc://"},
        {"host:1", "host:1: expected http://, https://, grpc://, grpcs://, zmq+tcp:// or zmq+ipc://"},
        {"tcp://h:1", "tcp://h:1: expected http://, https://, grpc://, grpcs://, zmq+tcp:// or zmq+ipc://"},
        {"http://", "http://: expected http://host[:port]/path"},
        {"http://a:", "http://a:: expected http://host[:port]/path"},
        {"http://:80/", "http://:80/: expected http://host[:port]/path"},
        {"http://a:65536", "http://a:65536: expected http://host[:port]/path"},
        {"grpc://a/p.S/M", "grpc://a/p.S/M: expected grpc://host:port/path"},
        {"grpc://[::1]/p.S/M", "grpc://[::1]/p.S/M: expected grpc://host:port/path"},
        {"grpc://u@a:1/", "grpc://u@a:1/: expected grpc://host:port/path"},
        {"zmq+tcp://a:0/", "zmq+tcp://a:0/: expected zmq+tcp://host:port/path"},
        {"zmq+ipc://:/x", "zmq+ipc://:/x has no socket; expected zmq+ipc:///path/of/socket or "
                          "zmq+ipc:///path/of/socket:/path/of/request"},
        {"http://a/b c", "http://a/b c has a blank or a control character; expected it percent-encoded"},
        {"http://a/\x7f", "http://a/\x7f has a blank or a control character; expected it percent-encoded"},
    };
    (void)state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct mrg_client *client = NULL;
        const struct mrg_client_options options = {0};
        struct mrg_error err;
        assert_int_equal(mrg_client_open(cases[i].url, &options, &client, NULL, &err), MRG_ERR_INVALID);
        assert_string_equal(err.message, cases[i].message);
        assert_null(client);
    }
}

static void test_loopback_and_secrets(void **state)
{
    static const struct {
        const char *url;
        bool loopback;
        const char *shown;
    } cases[] = {
        {"http://localhost:1/", true, "localhost:1"},
        {"http://127.3.2.1/", true, "127.3.2.1"},
        {"http://u:p@127.0.0.1:1/", true, "127.0.0.1:1"},
        {"grpc://[::1]:1", true, "[::1]:1"},
        {"http://127.0.0.1.example.com/", false, "127.0.0.1.example.com"},
        {"http://10.0.0.1/", false, "10.0.0.1"},
        {"http://localhost@elsewhere/", false, "elsewhere"},
    };
    (void)state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct mrg_target target;
        assert_int_equal(mrg_target_parse(cases[i].url, &target, NULL, NULL), MRG_ERR_OK);
        assert_int_equal(target.loopback, cases[i].loopback);
        assert_true(mrg_slice_eq_str(mrg_target_shown(&target), cases[i].shown));
    }
}

static void test_paths_begin_where_they_are_said_to(void **state)
{
    static const char *const urls[] = {"http://a/x", "grpc://a:1/x", "zmq+tcp://a:1/x", "zmq+ipc:///a:/x"};
    (void)state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(urls); i++) {
        struct mrg_client *client = NULL;
        const struct mrg_client_options options = {0};
        const char *path = NULL;
        assert_int_equal(mrg_client_open(urls[i], &options, &client, &path, NULL), MRG_ERR_OK);
        assert_ptr_equal(path, urls[i] + strlen(urls[i]) - 2);
        mrg_client_close(client);
    }
    mrg_client_close(NULL);
}

static void test_requests_that_http_cannot_say(void **state)
{
    struct mrg_header split = {MRG_SLICE("x"), MRG_SLICE("a\r\nb: c")},
                      name = {MRG_SLICE("a b"), MRG_SLICE("c")};
    struct {
        struct mrg_request request;
        const char *message;
    } cases[] = {
        {{.method = MRG_SLICE("GET"), .path = MRG_SLICE("x")},
         "\"x\" is no path; expected it to begin with / and to be percent-encoded"},
        {{.method = MRG_SLICE("GET"), .path = MRG_SLICE("/a b")},
         "\"/a b\" is no path; expected it to begin with / and to be percent-encoded"},
        {{.method = MRG_SLICE("GET"), .path = MRG_SLICE("/a?b")},
         "\"/a?b\" is no path; expected it to begin with / and to be percent-encoded"},
        {{.method = MRG_SLICE("G\nT"), .path = MRG_SLICE("/")}, "\"G\nT\" is no method"},
        {{.method = MRG_SLICE("GET"), .path = MRG_SLICE("/"), .headers = &split, .header_count = 1},
         "the value of header \"x\" has a control character"},
        {{.method = MRG_SLICE("GET"), .path = MRG_SLICE("/"), .headers = &name, .header_count = 1},
         "header name \"a b\" has characters that a name cannot have"},
    };
    struct mrg_client *client = NULL;
    const struct mrg_client_options options = {0};
    struct mrg_arena *arena = mrg_arena_new(0);
    (void)state;
    assert_int_equal(mrg_client_open("http://127.0.0.1:1", &options, &client, NULL, NULL), MRG_ERR_OK);
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct mrg_client_reply reply;
        struct mrg_error err;
        assert_int_equal(mrg_client_call(client, &cases[i].request, arena, &reply, &err), MRG_ERR_INVALID);
        assert_string_equal(err.message, cases[i].message);
    }
    mrg_client_close(client);
    mrg_arena_free(arena);
}

static struct mrg_slice pack_status(const char *const (*details)[2], size_t count, uint8_t *room)
{
    Google__Rpc__Status status = GOOGLE__RPC__STATUS__INIT;
    Google__Protobuf__Any any[4], *list[4];
    for (size_t i = 0; i < count; i++) {
        google__protobuf__any__init(&any[i]);
        any[i].type_url = mrg_strdup(details[i][0]);
        any[i].value = (ProtobufCBinaryData){strlen(details[i][1]), (uint8_t *)mrg_strdup(details[i][1])};
        list[i] = &any[i];
    }
    status.n_details = count;
    status.details = list;
    size_t len = google__rpc__status__pack(&status, room);
    for (size_t i = 0; i < count; i++) {
        free(any[i].type_url);
        free(any[i].value.data);
    }
    return (struct mrg_slice){(const char *)room, len};
}

/* Details of a known type, of an unknown one, and with bytes that are no message of their type. */
static void test_details(void **state)
{
    static const char *const given[][2] = {
        {"type.googleapis.com/google.rpc.ErrorInfo", "\n\001R"},
        {"x/y\"", "\x08\x01"},
        {"type.googleapis.com/google.rpc.ErrorInfo", "\n\x7f"},
    };
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_slice json = {NULL, 0};
    uint8_t room[512];
    (void)state;
    assert_true(mrg_grpc_details(NULL, pack_status(given, 3, room), arena, &json));
    assert_string_equal(json.ptr,
                        "[{\"@type\":\"type.googleapis.com/"
                        "google.rpc.ErrorInfo\",\"reason\":\"R\",\"domain\":\"\",\"metadata\":{}},"
                        "{\"@type\":\"x/y\\\"\",\"value\":\"CAE=\"},"
                        "{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"value\":\"Cn8=\"}]");
    assert_false(mrg_grpc_details(NULL, MRG_SLICE("\x1a\x7f"), arena, &json));
    assert_true(mrg_grpc_details(NULL, MRG_SLICE(""), arena, &json));
    assert_string_equal(json.ptr, "[]");
    mrg_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_targets_that_are_none),
        cmocka_unit_test(test_loopback_and_secrets),
        cmocka_unit_test(test_paths_begin_where_they_are_said_to),
        cmocka_unit_test(test_requests_that_http_cannot_say),
        cmocka_unit_test(test_details),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
