// SPDX-License-Identifier: Apache-2.0
/* What goes in and comes out. Suspension, limits, deadlines and closing are test_http_life.c's. */
#include "http_stub.h"

/* ---- requests ---- */

static void test_target_is_kept_raw(void **state)
{
    (void)state;
    _cleanup_free_ char *reply = ask(GET("/a%2Fb/%00//c/?x=%20&x=2&&=", CLOSE));
    assert_has(reply, "HTTP/1.1 200 OK\r\n");
    assert_has(reply, "\r\n\r\nGET /a%2Fb/%00//c/ ?x=%20&x=2&&=\n");
    _cleanup_free_ char *absolute = ask(GET("http://a/b?c", CLOSE));
    assert_has(absolute, "\r\n\r\nGET /b ?c\n");
    _cleanup_free_ char *star = ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n" CLOSE "\r\n");
    assert_has(star, "\r\n\r\nOPTIONS * ?\n");
}

static void test_headers_in_order_lower_case_and_trimmed(void **state)
{
    (void)state;
    _cleanup_free_ char *reply = ask(GET("/", "X-B: 2 \t\r\nx-a:1\r\nX-B: \r\nX-Utf: \xC3\xA9\r\n" CLOSE));
    assert_has(reply, "\nhost=a\nx-b=2\nx-a=1\nx-b=\nx-utf=\xC3\xA9\nconnection=close\n\nnone:");
}

static void test_every_method(void **state)
{
    (void)state;
    static const char *const methods[] = {"GET",   "OPTIONS", "PUT",  "DELETE", "PATCH",
                                          "TRACE", "POST",    "BREW", "get"};
    int fd = dial();
    for (size_t i = 0; i < MRG_ARRAY_LEN(methods); i++) {
        char text[100], want[100];
        snprintf(text, sizeof(text), "%s /m HTTP/1.1\r\nHost: a\r\n\r\n", methods[i]);
        snprintf(want, sizeof(want), "\r\n\r\n%s /m ?", methods[i]);
        say(fd, text);
        _cleanup_free_ char *reply = read_one(fd, false);
        assert_has(reply, want);
    }
    say(fd, "HEAD /m HTTP/1.1\r\nHost: a\r\n\r\n");
    _cleanup_free_ char *head = read_one(fd, true);
    assert_has(head, "Content-Length: 23\r\n"); /* "HEAD /m ?\nhost=a\n\nnone:" */
    say(fd, GET("/after", ""));
    _cleanup_free_ char *after = read_one(fd, false);
    assert_true(strncmp(after, "HTTP/1.1 200", 12) == 0); /* no byte of a body came before */
    close(fd);
}

static void test_bodies(void **state)
{
    (void)state;
    static const struct {
        const char *head, *body, *want;
    } cases[] = {
        {"Content-Type: application/json\r\n", "{\"a\": 1.00}", "json:{\"a\": 1.00}"},
        {"Content-Type: text/plain\r\n", "hello", "text:hello"},
        {"Content-Type: application/x-www-form-urlencoded\r\n", "a=1&a=%32", "text:a=1&a=%32"},
        {"Content-Type: multipart/form-data; boundary=x\r\n", "--x\r\n\r\n1\r\n--x--\r\n",
         "text:--x\r\n\r\n1\r\n--x--\r\n"},
        {"", "\xFF\x01\xFE", "binary:\xFF\x01\xFE"},
        {"", "", "none:"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        char text[400];
        int len = snprintf(text, sizeof(text),
                           "POST / HTTP/1.1\r\nHost: a\r\n%sContent-Length: %zu\r\n" CLOSE "\r\n%s",
                           cases[i].head, strlen(cases[i].body), cases[i].body);
        int fd = dial();
        put(fd, text, (size_t)len);
        _cleanup_free_ char *reply = read_all(fd, NULL);
        assert_has(reply, cases[i].want);
    }
}

static void test_chunked_upload(void **state)
{
    (void)state;
    _cleanup_free_ char *reply =
        ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n" CLOSE "\r\n"
            "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n");
    assert_has(reply, "\n\ntext:abc0123456789");
    assert_lacks(reply, "x-trailer");
    _cleanup_free_ char *empty =
        ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" CLOSE "\r\n0\r\n\r\n");
    assert_has(empty, "\n\nnone:");
}

