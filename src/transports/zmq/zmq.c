// SPDX-License-Identifier: Apache-2.0
#include "transports/zmq/zmq.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transports/zmq/zmq_int.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/thread.h"

static struct zm_transport *transport_of(struct mrg_transport *base)
{
    return MRG_CONTAINER_OF(base, struct zm_transport, base);
}

/* ---- to the actor ---- */

/* Under the lock: whoever is behind it may free the transport next. */
static void wake(struct zm_transport *transport)
{
    const uint64_t one = 1;
    if (transport->woken)
        return;
    transport->woken = true;
    MRG_ASSERT(write(transport->wake_fd, &one, sizeof(one)) == sizeof(one));
}

void zm_hand_back(struct zm_transport *transport, struct zm_request *request)
{
    pthread_mutex_lock(&transport->lock);
    mrg_list_append(&transport->done, &request->link);
    wake(transport);
    pthread_mutex_unlock(&transport->lock);
}

/* Under the lock. */
static void post(struct zm_transport *transport, struct zm_command *command)
{
    mrg_list_append(&transport->commands, &command->link);
    wake(transport);
}

/* Under the lock, which is given up meanwhile. */
static void post_and_wait(struct zm_transport *transport, struct zm_command *command)
{
    transport->callers++;
    post(transport, command);
    while (!command->done)
        pthread_cond_wait(&transport->changed, &transport->lock);
    transport->callers--;
    pthread_cond_broadcast(&transport->changed);
}

/* Under the lock. */
static bool is_actor(const struct zm_transport *transport)
{
    return transport->running && pthread_equal(pthread_self(), transport->actor);
}

/* Under the lock: the library's context and the actor, at the first address. */
static enum mrg_err ensure_actor(struct zm_transport *transport, struct mrg_error *err)
{
    if (transport->running)
        return MRG_ERR_OK;
    int failed = 0;
    transport->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (transport->wake_fd < 0)
        return mrg_error_set(err, MRG_ERR_IO, "starting ZeroMQ: %s", strerror(errno));
    transport->context = zmq_ctx_new();
    if (!transport->context)
        failed = errno;
    else
        failed = mrg_thread_start(&transport->actor, "mirage-zmq", zm_run, transport);
    if (failed == 0) {
        transport->running = true;
        return MRG_ERR_OK;
    }
    if (transport->context)
        zmq_ctx_term(transport->context);
    close(transport->wake_fd);
    transport->context = NULL;
    transport->wake_fd = -1;
    return mrg_error_set(err, MRG_ERR_IO, "starting ZeroMQ: %s", strerror(failed));
}

/* ---- the ops ---- */

static void take_limits(struct zm_transport *transport, const struct mrg_config *config)
{
    atomic_store(&transport->max_headers, config->limits.headers);
    atomic_store(&transport->max_body, config->limits.body);
    atomic_store(&transport->deadline_ms, config->limits.deadline_ms);
    atomic_store(&transport->reply_headers, config->reply_headers);
}

static enum mrg_err start(const struct mrg_transport_env *env, struct mrg_transport **ret_transport,
                          struct mrg_error *err)
{
    (void)err;
    struct zm_transport *transport = mrg_zalloc(sizeof(*transport));
    transport->base.ops = &mrg_transport_zmq;
    transport->gateway = env->gateway;
    transport->watch = env->watch;
    transport->wake_fd = -1;
    take_limits(transport, env->config);
    pthread_mutex_init(&transport->lock, NULL);
    pthread_cond_init(&transport->changed, NULL);
    mrg_list_init(&transport->commands);
    mrg_list_init(&transport->done);
    mrg_list_init(&transport->listeners);
    mrg_buf_init(&transport->out.text, SIZE_MAX);
    mrg_buf_init(&transport->out.other, SIZE_MAX);
    mrg_buf_init(&transport->out.error, SIZE_MAX);
    *ret_transport = &transport->base;
    return MRG_ERR_OK;
}

