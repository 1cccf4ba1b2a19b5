// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "cli/call_int.h"
#include "core/status.h"
#include "util/json.h"
#include "util/utf8.h"

int mrg_call_exit(const struct mrg_reply *reply)
{
    bool good = reply->has_grpc_status ? reply->grpc_status == MRG_GRPC_OK
                                       : reply->status >= 200 && reply->status <= 299;
    return good ? MRG_EXIT_OK : MRG_EXIT_NO;
}

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {402, "Payment Required"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {499, "Client Closed Request"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return NULL;
}

static void append_status_lines(struct mrg_buf *buf, const struct mrg_reply *reply)
{
    if (reply->status) {
        const char *reason = reason_of(reply->status);
        mrg_buf_appendf(buf, "%d%s%s\n", reply->status, reason ? " " : "", reason ? reason : "");
    }
    if (!reply->has_grpc_status)
        return;
    const char *name = mrg_status_name(reply->grpc_status);
    if (name)
        mrg_buf_appendf(buf, "%s (%d)", name, reply->grpc_status);
    else
        mrg_buf_appendf(buf, "%d", reply->grpc_status);
    if (reply->grpc_message.len > 0) {
        mrg_buf_append_str(buf, ": ");
        mrg_buf_append_slice(buf, reply->grpc_message);
    }
    mrg_buf_append_char(buf, '\n');
}

static void append_header_lines(struct mrg_buf *buf, const struct mrg_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mrg_buf_appendf(buf, "%.*s: %.*s\n", (int)headers[i].name.len, headers[i].name.ptr,
                        (int)headers[i].value.len, headers[i].value.ptr);
}

static void append_block(struct mrg_buf *buf, struct mrg_slice text)
{
    if (text.len == 0)
        return;
    mrg_buf_append_char(buf, '\n');
    mrg_buf_append_slice(buf, text);
    if (text.ptr[text.len - 1] != '\n')
        mrg_buf_append_char(buf, '\n');
}

void mrg_call_append_text(struct mrg_buf *buf, const struct mrg_client_reply *whole, bool verbose)
{
    const struct mrg_reply *reply = &whole->reply;
    append_status_lines(buf, reply);
    if (verbose) {
        append_header_lines(buf, reply->headers, reply->header_count);
        append_header_lines(buf, reply->trailers, reply->trailer_count);
    }
    append_block(buf, reply->body.bytes);
    if (reply->body.bytes.len == 0)
        append_block(buf, mrg_slice_of(reply->error));
    if (reply->grpc_details.ptr)
        append_block(buf, reply->grpc_details);
}

static void append_string_member(struct mrg_buf *buf, const char *name, struct mrg_slice text)
{
    mrg_buf_appendf(buf, ",\"%s\":", name);
    mrg_json_append_string(buf, text);
}

/* One member for each name, in the order of their first values; a list where there are several. */
static void append_headers_member(struct mrg_buf *buf, const char *member, const struct mrg_header *headers,
                                  size_t count)
{
    const char *comma = "";
    if (count == 0)
        return;
    mrg_buf_appendf(buf, ",\"%s\":{", member);
    for (size_t i = 0; i < count; i++) {
        size_t before = 0, all = 0;
        for (size_t k = 0; k < count; k++) {
            bool same = mrg_slice_eq(headers[i].name, headers[k].name);
            before += same && k < i;
            all += same;
        }
        if (before > 0)
            continue;
        mrg_buf_append_str(buf, comma);
        mrg_json_append_string(buf, headers[i].name);
        mrg_buf_append_str(buf, all > 1 ? ":[" : ":");
        const char *between = "";
        for (size_t k = i; k < count; k++) {
            if (!mrg_slice_eq(headers[i].name, headers[k].name))
                continue;
            mrg_buf_append_str(buf, between);
            mrg_json_append_string(buf, headers[k].value);
            between = ",";
        }
        if (all > 1)
            mrg_buf_append_char(buf, ']');
        comma = ",";
    }
    mrg_buf_append_char(buf, '}');
}

static void append_grpc_members(struct mrg_buf *buf, const struct mrg_reply *reply)
{
    if (!reply->has_grpc_status)
        return;
    const char *name = mrg_status_name(reply->grpc_status);
    mrg_buf_appendf(buf, ",\"grpc_status\":%d", reply->grpc_status);
    if (name)
        append_string_member(buf, "grpc_name", mrg_slice_of(name));
    if (reply->grpc_message.ptr)
        append_string_member(buf, "grpc_message", reply->grpc_message);
    if (reply->grpc_details.ptr) {
        mrg_buf_append_str(buf, ",\"grpc_details\":");
        mrg_buf_append_slice(buf, reply->grpc_details);
    }
}

void mrg_call_append_json(struct mrg_buf *buf, const struct mrg_client_reply *whole)
{
    const struct mrg_reply *reply = &whole->reply;
    enum mrg_body_kind kind = reply->body.kind;
    struct mrg_buf members; /* each with its comma before it */
    mrg_buf_init(&members, SIZE_MAX);
    if (reply->status)
        mrg_buf_appendf(&members, ",\"status\":%d", reply->status);
    append_grpc_members(&members, reply);
    if (reply->error)
        append_string_member(&members, "error", mrg_slice_of(reply->error));
    append_headers_member(&members, "headers", reply->headers, reply->header_count);
    append_headers_member(&members, "trailers", reply->trailers, reply->trailer_count);
    if (kind == MRG_BODY_TEXT && !mrg_utf8_valid(reply->body.bytes))
        kind = MRG_BODY_BINARY;
    mrg_body_append_member(&members, "body_text", kind, reply->body.bytes);
    mrg_buf_appendf(&members, ",\"ms\":%" PRIu64 ".%03" PRIu64, whole->duration_us / 1000,
                    whole->duration_us % 1000);
    mrg_buf_append_char(buf, '{');
    mrg_buf_append(buf, members.data + 1, members.len - 1);
    mrg_buf_append_str(buf, "}\n");
    mrg_buf_done(&members);
}
