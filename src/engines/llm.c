// SPDX-License-Identifier: Apache-2.0
/*
 * The language model as an engine (paper, section III-B, "Per-Request LLM Server"): the evidence as the
 * system prompt, the state's window as the conversation, the request as its last message. A reply that does
 * not fit goes back once with the error.
 */
#include <pthread.h>
#include <string.h>

#include "core/session.h"
#include "core/stats.h"
#include "engines/engines.h"
#include "engines/llm_text.h"
#include "engines/provenance.h"
#include "engines/services.h"
#include "evidence/evidence.h"
#include "llm/llm.h"

struct llm_engine {
    struct mrg_engine base;
    struct mrg_engine_env env;
    pthread_mutex_t lock; /* guards what follows and every job's link, call and cancelled */
    struct mrg_list jobs; /* exchanges that wait for the model */
    bool stopping;        /* no repairs any more */
};

/* One exchange that waits for the model; lies in its arena. */
struct job {
    struct mrg_list link;
    struct llm_engine *engine;
    struct mrg_exchange *exchange;
    struct mrg_llm_call *call; /* under way, or NULL */
    bool cancelled;
    bool repairing;                   /* the one repair has been asked for */
    struct mrg_provenance provenance; /* summed over the calls */
};

static enum mrg_err create(const struct mrg_engine_env *env, struct mrg_engine **ret_engine,
                           struct mrg_error *err)
{
    (void)err;
    struct llm_engine *engine = mrg_zalloc(sizeof(*engine));
    engine->base.ops = &mrg_engine_llm;
    engine->env = *env;
    pthread_mutex_init(&engine->lock, NULL);
    mrg_list_init(&engine->jobs);
    *ret_engine = &engine->base;
    return MRG_ERR_OK;
}

