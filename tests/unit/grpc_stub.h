// SPDX-License-Identifier: Apache-2.0
/*
 * A gateway with two dependencies that have protos, the gRPC transport in front of it, and a client of the C core. For the tests
 * of transports/grpc only.
 *
 * What the engine answers a test says in the call's metadata: `x-reply` is the reply's text form (core/reply.h), `x-later` is
 * anything: another thread delivers, `x-hold`: when the test says so (stub_release). Without x-reply it is 200 and what the
 * engine was asked, as the field `asked`.
 */
#pragma once

#include "rig.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <ftw.h>
#include <stdlib.h>

#include "transports/grpc/grpc.h"
#include "util/json.h"
#include "wire/proto.h"
#include "wire/schema.h"

#define STUB_PATIENCE_S 30 /* only a failing test waits so long */

/* `asked` takes what the engine saw; a Page is what the tests send and get. */
static const char stub_proto[] = "syntax = \"proto3\";\n"
                                 "package %s.v1;\n"
                                 "message Page { string text = 1; int64 number = 2; repeated Page inner = 3; "
                                 "string asked = 4; bytes data = 5; }\n"
                                 "service %s {\n"
                                 "  rpc Read(Page) returns (Page);\n"
                                 "  rpc Write(Page) returns (Page);\n"
                                 "  rpc Follow(Page) returns (stream Page);\n"
                                 "  rpc Collect(stream Page) returns (Page);\n"
                                 "}\n";

static struct {
    struct rig rig;
    struct mrg_watch *watch;
    struct mrg_transport *transport;
    struct mrg_config *config;
    struct mrg_door *door;   /* of inventory */
    struct mrg_door *shared; /* of both */
    char folder[64];
    pthread_t thread;
    bool stop;
    pthread_mutex_t lock; /* guards the queue */
    pthread_cond_t more;
    struct mrg_exchange *later[4096];
    size_t later_count;
    struct mrg_exchange *held[64];
    size_t held_count;
    size_t gone; /* calls that the engine was told to cancel */
} stub = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

/* ---- the engine ---- */

static void stub_answer(struct mrg_exchange *exchange)
{
    const struct mrg_slice *reply = mrg_request_header(exchange->shown, "x-reply");
    struct mrg_error err;
    if (reply) {
        if (mrg_reply_parse(exchange->arena, *reply, &exchange->reply, &err))
            mrg_reply_fail(exchange->arena, &exchange->reply, 500, "x-reply: %s", err.message);
        else if (exchange->fits && mrg_request_header(exchange->shown, "x-strict") &&
                 exchange->fits(exchange, &exchange->reply, &err))
            mrg_reply_fail(exchange->arena, &exchange->reply, 500, "it does not fit: %s", err.message);
    } else {
        struct mrg_buf asked, body;
        mrg_buf_init(&asked, SIZE_MAX);
        mrg_buf_init(&body, SIZE_MAX);
        mrg_request_append_json(&asked, exchange->shown, NULL, NULL);
        mrg_buf_append_str(&body, "{\"asked\":");
        mrg_json_append_string(&body, mrg_buf_slice(&asked));
        mrg_buf_append_char(&body, '}');
        mrg_reply_json(exchange->arena, &exchange->reply, 200, mrg_buf_slice(&body));
        mrg_buf_done(&asked);
        mrg_buf_done(&body);
    }
    exchange->reply.source = "llm";
}

static enum mrg_verdict stub_ask(struct mrg_exchange *exchange)
{
    bool later = mrg_request_header(exchange->shown, "x-later");
    if (!later && !mrg_request_header(exchange->shown, "x-hold")) {
        stub_answer(exchange);
        return MRG_ANSWERED;
    }
    pthread_mutex_lock(&stub.lock);
    if (later)
        stub.later[stub.later_count++] = exchange;
    else
        stub.held[stub.held_count++] = exchange;
    pthread_cond_broadcast(&stub.more);
    pthread_mutex_unlock(&stub.lock);
    return MRG_PENDING;
}

static void *stub_run(void *data)
{
    (void)data;
    pthread_mutex_lock(&stub.lock);
    while (!stub.stop) {
        if (stub.later_count == 0) {
            pthread_cond_wait(&stub.more, &stub.lock);
            continue;
        }
        struct mrg_exchange *exchange = stub.later[--stub.later_count];
        pthread_mutex_unlock(&stub.lock);
        stub_answer(exchange);
        mrg_turn_resume(exchange, MRG_ANSWERED);
        pthread_mutex_lock(&stub.lock);
    }
    pthread_mutex_unlock(&stub.lock);
    return NULL;
}

/* Waits until the counter has come so far; `what` is shown when it has not. */
static inline void stub_await(const size_t *counter, size_t least, const char *what)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STUB_PATIENCE_S;
    pthread_mutex_lock(&stub.lock);
    int late = 0;
    while (*counter < least && late == 0)
        late = pthread_cond_timedwait(&stub.more, &stub.lock, &until);
    size_t reached = *counter;
    pthread_mutex_unlock(&stub.lock);
    if (reached < least)
        fail_msg("%zu of %zu %s within %d s", reached, least, what, STUB_PATIENCE_S);
}

static inline void stub_await_held(size_t count)
{
    stub_await(&stub.held_count, count, "calls are held");
}

static inline void stub_await_gone(size_t count)
{
    stub_await(&stub.gone, count, "calls are cancelled");
}

