// SPDX-License-Identifier: Apache-2.0
/*
 * Call: one conversation on its way: what is sent next, and what follows from how an attempt ended.
 *
 * Knows no sockets and no threads: client.c moves the bytes, keeps the time and decides when a call's turn
 * has come. Thread: the client's, once the call is queued.
 */
#pragma once

#include "llm/head.h"
#include "llm/llm.h"
#include "llm/say.h"
#include "util/list.h"

struct mrg_llm_lane;

enum mrg_llm_call_state {
    MRG_LLM_INCOMING, /* in the client's list of new calls, under its lock */
    MRG_LLM_QUEUED,   /* in its lane, waiting for a place */
    MRG_LLM_ACTIVE,   /* an attempt is under way */
    MRG_LLM_WAITING,  /* for `due`, after a failed attempt */
};

enum mrg_llm_next {
    MRG_LLM_FINISH, /* the result is there */
    MRG_LLM_AGAIN,  /* another request follows at once */
    MRG_LLM_WAIT,   /* the same request again, later */
};

struct mrg_llm_call {
    struct mrg_list node;        /* in the list that state says */
    struct mrg_list cancel_node; /* in the client's list of calls to cancel; under its lock */
    enum mrg_llm_call_state state;
    uint64_t due;              /* monotonic ms; WAITING */
    struct mrg_llm_lane *lane; /* NULL while INCOMING */
    struct mrg_llm_head *head; /* NULL while INCOMING */
    void *transfer;            /* the client's easy handle; ACTIVE */
    char *fault_text;          /* the library's words about it; ACTIVE */

    const struct mrg_model_config *model;
    struct mrg_text *system; /* a reference */
    struct mrg_llm_message
        *messages; /* two more than were asked have room: a partial answer and the wish for more */
    size_t asked;  /* how many came with the request */
    size_t count;  /* how many there are now */
    char *schema;  /* NULL: none */
    char *key;     /* NULL: none is sent */
    bool json;
    enum mrg_llm_on_cut on_cut;
    mrg_llm_done_fn on_done;
    void *ctx;

    struct mrg_buf tail; /* of the body; there only until it is sent */
    size_t sent;         /* bytes of head and tail */
    size_t size;         /* bytes that head and tail have together */
    struct mrg_buf body; /* of the HTTP reply */

    int limit;              /* max_tokens of the next request */
    bool doubled;           /* limit is twice what was asked */
    bool garbled;           /* a reply that could not be read has been asked for again */
    unsigned failures;      /* of the present request, in a row */
    unsigned pieces;        /* of an answer that is continued */
    uint64_t spent;         /* tokens of these pieces */
    uint64_t started;       /* monotonic ms of the first attempt; 0: none yet */
    struct mrg_buf text;    /* the answer so far */
    char *id, *reply_model; /* of the last reply; NULL */
    struct mrg_llm_result result;
};

/* Takes over the messages' references, on failure too: INVALID, as mrg_llm_start says. */
enum mrg_err mrg_llm_call_new(const struct mrg_llm_request *request, struct mrg_llm_call **ret_call,
                              struct mrg_error *err);
void mrg_llm_call_free(struct mrg_llm_call *call);

/* Makes ready to send the next request's body (call->size bytes) from its start; also to send it once
 * more. */
void mrg_llm_call_open(struct mrg_llm_call *call);
/* Copies the next bytes of the body; 0 at its end. */
size_t mrg_llm_call_read(struct mrg_llm_call *call, char *ret_bytes, size_t room);

/* An attempt has ended, its reply's body is in call->body. *ret_wait is in milliseconds, for WAIT. */
enum mrg_llm_next mrg_llm_call_take(struct mrg_llm_call *call, const struct mrg_llm_attempt *attempt,
                                    uint64_t *ret_wait);

/* For a call that ends without a reply of its own. message is taken over. */
void mrg_llm_call_fail(struct mrg_llm_call *call, enum mrg_err code, char *message);
/* Completes the result and calls on_done. */
void mrg_llm_call_finish(struct mrg_llm_call *call);
