// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include <errno.h>
#include <grpc/grpc_security.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ARMED          16u   /* accepts at one time, a queue */
#define ARMED_SESSION  2u    /* of a session's own address: these are many and quiet */
#define KEEPALIVE_MS   60000 /* without a sign of the peer, then it is asked */
#define KEEPALIVE_LATE 20000 /* and given so long to answer */
#define PING_LEAST_MS                                                                                        \
    10000 /* between a client's own pings; the library's default of 5 minutes cuts off ordinary clients */
#define HANDSHAKE_MS 10000 /* from a connection to its HTTP/2 settings */

/* One armed accept. */
struct slot {
    struct rpc_tag tag;
    struct rpc_listener *listener; /* a reference */
    struct rpc_queue *queue;
    struct rpc_arrival arrival; /* filled by the library */
};

/* ---- the address ---- */

static enum mrg_err parse(const char *text, char host[MRG_MAX_HOST + 1], const char **ret_port,
                          bool *ret_bracketed, struct mrg_error *err)
{
    const char *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    bool bracketed = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    if (bracketed) {
        text++;
        len -= 2;
    }
    if (!colon || len == 0 || len > MRG_MAX_HOST || colon[1] == '\0' ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5 ||
        strtol(colon + 1, NULL, 10) > 65535 || (!bracketed && memchr(text, ':', len)))
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "expected host:port, such as 127.0.0.1:9001 or [::1]:9001");
    memcpy(host, text, len);
    host[len] = '\0';
    *ret_port = colon + 1;
    *ret_bracketed = bracketed;
    return MRG_ERR_OK;
}

/* One socket an address: the library would listen at all those that a name stands for, and be content with some. */
static const struct addrinfo *choose(const struct addrinfo *found)
{
    for (const struct addrinfo *info = found; info; info = info->ai_next) {
        if (info->ai_family == AF_INET)
            return info;
    }
    return found;
}

/* "127.0.0.1:9001": numbers only, so that the library asks no name server. */
static char *numeric(const struct addrinfo *info)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return NULL;
    return mrg_asprintf(info->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* The library tells only its log why it cannot listen. */
static enum mrg_err why_not(const struct addrinfo *info, struct mrg_error *err)
{
    const int on = 1;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                 bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, 1) == 0;
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (bound)
        return mrg_error_set(err, MRG_ERR_IO,
                             "the gRPC library did not listen; the log at level debug says why");
    if (why == EADDRINUSE)
        return mrg_error_set(err, MRG_ERR_CONFLICT, "the address is in use by another process or listener");
    return mrg_error_set(err, MRG_ERR_IO, "%s", strerror(why));
}

/* ---- the server ---- */

static grpc_arg number(const char *key, size_t value)
{
    return (grpc_arg){.type = GRPC_ARG_INTEGER,
                      .key = (char *)(uintptr_t)key,
                      .value.integer = value > INT32_MAX ? INT32_MAX : (int)value};
}

