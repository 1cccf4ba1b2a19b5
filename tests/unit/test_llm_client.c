// SPDX-License-Identifier: Apache-2.0
/* The client's threads: calls started and cancelled from many at once, at an address where nobody listens. What it
 * says to a provider is tested by tests/wire/test_llm_client.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "llm/llm.h"
#include "util/clock.h"

#define THREADS 4
#define CALLS   150

/* One call and its owner's lock, as an engine would have it. */
struct ask {
    pthread_mutex_t lock;
    struct mrg_llm_call *call; /* NULL once it has ended */
    unsigned done;
    enum mrg_err code;
};

static struct mrg_llm_client *client;
static struct mrg_model_config model = {
    .name = (char *)"m", .timeout_ms = 5000, .retries = 1, .concurrency = 5};
static struct mrg_text *prompt;
static struct ask asks[THREADS][CALLS];
static atomic_uint again; /* calls that on_done started */
static int deaf = -1;     /* a socket that holds a port and does not listen */

static int set_up(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    deaf = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (deaf < 0 || bind(deaf, (struct sockaddr *)&address, len) != 0 ||
        getsockname(deaf, (struct sockaddr *)&address, &len) != 0)
        return -1;
    model.base_url = mrg_asprintf("http://127.0.0.1:%d/v1", ntohs(address.sin_port));
    prompt = mrg_text_new("a prompt", 8);
    return mrg_llm_client_new(&client, NULL) == MRG_ERR_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mrg_llm_client_free(client);
    free(model.base_url);
    mrg_text_unref(prompt);
    close(deaf);
    return 0;
}

static struct mrg_llm_request request_of(struct mrg_llm_message *message, mrg_llm_done_fn on_done, void *ctx)
{
    *message = (struct mrg_llm_message){MRG_LLM_USER, mrg_text_new("hello", 5)};
    return (struct mrg_llm_request){.model = &model,
                                    .system = prompt,
                                    .messages = message,
                                    .message_count = 1,
                                    .on_done = on_done,
                                    .ctx = ctx};
}

static void count_up(void *ctx, const struct mrg_llm_result *result)
{
    (void)result;
    atomic_fetch_add((atomic_uint *)ctx, 1);
}

static void on_done(void *ctx, const struct mrg_llm_result *result)
{
    struct ask *ask = ctx;
    pthread_mutex_lock(&ask->lock);
    ask->call = NULL;
    ask->done++;
    ask->code = result->code;
    pthread_mutex_unlock(&ask->lock);
    struct mrg_llm_message message;
    struct mrg_llm_request request = request_of(&message, count_up, &again);
    mrg_llm_start(client, &request, NULL, NULL);
}

static void *hammer(void *arg)
{
    struct ask *mine = arg;
    for (size_t i = 0; i < CALLS; i++) {
        struct mrg_llm_message message;
        struct mrg_llm_request request = request_of(&message, on_done, &mine[i]);
        pthread_mutex_lock(&mine[i].lock);
        if (mrg_llm_start(client, &request, &mine[i].call, NULL) != MRG_ERR_OK)
            mine[i].done = UINT32_MAX;
        pthread_mutex_unlock(&mine[i].lock);
        struct ask *victim = &mine[i / 2];
        pthread_mutex_lock(&victim->lock);
        if (victim->call && i % 3 == 0)
            mrg_llm_cancel(client, victim->call);
        pthread_mutex_unlock(&victim->lock);
    }
    return NULL;
}

static void every_call_ends_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        for (size_t j = 0; j < CALLS; j++)
            pthread_mutex_init(&asks[i][j].lock, NULL);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, asks[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    mrg_llm_client_free(client);
    client = NULL;

    size_t cancelled = 0;
    for (size_t i = 0; i < THREADS; i++) {
        for (size_t j = 0; j < CALLS; j++) {
            assert_int_equal(asks[i][j].done, 1);
            assert_null(asks[i][j].call);
            assert_true(asks[i][j].code == MRG_ERR_CANCELLED || asks[i][j].code == MRG_ERR_UNAVAILABLE);
            cancelled += asks[i][j].code == MRG_ERR_CANCELLED;
            pthread_mutex_destroy(&asks[i][j].lock);
        }
    }
    assert_true(cancelled > 0);
    assert_int_equal(prompt->refs, 1);
}

struct wait {
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool done;
    enum mrg_err code;
    char message[256];
    unsigned retries;
};

static void on_result(void *ctx, const struct mrg_llm_result *result)
{
    struct wait *wait = ctx;
    pthread_mutex_lock(&wait->lock);
    wait->done = true;
    wait->code = result->code;
    wait->retries = result->retries;
    snprintf(wait->message, sizeof(wait->message), "%s", result->message);
    pthread_cond_signal(&wait->change);
    pthread_mutex_unlock(&wait->lock);
}

