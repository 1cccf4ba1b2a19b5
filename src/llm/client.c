// SPDX-License-Identifier: Apache-2.0
#include "llm/llm.h"

#include <curl/curl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "core/limits.h"
#include "llm/schedule.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/log.h"
#include "util/thread.h"

/* What each waiting request holds; replies are small, and uploads are not what takes the time. */
#define RECEIVE_BUFFER 2048L
#define UPLOAD_BUFFER  16384L
#define MAX_POLL_MS    60000
#define PAUSE_MS       100 /* after the library failed, so that the thread does not spin */

/*
 * The lock is never held while a callback runs or curl is called. It guards the two lists and the flag;
 * everything below them belongs to the thread alone.
 */
struct mrg_llm_client {
    pthread_mutex_t lock;
    struct mrg_list incoming; /* calls that were started */
    struct mrg_list cancels;  /* calls that are to end */
    bool stopping;

    pthread_t thread;
    CURLM *multi;
    struct mrg_llm_schedule schedule;
    long connections; /* kept open at most */
};

/* ---- one transfer ---- */

static size_t on_read(char *bytes, size_t size, size_t count, void *arg)
{
    return mrg_llm_call_read(arg, bytes, size * count);
}

static int on_seek(void *arg, curl_off_t offset, int origin)
{
    if (offset != 0 || origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    mrg_llm_call_open(arg);
    return CURL_SEEKFUNC_OK;
}

static size_t on_write(char *bytes, size_t size, size_t count, void *arg)
{
    struct mrg_llm_call *call = arg;
    mrg_buf_append(&call->body, bytes, size * count);
    return mrg_buf_failed(&call->body) ? 0 : size * count;
}

static void free_headers(void *headers)
{
    curl_slist_free_all(headers);
}

static void *make_headers(const struct mrg_llm_lane *lane)
{
    const struct mrg_llm_wire_ops *wire = mrg_llm_wire(lane->provider);
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
    list = curl_slist_append(list, "Accept: application/json");
    list = curl_slist_append(list, "Expect:");
    for (size_t i = 0; wire->headers[i]; i++)
        list = curl_slist_append(list, wire->headers[i]);
    if (lane->key) {
        _cleanup_free_ char *line = mrg_asprintf("%s%s", wire->key_header, lane->key);
        list = curl_slist_append(list, line);
        explicit_bzero(line, strlen(line));
    }
    MRG_ASSERT(list);
    return list;
}

static bool set_up(CURL *easy, struct mrg_llm_call *call)
{
    uint64_t timeout = call->model->timeout_ms < LONG_MAX ? call->model->timeout_ms : LONG_MAX;
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_URL, call->lane->url);
#define SET(option, value) rc = rc == CURLE_OK ? curl_easy_setopt(easy, option, value) : rc
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PRIVATE, call);
    SET(CURLOPT_ERRORBUFFER, call->fault_text);
    SET(CURLOPT_HTTPHEADER, call->lane->headers);
    SET(CURLOPT_USERAGENT, "mirage");
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->size);
    SET(CURLOPT_READFUNCTION, on_read);
    SET(CURLOPT_READDATA, call);
    SET(CURLOPT_SEEKFUNCTION, on_seek);
    SET(CURLOPT_SEEKDATA, call);
    SET(CURLOPT_WRITEFUNCTION, on_write);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_BUFFERSIZE, RECEIVE_BUFFER);
    SET(CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)MRG_LLM_CONNECT_MS);
    SET(CURLOPT_TIMEOUT_MS, (long)timeout);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
#undef SET
    return rc == CURLE_OK;
}

static void close_transfer(struct mrg_llm_client *client, struct mrg_llm_call *call)
{
    if (call->transfer) {
        curl_multi_remove_handle(client->multi, call->transfer);
        curl_easy_cleanup(call->transfer);
        call->transfer = NULL;
    }
    free(MRG_TAKE(call->fault_text));
    mrg_llm_schedule_land(call);
}

static enum mrg_llm_fault fault_of(CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return MRG_LLM_FAULT_NONE;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
        return MRG_LLM_FAULT_CONNECT;
    case CURLE_OPERATION_TIMEDOUT:
        return MRG_LLM_FAULT_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
        return MRG_LLM_FAULT_TLS;
    case CURLE_WRITE_ERROR:
    case CURLE_FILESIZE_EXCEEDED:
        return MRG_LLM_FAULT_SIZE;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_FAILED_INIT:
    case CURLE_NOT_BUILT_IN:
        return MRG_LLM_FAULT_SETUP;
    default:
        return MRG_LLM_FAULT_LOST;
    }
}

