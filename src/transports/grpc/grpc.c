// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc.h"

#include "transports/grpc/grpc_int.h"
#include "util/clock.h"
#include "util/log.h"

#define SEND_MS 2000 /* at stop, for replies that are on their way */

static struct rpc_transport *transport_of(struct mrg_transport *base)
{
    return MRG_CONTAINER_OF(base, struct rpc_transport, base);
}

static void take_limits(struct rpc_transport *transport, const struct mrg_config *config)
{
    atomic_store(&transport->max_headers, config->limits.headers);
    atomic_store(&transport->max_body, config->limits.body);
    atomic_store(&transport->deadline_ms, config->limits.deadline_ms);
    atomic_store(&transport->reply_headers, config->reply_headers);
}

static enum mrg_err rpc_start(const struct mrg_transport_env *env, struct mrg_transport **ret_transport,
                              struct mrg_error *err)
{
    (void)err;
    struct rpc_transport *transport = mrg_zalloc(sizeof(*transport));
    transport->base.ops = &mrg_transport_grpc;
    transport->gateway = env->gateway;
    transport->watch = env->watch;
    take_limits(transport, env->config);
    pthread_mutex_init(&transport->lock, NULL);
    mrg_cond_init_monotonic(&transport->changed);
    mrg_list_init(&transport->listeners);
    mrg_list_init(&transport->streams);
    *ret_transport = &transport->base;
    return MRG_ERR_OK;
}

static void rpc_configure(struct mrg_transport *base, const struct mrg_config *config)
{
    struct rpc_transport *transport = transport_of(base);
    size_t body = atomic_load(&transport->max_body), headers = atomic_load(&transport->max_headers);
    take_limits(transport, config);
    pthread_mutex_lock(&transport->lock);
    bool open = !mrg_list_empty(&transport->listeners);
    pthread_mutex_unlock(&transport->lock);
    if (open && (body < config->limits.body || headers < config->limits.headers))
        mrg_log(
            MRG_LOG_WARN,
            "limits.body and limits.headers are larger now; gRPC addresses that are open keep what they had "
            "until a restart");
}

/* False after quiesce. While one is opening, stop does not go on. */
static enum mrg_err begin_opening(struct rpc_transport *transport, struct mrg_error *err)
{
    enum mrg_err code;
    pthread_mutex_lock(&transport->lock);
    if (atomic_load(&transport->quiet))
        code = mrg_error_set(err, MRG_ERR_UNAVAILABLE, "the server is stopping");
    else
        code = rpc_queues_start(transport, err);
    transport->opening += code == MRG_ERR_OK;
    pthread_mutex_unlock(&transport->lock);
    return code;
}

/* `listener` is NULL when it did not open. False when quiesce has come meanwhile: then it shuts down again. */
static bool end_opening(struct rpc_transport *transport, struct rpc_listener *listener)
{
    pthread_mutex_lock(&transport->lock);
    bool late = listener && atomic_load(&transport->quiet);
    if (listener)
        mrg_list_append(&transport->listeners, &listener->link);
    if (late)
        rpc_listener_shut(listener);
    transport->opening--;
    pthread_cond_broadcast(&transport->changed);
    pthread_mutex_unlock(&transport->lock);
    return !late;
}

static enum mrg_err rpc_open(struct mrg_transport *base, const char *address, struct mrg_door *door,
                             struct mrg_error *err)
{
    struct rpc_transport *transport = transport_of(base);
    struct rpc_listener *listener = NULL;
    enum mrg_err code = begin_opening(transport, err);
    if (code)
        return code;
    code = rpc_listener_open(transport, address, door, &listener, err);
    if (!end_opening(transport, code ? NULL : listener))
        return mrg_error_set(err, MRG_ERR_UNAVAILABLE, "the server is stopping");
    if (code) {
        mrg_error_wrap(err, "listening on grpc://%s", address);
        return code;
    }
    mrg_log(MRG_LOG_DEBUG, "gRPC: listening on %s", door->address);
    return MRG_ERR_OK;
}

static void rpc_close(struct mrg_transport *base, struct mrg_door *door)
{
    struct rpc_transport *transport = transport_of(base);
    struct rpc_listener *listener;
    pthread_mutex_lock(&transport->lock);
    MRG_LIST_EACH (listener, &transport->listeners, link) {
        if (listener->door == door)
            rpc_listener_shut(listener);
    }
    rpc_streams_wake(transport, door);
    pthread_mutex_unlock(&transport->lock);
}

static void rpc_quiesce(struct mrg_transport *base)
{
    struct rpc_transport *transport = transport_of(base);
    struct rpc_listener *listener;
    pthread_mutex_lock(&transport->lock);
    atomic_store(&transport->quiet, true);
    rpc_streams_wake(transport, NULL);
    MRG_LIST_EACH (listener, &transport->listeners, link)
        rpc_listener_shut(listener);
    pthread_mutex_unlock(&transport->lock);
}

static bool all_freed(struct rpc_transport *transport, uint64_t within_ms)
{
    struct timespec until;
    mrg_clock_deadline(&until, within_ms);
    while (transport->opening > 0)
        pthread_cond_wait(&transport->changed, &transport->lock);
    while (!mrg_list_empty(&transport->listeners)) {
        if (pthread_cond_timedwait(&transport->changed, &transport->lock, &until) != 0)
            return mrg_list_empty(&transport->listeners);
    }
    return true;
}

static void rpc_stop(struct mrg_transport *base)
{
    struct rpc_transport *transport = transport_of(base);
    rpc_quiesce(base);
    pthread_mutex_lock(&transport->lock);
    if (!all_freed(transport, SEND_MS)) {
        struct rpc_listener *listener;
        MRG_LIST_EACH (listener, &transport->listeners, link) {
            if (listener->server)
                grpc_server_cancel_all_calls(listener->server);
        }
        while (!mrg_list_empty(&transport->listeners))
            pthread_cond_wait(&transport->changed, &transport->lock);
    }
    pthread_mutex_unlock(&transport->lock);
    rpc_queues_stop(transport);
    pthread_mutex_destroy(&transport->lock);
    pthread_cond_destroy(&transport->changed);
    free(transport);
}

const struct mrg_transport_ops mrg_transport_grpc = {
    .name = "grpc",
    .scheme = "",
    .session = "127.0.0.1:0",
    .start = rpc_start,
    .configure = rpc_configure,
    .open = rpc_open,
    .close = rpc_close,
    .quiesce = rpc_quiesce,
    .stop = rpc_stop,
};