static grpc_server *make_server(struct rpc_listener *listener)
{
    struct rpc_transport *transport = listener->transport;
    grpc_arg args[] = {
        /* Else a second server shares the port without a word. */
        number(GRPC_ARG_ALLOW_REUSEPORT, 0),
        number(GRPC_ARG_MAX_CONCURRENT_STREAMS, MRG_GRPC_STREAMS),
        number(GRPC_ARG_MAX_CONNECTION_IDLE_MS, MRG_GRPC_IDLE_MS),
        /* grpc_inflate.c does it, within limits. */
        number(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
        number(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, listener->max_body),
        /* Larger than what grpc_head.c refuses with a sentence. */
        number(GRPC_ARG_MAX_METADATA_SIZE, atomic_load(&transport->max_headers) + MRG_MAX_METADATA),
        number(GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS),
        number(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_LATE),
        number(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        number(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, PING_LEAST_MS),
        number(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, HANDSHAKE_MS),
        number(GRPC_ARG_ENABLE_CHANNELZ, 0),
    };
    const grpc_channel_args all = {MRG_ARRAY_LEN(args), args};
    grpc_server *server = grpc_server_create(&all, NULL);
    for (size_t i = 0; i < MRG_GRPC_THREADS; i++)
        grpc_server_register_completion_queue(server, transport->queues[i].cq, NULL);
    return server;
}

/* The port, 0 when it cannot. */
static int listen_on(grpc_server *server, const struct addrinfo *info)
{
    _cleanup_free_ char *address = numeric(info);
    if (!address)
        return 0;
    grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
    int port = grpc_server_add_http2_port(server, address, credentials);
    grpc_server_credentials_release(credentials);
    return port;
}

/* ---- accepting ---- */

static void slot_free(struct slot *slot)
{
    struct rpc_listener *listener = slot->listener;
    grpc_call_details_destroy(&slot->arrival.details);
    grpc_metadata_array_destroy(&slot->arrival.metadata);
    free(slot);
    rpc_listener_unref(listener);
}

static void arm(struct slot *slot)
{
    slot->arrival.call = NULL;
    grpc_call_details_init(&slot->arrival.details);
    grpc_metadata_array_init(&slot->arrival.metadata);
    grpc_server *server = slot->listener->server;
    grpc_completion_queue *cq = slot->queue->cq;
    struct rpc_arrival *arrival = &slot->arrival;
    rpc_tag_give(&slot->tag);
    grpc_call_error refused = grpc_server_request_call(server, &arrival->call, &arrival->details,
                                                       &arrival->metadata, cq, cq, &slot->tag);
    if (refused != GRPC_CALL_OK)
        slot_free(slot);
}

/* Not ok: the server shuts down, and there will be no more. */
static void on_accept(struct rpc_tag *tag, bool ok)
{
    struct slot *slot = MRG_CONTAINER_OF(tag, struct slot, tag);
    if (!ok) {
        slot_free(slot);
        return;
    }
    struct rpc_listener *listener = slot->listener;
    struct rpc_queue *queue = slot->queue;
    struct rpc_arrival arrival = slot->arrival;
    rpc_listener_ref(listener);
    arm(slot);
    rpc_call_begin(listener, queue, &arrival);
    rpc_listener_unref(listener);
}

static void arm_all(struct rpc_listener *listener)
{
    unsigned armed = listener->door->session ? ARMED_SESSION : ARMED;
    for (size_t i = 0; i < MRG_GRPC_THREADS * armed; i++) {
        struct slot *slot = mrg_zalloc(sizeof(*slot));
        slot->tag.fn = on_accept;
        slot->listener = listener;
        slot->queue = &listener->transport->queues[i % MRG_GRPC_THREADS];
        rpc_listener_ref(listener);
        arm(slot);
    }
}

/* ---- life ---- */

static void discard(struct rpc_listener *listener)
{
    mrg_door_unref(listener->door);
    free(listener);
}

void rpc_listener_ref(struct rpc_listener *listener)
{
    atomic_fetch_add_explicit(&listener->refs, 1, memory_order_relaxed);
}

void rpc_listener_unref(struct rpc_listener *listener)
{
    struct rpc_transport *transport = listener->transport;
    if (atomic_fetch_sub_explicit(&listener->refs, 1, memory_order_acq_rel) != 1)
        return;
    /* Stop may go on, and join this thread, as soon as the listener is out of the list. */
    pthread_mutex_lock(&transport->lock);
    grpc_server *server = MRG_TAKE(listener->server);
    pthread_mutex_unlock(&transport->lock);
    grpc_server_destroy(server);
    pthread_mutex_lock(&transport->lock);
    mrg_list_remove(&listener->link);
    pthread_cond_broadcast(&transport->changed);
    pthread_mutex_unlock(&transport->lock);
    discard(listener);
}

static void on_down(struct rpc_tag *tag, bool ok)
{
    (void)ok;
    rpc_listener_unref(MRG_CONTAINER_OF(tag, struct rpc_listener, down));
}

void rpc_listener_shut(struct rpc_listener *listener)
{
    if (listener->closed)
        return;
    listener->closed = true;
    grpc_server *server = listener->server;
    grpc_completion_queue *cq = listener->transport->queues[0].cq;
    rpc_tag_give(&listener->down);
    grpc_server_shutdown_and_notify(server, cq, &listener->down);
}

/* A server that has no port: the library wants it shut down before it is destroyed. */
static void give_up(struct rpc_transport *transport, struct rpc_listener *listener)
{
    pthread_mutex_lock(&transport->lock);
    mrg_list_append(&transport->listeners, &listener->link);
    rpc_listener_shut(listener);
    pthread_mutex_unlock(&transport->lock);
}

static enum mrg_err bind_to(struct rpc_listener *listener, const char *host, bool bracketed,
                            const struct addrinfo *info, struct mrg_error *err)
{
    int port = listen_on(listener->server, info);
    if (port <= 0)
        return why_not(info, err);
    free(listener->door->address);
    listener->door->address = mrg_asprintf(bracketed ? "[%s]:%d" : "%s:%d", host, port);
    return MRG_ERR_OK;
}

enum mrg_err rpc_listener_open(struct rpc_transport *transport, const char *address, struct mrg_door *door,
                               struct rpc_listener **ret_listener, struct mrg_error *err)
{
    char host[MRG_MAX_HOST + 1];
    const char *port = NULL;
    bool bracketed = false;
    enum mrg_err code = parse(address, host, &port, &bracketed, err);
    if (code)
        return code;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host, port, &hints, &found);
    if (failed != 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "\"%s\" is no address of this machine: %s", host,
                             gai_strerror(failed));
    struct rpc_listener *listener = mrg_zalloc(sizeof(*listener));
    atomic_init(&listener->refs, 1);
    listener->transport = transport;
    listener->door = mrg_door_ref(door);
    listener->max_body = atomic_load(&transport->max_body);
    listener->down.fn = on_down;
    listener->server = make_server(listener);
    code = bind_to(listener, host, bracketed, choose(found), err);
    freeaddrinfo(found);
    if (code) {
        give_up(transport, listener);
        return code;
    }
    grpc_server_start(listener->server);
    arm_all(listener);
    *ret_listener = listener;
    return MRG_ERR_OK;
}
