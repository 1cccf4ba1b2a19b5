// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>
#include <limits.h>
#include <string.h>

#include "clients/client_int.h"
#include "core/limits.h"

struct http_client {
    struct mrg_client base;
    CURL *easy;                  /* keeps the connection between calls */
    char *root;                  /* scheme://host:port as given */
    char *shown;                 /* the same without user and password */
    char *ca_file;               /* or NULL */
    uint64_t timeout_ms;         /* or 0 */
    bool loopback;               /* no proxy of the environment's */
    char fault[CURL_ERROR_SIZE]; /* curl's sentence */
};

static size_t on_write(char *bytes, size_t size, size_t count, void *arg)
{
    struct mrg_buf *body = arg;
    mrg_buf_append(body, bytes, size * count);
    return mrg_buf_failed(body) ? 0 : size * count;
}

static void free_list(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

static void add_line(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    MRG_ASSERT(longer);
    *list = longer;
}

static enum mrg_err make_headers(const struct mrg_request *request, struct curl_slist **list,
                                 struct mrg_error *err)
{
    for (size_t i = 0; i < request->header_count; i++) {
        const struct mrg_header *header = &request->headers[i];
        enum mrg_err code = mrg_client_check_header(header, err);
        if (code)
            return code;
        if (mrg_client_drops(header->name))
            continue;
        /* A semicolon is how curl is told of a header without a value. */
        _cleanup_free_ char *line =
            mrg_asprintf("%.*s%s%.*s", (int)header->name.len, header->name.ptr,
                         header->value.len > 0 ? ": " : ";", (int)header->value.len, header->value.ptr);
        add_line(list, line);
    }
    if (!mrg_request_header(request, "content-type"))
        add_line(list,
                 request->body.kind == MRG_BODY_JSON ? "content-type: application/json" : "Content-Type:");
    add_line(list, "Expect:");
    return MRG_ERR_OK;
}

static enum mrg_err make_url(const struct http_client *client, const struct mrg_request *request,
                             char **ret_url, struct mrg_error *err)
{
    struct mrg_buf url;
    mrg_buf_init(&url, SIZE_MAX);
    mrg_buf_append_str(&url, client->root);
    mrg_buf_append_slice(&url, request->path);
    if (request->query.len > 0) {
        mrg_buf_append_char(&url, '?');
        mrg_buf_append_slice(&url, request->query);
    }
    bool good = request->path.len > 0 && request->path.ptr[0] == '/' &&
                !memchr(request->path.ptr, '?', request->path.len);
    for (size_t i = strlen(client->root); i < url.len && good; i++) {
        unsigned char c = (unsigned char)url.data[i];
        good = c > ' ' && c != 0x7f && c != '#';
    }
    *ret_url = mrg_buf_take(&url, NULL);
    if (good)
        return MRG_ERR_OK;
    return mrg_error_set(err, MRG_ERR_INVALID,
                         "\"%.*s\" is no path; expected it to begin with / and to be percent-encoded",
                         (int)(request->path.len < 200 ? request->path.len : 200), request->path.ptr);
}

static bool sends_body(const struct mrg_request *request)
{
    return request->body.bytes.len > 0 || mrg_slice_eq_str(request->method, "POST") ||
           mrg_slice_eq_str(request->method, "PUT") || mrg_slice_eq_str(request->method, "PATCH");
}

#define SET(option, value) rc = rc == CURLE_OK ? curl_easy_setopt(client->easy, option, value) : rc

static CURLcode set_connection(struct http_client *client)
{
    uint64_t timeout = client->timeout_ms ? client->timeout_ms : MRG_CALL_TIMEOUT_MS;
    CURLcode rc = curl_easy_setopt(client->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_ERRORBUFFER, client->fault);
    SET(CURLOPT_USERAGENT, "mirage/" MRG_VERSION);
    SET(CURLOPT_TIMEOUT_MS, (long)(timeout < LONG_MAX ? timeout : LONG_MAX));
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_PATH_AS_IS, 1L);
    if (client->loopback)
        SET(CURLOPT_PROXY, "");
    if (client->ca_file)
        SET(CURLOPT_CAINFO, client->ca_file);
    return rc;
}

static CURLcode set_request(struct http_client *client, const struct mrg_request *request, const char *url,
                            const char *method, struct curl_slist *headers, struct mrg_buf *body)
{
    CURLcode rc = curl_easy_setopt(client->easy, CURLOPT_URL, url);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_WRITEFUNCTION, on_write);
    SET(CURLOPT_WRITEDATA, body);
    if (strcmp(method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
        return rc;
    }
    if (sends_body(request)) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDS, request->body.bytes.len > 0 ? request->body.bytes.ptr : "");
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.bytes.len);
    }
    SET(CURLOPT_CUSTOMREQUEST, method);
    return rc;
}

