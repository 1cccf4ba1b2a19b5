// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <zmq.h>

#include "clients/client_int.h"
#include "core/limits.h"
#include "util/clock.h"
#include "wire/envelope.h"

#define EVENTS                                                                                               \
    (ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |                    \
     ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |                            \
     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_CONNECTED)

/*
 * A socket says nothing of whether anybody is there: its monitor does. After a failure the socket is thrown
 * away, and with it whatever may still come for the call that failed.
 */
struct zmq_client {
    struct mrg_client base;
    void *context;
    void *socket;        /* DEALER; NULL: made at the next call */
    void *monitor;       /* its events */
    unsigned monitors;   /* made so far: each has a name */
    bool ready;          /* the handshake is done */
    bool connected;      /* at least the peer's system has answered */
    char *endpoint;      /* "tcp://host:port" */
    char *dependency;    /* or NULL */
    uint64_t timeout_ms; /* or 0 */
};

/*
 * A closed socket lives on in the library's threads and goes on telling its monitor, whose end would be closed: a PAIR without
 * a peer blocks its sender, and that is the thread which all of the context's connections share. So the monitor ends first.
 */
static void drop_socket(struct zmq_client *client)
{
    if (client->socket && client->monitor)
        zmq_socket_monitor(client->socket, NULL, 0);
    if (client->socket)
        zmq_close(client->socket);
    if (client->monitor)
        zmq_close(client->monitor);
    client->socket = client->monitor = NULL;
    client->ready = client->connected = false;
}

static enum mrg_err open_monitor(struct zmq_client *client)
{
    char name[32];
    int linger = 0;
    snprintf(name, sizeof(name), "inproc://monitor-%u", client->monitors++);
    if (zmq_socket_monitor(client->socket, name, EVENTS) != 0)
        return MRG_ERR_INTERNAL;
    client->monitor = zmq_socket(client->context, ZMQ_PAIR);
    if (!client->monitor || zmq_connect(client->monitor, name) != 0)
        return MRG_ERR_INTERNAL;
    zmq_setsockopt(client->monitor, ZMQ_LINGER, &linger, sizeof(linger));
    return MRG_ERR_OK;
}

static enum mrg_err open_socket(struct zmq_client *client, struct mrg_error *err)
{
    if (client->socket)
        return MRG_ERR_OK;
    int linger = 0;
    int ipv6 = client->endpoint[strlen("tcp://")] == '[';
    int64_t max = MRG_MAX_CALL_ENVELOPE;
    client->socket = zmq_socket(client->context, ZMQ_DEALER);
    if (!client->socket)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "no ZeroMQ socket: %s", zmq_strerror(errno));
    zmq_setsockopt(client->socket, ZMQ_LINGER, &linger, sizeof(linger));
    zmq_setsockopt(client->socket, ZMQ_IPV6, &ipv6, sizeof(ipv6));
    zmq_setsockopt(client->socket, ZMQ_MAXMSGSIZE, &max, sizeof(max));
    if (open_monitor(client) == MRG_ERR_OK && zmq_connect(client->socket, client->endpoint) == 0)
        return MRG_ERR_OK;
    int number = errno;
    drop_socket(client);
    return mrg_error_set(err, number == EINVAL ? MRG_ERR_INVALID : MRG_ERR_UNAVAILABLE, "%s: %s",
                         client->endpoint, zmq_strerror(number));
}

/* The number of the monitor's next event; 0: none is there. */
static unsigned next_event(struct zmq_client *client)
{
    unsigned event = 0;
    int more = 1;
    for (bool first = true; more; first = false) {
        zmq_msg_t part;
        size_t size = sizeof(more);
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, client->monitor, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&part);
            return event;
        }
        if (first && zmq_msg_size(&part) >= 2) {
            uint16_t number;
            memcpy(&number, zmq_msg_data(&part), sizeof(number));
            event = number;
        }
        zmq_msg_close(&part);
        zmq_getsockopt(client->monitor, ZMQ_RCVMORE, &more, &size);
    }
    return event;
}

