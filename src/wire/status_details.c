// SPDX-License-Identifier: Apache-2.0
#include "wire/status_details.h"

#include "core/jsontext.h"
#include "util/json.h"
#include "util/log.h"
#include "util/utf8.h"
#include "wire/proto.h"

#define MAX_REASON 63u /* characters of ErrorInfo.reason, as its comment says */
#define TYPE_URL   "type.googleapis.com/"

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

static struct mrg_slice sentence_of(struct mrg_arena *arena, const struct mrg_body *body)
{
    static const struct place places[] = {
        {"error", "message"}, {NULL, "message"}, {NULL, "detail"}, {NULL, "title"}, {NULL, "error"},
    };
    struct mrg_slice bytes = mrg_slice_trim(body->bytes);
    struct mrg_slice text;
    for (size_t i = 0; is_object(body) && i < MRG_ARRAY_LEN(places); i++) {
        if (string_in(arena, bytes, places[i].outer, places[i].key, &text))
            return text;
    }
    if (body->kind == MRG_BODY_TEXT)
        return bytes;
    if (body->kind == MRG_BODY_JSON && bytes.len > 0 && *bytes.ptr == '"')
        return mrg_jsontext_string(arena, bytes);
    return (struct mrg_slice){NULL, 0};
}

struct mrg_slice mrg_status_message(struct mrg_arena *arena, const struct mrg_reply *reply, size_t room)
{
    struct mrg_slice text = reply->grpc_message;
    if (!text.ptr)
        text = sentence_of(arena, &reply->body);
    if (!text.ptr && reply->has_grpc_status)
        return MRG_SLICE("");
    if (!text.ptr)
        return mrg_slice_of(mrg_arena_printf(arena, "HTTP %d", reply->status));
    text.len = mrg_utf8_cut(text, room);
    /* No gRPC code says which of these it was. */
    if (!reply->has_grpc_status && (reply->status / 100 == 3 || reply->status >= 600))
        return mrg_slice_of(
            mrg_arena_printf(arena, "%.*s (HTTP %d)", (int)text.len, text.ptr, reply->status));
    return text;
}

/* ---- the bytes ---- */

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

static void append_each(struct status *status, struct mrg_slice details)
{
    const struct mrg_message *type = mrg_schema_message(status->schema, MRG_SLICE("google.protobuf.Any"));
    struct mrg_slice item;
    struct mrg_error err = {0};
    struct mrg_buf any;
    mrg_buf_init(&any, SIZE_MAX);
    for (size_t cursor = 0; mrg_json_next_item(details, &cursor, &item);) {
        mrg_buf_clear(&any);
        if (mrg_proto_from_json(status->schema, type, item, true, &any, &err))
            mrg_log(MRG_LOG_DEBUG, "an item of grpc_details was dropped: %s", err.message);
        else if (!append_any(status, mrg_buf_slice(&any)))
            mrg_log(MRG_LOG_DEBUG, "an item of grpc_details was dropped: there is no room for it");
    }
    mrg_buf_done(&any);
}

/* ---- the reason ---- */

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

/* ---- the status ---- */

static void append_from_body(struct status *status, struct mrg_slice body, const char *domain)
{
    char reason[MAX_REASON + 1];
    if (domain && find_reason(body, reason)) {
        struct mrg_buf info;
        mrg_buf_init(&info, SIZE_MAX);
        mrg_buf_appendf(&info, "{\"reason\":\"%s\",\"domain\":", reason);
        mrg_json_append_string(&info, mrg_slice_of(domain));
        mrg_buf_append_char(&info, '}');
        append_detail(status, "google.rpc.ErrorInfo", mrg_buf_slice(&info));
        mrg_buf_done(&info);
    }
    if (!append_detail(status, "google.protobuf.Struct", body))
        mrg_log(MRG_LOG_DEBUG, "a reply's body finds no place in its status's details");
}

/* Escaping is what mends it. */
static void append_message(struct mrg_buf *buf, struct mrg_slice message)
{
    struct mrg_buf json, mended;
    if (mrg_utf8_valid(message)) {
        append_bytes(buf, 2, message);
        return;
    }
    mrg_buf_init(&json, SIZE_MAX);
    mrg_buf_init(&mended, SIZE_MAX);
    mrg_json_append_string(&json, message);
    mrg_json_unescape(&mended, mrg_buf_slice(&json));
    append_bytes(buf, 2, mrg_buf_slice(&mended));
    mrg_buf_done(&json);
    mrg_buf_done(&mended);
}

bool mrg_status_append(struct mrg_buf *buf, const struct mrg_schema *schema, const struct mrg_reply *reply,
                       struct mrg_slice message, const char *domain, size_t room)
{
    struct status status = {buf, schema, room, 0};
    append_varint(buf, 1 << 3);
    append_varint(buf, (uint64_t)(int64_t)mrg_reply_grpc_status(reply));
    append_message(buf, message);
    if (reply->grpc_details.ptr)
        append_each(&status, reply->grpc_details);
    else if (!reply->error && is_object(&reply->body))
        append_from_body(&status, reply->body.bytes, domain);
    return status.count > 0;
}

enum mrg_err mrg_status_details_fit(const struct mrg_schema *schema, const struct mrg_reply *reply,
                                    struct mrg_error *err)
{
    const struct mrg_message *type = mrg_schema_message(schema, MRG_SLICE("google.protobuf.Any"));
    struct mrg_slice item;
    struct mrg_buf any;
    enum mrg_err code = MRG_ERR_OK;
    size_t i = 0;
    if (!reply->grpc_details.ptr)
        return MRG_ERR_OK;
    mrg_buf_init(&any, SIZE_MAX);
    for (size_t cursor = 0; !code && mrg_json_next_item(reply->grpc_details, &cursor, &item); i++) {
        mrg_buf_clear(&any);
        code = mrg_proto_from_json(schema, type, item, false, &any, err);
    }
    mrg_buf_done(&any);
    return code ? mrg_error_wrap(err, "grpc_details[%zu]", i - 1) : MRG_ERR_OK;
}