/* ---- a call's way ---- */

static void finish(struct mrg_llm_client *client, struct mrg_llm_call *call)
{
    mrg_llm_call_finish(call);
    pthread_mutex_lock(&client->lock);
    if (mrg_list_linked(&call->cancel_node))
        mrg_list_remove(&call->cancel_node);
    pthread_mutex_unlock(&client->lock);
    mrg_llm_schedule_release(call);
    mrg_llm_call_free(call);
}

/* The attempt is over and its transfer closed. */
static void take(struct mrg_llm_client *client, struct mrg_llm_call *call,
                 const struct mrg_llm_attempt *attempt)
{
    uint64_t wait = 0;
    switch (mrg_llm_call_take(call, attempt, &wait)) {
    case MRG_LLM_FINISH:
        finish(client, call);
        break;
    case MRG_LLM_AGAIN:
        mrg_llm_schedule_again(call);
        break;
    case MRG_LLM_WAIT:
        mrg_llm_schedule_wait(&client->schedule, call, mrg_clock_ms() + wait);
        break;
    }
}

static void send_off(struct mrg_llm_client *client, struct mrg_llm_call *call)
{
    mrg_llm_call_open(call);
    call->fault_text = mrg_zalloc(CURL_ERROR_SIZE);
    call->transfer = curl_easy_init();
    if (call->transfer && set_up(call->transfer, call) &&
        curl_multi_add_handle(client->multi, call->transfer) == CURLM_OK)
        return;
    struct mrg_llm_attempt attempt = {.fault = MRG_LLM_FAULT_SETUP, .detail = "curl refuses it"};
    close_transfer(client, call);
    take(client, call, &attempt);
}

static void admit(struct mrg_llm_client *client, struct mrg_llm_call *call)
{
    if (mrg_llm_schedule_admit(&client->schedule, call)) {
        call->lane->headers = make_headers(call->lane);
        call->lane->free_headers = free_headers;
    }
    long places = mrg_llm_schedule_places(&client->schedule);
    if (places > client->connections) {
        client->connections = places;
        curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, places);
    }
}

static void drop(struct mrg_llm_client *client, struct mrg_llm_call *call)
{
    if (call->state == MRG_LLM_ACTIVE)
        close_transfer(client, call);
    mrg_llm_call_fail(call, MRG_ERR_CANCELLED, mrg_strdup("the call was cancelled"));
    finish(client, call);
}

/* ---- the thread ---- */

/* One at a time, because on_done may change the lists. */
static struct mrg_llm_call *next_incoming(struct mrg_llm_client *client)
{
    pthread_mutex_lock(&client->lock);
    struct mrg_list *node = mrg_list_pop(&client->incoming);
    struct mrg_llm_call *call = node ? MRG_CONTAINER_OF(node, struct mrg_llm_call, node) : NULL;
    if (call)
        call->state = MRG_LLM_QUEUED;
    pthread_mutex_unlock(&client->lock);
    return call;
}

static struct mrg_llm_call *next_cancel(struct mrg_llm_client *client)
{
    pthread_mutex_lock(&client->lock);
    struct mrg_list *node = mrg_list_pop(&client->cancels);
    struct mrg_llm_call *call = node ? MRG_CONTAINER_OF(node, struct mrg_llm_call, cancel_node) : NULL;
    if (call && call->state == MRG_LLM_INCOMING)
        mrg_list_remove(&call->node);
    pthread_mutex_unlock(&client->lock);
    return call;
}

static void take_commands(struct mrg_llm_client *client)
{
    struct mrg_llm_call *call;
    while ((call = next_incoming(client)))
        admit(client, call);
    while ((call = next_cancel(client)))
        drop(client, call);
}