/* Takes what the monitor has to say. */
static enum mrg_err take_events(struct zmq_client *client, struct mrg_error *err)
{
    unsigned event;
    while ((event = next_event(client)) != 0) {
        if (event == ZMQ_EVENT_CONNECTED)
            client->connected = true;
        else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
            client->ready = true;
        else if (client->ready)
            return mrg_error_set(err, MRG_ERR_IO, "%s: the peer closed the connection before it replied",
                                 client->endpoint);
        else if (client->connected)
            return mrg_error_set(err, MRG_ERR_UNAVAILABLE, "%s: the peer does not speak ZeroMQ",
                                 client->endpoint);
        else
            return mrg_error_set(err, MRG_ERR_UNAVAILABLE, "%s: nobody is there", client->endpoint);
    }
    return MRG_ERR_OK;
}

static enum mrg_err past_time(const struct zmq_client *client, struct mrg_error *err)
{
    if (!client->connected)
        return mrg_error_set(err, MRG_ERR_UNAVAILABLE, "%s: no connection in time", client->endpoint);
    if (!client->ready)
        return mrg_error_set(err, MRG_ERR_UNAVAILABLE, "%s: the peer does not speak ZeroMQ, or not in time",
                             client->endpoint);
    return mrg_error_set(err, MRG_ERR_TIMEOUT, "%s: no reply in time", client->endpoint);
}

/* Waits for the handshake, or with `reply` for a message; both as long as the time is not up. */
static enum mrg_err await(struct zmq_client *client, bool reply, uint64_t until_ms, struct mrg_error *err)
{
    for (;;) {
        zmq_pollitem_t items[] = {{client->monitor, 0, ZMQ_POLLIN, 0}, {client->socket, 0, ZMQ_POLLIN, 0}};
        uint64_t left = mrg_client_left(until_ms);
        int count = zmq_poll(items, reply ? 2 : 1, left < INT32_MAX ? (long)left : INT32_MAX);
        if (count < 0 && errno != EINTR)
            return mrg_error_set(err, MRG_ERR_INTERNAL, "waiting on %s: %s", client->endpoint,
                                 zmq_strerror(errno));
        if (reply && count > 0 && items[1].revents)
            return MRG_ERR_OK;
        struct mrg_error gone;
        enum mrg_err code = take_events(client, &gone);
        if (code) {
            /* What came before the peer went is still there. */
            if (reply && zmq_poll(&items[1], 1, 0) > 0)
                return MRG_ERR_OK;
            return mrg_error_set(err, code, "%s", gone.message);
        }
        if (!reply && client->ready)
            return MRG_ERR_OK;
        if (left == 0)
            return past_time(client, err);
    }
}

/* What a peer sent without being asked. */
static void drain(struct zmq_client *client)
{
    zmq_msg_t part;
    zmq_msg_init(&part);
    while (zmq_msg_recv(&part, client->socket, ZMQ_DONTWAIT) >= 0)
        ;
    zmq_msg_close(&part);
}

/* Behind an empty frame, if there is one, exactly one more: into the arena. */
static enum mrg_err receive(struct zmq_client *client, struct mrg_arena *arena, struct mrg_slice *ret_text,
                            struct mrg_error *err)
{
    size_t frames = 0;
    bool delimiter = false, more = true;
    struct mrg_slice text = {"", 0};
    while (more) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, client->socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&part);
            return mrg_error_set(err, MRG_ERR_IO, "%s: %s", client->endpoint, zmq_strerror(errno));
        }
        size_t len = zmq_msg_size(&part);
        if (frames++ == 0 && len == 0)
            delimiter = true;
        else if (frames <= 2)
            text = (struct mrg_slice){mrg_arena_memdup(arena, zmq_msg_data(&part), len), len};
        more = zmq_msg_more(&part);
        zmq_msg_close(&part);
    }
    frames -= delimiter;
    if (frames != 1)
        return mrg_error_set(err, MRG_ERR_IO, "%s: the reply has %zu frames; expected one, an envelope",
                             client->endpoint, frames);
    *ret_text = text;
    return MRG_ERR_OK;
}

