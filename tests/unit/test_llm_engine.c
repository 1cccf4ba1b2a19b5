// SPDX-License-Identifier: Apache-2.0
#include "engines/engines.h"
#define RIG_LLM_OPS mrg_engine_llm
#include "rig.h"

#include "engines/provenance.h"
#include "engines/services.h"
#include "evidence/evidence.h"
#include "llm/llm.h"

/* ---- a client whose thread is the test ---- */

struct mrg_llm_call {
    struct mrg_llm_request request;
    struct mrg_text *texts[2 * (MRG_WINDOW + MRG_WINDOW_STEP) + 3];
    enum mrg_llm_role roles[2 * (MRG_WINDOW + MRG_WINDOW_STEP) + 3];
    size_t count;
    bool cancelled;
};

struct mrg_llm_client {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct mrg_llm_call *waiting[64]; /* started, first in, first out */
    size_t count;
    unsigned started;
    enum mrg_err refuse; /* what the next starts fail with */
};

static struct mrg_llm_client client = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
static struct mrg_text *prompt;

struct mrg_text *mrg_evidence_prompt(const struct mrg_evidence *evidence)
{
    (void)evidence;
    return prompt;
}

enum mrg_err mrg_llm_start(struct mrg_llm_client *self, const struct mrg_llm_request *request,
                           struct mrg_llm_call **ret_call, struct mrg_error *err)
{
    assert_ptr_equal(self, &client);
    pthread_mutex_lock(&self->lock);
    enum mrg_err code = self->refuse;
    if (code) {
        for (size_t i = 0; i < request->message_count; i++)
            mrg_text_unref(request->messages[i].text);
        mrg_error_set(err, code, "the variable NO_KEY is not set");
    } else {
        struct mrg_llm_call *call = mrg_zalloc(sizeof(*call));
        call->request = *request;
        call->count = request->message_count;
        assert_true(call->count <= MRG_ARRAY_LEN(call->texts) && self->count < MRG_ARRAY_LEN(self->waiting));
        for (size_t i = 0; i < call->count; i++) {
            call->texts[i] = request->messages[i].text;
            call->roles[i] = request->messages[i].role;
        }
        *ret_call = call;
        self->waiting[self->count++] = call;
        self->started++;
        pthread_cond_broadcast(&self->more);
    }
    pthread_mutex_unlock(&self->lock);
    return code;
}

void mrg_llm_cancel(struct mrg_llm_client *self, struct mrg_llm_call *call)
{
    pthread_mutex_lock(&self->lock);
    call->cancelled = true;
    pthread_mutex_unlock(&self->lock);
}

/* Waits for a call. */
static struct mrg_llm_call *take(void)
{
    pthread_mutex_lock(&client.lock);
    while (client.count == 0)
        pthread_cond_wait(&client.more, &client.lock);
    struct mrg_llm_call *call = client.waiting[0];
    client.count--;
    memmove(client.waiting, client.waiting + 1, client.count * sizeof(client.waiting[0]));
    pthread_mutex_unlock(&client.lock);
    return call;
}

static void end(struct mrg_llm_call *call, struct mrg_llm_result *result)
{
    result->id = result->id ? result->id : "";
    result->model = result->model ? result->model : "m";
    call->request.on_done(call->request.ctx, result);
    for (size_t i = 0; i < call->count; i++)
        mrg_text_unref(call->texts[i]);
    free(call);
}

/* The model answers `text`, which is gone when on_done returns. */
static void say_to(struct mrg_llm_call *call, const char *text)
{
    char *exact = malloc(strlen(text) + 1);
    strcpy(exact, text);
    struct mrg_llm_result result = {.text = mrg_slice_of(exact),
                                    .calls = 1,
                                    .tokens_in = 100,
                                    .tokens_cached = 60,
                                    .tokens_out = 7,
                                    .ms = 1500};
    snprintf(result.prompt_hash, sizeof(result.prompt_hash), "prompt of %zu", call->count);
    snprintf(result.text_hash, sizeof(result.text_hash), "text of %zu", strlen(text));
    end(call, &result);
    memset(exact, '#', strlen(exact));
    free(exact);
}

