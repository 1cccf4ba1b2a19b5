// SPDX-License-Identifier: Apache-2.0
/*
 * A gateway that answers as its tests tell it, and a client that writes and reads raw bytes. For the tests of transports/http
 * only. They are linked with --wrap for mrg_gateway_submit, mrg_gateway_gone, MHD_suspend_connection and listen, so that the
 * transport calls the functions here in place of the real ones.
 *
 * What a path does: /later… is delivered by another thread, /hold… when the test says so (stub_release), all others before submit
 * returns. The reply is what the test's hook makes of it; without one, 200 and the request as text (see echo).
 */
#pragma once

#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config.h"
#include "core/gateway.h"
#include "transports/http/http.h"
#include "util/buf.h"

#define STUB_PATIENCE_S 30 /* only a failing test waits so long */
#define STUB_HELD       1024

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct mrg_exchange *queue[STUB_HELD]; /* for the other thread */
    size_t queued;
    struct mrg_exchange *held[STUB_HELD];
    size_t held_count;
    unsigned submitted;
    unsigned gone;
    atomic_bool between; /* what is held is delivered right after the suspension, by the daemon's thread */
    bool stop;
    pthread_t thread;
    void (*hook)(struct mrg_exchange *exchange); /* makes the reply */
    void (*on_listen)(void);                     /* called once, while an address opens */
    struct mrg_watch *watch;
    struct mrg_transport *transport;
    struct mrg_door *door;
    unsigned short port;
} stub = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* METHOD path ?query, a line for each header, an empty line, the body's kind and its bytes. */
static void echo(struct mrg_exchange *exchange)
{
    static const char *const kinds[] = {"none", "json", "text", "binary"};
    const struct mrg_request *request = &exchange->request;
    struct mrg_buf text;
    mrg_buf_init(&text, SIZE_MAX);
    mrg_buf_append_slice(&text, request->method);
    mrg_buf_append_char(&text, ' ');
    mrg_buf_append_slice(&text, request->path);
    mrg_buf_append_str(&text, " ?");
    mrg_buf_append_slice(&text, request->query);
    for (size_t i = 0; i < request->header_count; i++)
        mrg_buf_appendf(&text, "\n%s=%s", request->headers[i].name.ptr, request->headers[i].value.ptr);
    mrg_buf_appendf(&text, "\n\n%s:", kinds[request->body.kind]);
    mrg_buf_append_slice(&text, request->body.bytes);
    exchange->reply.status = 200;
    exchange->reply.source = "stub";
    exchange->reply.body.kind = MRG_BODY_TEXT;
    exchange->reply.body.bytes =
        (struct mrg_slice){mrg_arena_memdup(exchange->arena, text.data, text.len), text.len};
    mrg_buf_done(&text);
}

static void stub_deliver(struct mrg_exchange *exchange)
{
    (stub.hook ? stub.hook : echo)(exchange);
    exchange->deliver(exchange);
    mrg_exchange_unref(exchange);
}

static bool begins(struct mrg_slice text, const char *start)
{
    return text.len >= strlen(start) && memcmp(text.ptr, start, strlen(start)) == 0;
}

void __wrap_mrg_gateway_submit(struct mrg_gateway *gateway, struct mrg_exchange *exchange);
void __wrap_mrg_gateway_gone(struct mrg_gateway *gateway, struct mrg_exchange *exchange);

void __wrap_mrg_gateway_submit(struct mrg_gateway *gateway, struct mrg_exchange *exchange)
{
    (void)gateway;
    mrg_exchange_ref(exchange);
    struct mrg_slice path = exchange->request.path;
    pthread_mutex_lock(&stub.lock);
    stub.submitted++;
    MRG_ASSERT(stub.queued < STUB_HELD && stub.held_count < STUB_HELD);
    bool now = !begins(path, "/later") && !begins(path, "/hold");
    if (begins(path, "/later"))
        stub.queue[stub.queued++] = exchange;
    else if (!now)
        stub.held[stub.held_count++] = exchange;
    pthread_cond_broadcast(&stub.changed);
    pthread_mutex_unlock(&stub.lock);
    if (now)
        stub_deliver(exchange);
}

