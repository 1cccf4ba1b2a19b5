// SPDX-License-Identifier: Apache-2.0
#include "llm/call.h"

#include <string.h>

#include "core/limits.h"
#include "llm/cut.h"
#include "util/clock.h"

#define DEFAULT_MAX_TOKENS 2048 /* where neither call nor model says */
#define MAX_PIECES         64u /* of one answer: a provider that never comes to an end is not asked for ever */

static enum mrg_err read_key(const char *key_env, char **ret_key, struct mrg_error *err)
{
    if (!key_env || key_env[0] == '\0')
        return MRG_ERR_OK;
    const char *key = getenv(key_env);
    if (!key)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "the variable %s, which model.key_env names for the provider's key, is not set",
                             key_env);
    for (const char *p = key; *p; p++) {
        if (*p <= ' ' || *p > '~')
            return mrg_error_set(
                err, MRG_ERR_INVALID,
                "the variable %s holds a space, a line break or another character that is in no key",
                key_env);
    }
    if (key[0] != '\0')
        *ret_key = mrg_strdup(key);
    return MRG_ERR_OK;
}

static enum mrg_err check(const struct mrg_llm_request *request, struct mrg_error *err)
{
    const struct mrg_model_config *model = request->model;
    if (!model->name || model->name[0] == '\0')
        return mrg_error_set(err, MRG_ERR_INVALID, "no model is configured: set model.name");
    if (!model->base_url || model->base_url[0] == '\0')
        return mrg_error_set(err, MRG_ERR_INVALID, "no provider is configured: set model.base_url");
    if (request->message_count == 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "a call to the model needs a message");
    return MRG_ERR_OK;
}

enum mrg_err mrg_llm_call_new(const struct mrg_llm_request *request, struct mrg_llm_call **ret_call,
                              struct mrg_error *err)
{
    char *key = NULL;
    enum mrg_err rc = check(request, err);
    if (rc == MRG_ERR_OK)
        rc = read_key(request->model->key_env, &key, err);
    if (rc != MRG_ERR_OK) {
        for (size_t i = 0; i < request->message_count; i++)
            mrg_text_unref(request->messages[i].text);
        return rc;
    }
    struct mrg_llm_call *call = mrg_zalloc(sizeof(*call));
    call->model = request->model;
    call->system = mrg_text_ref(request->system);
    call->asked = call->count = request->message_count;
    call->messages = mrg_zalloc((call->asked + 2) * sizeof(*call->messages));
    memcpy(call->messages, request->messages, call->asked * sizeof(*call->messages));
    call->schema = request->schema ? mrg_strdup(request->schema) : NULL;
    call->key = key;
    call->json = request->json;
    call->on_cut = request->on_cut;
    call->on_done = request->on_done;
    call->ctx = request->ctx;
    call->limit = request->max_tokens > 0 ? request->max_tokens : request->model->max_tokens;
    if (call->limit <= 0)
        call->limit = DEFAULT_MAX_TOKENS;
    mrg_buf_init(&call->tail, SIZE_MAX);
    mrg_buf_init(&call->body, MRG_MAX_LLM_REPLY);
    mrg_buf_init(&call->text, MRG_MAX_LLM_REPLY);
    *ret_call = call;
    return MRG_ERR_OK;
}

void mrg_llm_call_free(struct mrg_llm_call *call)
{
    if (!call)
        return;
    for (size_t i = 0; i < call->count; i++)
        mrg_text_unref(call->messages[i].text);
    free(call->messages);
    mrg_text_unref(call->system);
    free(call->schema);
    if (call->key)
        explicit_bzero(call->key, strlen(call->key));
    free(call->key);
    mrg_buf_done(&call->tail);
    mrg_buf_done(&call->body);
    mrg_buf_done(&call->text);
    free(call->id);
    free(call->reply_model);
    free(call->result.message);
    free(call);
}

void mrg_llm_call_open(struct mrg_llm_call *call)
{
    struct mrg_llm_body body = {
        .model = call->model,
        .messages = call->messages,
        .count = call->count,
        .max_tokens = call->limit,
        /* A continuation begins in the middle of the JSON: asked for as JSON it would begin anew. */
        .json = call->json && call->count == call->asked,
        .schema = call->schema,
    };
    mrg_buf_done(&call->tail);
    mrg_llm_wire(call->model->provider)->append_tail(&call->tail, &body);
    call->sent = 0;
    call->size = call->head->len + call->tail.len;
    mrg_buf_done(&call->body);
    if (call->started == 0)
        call->started = mrg_clock_ms();
}

