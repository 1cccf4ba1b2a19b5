// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include "transports/zmq/zmq_int.h"
#include "util/clock.h"
#include "util/log.h"

#define RETRY_MS      5    /* how often replies that wait for room are tried */
#define STOP_MS       2000 /* at stop, for replies that wait for room, and before requests in flight are told */
#define LOOK_MS       1000 /* at stop, for reading what has come already, */
#define QUIET_MS      10   /* which is all when nothing came for so long */
#define CLOSE_MS      1000 /* a closed address still takes what its peers had sent */
#define TELL_EVERY_MS 10000u
#define KEPT_BYTES    (1u << 20) /* a buffer that has grown larger is given back */

/* What is polled in one round: the wake-up, then the sockets. */
struct round {
    zmq_pollitem_t *items;
    size_t room;
    size_t count;
};

bool zm_may_tell(struct zm_transport *transport)
{
    uint64_t now = mrg_clock_ms();
    if (transport->told_ms != 0 && now - transport->told_ms < TELL_EVERY_MS)
        return false;
    transport->told_ms = now;
    return true;
}

/* ---- commands ---- */

static void obey_open(struct zm_transport *transport, struct zm_command *command)
{
    struct zm_listener *listener;
    command->code = zm_listener_new(transport, command->address, command->door, &listener, &command->err);
    if (command->code == MRG_ERR_OK)
        mrg_list_append(&transport->listeners, &listener->link);
}

static void obey_close(struct zm_transport *transport, const struct mrg_door *door)
{
    struct zm_listener *listener;
    MRG_LIST_EACH (listener, &transport->listeners, link) {
        if (listener->door != door || listener->closing)
            continue;
        listener->closing = true;
        listener->close_ms = mrg_clock_ms() + CLOSE_MS;
    }
}

/* Whether there is, or soon comes, something to read. */
static bool has_more(const struct zm_listener *listener)
{
    zmq_pollitem_t item = {.socket = listener->socket, .events = ZMQ_POLLIN};
    return zmq_poll(&item, 1, QUIET_MS) > 0;
}

/* What callers have sent by now: the gateway refuses it, and nobody waits in vain. */
static void look_again(struct zm_transport *transport)
{
    struct zm_listener *listener;
    uint64_t until = mrg_clock_ms() + LOOK_MS;
    MRG_LIST_EACH (listener, &transport->listeners, link) {
        do
            zm_listener_read(listener);
        while (listener->in_flight < MRG_ZMQ_IN_FLIGHT && mrg_clock_ms() < until && has_more(listener));
    }
}

void zm_obey(struct zm_transport *transport, struct zm_command *command)
{
    switch (command->verb) {
    case ZM_OPEN:
        obey_open(transport, command);
        break;
    case ZM_CLOSE:
        obey_close(transport, command->door);
        break;
    case ZM_STOP:
        look_again(transport);
        transport->stopping = true;
        break;
    }
}

/* Tells the one that waits for it, or frees it. It may be gone afterwards. */
static void finish(struct zm_transport *transport, struct zm_command *command)
{
    if (command->verb == ZM_CLOSE) {
        mrg_door_unref(command->door);
        free(command);
        return;
    }
    pthread_mutex_lock(&transport->lock);
    command->done = true;
    pthread_cond_broadcast(&transport->changed);
    pthread_mutex_unlock(&transport->lock);
}

static void move_all(struct mrg_list *from, struct mrg_list *ret_to)
{
    mrg_list_init(ret_to);
    if (mrg_list_empty(from))
        return;
    *ret_to = *from;
    ret_to->next->prev = ret_to;
    ret_to->prev->next = ret_to;
    mrg_list_init(from);
}

