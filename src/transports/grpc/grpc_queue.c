// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <string.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/thread.h"

#define LOOK_MS      1000       /* how often calls that take too long are looked for */
#define LOOK_EVENTS  256u       /* events after which the clock is read */
#define KEPT_SCRATCH (1u << 20) /* bytes of scratch that are kept for the next call */

static void on_library_log(gpr_log_func_args *args)
{
    enum mrg_log_level level = args->severity == GPR_LOG_SEVERITY_ERROR ? MRG_LOG_WARN : MRG_LOG_DEBUG;
    /* What it says of an address that is in use is told by whoever opens it. */
    if (strstr(args->file, "server") && strstr(args->file, "chttp2"))
        level = MRG_LOG_DEBUG;
    mrg_log(level, "gRPC: %s", args->message);
}

/* ---- calls that take too long ---- */

void rpc_queue_time(struct rpc_queue *queue, struct rpc_call *call, uint64_t cut_ms)
{
    call->cut_ms = cut_ms;
    if (!mrg_list_linked(&call->timed))
        mrg_list_append(&queue->timed, &call->timed);
}

void rpc_queue_untime(struct rpc_call *call)
{
    if (mrg_list_linked(&call->timed))
        mrg_list_remove(&call->timed);
}

static void look_through(struct rpc_queue *queue)
{
    struct rpc_call *call;
    struct rpc_stream *stream;
    uint64_t now = mrg_clock_ms();
    MRG_LIST_EACH (call, &queue->timed, timed) {
        if (call->cut_ms > now)
            continue;
        /* The batch that it waits for comes back. */
        mrg_list_remove(&call->timed);
        grpc_call_cancel_with_status(call->call, GRPC_STATUS_DEADLINE_EXCEEDED,
                                     "the call took too long to arrive or to leave", NULL);
    }
    MRG_LIST_EACH (stream, &queue->watches, watch)
        rpc_health_look(stream->call);
}

static bool has_to_look(const struct rpc_queue *queue)
{
    return !mrg_list_empty(&queue->timed) || !mrg_list_empty(&queue->watches);
}

/* Returns when there is something to look for and it is time; the clock is read now and then only. */
static void look_when_due(struct rpc_queue *queue, bool timed_out)
{
    if (!timed_out && ++queue->events < LOOK_EVENTS)
        return;
    queue->events = 0;
    gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);
    if (gpr_time_cmp(now, queue->look) < 0)
        return;
    queue->look = gpr_time_add(now, gpr_time_from_millis(LOOK_MS, GPR_TIMESPAN));
    look_through(queue);
}

/* ---- the thread ---- */

static void trim_scratch(struct mrg_buf *buf)
{
    if (buf->room <= KEPT_SCRATCH)
        return;
    size_t max = buf->max;
    mrg_buf_done(buf);
    mrg_buf_init(buf, max);
}

static void *run(void *data)
{
    struct rpc_queue *queue = data;
    for (;;) {
        gpr_timespec until = has_to_look(queue) ? queue->look : gpr_inf_future(GPR_CLOCK_MONOTONIC);
        grpc_event event = grpc_completion_queue_next(queue->cq, until, NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN)
            return NULL;
        if (event.type == GRPC_OP_COMPLETE) {
            struct rpc_tag *tag = event.tag;
            rpc_tag_take(tag);
            tag->fn(tag, event.success != 0);
            trim_scratch(&queue->json);
            trim_scratch(&queue->bytes);
        }
        look_when_due(queue, event.type == GRPC_QUEUE_TIMEOUT);
    }
}

static enum mrg_err start_queue(struct rpc_transport *transport, size_t i, struct mrg_error *err)
{
    struct rpc_queue *queue = &transport->queues[i];
    char name[MRG_THREAD_NAME + 1];
    queue->transport = transport;
    mrg_list_init(&queue->timed);
    mrg_list_init(&queue->watches);
    queue->look = gpr_now(GPR_CLOCK_MONOTONIC);
    mrg_buf_init(&queue->json, SIZE_MAX);
    mrg_buf_init(&queue->bytes, SIZE_MAX);
    rpc_cache_init(&queue->cache);
    queue->cq = grpc_completion_queue_create_for_next(NULL);
    snprintf(name, sizeof(name), "mirage-grpc-%zu", i);
    int failed = mrg_thread_start(&queue->thread, name, run, queue);
    if (failed == 0)
        return MRG_ERR_OK;
    grpc_completion_queue_shutdown(queue->cq);
    grpc_completion_queue_next(queue->cq, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    grpc_completion_queue_destroy(queue->cq);
    return mrg_error_set(err, MRG_ERR_IO, "starting gRPC: %s", strerror(failed));
}

static void stop_queue(struct rpc_queue *queue)
{
    grpc_completion_queue_shutdown(queue->cq);
    pthread_join(queue->thread, NULL);
    grpc_completion_queue_destroy(queue->cq);
    rpc_cache_done(&queue->cache);
    mrg_buf_done(&queue->json);
    mrg_buf_done(&queue->bytes);
}

static void stop_queues(struct rpc_transport *transport, size_t count)
{
    for (size_t i = 0; i < count; i++)
        stop_queue(&transport->queues[i]);
    grpc_shutdown();
}

enum mrg_err rpc_queues_start(struct rpc_transport *transport, struct mrg_error *err)
{
    if (transport->running)
        return MRG_ERR_OK;
    gpr_set_log_function(on_library_log);
    grpc_init();
    for (size_t i = 0; i < MRG_GRPC_THREADS; i++) {
        enum mrg_err code = start_queue(transport, i, err);
        if (code) {
            stop_queues(transport, i);
            return code;
        }
    }
    transport->running = true;
    return MRG_ERR_OK;
}

void rpc_queues_stop(struct rpc_transport *transport)
{
    if (transport->running)
        stop_queues(transport, MRG_GRPC_THREADS);
    transport->running = false;
}
