// SPDX-License-Identifier: Apache-2.0
/*
 * Limits: every bound in one place, with the reason for its size. What the configuration can change says so.
 */
#pragma once

/* Requests from callers */
#define MRG_MAX_BODY                                                                                         \
    (8u << 20) /* bytes of a request body unless `limits.body` says else: test payloads, not uploads */
#define MRG_MAX_BODY_CEILING                                                                                 \
    (256u << 20)            /* the most that `limits.body` may be: a body is held in memory whole */
#define MRG_MAX_HEADERS 200 /* header fields of one request; more than any real caller sends */
#define MRG_MAX_HEADER_BYTES                                                                                 \
    (16u                                                                                                     \
     << 10) /* request line and headers together, unless `limits.headers` says else; MHD's pool holds them */
#define MRG_MAX_PATH   (8u << 10) /* bytes of a raw request target */
#define MRG_MAX_METHOD 64u        /* bytes of a request's method: those that are registered have 17 at most */
#define MRG_MAX_HOST   255u       /* bytes of a name to listen at: the most that the DNS knows */
#define MRG_REQUEST_DEADLINE_MS                                                                              \
    120000u /* receiving and answering one request, unless `limits.deadline` says else */
#define MRG_RECEIVE_DEADLINE_MS                                                                              \
    30000u                      /* the part of it for receiving headers and body: stops clients that drip */
#define MRG_IDLE_TIMEOUT_S  60u /* a kept-alive connection without a request */
#define MRG_MAX_CONNECTIONS 10000u /* open connections of one listener; a suspended request holds one */

/* Replies */
#define MRG_MAX_REPLY_BODY    (8u << 20) /* bytes of a reply body that an engine may make */
#define MRG_MAX_REPLY_HEADERS 100        /* header fields of a reply */
#define MRG_MAX_HEADER_VALUE  (8u << 10) /* bytes of one reply header value */
#define MRG_MAX_REPLY_HEADER_BYTES                                                                           \
    (8u                                                                                                      \
     << 10) /* names and values of a reply's headers, 4 bytes more for each: what a default connection's memory has room for */
#define MRG_MAX_ERROR_HEADER 1024u /* bytes of mirage-error: body or status have the whole sentence */
#define MRG_REPLY_CACHE_SLOTS                                                                                \
    256u /* replies kept ready to send, of one address or thread: more than a test's scenario has */
#define MRG_REPLY_CACHE_BYTES (16u << 10) /* bytes of one that is kept: 4 MiB at most for them all */

/* HTTP connections that were refused and whose callers still send */
#define MRG_MAX_LINGERING 64u        /* at one time; more are closed at once, and may lose the refusal */
#define MRG_LINGER_MS     2000u      /* how long each may go on sending what nobody reads */
#define MRG_LINGER_BYTES  (1u << 20) /* taken from all of them together at one sweep, which holds a lock */

/* Bodies */
#define MRG_MAX_BODY_DEPTH                                                                                   \
    (MRG_JSON_DEPTH - 2) /* arrays and objects in each other: a cassette's line puts two around a body */

/* gRPC and protobuf */
#define MRG_MAX_PROTO_DEPTH                                                                                  \
    100u /* messages in each other, as protobuf's own libraries allow: more could fill a stack */
#define MRG_MAX_PROTO_FIELDS                                                                                 \
    (1u << 20) /* fields of one message in all: an empty one takes two bytes and some fifty in memory */
#define MRG_PROTO_JSON_TIMES                                                                                 \
    4u /* a message as JSON may be so many times `limits.body`: it has names, and defaults filled in */
#define MRG_MAX_DESCRIPTORS (64u << 20) /* bytes of a dependency's descriptor set */
#define MRG_UNPACKED_PER_BYTE                                                                                \
    64u /* bytes that a descriptor file may take in memory for each of its own: a few can stand for many */
#define MRG_MAX_UNPACKED (1u << 30) /* and those of a set's files together */
#define MRG_MAX_SYMBOL   4096u      /* bytes of a full name: protoc knows no bound, so this one is wide */
#define MRG_PROTOC_MS    60000u     /* how long protoc may take */
#define MRG_MAX_PROTOC_OUTPUT                                                                                \
    (16u << 10) /* bytes of protoc's own words that are read: some lines of them are shown */
