// SPDX-License-Identifier: Apache-2.0
/*
 * A client of the gRPC C core for tests: one call at a time, on a completion queue of its own. Static functions: each test
 * includes its own copy. The library is initialised by whoever uses it.
 */
#pragma once

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/buf.h"

#define CLIENT_METADATA 16

/* A unary call under way, or a stream. */
struct client_call {
    grpc_completion_queue *cq;
    grpc_call *call;
    grpc_metadata metadata[CLIENT_METADATA]; /* sent */
    size_t metadata_count;
    grpc_byte_buffer *sent;
    grpc_byte_buffer *received;
    grpc_metadata_array initial;
    grpc_metadata_array trailing;
    grpc_status_code status;
    grpc_slice details;
    const char *error;
    /* What the test looks at, after client_finish */
    char *message;    /* of the status */
    char *reply;      /* the message; NULL: none */
    size_t reply_len; /* of reply */
};

static inline grpc_channel *client_dial(const char *address)
{
    grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
    /* A subchannel of its own: the next test's server may have this one's port. */
    grpc_arg arg = {.type = GRPC_ARG_INTEGER, .value.integer = 1};
    char key[] = GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL;
    arg.key = key;
    const grpc_channel_args args = {1, &arg};
    grpc_channel *channel = grpc_channel_create(address, credentials, &args);
    grpc_channel_credentials_release(credentials);
    return channel;
}

/* Waits for one batch; whether it worked. */
static inline bool client_wait(struct client_call *call, void *tag)
{
    grpc_event event = grpc_completion_queue_pluck(call->cq, tag, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    return event.type == GRPC_OP_COMPLETE && event.success;
}

static inline void client_add(struct client_call *call, const char *name, const char *value, size_t len)
{
    call->metadata[call->metadata_count++] = (grpc_metadata){
        .key = grpc_slice_from_copied_string(name), .value = grpc_slice_from_copied_buffer(value, len)};
}

/* `headers` as in sample.h, or NULL. The deadline in milliseconds, 0: none. */
static inline struct client_call *client_new(grpc_channel *channel, const char *method, const char *headers,
                                             int deadline_ms)
{
    struct client_call *call = mrg_zalloc(sizeof(*call));
    gpr_timespec until = gpr_inf_future(GPR_CLOCK_REALTIME);
    if (deadline_ms > 0)
        until = gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(deadline_ms, GPR_TIMESPAN));
    call->cq = grpc_completion_queue_create_for_pluck(NULL);
    call->call = grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, call->cq,
                                          grpc_slice_from_static_string(method), NULL, until, NULL);
    grpc_metadata_array_init(&call->initial);
    grpc_metadata_array_init(&call->trailing);
    while (headers && *headers) {
        size_t len = strcspn(headers, "\n"), name = strcspn(headers, ":");
        char key[64];
        snprintf(key, sizeof(key), "%.*s", (int)name, headers);
        client_add(call, key, headers + name + 2, len - name - 2);
        headers += headers[len] ? len + 1 : len;
    }
    return call;
}

/* Sends metadata and, unless `messages` is 0, that many times the message, and half-closes. */
static inline void client_send(struct client_call *call, struct mrg_slice message, int messages)
{
    grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    op.data.send_initial_metadata.count = call->metadata_count;
    op.data.send_initial_metadata.metadata = call->metadata;
    grpc_call_start_batch(call->call, &op, 1, &call->metadata, NULL);
    client_wait(call, &call->metadata);
    for (int i = 0; i < messages; i++) {
        grpc_slice slice = grpc_slice_from_copied_buffer(message.ptr, message.len);
        grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
        grpc_slice_unref(slice);
        memset(&op, 0, sizeof(op));
        op.op = GRPC_OP_SEND_MESSAGE;
        op.data.send_message.send_message = buffer;
        grpc_call_start_batch(call->call, &op, 1, &call->sent, NULL);
        client_wait(call, &call->sent);
        grpc_byte_buffer_destroy(buffer);
    }
    memset(&op, 0, sizeof(op));
    op.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    grpc_call_start_batch(call->call, &op, 1, &call->sent, NULL);
    client_wait(call, &call->sent);
}

/* Starts to wait for the reply. */
static inline void client_listen(struct client_call *call)
{
    grpc_op ops[3] = {{.op = GRPC_OP_RECV_INITIAL_METADATA},
                      {.op = GRPC_OP_RECV_MESSAGE},
                      {.op = GRPC_OP_RECV_STATUS_ON_CLIENT}};
    ops[0].data.recv_initial_metadata.recv_initial_metadata = &call->initial;
    ops[1].data.recv_message.recv_message = &call->received;
    ops[2].data.recv_status_on_client.trailing_metadata = &call->trailing;
    ops[2].data.recv_status_on_client.status = &call->status;
    ops[2].data.recv_status_on_client.status_details = &call->details;
    grpc_call_start_batch(call->call, ops, 3, call, NULL);
}

/* Waits until the call is over; the status's number. */
static inline int client_finish(struct client_call *call)
{
    client_wait(call, call);
    call->message = grpc_slice_to_c_string(call->details);
    if (call->received) {
        grpc_byte_buffer_reader reader;
        grpc_byte_buffer_reader_init(&reader, call->received);
        grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
        grpc_byte_buffer_reader_destroy(&reader);
        call->reply_len = GRPC_SLICE_LENGTH(all);
        call->reply = mrg_strndup((const char *)GRPC_SLICE_START_PTR(all), call->reply_len);
        grpc_slice_unref(all);
    }
    return (int)call->status;
}

static inline void client_free(struct client_call *call)
{
    for (size_t i = 0; i < call->metadata_count; i++) {
        grpc_slice_unref(call->metadata[i].key);
        grpc_slice_unref(call->metadata[i].value);
    }
    grpc_metadata_array_destroy(&call->initial);
    grpc_metadata_array_destroy(&call->trailing);
    if (call->received)
        grpc_byte_buffer_destroy(call->received);
    if (call->message) {
        gpr_free(call->message);
        grpc_slice_unref(call->details);
    }
    free(call->reply);
    grpc_call_unref(call->call);
    grpc_completion_queue_shutdown(call->cq);
    while (grpc_completion_queue_pluck(call->cq, NULL, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).type !=
           GRPC_QUEUE_SHUTDOWN)
        continue;
    grpc_completion_queue_destroy(call->cq);
    free(call);
}

/* One whole call; the caller frees it. */
static inline struct client_call *client_do(grpc_channel *channel, const char *method, const char *headers,
                                            struct mrg_slice message)
{
    struct client_call *call = client_new(channel, method, headers, 60000);
    client_listen(call);
    client_send(call, message, 1);
    client_finish(call);
    return call;
}

/* The first value of that name, whose bytes are borrowed; ptr NULL: none. */
static inline struct mrg_slice client_metadata(const grpc_metadata_array *array, const char *name)
{
    for (size_t i = 0; i < array->count; i++) {
        if (grpc_slice_str_cmp(array->metadata[i].key, name) == 0)
            return (struct mrg_slice){(const char *)GRPC_SLICE_START_PTR(array->metadata[i].value),
                                      GRPC_SLICE_LENGTH(array->metadata[i].value)};
    }
    return (struct mrg_slice){NULL, 0};
}
