// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "clients/grpc_core_int.h"
#include "core/status.h"
#include "util/clock.h"

#define CLOCK_SLACK_MS 5 /* between our clock and the library's timers */

/* ---- how a call ends ---- */

struct ending {
    grpc_status_code status;
    grpc_slice text;
    grpc_metadata_array trailers;
};

static void ending_init(struct ending *ending)
{
    *ending = (struct ending){.text = grpc_empty_slice()};
    grpc_metadata_array_init(&ending->trailers);
}

static void ending_done(struct ending *ending)
{
    grpc_slice_unref(ending->text);
    grpc_metadata_array_destroy(&ending->trailers);
}

static grpc_op ending_op(struct ending *ending)
{
    return (grpc_op){
        .op = GRPC_OP_RECV_STATUS_ON_CLIENT,
        .data.recv_status_on_client = {&ending->trailers, &ending->status, &ending->text, NULL},
    };
}

/*
 * UNAVAILABLE and TIMEOUT when the status comes from this side. The library makes no difference between these and a
 * server's own, so: past the deadline it is the deadline, and without a connection it is the connection.
 */
static enum mrg_err ending_fault(const struct mrg_grpc_channel *channel, const struct ending *ending,
                                 uint64_t until_ms, struct mrg_error *err)
{
    struct mrg_slice text = mrg_grpc_text(&ending->text);
    if ((int)ending->status == MRG_GRPC_DEADLINE_EXCEEDED && mrg_client_left(until_ms) <= CLOCK_SLACK_MS)
        return mrg_error_set(err, MRG_ERR_TIMEOUT, "%s: no reply in time", channel->address);
    if ((int)ending->status == MRG_GRPC_UNAVAILABLE &&
        grpc_channel_check_connectivity_state(channel->channel, 0) != GRPC_CHANNEL_READY)
        return mrg_error_set(err, MRG_ERR_UNAVAILABLE, "%s: %.*s", channel->address,
                             (int)(text.len < 500 ? text.len : 500), text.ptr);
    return MRG_ERR_OK;
}

/* ---- unary ---- */

/* All that a batch points to, until it has completed. */
struct unary {
    struct mrg_grpc_channel *channel;
    grpc_call *call; /* owns the metadata received; NULL before */
    grpc_metadata *metadata;
    size_t metadata_count;
    grpc_byte_buffer *out;
    grpc_byte_buffer *in;
    grpc_metadata_array headers;
    struct ending ending;
};

static void unary_done(struct unary *unary)
{
    mrg_grpc_metadata_free(unary->metadata, unary->metadata_count);
    grpc_byte_buffer_destroy(unary->out);
    if (unary->in)
        grpc_byte_buffer_destroy(unary->in);
    grpc_metadata_array_destroy(&unary->headers);
    ending_done(&unary->ending);
    if (unary->call)
        grpc_call_unref(unary->call);
}

static grpc_call *make_call(struct mrg_grpc_channel *channel, const char *method, uint64_t until_ms)
{
    grpc_slice name = grpc_slice_from_copied_string(method);
    grpc_call *call = grpc_channel_create_call(channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                               channel->queue, name, NULL, mrg_grpc_at(until_ms), NULL);
    grpc_slice_unref(name);
    return call;
}

/* Runs the whole call. False when the library refuses it. */
static bool unary_run(struct unary *unary, const struct mrg_grpc_request *request)
{
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA,
         .data.send_initial_metadata = {.count = unary->metadata_count, .metadata = unary->metadata}},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = unary->out},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &unary->headers},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &unary->in},
        ending_op(&unary->ending),
    };
    unary->call = make_call(unary->channel, request->method, request->until_ms);
    if (grpc_call_start_batch(unary->call, ops, MRG_ARRAY_LEN(ops), unary, NULL) != GRPC_CALL_OK)
        return false;
    mrg_grpc_pluck(unary->channel, unary);
    return true;
}

static void unary_read(struct unary *unary, struct mrg_arena *arena, struct mrg_grpc_reply *reply)
{
    struct mrg_slice text = mrg_grpc_text(&unary->ending.text);
    struct mrg_buf bytes;
    mrg_buf_init(&bytes, SIZE_MAX);
    reply->status = (int)unary->ending.status;
    reply->text = (struct mrg_slice){mrg_arena_memdup(arena, text.ptr, text.len), text.len};
    reply->has_message = mrg_grpc_unpack(MRG_TAKE(unary->in), &bytes);
    reply->message = mrg_arena_take_buf(arena, &bytes);
    mrg_grpc_metadata_read(arena, &unary->headers, &reply->headers, &reply->header_count);
    mrg_grpc_metadata_read(arena, &unary->ending.trailers, &reply->trailers, &reply->trailer_count);
}

