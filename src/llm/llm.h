// SPDX-License-Identifier: Apache-2.0
/*
 * Llm: conversations with a provider, of any purpose: text or JSON, any length.
 *
 * One thread owns the curl multi handle; calls are queued to it from any thread. It retries what is worth it
 * (429, 5xx, 529, lost connections) with exponential backoff and jitter, honours Retry-After, and asks again
 * with a doubled limit (once) or for a continuation when a reply was cut by length. It knows no requests,
 * replies or simulations. Keys come from the environment at the time of the call and are never logged.
 * Thread: any, but for new and free (main).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/config.h"
#include "util/error.h"
#include "util/hash.h"
#include "util/text.h"

struct mrg_llm_client;
struct mrg_llm_call;

enum mrg_llm_role { MRG_LLM_USER, MRG_LLM_ASSISTANT };

struct mrg_llm_message {
    enum mrg_llm_role role;
    struct mrg_text *text; /* a reference that the call takes over */
};

enum mrg_llm_on_cut {
    MRG_LLM_CUT_DOUBLE,   /* ask once more with twice max_tokens; a second cut is an error */
    MRG_LLM_CUT_CONTINUE, /* give back what came and ask for the rest, until it ends or the ceiling of tokens is
                             reached: then OK with `cut` set. A piece without any text is asked for again with
                             twice the limit, as above */
    MRG_LLM_CUT_REPORT,   /* hand over what came, `cut` set */
};

struct mrg_llm_result {
    enum mrg_err
        code;      /* OK; UNAVAILABLE (after all retries), TIMEOUT, CANCELLED, INVALID (the provider refused
                              the request: 400, 401, …, or withheld the reply), TOO_LARGE (cut twice, prompt over
                              the context, reply over a limit), INTERNAL (a reply that is not the wire format) */
    char *message; /* when not OK: a sentence that says what the provider said, without key or prompt */
    struct mrg_slice text; /* the reply; borrowed during on_done */
    bool cut;              /* ended by length */
    const char *id;        /* the provider's response id; "" when it gave none */
    const char *model;     /* the model's name as the provider says it, else as configured */
    char prompt_hash[MRG_SHA256_HEX +
                     1]; /* SHA-256 of the conversation as last sent: each message as `role: text`,
                                             system first, joined by newlines; "" when none was sent */
    char text_hash[MRG_SHA256_HEX +
                   1];  /* SHA-256 of the text without the white space around it; "" when not OK */
    uint64_t tokens_in; /* over all attempts that were answered; cached ones included */
    uint64_t tokens_cached;
    uint64_t tokens_out;
    uint64_t ms;      /* from the start of the first attempt, waits included */
    unsigned calls;   /* attempts that the provider answered with a reply */
    unsigned retries; /* attempts that failed and were repeated */
};

/* On the client's thread, exactly once for a call that was started. The result is valid only during it. Must
 * not block; may start calls and cancel others. */
typedef void (*mrg_llm_done_fn)(void *ctx, const struct mrg_llm_result *result);

struct mrg_llm_request {
    const struct mrg_model_config *model; /* outlives the call */
    struct mrg_text *system; /* the stable part; shared between calls, never copied for each; may be
                                               NULL. Borrowed: the call takes its own reference */
    const struct mrg_llm_message *messages; /* user first, then in turn; copied, text references taken over */
    size_t message_count;
    int max_tokens;     /* 0: the model's */
    bool json;          /* the reply is to be JSON (response_format, where the model's
                                               configuration says so); some message must then say "JSON" */
    const char *schema; /* JSON schema text for json_schema response formats, or NULL; copied */
    enum mrg_llm_on_cut on_cut;
    mrg_llm_done_fn on_done;
    void *ctx;
};

enum mrg_err mrg_llm_client_new(struct mrg_llm_client **ret_client, struct mrg_error *err);
/* Cancels what is left (their on_done come first), joins the thread. */
void mrg_llm_client_free(struct mrg_llm_client *client);

/*
 * Queues the call. *ret_call is for mrg_llm_cancel and is valid until on_done returns. Fails, and then
 * on_done never comes, with INVALID when there is no model name, no message, or no variable of the name in
 * key_env (an empty one means that no key is sent), and with CANCELLED once the client is being freed. The
 * messages' references are taken over even then. *ret_call is set before on_done can come.
 */
enum mrg_err mrg_llm_start(struct mrg_llm_client *client, const struct mrg_llm_request *request,
                           struct mrg_llm_call **ret_call, struct mrg_error *err);
/* Ends the call soon with CANCELLED. The caller must be sure that on_done has not returned (its own lock). */
void mrg_llm_cancel(struct mrg_llm_client *client, struct mrg_llm_call *call);
