// SPDX-License-Identifier: Apache-2.0
#include "transports/http/http.h"

#include <string.h>
#include <sys/resource.h>

#include "transports/http/http_int.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/thread.h"

#define SPARE_FDS 64u  /* descriptors that are not for callers: files, epolls, providers' sockets */
#define SEND_MS   2000 /* at stop, for replies that are on their way */
#define LOOK_MS   20   /* how often stop looks for suspended connections, past SEND_MS */

/* ---- references ---- */

bool http_listener_ref(struct http_listener *listener)
{
    unsigned refs = atomic_load(&listener->refs);
    do {
        if (refs == 0)
            return false;
    } while (!atomic_compare_exchange_weak(&listener->refs, &refs, refs + 1));
    return true;
}

void http_listener_unref(struct http_listener *listener)
{
    struct http_transport *transport = listener->transport;
    if (atomic_fetch_sub(&listener->refs, 1) != 1)
        return;
    /* The daemon is stopped by another thread: this may be one of its own. */
    pthread_mutex_lock(&transport->lock);
    listener->idle = true;
    pthread_cond_broadcast(&transport->changed);
    pthread_mutex_unlock(&transport->lock);
}

static void listener_free(struct http_listener *listener)
{
    mrg_door_unref(listener->door);
    http_cache_done(&listener->cache);
    free(listener);
}

/* ---- the reaper: a thread that stops the daemons of closed listeners ---- */

static struct http_listener *next_idle(struct http_transport *transport)
{
    struct http_listener *listener;
    MRG_LIST_EACH (listener, &transport->listeners, link) {
        if (listener->idle && !listener->forced)
            return listener;
    }
    return NULL;
}

static void *run_reaper(void *data)
{
    struct http_transport *transport = data;
    pthread_mutex_lock(&transport->lock);
    for (;;) {
        struct http_listener *listener = next_idle(transport);
        if (listener) {
            pthread_mutex_unlock(&transport->lock);
            http_listener_stop(listener);
            pthread_mutex_lock(&transport->lock);
            mrg_list_remove(&listener->link);
            listener_free(listener);
            pthread_cond_broadcast(&transport->changed);
        } else if (transport->stopping) {
            break;
        } else {
            pthread_cond_wait(&transport->changed, &transport->lock);
        }
    }
    pthread_mutex_unlock(&transport->lock);
    return NULL;
}

/* ---- the ops ---- */

static unsigned connection_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= MRG_MAX_CONNECTIONS + SPARE_FDS)
        return MRG_MAX_CONNECTIONS;
    return files.rlim_cur > 2 * SPARE_FDS ? (unsigned)files.rlim_cur - SPARE_FDS : SPARE_FDS;
}

static void transport_free(struct http_transport *transport)
{
    pthread_mutex_destroy(&transport->lock);
    pthread_cond_destroy(&transport->changed);
    free(transport);
}

static void take_limits(struct http_transport *transport, const struct mrg_config *config)
{
    atomic_store(&transport->max_headers, config->limits.headers);
    atomic_store(&transport->max_body, config->limits.body);
    atomic_store(&transport->deadline_ms, config->limits.deadline_ms);
    atomic_store(&transport->reply_headers, config->reply_headers);
}

static enum mrg_err http_start(const struct mrg_transport_env *env, struct mrg_transport **ret_transport,
                               struct mrg_error *err)
{
    struct http_transport *transport = mrg_zalloc(sizeof(*transport));
    transport->base.ops = &mrg_transport_http;
    transport->gateway = env->gateway;
    transport->watch = env->watch;
    take_limits(transport, env->config);
    transport->max_connections = connection_limit();
    transport->knows_layout = strcmp(MHD_get_version(), "0.9.75") == 0;
    pthread_mutex_init(&transport->lock, NULL);
    mrg_cond_init_monotonic(&transport->changed);
    mrg_list_init(&transport->listeners);
    int failed = mrg_thread_start(&transport->reaper, "mirage-http", run_reaper, transport);
    if (failed != 0) {
        transport_free(transport);
        return mrg_error_set(err, MRG_ERR_IO, "starting HTTP: %s", strerror(failed));
    }
    http_conns_init(transport);
    *ret_transport = &transport->base;
    return MRG_ERR_OK;
}

