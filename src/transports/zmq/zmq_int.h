// SPDX-License-Identifier: Apache-2.0
/*
 * ZeroMQ, private: what the files of this folder share. Nobody else includes this.
 *
 *   zmq.c            the ops table; commands to the actor
 *   zmq_actor.c      the thread that owns the sockets: commands, input, deliveries, the end
 *   zmq_listener.c   one ROUTER socket for an address
 *   zmq_frames.c     multipart messages in: limits, and where the route back ends
 *   zmq_send.c       multipart messages out, and those that wait for room
 *   zmq_request.c    a request's life: its format, submission, deadline, answer
 *   zmq_read.c       formats in: envelope, body, multipart
 *   zmq_render.c     formats out
 *   zmq_proto.c      format protobuf, in and out
 *
 * Ownership: listeners, sockets and all that is not said to be shared belong to the actor. A request lies in
 * the arena of its exchange; another thread moves its state by compare-and-swap and, when that made it
 * answerable, hands it back through transport->done. A listener is freed when it is closing and has no
 * request in flight. Lock: transport->lock alone; nothing is called under it.
 *
 * The names begin with zm_ because zmq_ is the library's.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <zmq.h>

#include "core/exchange.h"
#include "core/gateway.h"
#include "core/limits.h"
#include "core/watch.h"
#include "transports/zmq/zmq.h"
#include "util/buf.h"
#include "util/list.h"

#define ZM_LINGER_MS 2000 /* for replies to leave when a socket closes */

/* ---- the transport ---- */

enum zm_verb {
    ZM_OPEN,  /* waits for its result */
    ZM_CLOSE, /* does not wait; the actor frees it */
    ZM_STOP,  /* does not wait; stop joins the thread */
};

/* What other threads want of the actor. */
struct zm_command {
    struct mrg_list link; /* in transport->commands */
    enum zm_verb verb;
    const char *address;   /* of ZM_OPEN */
    struct mrg_door *door; /* of ZM_OPEN, borrowed; of ZM_CLOSE, a reference */
    enum mrg_err code;     /* what came of it */
    struct mrg_error err;  /* and why */
    bool done;             /* under transport->lock */
};

/* The frames behind the route back, of one reply. */
struct zm_out {
    struct mrg_slice frames[3]; /* valid until the next reply is made */
    unsigned count;             /* of frames */
    struct mrg_buf text;        /* what is made for it: an envelope, headers, a message */
    struct mrg_buf other;       /* likewise, where there are two */
    struct mrg_buf error;       /* the body of a failure of the adapter's own */
};

struct zm_transport {
    struct mrg_transport base;
    struct mrg_gateway *gateway; /* exchanges go there */
    struct mrg_watch *watch;     /* deadlines */
    /* Of the configuration, which may change. A request keeps what it began with. */
    atomic_size_t max_headers; /* limits.headers */
    atomic_size_t max_body;    /* limits.body */
    atomic_ullong deadline_ms; /* limits.deadline */
    atomic_bool reply_headers; /* mirage-source, mirage-session, mirage-error */

    pthread_mutex_t lock;     /* guards the nine below */
    pthread_cond_t changed;   /* a command is done */
    struct mrg_list commands; /* in the order given */
    struct mrg_list done;     /* requests that another thread made answerable */
    bool woken;               /* wake_fd is readable, or the actor is about to look */
    bool running;             /* there is an actor, and a context */
    bool quiet;               /* opens nothing more */
    unsigned callers;         /* threads that wait for a command */
    int wake_fd;              /* an eventfd that the actor polls; -1 before it runs */
    pthread_t actor;          /* while running */
    size_t frame_limit;       /* the library's limit of a frame, of the socket that opened first */

    /* ---- the actor's ---- */
    void *context;              /* made before the actor starts, ended by it */
    struct mrg_list listeners;  /* all that are not freed yet */
    struct zm_out out;          /* for the reply that is being sent */
    bool stopping;              /* takes no more input, and ends when nothing is in flight */
    unsigned long long refused; /* messages that were no request */
    unsigned long long dropped; /* replies given up: their peer did not read */
    uint64_t told_ms;           /* when a loss was last logged */
};

/* zmq.c: hands a request back to the actor. Any thread. */
struct zm_request;
void zm_hand_back(struct zm_transport *transport, struct zm_request *request);

/* zmq_actor.c: the thread's function; carries out one command, on that thread. */
void *zm_run(void *data);
void zm_obey(struct zm_transport *transport, struct zm_command *command);
/* True when a loss may be logged: once in some seconds. */
bool zm_may_tell(struct zm_transport *transport);

/* ---- listeners ---- */

struct zm_peer; /* one that has replies waiting; zmq_send.c */

struct zm_listener {
    struct mrg_list link;           /* in transport->listeners */
    struct zm_transport *transport; /* its owner */
    void *socket;                   /* a ROUTER */
    struct mrg_door *door;          /* a reference */
    char *file;                 /* the socket of an ipc endpoint, which is removed at the end; NULL: none */
    ino_t inode;                /* of it: another may have been put in its place */
    enum mrg_zmq_format format; /* its dependency's, when last seen */
    unsigned in_flight;         /* requests submitted and not answered */
    bool closing;               /* freed when nothing is in flight */
    size_t item;                /* its place among what is polled in this round; 0: none */
    uint64_t close_ms;          /* takes no more input after that, while closing */
    struct zm_peer *peers;      /* with replies that wait for room, by routing id */
    size_t waiting;             /* how many replies */
    size_t waiting_bytes;       /* of how many bytes */
    uint64_t retried_ms;        /* when they were last tried */
};