static void say(const char *text)
{
    say_to(take(), text);
}

static void break_off(enum mrg_err code, const char *message)
{
    char *own = mrg_strdup(message);
    struct mrg_llm_result result = {.code = code, .message = own, .retries = 3, .ms = 20};
    end(take(), &result);
    free(own);
}

/* ---- the rig ---- */

static struct rig rig;
static struct mrg_door *door;
static struct mrg_services services = {.llm = &client};

#define YAML(words)                                                                                          \
    "model: {name: top}\n"                                                                                   \
    "dependencies: [{name: inventory, listen: {http: 127.0.0.1:0}, model: {name: m}" words "}]\n"

static int set_up(void **state)
{
    (void)state;
    prompt = mrg_text_new("the evidence", 12);
    client.started = 0;
    client.refuse = MRG_ERR_OK;
    rig_services = &services;
    rig_start(&rig, YAML(""));
    door = mrg_door_new(MRG_DOOR_DEPENDENCY, "inventory", NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(client.count, 0);
    mrg_door_unref(door);
    rig_stop(&rig);
    mrg_text_unref(prompt);
    return 0;
}

static struct mrg_dependency_stats *stats(void)
{
    return mrg_stats_dependency(rig.stats, "inventory");
}

static struct call *ask(const char *line, const char *body)
{
    return call_send(&rig, door, line, NULL, body);
}

static void expect_failure(struct call *call, int status, const char *sentence)
{
    const struct mrg_reply *reply = call_wait(call);
    assert_int_equal(reply->status, status);
    assert_string_equal(reply->error, sentence);
    assert_null(reply->source);
    call_free(call);
}

/* How many messages the model is given with the next request: one, and two for each exchange of the history. */
static void expect_history(size_t exchanges)
{
    struct call *call = ask("GET /history", NULL);
    struct mrg_llm_call *asked = take();
    assert_int_equal(asked->count, 2 * exchanges + 1);
    say_to(asked, "{\"status\":200}");
    assert_int_equal(call_wait(call)->status, 200);
    call_free(call);
}

/* ---- an answer ---- */

static struct mrg_provenance heard;

static void hear(struct mrg_exchange *exchange)
{
    heard = *(struct mrg_provenance *)exchange->engine_data;
    assert_string_equal(heard.model, "m");
    assert_string_equal(heard.id, "");
}

static void a_reply_comes_back(void **state)
{
    (void)state;
    RIG_CASSETTE->heard = hear;
    struct call *call = ask("POST /items", "{\"quantity\":2}");
    assert_false(call_delivered(call));
    struct mrg_llm_call *asked = take();
    assert_ptr_equal(asked->request.system, prompt);
    assert_string_equal(asked->request.model->name, "m");
    assert_true(asked->request.json);
    assert_int_equal(asked->request.on_cut, MRG_LLM_CUT_DOUBLE);
    assert_int_equal(asked->request.max_tokens, 0);
    assert_int_equal(asked->count, 1);
    assert_int_equal(asked->roles[0], MRG_LLM_USER);
    assert_string_equal(asked->texts[0]->data,
                        "{\"method\":\"POST\",\"path\":\"/items\",\"body\":{\"quantity\":2}}");
    say_to(asked, "{\"status\":201,\"headers\":{\"location\":\"/items/1\"},\"body\":{\"total\":2.50}}");
    const struct mrg_reply *reply = call_wait(call);
    assert_int_equal(reply->status, 201);
    assert_string_equal(reply->source, "llm");
    assert_null(reply->error);
    assert_string_equal(reply->body.bytes.ptr, "{\"total\":2.50}");
    assert_string_equal(reply->headers[0].value.ptr, "/items/1");
    call_free(call);

    assert_string_equal(heard.prompt_hash, "prompt of 1");
    assert_string_equal(heard.text_hash, "text of 70");
    assert_int_equal(heard.tokens_in, 100);
    assert_int_equal(heard.ms, 1500);
    assert_int_equal(stats()->from_llm, 1);
    assert_int_equal(stats()->llm_calls, 1);
    assert_int_equal(stats()->llm_tokens_in, 100);
    assert_int_equal(stats()->llm_tokens_cached, 60);
    assert_int_equal(stats()->llm_tokens_out, 7);
    assert_int_equal(stats()->llm_ms, 1500);
    assert_int_equal(stats()->llm_repairs, 0);
}

static void the_history_is_the_conversation(void **state)
{
    (void)state;
    struct call *call = ask("POST /items", "{\"n\":1}");
    say("Of course:\n```json\n{\"status\": 201, \"body\": {\"id\": 1}}\n```");
    call_free(call);
    call_expect(&rig, door, "GET /__mock__/health", NULL, NULL, 200, "serving");
    call = ask("GET /items/1", NULL);
    struct mrg_llm_call *asked = take();
    assert_int_equal(asked->count, 3);
    assert_int_equal(asked->roles[0], MRG_LLM_USER);
    assert_int_equal(asked->roles[1], MRG_LLM_ASSISTANT);
    assert_int_equal(asked->roles[2], MRG_LLM_USER);
    assert_string_equal(asked->texts[0]->data,
                        "{\"method\":\"POST\",\"path\":\"/items\",\"body\":{\"n\":1}}");
    assert_string_equal(asked->texts[1]->data, "{\"status\":201,\"body\":{\"id\":1}}");
    assert_string_equal(asked->texts[2]->data, "{\"method\":\"GET\",\"path\":\"/items/1\"}");
    say_to(asked, "{\"status\":200}");
    call_free(call);
    expect_history(2);
}

/* The cassette's replies enter the history, so that the model is asked with all that went before. */
static enum mrg_verdict replay_posts(struct mrg_exchange *exchange)
{
    return mrg_slice_eq_str(exchange->shown->method, "POST") ? rig_reply(exchange, "cassette", "{\"id\":7}")
                                                             : MRG_PASSED;
}

static void replayed_exchanges_are_part_of_it(void **state)
{
    (void)state;
    RIG_CASSETTE->answer = replay_posts;
    call_free(ask("POST /items", "{}"));
    assert_int_equal(client.started, 0);
    struct call *call = ask("GET /items/7", NULL);
    struct mrg_llm_call *asked = take();
    assert_int_equal(asked->count, 3);
    assert_string_equal(asked->texts[1]->data, "{\"status\":200,\"body\":{\"id\":7}}");
    say_to(asked, "{\"status\":200}");
    call_free(call);
}

static void the_longest_conversation(void **state)
{
    (void)state;
    for (size_t i = 0; i < 45; i++)
        expect_history(i < 30 ? i : 20 + i % 10);
}

static void in_replay_nobody_is_asked(void **state)
{
    (void)state;
    rig_configure(&rig, YAML(", cassette: {mode: replay}"));
    expect_failure(ask("GET /items", NULL), 500,
                   "no engine of the chain knew the reply; see `engines` of this dependency");
    assert_int_equal(client.started, 0);
}

/* ---- repairs ---- */

static void a_bad_reply_is_sent_back_once(void **state)
{
    (void)state;
    RIG_CASSETTE->heard = hear;
    expect_history(0);
    struct call *call = ask("POST /items", "{}");
    struct mrg_llm_call *first = take();
    struct mrg_text *request = mrg_text_ref(first->texts[2]);
    say_to(first, "{\"status\":\"created\"}");
    assert_false(call_delivered(call));
    struct mrg_llm_call *second = take();
    assert_int_equal(second->count, 5);
    assert_string_equal(second->texts[2]->data, request->data);
    assert_int_equal(second->roles[3], MRG_LLM_ASSISTANT);
    assert_string_equal(second->texts[3]->data, "{\"status\":\"created\"}");
    assert_int_equal(second->roles[4], MRG_LLM_USER);
    assert_non_null(
        strstr(second->texts[4]->data,
               "cannot be used: \"status\" is \"created\"; expected an integer from 200 to 999."));
    mrg_text_unref(request);
    say_to(second, "{\"status\":201,\"body\":{\"id\":1}}");
    assert_int_equal(call_wait(call)->status, 201);
    assert_int_equal(stats()->llm_repairs, 1);
    assert_int_equal(stats()->llm_calls, 3);
    /* What it cost is the sum, where it came from the last. */
    assert_int_equal(heard.tokens_in, 200);
    assert_int_equal(heard.tokens_cached, 120);
    assert_int_equal(heard.tokens_out, 14);
    assert_int_equal(heard.ms, 3000);
    assert_string_equal(heard.prompt_hash, "prompt of 5");
    call_free(call);
    expect_history(2); /* the bad reply and its repair are no part of it */
}

static void failing_twice_is_a_failure_without_trace(void **state)
{
    (void)state;
    static const struct {
        const char *second, *sentence;
    } answers[] = {
        {"no idea", "the model gave no usable reply, twice: the answer holds no JSON object; expected one"},
        {"", "the model gave no usable reply, twice: the answer is empty; expected a JSON object"},
        {"{\"status\":99}",
         "the model gave no usable reply, twice: \"status\" is 99; expected an integer from 200 to 999"},
        {"{\"status\":200,\"stats\":1}", NULL},
    };
    expect_history(0);
    for (size_t i = 0; i < MRG_ARRAY_LEN(answers); i++) {
        struct call *call = ask("POST /items", "{}");
        say("");
        struct mrg_llm_call *repair = take();
        assert_string_equal(repair->texts[3]->data, "(nothing)");
        say_to(repair, answers[i].second);
        if (answers[i].sentence) {
            expect_failure(call, 500, answers[i].sentence);
        } else {
            assert_int_equal(call_wait(call)->status, 500);
            call_free(call);
        }
    }
    assert_int_equal(stats()->failed, MRG_ARRAY_LEN(answers));
    assert_int_equal(stats()->llm_repairs, MRG_ARRAY_LEN(answers));
    assert_int_equal(RIG_CASSETTE->answered, 1);
    expect_history(1);
}

static void a_repair_that_fails_on_the_way(void **state)
{
    (void)state;
    struct call *call = ask("POST /items", "{}");
    say("{");
    break_off(MRG_ERR_UNAVAILABLE, "the provider answered 503");
    expect_failure(call, 502, "the provider answered 503");
    assert_int_equal(stats()->llm_repairs, 1);
    /* Or cannot even be asked for. */
    call = ask("POST /items", "{}");
    struct mrg_llm_call *asked = take();
    client.refuse = MRG_ERR_INVALID;
    say_to(asked, "{");
    expect_failure(call, 500, "the variable NO_KEY is not set");
    assert_int_equal(stats()->llm_repairs, 1);
}

/* ---- failures ---- */

static void each_failure_has_its_status(void **state)
{
    (void)state;
    static const struct {
        enum mrg_err code;
        int status;
    } failures[] = {{MRG_ERR_TIMEOUT, 504}, {MRG_ERR_UNAVAILABLE, 502}, {MRG_ERR_CANCELLED, 503},
                    {MRG_ERR_INVALID, 500}, {MRG_ERR_TOO_LARGE, 500},   {MRG_ERR_INTERNAL, 500}};
    for (size_t i = 0; i < MRG_ARRAY_LEN(failures); i++) {
        struct call *call = ask("POST /items", "{}");
        break_off(failures[i].code, "why it failed: 100%s");
        expect_failure(call, failures[i].status, "why it failed: 100%s");
    }
    assert_int_equal(stats()->llm_calls, 0);
    assert_int_equal(stats()->llm_retries, 3 * MRG_ARRAY_LEN(failures));
    assert_int_equal(client.started, MRG_ARRAY_LEN(failures));
    expect_history(0);
}

static void a_call_that_cannot_start(void **state)
{
    (void)state;
    client.refuse = MRG_ERR_INVALID;
    expect_failure(ask("POST /items", "{}"), 500, "the variable NO_KEY is not set");
    client.refuse = MRG_ERR_CANCELLED;
    expect_failure(ask("POST /items", "{}"), 503, "the variable NO_KEY is not set");
    client.refuse = MRG_ERR_OK;
    expect_history(0);
}

static void an_unsure_model_passes(void **state)
{
    (void)state;
    struct call *call = ask("POST /items", "{}");
    say("{\"unsure\":\"the tariff is not in the source\"}");
    expect_failure(call, 500, "the model is unsure: the tariff is not in the source");
    call = ask("POST /items", "{}");
    say("{\"status\":200,\"body\":{},\"unsure\":\"a guess\"}");
    expect_failure(call, 500, "the model is unsure: a guess");
    assert_int_equal(stats()->llm_repairs, 0);
    assert_int_equal(stats()->failed, 2);
    expect_history(0);
    /* The next of the chain is asked. */
    rig_configure(&rig, YAML(", engines: [llm, cassette]"));
    RIG_CASSETTE->answer = replay_posts;
    call = ask("POST /items", "{}");
    say("{\"unsure\":\"why\"}");
    assert_int_equal(call_wait(call)->status, 200);
    assert_string_equal(call->exchange->reply.source, "cassette");
    assert_string_equal(call->exchange->reply.body.bytes.ptr, "{\"id\":7}");
    call_free(call);
}

/* ---- cancelling ---- */

static void a_caller_that_hangs_up_cancels_its_own_call(void **state)
{
    (void)state;
    rig_configure(&rig, YAML(", on_gone: drop"));
    struct call *one = call_send(&rig, door, "POST /items", "mirage-session: one", "{}");
    struct call *behind = call_send(&rig, door, "POST /items", "mirage-session: one", "{}");
    struct call *other = call_send(&rig, door, "POST /items", "mirage-session: other", "{}");
    mrg_gateway_gone(rig.gateway, one->exchange);
    assert_true(client.waiting[0]->cancelled);
    assert_false(client.waiting[1]->cancelled);
    break_off(MRG_ERR_CANCELLED, "cancelled");
    assert_int_equal(call_wait(one)->status, 503);
    /* Once more, after the end: nothing. */
    mrg_gateway_gone(rig.gateway, one->exchange);
    say("{\"status\":201}"); /* other's */
    assert_int_equal(call_wait(other)->status, 201);
    struct mrg_llm_call *asked = take();
    assert_int_equal(asked->count, 1);
    assert_false(asked->cancelled);
    say_to(asked, "{\"status\":202}");
    assert_int_equal(call_wait(behind)->status, 202);
    call_free(one);
    call_free(behind);
    call_free(other);
}

static void a_caller_that_hangs_up_lets_the_call_finish(void **state)
{
    (void)state;
    rig_configure(&rig, YAML(", on_gone: finish"));
    struct call *call = ask("POST /items", "{}");
    mrg_gateway_gone(rig.gateway, call->exchange);
    struct mrg_llm_call *asked = take();
    assert_false(asked->cancelled);
    say_to(asked, "{");
    say("{\"status\":201}"); /* repaired all the same */
    assert_int_equal(call_wait(call)->status, 201);
    assert_int_equal(RIG_CASSETTE->answered, 1);
    call_free(call);
    expect_history(0);
}

/* The answer came in before the cancel did, and would need a repair. */
static void what_is_cancelled_is_not_repaired(void **state)
{
    (void)state;
    rig_configure(&rig, YAML(", on_gone: drop"));
    struct call *call = ask("POST /items", "{}");
    struct mrg_llm_call *asked = take();
    mrg_gateway_gone(rig.gateway, call->exchange);
    assert_true(asked->cancelled);
    say_to(asked, "{");
    expect_failure(call, 503, "the work was cancelled");
    assert_int_equal(client.started, 1);
    assert_int_equal(stats()->llm_repairs, 0);
    /* A good one may be used. */
    call = ask("POST /items", "{}");
    mrg_gateway_gone(rig.gateway, call->exchange);
    say("{\"status\":201}");
    assert_int_equal(call_wait(call)->status, 201);
    call_free(call);
}

static void stopping_cancels_all(void **state)
{
    (void)state;
    struct call *calls[3][2];
    for (int i = 0; i < 3; i++) {
        char header[32];
        snprintf(header, sizeof(header), "mirage-session: s%d", i);
        for (int k = 0; k < 2; k++)
            calls[i][k] = call_send(&rig, door, "POST /items", header, "{}");
    }
    assert_int_equal(client.started, 3);
    mrg_gateway_cancel_all(rig.gateway);
    for (int i = 0; i < 3; i++)
        assert_true(client.waiting[i]->cancelled);
    say("{"); /* one has come in before, and needs a repair */
    break_off(MRG_ERR_CANCELLED, "cancelled");
    break_off(MRG_ERR_CANCELLED, "cancelled");
    assert_int_equal(mrg_gateway_drain(rig.gateway, 60000), 0);
    assert_int_equal(client.started, 3);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            assert_int_equal(call_wait(calls[i][k])->status, 503);
            call_free(calls[i][k]);
        }
    }
}