static struct http_transport *transport_of(struct mrg_transport *base)
{
    return MRG_CONTAINER_OF(base, struct http_transport, base);
}

static void http_configure(struct mrg_transport *base, const struct mrg_config *config)
{
    struct http_transport *transport = transport_of(base);
    size_t before = atomic_load(&transport->max_headers);
    take_limits(transport, config);
    pthread_mutex_lock(&transport->lock);
    bool open = !mrg_list_empty(&transport->listeners);
    pthread_mutex_unlock(&transport->lock);
    if (open && before != config->limits.headers)
        mrg_log(MRG_LOG_WARN,
                "limits.headers is %zu now, for addresses that open from now on; those that are open keep "
                "what they had until a restart",
                config->limits.headers);
}

/* Under the lock. True when the reference for being open is to be dropped, outside of it. */
static bool shut(struct http_listener *listener)
{
    if (listener->closed)
        return false;
    listener->closed = true;
    http_listener_hush(listener);
    return true;
}

/* False after quiesce. While one is opening, stop does not go on. */
static bool begin_opening(struct http_transport *transport)
{
    pthread_mutex_lock(&transport->lock);
    bool may = !transport->quiet;
    transport->opening += may;
    pthread_mutex_unlock(&transport->lock);
    return may;
}

/* `listener` is NULL when it did not start. False when quiesce has come meanwhile: then it is closed, and the
 * reaper's, because somebody may have found it in that moment. */
static bool end_opening(struct http_transport *transport, struct http_listener *listener)
{
    pthread_mutex_lock(&transport->lock);
    if (listener)
        mrg_list_append(&transport->listeners, &listener->link);
    bool late = listener && transport->quiet && shut(listener);
    transport->opening--;
    pthread_cond_broadcast(&transport->changed);
    /* stop may free the transport as soon as the listener, if there is one, is let go. */
    pthread_mutex_unlock(&transport->lock);
    if (late)
        http_listener_unref(listener);
    return !late;
}

static enum mrg_err http_open(struct mrg_transport *base, const char *address, struct mrg_door *door,
                              struct mrg_error *err)
{
    struct http_transport *transport = transport_of(base);
    if (!begin_opening(transport))
        return mrg_error_set(err, MRG_ERR_UNAVAILABLE, "the server is stopping");
    struct http_listener *listener = mrg_zalloc(sizeof(*listener));
    http_cache_init(&listener->cache);
    listener->transport = transport;
    listener->door = mrg_door_ref(door);
    atomic_init(&listener->refs, 1);
    enum mrg_err code = http_listener_start(listener, address, err);
    if (code != MRG_ERR_OK) {
        listener_free(listener);
        end_opening(transport, NULL);
        mrg_error_wrap(err, "listening on http://%s", address);
        return code;
    }
    if (!end_opening(transport, listener))
        return mrg_error_set(err, MRG_ERR_UNAVAILABLE, "the server is stopping");
    mrg_log(MRG_LOG_DEBUG, "HTTP: listening on %s", door->address);
    return MRG_ERR_OK;
}

static void http_close(struct mrg_transport *base, struct mrg_door *door)
{
    struct http_transport *transport = transport_of(base);
    struct http_listener *listener, *found = NULL;
    pthread_mutex_lock(&transport->lock);
    MRG_LIST_EACH (listener, &transport->listeners, link) {
        if (listener->door == door && shut(listener))
            found = listener;
    }
    pthread_mutex_unlock(&transport->lock);
    if (found)
        http_listener_unref(found);
}

