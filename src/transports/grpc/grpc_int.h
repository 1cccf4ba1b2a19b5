// SPDX-License-Identifier: Apache-2.0
/*
 * gRPC, private: what the files of this folder share. Nobody else includes this. Names begin with rpc_, because the library's
 * begin with grpc_.
 *
 *   grpc.c             the ops table; life: open, close, quiesce, stop
 *   grpc_listener.c    one server of the library for an address, and what it has armed to accept calls
 *   grpc_queue.c       completion queues, a thread each; calls that take too long to arrive or to leave
 *   grpc_find.c        what a method's path means at an address
 *   grpc_call.c        a call's life: state machine, message in, deadline, cancellation
 *   grpc_head.c        metadata in
 *   grpc_inflate.c     messages that came compressed
 *   grpc_metadata.c    metadata out: what may be sent, and how much of it
 *   grpc_render.c      replies and failures out
 *   grpc_cache.c       messages of replies that are sent again and again
 *   grpc_stream.c      what Watch and reflection share
 *   grpc_health.c      grpc.health.v1
 *   grpc_reflection.c  grpc.reflection.v1 and v1alpha
 *
 * Threads: a call belongs to the thread of its queue from its first event to its last. Others reach it by an empty batch (a
 * hop), for which a reference is put aside beforehand: `hop` of a call that waits for its reply, `wake` of a stream. The
 * library aborts when a batch is started on a queue that is shut down; queues are shut down when no listener is left, a
 * listener lives as long as its calls, and a call as long as a hop may come.
 *
 * Ownership: a listener is counted: one until its shutdown is complete, one for each armed accept, one for each call. A call
 * lies in the arena of its exchange; its references are its outstanding batches, counted on the queue's thread only.
 * While the gateway has the exchange, the arena is the gateway's: what is answered then (a deadline) touches the call's own
 * fields only. Locks: transport->lock; under it the library may be called, which never calls back.
 */
#pragma once

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/exchange.h"
#include "core/gateway.h"
#include "core/status.h"
#include "core/watch.h"
#include "transports/grpc/grpc.h"
#include "transports/grpc/grpc_cache.h"
#include "util/buf.h"
#include "util/list.h"
#include "wire/schema.h"

struct rpc_call;
struct rpc_listener;
struct rpc_tag;
struct rpc_transport;

/* What a completion queue hands back: called on the queue's thread, once for each batch. */
typedef void (*rpc_tag_fn)(struct rpc_tag *tag, bool ok);

struct rpc_tag {
    rpc_tag_fn fn;
    atomic_bool given; /* to the library */
};

/*
 * Each tag is given before it goes to the library and taken when it comes back. The library orders the two by itself; this
 * says so to whoever looks at the program without looking into the library (ThreadSanitizer).
 */
/* Read what the library needs before: the tag may come back at once, on another thread. */
static inline void rpc_tag_give(struct rpc_tag *tag)
{
    atomic_store_explicit(&tag->given, true, memory_order_release);
}

static inline void rpc_tag_take(struct rpc_tag *tag)
{
    MRG_ASSERT(atomic_load_explicit(&tag->given, memory_order_acquire));
}

/* ---- the transport ---- */

struct rpc_queue {
    grpc_completion_queue *cq;
    struct rpc_transport *transport;
    pthread_t thread;
    /* The queue's thread only */
    struct mrg_list timed;   /* calls that are received or sent, with their times */
    struct mrg_list watches; /* calls of Health.Watch */
    gpr_timespec look;       /* when these are looked through next */
    unsigned events;         /* since the clock was read */
    struct mrg_buf json;     /* scratch: a request's message */
    struct mrg_buf bytes;    /* scratch: a reply's message, or details */
    struct rpc_cache cache;
};

struct rpc_transport {
    struct mrg_transport base;
    struct mrg_gateway *gateway;
    struct mrg_watch *watch;
    /* Of the configuration, which may change. A call keeps what it began with, a listener its max_body. */
    atomic_size_t max_headers; /* limits.headers */
    atomic_size_t max_body;    /* limits.body */
    atomic_ullong deadline_ms; /* limits.deadline */
    atomic_bool reply_headers; /* mirage-source, mirage-session, mirage-error, mirage-http-status */
    atomic_bool quiet;         /* accepts nothing more; set under `lock` */

