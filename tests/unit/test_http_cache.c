// SPDX-License-Identifier: Apache-2.0
/*
 * Replies that are kept prepared: when one is used and when not, and that none is left. Responses of the library are
 * counted by --wrap: what is served without a new one came from the table.
 */
#include <microhttpd.h>

#include "core/session.h"
#include "http_stub.h"
#include "transports/http/http_cache.h"
#include "util/text.h"

enum { TEXTS = 300 }; /* more than there are slots */

static struct mrg_text *texts[TEXTS];
static struct mrg_sessions *sessions;
static atomic_bool in_session; /* requests have one */
static atomic_int status;      /* of replies */
static atomic_size_t padding;  /* bytes before a body */
static atomic_uint made, destroyed;

struct MHD_Response *__real_MHD_create_response_from_buffer(size_t len, void *bytes,
                                                            enum MHD_ResponseMemoryMode mode);
struct MHD_Response *__wrap_MHD_create_response_from_buffer(size_t len, void *bytes,
                                                            enum MHD_ResponseMemoryMode mode);
void __real_MHD_destroy_response(struct MHD_Response *response);
void __wrap_MHD_destroy_response(struct MHD_Response *response);
enum MHD_Result __real_MHD_queue_response(struct MHD_Connection *connection, unsigned status_code,
                                          struct MHD_Response *response);
enum MHD_Result __wrap_MHD_queue_response(struct MHD_Connection *connection, unsigned status_code,
                                          struct MHD_Response *response);

struct MHD_Response *__wrap_MHD_create_response_from_buffer(size_t len, void *bytes,
                                                            enum MHD_ResponseMemoryMode mode)
{
    atomic_fetch_add(&made, 1);
    return __real_MHD_create_response_from_buffer(len, bytes, mode);
}

void __wrap_MHD_destroy_response(struct MHD_Response *response)
{
    atomic_fetch_add(&destroyed, 1);
    __real_MHD_destroy_response(response);
}

/* Without a connection (a test of the table alone): taken, and no more. */
enum MHD_Result __wrap_MHD_queue_response(struct MHD_Connection *connection, unsigned status_code,
                                          struct MHD_Response *response)
{
    if (connection)
        return __real_MHD_queue_response(connection, status_code, response);
    return response && status_code == 200 ? MHD_YES : MHD_NO;
}

/* /17 is answered with the 17th text, for good; /later/17 by another thread. */
static void replay(struct mrg_exchange *exchange)
{
    const char *last = strrchr(exchange->request.path.ptr, '/');
    size_t at = strtoul(last + 1, NULL, 10);
    size_t before = atomic_load(&padding), len = before + texts[at]->len;
    char *body = mrg_arena_alloc(exchange->arena, len + 1);
    memset(body, ' ', before);
    memcpy(body + before, texts[at]->data, texts[at]->len + 1);
    exchange->reply = (struct mrg_reply){.status = atomic_load(&status),
                                         .body = {MRG_BODY_TEXT, {body, len}},
                                         .source = "cassette",
                                         .lasting = true};
    exchange->reply_text = mrg_text_ref(texts[at]);
    if (atomic_load(&in_session))
        exchange->session = mrg_sessions_get(sessions, MRG_SLICE("s1"));
}

static int begin(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        char text[32];
        texts[i] = mrg_text_new(text, (size_t)snprintf(text, sizeof(text), "text %zu.", i));
    }
    sessions = mrg_sessions_new();
    atomic_store(&in_session, false);
    atomic_store(&status, 200);
    atomic_store(&padding, 0);
    atomic_store(&made, 0);
    atomic_store(&destroyed, 0);
    stub_start(&stub_config);
    stub.hook = replay;
    return 0;
}

/* Each response was given back, and no text is held any more. */
static int end(void **state)
{
    (void)state;
    stub_stop();
    mrg_sessions_free(sessions);
    int left = atomic_load(&made) != atomic_load(&destroyed);
    for (size_t i = 0; i < TEXTS; i++) {
        left |= atomic_load(&texts[i]->refs) != 1;
        mrg_text_unref(texts[i]);
    }
    return left ? -1 : 0;
}

static char *get(int fd, const char *method, unsigned at, const char *headers)
{
    char text[200];
    snprintf(text, sizeof(text), "%s /%u HTTP/1.1\r\nHost: a\r\n%s\r\n", method, at, headers);
    say(fd, text);
    return read_one(fd, strcmp(method, "HEAD") == 0 || atomic_load(&status) == 204);
}