#define MRG_MAX_PROTOC_LIST (8u << 20) /* bytes of a cache entry's list of the files that protoc read */
#define MRG_MAX_REFLECTED                                                                                    \
    4096u /* files that a server may tell by reflection: each is looked for among them all */
#define MRG_MAX_REFLECTED_IMPORTS 50000u /* imports of them together, for the same reason */
#define MRG_MAX_METADATA          (16u << 10) /* bytes of a gRPC call's metadata, beside what `limits.headers` says */
#define MRG_MAX_GRPC_MESSAGE                                                                                 \
    2048u /* bytes of a status message: in percent-encoding it may be three times that */
#define MRG_GRPC_METADATA_ROOM 8192u /* bytes of one block of metadata that clients take unless told else */
#define MRG_GRPC_THREADS       2u    /* completion queues, a thread each */
#define MRG_GRPC_STREAMS       1000u /* calls at one time on one connection */
#define MRG_GRPC_CALLS                                                                                       \
    MRG_MAX_CONNECTIONS /* calls at one time at one address, Watch and reflection too; more are refused */
#define MRG_GRPC_IDLE_MS 300000u /* a connection without calls is asked to end after that */

/* Routes of RPCs */
#define MRG_ROUTE_MAX_SEGMENTS  64u /* segments of one template; more than any API has */
#define MRG_ROUTE_MAX_VARIABLES 16u /* variables of one template; a mask of 32 bits holds them */
#define MRG_ROUTE_MAX_NESTING   8u  /* names in the field path of one variable; more than any API has */
#define MRG_ROUTE_MAX_KEY       32u /* names in the field path of a query key, which callers write */

/* ZeroMQ */
#define MRG_ZMQ_MAX_FRAMES 64u   /* frames of one message, routing ids included: 1 byte frames cost 64 each */
#define MRG_ZMQ_MAX_ROUTE  16u   /* of these, frames before the empty one: proxies that it came through */
#define MRG_ZMQ_HWM        1000u /* messages that a peer may have waiting, each way, where they are small, */
#define MRG_ZMQ_LEAST_HWM  100u  /* where they may be large, */
#define MRG_ZMQ_HWM_BYTES                                                                                    \
    (1u << 30)                    /* and between: as many as have these bytes if all are as large as may be */
#define MRG_ZMQ_MAX_ENDPOINT 256u /* bytes of an endpoint; a UNIX socket's path has 108 */
#define MRG_ZMQ_FRAME_SPARE                                                                                  \
    (64u                                                                                                     \
     << 10) /* by how much the library's limit of a frame is above twice ours: ours answers what is below */
#define MRG_ZMQ_IN_FLIGHT MRG_MAX_CONNECTIONS /* requests of one listener; past it its input waits */
#define MRG_ZMQ_WAIT_MS                                                                                      \
    5000u /* for a reply that has no room at its peer: one that reads makes room much sooner */
#define MRG_ZMQ_WAIT_COUNT 10000u      /* such replies of one listener; ten queues of MRG_ZMQ_HWM */
#define MRG_ZMQ_WAIT_BYTES (64u << 20) /* and their bytes: some replies of the largest size */

/* Callers of our own (mirage call, ls) */
#define MRG_MAX_CA_FILE (4u << 20) /* bytes of a file of certificates; a distribution's has 200 KiB */
#define MRG_MAX_CALL_ENVELOPE                                                                                \
    (2 * MRG_MAX_REPLY_BODY) /* bytes of a reply over ZeroMQ: a body in base64, and the envelope around it */
#define MRG_CALL_TIMEOUT_MS 30000u /* a call, connecting included, unless --timeout says else */

/* Sessions */
#define MRG_MAX_SESSION_NAME 128    /* bytes of a session's name: it stands in headers, paths and logs */
#define MRG_MAX_SESSIONS     10000u /* the most that sessions.max may say */
#define MRG_MAX_SNAPSHOTS    100u /* of one session: each holds its states' windows, whose records are shared */
#define MRG_MAX_SCENARIO                                                                                     \
    (64u << 10) /* bytes of a scenario's context: it is shown to the model at each request */
