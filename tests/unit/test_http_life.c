// SPDX-License-Identifier: Apache-2.0
/* Requests that wait, callers that leave, limits, deadlines, and addresses that open and close. */
#include <dirent.h>
#include <poll.h>
#include <semaphore.h>
#include <time.h>

#include "http_stub.h"
#include "util/clock.h"

/* ---- waiting for the reply ---- */

static void test_a_request_waits_and_is_answered(void **state)
{
    (void)state;
    int fd = dial(), other = dial();
    say(fd, GET("/hold", ""));
    stub_await(&stub.submitted, 1);
    say(other, GET("/now", CLOSE));
    _cleanup_free_ char *meanwhile = read_all(other, NULL);
    assert_has(meanwhile, "GET /now");
    stub_release();
    _cleanup_free_ char *reply = read_one(fd, false);
    assert_has(reply, "GET /hold");
    say(fd, GET("/now", ""));
    _cleanup_free_ char *next = read_one(fd, false);
    assert_has(next, "GET /now");
    assert_int_equal(stub_count(&stub.gone), 0);
    close(fd);
}

enum { CLIENTS = 4, ROUNDS = 200 };

/* Delivered by another thread at once: before the suspension, during it, after it. */
static void *ask_for_later(void *data)
{
    unsigned client = (unsigned)(uintptr_t)data;
    int fd = dial();
    for (unsigned i = 0; i < ROUNDS; i++) {
        char text[100], want[100];
        snprintf(text, sizeof(text), "GET /later/%u/%u HTTP/1.1\r\nHost: a\r\n\r\n", client, i);
        snprintf(want, sizeof(want), "\r\n\r\nGET /later/%u/%u ?", client, i);
        say(fd, text);
        _cleanup_free_ char *reply = read_one(fd, false);
        assert_has(reply, want);
    }
    close(fd);
    return NULL;
}

static void test_delivery_during_suspension(void **state)
{
    (void)state;
    atomic_store(&stub.between, true);
    int fd = dial();
    for (unsigned i = 0; i < 20; i++) {
        say(fd, GET("/hold", ""));
        _cleanup_free_ char *reply = read_one(fd, false);
        assert_has(reply, "GET /hold");
    }
    close(fd);
}

/* The same, but the caller leaves at once. */
static void *ask_and_leave(void *data)
{
    (void)data;
    for (unsigned i = 0; i < ROUNDS; i++) {
        int fd = dial();
        say(fd, GET("/later", ""));
        close(fd);
    }
    return NULL;
}

static void run_clients(void *(*client)(void *))
{
    pthread_t threads[CLIENTS];
    for (uintptr_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, client, (void *)i), 0);
    for (size_t i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
}

static void test_delivery_races_suspension(void **state)
{
    (void)state;
    run_clients(ask_for_later);
    assert_int_equal(stub_count(&stub.submitted), CLIENTS * ROUNDS);
}

static void test_delivery_races_callers_that_leave(void **state)
{
    (void)state;
    run_clients(ask_and_leave);
    _cleanup_free_ char *alive = ask(GET("/now", CLOSE));
    assert_has(alive, "GET /now");
}

static void test_a_caller_that_leaves_is_noticed(void **state)
{
    (void)state;
    int leaves = dial(), half = dial(), stays = dial();
    say(leaves, GET("/hold/1", ""));
    say(half, GET("/hold/2", ""));
    say(stays, GET("/hold/3", CLOSE));
    stub_await(&stub.submitted, 3);
    close(leaves);
    stub_await(&stub.gone, 1);
    shutdown(half, SHUT_WR); /* looks the same, and counts as gone */
    _cleanup_free_ char *nothing = read_all(half, NULL);
    assert_string_equal(nothing, "");
    assert_int_equal(stub_count(&stub.gone), 2);
    stub_release(); /* the late ones too */
    _cleanup_free_ char *reply = read_all(stays, NULL);
    assert_has(reply, "GET /hold/3");
}

/* ---- limits ---- */

static char *with_filler(const char *before, size_t filler, const char *after)
{
    struct mrg_buf text;
    mrg_buf_init(&text, SIZE_MAX);
    mrg_buf_append_str(&text, before);
    for (size_t i = 0; i < filler; i++)
        mrg_buf_append_char(&text, 'a');
    mrg_buf_append_str(&text, after);
    char *bytes = mrg_buf_take(&text, NULL);
    char *reply = ask(bytes);
    free(bytes);
    return reply;
}

