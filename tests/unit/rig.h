// SPDX-License-Identifier: Apache-2.0
/*
 * Rig: a gateway for tests, with two fake engines under the names that a configuration accepts (cassette, llm), and calls that
 * know when their reply has come. What an engine does is decided by the test: rig_engines[i].answer and its fellows; without one
 * it passes. Set them while no exchange is under way. Static functions: each test includes its own copy.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/gateway.h"
#include "sample.h"
#include "util/clock.h"
#include "util/text.h"

/* ---- fake engines ---- */

struct rig_engine {
    enum mrg_verdict (*answer)(struct mrg_exchange *exchange); /* NULL: passes */
    void (*cancel)(struct mrg_exchange *exchange);             /* NULL: does nothing */
    void (*heard)(struct mrg_exchange *exchange); /* of an answer, with the turn held; NULL: does nothing */
    atomic_int created, destroyed, asked, cancelled, cancelled_all, answered;
};

static struct rig_engine rig_engines[2]; /* cassette, llm */
#define RIG_CASSETTE (&rig_engines[0])
#define RIG_LLM      (&rig_engines[1])
extern const struct mrg_engine_ops rig_cassette_ops, rig_llm_ops;

static inline struct rig_engine *rig_of(const struct mrg_engine *engine)
{
    return engine->ops == &rig_cassette_ops ? RIG_CASSETTE : RIG_LLM;
}

static enum mrg_err rig_create(const struct mrg_engine_ops *ops, struct mrg_engine **ret_engine)
{
    *ret_engine = mrg_zalloc(sizeof(**ret_engine));
    (*ret_engine)->ops = ops;
    atomic_fetch_add(&rig_of(*ret_engine)->created, 1);
    return MRG_ERR_OK;
}

static enum mrg_err rig_create_cassette(const struct mrg_engine_env *env, struct mrg_engine **ret_engine,
                                        struct mrg_error *err)
{
    (void)env, (void)err;
    return rig_create(&rig_cassette_ops, ret_engine);
}

static enum mrg_err rig_create_llm(const struct mrg_engine_env *env, struct mrg_engine **ret_engine,
                                   struct mrg_error *err)
{
    (void)env, (void)err;
    return rig_create(&rig_llm_ops, ret_engine);
}

static void rig_destroy(struct mrg_engine *engine)
{
    atomic_fetch_add(&rig_of(engine)->destroyed, 1);
    free(engine);
}

static enum mrg_verdict rig_answer(struct mrg_engine *engine, struct mrg_exchange *exchange)
{
    struct rig_engine *fake = rig_of(engine);
    atomic_fetch_add(&fake->asked, 1);
    return fake->answer ? fake->answer(exchange) : MRG_PASSED;
}

static void rig_cancel(struct mrg_engine *engine, struct mrg_exchange *exchange)
{
    struct rig_engine *fake = rig_of(engine);
    atomic_fetch_add(exchange ? &fake->cancelled : &fake->cancelled_all, 1);
    if (fake->cancel)
        fake->cancel(exchange);
}

static void rig_answered(struct mrg_engine *engine, struct mrg_exchange *exchange, struct mrg_record *record)
{
    struct rig_engine *fake = rig_of(engine);
    assert_non_null(record->reply);
    atomic_fetch_add(&fake->answered, 1);
    if (fake->heard)
        fake->heard(exchange);
}

const struct mrg_engine_ops rig_cassette_ops = {"cassette", rig_create_cassette, rig_destroy,
                                                rig_answer, rig_cancel,          rig_answered};
const struct mrg_engine_ops rig_llm_ops = {"llm",      rig_create_llm, rig_destroy,
                                           rig_answer, rig_cancel,     rig_answered};
#ifndef RIG_LLM_OPS /* a test of the real engine says so before it includes this file */
#define RIG_LLM_OPS rig_llm_ops
#endif
const struct mrg_engine_ops *const mrg_engines[] = {&rig_cassette_ops, &RIG_LLM_OPS, NULL};
static struct mrg_services *rig_services; /* for engines that are made */

/* An answer: 200 and `json`, from `source`. */
static inline enum mrg_verdict rig_reply(struct mrg_exchange *exchange, const char *source, const char *json)
{
    mrg_reply_json(exchange->arena, &exchange->reply, 200, mrg_slice_of(json));
    exchange->reply.source = source;
    return MRG_ANSWERED;
}

static inline enum mrg_verdict rig_inline(struct mrg_exchange *exchange)
{
    return rig_reply(exchange, "llm", "{\"ok\":true}");
}