/* The request's headers without those of other wires; the session's name apart. */
static enum mrg_err make_envelope(const struct zmq_client *client, const struct mrg_request *request,
                                  struct mrg_arena *arena, struct mrg_buf *buf, struct mrg_error *err)
{
    struct mrg_header_list list = {0};
    struct mrg_request own = *request;
    struct mrg_envelope envelope = {.id = {NULL, 0}, .dependency = {NULL, 0}, .session = {NULL, 0}};
    if (client->dependency)
        envelope.dependency = mrg_slice_of(client->dependency);
    for (size_t i = 0; i < request->header_count; i++) {
        const struct mrg_header *header = &request->headers[i];
        enum mrg_err code = mrg_client_check_header(header, err);
        if (code)
            return code;
        if (mrg_slice_eq_str(header->name, "mirage-session"))
            envelope.session = header->value;
        else if (!mrg_client_drops(header->name))
            mrg_header_list_add(&list, arena, header->name, header->value);
    }
    own.headers = list.items;
    own.header_count = list.count;
    mrg_envelope_append_request(buf, &envelope, &own);
    return MRG_ERR_OK;
}

static enum mrg_err send_text(struct zmq_client *client, struct mrg_slice text, struct mrg_error *err)
{
    drain(client);
    if (zmq_send(client->socket, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) == 0 &&
        zmq_send(client->socket, text.ptr, text.len, ZMQ_DONTWAIT) >= 0)
        return MRG_ERR_OK;
    return mrg_error_set(err, MRG_ERR_IO, "%s: %s", client->endpoint, zmq_strerror(errno));
}

static enum mrg_err exchange(struct zmq_client *client, struct mrg_slice request, struct mrg_arena *arena,
                             struct mrg_slice *ret_text, uint64_t *ret_us, struct mrg_error *err)
{
    uint64_t until = mrg_client_until(client->timeout_ms);
    enum mrg_err code = open_socket(client, err);
    if (!code)
        code = take_events(client, err);
    /* It was closed since the last call: once more from the beginning. */
    if (code && client->socket) {
        drop_socket(client);
        code = open_socket(client, err);
    }
    if (!code && !client->ready)
        code = await(client, false, until, err);
    uint64_t begun = mrg_clock_us();
    if (!code)
        code = send_text(client, request, err);
    if (!code)
        code = await(client, true, until, err);
    if (!code)
        code = receive(client, arena, ret_text, err);
    *ret_us = mrg_clock_us() - begun;
    if (code)
        drop_socket(client);
    return code;
}

static enum mrg_err zmq_call(struct mrg_client *base, const struct mrg_request *request,
                             struct mrg_arena *arena, struct mrg_client_reply *ret_reply,
                             struct mrg_error *err)
{
    struct zmq_client *client = (struct zmq_client *)base;
    struct mrg_client_reply whole = {0};
    struct mrg_slice id, text = {NULL, 0};
    struct mrg_error own;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    enum mrg_err code = make_envelope(client, request, arena, &buf, err);
    if (!code)
        code = exchange(client, mrg_buf_slice(&buf), arena, &text, &whole.duration_us, err);
    mrg_buf_done(&buf);
    if (code)
        return code;
    if (mrg_envelope_read_reply(arena, text, &id, &whole.reply, &own) != MRG_ERR_OK)
        return mrg_error_set(err, MRG_ERR_IO, "%s: the reply is no envelope: %s", client->endpoint,
                             own.message);
    *ret_reply = whole;
    return MRG_ERR_OK;
}

static enum mrg_err zmq_open(const struct mrg_target *target, const struct mrg_client_options *options,
                             struct mrg_client **ret_client, struct mrg_error *err)
{
    void *context = zmq_ctx_new();
    if (!context)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "no ZeroMQ context: %s", zmq_strerror(errno));
    struct zmq_client *client = mrg_zalloc(sizeof(*client));
    client->base.ops = &mrg_client_zmq;
    client->context = context;
    client->endpoint = mrg_asprintf("%s://%.*s", target->scheme.ptr + strlen("zmq+"),
                                    (int)target->address.len, target->address.ptr);
    client->dependency = options->dependency ? mrg_strdup(options->dependency) : NULL;
    client->timeout_ms = options->timeout_ms;
    *ret_client = &client->base;
    return MRG_ERR_OK;
}

static void zmq_close_client(struct mrg_client *base)
{
    struct zmq_client *client = (struct zmq_client *)base;
    drop_socket(client);
    zmq_ctx_term(client->context);
    free(client->endpoint);
    free(client->dependency);
    free(client);
}

const struct mrg_client_ops mrg_client_zmq = {zmq_open, zmq_call, zmq_close_client};