enum mrg_err mrg_grpc_unary(struct mrg_grpc_channel *channel, const struct mrg_grpc_request *request,
                            struct mrg_arena *arena, struct mrg_grpc_reply *ret_reply, struct mrg_error *err)
{
    struct unary unary = {.channel = channel};
    struct mrg_grpc_reply reply = {0};
    enum mrg_err code = mrg_grpc_metadata_make(request, arena, &unary.metadata, &unary.metadata_count, err);
    if (code)
        return code;
    unary.out = mrg_grpc_pack(request->message);
    grpc_metadata_array_init(&unary.headers);
    ending_init(&unary.ending);

    code = mrg_grpc_connect(channel, request->until_ms, err);
    uint64_t begun = mrg_clock_us();
    if (!code && !unary_run(&unary, request))
        code = mrg_error_set(err, MRG_ERR_INTERNAL, "the gRPC library refuses the call");
    reply.duration_us = mrg_clock_us() - begun;
    if (!code)
        code = ending_fault(channel, &unary.ending, request->until_ms, err);
    if (!code) {
        unary_read(&unary, arena, &reply);
        *ret_reply = reply;
    }
    unary_done(&unary);
    return code;
}

/* ---- messages that alternate ---- */

struct mrg_grpc_stream {
    struct mrg_grpc_channel *channel;
    grpc_call *call;
    grpc_metadata_array headers;
    struct ending ending;
    uint64_t until_ms;
    bool begun; /* the request's metadata has been sent */
    bool ended; /* the status has been received */
};

enum mrg_err mrg_grpc_stream_open(struct mrg_grpc_channel *channel, const char *method, uint64_t until_ms,
                                  struct mrg_grpc_stream **ret_stream, struct mrg_error *err)
{
    enum mrg_err code = mrg_grpc_connect(channel, until_ms, err);
    if (code)
        return code;
    struct mrg_grpc_stream *stream = mrg_zalloc(sizeof(*stream));
    stream->channel = channel;
    stream->until_ms = until_ms;
    stream->call = make_call(channel, method, until_ms);
    grpc_metadata_array_init(&stream->headers);
    ending_init(&stream->ending);
    *ret_stream = stream;
    return MRG_ERR_OK;
}

static void stream_end(struct mrg_grpc_stream *stream)
{
    const grpc_op op = ending_op(&stream->ending);
    if (!stream->ended && grpc_call_start_batch(stream->call, &op, 1, stream, NULL) == GRPC_CALL_OK)
        mrg_grpc_pluck(stream->channel, stream);
    stream->ended = true;
}

static enum mrg_err stream_fault(struct mrg_grpc_stream *stream, struct mrg_error *err)
{
    stream_end(stream);
    enum mrg_err code = ending_fault(stream->channel, &stream->ending, stream->until_ms, err);
    if (code)
        return code;
    struct mrg_slice text = mrg_grpc_text(&stream->ending.text);
    int status = (int)stream->ending.status;
    return mrg_error_set(err, status == MRG_GRPC_UNIMPLEMENTED ? MRG_ERR_UNSUPPORTED : MRG_ERR_IO,
                         "%s: the call ended with status %d: %.*s", stream->channel->address, status,
                         (int)(text.len < 500 ? text.len : 500), text.ptr);
}

enum mrg_err mrg_grpc_stream_exchange(struct mrg_grpc_stream *stream, struct mrg_slice message,
                                      struct mrg_buf *reply, struct mrg_error *err)
{
    grpc_byte_buffer *out = mrg_grpc_pack(message), *in = NULL;
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = out},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &in},
        {.op = GRPC_OP_SEND_INITIAL_METADATA},
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &stream->headers},
    };
    size_t count = stream->begun ? 2 : 4;
    stream->begun = true;
    bool good = grpc_call_start_batch(stream->call, ops, count, stream, NULL) == GRPC_CALL_OK &&
                mrg_grpc_pluck(stream->channel, stream);
    grpc_byte_buffer_destroy(out);
    bool came = mrg_grpc_unpack(in, reply);
    if (!good || !came)
        return stream_fault(stream, err);
    if (mrg_buf_failed(reply))
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "%s: the reply has more than %zu bytes",
                             stream->channel->address, reply->max);
    return MRG_ERR_OK;
}

void mrg_grpc_stream_close(struct mrg_grpc_stream *stream)
{
    if (!stream)
        return;
    if (!stream->ended)
        grpc_call_cancel(stream->call, NULL);
    stream_end(stream);
    grpc_call_unref(stream->call);
    grpc_metadata_array_destroy(&stream->headers);
    ending_done(&stream->ending);
    free(stream);
}