static inline enum mrg_verdict rig_fail(struct mrg_exchange *exchange)
{
    mrg_reply_fail(exchange->arena, &exchange->reply, 500, "the model gave no usable reply");
    return MRG_ANSWERED;
}

/* Exchanges that wait in an engine until the test takes them out; first in, first out. */
struct rig_hold {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct mrg_exchange *items[64];
    size_t count;
};
static struct rig_hold rig_held = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static inline enum mrg_verdict rig_pend(struct mrg_exchange *exchange)
{
    pthread_mutex_lock(&rig_held.lock);
    assert_true(rig_held.count < MRG_ARRAY_LEN(rig_held.items));
    rig_held.items[rig_held.count++] = exchange;
    pthread_cond_broadcast(&rig_held.more);
    pthread_mutex_unlock(&rig_held.lock);
    return MRG_PENDING;
}

/* Waits for one. */
static inline struct mrg_exchange *rig_take(void)
{
    pthread_mutex_lock(&rig_held.lock);
    while (rig_held.count == 0)
        pthread_cond_wait(&rig_held.more, &rig_held.lock);
    struct mrg_exchange *exchange = rig_held.items[0];
    rig_held.count--;
    memmove(rig_held.items, rig_held.items + 1, rig_held.count * sizeof(rig_held.items[0]));
    pthread_mutex_unlock(&rig_held.lock);
    return exchange;
}

static inline void rig_release(struct mrg_exchange *exchange)
{
    mrg_turn_resume(exchange, rig_inline(exchange));
}

/* ---- configuration and gateway ---- */

struct rig {
    struct mrg_stats *stats;
    struct mrg_watch *watch;
    struct mrg_gateway *gateway;
};

#define RIG_TWO                                                                                              \
    "control: {listen: 127.0.0.1:0, hosts: [mirage.test]}\n"                                                 \
    "model: {name: m}\n"                                                                                     \
    "dependencies:\n"                                                                                        \
    "  - {name: inventory, listen: {http: 127.0.0.1:0}, prefix: /inventory}\n"                               \
    "  - {name: payment, listen: {http: 127.0.0.1:0}, prefix: /payment}\n"

/* `environ_list` may be NULL. */
static inline struct mrg_config *rig_config_env(const char *yaml, char *const *environ_list)
{
    char path[] = "/tmp/mirage-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, yaml, strlen(yaml)), strlen(yaml));
    close(fd);
    struct mrg_config *config = NULL;
    struct mrg_buf errors;
    mrg_buf_init(&errors, SIZE_MAX);
    enum mrg_err code = mrg_config_load(path, environ_list, NULL, 0, &config, &errors);
    unlink(path);
    if (code)
        fail_msg("%s", errors.data ? errors.data : "no configuration");
    mrg_buf_done(&errors);
    return config;
}

static inline struct mrg_config *rig_config(const char *yaml)
{
    return rig_config_env(yaml, NULL);
}

static inline void rig_take_over(struct rig *rig, struct mrg_config *config)
{
    struct mrg_dependency *dependencies[64];
    assert_true(config->dependency_count <= MRG_ARRAY_LEN(dependencies));
    for (size_t i = 0; i < config->dependency_count; i++) {
        struct mrg_error err;
        assert_int_equal(mrg_dependency_new(config, &config->dependencies[i], NULL, NULL, NULL, rig_services,
                                            rig->stats, &dependencies[i], &err),
                         MRG_ERR_OK);
    }
    mrg_gateway_configure(rig->gateway, config, dependencies, config->dependency_count);
    for (size_t i = 0; i < config->dependency_count; i++)
        mrg_dependency_unref(dependencies[i]);
}

static inline void rig_configure(struct rig *rig, const char *yaml)
{
    struct mrg_config *config = rig_config(yaml);
    rig_take_over(rig, config);
    mrg_config_unref(config);
}

static inline void rig_start(struct rig *rig, const char *yaml)
{
    memset(rig_engines, 0, sizeof(rig_engines));
    RIG_LLM->answer = rig_inline;
    rig->stats = mrg_stats_new();
    rig->watch = NULL;
    rig->gateway = mrg_gateway_new(rig->stats, NULL);
    rig_configure(rig, yaml);
}