/* Answers all that is held, on this thread. */
static inline void stub_release(void)
{
    for (;;) {
        pthread_mutex_lock(&stub.lock);
        struct mrg_exchange *exchange = stub.held_count > 0 ? stub.held[--stub.held_count] : NULL;
        pthread_mutex_unlock(&stub.lock);
        if (!exchange)
            return;
        stub_answer(exchange);
        mrg_turn_resume(exchange, MRG_ANSWERED);
    }
}

static void stub_cancel(struct mrg_exchange *exchange)
{
    if (!exchange)
        return;
    pthread_mutex_lock(&stub.lock);
    stub.gone++;
    pthread_cond_broadcast(&stub.more);
    pthread_mutex_unlock(&stub.lock);
}

/* ---- set-up ---- */

static struct mrg_shape *stub_shape(const char *package, const char *service)
{
    char path[128], name[64];
    char *root = stub.folder, *file = name;
    snprintf(name, sizeof(name), "%s.proto", package);
    snprintf(path, sizeof(path), "%s/%s", stub.folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    fprintf(out, stub_proto, package, service);
#pragma GCC diagnostic pop
    fclose(out);
    const struct mrg_protos_config protos = {.roots = {&root, 1}, .files = {&file, 1}};
    const struct mrg_schema_source source = {.protos = &protos};
    struct mrg_schema *schema = NULL;
    struct mrg_error err;
    if (mrg_schema_load(&source, &schema, &err))
        fail_msg("%s", err.message);
    unlink(path);
    return mrg_schema_shape(schema);
}

/* Takes over the configuration with dependencies inventory and payment, which have the services Inventory and Payment. */
static void stub_configure(void)
{
    static const char *const packages[] = {"inventory", "payment"}, *const services[] = {"Inventory",
                                                                                         "Payment"};
    struct mrg_dependency *dependencies[2];
    struct mrg_config *config = stub.config;
    for (size_t i = 0; i < 2; i++) {
        struct mrg_error err;
        assert_int_equal(mrg_dependency_new(config, &config->dependencies[i], NULL, NULL,
                                            stub_shape(packages[i], services[i]), rig_services,
                                            stub.rig.stats, &dependencies[i], &err),
                         MRG_ERR_OK);
    }
    mrg_gateway_configure(stub.rig.gateway, config, dependencies, 2);
    mrg_dependency_unref(dependencies[0]);
    mrg_dependency_unref(dependencies[1]);
}

static struct mrg_door *stub_open(enum mrg_door_kind kind, const char *dependency, const char *session)
{
    struct mrg_error err;
    struct mrg_door *door = mrg_door_new(kind, dependency, session);
    if (mrg_transport_grpc.open(stub.transport, "127.0.0.1:0", door, &err))
        fail_msg("%s", err.message);
    return door;
}

#define STUB_YAML                                                                                            \
    "model: {name: m}\n"                                                                                     \
    "dependencies:\n"                                                                                        \
    "  - {name: inventory, listen: {http: 127.0.0.1:0}, on_gone: drop}\n"                                    \
    "  - {name: payment, listen: {http: 127.0.0.1:0}, on_gone: drop}\n"

static inline int stub_set_up(void **state)
{
    (void)state;
    grpc_init();
    struct mrg_error err;
    memset(rig_engines, 0, sizeof(rig_engines));
    RIG_LLM->answer = stub_ask;
    RIG_LLM->cancel = stub_cancel;
    stub.stop = false;
    stub.gone = 0;
    snprintf(stub.folder, sizeof(stub.folder), "/tmp/mirage-grpc-XXXXXX");
    assert_non_null(mkdtemp(stub.folder));
    setenv("XDG_CACHE_HOME", stub.folder, 1);
    stub.config = rig_config(STUB_YAML);
    stub.rig.stats = mrg_stats_new();
    assert_int_equal(mrg_watch_new(&stub.watch, &err), MRG_ERR_OK);
    stub.rig.gateway = mrg_gateway_new(stub.rig.stats, stub.watch);
    stub_configure();
    const struct mrg_transport_env env = {stub.rig.gateway, stub.watch, stub.config};
    assert_int_equal(mrg_transport_grpc.start(&env, &stub.transport, &err), MRG_ERR_OK);
    mrg_gateway_add_transport(stub.rig.gateway, stub.transport);
    stub.door = stub_open(MRG_DOOR_DEPENDENCY, "inventory", NULL);
    stub.shared = stub_open(MRG_DOOR_SHARED, NULL, NULL);
    assert_int_equal(pthread_create(&stub.thread, NULL, stub_run, NULL), 0);
    return 0;
}

static inline void stub_stop_transport(void)
{
    mrg_transport_grpc.stop(MRG_TAKE(stub.transport));
}

static int stub_remove(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static inline int stub_tear_down(void **state)
{
    (void)state;
    if (stub.transport)
        mrg_transport_grpc.quiesce(stub.transport);
    stub_release();
    assert_int_equal(mrg_gateway_drain(stub.rig.gateway, 60000), 0);
    pthread_mutex_lock(&stub.lock);
    stub.stop = true;
    pthread_cond_broadcast(&stub.more);
    pthread_mutex_unlock(&stub.lock);
    pthread_join(stub.thread, NULL);
    if (stub.transport)
        stub_stop_transport();
    mrg_door_unref(stub.door);
    mrg_door_unref(stub.shared);
    mrg_config_unref(stub.config);
    rig_stop(&stub.rig);
    mrg_watch_free(stub.watch);
    nftw(stub.folder, stub_remove, 8, FTW_DEPTH | FTW_PHYS);
    grpc_shutdown();
    return 0;
}