/* All is cancelled after the exchange's turn has begun and before the model is asked. */
static enum mrg_verdict cancel_all_now(struct mrg_exchange *exchange)
{
    mrg_gateway_cancel_all(exchange->gateway);
    return MRG_PASSED;
}

static void nothing_starts_once_all_is_cancelled(void **state)
{
    (void)state;
    RIG_CASSETTE->answer = cancel_all_now;
    expect_failure(ask("POST /items", "{}"), 503, "the work was cancelled");
    assert_int_equal(client.started, 0);
}

/* ---- threads ---- */

enum { SENDERS = 4, EACH = 60 };

static void *send_and_hang_up(void *arg)
{
    for (int i = 0; i < EACH; i++) {
        struct call *call = call_send(&rig, door, "POST /items", arg, "{}");
        if (i % 5 == 0)
            mrg_gateway_gone(rig.gateway, call->exchange);
        call_wait(call);
        call_free(call);
    }
    return NULL;
}

static atomic_bool enough;

/* One thread ends all calls, as the real client's does. */
static void *run_client(void *arg)
{
    static const char *const answers[] = {"{\"status\":200}", "{", "```\n{\"status\":201}\n```",
                                          "{\"unsure\":\"why\"}", "{\"status\":404,\"body\":{}}"};
    (void)arg;
    for (unsigned n = 0;; n++) {
        pthread_mutex_lock(&client.lock);
        bool idle = client.count == 0;
        bool cancelled = !idle && client.waiting[0]->cancelled;
        pthread_mutex_unlock(&client.lock);
        if (idle && enough)
            return NULL;
        if (idle)
            sched_yield();
        else if (cancelled)
            break_off(MRG_ERR_CANCELLED, "cancelled");
        else
            say(answers[n % MRG_ARRAY_LEN(answers)]);
    }
}

