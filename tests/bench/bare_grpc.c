// SPDX-License-Identifier: Apache-2.0
//
// The least that a server on the gRPC C core can do: take any unary call, read its message, answer OK with a message of
// fixed size. Two threads with a completion queue each, like the real one. What a real server costs beyond this is
// its own doing.

#include <getopt.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARMED      16 // calls waited for on each queue
#define QUEUES_MAX 8

enum step { ACCEPT, RECEIVE, FINISH };

struct call {
    enum step step;
    grpc_completion_queue *queue;
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
    grpc_byte_buffer *message;
    grpc_byte_buffer *reply;
    int cancelled;
};

static grpc_server *server;
static grpc_slice reply_slice;

static void arm(grpc_completion_queue *queue)
{
    struct call *call = calloc(1, sizeof(*call));
    call->queue = queue;
    grpc_call_details_init(&call->details);
    grpc_metadata_array_init(&call->metadata);
    if (grpc_server_request_call(server, &call->call, &call->details, &call->metadata, queue, queue, call) !=
        GRPC_CALL_OK)
        abort();
}

static void start(struct call *call, const grpc_op *ops, size_t count)
{
    if (grpc_call_start_batch(call->call, ops, count, call, NULL) != GRPC_CALL_OK)
        abort();
}

static void receive(struct call *call)
{
    const grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->message};
    call->step = RECEIVE;
    start(call, &op, 1);
}

static void answer(struct call *call)
{
    if (call->message) { // looked at, as a real one would
        grpc_byte_buffer_reader reader;
        grpc_byte_buffer_reader_init(&reader, call->message);
        grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
        grpc_byte_buffer_reader_destroy(&reader);
        grpc_slice_unref(all);
    }
    call->reply = grpc_raw_byte_buffer_create(&reply_slice, 1);
    grpc_op ops[4];
    memset(ops, 0, sizeof ops);
    ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    ops[1].op = GRPC_OP_SEND_MESSAGE;
    ops[1].data.send_message.send_message = call->reply;
    ops[2].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[2].data.send_status_from_server.status = GRPC_STATUS_OK;
    ops[3].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
    ops[3].data.recv_close_on_server.cancelled = &call->cancelled;
    call->step = FINISH;
    start(call, ops, 4);
}

static void end(struct call *call)
{
    grpc_byte_buffer_destroy(call->message);
    grpc_byte_buffer_destroy(call->reply);
    grpc_call_details_destroy(&call->details);
    grpc_metadata_array_destroy(&call->metadata);
    if (call->call)
        grpc_call_unref(call->call);
    free(call);
}

static void *serve(void *ctx)
{
    grpc_completion_queue *queue = ctx;
    for (;;) {
        grpc_event event = grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type != GRPC_OP_COMPLETE)
            return NULL;
        struct call *call = event.tag;
        if (call->step == ACCEPT && event.success) {
            arm(queue);
            receive(call);
        } else if (call->step == RECEIVE) {
            answer(call);
        } else {
            end(call);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"size", required_argument, NULL, 's'}, {"threads", required_argument, NULL, 't'}, {0}};
    size_t size = 64;
    unsigned threads = 2;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 's')
            size = strtoul(optarg, NULL, 10);
        else if (c == 't')
            threads = (unsigned)strtoul(optarg, NULL, 10);
        else
            return 2;
    }
    if (threads < 1 || threads > QUEUES_MAX)
        return 2;
    grpc_init();
    char *bytes = malloc(size + 1);
    memset(bytes, 'x', size);
    reply_slice = grpc_slice_from_copied_buffer(bytes, size);
    free(bytes);
    server = grpc_server_create(NULL, NULL);
    grpc_completion_queue *queues[QUEUES_MAX];
    for (unsigned i = 0; i < threads; i++) {
        queues[i] = grpc_completion_queue_create_for_next(NULL);
        grpc_server_register_completion_queue(server, queues[i], NULL);
    }
    grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
    int port = grpc_server_add_http2_port(server, "127.0.0.1:0", credentials);
    grpc_server_credentials_release(credentials);
    grpc_server_start(server);
    pthread_t thread;
    for (unsigned i = 0; i < threads; i++) {
        for (int k = 0; k < ARMED; k++)
            arm(queues[i]);
        pthread_create(&thread, NULL, serve, queues[i]);
    }
    printf("listening on %d\n", port);
    fflush(stdout);
    pthread_join(thread, NULL);
    return 0;
}
