// SPDX-License-Identifier: Apache-2.0
/* What the transport takes over from a configuration while it runs, and what it cannot. */
#include "http_stub.h"
#include "util/clock.h"

static void configure(size_t body, uint64_t deadline_ms, bool reply_headers)
{
    struct mrg_config config = stub_config;
    config.limits.body = body;
    config.limits.deadline_ms = deadline_ms;
    config.reply_headers = reply_headers;
    mrg_transport_http.configure(stub.transport, &config);
}

static void test_reply_headers_follow(void **state)
{
    (void)state;
    int fd = dial();
    for (int i = 0; i < 4; i++) {
        bool shows = i % 2 == 0;
        configure(1u << 20, 60000, shows);
        say(fd, GET("/", ""));
        _cleanup_free_ char *reply = read_one(fd, false);
        assert_int_equal(strstr(reply, "mirage-source: stub") != NULL, shows);
    }
    close(fd);
    configure(1u << 20, 60000, false);
    _cleanup_free_ char *refused = ask("GET / HTTP/1.1\r\n\r\n");
    assert_has(refused, "HTTP/1.1 400 ");
    assert_lacks(refused, "mirage-error");
}

#define POST(len, body)                                                                                      \
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: " len "\r\n" CLOSE "\r"       \
    "\n" body
#define CHUNKED(len, body)                                                                                   \
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" CLOSE "\r\n" len "\r\n" body              \
    "\r\n0\r\n\r\n"

static void test_the_body_limit_follows(void **state)
{
    (void)state;
    _cleanup_free_ char *before = ask(POST("10", "0123456789"));
    assert_has(before, "text:0123456789");
    configure(8, 60000, true);
    _cleanup_free_ char *declared = ask(POST("10", "0123456789"));
    assert_refused(declared, "413 ", "10 bytes are more than 8 (limits.body)");
    _cleanup_free_ char *chunked = ask(CHUNKED("a", "0123456789"));
    assert_refused(chunked, "413 ", "larger than 8 bytes (limits.body)");
    configure(10, 60000, true);
    _cleanup_free_ char *after = ask(CHUNKED("a", "0123456789"));
    assert_has(after, "text:0123456789");
}

/* A request keeps what it began with. */
static void test_a_body_under_way_keeps_its_limit(void **state)
{
    (void)state;
    int fd = dial();
    say(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n" CLOSE "\r\n");
    _cleanup_free_ char *go = read_one(fd, true);
    assert_string_equal(go, "HTTP/1.1 100 Continue\r\n\r\n");
    configure(4, 60000, true);
    say(fd, "0123456789");
    _cleanup_free_ char *reply = read_all(fd, NULL);
    assert_has(reply, "text:0123456789");
}

static void test_the_deadline_follows(void **state)
{
    (void)state;
    configure(1u << 20, 150, true);
    uint64_t began = mrg_clock_ms();
    _cleanup_free_ char *late = ask(GET("/hold", CLOSE));
    assert_true(mrg_clock_ms() - began >= 150);
    assert_has(late, "HTTP/1.1 504 ");
    assert_has(late, "no reply within 150 ms (limits.deadline)");
    configure(1u << 20, 60000, true);
    int fd = dial();
    say(fd, GET("/hold", CLOSE));
    stub_await(&stub.submitted, 2);
    configure(1u << 20, 1, true); /* for those to come */
    stub_release();
    _cleanup_free_ char *reply = read_all(fd, NULL);
    assert_has(reply, "HTTP/1.1 200 ");
}

/* ---- limits.headers: addresses that open from now on ---- */

static void configure_headers(size_t headers)
{
    struct mrg_config config = stub_config;
    config.limits.headers = headers;
    mrg_transport_http.configure(stub.transport, &config);
}

/* The status of a request with a header of that many bytes, at that port. */
static int status_with(unsigned short port, size_t filler)
{
    struct mrg_buf text;
    mrg_buf_init(&text, SIZE_MAX);
    mrg_buf_append_str(&text, "GET / HTTP/1.1\r\nHost: a\r\n" CLOSE "X: ");
    for (size_t i = 0; i < filler; i++)
        mrg_buf_append_char(&text, 'a');
    mrg_buf_append_str(&text, "\r\n\r\n");
    int fd = dial_port(port);
    put(fd, text.data, text.len);
    _cleanup_free_ char *reply = read_all(fd, NULL);
    mrg_buf_done(&text);
    return (int)strtol(reply + strlen("HTTP/1.1 "), NULL, 10);
}

static void test_the_header_limit_is_that_of_the_opening(void **state)
{
    (void)state;
    struct mrg_error err;
    configure_headers(1000);
    assert_int_equal(status_with(stub.port, 2000), 200);
    struct mrg_door *door = mrg_door_new(MRG_DOOR_CONTROL, NULL, NULL);
    assert_int_equal(mrg_transport_http.open(stub.transport, "127.0.0.1:0", door, &err), MRG_ERR_OK);
    assert_int_equal(status_with(port_of(door), 2000), 431);
    configure_headers(64u << 10);
    assert_int_equal(status_with(port_of(door), 2000), 431);
    struct mrg_door *large = mrg_door_new(MRG_DOOR_CONTROL, NULL, NULL);
    assert_int_equal(mrg_transport_http.open(stub.transport, "127.0.0.1:0", large, &err), MRG_ERR_OK);
    assert_int_equal(status_with(port_of(large), 60000), 200);
    mrg_door_unref(door);
    mrg_door_unref(large);
}

static void test_a_header_limit_that_comes_late_is_told_once(void **state)
{
    (void)state;
    char text[2000];
    FILE *caught = tmpfile();
    int kept = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(caught), STDERR_FILENO);
    configure_headers(stub_config.limits.headers); /* as it is */
    configure_headers(1000);
    configure_headers(1000);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(caught);
    text[fread(text, 1, sizeof(text) - 1, caught)] = '\0';
    fclose(caught);
    assert_int_equal(occurrences(text, "\n"), 1);
    assert_has(text, "limits.headers is 1000 now");
}

/* ---- while requests come ---- */

static void *ask_on(void *data)
{
    (void)data;
    int fd = dial();
    for (int i = 0; i < 300; i++) {
        say(fd, i % 2 ? GET("/", "") : GET("/later", ""));
        _cleanup_free_ char *reply = read_one(fd, false);
        assert_has(reply, "HTTP/1.1 200 ");
    }
    close(fd);
    return NULL;
}

static void test_configuring_while_requests_come(void **state)
{
    (void)state;
    pthread_t threads[3];
    for (size_t i = 0; i < MRG_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_on, NULL), 0);
    for (unsigned i = 0; i < 500; i++)
        configure(1000 + i, 30000 + i, i % 2);
    for (size_t i = 0; i < MRG_ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reply_headers_follow),
        TEST(test_the_body_limit_follows),
        TEST(test_a_body_under_way_keeps_its_limit),
        TEST(test_the_deadline_follows),
        TEST(test_the_header_limit_is_that_of_the_opening),
        TEST(test_a_header_limit_that_comes_late_is_told_once),
        TEST(test_configuring_while_requests_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
