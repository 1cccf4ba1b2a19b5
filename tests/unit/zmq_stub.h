// SPDX-License-Identifier: Apache-2.0
/*
 * A gateway that answers as its tests tell it, and sockets of callers. For the tests of transports/zmq only. They are linked with
 * --wrap for mrg_gateway_submit, mrg_gateway_gone, mrg_gateway_dependency and mrg_gateway_config, so that the transport calls the
 * functions here in place of the real ones.
 *
 * What a path does: /later… is delivered by another thread, /hold… when the test says so (stub_release), all others before submit
 * returns. The reply is what the test's hook makes of it; without one, 200 and the request as text (see echo).
 */
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "core/config.h"
#include "core/dependency.h"
#include "core/gateway.h"
#include "transports/zmq/zmq.h"
#include "util/buf.h"

#define STUB_PATIENCE_MS 30000 /* only a failing test waits so long */
#define STUB_HELD        4096

static char stub_inventory[] = "inventory", stub_payment[] = "payment";
static char stub_route[] = "POST /orders/a%2Fb?x=1"; /* of format body */
static struct mrg_dependency_config stub_configs[] = {{.name = stub_inventory}, {.name = stub_payment}};
static struct mrg_dependency_stats stub_stats[2];
static struct mrg_dependency stub_dependencies[2];
static struct mrg_config stub_config = {
    .reply_headers = true,
    .limits = {.body = 1u << 20, .headers = 16u << 10, .deadline_ms = 60000},
    .dependencies = stub_configs,
    .dependency_count = 2,
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct mrg_exchange *queue[STUB_HELD]; /* for the other thread */
    size_t queued;
    struct mrg_exchange *held[STUB_HELD];
    size_t held_count;
    unsigned submitted;
    unsigned gone;
    atomic_bool hold_all; /* whatever the path */
    bool stop;
    pthread_t thread;
    void (*_Atomic hook)(struct mrg_exchange *exchange); /* makes the reply */
    struct mrg_watch *watch;
    struct mrg_transport *transport;
    struct mrg_door *door; /* the one that set-up has opened */
    void *context;         /* of the callers' sockets */
    void *sockets[16];     /* that are open; closed at the end */
    size_t socket_count;
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
    void (*hook)(struct mrg_exchange * exchange) = atomic_load(&stub.hook);
    (hook ? hook : echo)(exchange);
    exchange->deliver(exchange);
    mrg_exchange_unref(exchange);
}

static bool begins(struct mrg_slice text, const char *start)
{
    return text.len >= strlen(start) && memcmp(text.ptr, start, strlen(start)) == 0;
}

void __wrap_mrg_gateway_submit(struct mrg_gateway *gateway, struct mrg_exchange *exchange);
void __wrap_mrg_gateway_gone(struct mrg_gateway *gateway, struct mrg_exchange *exchange);
struct mrg_dependency *__wrap_mrg_gateway_dependency(struct mrg_gateway *gateway, const char *name);
struct mrg_config *__wrap_mrg_gateway_config(struct mrg_gateway *gateway);