void __wrap_mrg_gateway_gone(struct mrg_gateway *gateway, struct mrg_exchange *exchange)
{
    (void)gateway;
    atomic_store(&exchange->gone, true);
    pthread_mutex_lock(&stub.lock);
    stub.gone++;
    pthread_cond_broadcast(&stub.changed);
    pthread_mutex_unlock(&stub.lock);
}

static void *stub_run(void *data)
{
    (void)data;
    pthread_mutex_lock(&stub.lock);
    while (!stub.stop) {
        if (stub.queued == 0) {
            pthread_cond_wait(&stub.changed, &stub.lock);
            continue;
        }
        struct mrg_exchange *exchange = stub.queue[--stub.queued];
        pthread_mutex_unlock(&stub.lock);
        stub_deliver(exchange);
        pthread_mutex_lock(&stub.lock);
    }
    pthread_mutex_unlock(&stub.lock);
    return NULL;
}

static inline void stub_await(const unsigned *counter, unsigned least)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STUB_PATIENCE_S;
    pthread_mutex_lock(&stub.lock);
    int late = 0;
    while (*counter < least && late == 0)
        late = pthread_cond_timedwait(&stub.changed, &stub.lock, &until);
    bool reached = *counter >= least;
    pthread_mutex_unlock(&stub.lock);
    assert_true(reached);
}

/* Delivers all that is held, on this thread. */
static inline void stub_release(void)
{
    pthread_mutex_lock(&stub.lock);
    while (stub.held_count > 0) {
        struct mrg_exchange *exchange = stub.held[--stub.held_count];
        pthread_mutex_unlock(&stub.lock);
        stub_deliver(exchange);
        pthread_mutex_lock(&stub.lock);
    }
    pthread_mutex_unlock(&stub.lock);
}

struct MHD_Connection;
void __real_MHD_suspend_connection(struct MHD_Connection *connection);
void __wrap_MHD_suspend_connection(struct MHD_Connection *connection);

void __wrap_MHD_suspend_connection(struct MHD_Connection *connection)
{
    __real_MHD_suspend_connection(connection);
    if (atomic_load(&stub.between))
        stub_release();
}

int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);

int __wrap_listen(int fd, int backlog)
{
    void (*hook)(void) = MRG_TAKE(stub.on_listen);
    if (hook)
        hook();
    return __real_listen(fd, backlog);
}

static inline unsigned stub_count(const unsigned *counter)
{
    pthread_mutex_lock(&stub.lock);
    unsigned count = *counter;
    pthread_mutex_unlock(&stub.lock);
    return count;
}

/* ---- set-up ---- */

static inline unsigned short port_of(const struct mrg_door *door)
{
    return (unsigned short)atoi(strrchr(door->address, ':') + 1);
}

static void stub_start(const struct mrg_config *config)
{
    const struct mrg_transport_env env = {.gateway = NULL, .config = config};
    struct mrg_transport_env started = env;
    struct mrg_error err;
    stub.submitted = stub.gone = 0;
    stub.stop = false;
    stub.hook = NULL;
    atomic_store(&stub.between, false);
    assert_int_equal(mrg_watch_new(&stub.watch, &err), MRG_ERR_OK);
    started.watch = stub.watch;
    assert_int_equal(mrg_transport_http.start(&started, &stub.transport, &err), MRG_ERR_OK);
    stub.door = mrg_door_new(MRG_DOOR_DEPENDENCY, "inventory", NULL);
    assert_int_equal(mrg_transport_http.open(stub.transport, "127.0.0.1:0", stub.door, &err), MRG_ERR_OK);
    stub.port = port_of(stub.door);
    assert_int_equal(pthread_create(&stub.thread, NULL, stub_run, NULL), 0);
}

static const struct mrg_config stub_config = {
    .reply_headers = true,
    .limits = {.body = 1u << 20, .headers = 16u << 10, .deadline_ms = 60000},
};

static inline int set_up(void **state)
{
    (void)state;
    stub_start(&stub_config);
    return 0;
}

