// SPDX-License-Identifier: Apache-2.0
#include "transports/http/http_int.h"

#include <stdio.h>
#include <string.h>

#include "util/clock.h"

/* ---- from other threads ---- */

static bool move(struct http_request *request, enum http_state from, enum http_state to)
{
    int expected = from;
    return atomic_compare_exchange_strong(&request->state, &expected, to);
}

/* For whoever has moved it out of SUSPENDED. The daemon's thread may complete the request, and free it,
 * before the library's function returns; the listener's reference keeps the daemon until it has. */
static void resume(struct http_request *request)
{
    struct http_listener *listener = request->listener;
    struct MHD_Connection *connection = request->connection;
    MRG_ASSERT(http_listener_ref(listener));
    MHD_resume_connection(connection);
    atomic_fetch_sub(&listener->waiting, 1);
    http_listener_unref(listener);
}

static void on_deliver(struct mrg_exchange *exchange)
{
    struct http_request *request = exchange->adapter;
    if (move(request, HTTP_SUBMITTING, HTTP_READY))
        return;
    if (move(request, HTTP_SUSPENDED, HTTP_READY))
        resume(request);
}

static void on_hangup(struct mrg_hangup *hangup)
{
    struct http_request *request = MRG_CONTAINER_OF(hangup, struct http_request, hangup);
    if (!move(request, HTTP_SUSPENDED, HTTP_GONE))
        return;
    mrg_gateway_gone(request->listener->transport->gateway, request->exchange);
    resume(request);
}

static void on_deadline(struct mrg_timer *timer)
{
    struct http_request *request = MRG_CONTAINER_OF(timer, struct http_request, deadline);
    if (!move(request, HTTP_SUSPENDED, HTTP_TIMED_OUT))
        return;
    mrg_gateway_gone(request->listener->transport->gateway, request->exchange);
    resume(request);
}

/* ---- on the daemon's thread ---- */

/* The part of the deadline for receiving. */
static uint64_t receive_ms(const struct http_request *request)
{
    return request->deadline_ms < MRG_RECEIVE_DEADLINE_MS ? request->deadline_ms : MRG_RECEIVE_DEADLINE_MS;
}

struct http_request *http_request_new(struct http_listener *listener, struct MHD_Connection *connection,
                                      const char *target)
{
    struct http_transport *transport = listener->transport;
    struct http_conn *conn = http_conn_of(connection);
    if (!conn || !http_listener_ref(listener))
        return NULL;
    struct mrg_exchange *exchange = mrg_exchange_new(MRG_ARENA_KEPT, on_deliver);
    struct http_request *request = mrg_arena_zalloc(exchange->arena, sizeof(*request));
    exchange->adapter = request;
    exchange->door = mrg_door_ref(listener->door);
    request->exchange = exchange;
    request->listener = listener;
    request->connection = connection;
    request->conn = conn;
    request->began_us = mrg_clock_us();
    request->max_body = atomic_load_explicit(&transport->max_body, memory_order_relaxed);
    request->deadline_ms = atomic_load_explicit(&transport->deadline_ms, memory_order_relaxed);
    request->shows = atomic_load_explicit(&transport->reply_headers, memory_order_relaxed);
    size_t len = target ? strlen(target) : 0;
    if (len <= MRG_MAX_PATH)
        request->target = (struct mrg_slice){mrg_arena_memdup(exchange->arena, target, len), len};
    atomic_init(&request->state, HTTP_RECEIVING);
    http_conn_cut_at(conn, request->began_us / 1000 + receive_ms(request));
    atomic_store_explicit(&conn->receiving, true, memory_order_relaxed);
    conn->request = request;
    return request;
}

static void disarm(struct http_request *request)
{
    if (!request->armed)
        return;
    struct mrg_watch *watch = request->listener->transport->watch;
    mrg_watch_timer_clear(watch, &request->deadline);
    mrg_watch_hangup_clear(watch, &request->hangup);
    request->armed = false;
}

static void arm(struct http_request *request)
{
    struct http_transport *transport = request->listener->transport;
    request->armed = true;
    request->deadline.fn = on_deadline;
    request->hangup.fn = on_hangup;
    mrg_watch_timer_set(transport->watch, &request->deadline,
                        request->began_us / 1000 + request->deadline_ms);
    mrg_watch_hangup_set(transport->watch, &request->hangup, request->conn->fd);
}

static enum MHD_Result begin(struct http_request *request, const struct http_line *line)
{
    char why[256];
    request->begun = true;
    int status = http_head_read(request, line, why);
    if (status == 0)
        return MHD_YES;
    /* An answer at this first call also stops `100 Continue`, drops what else the caller has sent and closes
     * the connection. */
    request->conn->linger = true;
    return http_answer_failure(request, status, why, true);
}