static void take_wake(struct zm_transport *transport)
{
    struct mrg_list commands, done, *link;
    uint64_t count;
    while (read(transport->wake_fd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&transport->lock);
    transport->woken = false;
    move_all(&transport->commands, &commands);
    move_all(&transport->done, &done);
    pthread_mutex_unlock(&transport->lock);
    while ((link = mrg_list_pop(&done)))
        zm_go_on(MRG_CONTAINER_OF(link, struct zm_request, link));
    while ((link = mrg_list_pop(&commands))) {
        struct zm_command *command = MRG_CONTAINER_OF(link, struct zm_command, link);
        zm_obey(transport, command);
        finish(transport, command);
    }
}

/* ---- rounds ---- */

static void add_item(struct round *round, void *socket, int fd)
{
    mrg_grow((void **)&round->items, &round->room, round->count, sizeof(*round->items));
    round->items[round->count++] = (zmq_pollitem_t){.socket = socket, .fd = fd, .events = ZMQ_POLLIN};
}

/* How long there is nothing to do but to wait; -1: until woken. */
static long collect(struct zm_transport *transport, struct round *round)
{
    struct zm_listener *listener;
    long timeout = -1;
    round->count = 0;
    add_item(round, NULL, transport->wake_fd);
    MRG_LIST_EACH (listener, &transport->listeners, link) {
        listener->item = 0;
        /* One that is closing and had input in the last round is still to be reaped. */
        if (listener->waiting > 0 || (listener->closing && listener->in_flight == 0))
            timeout = RETRY_MS;
        if (transport->stopping || listener->in_flight >= MRG_ZMQ_IN_FLIGHT ||
            (listener->closing && mrg_clock_ms() >= listener->close_ms))
            continue;
        listener->item = round->count;
        add_item(round, listener->socket, 0);
    }
    return transport->stopping ? RETRY_MS : timeout;
}

static bool has_input(const struct zm_listener *listener, const struct round *round)
{
    return listener->item != 0 && (round->items[listener->item].revents & ZMQ_POLLIN) != 0;
}

/* New listeners may come meanwhile, but none goes. */
static void serve(struct zm_transport *transport, const struct round *round)
{
    struct zm_listener *listener;
    MRG_LIST_EACH (listener, &transport->listeners, link) {
        if (has_input(listener, round))
            zm_listener_read(listener);
        if (listener->waiting > 0)
            zm_send_waiting(listener, mrg_clock_ms());
    }
}

static void reap(struct zm_transport *transport, const struct round *round)
{
    struct zm_listener *listener;
    MRG_LIST_EACH (listener, &transport->listeners, link) {
        if (!listener->closing || listener->in_flight > 0 || listener->waiting > 0 ||
            has_input(listener, round))
            continue;
        mrg_list_remove(&listener->link);
        zm_listener_free(listener);
    }
}

static void give_back(struct mrg_buf *buf)
{
    if (buf->room > KEPT_BYTES) {
        mrg_buf_done(buf);
        mrg_buf_init(buf, SIZE_MAX);
    }
}

static void run_round(struct zm_transport *transport, struct round *round)
{
    long timeout = collect(transport, round);
    int ready = zmq_poll(round->items, (int)round->count, timeout);
    if (ready < 0) {
        MRG_ASSERT(zmq_errno() == EINTR);
        return;
    }
    if (round->items[0].revents)
        take_wake(transport);
    serve(transport, round);
    reap(transport, round);
    give_back(&transport->out.text);
    give_back(&transport->out.other);
}

/* ---- the end ---- */

static bool is_busy(const struct zm_transport *transport, bool patient)
{
    const struct zm_listener *listener;
    MRG_LIST_EACH (listener, &transport->listeners, link) {
        if (listener->in_flight > 0 || (patient && listener->waiting > 0))
            return true;
    }
    return false;
}

static void end(struct zm_transport *transport)
{
    struct mrg_list *link;
    while ((link = mrg_list_pop(&transport->listeners)))
        zm_listener_free(MRG_CONTAINER_OF(link, struct zm_listener, link));
    /* Waits for what is on its way, as long as the sockets linger. */
    while (zmq_ctx_term(transport->context) != 0 && zmq_errno() == EINTR)
        ;
}

void *zm_run(void *data)
{
    struct zm_transport *transport = data;
    struct round round = {0};
    while (!transport->stopping)
        run_round(transport, &round);
    uint64_t until = mrg_clock_ms() + STOP_MS;
    bool told = false;
    while (is_busy(transport, mrg_clock_ms() < until)) {
        run_round(transport, &round);
        if (!told && mrg_clock_ms() >= until && is_busy(transport, false)) {
            mrg_log(MRG_LOG_ERROR, "ZeroMQ: requests are not answered yet; stopping waits for them");
            told = true;
        }
    }
    end(transport);
    free(round.items);
    return NULL;
}