static void configure(struct mrg_transport *base, const struct mrg_config *config)
{
    struct zm_transport *transport = transport_of(base);
    take_limits(transport, config);
    pthread_mutex_lock(&transport->lock);
    bool more = transport->running && zm_frame_limit(transport) > transport->frame_limit;
    pthread_mutex_unlock(&transport->lock);
    if (more)
        mrg_log(MRG_LOG_WARN,
                "limits.body and limits.headers are larger now; ZeroMQ addresses that are open still refuse "
                "frames of more than %zu bytes until a restart",
                transport->frame_limit);
}

static enum mrg_err open_door(struct mrg_transport *base, const char *address, struct mrg_door *door,
                              struct mrg_error *err)
{
    struct zm_transport *transport = transport_of(base);
    struct zm_command command = {.verb = ZM_OPEN, .address = address, .door = door};
    pthread_mutex_lock(&transport->lock);
    enum mrg_err code = MRG_ERR_OK;
    if (transport->quiet)
        code = mrg_error_set(err, MRG_ERR_UNAVAILABLE, "the server is stopping");
    else
        code = ensure_actor(transport, err);
    /* A control verb that came by ZeroMQ opens a session's addresses on the actor's own thread. */
    bool own = !code && is_actor(transport);
    if (!code && !own)
        post_and_wait(transport, &command);
    pthread_mutex_unlock(&transport->lock);
    if (code)
        return code;
    if (own)
        zm_obey(transport, &command);
    if (command.code == MRG_ERR_OK) {
        mrg_log(MRG_LOG_DEBUG, "ZeroMQ: listening on %s", door->address);
        return MRG_ERR_OK;
    }
    if (err)
        *err = command.err;
    mrg_error_wrap(err, "listening on %s", address);
    return command.code;
}

static void close_door(struct mrg_transport *base, struct mrg_door *door)
{
    struct zm_transport *transport = transport_of(base);
    struct zm_command own_command = {.verb = ZM_CLOSE, .door = door};
    pthread_mutex_lock(&transport->lock);
    bool own = is_actor(transport);
    if (transport->running && !own) {
        struct zm_command *command = mrg_zalloc(sizeof(*command));
        command->verb = ZM_CLOSE;
        command->door = mrg_door_ref(door);
        post(transport, command);
    }
    pthread_mutex_unlock(&transport->lock);
    if (own)
        zm_obey(transport, &own_command);
}

/*
 * The library cannot stop listening without hanging up on those who are connected: their sessions end with the
 * listener. So the addresses stay open until stop; what comes is the gateway's to refuse, which closes next, and
 * no caller waits in vain for an answer.
 */
static void quiesce(struct mrg_transport *base)
{
    struct zm_transport *transport = transport_of(base);
    pthread_mutex_lock(&transport->lock);
    transport->quiet = true;
    pthread_mutex_unlock(&transport->lock);
}

static void stop(struct mrg_transport *base)
{
    struct zm_transport *transport = transport_of(base);
    struct zm_command command = {.verb = ZM_STOP};
    pthread_mutex_lock(&transport->lock);
    transport->quiet = true;
    while (transport->callers > 0)
        pthread_cond_wait(&transport->changed, &transport->lock);
    if (transport->running)
        post(transport, &command);
    pthread_mutex_unlock(&transport->lock);
    if (transport->running) {
        pthread_join(transport->actor, NULL);
        close(transport->wake_fd);
    }
    /* The last one that handed a request back may still be about to leave the lock. */
    pthread_mutex_lock(&transport->lock);
    pthread_mutex_unlock(&transport->lock);
    pthread_mutex_destroy(&transport->lock);
    pthread_cond_destroy(&transport->changed);
    mrg_buf_done(&transport->out.text);
    mrg_buf_done(&transport->out.other);
    mrg_buf_done(&transport->out.error);
    free(transport);
}

const struct mrg_transport_ops mrg_transport_zmq = {
    .name = "zmq",
    .scheme = "",
    .session = "tcp://127.0.0.1:*",
    .many = true,
    .start = start,
    .configure = configure,
    .open = open_door,
    .close = close_door,
    .quiesce = quiesce,
    .stop = stop,
};
