// SPDX-License-Identifier: Apache-2.0
#include "core/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/json.h"
#include "util/utf8.h"

static bool same_name(const struct mrg_reply *reply, size_t a, size_t b)
{
    return mrg_slice_eq(reply->headers[a].name, reply->headers[b].name);
}

static bool is_repeat(const struct mrg_reply *reply, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (same_name(reply, i, at))
            return true;
    }
    return false;
}

static void append_header(struct mrg_buf *buf, const struct mrg_reply *reply, size_t at)
{
    size_t next = at + 1;
    while (next < reply->header_count && !same_name(reply, at, next))
        next++;
    mrg_json_append_string(buf, reply->headers[at].name);
    mrg_buf_append_char(buf, ':');
    if (next == reply->header_count) {
        mrg_json_append_string(buf, reply->headers[at].value);
        return;
    }
    char before = '[';
    for (size_t i = at; i < reply->header_count; i++) {
        if (!same_name(reply, at, i))
            continue;
        mrg_buf_append_char(buf, before);
        mrg_json_append_string(buf, reply->headers[i].value);
        before = ',';
    }
    mrg_buf_append_char(buf, ']');
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
    bool first = true;
    mrg_buf_appendf(buf, "{\"status\":%d", reply->status);
    for (size_t i = 0; i < reply->header_count; i++) {
        if (is_repeat(reply, i))
            continue;
        mrg_buf_append_str(buf, first ? ",\"headers\":{" : ",");
        first = false;
        append_header(buf, reply, i);
    }
    if (!first)
        mrg_buf_append_char(buf, '}');
    append_body(buf, reply);
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
