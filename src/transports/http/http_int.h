// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP, private: what the files of this folder share. Nobody else includes this.
 *
 *   http.c           the ops table; listeners' life: open, close, quiesce, stop, and the reaper
 *   http_listener.c  one daemon of the library for an address, and its callbacks
 *   http_conn.c      connections: receive deadlines, lingering closes
 *   http_request.c   a request's life: state machine, body, suspension, deadline, hang-up
 *   http_head.c      request line and headers: checks, and into the normal form
 *   http_render.c    replies and failures out
 *
 * Ownership: a listener is counted: one for being open, one for each request from its first line to its
 * completion, one for a thread that is resuming a connection; the reaper stops the daemon when the count is
 * 0. A request lies in the arena of its exchange and is gone with it. Locks: transport->lock and
 * transport->conn_lock, never both; the watch's own lock may be taken under conn_lock.
 *
 * What the library hides (tests pin it): a folded header line (obs-fold) is joined to the name of the header
 * before it, a NUL ends a value, a line that begins with a colon ends the head. http_head.c refuses these by
 * the gaps that they leave. Trailers are dropped. What the library answers itself, with its own body and
 * without mirage-error, and closes: a header line without a colon, a Content-Length that is no plain number
 * (blanks at its end included) or a malformed chunk (400), a version that is not HTTP/1.x (400, 505), and
 * headers that fill its memory pool (431, 414), which is 8 KiB larger than limits.headers. A request line
 * without a target it closes without a word.
 */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/limits.h"
#include "core/exchange.h"
#include "core/gateway.h"
#include "core/watch.h"
#include "transports/http/http.h"
#include "transports/http/http_cache.h"
#include "util/buf.h"
#include "util/list.h"

/* ---- the transport ---- */

struct http_transport {
    struct mrg_transport base;
    struct mrg_gateway *gateway;
    struct mrg_watch *watch;
    unsigned max_connections; /* of one listener */
    bool knows_layout;        /* the library is the version whose buffer http_head.c can judge */
    bool quiet;               /* accepts nothing more; under `lock` */
    /* Of the configuration, which may change. A request keeps what it began with, a listener `max_headers`. */
    atomic_size_t max_headers; /* limits.headers */
    atomic_size_t max_body;    /* limits.body */
    atomic_ullong deadline_ms; /* limits.deadline */
    atomic_bool reply_headers; /* mirage-source, mirage-session, mirage-error */

    pthread_mutex_t lock;      /* guards the four below, and listeners' `idle` and `forced` */
    pthread_cond_t changed;    /* a listener became idle, or was freed; or stopping */
    struct mrg_list listeners; /* all that are not freed yet */
    unsigned opening;          /* threads that are opening a listener */
    bool stopping;
    pthread_t reaper;

    pthread_mutex_t conn_lock; /* guards the four below */
    struct mrg_list conns;
    struct mrg_list lingering;
    size_t lingering_count;
    bool sweeping; /* the timer is set, or its function runs */
    struct mrg_timer sweep;
    atomic_ullong now_ms; /* monotonic, at the latest sweep: cheap and up to a quarter second old */
};

/* ---- listeners ---- */

struct http_listener {
    struct mrg_list link; /* in transport->listeners */
    struct http_transport *transport;
    struct MHD_Daemon *daemon;
    struct mrg_door *door;   /* a reference */
    struct http_cache cache; /* replies that are sent again and again */
    int fd;                  /* the listening socket */
    size_t max_headers;      /* limits.headers when it was opened */
    size_t pool_size;        /* bytes of a connection's memory pool: the request's head and the reply's */
    atomic_uint refs;        /* see the top */
    atomic_bool closing;     /* accepts nothing more; replies close their connections */
    atomic_int waiting;      /* connections that are suspended, or are being resumed */
    bool closed;             /* the reference for being open is gone */
    bool idle;               /* no reference is left */
    bool forced;             /* stop frees it, not the reaper */
};

/* http.c */
bool http_listener_ref(struct http_listener *listener); /* false when it is idle for good */
void http_listener_unref(struct http_listener *listener);

/* http_listener.c. `start` listens, sets door->address and starts the daemon; `hush` accepts nothing more,
 * at once; `stop` ends the daemon's threads: no connection may be suspended. The free is the caller's. */
enum mrg_err http_listener_start(struct http_listener *listener, const char *address, struct mrg_error *err);
void http_listener_hush(struct http_listener *listener);
void http_listener_stop(struct http_listener *listener);

/* ---- connections ---- */

