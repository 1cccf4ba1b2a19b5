// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include <string.h>

#include "util/json.h"
#include "util/log.h"
#include "util/utf8.h"
#include "wire/proto.h"

#define MAX_MESSAGE 2048u /* bytes of a status message: in percent-encoding it may be three times that */
#define MAX_REASON  63u   /* characters of ErrorInfo.reason, as its comment says */
#define TYPE_URL    "type.googleapis.com/"

/* ---- members of the body ---- */

static bool is_object(const struct mrg_body *body)
{
    struct mrg_slice text = mrg_slice_trim(body->bytes);
    return body->kind == MRG_BODY_JSON && text.len > 0 && text.ptr[0] == '{';
}

/* A member that is a string, unescaped, in the arena; `outer` is an object's name, or NULL. */
static bool string_in(struct mrg_arena *arena, struct mrg_slice object, const char *outer, const char *key,
                      struct mrg_slice *ret_text)
{
    struct mrg_slice value;
    struct mrg_buf buf;
    if (outer && !mrg_json_member(object, outer, &object))
        return false;
    if (!mrg_json_member(object, key, &value) || value.len == 0 || value.ptr[0] != '"')
        return false;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_json_unescape(&buf, value);
    *ret_text = mrg_arena_take_buf(arena, &buf);
    return true;
}

/* The first of these members that is a string. */
struct place {
    const char *outer;
    const char *key;
};

/* ---- the message ---- */

static struct mrg_slice from_body(struct mrg_arena *arena, const struct mrg_reply *reply)
{
    static const struct place places[] = {
        {"error", "message"}, {NULL, "message"}, {NULL, "detail"}, {NULL, "title"}, {NULL, "error"},
    };
    struct mrg_slice text;
    for (size_t i = 0; is_object(&reply->body) && i < MRG_ARRAY_LEN(places); i++) {
        if (string_in(arena, reply->body.bytes, places[i].outer, places[i].key, &text))
            return text;
    }
    return (struct mrg_slice){NULL, 0};
}

struct mrg_slice rpc_error_message(struct mrg_arena *arena, const struct mrg_reply *reply)
{
    struct mrg_slice text = reply->grpc_message;
    if (!text.ptr)
        text = from_body(arena, reply);
    if (!text.ptr)
        return mrg_slice_of(mrg_arena_printf(arena, "HTTP %d", reply->status));
    text.len = mrg_utf8_cut(text, MAX_MESSAGE);
    /* No gRPC code says which of these it was. */
    bool odd = !reply->has_grpc_status && (reply->status / 100 == 3 || reply->status >= 600);
    if (odd)
        return mrg_slice_of(
            mrg_arena_printf(arena, "%.*s (HTTP %d)", (int)text.len, text.ptr, reply->status));
    return text;
}

/* ---- the details ---- */

static void append_varint(struct mrg_buf *buf, uint64_t value)
{
    while (value >= 0x80) {
        mrg_buf_append_char(buf, (char)(value | 0x80));
        value >>= 7;
    }
    mrg_buf_append_char(buf, (char)value);
}

static void append_bytes(struct mrg_buf *buf, unsigned field, struct mrg_slice bytes)
{
    append_varint(buf, field << 3 | 2);
    append_varint(buf, bytes.len);
    mrg_buf_append_slice(buf, bytes);
}

/* google.rpc.Status under way. */
struct status {
    struct mrg_buf *buf;
    const struct mrg_schema *schema;
    size_t room;
    unsigned count; /* of details */
};

/* One google.protobuf.Any; false when there is no room. */
static bool append_any(struct status *status, struct mrg_slice any)
{
    if (status->buf->len + any.len + 6 > status->room)
        return false;
    append_bytes(status->buf, 3, any);
    status->count++;
    return true;
}

/* A detail from the JSON of its message. */
static bool append_detail(struct status *status, const char *type, struct mrg_slice json)
{
    const struct mrg_message *message = mrg_schema_message(status->schema, mrg_slice_of(type));
    struct mrg_buf url, value, any;
    mrg_buf_init(&url, SIZE_MAX);
    mrg_buf_init(&value, SIZE_MAX);
    mrg_buf_init(&any, SIZE_MAX);
    bool made = message && !mrg_proto_from_json(status->schema, message, json, true, &value, NULL);
    if (made) {
        mrg_buf_appendf(&url, TYPE_URL "%s", type);
        append_bytes(&any, 1, mrg_buf_slice(&url));
        append_bytes(&any, 2, mrg_buf_slice(&value));
        made = append_any(status, mrg_buf_slice(&any));
    }
    mrg_buf_done(&url);
    mrg_buf_done(&value);
    mrg_buf_done(&any);
    return made;
}