size_t mrg_llm_call_read(struct mrg_llm_call *call, char *ret_bytes, size_t room)
{
    size_t done = 0;
    while (done < room && call->sent < call->size) {
        bool in_head = call->sent < call->head->len;
        const char *from =
            in_head ? call->head->json + call->sent : call->tail.data + (call->sent - call->head->len);
        size_t left = (in_head ? call->head->len : call->size) - call->sent;
        size_t len = left < room - done ? left : room - done;
        memcpy(ret_bytes + done, from, len);
        done += len;
        call->sent += len;
    }
    /* A reply takes seconds, and thousands may wait for one: a tail that has to be sent again is made again. */
    if (call->sent == call->size)
        mrg_buf_done(&call->tail);
    return done;
}

void mrg_llm_call_fail(struct mrg_llm_call *call, enum mrg_err code, char *message)
{
    call->result.code = code;
    free(call->result.message);
    call->result.message = message;
}

static enum mrg_llm_next fail(struct mrg_llm_call *call, enum mrg_err code, char *message)
{
    if (call->failures > 0) {
        char *whole = mrg_asprintf("%s (after %u attempts)", message, call->failures + 1);
        free(message);
        message = whole;
    }
    mrg_llm_call_fail(call, code, message);
    return MRG_LLM_FINISH;
}

static bool may_retry(struct mrg_llm_call *call, uint64_t retry_after, uint64_t *ret_wait)
{
    if (call->model->retries <= 0 || call->failures >= (unsigned)call->model->retries)
        return false;
    call->failures++;
    call->result.retries++;
    *ret_wait = mrg_llm_backoff(call->failures, retry_after, arc4random());
    return true;
}

static enum mrg_llm_next take_fault(struct mrg_llm_call *call, const struct mrg_llm_attempt *attempt,
                                    uint64_t *ret_wait)
{
    if (mrg_llm_retry_fault(attempt->fault) && may_retry(call, MRG_LLM_NO_RETRY_AFTER, ret_wait))
        return MRG_LLM_WAIT;
    return fail(call, mrg_llm_code_of_fault(attempt->fault),
                mrg_llm_say_fault(call->model, call->key, attempt));
}

static enum mrg_llm_next take_trouble(struct mrg_llm_call *call, const struct mrg_llm_attempt *attempt,
                                      long status, const struct mrg_llm_trouble *trouble, uint64_t *ret_wait)
{
    if (mrg_llm_retry_status(status, trouble) &&
        may_retry(call, mrg_llm_retry_after(attempt->retry_after, time(NULL)), ret_wait))
        return MRG_LLM_WAIT;
    char *message = mrg_llm_say_status(call->model, call->key, status, trouble);
    enum mrg_err code = mrg_llm_code_of_status(status, trouble);
    if (code == MRG_ERR_INVALID && call->doubled && call->pieces == 0) {
        char *whole = mrg_asprintf("the reply was cut at %d tokens, and a limit of %d was refused: %s",
                                   call->limit / 2, call->limit, message);
        free(message);
        return fail(call, MRG_ERR_TOO_LARGE, whole);
    }
    return fail(call, code, message);
}

static enum mrg_llm_next take_status(struct mrg_llm_call *call, const struct mrg_llm_attempt *attempt,
                                     uint64_t *ret_wait)
{
    struct mrg_llm_trouble trouble;
    mrg_llm_trouble_read(mrg_buf_slice(&call->body), call->key, &trouble);
    enum mrg_llm_next next = take_trouble(call, attempt, attempt->status, &trouble, ret_wait);
    mrg_llm_trouble_done(&trouble);
    return next;
}

/* A 2xx that is no reply. Routers put the error of the provider behind them there: then it is that error. */
static enum mrg_llm_next take_garbled(struct mrg_llm_call *call, const struct mrg_llm_attempt *attempt,
                                      const struct mrg_error *err, uint64_t *ret_wait)
{
    struct mrg_llm_trouble trouble;
    enum mrg_llm_next next = MRG_LLM_WAIT;
    mrg_llm_trouble_read(mrg_buf_slice(&call->body), call->key, &trouble);
    if (trouble.status >= 400 && trouble.status <= 599) {
        next = take_trouble(call, attempt, (long)trouble.status, &trouble, ret_wait);
    } else if (call->garbled || !may_retry(call, MRG_LLM_NO_RETRY_AFTER, ret_wait)) {
        _cleanup_free_ char *why = mrg_llm_one_line(mrg_slice_of(err->message), call->key);
        next = fail(call, MRG_ERR_INTERNAL,
                    mrg_asprintf("the provider answered %ld, but not in the %s format: %s", attempt->status,
                                 mrg_llm_wire(call->model->provider)->name, why));
    } else {
        call->garbled = true;
    }
    mrg_llm_trouble_done(&trouble);
    return next;
}

static enum mrg_llm_next ask_anew(struct mrg_llm_call *call)
{
    call->failures = 0;
    call->garbled = false;
    return MRG_LLM_AGAIN;
}