static void test_head_limits(void **state)
{
    (void)state;
    _cleanup_free_ char *fits = with_filler("GET / HTTP/1.1\r\nHost: a\r\nX: ", 16000, "\r\n" CLOSE "\r\n");
    assert_has(fits, "HTTP/1.1 200 OK");
    _cleanup_free_ char *large = with_filler("GET / HTTP/1.1\r\nHost: a\r\nX: ", 16400, "\r\n\r\n");
    assert_refused(large, "431 ", "larger than 16384 bytes (limits.headers)");
    _cleanup_free_ char *larger = with_filler("GET / HTTP/1.1\r\nHost: a\r\nX: ", 22000, "\r\n\r\n");
    assert_refused(larger, "431 ", "larger than 16384 bytes (limits.headers)");
    _cleanup_free_ char *target = with_filler("GET /", 8192, " HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_refused(target, "414 ", "longer than 8192 bytes");
    _cleanup_free_ char *pool = with_filler("GET / HTTP/1.1\r\nHost: a\r\nX: ", 60000, "\r\n\r\n");
    assert_true(strncmp(pool, "HTTP/1.1 431 ", 13) == 0); /* the library's own */
    struct mrg_buf many;
    mrg_buf_init(&many, SIZE_MAX);
    for (int i = 0; i < 200; i++)
        mrg_buf_append_str(&many, "x: 1\r\n");
    mrg_buf_append_str(&many, "\r\n");
    _cleanup_free_ char *count = with_filler("GET / HTTP/1.1\r\nHost: a\r\n", 0, many.data);
    assert_refused(count, "431 ", "201 header fields; at most 200");
    mrg_buf_done(&many);
}

static void test_body_limits(void **state)
{
    (void)state;
    enum { LIMIT = 1 << 20 };
    _cleanup_free_ char *body = mrg_zalloc(8u * LIMIT);
    memset(body, 'b', 8u * LIMIT);
    char head[200];
    snprintf(head, sizeof(head), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n" CLOSE "\r\n", LIMIT);
    int fd = dial();
    say(fd, head);
    put(fd, body, LIMIT);
    _cleanup_free_ char *fits = read_all(fd, NULL);
    assert_has(fits, "HTTP/1.1 200 OK");
    /* A caller that sends all of it before it reads is told, and not just cut off. */
    snprintf(head, sizeof(head), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", 8 * LIMIT);
    fd = dial();
    say(fd, head);
    assert_true(put(fd, body, 8u * LIMIT));
    _cleanup_free_ char *declared = read_all(fd, NULL);
    assert_refused(declared, "413 ", "8388608 bytes are more than 1048576 (limits.body)");
    fd = dial();
    say(fd, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n800000\r\n");
    assert_true(put(fd, body, 8u * LIMIT));
    _cleanup_free_ char *undeclared = read_all(fd, NULL);
    assert_refused(undeclared, "413 ", "larger than 1048576 bytes (limits.body)");
}

/* ---- deadlines ---- */

static void start_with_deadline(uint64_t deadline_ms)
{
    struct mrg_config config = stub_config;
    config.limits.deadline_ms = deadline_ms;
    stub_start(&config);
}

static void test_a_reply_that_is_late_is_a_504(void **state)
{
    (void)state;
    start_with_deadline(150);
    int fd = dial();
    uint64_t began = mrg_clock_ms();
    say(fd, GET("/hold", ""));
    _cleanup_free_ char *reply = read_one(fd, false);
    assert_true(mrg_clock_ms() - began >= 150);
    assert_has(reply, "HTTP/1.1 504 ");
    assert_has(reply, "\r\nmirage-error: no reply within 150 ms (limits.deadline)\r\n");
    assert_has(reply, "{\"error\":\"no reply within 150 ms (limits.deadline)\"}");
    assert_int_equal(stub_count(&stub.gone), 1);
    stub_release();
    say(fd, GET("/now", CLOSE));
    _cleanup_free_ char *next = read_all(fd, NULL);
    assert_true(strncmp(next, "HTTP/1.1 200", 12) == 0);
    stub_stop();
}

static void test_a_caller_that_drips_is_cut(void **state)
{
    (void)state;
    start_with_deadline(300);
    static const char *const starts[] = {
        "GET / HTTP/1.1\r\nHost: a\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(starts); i++) {
        int fd = dial();
        uint64_t began = mrg_clock_ms();
        say(fd, starts[i]);
        bool reset;
        _cleanup_free_ char *reply = read_all(fd, &reset);
        assert_string_equal(reply, "");
        assert_true(mrg_clock_ms() - began >= 300 && mrg_clock_ms() - began < 20000);
    }
    assert_int_equal(stub_count(&stub.submitted), 0);
    stub_stop();
}

static void test_an_idle_connection_is_not_cut(void **state)
{
    (void)state;
    start_with_deadline(200);
    int fd = dial();
    say(fd, GET("/1", ""));
    _cleanup_free_ char *first = read_one(fd, false);
    struct pollfd end = {.fd = fd, .events = POLLIN | POLLRDHUP};
    assert_int_equal(poll(&end, 1, 700), 0);
    say(fd, GET("/2", CLOSE));
    _cleanup_free_ char *second = read_all(fd, NULL);
    assert_has(second, "GET /2");
    stub_stop();
}

/* ---- addresses ---- */

static struct mrg_door *open_at(const char *address, enum mrg_err want, struct mrg_error *err)
{
    struct mrg_door *door = mrg_door_new(MRG_DOOR_CONTROL, NULL, NULL);
    assert_int_equal(mrg_transport_http.open(stub.transport, address, door, err), want);
    if (want == MRG_ERR_OK)
        return door;
    mrg_door_unref(door);
    return NULL;
}

static void test_addresses(void **state)
{
    (void)state;
    struct mrg_error err;
    static const char *const wrong[] = {"",        "8080",   ":80",   "127.0.0.1:", "127.0.0.1:x",
                                        "a:70000", "::1:80", "[]:80", "a:-1",       "a:000080"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++) {
        open_at(wrong[i], MRG_ERR_INVALID, &err);
        assert_has(err.message, "expected host:port");
        assert_has(err.message, wrong[i]);
    }
    open_at("no.such.host.invalid:0", MRG_ERR_INVALID, &err);
    assert_has(err.message, "no address of this machine");
    open_at("192.0.2.1:0", MRG_ERR_IO, &err); /* of no interface here */
    struct mrg_door *named = open_at("localhost:0", MRG_ERR_OK, &err);
    assert_int_equal(strncmp(named->address, "localhost:", 10), 0);
    assert_int_not_equal(port_of(named), 0);
    int fd = dial_port(port_of(named));
    say(fd, GET("/", CLOSE));
    _cleanup_free_ char *reply = read_all(fd, NULL);
    assert_has(reply, "HTTP/1.1 200");
    mrg_door_unref(named);
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool has_ipv6 = probe >= 0 && bind(probe, (const struct sockaddr *)&loopback, sizeof(loopback)) == 0;
    close(probe);
    if (has_ipv6) {
        struct mrg_door *six = open_at("[::1]:0", MRG_ERR_OK, &err);
        assert_int_equal(strncmp(six->address, "[::1]:", 6), 0);
        mrg_door_unref(six);
    }
}

static void test_a_taken_address_is_a_conflict(void **state)
{
    (void)state;
    struct mrg_error err;
    open_at(stub.door->address, MRG_ERR_CONFLICT, &err);
    assert_has(err.message, stub.door->address);
    assert_has(err.message, "in use");
}

/* ---- closing ---- */

static void test_close_finishes_what_is_in_flight(void **state)
{
    (void)state;
    int fd = dial(), idle = dial();
    say(idle, GET("/now", ""));
    _cleanup_free_ char *first = read_one(idle, false);
    say(fd, GET("/hold", ""));
    stub_await(&stub.submitted, 2);
    mrg_transport_http.close(stub.transport, stub.door);
    mrg_transport_http.close(stub.transport, stub.door); /* once is enough */
    assert_int_equal(dial_port(stub.port), -1);
    struct mrg_error err;
    struct mrg_door *again = open_at(stub.door->address, MRG_ERR_OK, &err);
    stub_release();
    _cleanup_free_ char *reply = read_all(fd, NULL);
    assert_has(reply, "GET /hold");
    assert_has(reply, "Connection: close\r\n");
    _cleanup_free_ char *end = read_all(idle, NULL); /* closed with the rest of that listener */
    assert_string_equal(end, "");
    _cleanup_free_ char *new = ask(GET("/new", CLOSE));
    assert_has(new, "GET /new");
    mrg_door_unref(again);
}

static void test_quiesce_serves_open_connections_and_no_new_ones(void **state)
{
    (void)state;
    int fd = dial();
    say(fd, GET("/1", ""));
    _cleanup_free_ char *first = read_one(fd, false);
    assert_lacks(first, "Connection: close");
    mrg_transport_http.quiesce(stub.transport);
    assert_int_equal(dial_port(stub.port), -1);
    say(fd, GET("/2", ""));
    _cleanup_free_ char *last = read_all(fd, NULL);
    assert_has(last, "GET /2");
    assert_has(last, "Connection: close\r\n");
}

static void test_nothing_opens_after_quiesce(void **state)
{
    (void)state;
    struct mrg_error err;
    mrg_transport_http.quiesce(stub.transport);
    open_at("127.0.0.1:0", MRG_ERR_UNAVAILABLE, &err);
    assert_string_equal(err.message, "the server is stopping");
}

static pthread_t stopper;
static sem_t stopped;

static void *stop_it(void *data)
{
    mrg_transport_http.stop(data);
    sem_post(&stopped);
    return NULL;
}

/* While an address opens, another thread stops the transport; that may not end before the opening has. */
static void stop_meanwhile(void)
{
    struct timespec until;
    mrg_transport_http.quiesce(stub.transport);
    assert_int_equal(pthread_create(&stopper, NULL, stop_it, stub.transport), 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 200 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    assert_int_equal(sem_timedwait(&stopped, &until), -1);
}

static void test_opening_while_stopping(void **state)
{
    (void)state;
    struct mrg_error err;
    struct timespec until;
    stub_start(&stub_config);
    sem_init(&stopped, 0, 0);
    stub.on_listen = stop_meanwhile;
    open_at("127.0.0.1:0", MRG_ERR_UNAVAILABLE, &err);
    assert_string_equal(err.message, "the server is stopping");
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STUB_PATIENCE_S;
    assert_int_equal(sem_timedwait(&stopped, &until), 0);
    pthread_join(stopper, NULL);
    sem_destroy(&stopped);
    stub.transport = NULL;
    stub_stop();
}

static void large(struct mrg_exchange *exchange)
{
    enum { SIZE = 32 << 20 };
    char *bytes = mrg_arena_alloc(exchange->arena, SIZE);
    memset(bytes, 'x', SIZE);
    exchange->reply = (struct mrg_reply){.status = 200, .body = {MRG_BODY_BINARY, {bytes, SIZE}}};
}

static void test_stop_does_not_wait_for_slow_readers(void **state)
{
    (void)state;
    stub_start(&stub_config);
    stub.hook = large;
    int fd = dial();
    say(fd, GET("/large", ""));
    stub_await(&stub.submitted, 1);
    char c;
    assert_int_equal(recv(fd, &c, 1, 0), 1); /* and no more of it */
    uint64_t began = mrg_clock_ms();
    stub_stop();
    assert_true(mrg_clock_ms() - began < 10000);
    close(fd);
}

static size_t entries(const char *folder)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void test_nothing_is_left_after_stop(void **state)
{
    (void)state;
    size_t fds = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    for (int i = 0; i < 3; i++) {
        stub_start(&stub_config);
        struct mrg_error err;
        struct mrg_door *door = open_at("127.0.0.1:0", MRG_ERR_OK, &err);
        int idle = dial(), held = dial(), half = dial_port(port_of(door));
        say(held, GET("/hold", ""));
        say(half, "GET / HTTP/1.1\r\nHost:");
        stub_await(&stub.submitted, 1);
        if (i == 1)
            mrg_transport_http.close(stub.transport, door);
        _cleanup_free_ char *refused = ask("GET / HTTP/1.1\r\n\r\n");
        assert_has(refused, "HTTP/1.1 400");
        uint64_t began = mrg_clock_ms();
        stub_stop();
        assert_true(mrg_clock_ms() - began < 1900); /* nothing there is waited for */
        mrg_door_unref(door);
        close(idle);
        close(held);
        close(half);
    }
    assert_int_equal(entries("/proc/self/fd"), fds);
    /* A joined thread's entry may outlive it by a moment. */
    for (uint64_t until = mrg_clock_ms() + 10000;
         entries("/proc/self/task") != threads && mrg_clock_ms() < until;)
        sched_yield();
    assert_int_equal(entries("/proc/self/task"), threads);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_request_waits_and_is_answered),
        TEST(test_delivery_races_suspension),
        TEST(test_delivery_during_suspension),
        TEST(test_delivery_races_callers_that_leave),
        TEST(test_a_caller_that_leaves_is_noticed),
        TEST(test_head_limits),
        TEST(test_body_limits),
        cmocka_unit_test(test_a_reply_that_is_late_is_a_504),
        cmocka_unit_test(test_a_caller_that_drips_is_cut),
        cmocka_unit_test(test_an_idle_connection_is_not_cut),
        TEST(test_addresses),
        TEST(test_a_taken_address_is_a_conflict),
        TEST(test_close_finishes_what_is_in_flight),
        TEST(test_quiesce_serves_open_connections_and_no_new_ones),
        TEST(test_nothing_opens_after_quiesce),
        cmocka_unit_test(test_opening_while_stopping),
        cmocka_unit_test(test_stop_does_not_wait_for_slow_readers),
        cmocka_unit_test(test_nothing_is_left_after_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