    pthread_mutex_t lock;      /* guards the rest */
    pthread_cond_t changed;    /* a listener was freed, or opened */
    bool running;              /* the library is initialised and the queues' threads run */
    unsigned opening;          /* threads that are opening a listener */
    struct mrg_list listeners; /* all that are not freed yet */
    struct mrg_list streams;   /* calls that end when the transport becomes quiet */
    struct rpc_queue queues[MRG_GRPC_THREADS];
};

/* ---- grpc_queue.c ---- */

/* Under the transport's lock: initialises the library and starts the threads, if that was not done. */
enum mrg_err rpc_queues_start(struct rpc_transport *transport, struct mrg_error *err);
/* No listener is left. Main thread; joins the threads. */
void rpc_queues_stop(struct rpc_transport *transport);
/* The queue's thread: cancels the call at that monotonic time unless it is cleared before. */
void rpc_queue_time(struct rpc_queue *queue, struct rpc_call *call, uint64_t cut_ms);
void rpc_queue_untime(struct rpc_call *call);

/* ---- grpc_listener.c ---- */

struct rpc_listener {
    struct mrg_list link; /* in transport->listeners */
    struct rpc_transport *transport;
    grpc_server *server;   /* NULL when it is being destroyed */
    struct mrg_door *door; /* a reference */
    size_t max_body;       /* limits.body when it was opened */
    atomic_uint refs;      /* see the top */
    atomic_uint calls;     /* of it, not freed yet */
    bool closed;           /* it shuts down; under the transport's lock */
    struct rpc_tag down;   /* the shutdown is complete */
};

/* Listens, sets door->address, arms. On failure nothing is left. Any thread. */
enum mrg_err rpc_listener_open(struct rpc_transport *transport, const char *address, struct mrg_door *door,
                               struct rpc_listener **ret_listener, struct mrg_error *err);
/* Under the transport's lock: accepts nothing more; what is in flight goes on. */
void rpc_listener_shut(struct rpc_listener *listener);
void rpc_listener_ref(struct rpc_listener *listener);
void rpc_listener_unref(struct rpc_listener *listener);

/* An accepted call, as the library gives it; whoever takes it frees its parts. */
struct rpc_arrival {
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
};

/* ---- grpc_find.c ---- */

enum rpc_kind {
    RPC_REFUSED,      /* answered at once */
    RPC_EXCHANGE,     /* the gateway's: a dependency's method, or a control verb */
    RPC_HEALTH_CHECK, /* answered by grpc_health.c */
    RPC_HEALTH_WATCH,
    RPC_REFLECTION,
};

/* What a path means at an address. */
struct rpc_target {
    enum rpc_kind kind;
    const struct mrg_method *method;   /* NULL when refused */
    const struct mrg_schema *schema;   /* the method's; lives as long as `dependency`, or for ever */
    struct mrg_dependency *dependency; /* a reference; NULL for what is built in */
    int status;                        /* refused with: enum mrg_grpc */
    char why[512];                     /* and the sentence */
};

void rpc_find(struct rpc_listener *listener, struct mrg_slice path, struct rpc_target *ret_target);

/* The dependencies that are reached at an address, with protos: references in a list that the caller frees with
 * rpc_served_done. */
struct rpc_served {
    struct mrg_dependency **items;
    size_t count;
    size_t room;
};
void rpc_served_init(struct rpc_served *served, struct rpc_listener *listener);
void rpc_served_done(struct rpc_served *served);
/* Calls fn with the full name of each service that is served there, built-in ones last, none twice, until it returns
 * false. */
typedef bool (*rpc_service_fn)(void *ctx, struct mrg_slice name);
void rpc_served_each(const struct rpc_served *served, rpc_service_fn fn, void *ctx);

/* ---- grpc_call.c ---- */

