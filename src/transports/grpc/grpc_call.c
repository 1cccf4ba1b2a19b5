// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include <grpc/byte_buffer_reader.h>
#include <stdio.h>
#include <string.h>

#include "util/clock.h"
#include "util/log.h"
#include "wire/proto.h"
#include "wire/route.h"

/* ---- from other threads ---- */

static bool move(struct rpc_call *call, enum rpc_state from, enum rpc_state to)
{
    int expected = from;
    return atomic_compare_exchange_strong(&call->state, &expected, to);
}

/* For whoever has moved it out of WAITING: the queue's thread may free the call before this returns. */
void rpc_call_hop(struct rpc_call *call)
{
    grpc_call *library_call = call->call;
    rpc_tag_give(&call->hop);
    grpc_call_error refused = grpc_call_start_batch(library_call, NULL, 0, &call->hop, NULL);
    MRG_ASSERT(refused == GRPC_CALL_OK);
}

static void on_deliver(struct mrg_exchange *exchange)
{
    struct rpc_call *call = exchange->adapter;
    if (move(call, RPC_SUBMITTING, RPC_READY))
        return;
    if (move(call, RPC_WAITING, RPC_READY))
        rpc_call_hop(call);
}

static void on_deadline(struct mrg_timer *timer)
{
    struct rpc_call *call = MRG_CONTAINER_OF(timer, struct rpc_call, deadline);
    if (!move(call, RPC_WAITING, RPC_TIMED_OUT))
        return;
    mrg_gateway_gone(call->listener->transport->gateway, call->exchange);
    rpc_call_hop(call);
}

/* ---- references ---- */

static void call_free(struct rpc_call *call)
{
    struct rpc_listener *listener = call->listener;
    rpc_queue_untime(call);
    rpc_metadata_done(&call->initial);
    rpc_metadata_done(&call->trailing);
    if (call->incoming)
        grpc_byte_buffer_destroy(call->incoming);
    if (call->outgoing)
        grpc_byte_buffer_destroy(call->outgoing);
    grpc_call_unref(call->call);
    mrg_exchange_unref(call->exchange);
    atomic_fetch_sub(&listener->calls, 1);
    rpc_listener_unref(listener);
}

void rpc_call_unref(struct rpc_call *call)
{
    if (--call->refs == 0)
        call_free(call);
}

/* ---- batches ---- */

bool rpc_call_batch(struct rpc_call *call, const grpc_op *ops, size_t count, struct rpc_tag *tag)
{
    call->refs++;
    rpc_tag_give(tag);
    grpc_call_error refused = grpc_call_start_batch(call->call, ops, count, tag, NULL);
    if (refused == GRPC_CALL_OK)
        return true;
    call->refs--;
    mrg_log(MRG_LOG_DEBUG, "gRPC: a batch was refused: %s", grpc_call_error_to_string(refused));
    /* The refused batch has taken its place in the library: no other can be sent instead. */
    grpc_call_cancel_with_status(call->call, GRPC_STATUS_INTERNAL, "the gRPC library refused the reply",
                                 NULL);
    return false;
}

static grpc_op close_op(struct rpc_call *call)
{
    grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    op.data.recv_close_on_server.cancelled = &call->cancelled;
    call->closing = true;
    return op;
}

void rpc_call_watch_close(struct rpc_call *call)
{
    if (call->closing)
        return;
    grpc_op op = close_op(call);
    rpc_call_batch(call, &op, 1, &call->closed);
}

void rpc_call_receive(struct rpc_call *call)
{
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};
    op.data.recv_message.recv_message = &call->incoming;
    rpc_call_batch(call, &op, 1, &call->received);
}