void __wrap_mrg_gateway_submit(struct mrg_gateway *gateway, struct mrg_exchange *exchange)
{
    (void)gateway;
    mrg_exchange_ref(exchange);
    struct mrg_slice path = exchange->request.path;
    pthread_mutex_lock(&stub.lock);
    stub.submitted++;
    MRG_ASSERT(stub.queued < STUB_HELD && stub.held_count < STUB_HELD);
    bool now = !begins(path, "/later") && !begins(path, "/hold") && !atomic_load(&stub.hold_all);
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

struct mrg_dependency *__wrap_mrg_gateway_dependency(struct mrg_gateway *gateway, const char *name)
{
    struct mrg_dependency *found = NULL;
    (void)gateway;
    pthread_mutex_lock(&stub.lock); /* as the gateway does: a test may have changed it */
    for (size_t i = 0; i < 2 && !found; i++) {
        if (strcmp(stub_configs[i].name, name) == 0)
            found = mrg_dependency_ref(&stub_dependencies[i]);
    }
    pthread_mutex_unlock(&stub.lock);
    return found;
}

struct mrg_config *__wrap_mrg_gateway_config(struct mrg_gateway *gateway)
{
    (void)gateway;
    return mrg_config_ref(&stub_config);
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
    until.tv_sec += STUB_PATIENCE_MS / 1000;
    pthread_mutex_lock(&stub.lock);
    int late = 0;
    while (*counter < least && late == 0)
        late = pthread_cond_timedwait(&stub.changed, &stub.lock, &until);
    bool reached = *counter >= least;
    pthread_mutex_unlock(&stub.lock);
    assert_true(reached);
}

static inline unsigned stub_count(const unsigned *counter)
{
    pthread_mutex_lock(&stub.lock);
    unsigned count = *counter;
    pthread_mutex_unlock(&stub.lock);
    return count;
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

/* ---- set-up ---- */

static inline struct mrg_door *open_at(enum mrg_door_kind kind, const char *dependency, bool control,
                                       const char *address)
{
    struct mrg_error err = {0};
    struct mrg_door *door = mrg_door_new(kind, dependency, NULL);
    door->control = control;
    if (mrg_transport_zmq.open(stub.transport, address, door, &err) != MRG_ERR_OK)
        fail_msg("%s: %s", address, err.message);
    return door;
}

static void stub_start(enum mrg_zmq_format format)
{
    struct mrg_error err;
    stub.submitted = stub.gone = 0;
    stub.stop = false;
    atomic_store(&stub.hook, NULL);
    atomic_store(&stub.hold_all, false);
    atomic_store(&stub_config.refs, 1);
    for (size_t i = 0; i < 2; i++) {
        memset(&stub_stats[i], 0, sizeof(stub_stats[i]));
        stub_configs[i].zmq = (struct mrg_zmq_config){.format = format, .route = stub_route};
        stub_dependencies[i] = (struct mrg_dependency){.config = &stub_configs[i], .stats = &stub_stats[i]};
        atomic_store(&stub_dependencies[i].refs, 1);
    }
    stub.context = zmq_ctx_new();
    assert_int_equal(mrg_watch_new(&stub.watch, &err), MRG_ERR_OK);
    const struct mrg_transport_env env = {.gateway = NULL, .watch = stub.watch, .config = &stub_config};
    assert_int_equal(mrg_transport_zmq.start(&env, &stub.transport, &err), MRG_ERR_OK);
    stub.door = open_at(MRG_DOOR_DEPENDENCY, "inventory", false, "tcp://127.0.0.1:*");
    assert_int_equal(pthread_create(&stub.thread, NULL, stub_run, NULL), 0);
}

static inline int set_up(void **state)
{
    (void)state;
    stub_start(MRG_ZMQ_ENVELOPE);
    return 0;
}

static inline int set_up_body(void **state)
{
    (void)state;
    stub_start(MRG_ZMQ_BODY);
    return 0;
}

static inline int set_up_multipart(void **state)
{
    (void)state;
    stub_start(MRG_ZMQ_MULTIPART);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    if (stub.transport) /* the test may have stopped it */
        mrg_transport_zmq.quiesce(stub.transport);
    pthread_mutex_lock(&stub.lock);
    stub.stop = true;
    pthread_cond_broadcast(&stub.changed);
    pthread_mutex_unlock(&stub.lock);
    pthread_join(stub.thread, NULL);
    stub_release();
    if (stub.transport)
        mrg_transport_zmq.stop(stub.transport);
    while (stub.socket_count > 0)
        zmq_close(stub.sockets[--stub.socket_count]);
    zmq_ctx_term(stub.context);
    mrg_watch_free(stub.watch);
    mrg_door_unref(stub.door);
    assert_int_equal(atomic_load(&stub_config.refs), 1);
    assert_int_equal(atomic_load(&stub_dependencies[0].refs), 1);
    assert_int_equal(atomic_load(&stub_dependencies[1].refs), 1);
    return 0;
}

/* ---- callers ---- */

static inline void *new_socket(int type)
{
    static const int none = 0, patience = STUB_PATIENCE_MS;
    assert_true(stub.socket_count < MRG_ARRAY_LEN(stub.sockets));
    void *socket = zmq_socket(stub.context, type);
    assert_non_null(socket);
    stub.sockets[stub.socket_count++] = socket;
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof(none));
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &patience, sizeof(patience));
    zmq_setsockopt(socket, ZMQ_SNDTIMEO, &patience, sizeof(patience));
    return socket;
}

static inline void *connect_to(int type, const char *address)
{
    void *socket = new_socket(type);
    assert_int_equal(zmq_connect(socket, address), 0);
    return socket;
}

static inline void hang_up(void *socket)
{
    for (size_t i = 0; i < stub.socket_count; i++) {
        if (stub.sockets[i] == socket)
            stub.sockets[i] = stub.sockets[--stub.socket_count];
    }
    zmq_close(socket);
}

static inline void *caller(int type)
{
    return connect_to(type, stub.door->address);
}

/* Sends `count` texts as the frames of one message. */
static inline void put(void *socket, const char *const *frames, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(frames[i]);
        assert_int_equal(zmq_send(socket, frames[i], len, i + 1 < count ? ZMQ_SNDMORE : 0), (int)len);
    }
}

#define PUT(socket, ...)                                                                                     \
    put((socket), (const char *const[]){__VA_ARGS__},                                                        \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* The frames of the next message with a | behind each; the caller frees. */
static inline char *get(void *socket)
{
    struct mrg_buf buf;
    zmq_msg_t frame;
    bool more = true;
    mrg_buf_init(&buf, SIZE_MAX);
    while (more) {
        zmq_msg_init(&frame);
        if (zmq_msg_recv(&frame, socket, 0) < 0)
            fail_msg("no message: %s", zmq_strerror(zmq_errno()));
        mrg_buf_append(&buf, zmq_msg_data(&frame), zmq_msg_size(&frame));
        mrg_buf_append_char(&buf, '|');
        more = zmq_msg_more(&frame);
        zmq_msg_close(&frame);
    }
    return mrg_buf_take(&buf, NULL);
}

static inline void assert_has(const char *text, const char *part)
{
    if (!text || !part || !strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part ? part : "(null)", text ? text : "(null)");
}

static inline void assert_next(void *socket, const char *part)
{
    _cleanup_free_ char *text = get(socket);
    assert_has(text, part);
}

/* One frame there, one back. */
static inline void assert_answer(void *socket, const char *frame, const char *part)
{
    PUT(socket, frame);
    assert_next(socket, part);
}
