// SPDX-License-Identifier: Apache-2.0
#include "core/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/status.h"
#include "util/json.h"
#include "util/utf8.h"

static bool is_repeat(const struct mrg_header *headers, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (mrg_slice_eq(headers[i].name, headers[at].name))
            return true;
    }
    return false;
}

/* The name with all its values: one as a string, several as a list. */
static void append_name(struct mrg_buf *buf, const struct mrg_header *headers, size_t count, size_t at)
{
    size_t next = at + 1;
    while (next < count && !mrg_slice_eq(headers[at].name, headers[next].name))
        next++;
    mrg_json_append_string(buf, headers[at].name);
    mrg_buf_append_char(buf, ':');
    if (next == count) {
        mrg_json_append_string(buf, headers[at].value);
        return;
    }
    char before = '[';
    for (size_t i = at; i < count; i++) {
        if (!mrg_slice_eq(headers[at].name, headers[i].name))
            continue;
        mrg_buf_append_char(buf, before);
        mrg_json_append_string(buf, headers[i].value);
        before = ',';
    }
    mrg_buf_append_char(buf, ']');
}

/* `,"headers":{…}`; nothing when there are none. */
static void append_headers(struct mrg_buf *buf, const char *member, const struct mrg_header *headers,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_repeat(headers, i))
            continue;
        if (i == 0)
            mrg_buf_appendf(buf, ",\"%s\":{", member);
        else
            mrg_buf_append_char(buf, ',');
        append_name(buf, headers, count, i);
    }
    if (count > 0)
        mrg_buf_append_char(buf, '}');
}

static void append_grpc(struct mrg_buf *buf, const struct mrg_reply *reply)
{
    if (reply->has_grpc_status) {
        const char *name = mrg_status_name(reply->grpc_status);
        if (name)
            mrg_buf_appendf(buf, ",\"grpc_status\":\"%s\"", name);
        else
            mrg_buf_appendf(buf, ",\"grpc_status\":%d", reply->grpc_status);
    }
    if (reply->grpc_message.ptr) {
        mrg_buf_append_str(buf, ",\"grpc_message\":");
        mrg_json_append_string(buf, reply->grpc_message);
    }
    if (reply->grpc_details.ptr) {
        mrg_buf_append_str(buf, ",\"grpc_details\":");
        mrg_buf_append_slice(buf, reply->grpc_details);
    }
    append_headers(buf, "trailers", reply->trailers, reply->trailer_count);
}

int mrg_reply_grpc_status(const struct mrg_reply *reply)
{
    return reply->has_grpc_status ? reply->grpc_status : mrg_status_from_http(reply->status);
}

struct mrg_body mrg_reply_body(const struct mrg_reply *reply, struct mrg_arena *arena)
{
    if (reply->body.kind != MRG_BODY_NONE || !reply->has_grpc_status || reply->grpc_status == MRG_GRPC_OK)
        return reply->body;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_appendf(&buf, "{\"code\":%d,\"message\":", reply->grpc_status);
    mrg_json_append_string(&buf, reply->grpc_message.ptr ? reply->grpc_message : MRG_SLICE(""));
    mrg_buf_append_str(&buf, ",\"details\":");
    mrg_buf_append_slice(&buf, reply->grpc_details.ptr ? reply->grpc_details : MRG_SLICE("[]"));
    mrg_buf_append_char(&buf, '}');
    struct mrg_body body = {MRG_BODY_JSON, {mrg_arena_memdup(arena, buf.data, buf.len), buf.len}};
    mrg_buf_done(&buf);
    return body;
}

bool mrg_reply_says_text(const struct mrg_reply *reply)
{
    for (size_t i = 0; i < reply->header_count; i++) {
        if (mrg_slice_eq_str(reply->headers[i].name, "content-type"))
            return !mrg_type_is_json(reply->headers[i].value);
    }
    return false;
}

static void append_body(struct mrg_buf *buf, const struct mrg_reply *reply)
{
    struct mrg_slice bytes = reply->body.bytes;
    bool text = mrg_reply_says_text(reply);
    enum mrg_body_kind kind = reply->body.kind;
    if (kind == MRG_BODY_NONE)
        return;
    /*
     * A JSON string beside a type that is not JSON would come back without its quotes: the quotes become part
     * of a text.
     */
    if (kind == MRG_BODY_JSON && text && bytes.len > 0 && *bytes.ptr == '"')
        kind = MRG_BODY_TEXT;
    if (kind == MRG_BODY_TEXT && !mrg_utf8_valid(bytes))
        kind = MRG_BODY_BINARY;
    mrg_body_append_member(buf, text ? "body" : "body_text", kind, bytes);
}

void mrg_reply_append_json(struct mrg_buf *buf, const struct mrg_reply *reply)
{
    mrg_buf_appendf(buf, "{\"status\":%d", reply->status);
    append_headers(buf, "headers", reply->headers, reply->header_count);
    append_body(buf, reply);
    append_grpc(buf, reply);
    if (reply->unsure.len > 0) {
        mrg_buf_append_str(buf, ",\"unsure\":");
        mrg_json_append_string(buf, reply->unsure);
    }
    mrg_buf_append_char(buf, '}');
}

void mrg_reply_json(struct mrg_arena *arena, struct mrg_reply *reply, int status, struct mrg_slice json)
{
    *reply = (struct mrg_reply){
        .status = status,
        .body = {MRG_BODY_JSON, {mrg_arena_memdup(arena, json.ptr, json.len), json.len}},
    };
}

void mrg_reply_fail(struct mrg_arena *arena, struct mrg_reply *reply, int status, const char *format, ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    MRG_ASSERT(len >= 0);
    char *sentence = mrg_arena_alloc(arena, (size_t)len + 1);
    va_start(args, format);
    vsnprintf(sentence, (size_t)len + 1, format, args);
    va_end(args);

    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, "{\"error\":");
    mrg_json_append_string(&buf, (struct mrg_slice){sentence, (size_t)len});
    mrg_buf_append_char(&buf, '}');
    mrg_reply_json(arena, reply, status, mrg_buf_slice(&buf));
    reply->error = sentence;
    mrg_buf_done(&buf);
}

bool mrg_header_is_transport(struct mrg_slice name)
{
    static const char *const names[] = {
        "connection",     "content-encoding",  "content-length",   "date",
        "http2-settings", "keep-alive",        "proxy-connection", "te",
        "trailer",        "transfer-encoding", "upgrade",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(names); i++) {
        if (mrg_slice_caseeq_str(name, names[i]))
            return true;
    }
    return false;
}