#define MRG_MAX_TURN_QUEUE        4096u /* requests waiting for one state's turn; more get 503 */
#define MRG_MAX_SESSION_LISTENERS 64u   /* addresses of their own that sessions may hold */

/* History */
#define MRG_WINDOW 20u /* exchanges that the model is always shown (paper, section III-B) */
#define MRG_WINDOW_STEP                                                                                      \
    10u /* and how many more before the oldest of these go at once, so that cached prefixes live */
#define MRG_MAX_WINDOW 200u /* the most that `memory.window` may be */
#define MRG_MAX_COUNTS                                                                                       \
    65536u /* different reads counted at one place of a state (`nth`); more are not counted */
#define MRG_JOURNAL_ENTRIES 1000u       /* exchanges kept in the journal; evictions are counted */
#define MRG_JOURNAL_BYTES   (32u << 20) /* and the bytes they may hold together */

/* Conversations with a provider */
#define MRG_MAX_LLM_REPLY      (16u << 20) /* bytes of a provider's HTTP reply */
#define MRG_MAX_LLM_RETRIES    10          /* the most that `model.retries` may be */
#define MRG_LLM_BACKOFF_MS     500u        /* first wait before a retry; doubles, with jitter */
#define MRG_LLM_BACKOFF_MAX_MS 30000u      /* no single wait is longer, Retry-After included */
#define MRG_LLM_CONNECT_MS     10000u      /* connecting to a provider */
#define MRG_MAX_TOKENS_CEILING 65536       /* a doubled max_tokens stops here */

/* Evidence */
#define MRG_MAX_EVIDENCE_FILE  (4u << 20) /* bytes of one evidence file; larger ones are named as left out */
#define MRG_MAX_EVIDENCE_FILES 5000u      /* files of one dependency's evidence */
#define MRG_MAX_TRACE_LINE     (4u << 20) /* bytes of one line of a trace file */
#define MRG_EVIDENCE_BUDGET    60000 /* tokens of a prompt's evidence unless `evidence.budget` says else */

/* Cassettes and configuration */
#define MRG_MAX_CASSETTE_LINE                                                                                \
    (20u << 20) /* bytes of one line: a request and a reply at their largest, in base64 */
#define MRG_CASSETTE_QUEUE_BYTES                                                                             \
    (256u << 20) /* bytes of recorded lines that wait for a disk that refuses; past it new ones are lost */
#define MRG_MISS_ENTRIES 50000u /* entries looked at for the sentence about a miss, 100 ns each */
#define MRG_MISS_BYTES                                                                                       \
    (192u << 10) /* bytes of requests compared whole for it, 25 ns each: the caller's turn is held */
#define MRG_MAX_CONFIG        (1u << 20) /* bytes of a configuration file */
#define MRG_MAX_CONFIG_ERRORS 50         /* errors listed at once; the rest are counted */
#define MRG_MAX_DEPENDENCIES  500u       /* dependencies of one server */

/* Comparing */
#define MRG_MAX_FINDINGS 100u /* differences of one reply that are told; the rest only count */
#define MRG_MAX_SET_ITEMS                                                                                    \
    200u /* items of an array whose order does not count, each tried with each; longer ones are in order */

/* Scenarios */
#define MRG_MAX_SCENARIO_CALLS 1000u      /* calls of one scenario; a longer one is several */
#define MRG_MAX_VERIFY_JOBS    64u        /* scenarios side by side, each with connections of its own */
#define MRG_MAX_VERIFY_REPEAT  1000u      /* times that a scenario is run */
#define MRG_MAX_RESULT         (1u << 30) /* bytes of a result that is scored again */
#define MRG_MAX_COMMAND_LINE   4096u      /* bytes of the line in which --real-cmd tells its URLs */
#define MRG_REAL_START_MS      30000u     /* a real side may take so long until that line */
#define MRG_REAL_STOP_MS       5000       /* it may take so long to end at SIGTERM; then SIGKILL */

/* Stopping */
#define MRG_DRAIN_MS                                                                                         \
    10000u /* requests in flight at SIGTERM may take so long, unless `limits.drain` says else */
