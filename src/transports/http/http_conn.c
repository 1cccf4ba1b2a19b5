// SPDX-License-Identifier: Apache-2.0
#include "transports/http/http_int.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"

#define SWEEP_MS        250u /* how exact receive deadlines are */
#define LEFT_MS         500u /* how long a caller's end must have been seen outside of a whole request */
#define LINGER_SWEEP_MS 10u  /* while there are lingering ones */

/*
 * A connection that is closed while its caller still sends is reset by the kernel, and the reset may overtake
 * the reply that says why (413, say). So a copy of the descriptor stays here, and is read until the caller
 * has stopped, for a while.
 */
struct lingering {
    struct mrg_list link;
    int fd;
    uint64_t until_ms;
};

static void linger_free(struct http_transport *transport, struct lingering *lingering)
{
    mrg_list_remove(&lingering->link);
    transport->lingering_count--;
    close(lingering->fd);
    free(lingering);
}

/* Takes `most` bytes or a few more. False when the caller has stopped. */
static bool drain(int fd, size_t most)
{
    char junk[16384];
    for (size_t taken = 0; taken < most;) {
        ssize_t len = recv(fd, junk, sizeof(junk), MSG_DONTWAIT);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        if (len == 0)
            return false;
        taken += (size_t)len;
    }
    return true;
}

/*
 * Whether the caller has closed its side before its request was whole, or between requests, which the library
 * does not always notice. Only when that has lasted, so that a request whose last bytes came with the end is
 * not cut. A caller that waits for a reply is the watch's business, and one that is being sent one may have
 * closed its side rightly.
 */
static bool has_left(struct http_conn *conn, uint64_t now)
{
    struct pollfd one = {.fd = conn->fd, .events = POLLRDHUP};
    bool left = !atomic_load_explicit(&conn->busy, memory_order_relaxed) && poll(&one, 1, 0) == 1 &&
                (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    if (!left)
        conn->left_ms = 0;
    else if (conn->left_ms == 0)
        conn->left_ms = now;
    return left && now - conn->left_ms >= LEFT_MS;
}

static void on_sweep(struct mrg_timer *timer)
{
    struct http_transport *transport = MRG_CONTAINER_OF(timer, struct http_transport, sweep);
    uint64_t now = mrg_clock_ms();
    atomic_store_explicit(&transport->now_ms, now, memory_order_relaxed);
    pthread_mutex_lock(&transport->conn_lock);
    struct http_conn *conn;
    MRG_LIST_EACH (conn, &transport->conns, link) {
        uint64_t cut_ms = atomic_load_explicit(&conn->cut_ms, memory_order_relaxed);
        if ((cut_ms != 0 && cut_ms <= now) || has_left(conn, now)) {
            http_conn_cut_at(conn, 0);
            shutdown(conn->fd, SHUT_RDWR); /* the library sees the end and cleans up */
        }
    }
    struct lingering *lingering;
    size_t share = transport->lingering_count > 0 ? MRG_LINGER_BYTES / transport->lingering_count : 0;
    MRG_LIST_EACH (lingering, &transport->lingering, link) {
        if (lingering->until_ms <= now || !drain(lingering->fd, share))
            linger_free(transport, lingering);
    }
    transport->sweeping = !mrg_list_empty(&transport->conns) || !mrg_list_empty(&transport->lingering);
    if (transport->sweeping)
        mrg_watch_timer_set(transport->watch, timer,
                            now + (transport->lingering_count > 0 ? LINGER_SWEEP_MS : SWEEP_MS));
    pthread_mutex_unlock(&transport->conn_lock);
}

struct http_conn *http_conn_new(struct http_transport *transport, int fd)
{
    struct http_conn *conn = mrg_zalloc(sizeof(*conn));
    uint64_t now = mrg_clock_ms();
    conn->fd = fd;
    uint64_t deadline_ms = atomic_load_explicit(&transport->deadline_ms, memory_order_relaxed);
    /* for the first request line */
    atomic_init(&conn->cut_ms,
                now + (deadline_ms < MRG_RECEIVE_DEADLINE_MS ? deadline_ms : MRG_RECEIVE_DEADLINE_MS));
    pthread_mutex_lock(&transport->conn_lock);
    mrg_list_append(&transport->conns, &conn->link);
    if (!transport->sweeping) {
        transport->sweeping = true;
        atomic_store_explicit(&transport->now_ms, now, memory_order_relaxed);
        mrg_watch_timer_set(transport->watch, &transport->sweep, now + SWEEP_MS);
    }
    pthread_mutex_unlock(&transport->conn_lock);
    return conn;
}

static void linger(struct http_transport *transport, int fd)
{
    if (transport->lingering_count >= MRG_MAX_LINGERING)
        return;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return;
    struct lingering *lingering = mrg_zalloc(sizeof(*lingering));
    uint64_t now = mrg_clock_ms();
    lingering->fd = copy;
    lingering->until_ms = now + MRG_LINGER_MS;
    mrg_list_append(&transport->lingering, &lingering->link);
    transport->lingering_count++;
    transport->sweeping = true;
    mrg_watch_timer_set(transport->watch, &transport->sweep, now + LINGER_SWEEP_MS);
}

void http_conn_free(struct http_transport *transport, struct http_conn *conn)
{
    pthread_mutex_lock(&transport->conn_lock);
    mrg_list_remove(&conn->link);
    if (conn->linger)
        linger(transport, conn->fd);
    pthread_mutex_unlock(&transport->conn_lock);
    free(conn);
}

struct http_conn *http_conn_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void http_conns_init(struct http_transport *transport)
{
    pthread_mutex_init(&transport->conn_lock, NULL);
    mrg_list_init(&transport->conns);
    mrg_list_init(&transport->lingering);
    transport->sweep.fn = on_sweep;
    atomic_init(&transport->now_ms, mrg_clock_ms());
}

void http_conns_cut_receiving(struct http_transport *transport)
{
    struct http_conn *conn;
    pthread_mutex_lock(&transport->conn_lock);
    MRG_LIST_EACH (conn, &transport->conns, link) {
        if (atomic_load_explicit(&conn->receiving, memory_order_relaxed))
            shutdown(conn->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&transport->conn_lock);
}

void http_conns_done(struct http_transport *transport)
{
    mrg_watch_timer_clear(transport->watch, &transport->sweep);
    MRG_ASSERT(mrg_list_empty(&transport->conns));
    struct lingering *lingering;
    MRG_LIST_EACH (lingering, &transport->lingering, link)
        linger_free(transport, lingering);
    pthread_mutex_destroy(&transport->conn_lock);
}
