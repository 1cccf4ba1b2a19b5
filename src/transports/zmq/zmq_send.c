// SPDX-License-Identifier: Apache-2.0
/*
 * A peer's queue has room for MRG_ZMQ_HWM replies, but the library learns only now and then how many of them
 * have left, so that a caller with some hundred requests outstanding may find it full although it reads. What
 * has no room therefore waits a moment, behind what waits for that peer already. It is dropped when the peer
 * does not read at all.
 */
#include <string.h>
#include <uthash.h>

#include "transports/zmq/zmq_int.h"
#include "util/clock.h"
#include "util/log.h"

#define MAX_FRAMES (MRG_ZMQ_MAX_FRAMES + 3u) /* a route, and what stands behind it */
#define RETRY_MS   2u                        /* at most so often */

enum sent { SENT, FULL, GONE };

/* A reply that waits. */
struct parcel {
    struct parcel *next;
    uint64_t since_ms;
    struct mrg_dependency_stats *stats; /* NULL: counted nowhere */
    size_t bytes;                       /* of all frames */
    unsigned count;                     /* of frames */
    zmq_msg_t frames[];
};

struct zm_peer {
    UT_hash_handle hh;
    struct parcel *first; /* never NULL */
    struct parcel *last;
    size_t id_len;
    unsigned char id[]; /* its routing id */
};

static void count_unreachable(struct mrg_dependency_stats *stats)
{
    if (stats)
        atomic_fetch_add_explicit(&stats->unreachable, 1, memory_order_relaxed);
    mrg_log(MRG_LOG_DEBUG, "ZeroMQ: a caller was gone before its reply");
}

static void count_dropped(struct zm_listener *listener, struct mrg_dependency_stats *stats)
{
    struct zm_transport *transport = listener->transport;
    transport->dropped++;
    if (stats)
        atomic_fetch_add_explicit(&stats->dropped, 1, memory_order_relaxed);
    if (zm_may_tell(transport))
        mrg_log(MRG_LOG_WARN, "ZeroMQ: a caller at %s does not read its replies; %llu dropped so far",
                listener->door->address, transport->dropped);
}

static void close_frames(zmq_msg_t *frames, unsigned count)
{
    while (count > 0)
        zmq_msg_close(&frames[--count]);
}

/* Only the first frame finds the peer gone or full; the library takes the others in any case. */
static enum sent put(void *socket, zmq_msg_t *frames, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0);
        while (zmq_msg_send(&frames[i], socket, flags) < 0) {
            int failed = zmq_errno();
            if (failed == EINTR)
                continue;
            MRG_ASSERT(i == 0);
            return failed == EAGAIN ? FULL : GONE;
        }
    }
    return SENT;
}

static size_t make_frames(zmq_msg_t *frames, const struct mrg_slice *slices, unsigned count)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        if (zmq_msg_init_size(&frames[i], slices[i].len) != 0)
            mrg_assert_failed("memory for a reply", __FILE__, __LINE__);
        if (slices[i].len > 0)
            memcpy(zmq_msg_data(&frames[i]), slices[i].ptr, slices[i].len);
        bytes += slices[i].len;
    }
    return bytes;
}

/* ---- what waits ---- */

static struct zm_peer *find_peer(struct zm_listener *listener, struct mrg_slice id)
{
    struct zm_peer *peer = NULL;
    if (listener->peers)
        HASH_FIND(hh, listener->peers, id.ptr, id.len, peer);
    return peer;
}

static struct zm_peer *new_peer(struct zm_listener *listener, struct mrg_slice id)
{
    struct zm_peer *peer = mrg_zalloc(sizeof(*peer) + id.len);
    peer->id_len = id.len;
    memcpy(peer->id, id.ptr, id.len);
    HASH_ADD_KEYPTR(hh, listener->peers, peer->id, peer->id_len, peer);
    return peer;
}

/* Takes the frames over. */
static void keep(struct zm_listener *listener, struct mrg_slice id, zmq_msg_t *frames, unsigned count,
                 size_t bytes, struct mrg_dependency_stats *stats)
{
    if (listener->waiting >= MRG_ZMQ_WAIT_COUNT || listener->waiting_bytes + bytes > MRG_ZMQ_WAIT_BYTES) {
        count_dropped(listener, stats);
        close_frames(frames, count);
        return;
    }
    struct parcel *parcel = mrg_zalloc(sizeof(*parcel) + count * sizeof(*frames));
    *parcel = (struct parcel){NULL, mrg_clock_ms(), stats, bytes, count};
    for (unsigned i = 0; i < count; i++) {
        zmq_msg_init(&parcel->frames[i]);
        zmq_msg_move(&parcel->frames[i], &frames[i]);
    }
    struct zm_peer *peer = find_peer(listener, id);
    if (!peer)
        peer = new_peer(listener, id);
    if (peer->last)
        peer->last->next = parcel;
    else
        peer->first = parcel;
    peer->last = parcel;
    listener->waiting++;
    listener->waiting_bytes += bytes;
}

/* Takes the first one off; its frames are sent or closed. */
static void pop(struct zm_listener *listener, struct zm_peer *peer)
{
    struct parcel *parcel = peer->first;
    peer->first = parcel->next;
    listener->waiting--;
    listener->waiting_bytes -= parcel->bytes;
    free(parcel);
}

static void drop_first(struct zm_listener *listener, struct zm_peer *peer)
{
    close_frames(peer->first->frames, peer->first->count);
    pop(listener, peer);
}

static void send_peer(struct zm_listener *listener, struct zm_peer *peer, uint64_t now_ms)
{
    while (peer->first) {
        struct parcel *parcel = peer->first;
        switch (put(listener->socket, parcel->frames, parcel->count)) {
        case SENT:
            pop(listener, peer);
            continue;
        case GONE:
            count_unreachable(parcel->stats);
            drop_first(listener, peer);
            continue;
        case FULL:
            break;
        }
        if (now_ms < parcel->since_ms + MRG_ZMQ_WAIT_MS)
            return;
        count_dropped(listener, parcel->stats);
        drop_first(listener, peer);
    }
}

void zm_send_waiting(struct zm_listener *listener, uint64_t now_ms)
{
    struct zm_peer *peer, *next;
    if (now_ms < listener->retried_ms + RETRY_MS)
        return;
    listener->retried_ms = now_ms;
    HASH_ITER (hh, listener->peers, peer, next) {
        send_peer(listener, peer, now_ms);
        if (peer->first)
            continue;
        HASH_DEL(listener->peers, peer);
        free(peer);
    }
}

void zm_send_done(struct zm_listener *listener)
{
    struct zm_peer *peer, *next;
    HASH_ITER (hh, listener->peers, peer, next) {
        while (peer->first) {
            count_dropped(listener, peer->first->stats);
            drop_first(listener, peer);
        }
        HASH_DEL(listener->peers, peer);
        free(peer);
    }
}

/* ---- sending ---- */

void zm_send(struct zm_listener *listener, const struct mrg_slice *route, unsigned route_count,
             const struct zm_out *out, struct mrg_dependency_stats *stats)
{
    zmq_msg_t frames[MAX_FRAMES];
    unsigned count = route_count + out->count;
    MRG_ASSERT(count <= MAX_FRAMES);
    size_t bytes = make_frames(frames, route, route_count);
    bytes += make_frames(frames + route_count, out->frames, out->count);
    enum sent sent = find_peer(listener, route[0]) ? FULL : put(listener->socket, frames, count);
    if (sent == FULL) {
        keep(listener, route[0], frames, count, bytes, stats);
    } else if (sent == GONE) {
        count_unreachable(stats);
        close_frames(frames, count);
    }
}