static enum mrg_err fault_of(const struct http_client *client, CURLcode code)
{
    curl_off_t connected = 0;
    switch (code) {
    case CURLE_URL_MALFORMAT:
        return MRG_ERR_INVALID;
    case CURLE_OPERATION_TIMEDOUT:
        curl_easy_getinfo(client->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
        return connected > 0 ? MRG_ERR_TIMEOUT : MRG_ERR_UNAVAILABLE;
    case CURLE_WRITE_ERROR:
        return MRG_ERR_TOO_LARGE;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: /* what came is no HTTP/1: the URL's scheme is known to be */
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return MRG_ERR_IO;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
        return MRG_ERR_UNAVAILABLE;
    case CURLE_SSL_CACERT_BADFILE:
        return MRG_ERR_NOT_FOUND;
    default:
        return MRG_ERR_IO;
    }
}

static enum mrg_err complain(const struct http_client *client, CURLcode code, struct mrg_error *err)
{
    if (code == CURLE_WRITE_ERROR)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "%s: the reply's body has more than %u bytes",
                             client->shown, MRG_MAX_REPLY_BODY);
    return mrg_error_set(err, fault_of(client, code), "%s: %s", client->shown,
                         client->fault[0] ? client->fault : curl_easy_strerror(code));
}

static void read_headers(struct http_client *client, struct mrg_arena *arena, unsigned origin,
                         struct mrg_header **ret_headers, size_t *ret_count)
{
    struct mrg_header_list list = {0};
    struct curl_header *header = NULL;
    while ((header = curl_easy_nextheader(client->easy, origin, -1, header)))
        mrg_header_list_add(&list, arena, mrg_slice_of(header->name), mrg_slice_of(header->value));
    *ret_headers = list.items;
    *ret_count = list.count;
}

static void read_reply(struct http_client *client, struct mrg_arena *arena, struct mrg_buf *body,
                       struct mrg_client_reply *ret_reply)
{
    struct mrg_client_reply whole = {0};
    struct mrg_reply *reply = &whole.reply;
    long status = 0;
    curl_off_t total = 0, begun = 0;
    curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(client->easy, CURLINFO_TOTAL_TIME_T, &total);
    curl_easy_getinfo(client->easy, CURLINFO_PRETRANSFER_TIME_T, &begun);
    reply->status = (int)status;
    read_headers(client, arena, CURLH_HEADER, &reply->headers, &reply->header_count);
    read_headers(client, arena, CURLH_TRAILER, &reply->trailers, &reply->trailer_count);
    const struct mrg_slice *type = NULL;
    for (size_t i = 0; i < reply->header_count && !type; i++) {
        if (mrg_slice_eq_str(reply->headers[i].name, "content-type"))
            type = &reply->headers[i].value;
    }
    reply->body = mrg_body_classify(mrg_arena_take_buf(arena, body), type);
    whole.duration_us = total > begun ? (uint64_t)(total - begun) : 0;
    *ret_reply = whole;
}

static enum mrg_err http_call(struct mrg_client *base, const struct mrg_request *request,
                              struct mrg_arena *arena, struct mrg_client_reply *ret_reply,
                              struct mrg_error *err)
{
    struct http_client *client = (struct http_client *)base;
    _cleanup_(free_list) struct curl_slist *headers = NULL;
    _cleanup_free_ char *url = NULL;
    _cleanup_free_ char *method = mrg_strndup(request->method.ptr, request->method.len);
    if (!mrg_is_token(request->method))
        return mrg_error_set(err, MRG_ERR_INVALID, "\"%s\" is no method", method);
    if (strcmp(method, "HEAD") == 0 && request->body.bytes.len > 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "HEAD has no body");
    enum mrg_err code = make_url(client, request, &url, err);
    if (!code)
        code = make_headers(request, &headers, err);
    if (code)
        return code;

    struct mrg_buf body;
    mrg_buf_init(&body, MRG_MAX_REPLY_BODY);
    curl_easy_reset(client->easy);
    client->fault[0] = '\0';
    CURLcode rc = set_connection(client);
    if (rc == CURLE_OK)
        rc = set_request(client, request, url, method, headers, &body);
    if (rc == CURLE_OK)
        rc = curl_easy_perform(client->easy);
    if (rc == CURLE_OK)
        read_reply(client, arena, &body, ret_reply);
    else
        code = complain(client, rc, err);
    mrg_buf_done(&body);
    return code;
}

static enum mrg_err http_open(const struct mrg_target *target, const struct mrg_client_options *options,
                              struct mrg_client **ret_client, struct mrg_error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "libcurl does not start");
    struct http_client *client = mrg_zalloc(sizeof(*client));
    struct mrg_slice shown = mrg_target_shown(target);
    client->base.ops = &mrg_client_http;
    client->easy = curl_easy_init();
    MRG_ASSERT(client->easy);
    client->root = mrg_strndup(target->url, (size_t)(target->path - target->url));
    client->shown = mrg_asprintf("%s://%.*s", target->scheme.ptr, (int)shown.len, shown.ptr);
    client->ca_file = options->ca_file ? mrg_strdup(options->ca_file) : NULL;
    client->timeout_ms = options->timeout_ms;
    client->loopback = target->loopback;
    *ret_client = &client->base;
    return MRG_ERR_OK;
}

static void http_close(struct mrg_client *base)
{
    struct http_client *client = (struct http_client *)base;
    curl_easy_cleanup(client->easy);
    free(client->root);
    free(client->shown);
    free(client->ca_file);
    free(client);
    curl_global_cleanup();
}

const struct mrg_client_ops mrg_client_http = {http_open, http_call, http_close};
