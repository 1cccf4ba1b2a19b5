// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include "util/clock.h"

/* The last hop that may come is told here, so that the reference put aside for it is used once. */
static void unlist(struct rpc_call *call)
{
    struct rpc_stream *stream = call->stream;
    struct rpc_transport *transport = call->listener->transport;
    if (mrg_list_linked(&stream->watch))
        mrg_list_remove(&stream->watch);
    if (!stream->listed)
        return;
    stream->listed = false;
    pthread_mutex_lock(&transport->lock);
    bool woken = stream->woken;
    mrg_list_remove(&stream->link);
    pthread_mutex_unlock(&transport->lock);
    if (!woken)
        rpc_call_unref(call);
}

static void finish(struct rpc_call *call)
{
    struct rpc_stream *stream = call->stream;
    call->refs++; /* over the end of `unlist` */
    unlist(call);
    rpc_call_finish(call, stream->begun, NULL, stream->status, mrg_slice_of(stream->why));
    rpc_call_unref(call);
}

static void on_sent(struct rpc_tag *tag, bool ok)
{
    struct rpc_call *call = MRG_CONTAINER_OF(tag, struct rpc_call, sent);
    struct rpc_stream *stream = call->stream;
    bool last = !stream->sending;
    rpc_queue_untime(call);
    stream->sending = false;
    if (call->outgoing)
        grpc_byte_buffer_destroy(MRG_TAKE(call->outgoing));
    if (!last && ok && !call->over) {
        if (stream->ending)
            finish(call);
        else
            stream->ops->sent(call);
    }
    rpc_call_unref(call);
}

static void take_message(struct rpc_call *call, grpc_byte_buffer *message)
{
    grpc_slice hold;
    struct mrg_slice bytes = rpc_message_bytes(message, &hold);
    struct mrg_buf inflated;
    mrg_buf_init(&inflated, call->listener->max_body);
    if (!rpc_message_is_compressed(message))
        call->stream->ops->message(call, bytes);
    else if (rpc_message_inflate(bytes, &inflated, NULL) == MRG_ERR_OK)
        call->stream->ops->message(call, mrg_buf_slice(&inflated));
    else
        rpc_stream_end(call, MRG_GRPC_INTERNAL, "the message cannot be inflated");
    mrg_buf_done(&inflated);
    grpc_slice_unref(hold);
}

static void on_received(struct rpc_tag *tag, bool ok)
{
    struct rpc_call *call = MRG_CONTAINER_OF(tag, struct rpc_call, received);
    struct rpc_stream *stream = call->stream;
    grpc_byte_buffer *message = MRG_TAKE(call->incoming);
    bool alive = ok && !call->over && !stream->ending;
    if (alive && message) {
        take_message(call, message);
    } else if (alive) {
        stream->ops->half_closed(call);
    }
    if (message)
        grpc_byte_buffer_destroy(message);
    rpc_call_unref(call);
}

static void on_wake(struct rpc_tag *tag, bool ok)
{
    (void)ok;
    struct rpc_call *call = MRG_CONTAINER_OF(tag, struct rpc_call, hop);
    struct rpc_stream *stream = call->stream;
    if (!call->over && !stream->ending) {
        if (stream->ops->closing)
            stream->ops->closing(call);
        rpc_stream_end(call, MRG_GRPC_UNAVAILABLE, "this address is closing");
    }
    rpc_call_unref(call);
}

void rpc_stream_begin(struct rpc_call *call, const struct rpc_stream_ops *ops)
{
    struct rpc_transport *transport = call->listener->transport;
    struct rpc_stream *stream = mrg_arena_zalloc(call->exchange->arena, sizeof(*stream));
    stream->ops = ops;
    stream->call = call;
    pthread_mutex_lock(&transport->lock);
    stream->listed = !atomic_load(&transport->quiet) && !call->listener->closed;
    if (stream->listed)
        mrg_list_append(&transport->streams, &stream->link);
    pthread_mutex_unlock(&transport->lock);
    if (!stream->listed) {
        rpc_answer_failure(call, MRG_GRPC_UNAVAILABLE, "this address is closing");
        return;
    }
    call->stream = stream;
    call->refs++; /* for the hop */
    call->hop.fn = on_wake;
    call->sent.fn = on_sent;
    call->received.fn = on_received;
    rpc_call_watch_close(call);
    rpc_call_receive(call);
}

void rpc_stream_send(struct rpc_call *call, struct mrg_slice bytes)
{
    struct rpc_stream *stream = call->stream;
    grpc_op ops[2] = {{0}};
    size_t count = 0;
    MRG_ASSERT(!stream->sending && !stream->ending && !call->outgoing);
    if (call->over)
        return;
    if (!stream->begun)
        ops[count++].op = GRPC_OP_SEND_INITIAL_METADATA;
    call->outgoing = rpc_message_of(bytes);
    ops[count].op = GRPC_OP_SEND_MESSAGE;
    ops[count++].data.send_message.send_message = call->outgoing;
    stream->begun = true;
    stream->sending = rpc_call_batch(call, ops, count, &call->sent);
    if (stream->sending)
        rpc_queue_time(call->queue, call, mrg_clock_ms() + MRG_REQUEST_DEADLINE_MS);
    else
        grpc_byte_buffer_destroy(MRG_TAKE(call->outgoing));
}

void rpc_stream_end(struct rpc_call *call, int status, const char *why)
{
    struct rpc_stream *stream = call->stream;
    if (call->over || stream->ending)
        return;
    stream->ending = true;
    stream->status = status;
    stream->why = why;
    if (!stream->sending)
        finish(call);
}

void rpc_stream_closed(struct rpc_call *call)
{
    unlist(call);
}

void rpc_streams_wake(struct rpc_transport *transport, const struct mrg_door *door)
{
    struct rpc_stream *stream;
    MRG_LIST_EACH (stream, &transport->streams, link) {
        if (stream->woken || (door && stream->call->listener->door != door))
            continue;
        stream->woken = true;
        rpc_call_hop(stream->call);
    }
}