static void callers_and_client_side_by_side(void **state)
{
    (void)state;
    static char headers[SENDERS][24] = {"mirage-session: a", "mirage-session: a", "mirage-session: b",
                                        "mirage-session: c"};
    pthread_t senders[SENDERS], runner;
    rig_configure(&rig, YAML(", on_gone: drop"));
    enough = false;
    pthread_create(&runner, NULL, run_client, NULL);
    for (int i = 0; i < SENDERS; i++)
        pthread_create(&senders[i], NULL, send_and_hang_up, headers[i]);
    for (int i = 0; i < 10; i++)
        rig_configure(&rig, YAML(", on_gone: drop"));
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i], NULL);
    enough = true;
    pthread_join(runner, NULL);
    assert_int_equal(stats()->requests, SENDERS * EACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_reply_comes_back),
        TEST(the_history_is_the_conversation),
        TEST(replayed_exchanges_are_part_of_it),
        TEST(the_longest_conversation),
        TEST(in_replay_nobody_is_asked),
        TEST(a_bad_reply_is_sent_back_once),
        TEST(failing_twice_is_a_failure_without_trace),
        TEST(a_repair_that_fails_on_the_way),
        TEST(each_failure_has_its_status),
        TEST(a_call_that_cannot_start),
        TEST(an_unsure_model_passes),
        TEST(a_caller_that_hangs_up_cancels_its_own_call),
        TEST(a_caller_that_hangs_up_lets_the_call_finish),
        TEST(what_is_cancelled_is_not_repaired),
        TEST(stopping_cancels_all),
        TEST(nothing_starts_once_all_is_cancelled),
        TEST(callers_and_client_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