/* zmq_listener.c. */
size_t zm_frame_limit(const struct zm_transport *transport); /* for the library, of sockets that open now */
/* On failure nothing is left. */
enum mrg_err zm_listener_new(struct zm_transport *transport, const char *address, struct mrg_door *door,
                             struct zm_listener **ret_listener, struct mrg_error *err);
void zm_listener_free(struct zm_listener *listener);
/* Reads a bounded number of messages. */
void zm_listener_read(struct zm_listener *listener);

/* ---- messages in ---- */

struct zm_message {
    zmq_msg_t frames[MRG_ZMQ_MAX_FRAMES];
    unsigned count;    /* of frames that are kept */
    unsigned received; /* frames that it had */
    size_t bytes;      /* of all frames */
};

/* zmq_frames.c: the next message, whole; false when there is none. The caller ends it with zm_message_done. */
bool zm_receive(void *socket, struct zm_message *ret_message);
void zm_message_done(struct zm_message *message);
struct mrg_slice zm_frame(struct zm_message *message, unsigned at);
/*
 * Frames of the route back: through the first empty one; without one all but the last, which is the body. Of
 * multipart messages: through the first empty one or up to the first that is a request line, whichever comes
 * first, because headers and body may be empty; frame 0 when there is neither.
 */
unsigned zm_route_len(struct zm_message *message, enum mrg_zmq_format format);
/* Whether a frame is METHOD, a blank, and a path. */
bool zm_is_line(struct mrg_slice frame);

/* ---- requests ---- */

/*
 * Whoever moves a request out of WAITING, by compare-and-swap, hands it back to the actor.
 *
 *   SUBMITTING → READY              delivered before submit returned
 *              → WAITING → READY    delivered later, by any thread
 *                        → LATE     the deadline passed (watch)
 */
enum zm_state { ZM_SUBMITTING, ZM_WAITING, ZM_READY, ZM_LATE };

struct zm_request {
    struct mrg_list link;          /* in transport->done */
    struct mrg_exchange *exchange; /* the adapter's reference; this lies in its arena */
    struct zm_listener *listener;
    atomic_int state;                /* enum zm_state */
    enum mrg_zmq_format format;      /* what its messages look like */
    struct mrg_slice *route;         /* frames that lead back to the caller */
    unsigned route_count;            /* of route */
    struct mrg_slice id;             /* the envelope's; ptr NULL: none */
    size_t max_headers;              /* limits.headers when it began */
    uint64_t deadline_ms;            /* limits.deadline when it began */
    bool shows;                      /* reply_headers when it began */
    bool armed;                      /* the timer may be set */
    const struct mrg_method *method; /* of format protobuf */
    struct mrg_timer deadline;
};

/* Why a message is no request; `why` is in the exchange's arena. */
struct zm_refusal {
    int status; /* 0: it is one */
    const char *why;
};

/* zmq_request.c: a message in; a request that was handed back. */
void zm_take(struct zm_listener *listener, struct zm_message *message);
void zm_go_on(struct zm_request *request);
int zm_refuse(struct zm_request *request, struct zm_refusal *refusal, int status, const char *format, ...)
    MRG_PRINTF(4, 5);

/* zmq_read.c: fill exchange->request from the frames behind the route. 0, or the refusal's status. */
int zm_read_envelope(struct zm_request *request, struct mrg_slice frame, struct zm_refusal *refusal);
int zm_read_body(struct zm_request *request, struct mrg_slice frame, struct zm_refusal *refusal);
int zm_read_multipart(struct zm_request *request, const struct mrg_slice *frames, unsigned count,
                      struct zm_refusal *refusal);
/* METHOD and path of a request line, in the arena. */
int zm_read_line(struct zm_request *request, struct mrg_slice line, struct zm_refusal *refusal);

/* ---- replies ---- */

/* zmq_render.c: the frames of a reply, which stay valid until the next one is made. `reply` may be of the
 * adapter's own; `arena` is NULL when it may not be used. */
void zm_render(const struct zm_request *request, const struct mrg_reply *reply, struct mrg_arena *arena,
               struct zm_out *out);
/* The same for a failure of the adapter's own, without touching exchange->reply and the arena. */
void zm_render_failure(const struct zm_request *request, int status, const char *sentence,
                       struct zm_out *out);

/* zmq_proto.c */
int zm_read_proto(struct zm_request *request, struct mrg_slice frame, struct zm_refusal *refusal);
void zm_render_proto(const struct zm_request *request, const struct mrg_reply *reply, struct mrg_arena *arena,
                     struct zm_out *out);

/* zmq_send.c: sends the frames; what has no room at its peer waits for some seconds, then is dropped and
 * counted. `stats` may be NULL. */
void zm_send(struct zm_listener *listener, const struct mrg_slice *route, unsigned route_count,
             const struct zm_out *out, struct mrg_dependency_stats *stats);
/* Tries again what waits. */
void zm_send_waiting(struct zm_listener *listener, uint64_t now_ms);
/* Drops what waits: the socket closes. */
void zm_send_done(struct zm_listener *listener);
