// SPDX-License-Identifier: Apache-2.0
#include "transports/http/http_int.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/session.h"
#include "util/json.h"
#include "util/log.h"
#include "util/text.h"
#include "util/utf8.h"

#define ENTRY_BYTES                                                                                          \
    80u /* what the library's memory pool holds for a header, a query key, a cookie, beside its text */
#define OWN_BYTES 2048u /* status line and the headers that are ours and the library's */
#define SMALL     1024u /* bytes of headers that need no closer look after an ordinary request */

/* ---- what may be sent ---- */

static bool sendable_name(struct mrg_slice name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        if (!plain && (c == '\0' || !strchr(others, c)))
            return false;
    }
    return name.len > 0;
}

static bool sendable_value(struct mrg_slice value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if ((c < 0x20 && c != '\t') || c == 0x7F)
            return false;
    }
    return value.len <= MRG_MAX_HEADER_VALUE;
}

static size_t count_char(struct mrg_slice text, char c)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == c;
    return count;
}

/*
 * Bytes of reply headers that fit the connection's memory pool for sure. The library keeps the request's head
 * in it until the reply is sent, in what was half of the pool at first and may hold the caller's next request
 * too, and an entry for each header, query key and cookie.
 */
static size_t reply_room(const struct http_request *request)
{
    const struct mrg_request *form = &request->exchange->request;
    size_t pool = request->listener->pool_size;
    size_t taken = request->head_bytes + SMALL > pool / 2 ? request->head_bytes + SMALL : pool / 2;
    taken += OWN_BYTES + (form->header_count + 2 + count_char(request->target, '&')) * ENTRY_BYTES;
    for (size_t i = 0; i < form->header_count; i++) {
        if (mrg_slice_eq_str(form->headers[i].name, "cookie"))
            taken += form->headers[i].value.len + (2 + count_char(form->headers[i].value, ';')) * ENTRY_BYTES;
    }
    return taken < pool ? pool - taken : 0;
}

/* False when the reply's headers are too large; *ret_bytes says how large. */
static bool headers_fit(const struct http_request *request, size_t *ret_bytes)
{
    const struct mrg_reply *reply = &request->exchange->reply;
    size_t bytes = 0;
    for (size_t i = 0; i < reply->header_count; i++)
        bytes += reply->headers[i].name.len + reply->headers[i].value.len + 4;
    *ret_bytes = bytes;
    return (bytes <= SMALL && request->head_bytes <= SMALL) || bytes <= reply_room(request);
}

/* ---- headers ---- */

/* The library refuses an empty value; a blank is one, on the wire. Both texts are followed by a NUL. */
static void add(struct MHD_Response *response, const char *name, const char *value)
{
    if (MHD_add_response_header(response, name, *value ? value : " ") == MHD_NO)
        mrg_log(MRG_LOG_DEBUG, "HTTP: a reply's header was refused by the library and dropped");
}

/* A sentence may quote what a caller or a model wrote. */
static void add_error(struct MHD_Response *response, const char *sentence)
{
    char value[MRG_MAX_ERROR_HEADER + 1];
    size_t len = mrg_utf8_cut(mrg_slice_of(sentence), MRG_MAX_ERROR_HEADER);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)sentence[i];
        value[i] = c < 0x20 || c == 0x7F ? ' ' : (char)c;
    }
    value[len] = '\0';
    add(response, "mirage-error", value);
}

/* What Mirage says of itself no engine may say. */
static bool is_mirages(struct mrg_slice name)
{
    return mrg_slice_caseeq_str(name, "mirage-source") || mrg_slice_caseeq_str(name, "mirage-session") ||
           mrg_slice_caseeq_str(name, "mirage-error");
}

static void add_service_headers(struct MHD_Response *response, const struct mrg_reply *reply, bool *ret_typed)
{
    size_t count = reply->header_count;
    if (count > MRG_MAX_REPLY_HEADERS) {
        mrg_log(MRG_LOG_DEBUG, "HTTP: a reply has %zu headers; the first %d are sent", count,
                MRG_MAX_REPLY_HEADERS);
        count = MRG_MAX_REPLY_HEADERS;
    }
    for (size_t i = 0; i < count; i++) {
        const struct mrg_header *header = &reply->headers[i];
        if (mrg_header_is_transport(header->name) || is_mirages(header->name))
            continue;
        if (!sendable_name(header->name) || !sendable_value(header->value)) {
            mrg_log(MRG_LOG_DEBUG,
                    "HTTP: header %zu of a reply has a name or value that cannot be sent and was dropped",
                    i + 1);
            continue;
        }
        *ret_typed |= mrg_slice_caseeq_str(header->name, "content-type");
        add(response, header->name.ptr, header->value.ptr);
    }
}

static const char *type_of(enum mrg_body_kind kind)
{
    switch (kind) {
    case MRG_BODY_JSON:
        return "application/json";
    case MRG_BODY_TEXT:
        return "text/plain; charset=utf-8";
    case MRG_BODY_BINARY:
    case MRG_BODY_NONE:
        break;
    }
    return "application/octet-stream";
}

/* ---- replies ---- */

/* A caller that takes its reply in drops is not waited for without end. */
static void limit_sending(struct http_request *request)
{
    http_conn_cut_at(request->conn, http_now_ms(request->listener->transport) + MRG_REQUEST_DEADLINE_MS);
}