void rpc_call_finish(struct rpc_call *call, bool begun, grpc_byte_buffer *message, int status,
                     struct mrg_slice text)
{
    grpc_op ops[4] = {{0}};
    size_t count = 0;
    grpc_slice details = grpc_slice_from_copied_buffer(text.ptr, text.len);
    MRG_ASSERT(!call->outgoing);
    call->outgoing = message;
    if (!begun) {
        ops[count].op = GRPC_OP_SEND_INITIAL_METADATA;
        ops[count].data.send_initial_metadata.count = call->initial.count;
        ops[count++].data.send_initial_metadata.metadata = call->initial.items;
    }
    if (message) {
        ops[count].op = GRPC_OP_SEND_MESSAGE;
        ops[count++].data.send_message.send_message = message;
    }
    ops[count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[count].data.send_status_from_server.trailing_metadata_count = call->trailing.count;
    ops[count].data.send_status_from_server.trailing_metadata = call->trailing.items;
    ops[count].data.send_status_from_server.status = (grpc_status_code)status;
    ops[count++].data.send_status_from_server.status_details = text.len > 0 ? &details : NULL;
    if (!call->closing)
        ops[count++] = close_op(call);
    if (!call->over && rpc_call_batch(call, ops, count, &call->sent))
        rpc_queue_time(call->queue, call, mrg_clock_ms() + MRG_REQUEST_DEADLINE_MS);
    grpc_slice_unref(details);
}

/* ---- messages ---- */

struct mrg_slice rpc_message_bytes(grpc_byte_buffer *message, grpc_slice *ret_hold)
{
    grpc_byte_buffer_reader reader;
    *ret_hold = grpc_empty_slice();
    if (!grpc_byte_buffer_reader_init(&reader, message))
        return (struct mrg_slice){"", 0};
    grpc_slice *first;
    if (grpc_byte_buffer_reader_peek(&reader, &first)) {
        bool whole = GRPC_SLICE_LENGTH(*first) == grpc_byte_buffer_length(message);
        if (whole) {
            *ret_hold = grpc_slice_ref(*first);
        } else {
            grpc_byte_buffer_reader_destroy(&reader);
            grpc_byte_buffer_reader_init(&reader, message);
            *ret_hold = grpc_byte_buffer_reader_readall(&reader);
        }
    }
    grpc_byte_buffer_reader_destroy(&reader);
    return (struct mrg_slice){(const char *)GRPC_SLICE_START_PTR(*ret_hold), GRPC_SLICE_LENGTH(*ret_hold)};
}

grpc_byte_buffer *rpc_message_of(struct mrg_slice bytes)
{
    grpc_slice slice = grpc_slice_from_copied_buffer(bytes.ptr, bytes.len);
    grpc_byte_buffer *message = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return message;
}

/* ---- a request ---- */

static void disarm(struct rpc_call *call)
{
    if (call->armed)
        mrg_watch_timer_clear(call->listener->transport->watch, &call->deadline);
    call->armed = false;
}

/* The state is WAITING, or has been: only this thread can go on with it, so that it is still there. */
static void wait_for_reply(struct rpc_call *call)
{
    call->armed = true;
    call->deadline.fn = on_deadline;
    mrg_watch_timer_set(call->listener->transport->watch, &call->deadline,
                        call->began_ms + call->deadline_ms);
    rpc_call_watch_close(call);
}

static void submit(struct rpc_call *call)
{
    struct mrg_exchange *exchange = call->exchange;
    exchange->fits = rpc_fits;
    exchange->received_us = mrg_clock_us();
    atomic_store(&call->state, RPC_SUBMITTING);
    mrg_gateway_submit(call->listener->transport->gateway, exchange);
    if (atomic_load(&call->state) == RPC_READY) {
        rpc_answer(call);
        return;
    }
    call->refs++; /* for the hop */
    if (move(call, RPC_SUBMITTING, RPC_WAITING)) {
        wait_for_reply(call);
        return;
    }
    call->refs--;
    rpc_answer(call);
}

/* Its RPCs are the control verbs of HTTP: what has no such path is none, and nobody's request either. */
static bool is_control(const struct mrg_method *method)
{
    static const char service[] = "/mirage.v1.Control/";
    return method->path.len > sizeof(service) && memcmp(method->path.ptr, service, sizeof(service) - 1) == 0;
}

/* The message into the request; false when the call is answered already. */
static bool read_message(struct rpc_call *call, struct mrg_slice bytes)
{
    struct mrg_exchange *exchange = call->exchange;
    struct mrg_buf *json = &call->queue->json;
    size_t max = atomic_load_explicit(&call->listener->transport->max_body, memory_order_relaxed);
    struct mrg_error err;
    char why[sizeof(err.message) + 256];
    mrg_buf_clear(json);
    json->max = max * MRG_PROTO_JSON_TIMES;
    if (bytes.len > max) {
        snprintf(why, sizeof(why), "the message is larger than %zu bytes (limits.body)", max);
        rpc_answer_failure(call, MRG_GRPC_RESOURCE_EXHAUSTED, why);
        return false;
    }
    enum mrg_err code =
        mrg_proto_to_json(call->schema, call->method->input, bytes, MRG_PROTO_NORMAL, json, &err);
    if (code) {
        snprintf(why, sizeof(why), "the message is no valid %.200s: %s", call->method->input->full_name.ptr,
                 err.message);
        rpc_answer_failure(call, mrg_buf_failed(json) ? MRG_GRPC_RESOURCE_EXHAUSTED : MRG_GRPC_INTERNAL, why);
        return false;
    }
    const struct mrg_slice text = {mrg_arena_memdup(exchange->arena, json->data, json->len), json->len};
    mrg_route_request(call->method, exchange->arena, text, &exchange->request);
    if (is_control(call->method) && mrg_slice_eq(exchange->request.path, call->method->path)) {
        rpc_answer_failure(call, MRG_GRPC_INVALID_ARGUMENT, "the id is empty; expected a session's name");
        return false;
    }
    size_t target = exchange->request.path.len + exchange->request.query.len;
    if (target > MRG_MAX_PATH) {
        snprintf(why, sizeof(why), "path and query of the message have %zu bytes; at most %u are taken",
                 target, MRG_MAX_PATH);
        rpc_answer_failure(call, MRG_GRPC_RESOURCE_EXHAUSTED, why);
        return false;
    }
    return true;
}

/* The bytes of what was received, inflated where they came compressed; false when the call is answered already. */
static bool message_bytes(struct rpc_call *call, bool compressed, struct mrg_slice *bytes)
{
    struct mrg_buf *inflated = &call->queue->bytes;
    struct mrg_error err;
    if (!compressed)
        return true;
    mrg_buf_clear(inflated);
    inflated->max = atomic_load_explicit(&call->listener->transport->max_body, memory_order_relaxed);
    enum mrg_err code = rpc_message_inflate(*bytes, inflated, &err);
    *bytes = mrg_buf_slice(inflated);
    inflated->max = SIZE_MAX;
    if (code)
        rpc_answer_failure(call, code == MRG_ERR_TOO_LARGE ? MRG_GRPC_RESOURCE_EXHAUSTED : MRG_GRPC_INTERNAL,
                           err.message);
    return code == MRG_ERR_OK;
}

static void on_received(struct rpc_tag *tag, bool ok)
{
    struct rpc_call *call = MRG_CONTAINER_OF(tag, struct rpc_call, received);
    rpc_queue_untime(call);
    if (ok && !call->incoming) {
        rpc_answer_failure(call, MRG_GRPC_INVALID_ARGUMENT, "no message came; a unary call has exactly one");
    } else if (ok) {
        grpc_slice hold;
        struct mrg_slice bytes = rpc_message_bytes(call->incoming, &hold);
        bool submits = false;
        bool compressed = rpc_message_is_compressed(call->incoming);
        grpc_byte_buffer_destroy(MRG_TAKE(call->incoming));
        if (!message_bytes(call, compressed, &bytes))
            ;
        else if (call->kind == RPC_HEALTH_CHECK)
            rpc_health_check(call, bytes);
        else
            submits = read_message(call, bytes);
        grpc_slice_unref(hold);
        if (submits)
            submit(call);
    }
    /* Not ok: it was cancelled, or is larger than the library takes, which has answered that. */
    rpc_call_unref(call);
}

static void on_hop(struct rpc_tag *tag, bool ok)
{
    (void)ok;
    struct rpc_call *call = MRG_CONTAINER_OF(tag, struct rpc_call, hop);
    disarm(call);
    if (atomic_load(&call->state) == RPC_READY) {
        rpc_answer(call);
    } else {
        char why[128];
        snprintf(why, sizeof(why), "no reply within %llu ms (limits.deadline)",
                 (unsigned long long)call->deadline_ms);
        rpc_answer_failure(call, MRG_GRPC_DEADLINE_EXCEEDED, why);
    }
    rpc_call_unref(call);
}

/* The caller's deadline, its cancellation and its vanishing are all told here, and nowhere else. */
static void on_closed(struct rpc_tag *tag, bool ok)
{
    (void)ok;
    struct rpc_call *call = MRG_CONTAINER_OF(tag, struct rpc_call, closed);
    call->over = call->cancelled != 0;
    if (call->stream)
        rpc_stream_closed(call);
    if (call->over && move(call, RPC_WAITING, RPC_GONE)) {
        disarm(call);
        mrg_gateway_gone(call->listener->transport->gateway, call->exchange);
        mrg_log(MRG_LOG_DEBUG, "gRPC: a caller of %s has gone", call->method->path.ptr);
        rpc_call_unref(call); /* no hop comes */
    }
    rpc_call_unref(call);
}

static void on_sent(struct rpc_tag *tag, bool ok)
{
    (void)ok;
    struct rpc_call *call = MRG_CONTAINER_OF(tag, struct rpc_call, sent);
    rpc_queue_untime(call);
    rpc_call_unref(call);
}

/* ---- its beginning ---- */

static struct rpc_call *call_new(struct rpc_listener *listener, struct rpc_queue *queue,
                                 grpc_call *library_call)
{
    struct rpc_transport *transport = listener->transport;
    struct mrg_exchange *exchange = mrg_exchange_new(MRG_ARENA_KEPT, on_deliver);
    struct rpc_call *call = mrg_arena_zalloc(exchange->arena, sizeof(*call));
    exchange->adapter = call;
    exchange->door = mrg_door_ref(listener->door);
    rpc_listener_ref(listener);
    atomic_fetch_add(&listener->calls, 1);
    call->exchange = exchange;
    call->listener = listener;
    call->queue = queue;
    call->call = library_call;
    call->refs = 1;
    call->began_ms = mrg_clock_ms();
    call->deadline_ms = atomic_load_explicit(&transport->deadline_ms, memory_order_relaxed);
    call->shows = atomic_load_explicit(&transport->reply_headers, memory_order_relaxed);
    call->received.fn = on_received;
    call->closed.fn = on_closed;
    call->sent.fn = on_sent;
    call->hop.fn = on_hop;
    atomic_init(&call->state, RPC_RECEIVING);
    return call;
}

static void receive(struct rpc_call *call)
{
    uint64_t within =
        call->deadline_ms < MRG_RECEIVE_DEADLINE_MS ? call->deadline_ms : MRG_RECEIVE_DEADLINE_MS;
    rpc_queue_time(call->queue, call, call->began_ms + within);
    rpc_call_receive(call);
}

static void begin_exchange(struct rpc_call *call, const grpc_metadata_array *metadata)
{
    char why[256];
    int status = rpc_head_read(call, metadata, why);
    if (status != MRG_GRPC_OK)
        rpc_answer_failure(call, status, why);
    else
        receive(call);
}

void rpc_call_begin(struct rpc_listener *listener, struct rpc_queue *queue, struct rpc_arrival *arrival)
{
    struct rpc_target target;
    struct rpc_call *call = call_new(listener, queue, arrival->call);
    const grpc_slice *path = &arrival->details.method;
    rpc_find(listener,
             (struct mrg_slice){(const char *)GRPC_SLICE_START_PTR(*path), GRPC_SLICE_LENGTH(*path)},
             &target);
    call->kind = target.kind;
    call->method = target.method;
    call->schema = target.schema;
    call->exchange->dependency = target.dependency;
    if (atomic_load_explicit(&listener->calls, memory_order_relaxed) > MRG_GRPC_CALLS) {
        target.kind = RPC_REFUSED;
        target.status = MRG_GRPC_RESOURCE_EXHAUSTED;
        snprintf(target.why, sizeof(target.why), "there are %u calls at this address, and no more are taken",
                 MRG_GRPC_CALLS);
    }
    switch (target.kind) {
    case RPC_REFUSED:
        rpc_answer_failure(call, target.status, target.why);
        break;
    case RPC_EXCHANGE:
        begin_exchange(call, &arrival->metadata);
        break;
    case RPC_HEALTH_CHECK:
        receive(call);
        break;
    case RPC_HEALTH_WATCH:
        rpc_stream_begin(call, &rpc_health_watch);
        break;
    case RPC_REFLECTION:
        rpc_stream_begin(call, &rpc_reflection);
        break;
    }
    grpc_call_details_destroy(&arrival->details);
    grpc_metadata_array_destroy(&arrival->metadata);
    rpc_call_unref(call);
}