/* The reply to a GET, and that `want_made` responses were made for it. */
static char *get_counted(int fd, unsigned at, const char *headers, unsigned want_made)
{
    unsigned before = atomic_load(&made);
    char *reply = get(fd, "GET", at, headers);
    assert_int_equal(atomic_load(&made) - before, want_made);
    return reply;
}

static void test_the_second_time_it_is_there(void **state)
{
    (void)state;
    int fd = dial(), other = dial();
    _cleanup_free_ char *first = get_counted(fd, 7, "", 1);
    _cleanup_free_ char *second = get_counted(fd, 7, "", 0);
    _cleanup_free_ char *third = get_counted(other, 7, "", 0);
    assert_has(first, "\r\n\r\ntext 7.");
    assert_has(first, "mirage-source: cassette\r\n");
    assert_has(first, "content-type: text/plain; charset=utf-8\r\n");
    assert_has(second, "\r\n\r\ntext 7.");
    assert_has(second, "mirage-source: cassette\r\n");
    assert_int_equal(strlen(first), strlen(second));
    assert_int_equal(strlen(first), strlen(third));
    _cleanup_free_ char *another = get_counted(fd, 8, "", 1);
    assert_has(another, "\r\n\r\ntext 8.");
    close(fd);
    close(other);
}

static void test_a_slot_is_taken_over(void **state)
{
    (void)state;
    int fd = dial();
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < TEXTS; i++) {
            char want[32];
            snprintf(want, sizeof(want), "\r\n\r\ntext %u.", i);
            _cleanup_free_ char *reply = get(fd, "GET", i, "");
            assert_has(reply, want);
        }
    }
    unsigned dropped = atomic_load(&destroyed);
    assert_true(dropped >= TEXTS - MRG_REPLY_CACHE_SLOTS);
    assert_true(atomic_load(&made) - dropped <= MRG_REPLY_CACHE_SLOTS);
    assert_true(atomic_load(&made) < 3 * TEXTS);
    close(fd);
}

static void test_head_and_204(void **state)
{
    (void)state;
    int fd = dial();
    _cleanup_free_ char *get_first = get_counted(fd, 1, "", 1);
    _cleanup_free_ char *head = get(fd, "HEAD", 1, "");
    assert_has(head, "Content-Length: 7\r\n");
    _cleanup_free_ char *after_head = get_counted(fd, 1, "", 0); /* no byte of a body came before it */
    assert_true(strncmp(after_head, "HTTP/1.1 200 OK\r\n", 17) == 0);
    assert_has(after_head, "\r\n\r\ntext 1.");
    _cleanup_free_ char *head_first = get(fd, "HEAD", 2, "");
    _cleanup_free_ char *then = get_counted(fd, 2, "", 0);
    assert_has(then, "\r\n\r\ntext 2.");
    atomic_store(&status, 204);
    for (int i = 0; i < 3; i++) {
        _cleanup_free_ char *empty = get_counted(fd, 3, "", i == 0);
        assert_true(strncmp(empty, "HTTP/1.1 204 ", 13) == 0);
        assert_lacks(empty, "Content-Length");
        assert_lacks(empty, "content-type");
        assert_has(empty, "mirage-source: cassette\r\n");
    }
    close(fd);
}

static void test_a_session_to_tell_is_told(void **state)
{
    (void)state;
    int fd = dial();
    _cleanup_free_ char *bare = get_counted(fd, 1, "", 1);
    assert_lacks(bare, "mirage-session");
    atomic_store(&in_session, true);
    _cleanup_free_ char *told = get_counted(fd, 1, "", 1);
    assert_has(told, "\r\nmirage-session: s1\r\n");
    _cleanup_free_ char *named = get_counted(fd, 1, "mirage-session: s1\r\n", 0);
    assert_lacks(named, "mirage-session");
    _cleanup_free_ char *renamed = get_counted(fd, 1, "mirage-session: s2\r\n", 1); /* it is in another */
    assert_has(renamed, "\r\nmirage-session: s1\r\n");
    _cleanup_free_ char *again = get_counted(fd, 1, "", 1);
    assert_has(again, "\r\nmirage-session: s1\r\n");
    atomic_store(&in_session, false);
    _cleanup_free_ char *still_bare = get_counted(fd, 1, "", 0);
    assert_lacks(still_bare, "mirage-session");
    close(fd);
}