static inline void stub_stop(void)
{
    if (stub.transport)
        mrg_transport_http.quiesce(stub.transport);
    pthread_mutex_lock(&stub.lock);
    stub.stop = true;
    pthread_cond_broadcast(&stub.changed);
    pthread_mutex_unlock(&stub.lock);
    pthread_join(stub.thread, NULL);
    stub_release();
    if (stub.transport) /* the test may have stopped it */
        mrg_transport_http.stop(stub.transport);
    mrg_watch_free(stub.watch);
    mrg_door_unref(stub.door);
}

static inline int tear_down(void **state)
{
    (void)state;
    stub_stop();
    return 0;
}

/* ---- the client ---- */

static inline int dial_port(unsigned short port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval patience = {.tv_sec = STUB_PATIENCE_S};
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    close(fd);
    return -1;
}

static inline int dial(void)
{
    int fd = dial_port(stub.port);
    assert_true(fd >= 0);
    return fd;
}

/* False when the server has hung up; what it said can be read next. */
static inline bool put(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = send(fd, bytes, len, MSG_NOSIGNAL);
        if (done <= 0)
            return false;
        bytes += done;
        len -= (size_t)done;
    }
    return true;
}

static inline void say(int fd, const char *text)
{
    put(fd, text, strlen(text));
}

/* All until the server closes; the caller frees. *ret_reset tells an end by reset or patience lost. */
static inline char *read_all(int fd, bool *ret_reset)
{
    struct mrg_buf buf;
    char piece[65536];
    ssize_t len;
    mrg_buf_init(&buf, SIZE_MAX);
    while ((len = recv(fd, piece, sizeof(piece), 0)) > 0)
        mrg_buf_append(&buf, piece, (size_t)len);
    if (ret_reset)
        *ret_reset = len < 0;
    else
        assert_int_equal(len, 0);
    close(fd);
    return mrg_buf_take(&buf, NULL);
}

/* Head and, by Content-Length (none for `bodiless`), the body of one reply on a connection that stays open; the caller frees. */
static inline char *read_one(int fd, bool bodiless)
{
    struct mrg_buf buf;
    char c;
    mrg_buf_init(&buf, SIZE_MAX);
    while (buf.len < 4 || memcmp(buf.data + buf.len - 4, "\r\n\r\n", 4) != 0) {
        assert_int_equal(recv(fd, &c, 1, 0), 1);
        mrg_buf_append_char(&buf, c);
    }
    const char *length = strstr(buf.data, "Content-Length: ");
    size_t left = length && !bodiless ? strtoul(length + 16, NULL, 10) : 0;
    for (; left > 0; left--) {
        assert_int_equal(recv(fd, &c, 1, 0), 1);
        mrg_buf_append_char(&buf, c);
    }
    return mrg_buf_take(&buf, NULL);
}

/* What the server says to these bytes until it closes. */
static inline char *ask(const char *text)
{
    int fd = dial();
    say(fd, text);
    return read_all(fd, NULL);
}

static inline void assert_has(const char *text, const char *part)
{
    if (!text || !part || !strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part ? part : "(null)", text ? text : "(null)");
}

static inline void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in:\n%s", part, text);
}

static inline size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* A refusal with why, in header and body, that closes the connection; and no second reply. */
static inline void assert_refused(const char *reply, const char *status, const char *why)
{
    assert_true(strncmp(reply, "HTTP/1.1 ", 9) == 0);
    assert_has(reply, status);
    assert_has(reply, "\r\nmirage-error: ");
    assert_has(reply, "\r\n\r\n{\"error\":\"");
    assert_has(reply, why);
    assert_has(reply, "Connection: close\r\n");
    assert_int_equal(occurrences(reply, "HTTP/1.1 2") + occurrences(reply, "HTTP/1.1 4") +
                         occurrences(reply, "HTTP/1.1 5"),
                     1);
}

#define GET(path, more) "GET " path " HTTP/1.1\r\nHost: a\r\n" more "\r\n"
#define CLOSE           "Connection: close\r\n"