static void append_given(struct status *status, struct mrg_slice details)
{
    const struct mrg_message *type = mrg_schema_message(status->schema, MRG_SLICE("google.protobuf.Any"));
    struct mrg_slice item;
    struct mrg_error err = {0};
    struct mrg_buf any;
    mrg_buf_init(&any, SIZE_MAX);
    for (size_t cursor = 0; mrg_json_next_item(details, &cursor, &item);) {
        mrg_buf_clear(&any);
        if (mrg_proto_from_json(status->schema, type, item, true, &any, &err))
            mrg_log(MRG_LOG_DEBUG, "gRPC: an item of grpc_details was dropped: %s", err.message);
        else if (!append_any(status, mrg_buf_slice(&any)))
            mrg_log(MRG_LOG_DEBUG, "gRPC: an item of grpc_details was dropped: there is no room for it");
    }
    mrg_buf_done(&any);
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A code as ErrorInfo wants it: not_found, notFound, not-found and NOT_FOUND are NOT_FOUND. False for what is a sentence, a
 * number or a URL. */
static bool reason_of(struct mrg_slice code, char ret_reason[MAX_REASON + 1])
{
    size_t len = 0;
    if (code.len == 0 || is_digit(code.ptr[0]))
        return false;
    for (size_t i = 0; i < code.len; i++) {
        char c = code.ptr[i];
        bool hump = is_upper(c) && i > 0 && is_lower(code.ptr[i - 1]);
        if (len + hump >= MAX_REASON)
            return false;
        if (hump)
            ret_reason[len++] = '_';
        if (is_lower(c))
            ret_reason[len++] = (char)(c - 'a' + 'A');
        else if (is_upper(c) || is_digit(c) || c == '_')
            ret_reason[len++] = c;
        else if (c == '-' || c == '.')
            ret_reason[len++] = '_';
        else
            return false;
    }
    ret_reason[len] = '\0';
    return true;
}

static bool find_reason(struct mrg_slice body, char ret_reason[MAX_REASON + 1])
{
    static const struct place places[] = {{"error", "code"}, {NULL, "code"}, {NULL, "error"}, {NULL, "type"}};
    struct mrg_arena *arena = mrg_arena_new(0);
    bool found = false;
    for (size_t i = 0; i < MRG_ARRAY_LEN(places) && !found; i++) {
        struct mrg_slice code;
        found = string_in(arena, body, places[i].outer, places[i].key, &code) && reason_of(code, ret_reason);
    }
    mrg_arena_free(arena);
    return found;
}

static void append_from_body(struct status *status, struct mrg_slice body, const char *domain)
{
    char reason[MAX_REASON + 1];
    if (find_reason(body, reason)) {
        struct mrg_buf info;
        mrg_buf_init(&info, SIZE_MAX);
        mrg_buf_appendf(&info, "{\"reason\":\"%s\",\"domain\":", reason);
        mrg_json_append_string(&info, mrg_slice_of(domain));
        mrg_buf_append_char(&info, '}');
        append_detail(status, "google.rpc.ErrorInfo", mrg_buf_slice(&info));
        mrg_buf_done(&info);
    }
    if (!append_detail(status, "google.protobuf.Struct", body))
        mrg_log(MRG_LOG_DEBUG, "gRPC: a reply's body finds no place in its status's details");
}

void rpc_error_details(struct mrg_buf *buf, const struct mrg_schema *schema, const struct mrg_reply *reply,
                       int code, struct mrg_slice message, const char *domain, size_t room)
{
    struct status status = {buf, schema, room, 0};
    if (reply->error)
        return;
    append_varint(buf, 1 << 3);
    append_varint(buf, (uint64_t)(int64_t)code);
    append_bytes(buf, 2, message);
    if (reply->grpc_details.ptr)
        append_given(&status, reply->grpc_details);
    else if (is_object(&reply->body))
        append_from_body(&status, reply->body.bytes, domain);
    if (status.count == 0)
        mrg_buf_clear(buf);
}

/* Whether the type of a detail is known. Its URL ends in the name. */
static bool type_known(struct mrg_arena *arena, const struct mrg_schema *schema, struct mrg_slice item)
{
    struct mrg_slice url;
    if (!string_in(arena, item, NULL, "@type", &url))
        return false;
    const char *slash = url.len > 0 ? memrchr(url.ptr, '/', url.len) : NULL;
    size_t skip = slash ? (size_t)(slash + 1 - url.ptr) : 0;
    return mrg_schema_message(schema, (struct mrg_slice){url.ptr + skip, url.len - skip}) != NULL;
}

enum mrg_err rpc_error_details_fit(const struct mrg_schema *schema, const struct mrg_reply *reply,
                                   struct mrg_error *err)
{
    if (!reply->grpc_details.ptr)
        return MRG_ERR_OK;
    const struct mrg_message *type = mrg_schema_message(schema, MRG_SLICE("google.protobuf.Any"));
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_slice item;
    struct mrg_buf any;
    enum mrg_err code = MRG_ERR_OK;
    size_t i = 0;
    mrg_buf_init(&any, SIZE_MAX);
    for (size_t cursor = 0; !code && mrg_json_next_item(reply->grpc_details, &cursor, &item); i++) {
        mrg_buf_clear(&any);
        if (type_known(arena, schema, item))
            code = mrg_proto_from_json(schema, type, item, false, &any, err);
    }
    mrg_buf_done(&any);
    mrg_arena_free(arena);
    return code ? mrg_error_wrap(err, "grpc_details[%zu]", i - 1) : MRG_ERR_OK;
}