/*
 * The state of a call of kind RPC_EXCHANGE. Whoever moves it out of WAITING, by compare-and-swap, uses the reference that
 * was put aside for a hop.
 *
 *   RECEIVING → SUBMITTING → READY           delivered before submit returned: answered in the same event
 *                          → WAITING → READY      delivered later, by any thread: hops
 *                                    → GONE       the library says that the call was cancelled (queue's thread)
 *                                    → TIMED_OUT  limits.deadline passed (watch): hops
 */
enum rpc_state {
    RPC_RECEIVING,
    RPC_SUBMITTING,
    RPC_WAITING,
    RPC_READY,
    RPC_GONE,
    RPC_TIMED_OUT,
};

/* A metadata list under way: its slices belong to the call. */
struct rpc_metadata {
    grpc_metadata *items; /* in the arena, or `failure` */
    size_t count;
    size_t size; /* as HTTP/2 counts it: names, values, 32 bytes each, and what else stands in its block */
};

struct rpc_stream;

struct rpc_call {
    struct mrg_exchange *exchange; /* the adapter's reference; this lies in its arena */
    struct rpc_listener *listener; /* a reference */
    struct rpc_queue *queue;
    grpc_call *call;
    const struct mrg_method *method;
    const struct mrg_schema *schema; /* the method's */
    enum rpc_kind kind;
    atomic_int state;     /* enum rpc_state */
    uint64_t began_ms;    /* monotonic; when the head was in */
    uint64_t deadline_ms; /* limits.deadline when it began */
    bool shows;           /* reply_headers when it began */

    /* The queue's thread only */
    unsigned refs;   /* outstanding batches and hops put aside */
    bool closing;    /* `close` is started */
    bool over;       /* cancelled: nothing can be sent any more */
    bool armed;      /* the timer may be set */
    uint64_t cut_ms; /* while `timed` is linked */
    struct mrg_list timed;
    struct rpc_tag received;
    struct rpc_tag closed;
    struct rpc_tag sent;
    struct rpc_tag hop;
    grpc_byte_buffer *incoming; /* a message that was received */
    grpc_byte_buffer *outgoing; /* a message that is being sent */
    int cancelled;              /* set by the library before `closed` */
    struct rpc_metadata initial;
    struct rpc_metadata trailing;
    grpc_metadata failure;     /* initial metadata of a failure */
    struct rpc_stream *stream; /* of Watch and reflection */

    struct mrg_timer deadline; /* for the watch */
};

/* The queue's thread: a call begins. Takes the arrival's parts. */
void rpc_call_begin(struct rpc_listener *listener, struct rpc_queue *queue, struct rpc_arrival *arrival);
/* The queue's thread: one reference less; the last one frees the call. */
void rpc_call_unref(struct rpc_call *call);
/* Starts a batch that ends in `tag`, with a reference. False when the library refuses: the call is cancelled then. */
bool rpc_call_batch(struct rpc_call *call, const grpc_op *ops, size_t count, struct rpc_tag *tag);
/* Any thread, with a reference put aside for it: `hop.fn` is called on the queue's thread. */
void rpc_call_hop(struct rpc_call *call);
/* Starts the wait for the end of the call, unless that is done. */
void rpc_call_watch_close(struct rpc_call *call);
/* Starts receiving a message. */
void rpc_call_receive(struct rpc_call *call);
/* Sends what is left, and ends: initial metadata unless `begun`, the message unless NULL (taken), trailing metadata, status. `text`
 * is UTF-8. */
void rpc_call_finish(struct rpc_call *call, bool begun, grpc_byte_buffer *message, int status,
                     struct mrg_slice text);

/* The message as one run of bytes. Done with grpc_slice_unref of *ret_hold. */
struct mrg_slice rpc_message_bytes(grpc_byte_buffer *message, grpc_slice *ret_hold);
/* grpc_inflate.c: whether its bytes are deflate's or gzip's; appends what they stand for: TOO_LARGE past buf's maximum, INVALID. */
bool rpc_message_is_compressed(const grpc_byte_buffer *message);
enum mrg_err rpc_message_inflate(struct mrg_slice bytes, struct mrg_buf *buf, struct mrg_error *err);
grpc_byte_buffer *rpc_message_of(struct mrg_slice bytes);