static void http_quiesce(struct mrg_transport *base)
{
    struct http_transport *transport = transport_of(base);
    struct http_listener *listener;
    pthread_mutex_lock(&transport->lock);
    transport->quiet = true;
    MRG_LIST_EACH (listener, &transport->listeners, link)
        http_listener_hush(listener);
    pthread_mutex_unlock(&transport->lock);
}

static bool all_freed(struct http_transport *transport, uint64_t within_ms)
{
    struct timespec until;
    mrg_clock_deadline(&until, within_ms);
    while (!mrg_list_empty(&transport->listeners)) {
        if (pthread_cond_timedwait(&transport->changed, &transport->lock, &until) != 0)
            return mrg_list_empty(&transport->listeners);
    }
    return true;
}

/*
 * Under the lock, which is given up meanwhile. Ends a listener whose replies are still being sent: stopping
 * the daemon completes their requests, which drops the last references. With a suspended connection the
 * library would abort, so that one which the gateway has not delivered is waited for.
 */
static void force(struct http_transport *transport, struct http_listener *listener)
{
    listener->forced = true;
    if (atomic_load(&listener->waiting) > 0)
        mrg_log(MRG_LOG_ERROR, "HTTP: %d requests are not answered yet at %s; stopping waits for them",
                atomic_load(&listener->waiting), listener->door->address);
    while (atomic_load(&listener->waiting) > 0) {
        struct timespec until;
        mrg_clock_deadline(&until, LOOK_MS);
        pthread_cond_timedwait(&transport->changed, &transport->lock, &until);
    }
    pthread_mutex_unlock(&transport->lock);
    http_listener_stop(listener);
    pthread_mutex_lock(&transport->lock);
    while (!listener->idle)
        pthread_cond_wait(&transport->changed, &transport->lock);
    mrg_list_remove(&listener->link);
    listener_free(listener);
}

/* Drops the references for being open, one at a time: the drop takes the lock, and the list may change
 * meanwhile. */
static void shut_all(struct http_transport *transport)
{
    struct http_listener *listener, *found;
    do {
        found = NULL;
        pthread_mutex_lock(&transport->lock);
        MRG_LIST_EACH (listener, &transport->listeners, link) {
            if (!found && shut(listener))
                found = listener;
        }
        pthread_mutex_unlock(&transport->lock);
        if (found)
            http_listener_unref(found);
    } while (found);
}

static struct http_listener *next_busy(struct http_transport *transport)
{
    struct http_listener *listener;
    MRG_LIST_EACH (listener, &transport->listeners, link) {
        if (!listener->idle)
            return listener;
    }
    return NULL;
}

/* After quiesce, so that there are no more of them. */
static void await_opening(struct http_transport *transport)
{
    pthread_mutex_lock(&transport->lock);
    while (transport->opening > 0)
        pthread_cond_wait(&transport->changed, &transport->lock);
    pthread_mutex_unlock(&transport->lock);
}

static void http_stop(struct mrg_transport *base)
{
    struct http_transport *transport = transport_of(base);
    http_quiesce(base);
    await_opening(transport);
    shut_all(transport);
    http_conns_cut_receiving(transport);
    pthread_mutex_lock(&transport->lock);
    if (!all_freed(transport, SEND_MS)) {
        struct http_listener *busy;
        while ((busy = next_busy(transport)))
            force(transport, busy);
    }
    transport->stopping = true;
    pthread_cond_broadcast(&transport->changed);
    pthread_mutex_unlock(&transport->lock);
    pthread_join(transport->reaper, NULL);
    http_conns_done(transport);
    transport_free(transport);
}

const struct mrg_transport_ops mrg_transport_http = {
    .name = "http",
    .scheme = "http://",
    .session = "127.0.0.1:0",
    .start = http_start,
    .configure = http_configure,
    .open = http_open,
    .close = http_close,
    .quiesce = http_quiesce,
    .stop = http_stop,
};