static void test_expect_continue(void **state)
{
    (void)state;
    int fd = dial();
    say(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n" CLOSE "\r\n");
    _cleanup_free_ char *go = read_one(fd, true);
    assert_string_equal(go, "HTTP/1.1 100 Continue\r\n\r\n");
    say(fd, "ok");
    _cleanup_free_ char *reply = read_all(fd, NULL);
    assert_has(reply, "\n\ntext:ok");
    /* Refused before it is sent. */
    _cleanup_free_ char *no =
        ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\nExpect: 100-continue\r\n\r\n");
    assert_true(strncmp(no, "HTTP/1.1 413 ", 13) == 0);
    assert_lacks(no, "100 Continue");
}

static void test_keep_alive_and_pipelining(void **state)
{
    (void)state;
    int fd = dial();
    say(fd, GET("/1", "") "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" GET("/later", "")
                GET("/4", CLOSE));
    _cleanup_free_ char *replies = read_all(fd, NULL);
    const char *first = strstr(replies, "GET /1"), *second = strstr(replies, "POST /2"),
               *third = strstr(replies, "GET /later");
    assert_true(first && second > first && third > second && strstr(replies, "GET /4") > third);
    assert_int_equal(occurrences(replies, "HTTP/1.1 200"), 4);
    _cleanup_free_ char *old = ask("GET /old HTTP/1.0\r\n\r\n");
    assert_has(old, "GET /old");
    assert_has(old, "Connection: close\r\n");
}

/* ---- refusals ---- */

static void test_smuggled_requests_are_not_served(void **state)
{
    (void)state;
    static const struct {
        const char *head, *why;
    } cases[] = {
        {"Host: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n", "2 Content-Length headers"},
        {"Host: a\r\nContent-Length: 0\r\nContent-Length: 44\r\n", "2 Content-Length headers"},
        {"Host: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n",
         "both Content-Length and Transfer-Encoding"},
        {"Host: a\r\nTransfer-Encoding: gzip, chunked\r\n",
         "a Transfer-Encoding that is not exactly chunked"},
        {"Host: a\r\nTransfer-Encoding: chunked \r\n", "a Transfer-Encoding that is not exactly chunked"},
        {"Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
         "a Transfer-Encoding that"},
        {"Host: a\r\nTransfer-Encoding: identity\r\n", "a Transfer-Encoding that is not exactly chunked"},
        {"Host: a\r\nContent-Length : 0\r\n", "\\\"Content-Length \\\" is no header name"},
        {"Host: a\r\nTransfer-Encoding\t: chunked\r\n", "is no header name"},
        {"Host: a\r\nX\x01: 1\r\n", "is no header name"},
        {": 1\r\nHost: a\r\n", "is no header name"},
        {"Host: a\r\nX: a\rb\r\n", "control character"},
        {"Host: a\r\nHost: a\r\n", "2 Host headers"},
        {"", "no Host header"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        char text[400];
        unsigned before = stub_count(&stub.submitted);
        snprintf(text, sizeof(text), "POST / HTTP/1.1\r\n%s\r\n" GET("/smuggled", ""), cases[i].head);
        _cleanup_free_ char *reply = ask(text);
        assert_refused(reply, "400 Bad Request", cases[i].why);
        assert_int_equal(stub_count(&stub.submitted), before);
    }
    _cleanup_free_ char *old = ask("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_refused(old, "400 Bad Request", "in HTTP/1.0");
}

static void test_odd_request_lines_are_refused(void **state)
{
    (void)state;
    _cleanup_free_ char *blank = ask("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_refused(blank, "400 Bad Request", "a blank or control character in the request target");
    _cleanup_free_ char *method = ask("G@T / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_refused(method, "400 Bad Request", "is no method");
}

/* What the library hides from its users; see http_int.h. */
static void test_hidden_bytes_are_refused(void **state)
{
    (void)state;
#define PIECE(literal)                                                                                       \
    {                                                                                                        \
        literal, sizeof(literal) - 1                                                                         \
    }
    static const struct mrg_slice cases[] = {
        PIECE("GET / HTTP/1.1\r\nHost: a\r\nX-A: one\r\n two\r\nX-B: 1\r\n\r\n"),
        PIECE("GET / HTTP/1.1\r\nHost: a\r\nX-A: one\r\n\ttwo\r\n\r\n"),
        PIECE("GET / HTTP/1.1\r\nHost: a\r\nX-A: one\0two\r\nX-B: 1\r\n\r\n"),
        PIECE("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\0 \r\n\r\n"),
        PIECE("GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n" GET("/smuggled", "")),
        PIECE("GET / HTTP/1.1\r\nHost: a\r\n:\r\n" GET("/smuggled", "")),
    };
    unsigned before = stub_count(&stub.submitted);
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        int fd = dial();
        put(fd, cases[i].ptr, cases[i].len);
        _cleanup_free_ char *reply = read_all(fd, NULL);
        assert_refused(reply, "400 Bad Request", "a NUL, a folded line or a nameless header");
    }
    static const struct mrg_slice lines[] = {
        PIECE("GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n"),
        PIECE("GET\0 /a HTTP/1.1\r\nHost: a\r\n\r\n"),
        PIECE("GET  /a HTTP/1.1\r\nHost: a\r\n\r\n"),
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(lines); i++) {
        int fd = dial();
        put(fd, lines[i].ptr, lines[i].len);
        _cleanup_free_ char *reply = read_all(fd, NULL);
        assert_refused(reply, "400 Bad Request", "the request line is not METHOD, target and version");
    }
    assert_int_equal(stub_count(&stub.submitted), before);
}

/* The same judgement must let through what is right, however it arrives. */
static void test_heads_in_small_pieces(void **state)
{
    (void)state;
    struct mrg_buf text;
    mrg_buf_init(&text, SIZE_MAX);
    for (int i = 0; i < 3; i++) {
        mrg_buf_append_str(
            &text,
            "GET /a%2F%41?q=%42 HTTP/1.1\r\nHost: a\r\nCookie: a=1; b=2\r\nX-Empty:\r\nX-Lf: 1\nX-Long:   ");
        for (int k = 0; k < 5000 * i; k++)
            mrg_buf_append_char(&text, 'x');
        mrg_buf_append_str(&text, i == 2 ? " \r\n" CLOSE "X-Last:\r\n\r\n" : " \r\n\r\n");
    }
    static const size_t sizes[] = {1, 7, 1000, 1000000};
    for (size_t i = 0; i < MRG_ARRAY_LEN(sizes); i++) {
        int fd = dial();
        for (size_t at = 0; at < text.len; at += sizes[i])
            put(fd, text.data + at, at + sizes[i] < text.len ? sizes[i] : text.len - at);
        _cleanup_free_ char *replies = read_all(fd, NULL);
        assert_int_equal(occurrences(replies, "HTTP/1.1 200 OK"), 3);
        assert_int_equal(occurrences(replies, "GET /a%2F%41 ?q=%42\n"), 3);
    }
    mrg_buf_done(&text);
}

static void test_what_the_library_answers_itself(void **state)
{
    (void)state;
    static const struct {
        const char *text, *status;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost a\r\n\r\n", "HTTP/1.1 400 "},
        {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n", "HTTP/1.1 400 "},
        {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 \r\n\r\nx", "HTTP/1.1 400 "},
        {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", "HTTP/1.1 413 "},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400 "},
        {"GET / FOO\r\nHost: a\r\n\r\n", "HTTP/1.1 400 "},
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", "HTTP/1.1 505 "},
        {"GET\r\n\r\n", ""}, /* closed without a word */
    };
    unsigned before = stub_count(&stub.submitted);
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *reply = ask(cases[i].text);
        assert_int_equal(
            strncmp(reply, cases[i].status, strlen(cases[i].status) ? strlen(cases[i].status) : 1), 0);
    }
    assert_int_equal(stub_count(&stub.submitted), before);
}

/* ---- replies ---- */

static struct mrg_reply wanted;

static void give_wanted(struct mrg_exchange *exchange)
{
    exchange->reply = wanted;
}

static char *reply_to(const char *request, struct mrg_reply reply)
{
    wanted = reply;
    stub.hook = give_wanted;
    char *bytes = ask(request);
    stub.hook = NULL;
    return bytes;
}

#define BODY(type, literal)                                                                                  \
    {                                                                                                        \
        MRG_BODY_##type,                                                                                     \
        {                                                                                                    \
            literal, sizeof(literal) - 1                                                                     \
        }                                                                                                    \
    }

static void test_statuses(void **state)
{
    (void)state;
    static const int fine[] = {200, 201, 299, 418, 599, 999};
    for (size_t i = 0; i < MRG_ARRAY_LEN(fine); i++) {
        char want[40];
        snprintf(want, sizeof(want), "HTTP/1.1 %d ", fine[i]);
        _cleanup_free_ char *reply =
            reply_to(GET("/", CLOSE), (struct mrg_reply){.status = fine[i], .body = BODY(TEXT, "x")});
        assert_true(strncmp(reply, want, strlen(want)) == 0);
        assert_has(reply, "\r\n\r\nx");
    }
    static const int odd[] = {0, 100, 101, 103, 199, 1000, -1, 70000};
    for (size_t i = 0; i < MRG_ARRAY_LEN(odd); i++) {
        _cleanup_free_ char *reply = reply_to(GET("/", CLOSE), (struct mrg_reply){.status = odd[i]});
        assert_refused(reply, "500 Internal Server Error", "expected 200 to 999");
    }
}

static void test_replies_without_a_body(void **state)
{
    (void)state;
    int fd = dial();
    stub.hook = give_wanted;
    wanted = (struct mrg_reply){.status = 204, .body = BODY(JSON, "{}")};
    say(fd, GET("/", ""));
    _cleanup_free_ char *empty = read_one(fd, true);
    assert_lacks(empty, "Content-Length");
    assert_lacks(empty, "content-type");
    wanted.status = 304;
    say(fd, GET("/", ""));
    _cleanup_free_ char *same = read_one(fd, true);
    assert_has(same, "HTTP/1.1 304 ");
    wanted.status = 200;
    say(fd, GET("/", CLOSE));
    _cleanup_free_ char *last = read_all(fd, NULL);
    assert_true(strncmp(last, "HTTP/1.1 200 OK", 15) == 0); /* no byte of the others' bodies */
    assert_has(last, "\r\n\r\n{}");
    _cleanup_free_ char *none = reply_to(GET("/", CLOSE), (struct mrg_reply){.status = 200});
    assert_has(none, "Content-Length: 0\r\n");
    assert_lacks(none, "content-type");
}

static void test_content_types(void **state)
{
    (void)state;
    _cleanup_free_ char *json =
        reply_to(GET("/", CLOSE), (struct mrg_reply){.status = 200, .body = BODY(JSON, "[1]")});
    assert_has(json, "\r\ncontent-type: application/json\r\n");
    _cleanup_free_ char *text =
        reply_to(GET("/", CLOSE), (struct mrg_reply){.status = 200, .body = BODY(TEXT, "a")});
    assert_has(text, "\r\ncontent-type: text/plain; charset=utf-8\r\n");
    _cleanup_free_ char *bytes =
        reply_to(GET("/", CLOSE), (struct mrg_reply){.status = 200, .body = BODY(BINARY, "\xFF")});
    assert_has(bytes, "\r\ncontent-type: application/octet-stream\r\n");
    struct mrg_header own = {MRG_SLICE("Content-Type"), MRG_SLICE("text/html")};
    _cleanup_free_ char *html = reply_to(
        GET("/", CLOSE),
        (struct mrg_reply){.status = 200, .headers = &own, .header_count = 1, .body = BODY(TEXT, "a")});
    assert_has(html, "\r\nContent-Type: text/html\r\n");
    assert_lacks(html, "text/plain");
}

static void test_reply_headers(void **state)
{
    (void)state;
    struct mrg_header headers[] = {
        {MRG_SLICE("set-cookie"), MRG_SLICE("a=1")},
        {MRG_SLICE("x-empty"), MRG_SLICE("")},
        {MRG_SLICE("set-cookie"), MRG_SLICE("b=2")},
        {MRG_SLICE("x-utf"), MRG_SLICE("\xC3\xA9\tz")},
        {MRG_SLICE("content-length"), MRG_SLICE("999")},
        {MRG_SLICE("Transfer-Encoding"), MRG_SLICE("chunked")},
        {MRG_SLICE("connection"), MRG_SLICE("x")},
        {MRG_SLICE("date"), MRG_SLICE("never")},
        {MRG_SLICE("x-split"), MRG_SLICE("a\r\nx-evil: 1")},
        {MRG_SLICE("x-nul"), MRG_SLICE("a\0b")},
        {MRG_SLICE("x-cr"), MRG_SLICE("a\rb")},
        {MRG_SLICE("x bad"), MRG_SLICE("1")},
        {MRG_SLICE("x-evil: 1\r\ny"), MRG_SLICE("1")},
        {MRG_SLICE(""), MRG_SLICE("1")},
        {MRG_SLICE("x-evil:1;y"), MRG_SLICE("1")},
        {MRG_SLICE("x(y"), MRG_SLICE("1")},
    };
    const struct mrg_reply given = {.status = 200,
                                    .headers = headers,
                                    .header_count = MRG_ARRAY_LEN(headers),
                                    .body = BODY(TEXT, "ok"),
                                    .source = "llm"};
    _cleanup_free_ char *reply = reply_to(GET("/", CLOSE), given);
    const char *first = strstr(reply, "set-cookie: a=1\r\n");
    assert_true(first && strstr(first, "set-cookie: b=2\r\n"));
    assert_has(reply, "\r\nx-empty: ");
    assert_has(reply, "\r\nx-utf: \xC3\xA9\tz\r\n");
    assert_has(reply, "\r\nContent-Length: 2\r\n");
    assert_int_equal(occurrences(reply, "Date: "), 1);
    static const char *const gone[] = {"999",    "chunked", "connection: x", "never", "x-split",
                                       "x-evil", "x-nul",   "x-cr",          "x bad", "x(y"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(gone); i++)
        assert_lacks(reply, gone[i]);
    assert_has(reply, "\r\nmirage-source: llm\r\n");
    assert_lacks(reply, "mirage-error");
}

static void test_failures_say_why(void **state)
{
    (void)state;
    const struct mrg_reply given = {
        .status = 500, .body = BODY(JSON, "{\"error\":\"x\"}"), .error = "the model said\r\nX: y \xC3\xA9"};
    _cleanup_free_ char *reply = reply_to(GET("/later", CLOSE), given);
    assert_has(reply, "HTTP/1.1 500 ");
    assert_has(reply, "\r\nmirage-error: the model said  X: y \xC3\xA9\r\n");
    assert_lacks(reply, "mirage-source");
}

static void test_reply_headers_that_do_not_fit(void **state)
{
    (void)state;
    static char value[8000];
    memset(value, 'v', sizeof(value) - 1);
    struct mrg_header headers[3];
    for (size_t i = 0; i < 3; i++)
        headers[i] = (struct mrg_header){MRG_SLICE("x"), {value, sizeof(value) - 1}};
    _cleanup_free_ char *fits =
        reply_to(GET("/", CLOSE), (struct mrg_reply){.status = 200, .headers = headers, .header_count = 1});
    assert_has(fits, "HTTP/1.1 200 OK");
    _cleanup_free_ char *large =
        reply_to(GET("/", CLOSE), (struct mrg_reply){.status = 200, .headers = headers, .header_count = 3});
    assert_refused(large, "500 ", "the reply's headers are 24012 bytes");
}

static void test_headers_of_mirage_can_be_switched_off(void **state)
{
    (void)state;
    struct mrg_config config = stub_config;
    config.reply_headers = false;
    stub_start(&config);
    _cleanup_free_ char *reply = ask(GET("/", CLOSE));
    assert_lacks(reply, "mirage-");
    _cleanup_free_ char *refused = ask("GET / HTTP/1.1\r\n\r\n");
    assert_lacks(refused, "mirage-");
    assert_has(refused, "{\"error\":");
    stub_stop();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_target_is_kept_raw),
        TEST(test_headers_in_order_lower_case_and_trimmed),
        TEST(test_every_method),
        TEST(test_bodies),
        TEST(test_chunked_upload),
        TEST(test_expect_continue),
        TEST(test_keep_alive_and_pipelining),
        TEST(test_smuggled_requests_are_not_served),
        TEST(test_odd_request_lines_are_refused),
        TEST(test_hidden_bytes_are_refused),
        TEST(test_heads_in_small_pieces),
        TEST(test_what_the_library_answers_itself),
        TEST(test_statuses),
        TEST(test_replies_without_a_body),
        TEST(test_content_types),
        TEST(test_reply_headers),
        TEST(test_failures_say_why),
        TEST(test_reply_headers_that_do_not_fit),
        cmocka_unit_test(test_headers_of_mirage_can_be_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