static void a_deaf_provider_is_unavailable(void **state)
{
    (void)state;
    struct wait wait = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
    struct mrg_llm_message message;
    struct mrg_llm_request request = request_of(&message, on_result, &wait);
    assert_int_equal(mrg_llm_start(client, &request, NULL, NULL), MRG_ERR_OK);
    pthread_mutex_lock(&wait.lock);
    while (!wait.done)
        pthread_cond_wait(&wait.change, &wait.lock);
    pthread_mutex_unlock(&wait.lock);
    assert_int_equal(wait.code, MRG_ERR_UNAVAILABLE);
    assert_int_equal(wait.retries, 1);
    assert_non_null(strstr(wait.message, model.base_url));
    assert_non_null(strstr(wait.message, "could not be reached"));
}

static void a_call_that_fails_to_start_never_calls_back(void **state)
{
    (void)state;
    atomic_uint calls = 0;
    struct mrg_error err = {0};
    struct mrg_llm_message message;
    struct mrg_llm_request request = request_of(&message, count_up, &calls);
    struct mrg_model_config nameless = model;
    nameless.name = NULL;
    request.model = &nameless;
    struct mrg_llm_call *call = NULL;
    assert_int_equal(mrg_llm_start(client, &request, &call, &err), MRG_ERR_INVALID);
    assert_null(call);
    mrg_llm_client_free(client);
    client = NULL;
    assert_int_equal(calls, 0);
}

/* ---- a library that fails ---- */

enum { FAILURES = 4 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    CURLMcode poll, perform; /* what they say instead of doing anything; 0: they do it */
    unsigned failures;
    uint64_t first_ms, last_ms;
} broken = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

CURLMcode __real_curl_multi_poll(CURLM *multi, struct curl_waitfd *fds, unsigned count, int ms,
                                 int *ret_count);
CURLMcode __wrap_curl_multi_poll(CURLM *multi, struct curl_waitfd *fds, unsigned count, int ms,
                                 int *ret_count);
CURLMcode __real_curl_multi_perform(CURLM *multi, int *ret_running);
CURLMcode __wrap_curl_multi_perform(CURLM *multi, int *ret_running);

static CURLMcode broken_code(const CURLMcode *code)
{
    pthread_mutex_lock(&broken.lock);
    CURLMcode now = *code;
    if (now != CURLM_OK) {
        broken.last_ms = mrg_clock_ms();
        if (broken.failures++ == 0)
            broken.first_ms = broken.last_ms;
        pthread_cond_broadcast(&broken.changed);
    }
    pthread_mutex_unlock(&broken.lock);
    return now;
}

CURLMcode __wrap_curl_multi_poll(CURLM *multi, struct curl_waitfd *fds, unsigned count, int ms,
                                 int *ret_count)
{
    CURLMcode code = broken_code(&broken.poll);
    return code ? code : __real_curl_multi_poll(multi, fds, count, ms, ret_count);
}

CURLMcode __wrap_curl_multi_perform(CURLM *multi, int *ret_running)
{
    CURLMcode code = broken_code(&broken.perform);
    return code ? code : __real_curl_multi_perform(multi, ret_running);
}

static void break_it(CURLMcode poll, CURLMcode perform)
{
    pthread_mutex_lock(&broken.lock);
    broken.failures = 0;
    broken.poll = poll;
    broken.perform = perform;
    pthread_mutex_unlock(&broken.lock);
}

static void expect_unavailable(const char *why)
{
    struct wait wait = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
    struct mrg_llm_message message;
    struct mrg_llm_request request = request_of(&message, on_result, &wait);
    struct mrg_model_config once = model;
    once.retries = 0;
    request.model = &once;
    assert_int_equal(mrg_llm_start(client, &request, NULL, NULL), MRG_ERR_OK);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    int late = 0;
    pthread_mutex_lock(&wait.lock);
    while (!wait.done && late == 0)
        late = pthread_cond_timedwait(&wait.change, &wait.lock, &until);
    pthread_mutex_unlock(&wait.lock);
    assert_int_equal(late, 0);
    assert_int_equal(wait.code, MRG_ERR_UNAVAILABLE);
    if (!strstr(wait.message, why))
        fail_msg("no \"%s\" in: %s", why, wait.message);
}

static void a_library_that_fails_ends_calls_and_does_not_spin(void **state)
{
    (void)state;
    break_it(CURLM_OK, CURLM_INTERNAL_ERROR);
    expect_unavailable("libcurl: Internal error");
    break_it(CURLM_OUT_OF_MEMORY, CURLM_OK);
    expect_unavailable("libcurl: Out of memory");
    pthread_mutex_lock(&broken.lock);
    while (broken.failures < FAILURES)
        pthread_cond_wait(&broken.changed, &broken.lock);
    uint64_t took_ms = broken.last_ms - broken.first_ms;
    pthread_mutex_unlock(&broken.lock);
    break_it(CURLM_OK, CURLM_OK);
    assert_true(took_ms >= (FAILURES - 1) * 50);
    expect_unavailable("could not be reached"); /* it works again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_ends_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_deaf_provider_is_unavailable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_library_that_fails_ends_calls_and_does_not_spin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_that_fails_to_start_never_calls_back, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
