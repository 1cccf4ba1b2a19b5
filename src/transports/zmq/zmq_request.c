// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>

#include "transports/zmq/zmq_int.h"
#include "util/clock.h"
#include "util/log.h"

#define MAX_WHY 1280u /* bytes of a refusal's sentence */

/* ---- from other threads ---- */

static bool move(struct zm_request *request, enum zm_state from, enum zm_state to)
{
    int expected = from;
    return atomic_compare_exchange_strong(&request->state, &expected, to);
}

static void on_deliver(struct mrg_exchange *exchange)
{
    struct zm_request *request = exchange->adapter;
    if (move(request, ZM_SUBMITTING, ZM_READY))
        return;
    /* Of a late one the actor has let go, and its listener may be freed: only who wins may look at it. */
    if (move(request, ZM_WAITING, ZM_READY))
        zm_hand_back(request->listener->transport, request);
}

static void on_deadline(struct mrg_timer *timer)
{
    struct zm_request *request = MRG_CONTAINER_OF(timer, struct zm_request, deadline);
    struct zm_transport *transport = request->listener->transport;
    if (!move(request, ZM_WAITING, ZM_LATE))
        return;
    mrg_gateway_gone(transport->gateway, request->exchange);
    zm_hand_back(transport, request);
}

/* ---- what a message is ---- */

int zm_refuse(struct zm_request *request, struct zm_refusal *refusal, int status, const char *format, ...)
{
    char why[MAX_WHY];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    refusal->why = mrg_arena_strdup(request->exchange->arena, why);
    return refusal->status = status;
}

static enum mrg_zmq_format find_format(struct zm_listener *listener, struct mrg_exchange *exchange)
{
    const struct mrg_door *door = listener->door;
    if (door->kind != MRG_DOOR_DEPENDENCY)
        return MRG_ZMQ_ENVELOPE;
    exchange->dependency = mrg_gateway_dependency(listener->transport->gateway, door->dependency);
    if (exchange->dependency)
        listener->format = exchange->dependency->config->zmq.format;
    return door->control ? MRG_ZMQ_ENVELOPE : listener->format;
}

static void copy_route(struct zm_request *request, struct zm_message *message, unsigned count)
{
    struct mrg_arena *arena = request->exchange->arena;
    request->route = mrg_arena_alloc(arena, count * sizeof(*request->route));
    request->route_count = count;
    for (unsigned i = 0; i < count; i++) {
        struct mrg_slice frame = zm_frame(message, i);
        request->route[i] = (struct mrg_slice){mrg_arena_memdup(arena, frame.ptr, frame.len), frame.len};
    }
}

static struct zm_request *new_request(struct zm_listener *listener, struct zm_message *message)
{
    struct zm_transport *transport = listener->transport;
    struct mrg_exchange *exchange = mrg_exchange_new(MRG_ARENA_KEPT, on_deliver);
    struct zm_request *request = mrg_arena_zalloc(exchange->arena, sizeof(*request));
    exchange->adapter = request;
    exchange->door = mrg_door_ref(listener->door);
    exchange->received_us = mrg_clock_us();
    exchange->request.query = exchange->request.body.bytes = MRG_SLICE("");
    request->exchange = exchange;
    request->listener = listener;
    request->max_headers = atomic_load_explicit(&transport->max_headers, memory_order_relaxed);
    request->deadline_ms = atomic_load_explicit(&transport->deadline_ms, memory_order_relaxed);
    request->shows = atomic_load_explicit(&transport->reply_headers, memory_order_relaxed);
    request->format = find_format(listener, exchange);
    atomic_init(&request->state, ZM_SUBMITTING);
    copy_route(request, message, zm_route_len(message, request->format));
    return request;
}

/* What holds for a message of any format. */
static int check_message(struct zm_request *request, const struct zm_message *message, size_t max_body,
                         struct zm_refusal *refusal)
{
    size_t most = max_body + request->max_headers;
    unsigned behind = message->count - request->route_count;
    if (message->received > MRG_ZMQ_MAX_FRAMES)
        return zm_refuse(request, refusal, 413, "the message has %u frames; at most %u are taken",
                         message->received, MRG_ZMQ_MAX_FRAMES);
    if (message->bytes > most)
        return zm_refuse(request, refusal, 413,
                         "the message's %zu bytes are more than %zu (limits.body and limits.headers)",
                         message->bytes, most);
    if (request->route_count > MRG_ZMQ_MAX_ROUTE + 1)
        return zm_refuse(request, refusal, 400, "%u frames before the empty one; at most %u are taken",
                         request->route_count - 1, MRG_ZMQ_MAX_ROUTE);
    if (behind == 0)
        return zm_refuse(request, refusal, 400,
                         "the message has no body: nothing stands behind its empty frame");
    if (behind > 1 && request->format != MRG_ZMQ_MULTIPART)
        return zm_refuse(request, refusal, 400, "%u frames behind the empty one; expected one", behind);
    if (behind > 3)
        return zm_refuse(
            request, refusal, 400,
            "%u frames; expected METHOD /path, headers and body, of which the last two may be missing",
            behind);
    if (request->listener->closing)
        return zm_refuse(request, refusal, 503, "this address is closed");
    if (request->listener->door->kind == MRG_DOOR_DEPENDENCY && !request->exchange->dependency)
        return zm_refuse(request, refusal, 503, "dependency %s is no longer in the configuration",
                         request->listener->door->dependency);
    return 0;
}

