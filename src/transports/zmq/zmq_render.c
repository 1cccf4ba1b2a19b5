// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "core/session.h"
#include "transports/zmq/zmq_int.h"
#include "util/json.h"
#include "util/text.h"
#include "wire/envelope.h"

#define MAX_SHOWS 3u /* headers that Mirage says of itself */

/* What Mirage says of itself no engine may say; of the connection's headers none is right here. */
static bool is_sent(const struct mrg_header *header)
{
    return !mrg_header_is_transport(header->name) && !mrg_slice_caseeq_str(header->name, "mirage-source") &&
           !mrg_slice_caseeq_str(header->name, "mirage-session") &&
           !mrg_slice_caseeq_str(header->name, "mirage-error");
}

/* `reply` is the exchange's when it is given; a failure of the adapter's own has no session to tell. */
static size_t make_shows(const struct zm_request *request, const struct mrg_reply *reply,
                         struct mrg_header shows[MAX_SHOWS])
{
    const struct mrg_exchange *exchange = request->exchange;
    size_t count = 0;
    if (!request->shows)
        return 0;
    if (reply->source)
        shows[count++] = (struct mrg_header){MRG_SLICE("mirage-source"), mrg_slice_of(reply->source)};
    const struct mrg_text *session = reply == &exchange->reply ? mrg_session_to_tell(exchange) : NULL;
    if (session)
        shows[count++] = (struct mrg_header){MRG_SLICE("mirage-session"), mrg_text_slice(session)};
    return count;
}

/* ---- envelope ---- */

static void render_envelope(const struct zm_request *request, const struct mrg_reply *reply,
                            struct mrg_arena *arena, struct zm_out *out)
{
    struct mrg_header shows[MAX_SHOWS];
    struct mrg_reply sent = *reply;
    size_t count = make_shows(request, reply, shows);
    for (size_t i = 0; i < reply->header_count; i++) {
        if (is_sent(&reply->headers[i]))
            continue;
        /* One that is not sent: a list without these. */
        sent.headers = mrg_arena_alloc(arena, reply->header_count * sizeof(*sent.headers));
        sent.header_count = 0;
        for (size_t k = 0; k < reply->header_count; k++) {
            if (is_sent(&reply->headers[k]))
                sent.headers[sent.header_count++] = reply->headers[k];
        }
        break;
    }
    mrg_envelope_append_reply(&out->text, request->id, &sent, shows, count);
    out->frames[0] = mrg_buf_slice(&out->text);
    out->count = 1;
}

/* ---- multipart ---- */

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

/* As a JSON object: a name that comes again has an array. */
static struct mrg_slice append_headers(struct mrg_buf *text, struct mrg_header *headers, size_t count)
{
    struct mrg_slice object;
    if (count == 0)
        return MRG_SLICE("{}");
    const struct mrg_reply head = {.status = 200, .headers = headers, .header_count = count};
    mrg_reply_append_json(text, &head);
    MRG_ASSERT(mrg_json_member(mrg_buf_slice(text), "headers", &object));
    return object;
}

static void render_multipart(const struct zm_request *request, const struct mrg_reply *reply,
                             const struct mrg_body *body, struct zm_out *out)
{
    size_t count = 0;
    bool typed = false;
    struct mrg_header few[16];
    struct mrg_header *headers = few;
    if (reply->header_count + MAX_SHOWS + 1 > MRG_ARRAY_LEN(few))
        headers = mrg_malloc((reply->header_count + MAX_SHOWS + 1) * sizeof(*headers));
    count = make_shows(request, reply, headers);
    if (request->shows && reply->error)
        headers[count++] = (struct mrg_header){MRG_SLICE("mirage-error"), mrg_slice_of(reply->error)};
    for (size_t i = 0; i < reply->header_count; i++) {
        if (!is_sent(&reply->headers[i]))
            continue;
        typed |= mrg_slice_eq_str(reply->headers[i].name, "content-type");
        headers[count++] = reply->headers[i];
    }
    if (!typed && body->bytes.len > 0)
        headers[count++] = (struct mrg_header){MRG_SLICE("content-type"), mrg_slice_of(type_of(body->kind))};
    mrg_buf_appendf(&out->other, "%d", reply->status);
    out->frames[0] = mrg_buf_slice(&out->other);
    out->frames[1] = append_headers(&out->text, headers, count);
    out->frames[2] = body->bytes;
    out->count = 3;
    if (headers != few)
        free(headers);
}

/* ---- all ---- */

void zm_render(const struct zm_request *request, const struct mrg_reply *reply, struct mrg_arena *arena,
               struct zm_out *out)
{
    mrg_buf_clear(&out->text);
    mrg_buf_clear(&out->other);
    if (request->format == MRG_ZMQ_ENVELOPE) {
        render_envelope(request, reply, arena, out);
        return;
    }
    if (request->format == MRG_ZMQ_PROTOBUF) {
        zm_render_proto(request, reply, arena, out);
        return;
    }
    struct mrg_body body = arena ? mrg_reply_body(reply, arena) : reply->body;
    if (request->format == MRG_ZMQ_MULTIPART) {
        render_multipart(request, reply, &body, out);
        return;
    }
    out->frames[0] = body.bytes;
    out->count = 1;
}

void zm_render_failure(const struct zm_request *request, int status, const char *sentence, struct zm_out *out)
{
    mrg_buf_clear(&out->error);
    mrg_buf_append_str(&out->error, "{\"error\":");
    mrg_json_append_string(&out->error, mrg_slice_of(sentence));
    mrg_buf_append_char(&out->error, '}');
    const struct mrg_reply reply = {
        .status = status,
        .body = {MRG_BODY_JSON, mrg_buf_slice(&out->error)},
        .error = sentence,
    };
    zm_render(request, &reply, NULL, out);
}