static void test_headers_of_mirage_switched_off_and_on(void **state)
{
    (void)state;
    struct mrg_config hidden = stub_config;
    hidden.reply_headers = false;
    int fd = dial();
    _cleanup_free_ char *shown = get(fd, "GET", 1, "");
    assert_has(shown, "mirage-source");
    mrg_transport_http.configure(stub.transport, &hidden);
    atomic_store(&in_session, true); /* which is told nobody then */
    _cleanup_free_ char *bare = get_counted(fd, 1, "", 1);
    assert_lacks(bare, "mirage-");
    _cleanup_free_ char *bare_again = get_counted(fd, 1, "", 0);
    assert_lacks(bare_again, "mirage-");
    atomic_store(&in_session, false);
    mrg_transport_http.configure(stub.transport, &stub_config);
    _cleanup_free_ char *shown_again = get(fd, "GET", 1, "");
    assert_has(shown_again, "mirage-source");
    close(fd);
}

static void test_a_large_body_is_not_kept(void **state)
{
    (void)state;
    int fd = dial();
    atomic_store(&padding, MRG_REPLY_CACHE_BYTES - texts[1]->len);
    _cleanup_free_ char *fits = get_counted(fd, 1, "", 1);
    _cleanup_free_ char *kept = get_counted(fd, 1, "", 0);
    assert_int_equal(strlen(fits), strlen(kept));
    atomic_fetch_add(&padding, 1);
    for (int i = 0; i < 2; i++) {
        _cleanup_free_ char *large = get_counted(fd, 2, "", 1);
        assert_has(large, " text 2.");
    }
    close(fd);
}

static void test_a_closing_listener_closes_its_connections(void **state)
{
    (void)state;
    int fd = dial(), held = dial();
    _cleanup_free_ char *first = get_counted(fd, 1, "", 1);
    assert_lacks(first, "Connection: close");
    say(held, GET("/hold/1", ""));
    stub_await(&stub.submitted, 2);
    mrg_transport_http.close(stub.transport, stub.door);
    say(fd, GET("/1", ""));
    _cleanup_free_ char *last = read_all(fd, NULL);
    assert_has(last, "Connection: close\r\n");
    assert_has(last, "\r\n\r\ntext 1.");
    stub_release();
    _cleanup_free_ char *reply = read_all(held, NULL);
    assert_has(reply, "Connection: close\r\n");
    assert_has(reply, "\r\n\r\ntext 1.");
}

/* ---- both threads of an address at once, and a third that delivers ---- */

enum { CLIENTS = 4, ROUNDS = 300 };

static void *ask_on(void *data)
{
    unsigned seed = (unsigned)(uintptr_t)data;
    int fd = dial();
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned at = (unsigned)rand_r(&seed) % TEXTS;
        char text[100], want[40];
        snprintf(text, sizeof(text), "GET %s/%u HTTP/1.1\r\nHost: a\r\n\r\n", i % 3 ? "" : "/later", at);
        snprintf(want, sizeof(want), "\r\n\r\ntext %u.", at);
        say(fd, text);
        _cleanup_free_ char *reply = read_one(fd, false);
        assert_has(reply, want);
    }
    close(fd);
    return NULL;
}

static void test_many_at_once(void **state)
{
    (void)state;
    pthread_t threads[CLIENTS];
    for (uintptr_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_on, (void *)(i + 1)), 0);
    for (size_t i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    assert_true(atomic_load(&made) < CLIENTS * ROUNDS);
}

/* The table alone, with nothing between its users that would keep them apart. */
static struct http_cache table;

static void *use_table(void *data)
{
    unsigned seed = (unsigned)(uintptr_t)data;
    for (unsigned i = 0; i < 20 * ROUNDS; i++) {
        struct mrg_text *text = texts[(unsigned)rand_r(&seed) % TEXTS];
        enum MHD_Result result = MHD_NO;
        if (http_cache_queue(&table, NULL, text, i % 2, &result)) {
            MRG_ASSERT(result == MHD_YES);
            continue;
        }
        http_cache_keep(&table, text, i % 2, 200,
                        MHD_create_response_from_buffer(text->len, text->data, MHD_RESPMEM_MUST_COPY));
    }
    return NULL;
}

static void test_one_table_and_many_threads(void **state)
{
    (void)state;
    pthread_t threads[CLIENTS];
    http_cache_init(&table);
    for (uintptr_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_table, (void *)(i + 1)), 0);
    for (size_t i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    http_cache_done(&table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_second_time_it_is_there),
        TEST(test_a_slot_is_taken_over),
        TEST(test_head_and_204),
        TEST(test_a_session_to_tell_is_told),
        TEST(test_headers_of_mirage_switched_off_and_on),
        TEST(test_a_large_body_is_not_kept),
        TEST(test_a_closing_listener_closes_its_connections),
        TEST(test_many_at_once),
        TEST(test_one_table_and_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