static enum mrg_llm_next take_cut_double(struct mrg_llm_call *call)
{
    int limit = mrg_llm_cut_double(call->limit);
    if (call->doubled)
        return fail(call, MRG_ERR_TOO_LARGE,
                    mrg_asprintf("the reply was cut at %d tokens, and again at %d (raise model.max_tokens)",
                                 call->limit / 2, call->limit));
    if (limit == 0)
        return fail(call, MRG_ERR_TOO_LARGE,
                    mrg_asprintf("the reply was cut at %d tokens, the most that is asked for", call->limit));
    call->limit = limit;
    call->doubled = true;
    return ask_anew(call);
}

static void set_message(struct mrg_llm_call *call, size_t at, enum mrg_llm_role role, struct mrg_slice text)
{
    if (at < call->count)
        mrg_text_unref(call->messages[at].text);
    call->messages[at] = (struct mrg_llm_message){role, mrg_text_new(text.ptr, text.len)};
    if (at == call->count)
        call->count++;
}

static enum mrg_llm_next take_cut_piece(struct mrg_llm_call *call, const struct mrg_llm_reply *reply)
{
    if (mrg_slice_trim(mrg_buf_slice(&call->text)).len == 0) {
        mrg_buf_clear(&call->text);
        return take_cut_double(call);
    }
    uint64_t least = reply->text.len / 8;
    call->spent += reply->tokens_out > least ? reply->tokens_out : least;
    bool more = reply->text.len > 0 && ++call->pieces < MAX_PIECES && call->spent < MRG_MAX_TOKENS_CEILING;
    call->result.cut = !more;
    if (!more)
        return MRG_LLM_FINISH;
    set_message(call, call->asked, MRG_LLM_ASSISTANT, mrg_buf_slice(&call->text));
    set_message(call, call->asked + 1, MRG_LLM_USER, MRG_SLICE(MRG_LLM_CONTINUE));
    return ask_anew(call);
}

/* Counts what it cost, whatever it is worth. */
static void account(struct mrg_llm_call *call, struct mrg_llm_reply *reply)
{
    call->result.calls++;
    call->result.tokens_in += reply->tokens_in;
    call->result.tokens_cached += reply->tokens_cached;
    call->result.tokens_out += reply->tokens_out;
    free(call->id);
    call->id = MRG_TAKE(reply->id);
    free(call->reply_model);
    call->reply_model = MRG_TAKE(reply->model);
}

static enum mrg_llm_next take_reply(struct mrg_llm_call *call, struct mrg_llm_reply *reply)
{
    account(call, reply);
    if (reply->withheld) {
        _cleanup_free_ char *why = mrg_llm_one_line(mrg_slice_of(reply->withheld), call->key);
        return fail(call, MRG_ERR_INVALID, mrg_asprintf("the provider withheld the reply: %s", why));
    }
    if (reply->cut && call->on_cut == MRG_LLM_CUT_DOUBLE)
        return take_cut_double(call);
    mrg_llm_cut_join(&call->text, mrg_buf_slice(&reply->text));
    if (mrg_buf_failed(&call->text))
        return fail(call, MRG_ERR_TOO_LARGE,
                    mrg_asprintf("the reply is larger than %u bytes", MRG_MAX_LLM_REPLY));
    if (reply->cut && call->on_cut == MRG_LLM_CUT_CONTINUE)
        return take_cut_piece(call, reply);
    call->result.cut = reply->cut;
    return MRG_LLM_FINISH;
}

enum mrg_llm_next mrg_llm_call_take(struct mrg_llm_call *call, const struct mrg_llm_attempt *attempt,
                                    uint64_t *ret_wait)
{
    if (attempt->fault != MRG_LLM_FAULT_NONE)
        return take_fault(call, attempt, ret_wait);
    if (attempt->status < 200 || attempt->status > 299)
        return take_status(call, attempt, ret_wait);
    struct mrg_llm_reply reply;
    struct mrg_error err;
    if (mrg_llm_reply_read(mrg_llm_wire(call->model->provider), mrg_buf_slice(&call->body), &reply, &err) !=
        MRG_ERR_OK)
        return take_garbled(call, attempt, &err, ret_wait);
    enum mrg_llm_next next = take_reply(call, &reply);
    mrg_llm_reply_done(&reply);
    return next;
}

void mrg_llm_call_finish(struct mrg_llm_call *call)
{
    struct mrg_llm_result *result = &call->result;
    result->id = call->id ? call->id : "";
    result->model = call->reply_model && call->reply_model[0] ? call->reply_model : call->model->name;
    result->text = MRG_SLICE("");
    if (call->started > 0) {
        result->ms = mrg_clock_ms() - call->started;
        mrg_llm_head_hash(call->head, call->messages, call->count, result->prompt_hash);
    }
    if (result->code == MRG_ERR_OK) {
        result->text = mrg_buf_slice(&call->text);
        struct mrg_slice trimmed = mrg_slice_trim(result->text);
        mrg_sha256_hex(trimmed.ptr, trimmed.len, result->text_hash);
    }
    call->on_done(call->ctx, result);
}