static bool is_closing(const struct http_request *request)
{
    return atomic_load_explicit(&request->listener->closing, memory_order_relaxed);
}

static enum MHD_Result queue(struct http_request *request, int status, struct MHD_Response *response,
                             bool close)
{
    if (close || is_closing(request))
        add(response, "Connection", "close");
    limit_sending(request);
    enum MHD_Result result = MHD_queue_response(request->connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result;
}

static struct MHD_Response *make(size_t len, const char *bytes, enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(len, (void *)(uintptr_t)bytes, mode);
    MRG_ASSERT(response);
    return response;
}

/* The library sends no body for HEAD and 304, but its length; for 204 neither. */
static struct MHD_Response *render(struct http_request *request, const char *session,
                                   enum MHD_ResponseMemoryMode mode)
{
    const struct mrg_reply *reply = &request->exchange->reply;
    struct mrg_body body = mrg_reply_body(reply, request->exchange->arena);
    size_t len = reply->status == 204 ? 0 : body.bytes.len;
    struct MHD_Response *response = make(len, len > 0 ? body.bytes.ptr : "", mode);
    bool typed = false;
    add_service_headers(response, reply, &typed);
    if (!typed && len > 0)
        add(response, "content-type", type_of(body.kind));
    if (request->shows) {
        if (reply->source)
            add(response, "mirage-source", reply->source);
        if (session)
            add(response, "mirage-session", session);
        if (reply->error)
            add_error(response, reply->error);
    }
    return response;
}

/* A reply that comes again, and of which no part is this request's alone. */
static bool answer_lasting(struct http_request *request, enum MHD_Result *ret_result)
{
    struct mrg_exchange *exchange = request->exchange;
    struct http_cache *cache = &request->listener->cache;
    if (!exchange->reply.lasting || !exchange->reply_text ||
        exchange->reply.body.bytes.len > MRG_REPLY_CACHE_BYTES || is_closing(request) ||
        (request->shows && mrg_session_to_tell(exchange)))
        return false;
    limit_sending(request);
    if (http_cache_queue(cache, request->connection, exchange->reply_text, request->shows, ret_result))
        return true;
    /* The arena goes with this request: the response keeps a copy of the body. */
    struct MHD_Response *response = render(request, NULL, MHD_RESPMEM_MUST_COPY);
    *ret_result = MHD_queue_response(request->connection, (unsigned)exchange->reply.status, response);
    http_cache_keep(cache, exchange->reply_text, request->shows, (unsigned)exchange->reply.status, response);
    return true;
}

enum MHD_Result http_answer(struct http_request *request)
{
    const struct mrg_reply *reply = &request->exchange->reply;
    enum MHD_Result result;
    size_t bytes;
    char why[160];
    if (reply->status < 200 || reply->status > 999) {
        snprintf(why, sizeof(why), "the reply's status is %d; expected 200 to 999", reply->status);
        return http_answer_failure(request, 500, why, false);
    }
    if (!headers_fit(request, &bytes)) {
        snprintf(why, sizeof(why),
                 "the reply's headers are %zu bytes, for which there is no room; a larger limits.headers "
                 "makes some",
                 bytes);
        return http_answer_failure(request, 500, why, false);
    }
    if (answer_lasting(request, &result))
        return result;
    /* The bytes stay in the arena until the library is done. */
    const struct mrg_text *session = mrg_session_to_tell(request->exchange);
    return queue(request, reply->status,
                 render(request, session ? session->data : NULL, MHD_RESPMEM_PERSISTENT), false);
}

static void append_failure(struct mrg_buf *body, const char *sentence)
{
    mrg_buf_init(body, SIZE_MAX);
    mrg_buf_append_str(body, "{\"error\":");
    mrg_json_append_string(body, mrg_slice_of(sentence));
    mrg_buf_append_char(body, '}');
}

enum MHD_Result http_answer_failure(struct http_request *request, int status, const char *sentence,
                                    bool close)
{
    struct mrg_buf body;
    append_failure(&body, sentence);
    size_t len;
    char *bytes = mrg_buf_take(&body, &len);
    struct MHD_Response *response = make(len, bytes, MHD_RESPMEM_MUST_FREE);
    add(response, "content-type", "application/json");
    if (request->shows)
        add_error(response, sentence);
    return queue(request, status, response, close);
}

void http_write_failure(struct http_request *request, int status, const char *sentence)
{
    bool shown = request->shows;
    struct mrg_buf body, text;
    append_failure(&body, sentence);
    mrg_buf_init(&text, SIZE_MAX);
    mrg_buf_appendf(&text, "HTTP/1.1 %d %s\r\nConnection: close\r\ncontent-type: application/json\r\n",
                    status, MHD_get_reason_phrase_for((unsigned)status));
    if (shown)
        mrg_buf_appendf(&text, "mirage-error: %s\r\n", sentence);
    mrg_buf_appendf(&text, "Content-Length: %zu\r\n\r\n", body.len);
    mrg_buf_append_slice(&text, mrg_buf_slice(&body));
    /* Before the first byte of a reply a socket takes these few in one piece; if not, the caller just sees
     * the end. */
    if (send(request->conn->fd, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)text.len)
        mrg_log(MRG_LOG_DEBUG, "HTTP: a caller takes no reply while it sends too large a body");
    mrg_buf_done(&text);
    mrg_buf_done(&body);
}