/* ---- grpc_head.c ---- */

/* Fills the request's headers. 0, or the gRPC status to refuse with and a sentence why. */
int rpc_head_read(struct rpc_call *call, const grpc_metadata_array *metadata, char ret_why[256]);

/* ---- grpc_metadata.c ---- */

/* What a status and its message take of a block. */
size_t rpc_metadata_status_size(struct mrg_slice message);

/* Appends; the list has room. `value` is copied; what may not stand in metadata is percent-encoded. */
void rpc_metadata_add(struct rpc_metadata *list, const char *key, struct mrg_slice value);
/* The same for a -bin key. */
void rpc_metadata_add_bytes(struct rpc_metadata *list, const char *key, struct mrg_slice bytes);
/* Appends headers of a service: those with a name or a value that cannot be sent, the library's own and Mirage's are left out,
 * and so are those for which there is no room; -bin values are decoded from base64. The list has room for `count` more. */
void rpc_metadata_add_service(struct rpc_metadata *list, struct mrg_arena *arena,
                              const struct mrg_header *headers, size_t count);
void rpc_metadata_done(struct rpc_metadata *list);

/* ---- grpc_render.c ---- */

/* Answers with the exchange's reply. The queue's thread, after deliver. */
void rpc_answer(struct rpc_call *call);
/* A failure of the adapter's own; exchange and arena are not touched. */
void rpc_answer_failure(struct rpc_call *call, int status, const char *sentence);
/* exchange->fits of a call. */
enum mrg_err rpc_fits(const struct mrg_exchange *exchange, const struct mrg_reply *reply,
                      struct mrg_error *err);

/* ---- grpc_stream.c ---- */

struct rpc_stream_ops {
    /* A message has come; its bytes are valid during the call. */
    void (*message)(struct rpc_call *call, struct mrg_slice bytes);
    /* The caller will send no more messages. */
    void (*half_closed)(struct rpc_call *call);
    /* What was sent has left. */
    void (*sent)(struct rpc_call *call);
    /* The address closes: the last message, if there is one to send. NULL: none. */
    void (*closing)(struct rpc_call *call);
};

struct rpc_stream {
    const struct rpc_stream_ops *ops;
    struct rpc_call *call;
    bool woken;           /* the hop put aside is on its way; under the transport's lock */
    struct mrg_list link; /* in transport->streams; under its lock */
    /* The queue's thread only */
    bool listed;           /* `link` is linked, and the hop put aside is there */
    bool begun;            /* initial metadata has left */
    bool sending;          /* one message is on its way */
    bool ending;           /* the status is on its way, or will be after what is sent */
    int status;            /* to end with */
    const char *why;       /* static */
    struct mrg_list watch; /* in queue->watches */
    int shown;             /* Watch: the status that was sent last; 0: none */
    char *service;         /* Watch: what is watched, in the arena */
};

void rpc_stream_begin(struct rpc_call *call, const struct rpc_stream_ops *ops);
/* Sends one message; none may be on its way. */
void rpc_stream_send(struct rpc_call *call, struct mrg_slice bytes);
/* Ends it, after what is on its way. `why` is static. */
void rpc_stream_end(struct rpc_call *call, int status, const char *why);
/* The call is over, whoever ended it. */
void rpc_stream_closed(struct rpc_call *call);
/* Under the transport's lock: the streams at that address (NULL: all) end, soon. */
void rpc_streams_wake(struct rpc_transport *transport, const struct mrg_door *door);

/* ---- grpc_health.c ---- */

void rpc_health_check(struct rpc_call *call, struct mrg_slice bytes);
extern const struct rpc_stream_ops rpc_health_watch;
/* The queue's thread: tells a watcher when what it watches has changed. */
void rpc_health_look(struct rpc_call *call);

/* ---- grpc_reflection.c ---- */

extern const struct rpc_stream_ops rpc_reflection;
/* Appends the answer to a request, both as JSON of v1 and v1alpha alike. */
void rpc_reflection_answer(const struct rpc_served *served, struct mrg_slice request, struct mrg_buf *buf);