static enum MHD_Result too_much(struct http_request *request)
{
    char why[128];
    snprintf(why, sizeof(why), "the body is larger than %zu bytes (limits.body)", request->max_body);
    request->conn->linger = true;
    http_write_failure(request, 413, why);
    return MHD_NO;
}

static enum MHD_Result take(struct http_request *request, const char *piece, size_t *piece_len)
{
    size_t len = *piece_len;
    *piece_len = 0;
    if (request->chunked) {
        if (!request->gathered.data)
            mrg_buf_init(&request->gathered, request->max_body);
        mrg_buf_append(&request->gathered, piece, len);
        return mrg_buf_failed(&request->gathered) ? too_much(request) : MHD_YES;
    }
    if (len > request->declared - request->body_len)
        return MHD_NO;
    if (!request->body)
        request->body = mrg_arena_alloc(request->exchange->arena, request->declared + 1);
    memcpy(request->body + request->body_len, piece, len);
    request->body_len += len;
    return MHD_YES;
}

static void finish_body(struct http_request *request)
{
    struct mrg_exchange *exchange = request->exchange;
    struct mrg_slice bytes = {request->body, request->body_len};
    if (request->gathered.data) {
        bytes = mrg_buf_slice(&request->gathered);
        bytes.ptr = mrg_arena_memdup(exchange->arena, bytes.ptr, bytes.len);
        mrg_buf_done(&request->gathered);
    } else if (request->body) {
        request->body[request->body_len] = '\0';
    }
    if (bytes.len == 0)
        exchange->request.body = (struct mrg_body){MRG_BODY_NONE, MRG_SLICE("")};
    else
        exchange->request.body =
            mrg_body_classify(bytes, mrg_request_header(&exchange->request, "content-type"));
}

static enum MHD_Result submit(struct http_request *request)
{
    struct http_listener *listener = request->listener;
    finish_body(request);
    request->exchange->received_us = mrg_clock_us();
    http_conn_cut_at(request->conn, 0);
    atomic_store_explicit(&request->conn->busy, true, memory_order_relaxed);
    atomic_store_explicit(&request->conn->receiving, false, memory_order_relaxed);
    atomic_store(&request->state, HTTP_SUBMITTING);
    mrg_gateway_submit(listener->transport->gateway, request->exchange);
    if (atomic_load(&request->state) == HTTP_READY)
        return http_answer(request);
    MHD_suspend_connection(request->connection);
    atomic_fetch_add(&listener->waiting, 1);
    if (!move(request, HTTP_SUBMITTING, HTTP_SUSPENDED)) {
        /* Delivered in between, and deliver has left the connection alone. */
        MHD_resume_connection(request->connection);
        atomic_fetch_sub(&listener->waiting, 1);
        return MHD_YES;
    }
    /* It may be resumed already, but only this thread can go on with it, so that it is still there. */
    arm(request);
    return MHD_YES;
}

static enum MHD_Result too_late(struct http_request *request)
{
    char why[128];
    snprintf(why, sizeof(why), "no reply within %llu ms (limits.deadline)",
             (unsigned long long)request->deadline_ms);
    return http_answer_failure(request, 504, why, false);
}

static enum MHD_Result go_on(struct http_request *request)
{
    switch ((enum http_state)atomic_load(&request->state)) {
    case HTTP_RECEIVING:
        return submit(request);
    case HTTP_READY:
        disarm(request);
        return http_answer(request);
    case HTTP_TIMED_OUT:
        disarm(request);
        return too_late(request);
    case HTTP_GONE:
        disarm(request);
        return MHD_NO;
    case HTTP_SUBMITTING:
    case HTTP_SUSPENDED:
        break;
    }
    MRG_ASSERT(!"a request is asked for while it is suspended");
    return MHD_NO;
}

enum MHD_Result http_request_step(struct http_request *request, const struct http_line *line,
                                  const char *piece, size_t *piece_len)
{
    if (!request->begun)
        return begin(request, line);
    if (*piece_len > 0)
        return take(request, piece, piece_len);
    return go_on(request);
}

void http_request_completed(struct http_request *request)
{
    struct http_listener *listener = request->listener;
    struct http_transport *transport = listener->transport;
    request->conn->request = NULL;
    disarm(request);
    mrg_buf_done(&request->gathered);
    /* The library closes a connection that stays idle; one on which the next request drips in is cut here. */
    http_conn_cut_at(request->conn,
                     http_now_ms(transport) + MRG_IDLE_TIMEOUT_S * 1000u + MRG_RECEIVE_DEADLINE_MS);
    atomic_store_explicit(&request->conn->busy, false, memory_order_relaxed);
    atomic_store_explicit(&request->conn->receiving, false, memory_order_relaxed);
    mrg_exchange_unref(request->exchange);
    http_listener_unref(listener);
}