static void destroy(struct mrg_engine *base)
{
    struct llm_engine *engine = MRG_CONTAINER_OF(base, struct llm_engine, base);
    MRG_ASSERT(mrg_list_empty(&engine->jobs));
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

/* The window, then the request, then (for a repair) the bad answer and its error; the texts are references
 * of their own. */
static struct mrg_llm_message *conversation(const struct job *job, struct mrg_text *bad,
                                            struct mrg_text *repair, size_t *ret_count)
{
    const struct mrg_exchange *exchange = job->exchange;
    const struct mrg_state *state = exchange->state;
    size_t n = 0;
    struct mrg_llm_message *messages = mrg_zalloc((2 * state->window_len + 3) * sizeof(*messages));
    for (size_t i = 0; i < state->window_len; i++) {
        messages[n++] = (struct mrg_llm_message){MRG_LLM_USER, mrg_text_ref(state->window[i]->request)};
        messages[n++] = (struct mrg_llm_message){MRG_LLM_ASSISTANT, mrg_text_ref(state->window[i]->reply)};
    }
    messages[n++] =
        (struct mrg_llm_message){MRG_LLM_USER, mrg_llm_text_request(exchange, job->engine->env.match)};
    if (bad) {
        messages[n++] = (struct mrg_llm_message){MRG_LLM_ASSISTANT, bad};
        messages[n++] = (struct mrg_llm_message){MRG_LLM_USER, repair};
    }
    *ret_count = n;
    return messages;
}

static void on_done(void *ctx, const struct mrg_llm_result *result);

/* `bad` and `repair` (NULL at first) are taken over. */
static enum mrg_err start(struct job *job, struct mrg_text *bad, struct mrg_text *repair,
                          struct mrg_error *err)
{
    struct llm_engine *engine = job->engine;
    size_t count;
    _cleanup_free_ struct mrg_llm_message *messages = conversation(job, bad, repair, &count);
    const struct mrg_llm_request request = {
        .model = &engine->env.config->model,
        .system = mrg_evidence_prompt(engine->env.evidence),
        .messages = messages,
        .message_count = count,
        .json = true,
        .on_cut = MRG_LLM_CUT_DOUBLE,
        .on_done = on_done,
        .ctx = job,
    };
    /* Under the lock, so that on_done, which takes it first, finds the call in its place. */
    pthread_mutex_lock(&engine->lock);
    bool refused = job->cancelled || engine->stopping || mrg_exchange_dropped(job->exchange);
    enum mrg_err code = refused ? mrg_error_set(err, MRG_ERR_CANCELLED, "the work was cancelled")
                                : mrg_llm_start(engine->env.services->llm, &request, &job->call, err);
    if (!code && !mrg_list_linked(&job->link))
        mrg_list_append(&engine->jobs, &job->link);
    pthread_mutex_unlock(&engine->lock);
    for (size_t i = 0; refused && i < count; i++)
        mrg_text_unref(messages[i].text);
    return code;
}

static int status_of(enum mrg_err code)
{
    switch (code) {
    case MRG_ERR_TIMEOUT:
        return 504;
    case MRG_ERR_UNAVAILABLE:
        return 502;
    case MRG_ERR_CANCELLED:
        return 503;
    default:
        return 500;
    }
}

static enum mrg_verdict answer(struct mrg_engine *base, struct mrg_exchange *exchange)
{
    struct llm_engine *engine = MRG_CONTAINER_OF(base, struct llm_engine, base);
    if (engine->env.config->cassette.mode == MRG_CASSETTE_REPLAY)
        return MRG_PASSED; /* the cassette has said why there is no reply */
    struct job *job = mrg_arena_zalloc(exchange->arena, sizeof(*job));
    job->engine = engine;
    job->exchange = exchange;
    struct mrg_error err = {0};
    enum mrg_err code = start(job, NULL, NULL, &err);
    if (!code)
        return MRG_PENDING;
    mrg_reply_fail(exchange->arena, &exchange->reply, status_of(code), "%s", err.message);
    return MRG_ANSWERED;
}

static void add(atomic_ullong *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void account(struct job *job, const struct mrg_llm_result *result)
{
    struct mrg_dependency_stats *stats = job->engine->env.stats;
    struct mrg_provenance *sum = &job->provenance;
    add(&stats->llm_calls, result->calls);
    add(&stats->llm_retries, result->retries);
    add(&stats->llm_tokens_in, result->tokens_in);
    add(&stats->llm_tokens_cached, result->tokens_cached);
    add(&stats->llm_tokens_out, result->tokens_out);
    add(&stats->llm_ms, result->ms);
    sum->tokens_in += result->tokens_in;
    sum->tokens_cached += result->tokens_cached;
    sum->tokens_out += result->tokens_out;
    sum->ms += result->ms;
    if (result->code)
        return;
    sum->model = mrg_arena_strdup(job->exchange->arena, result->model);
    sum->id = mrg_arena_strdup(job->exchange->arena, result->id);
    memcpy(sum->prompt_hash, result->prompt_hash, sizeof(sum->prompt_hash));
    memcpy(sum->text_hash, result->text_hash, sizeof(sum->text_hash));
}

/* Reads the answer into the exchange's reply. */
static enum mrg_err read_reply(struct mrg_exchange *exchange, struct mrg_slice text, struct mrg_error *err)
{
    struct mrg_slice json;
    if (!mrg_llm_text_object(text, &json, err))
        return MRG_ERR_INVALID;
    /* The result's bytes end with on_done. */
    struct mrg_slice own = {mrg_arena_memdup(exchange->arena, json.ptr, json.len), json.len};
    enum mrg_err code = mrg_reply_parse(exchange->arena, own, &exchange->reply, err);
    /* An answer that the caller's wire cannot say is not usable either. */
    if (!code && exchange->fits && exchange->reply.unsure.len == 0)
        code = exchange->fits(exchange, &exchange->reply, err);
    return code;
}

/* Sends the answer back with what was wrong with it. */
static enum mrg_err repair(struct job *job, struct mrg_slice bad, const char *wrong, struct mrg_error *err)
{
    struct mrg_dependency_stats *stats = job->engine->env.stats;
    job->repairing = true;
    /* Providers refuse an empty assistant message. */
    struct mrg_slice said = bad.len > 0 ? bad : MRG_SLICE("(nothing)");
    enum mrg_err code = start(job, mrg_text_new(said.ptr, said.len), mrg_llm_text_repair(wrong), err);
    if (!code)
        add(&stats->llm_repairs, 1);
    return code;
}

/* The job has left the list for good. */
static void finish(struct job *job, enum mrg_verdict verdict)
{
    struct llm_engine *engine = job->engine;
    pthread_mutex_lock(&engine->lock);
    if (mrg_list_linked(&job->link))
        mrg_list_remove(&job->link);
    pthread_mutex_unlock(&engine->lock);
    mrg_turn_resume(job->exchange, verdict);
}

static enum mrg_verdict judge(struct job *job)
{
    struct mrg_exchange *exchange = job->exchange;
    struct mrg_reply *reply = &exchange->reply;
    if (reply->unsure.len > 0) {
        const char *note = mrg_arena_printf(exchange->arena, "the model is unsure: %.*s",
                                            (int)reply->unsure.len, reply->unsure.ptr);
        exchange->engine_note = mrg_slice_of(note);
        memset(reply, 0, sizeof(*reply));
        return MRG_PASSED;
    }
    reply->source = mrg_engine_llm.name;
    exchange->engine_data = &job->provenance;
    return MRG_ANSWERED;
}

static void on_done(void *ctx, const struct mrg_llm_result *result)
{
    struct job *job = ctx;
    struct mrg_exchange *exchange = job->exchange;
    struct mrg_error err = {0}, again = {0};
    pthread_mutex_lock(&job->engine->lock);
    job->call = NULL;
    pthread_mutex_unlock(&job->engine->lock);
    account(job, result);
    if (result->code) {
        mrg_reply_fail(exchange->arena, &exchange->reply, status_of(result->code), "%s", result->message);
        finish(job, MRG_ANSWERED);
        return;
    }
    if (read_reply(exchange, result->text, &err) == MRG_ERR_OK) {
        finish(job, judge(job));
        return;
    }
    if (job->repairing)
        mrg_reply_fail(exchange->arena, &exchange->reply, 500, "the model gave no usable reply, twice: %s",
                       err.message);
    else if (repair(job, result->text, err.message, &again))
        mrg_reply_fail(exchange->arena, &exchange->reply, status_of(again.code), "%s", again.message);
    else
        return;
    finish(job, MRG_ANSWERED);
}

static void cancel(struct mrg_engine *base, struct mrg_exchange *exchange)
{
    struct llm_engine *engine = MRG_CONTAINER_OF(base, struct llm_engine, base);
    struct job *job;
    pthread_mutex_lock(&engine->lock);
    if (!exchange)
        engine->stopping = true;
    MRG_LIST_EACH (job, &engine->jobs, link) {
        if (exchange && job->exchange != exchange)
            continue;
        job->cancelled = true;
        if (job->call)
            mrg_llm_cancel(engine->env.services->llm, job->call);
    }
    pthread_mutex_unlock(&engine->lock);
}

const struct mrg_engine_ops mrg_engine_llm = {
    .name = "llm",
    .create = create,
    .destroy = destroy,
    .answer = answer,
    .cancel = cancel,
};