struct http_conn {
    struct mrg_list link;         /* in transport->conns */
    int fd;                       /* the library's; open as long as this is in the list */
    atomic_ullong cut_ms;         /* shut down when the clock passes it; 0: never */
    atomic_bool receiving;        /* a request has begun and is not submitted yet */
    atomic_bool busy;             /* a request is submitted and its reply not yet sent */
    uint64_t left_ms;             /* when the caller's end was first seen; 0: not. The sweep only */
    struct http_request *request; /* between its first line and its completion. The daemon's thread only */
    bool linger; /* the caller may still be sending when we close. The daemon's thread only */
};

/* http_conn.c. Daemon's thread, but for those without a conn. */
struct http_conn *http_conn_new(struct http_transport *transport, int fd);
void http_conn_free(struct http_transport *transport, struct http_conn *conn);
struct http_conn *http_conn_of(struct MHD_Connection *connection);
static inline void http_conn_cut_at(struct http_conn *conn, uint64_t cut_ms)
{
    atomic_store_explicit(&conn->cut_ms, cut_ms, memory_order_relaxed);
}
static inline uint64_t http_now_ms(const struct http_transport *transport)
{
    return atomic_load_explicit(&transport->now_ms, memory_order_relaxed);
}
void http_conns_init(struct http_transport *transport);
/* Stopping: what is not submitted yet never will be. */
void http_conns_cut_receiving(struct http_transport *transport);
void http_conns_done(struct http_transport *transport); /* no daemon runs any more */

/* ---- requests ---- */

/*
 * Whoever moves a request out of SUSPENDED, by compare-and-swap, resumes its connection; everybody else
 * leaves it alone.
 *
 *   RECEIVING → SUBMITTING → READY           delivered before submit returned: answered in the same call
 *                          → SUSPENDED → READY      delivered later, by any thread
 *                                      → GONE       the caller hung up (watch)
 *                                      → TIMED_OUT  the deadline passed (watch)
 */
enum http_state {
    HTTP_RECEIVING,
    HTTP_SUBMITTING,
    HTTP_SUSPENDED,
    HTTP_READY,
    HTTP_GONE,
    HTTP_TIMED_OUT,
};

struct http_request {
    struct mrg_exchange *exchange;     /* the adapter's reference; this lies in its arena */
    struct http_listener *listener;    /* a reference */
    struct MHD_Connection *connection; /* valid until the request is completed */
    struct http_conn *conn;            /* its connection's */
    atomic_int state;                  /* enum http_state */
    uint64_t began_us;                 /* monotonic; when the request line was in */
    struct mrg_slice target;           /* the raw request target; ptr NULL: longer than MRG_MAX_PATH */
    size_t max_body;                   /* limits.body when it began */
    uint64_t deadline_ms;              /* limits.deadline when it began */
    bool shows;                        /* reply_headers when it began */
    /* The daemon's thread only */
    bool begun;              /* the library has asked for the first time */
    bool armed;              /* timer and hangup may be set */
    bool chunked;            /* the body's length is not declared */
    size_t head_bytes;       /* request line and headers */
    size_t declared;         /* bytes of body, by Content-Length */
    char *body;              /* of declared length, in the arena; NULL until the first piece */
    size_t body_len;         /* bytes of it so far */
    struct mrg_buf gathered; /* the body of a chunked request */
    /* For the watch */
    struct mrg_timer deadline;
    struct mrg_hangup hangup;
};

/* The pieces of the request line, in the library's buffer. */
struct http_line {
    const char *method;
    const char *url; /* the target's place: decoded, without its query */
    const char *version;
};

/* http_request.c: the library's callbacks for a request, on the daemon's thread. */
struct http_request *http_request_new(struct http_listener *listener, struct MHD_Connection *connection,
                                      const char *target);
enum MHD_Result http_request_step(struct http_request *request, const struct http_line *line,
                                  const char *piece, size_t *piece_len);
void http_request_completed(struct http_request *request);

/* http_head.c: fills exchange->request but for the body. 0, or the status to refuse with and a sentence
 * why. */
int http_head_read(struct http_request *request, const struct http_line *line, char ret_why[256]);

/* http_render.c: queue what goes back, on the daemon's thread. MHD_NO closes the connection. */
enum MHD_Result http_answer(struct http_request *request);
/* A failure of the adapter's own; the exchange's reply and arena are not touched. `close` closes the
 * connection afterwards. */
enum MHD_Result http_answer_failure(struct http_request *request, int status, const char *sentence,
                                    bool close);
/* Writes a failure past the library, which takes no reply between two pieces of a body. The connection
 * must be closed next. */
void http_write_failure(struct http_request *request, int status, const char *sentence);
