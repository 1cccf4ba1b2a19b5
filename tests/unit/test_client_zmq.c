// SPDX-License-Identifier: Apache-2.0
/* One client over its life, against a peer in this process: what a call that failed leaves behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "clients/client.h"

struct rig {
    void *context;
    void *peer; /* ROUTER */
    char url[64];
    struct mrg_client *client;
    struct mrg_arena *arena;
    char held[256]; /* routing id of a request that was not answered */
    int held_len;   /* 0: none */
};

static void listen_at(struct rig *rig, const char *endpoint)
{
    int linger = 0;
    rig->peer = zmq_socket(rig->context, ZMQ_ROUTER);
    assert_int_equal(zmq_setsockopt(rig->peer, ZMQ_LINGER, &linger, sizeof(linger)), 0);
    assert_int_equal(zmq_bind(rig->peer, endpoint), 0);
}

static int setup(void **state)
{
    struct rig *rig = mrg_zalloc(sizeof(*rig));
    const struct mrg_client_options options = {.timeout_ms = 5000};
    size_t len = sizeof(rig->url) - 4;
    rig->context = zmq_ctx_new();
    rig->arena = mrg_arena_new(0);
    listen_at(rig, "tcp://127.0.0.1:*");
    memcpy(rig->url, "zmq+", 4);
    assert_int_equal(zmq_getsockopt(rig->peer, ZMQ_LAST_ENDPOINT, rig->url + 4, &len), 0);
    assert_int_equal(mrg_client_open(rig->url, &options, &rig->client, NULL, NULL), MRG_ERR_OK);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    mrg_client_close(rig->client);
    if (rig->peer)
        zmq_close(rig->peer);
    zmq_ctx_term(rig->context);
    mrg_arena_free(rig->arena);
    free(rig);
    return 0;
}

/* What the peer does in its thread. */
struct part {
    struct rig *rig;
    int requests; /* to take */
    char reply; /* last digit of the status that answers each; 0: held back until the next one is answered */
};

static void answer(void *peer, const char *id, int len, char digit)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "{\"status\":20%c}", digit);
    zmq_send(peer, id, (size_t)len, ZMQ_SNDMORE);
    zmq_send(peer, "", 0, ZMQ_SNDMORE);
    zmq_send(peer, text, (size_t)size, 0);
}

static void *play(void *arg)
{
    struct part *part = arg;
    struct rig *rig = part->rig;
    for (int i = 0; i < part->requests; i++) {
        char id[256], frame[1024];
        int len = zmq_recv(rig->peer, id, sizeof(id), 0);
        while (zmq_recv(rig->peer, frame, sizeof(frame), 0) == 0)
            ;
        if (rig->held_len > 0)
            answer(rig->peer, rig->held, rig->held_len, '9');
        if (part->reply)
            answer(rig->peer, id, len, part->reply);
        rig->held_len = part->reply ? 0 : len;
        memcpy(rig->held, id, sizeof(id));
    }
    return NULL;
}

/* One call beside a peer that takes `requests`; the status, or minus the error. */
static int call_beside(struct rig *rig, int requests, char answer_digit)
{
    struct part part = {rig, requests, answer_digit};
    const struct mrg_request request = {.method = MRG_SLICE("GET"), .path = MRG_SLICE("/x")};
    struct mrg_client_reply reply;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, play, &part), 0);
    int code = -(int)mrg_client_call(rig->client, &request, rig->arena, &reply, NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return code ? code : reply.reply.status;
}

static void test_calls_follow_each_other(void **state)
{
    struct rig *rig = *state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(call_beside(rig, 1, '1'), 201);
}

static void test_peer_that_comes_back(void **state)
{
    struct rig *rig = *state;
    assert_int_equal(call_beside(rig, 1, '1'), 201);
    zmq_close(rig->peer);
    rig->peer = NULL;
    /* The monitor may say so before or after the request is sent. */
    int code = call_beside(rig, 0, 0);
    assert_true(code == -MRG_ERR_UNAVAILABLE || code == -MRG_ERR_IO);
    listen_at(rig, rig->url + 4);
    assert_int_equal(call_beside(rig, 1, '2'), 202);
}

static void test_late_reply_is_not_the_next_calls(void **state)
{
    struct rig *rig = *state;
    const struct mrg_client_options hasty = {.timeout_ms = 100};
    mrg_client_close(rig->client);
    assert_int_equal(mrg_client_open(rig->url, &hasty, &rig->client, NULL, NULL), MRG_ERR_OK);
    assert_int_equal(call_beside(rig, 1, 0), -MRG_ERR_TIMEOUT);
    assert_int_equal(call_beside(rig, 1, '4'), 204);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_calls_follow_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(test_peer_that_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_reply_is_not_the_next_calls, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