/* Asserts that nothing is in flight and that each engine made has been destroyed. */
static inline void rig_stop(struct rig *rig)
{
    assert_int_equal(rig_held.count, 0);
    assert_int_equal(mrg_gateway_drain(rig->gateway, 60000), 0);
    mrg_gateway_free(rig->gateway);
    mrg_stats_free(rig->stats);
    for (size_t i = 0; i < MRG_ARRAY_LEN(rig_engines); i++)
        assert_int_equal(rig_engines[i].created, rig_engines[i].destroyed);
}

/* ---- calls ---- */

struct call {
    struct mrg_exchange *exchange; /* the adapter's reference */
    atomic_int delivered;          /* how often */
    sem_t done;
    /* What an engine saw that called call_note */
    unsigned nth;
    size_t window_len;
    uint64_t committed; /* exchanges of the state so far */
    mrg_place place;
    int order; /* of all calls that were noted, from 1 */
};

static inline void call_on_deliver(struct mrg_exchange *exchange)
{
    struct call *call = exchange->adapter;
    atomic_fetch_add(&call->delivered, 1);
    sem_post(&call->done);
}

/* `door` is borrowed. `line`, `headers` and `body` as in sample.h. */
static inline struct call *call_new(struct mrg_door *door, const char *line, const char *headers,
                                    const char *body)
{
    struct call *call = mrg_zalloc(sizeof(*call));
    sem_init(&call->done, 0, 0);
    call->exchange = mrg_exchange_new(0, call_on_deliver);
    call->exchange->adapter = call;
    call->exchange->door = mrg_door_ref(door);
    call->exchange->request = sample(call->exchange->arena, line, headers, body);
    return call;
}

static inline void call_submit(struct rig *rig, struct call *call)
{
    call->exchange->received_us = mrg_clock_us();
    mrg_gateway_submit(rig->gateway, call->exchange);
}

static inline struct call *call_send(struct rig *rig, struct mrg_door *door, const char *line,
                                     const char *headers, const char *body)
{
    struct call *call = call_new(door, line, headers, body);
    call_submit(rig, call);
    return call;
}

static inline bool call_delivered(struct call *call)
{
    return atomic_load(&call->delivered) > 0;
}

/* Waits for the reply; borrowed until call_free. */
static inline const struct mrg_reply *call_wait(struct call *call)
{
    while (sem_wait(&call->done) != 0)
        continue;
    sem_post(&call->done);
    return &call->exchange->reply;
}

static inline void call_free(struct call *call)
{
    call_wait(call);
    assert_int_equal(call->delivered, 1);
    mrg_exchange_unref(call->exchange);
    sem_destroy(&call->done);
    free(call);
}

static atomic_int call_notes;

/* For engines: what the exchange finds of its state, for the test to look at after its reply. */
static inline void call_note(struct mrg_exchange *exchange)
{
    struct call *call = exchange->adapter;
    call->nth = exchange->nth;
    call->window_len = exchange->state->window_len;
    call->committed = exchange->state->exchanges;
    call->place = exchange->place;
    assert_int_equal(exchange->place, exchange->state->place);
    call->order = atomic_fetch_add(&call_notes, 1) + 1;
}

static inline enum mrg_verdict rig_noted(struct mrg_exchange *exchange)
{
    call_note(exchange);
    return rig_inline(exchange);
}

static inline enum mrg_verdict rig_noted_pend(struct mrg_exchange *exchange)
{
    call_note(exchange);
    return rig_pend(exchange);
}

/* Sends and waits. */
static inline struct call *call_do(struct rig *rig, struct mrg_door *door, const char *line,
                                   const char *headers, const char *body)
{
    struct call *call = call_send(rig, door, line, headers, body);
    call_wait(call);
    return call;
}

/* Sends, waits and asserts the status; returns the body, which the caller frees. */
static inline char *call_text(struct rig *rig, struct mrg_door *door, const char *line, const char *headers,
                              const char *body, int status)
{
    struct call *call = call_do(rig, door, line, headers, body);
    const struct mrg_reply *reply = &call->exchange->reply;
    char *text = mrg_strndup(reply->body.bytes.ptr, reply->body.bytes.len);
    if (reply->status != status)
        fail_msg("%s: %d %s; expected %d", line, reply->status, text, status);
    call_free(call);
    return text;
}

/* The same, asserting that the body holds `part`. */
static inline void call_expect(struct rig *rig, struct mrg_door *door, const char *line, const char *headers,
                               const char *body, int status, const char *part)
{
    _cleanup_free_ char *text = call_text(rig, door, line, headers, body, status);
    if (!strstr(text, part))
        fail_msg("%s: %s; expected in it: %s", line, text, part);
}