static int read_format(struct zm_request *request, struct zm_message *message, struct zm_refusal *refusal)
{
    unsigned at = request->route_count;
    struct mrg_slice frames[3] = {{"", 0}, {"", 0}, {"", 0}};
    unsigned count = 0;
    for (; at < message->count && count < 3; at++)
        frames[count++] = zm_frame(message, at);
    switch (request->format) {
    case MRG_ZMQ_BODY:
        return zm_read_body(request, frames[0], refusal);
    case MRG_ZMQ_MULTIPART:
        return zm_read_multipart(request, frames, count, refusal);
    case MRG_ZMQ_PROTOBUF:
        return zm_read_proto(request, frames[0], refusal);
    case MRG_ZMQ_ENVELOPE:
        break;
    }
    return zm_read_envelope(request, frames[0], refusal);
}

/* The limits of what HTTP's adapter takes, for the same request. */
static int check_request(struct zm_request *request, size_t max_body, struct zm_refusal *refusal)
{
    const struct mrg_request *form = &request->exchange->request;
    size_t head = form->method.len + form->path.len + form->query.len;
    for (size_t i = 0; i < form->header_count; i++)
        head += form->headers[i].name.len + form->headers[i].value.len + 4;
    if (form->body.bytes.len > max_body && request->format != MRG_ZMQ_PROTOBUF) /* its frame is not */
        return zm_refuse(request, refusal, 413, "the body's %zu bytes are more than %zu (limits.body)",
                         form->body.bytes.len, max_body);
    if (head > request->max_headers)
        return zm_refuse(request, refusal, 431,
                         "the request's path and headers are larger than %zu bytes (limits.headers)",
                         request->max_headers);
    return 0;
}

static int read_message(struct zm_request *request, struct zm_message *message, struct zm_refusal *refusal)
{
    size_t max_body = atomic_load_explicit(&request->listener->transport->max_body, memory_order_relaxed);
    if (check_message(request, message, max_body, refusal) != 0 ||
        read_format(request, message, refusal) != 0)
        return refusal->status;
    return check_request(request, max_body, refusal);
}

/* ---- answers ---- */

static void send_out(struct zm_request *request)
{
    const struct mrg_dependency *dependency = request->exchange->dependency;
    zm_send(request->listener, request->route, request->route_count, &request->listener->transport->out,
            dependency ? dependency->stats : NULL);
}

static void fail(struct zm_request *request, int status, const char *sentence)
{
    zm_render_failure(request, status, sentence, &request->listener->transport->out);
    send_out(request);
}

static void answer(struct zm_request *request)
{
    struct mrg_exchange *exchange = request->exchange;
    char why[64];
    if (exchange->reply.status < 200 || exchange->reply.status > 999) {
        snprintf(why, sizeof(why), "the reply's status is %d; expected 200 to 999", exchange->reply.status);
        fail(request, 500, why);
        return;
    }
    zm_render(request, &exchange->reply, exchange->arena, &request->listener->transport->out);
    send_out(request);
}

static void refuse(struct zm_request *request, const struct zm_refusal *refusal)
{
    struct zm_transport *transport = request->listener->transport;
    transport->refused++;
    if (zm_may_tell(transport))
        mrg_log(MRG_LOG_WARN, "ZeroMQ: a message at %s was refused with %d; %llu refused so far",
                request->listener->door->address, refusal->status, transport->refused);
    fail(request, refusal->status, refusal->why);
    mrg_exchange_unref(request->exchange);
}

/* The end of a request that was submitted. */
static void finish(struct zm_request *request)
{
    struct zm_listener *listener = request->listener;
    if (request->armed)
        mrg_watch_timer_clear(listener->transport->watch, &request->deadline);
    listener->in_flight--;
    mrg_exchange_unref(request->exchange);
}

static void submit(struct zm_request *request)
{
    struct zm_listener *listener = request->listener;
    struct zm_transport *transport = listener->transport;
    listener->in_flight++;
    mrg_gateway_submit(transport->gateway, request->exchange);
    if (atomic_load(&request->state) == ZM_READY || !move(request, ZM_SUBMITTING, ZM_WAITING)) {
        answer(request);
        finish(request);
        return;
    }
    /* It may be answerable already, but only this thread goes on with it, so that it is still there. */
    request->armed = true;
    request->deadline.fn = on_deadline;
    mrg_watch_timer_set(transport->watch, &request->deadline,
                        request->exchange->received_us / 1000 + request->deadline_ms);
}

void zm_take(struct zm_listener *listener, struct zm_message *message)
{
    struct zm_request *request = new_request(listener, message);
    struct zm_refusal refusal = {0, NULL};
    if (read_message(request, message, &refusal) == 0)
        submit(request);
    else
        refuse(request, &refusal);
}

void zm_go_on(struct zm_request *request)
{
    char why[96];
    if (atomic_load(&request->state) == ZM_READY) {
        answer(request);
    } else {
        /* The exchange is still the gateway's: its reply and arena are not to be touched. */
        snprintf(why, sizeof(why), "no reply within %llu ms (limits.deadline)",
                 (unsigned long long)request->deadline_ms);
        fail(request, 504, why);
    }
    finish(request);
}