static void reap(struct mrg_llm_client *client)
{
    CURLMsg *message;
    int left = 0;
    while ((message = curl_multi_info_read(client->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        struct mrg_llm_call *call = NULL;
        struct curl_header *header = NULL;
        struct mrg_llm_attempt attempt = {.fault = fault_of(message->data.result)};
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &attempt.status);
        _cleanup_free_ char *detail =
            mrg_strdup(call->fault_text[0] ? call->fault_text : curl_easy_strerror(message->data.result));
        _cleanup_free_ char *retry_after = NULL;
        if (curl_easy_header(message->easy_handle, "Retry-After", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
            retry_after = mrg_strdup(header->value);
        attempt.detail = detail;
        attempt.retry_after = retry_after;
        close_transfer(client, call);
        take(client, call, &attempt);
    }
}

static bool is_stopping(struct mrg_llm_client *client)
{
    pthread_mutex_lock(&client->lock);
    bool stopping = client->stopping;
    pthread_mutex_unlock(&client->lock);
    return stopping;
}

/* Out of memory, or a fault of the library's: no attempt can be relied on. Each ends as one whose connection
 * was lost, which tries again later. */
static void give_up_active(struct mrg_llm_client *client, CURLMcode code)
{
    _cleanup_free_ char *detail = mrg_asprintf("libcurl: %s", curl_multi_strerror(code));
    mrg_log(MRG_LOG_DEBUG, "The model's client failed; %s", detail);
    const struct mrg_llm_attempt attempt = {.fault = MRG_LLM_FAULT_LOST, .detail = detail};
    while (!mrg_list_empty(&client->schedule.active)) {
        struct mrg_llm_call *call = MRG_CONTAINER_OF(client->schedule.active.next, struct mrg_llm_call, node);
        close_transfer(client, call);
        take(client, call, &attempt);
    }
    poll(NULL, 0, PAUSE_MS);
}

static void *run(void *arg)
{
    struct mrg_llm_client *client = arg;
    struct mrg_llm_call *call;
    int running = 0;
    while (!is_stopping(client)) {
        take_commands(client);
        while ((call = mrg_llm_schedule_next(&client->schedule, mrg_clock_ms())))
            send_off(client, call);
        int idle_ms = mrg_llm_schedule_idle(&client->schedule, mrg_clock_ms(), MAX_POLL_MS);
        CURLMcode code = curl_multi_poll(client->multi, NULL, 0, idle_ms, NULL);
        if (code == CURLM_OK)
            code = curl_multi_perform(client->multi, &running);
        reap(client);
        if (code != CURLM_OK)
            give_up_active(client, code);
    }
    /* Nothing comes in any more. */
    take_commands(client);
    while ((call = mrg_llm_schedule_any(&client->schedule)))
        drop(client, call);
    return NULL;
}

/* ---- for all threads ---- */

enum mrg_err mrg_llm_client_new(struct mrg_llm_client **ret_client, struct mrg_error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "libcurl does not start");
    struct mrg_llm_client *client = mrg_zalloc(sizeof(*client));
    pthread_mutex_init(&client->lock, NULL);
    mrg_list_init(&client->incoming);
    mrg_list_init(&client->cancels);
    mrg_llm_schedule_init(&client->schedule);
    client->multi = curl_multi_init();
    MRG_ASSERT(client->multi);

    /* SIGPIPE, which OpenSSL may raise, is no news to curl. */
    int rc = mrg_thread_start(&client->thread, "mirage-llm", run, client);
    if (rc != 0) {
        curl_multi_cleanup(client->multi);
        pthread_mutex_destroy(&client->lock);
        free(client);
        curl_global_cleanup();
        return mrg_error_set(err, MRG_ERR_INTERNAL, "no thread for the model's client: %s", strerror(rc));
    }
    *ret_client = client;
    return MRG_ERR_OK;
}

void mrg_llm_client_free(struct mrg_llm_client *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&client->lock);
    client->stopping = true;
    pthread_mutex_unlock(&client->lock);
    curl_multi_wakeup(client->multi);
    pthread_join(client->thread, NULL);
    curl_multi_cleanup(client->multi);
    pthread_mutex_destroy(&client->lock);
    free(client);
    curl_global_cleanup();
}

enum mrg_err mrg_llm_start(struct mrg_llm_client *client, const struct mrg_llm_request *request,
                           struct mrg_llm_call **ret_call, struct mrg_error *err)
{
    struct mrg_llm_call *call = NULL;
    enum mrg_err rc = mrg_llm_call_new(request, &call, err);
    if (rc != MRG_ERR_OK)
        return rc;
    call->state = MRG_LLM_INCOMING;
    pthread_mutex_lock(&client->lock);
    bool stopping = client->stopping;
    if (!stopping) {
        if (ret_call)
            *ret_call = call;
        mrg_list_append(&client->incoming, &call->node);
    }
    pthread_mutex_unlock(&client->lock);
    if (stopping) {
        mrg_llm_call_free(call);
        return mrg_error_set(err, MRG_ERR_CANCELLED, "the server is stopping");
    }
    curl_multi_wakeup(client->multi);
    return MRG_ERR_OK;
}

void mrg_llm_cancel(struct mrg_llm_client *client, struct mrg_llm_call *call)
{
    pthread_mutex_lock(&client->lock);
    if (!mrg_list_linked(&call->cancel_node))
        mrg_list_append(&client->cancels, &call->cancel_node);
    pthread_mutex_unlock(&client->lock);
    curl_multi_wakeup(client->multi);
}
