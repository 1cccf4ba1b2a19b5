// SPDX-License-Identifier: Apache-2.0
#include "fidelity/judge.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fidelity/judge_int.h"
#include "llm/llm.h"
#include "util/text.h"

#define JUDGES 2u
#define TRIES  2u /* an answer and one repair */

/* One judge about one trial. */
struct opinion {
    bool failed; /* no answer that could be used */
    bool same;
    const char *why;
};

/* A question on its way. */
struct asking {
    pthread_mutex_t lock;  /* guards all below */
    pthread_cond_t answer; /* done */
    bool done;
    enum mrg_err code;
    char *text; /* the answer, or why there is none */
    struct mrg_judged *judged;
};

static void on_done(void *ctx, const struct mrg_llm_result *result)
{
    struct asking *asking = ctx;
    pthread_mutex_lock(&asking->lock);
    asking->code = result->code;
    asking->text = result->code       ? mrg_strdup(result->message)
                   : result->text.ptr ? mrg_strndup(result->text.ptr, result->text.len)
                                      : mrg_strdup("");
    asking->judged->requests += result->calls;
    asking->judged->tokens_in += result->tokens_in;
    asking->judged->tokens_cached += result->tokens_cached;
    asking->judged->tokens_out += result->tokens_out;
    asking->done = true;
    pthread_cond_signal(&asking->answer);
    pthread_mutex_unlock(&asking->lock);
}

static struct mrg_llm_message message(enum mrg_llm_role role, const char *text)
{
    return (struct mrg_llm_message){role, mrg_text_new(text, strlen(text))};
}

/* Asks and waits. *ret_text is the caller's. */
static enum mrg_err ask(struct mrg_llm_client *client, const struct mrg_model_config *model,
                        struct mrg_llm_message *messages, size_t count, struct mrg_judged *judged,
                        char **ret_text)
{
    struct mrg_error err;
    struct mrg_llm_call *call;
    struct asking asking = {.judged = judged};
    struct mrg_llm_request request = {
        .model = model,
        .system = mrg_text_new(mrg_judge_rubric(), strlen(mrg_judge_rubric())),
        .messages = messages,
        .message_count = count,
        .json = true,
        .on_done = on_done,
        .ctx = &asking,
    };
    pthread_mutex_init(&asking.lock, NULL);
    pthread_cond_init(&asking.answer, NULL);
    enum mrg_err code = mrg_llm_start(client, &request, &call, &err);
    pthread_mutex_lock(&asking.lock);
    while (!code && !asking.done)
        pthread_cond_wait(&asking.answer, &asking.lock);
    pthread_mutex_unlock(&asking.lock);
    *ret_text = code ? mrg_strdup(err.message) : asking.text;
    code = code ? code : asking.code;
    mrg_text_unref(request.system);
    pthread_cond_destroy(&asking.answer);
    pthread_mutex_destroy(&asking.lock);
    return code;
}

static void form_opinion(struct mrg_llm_client *client, const struct mrg_model_config *model,
                         const char *question, struct mrg_arena *arena, struct mrg_judged *judged,
                         struct opinion *ret_opinion)
{
    _cleanup_free_ char *first = NULL;
    struct mrg_error err;
    for (unsigned try = 0; try < TRIES; try++) {
        _cleanup_free_ char *text = NULL;
        struct mrg_llm_message messages[3] = {message(MRG_LLM_USER, question)};
        if (try > 0) {
            _cleanup_free_ char *wrong = mrg_asprintf("Your answer cannot be used: %s", err.message);
            messages[1] = message(MRG_LLM_ASSISTANT, first ? first : "");
            messages[2] = message(MRG_LLM_USER, wrong);
        }
        enum mrg_err code = ask(client, model, messages, try > 0 ? 3 : 1, judged, &text);
        *ret_opinion = (struct opinion){.failed = true, .why = mrg_arena_strdup(arena, text)};
        if (code)
            return;
        code = mrg_judge_read_answer(mrg_slice_of(text), arena, &ret_opinion->same, &ret_opinion->why, &err);
        ret_opinion->failed = code != MRG_ERR_OK;
        if (!code)
            return;
        first = first ? first : MRG_TAKE(text);
    }
    ret_opinion->why = mrg_arena_strdup(arena, err.message);
}

void mrg_trial_decide(struct mrg_trial_score *trial, enum mrg_decided decided, bool same, const char *why)
{
    trial->uncertain = false;
    trial->decided = decided;
    trial->passed = same;
    trial->why = same ? "" : why;
}

static void judge(struct mrg_llm_client *client, struct mrg_trial_score *trial,
                  const struct mrg_model_config *judges, struct mrg_arena *arena, struct mrg_judged *judged)
{
    struct mrg_buf question;
    struct opinion opinions[JUDGES];
    mrg_buf_init(&question, SIZE_MAX);
    mrg_judge_append_question(&question, trial);
    for (size_t i = 0; i < JUDGES; i++)
        form_opinion(client, &judges[i], question.data, arena, judged, &opinions[i]);
    mrg_buf_done(&question);
    judged->asked++;
    bool failed = opinions[0].failed || opinions[1].failed;
    if (!failed && opinions[0].same == opinions[1].same) {
        mrg_trial_decide(trial, MRG_DECIDED_JUDGES, opinions[0].same,
                         mrg_arena_printf(arena, "both judges: %s", opinions[0].why));
        judged->accepted += opinions[0].same;
        judged->refused += !opinions[0].same;
        return;
    }
    judged->failed += failed;
    judged->split += !failed;
    const struct opinion *telling =
        opinions[0].failed || (!failed && !opinions[0].same) ? &opinions[0] : &opinions[1];
    trial->why = mrg_arena_printf(arena, "%s; %s: %s", trial->why,
                                  failed ? "a judge gave no answer" : "the judges disagree", telling->why);
}

enum mrg_err mrg_judge_score(struct mrg_score *score, const struct mrg_model_config *judges, size_t count,
                             struct mrg_arena *arena, struct mrg_judged *ret_judged, struct mrg_error *err)
{
    struct mrg_llm_client *client;
    *ret_judged = (struct mrg_judged){.asked = 0};
    if (count != JUDGES)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "no judges; expected two models under `judges` of the configuration");
    enum mrg_err code = mrg_llm_client_new(&client, err);
    if (code)
        return code;
    for (size_t i = 0; i < score->result->trial_count; i++)
        if (score->trials[i].uncertain)
            judge(client, &score->trials[i], judges, arena, ret_judged);
    mrg_llm_client_free(client);
    mrg_score_total(score);
    return MRG_ERR_OK;
}
