// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "core/jsontext.h"
#include "core/limits.h"
#include "core/reply.h"
#include "core/status.h"
#include "util/base64.h"
#include "util/json.h"

#define STATUS_EXPECTED "an integer from 200 to 999"

struct reading {
    struct mrg_arena *arena;
    struct mrg_reply *reply; /* what is being filled */
    size_t header_bytes;     /* of names and values so far, trailers' too, 4 more for each */
    struct mrg_slice body;   /* raw value of the body's member; ptr NULL when absent */
    const char *body_name;   /* which of the three it is */
    bool streamed;           /* "messages" was there */
    bool status;             /* it was there */
};

static bool is_null(struct mrg_slice raw)
{
    return *raw.ptr == 'n';
}

static bool read_integer(struct mrg_slice raw, int max, int *ret_value)
{
    int64_t value = 0;
    if (raw.len == 0 || raw.len > 10)
        return false;
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.ptr[i] < '0' || raw.ptr[i] > '9')
            return false;
        value = 10 * value + (raw.ptr[i] - '0');
    }
    *ret_value = value <= max ? (int)value : -1;
    return value <= max;
}

static enum mrg_err read_status(struct reading *reading, struct mrg_slice raw, struct mrg_error *err)
{
    int status;
    if (!read_integer(raw, 999, &status) || status < 200)
        return mrg_jsontext_expected(err, "\"status\"", raw, STATUS_EXPECTED);
    reading->reply->status = status;
    reading->status = true;
    return MRG_ERR_OK;
}

static enum mrg_err check_header(struct mrg_slice name, struct mrg_slice value, struct mrg_error *err)
{
    int len = (int)(name.len < 60 ? name.len : 60);
    if (!mrg_is_token(name))
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "header name \"%.*s\" has characters that a name cannot have", len, name.ptr);
    if (mrg_has_control(value))
        return mrg_error_set(err, MRG_ERR_INVALID, "the value of header \"%.*s\" has a control character",
                             len, name.ptr);
    if (value.len > MRG_MAX_HEADER_VALUE)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE,
                             "the value of header \"%.*s\" has %zu bytes; expected at most %u", len, name.ptr,
                             value.len, MRG_MAX_HEADER_VALUE);
    return MRG_ERR_OK;
}

static struct mrg_slice trimmed(struct mrg_arena *arena, struct mrg_slice value)
{
    struct mrg_slice text = mrg_slice_trim(value);
    if (text.len == value.len)
        return value;
    return (struct mrg_slice){mrg_arena_memdup(arena, text.ptr, text.len), text.len};
}

/* Headers or trailers being filled. */
struct fields {
    struct reading *reading;
    const char *what; /* the member, in quotes */
    struct mrg_header **items;
    size_t *count;
    size_t room;
};

static enum mrg_err add_field(void *ctx, struct mrg_slice name, struct mrg_slice value, struct mrg_error *err)
{
    struct fields *fields = ctx;
    struct reading *reading = fields->reading;
    enum mrg_err code = check_header(name, value, err);
    if (code)
        return code;
    if (*fields->count == MRG_MAX_REPLY_HEADERS)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "%s has more than %d values", fields->what,
                             MRG_MAX_REPLY_HEADERS);
    reading->header_bytes += name.len + value.len + 4;
    if (reading->header_bytes > MRG_MAX_REPLY_HEADER_BYTES)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "%s has more than %u bytes in all", fields->what,
                             MRG_MAX_REPLY_HEADER_BYTES);
    if (*fields->count == fields->room) {
        fields->room = fields->room ? 2 * fields->room : 4;
        struct mrg_header *more = mrg_arena_alloc(reading->arena, fields->room * sizeof(*more));
        if (*fields->count > 0)
            memcpy(more, *fields->items, *fields->count * sizeof(*more));
        *fields->items = more;
    }
    struct mrg_slice lower = mrg_jsontext_lower(reading->arena, name);
    (*fields->items)[(*fields->count)++] = (struct mrg_header){lower, trimmed(reading->arena, value)};
    return MRG_ERR_OK;
}

static enum mrg_err note_body(struct reading *reading, const char *name, struct mrg_slice raw,
                              struct mrg_error *err)
{
    if (reading->body.ptr)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "%s stands beside %s; expected one of body, body_text and body_base64", name,
                             reading->body_name);
    reading->body = raw;
    reading->body_name = name;
    return MRG_ERR_OK;
}

static enum mrg_err read_unsure(struct reading *reading, struct mrg_slice raw, struct mrg_error *err)
{
    if (*raw.ptr != '"')
        return mrg_jsontext_expected(err, "\"unsure\"", raw, "a string that says why");
    reading->reply->unsure = mrg_jsontext_string(reading->arena, raw);
    return MRG_ERR_OK;
}

static enum mrg_err read_grpc_status(struct reading *reading, struct mrg_slice raw, struct mrg_error *err)
{
    int number = -1;
    if (*raw.ptr == '"')
        number = mrg_status_of_name(mrg_jsontext_string(reading->arena, raw));
    else if (!read_integer(raw, INT_MAX, &number))
        number = -1;
    if (number < 0)
        return mrg_jsontext_expected(err, "\"grpc_status\"", raw,
                                     "a status name such as \"ABORTED\" or a number from 0 to 2147483647");
    reading->reply->has_grpc_status = true;
    reading->reply->grpc_status = number;
    return MRG_ERR_OK;
}

static enum mrg_err read_details(struct reading *reading, struct mrg_slice raw, struct mrg_error *err)
{
    static const char expected[] = "an array of objects with \"@type\"";
    if (*raw.ptr != '[')
        return mrg_jsontext_expected(err, "\"grpc_details\"", raw, expected);
    size_t cursor = 0;
    struct mrg_slice item, type;
    while (mrg_json_next_item(raw, &cursor, &item)) {
        if (!mrg_json_member(item, "@type", &type) || *type.ptr != '"')
            return mrg_jsontext_expected(err, "\"grpc_details\"", raw, expected);
    }
    if (raw.len > MRG_MAX_REPLY_BODY)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "\"grpc_details\" has %zu bytes; expected at most %u",
                             raw.len, MRG_MAX_REPLY_BODY);
    reading->reply->grpc_details = mrg_jsontext_minified(reading->arena, raw);
    return MRG_ERR_OK;
}

static enum mrg_err check_first(const char *what, struct mrg_slice raw, char first, const char *expected,
                                struct mrg_error *err)
{
    return *raw.ptr == first ? MRG_ERR_OK : mrg_jsontext_expected(err, what, raw, expected);
}

/* What a reply over gRPC has beside a body. */
static enum mrg_err read_grpc(struct reading *reading, struct mrg_slice key, struct mrg_slice raw,
                              struct mrg_error *err)
{
    if (mrg_slice_eq_str(key, "grpc_status"))
        return read_grpc_status(reading, raw, err);
    if (mrg_slice_eq_str(key, "grpc_message"))
        return mrg_jsontext_read_string(reading->arena, "\"grpc_message\"", raw,
                                        &reading->reply->grpc_message, err);
    if (mrg_slice_eq_str(key, "grpc_details"))
        return read_details(reading, raw, err);
    struct fields fields = {reading, "\"trailers\"", &reading->reply->trailers,
                            &reading->reply->trailer_count, 0};
    return mrg_jsontext_pairs(reading->arena, fields.what, raw, add_field, &fields, err);
}

/* Members of later versions. */
static enum mrg_err check_later(struct reading *reading, struct mrg_slice key, struct mrg_slice raw,
                                struct mrg_error *err)
{
    if (mrg_slice_eq_str(key, "messages")) {
        reading->streamed = true;
        return check_first("\"messages\"", raw, '[', "an array", err);
    }
    return check_first("\"state\"", raw, '{', "an object, the changes to the state as a merge patch", err);
}

static bool is_one_of(struct mrg_slice key, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (mrg_slice_eq_str(key, names[i]))
            return true;
    }
    return false;
}

static enum mrg_err read_member(struct reading *reading, struct mrg_slice key, struct mrg_slice raw,
                                struct mrg_error *err)
{
    static const char *const grpc[] = {"grpc_status", "grpc_message", "grpc_details", "trailers"};
    static const char *const later[] = {"messages", "state"};
    struct fields headers = {reading, "\"headers\"", &reading->reply->headers, &reading->reply->header_count,
                             0};
    if (mrg_slice_eq_str(key, "status"))
        return read_status(reading, raw, err);
    if (mrg_slice_eq_str(key, "body"))
        return note_body(reading, "\"body\"", raw, err);
    if (mrg_slice_eq_str(key, "headers"))
        return is_null(raw) ? MRG_ERR_OK
                            : mrg_jsontext_pairs(reading->arena, headers.what, raw, add_field, &headers, err);
    if (mrg_slice_eq_str(key, "unsure"))
        return is_null(raw) ? MRG_ERR_OK : read_unsure(reading, raw, err);
    if (mrg_slice_eq_str(key, "body_text"))
        return is_null(raw) ? MRG_ERR_OK : note_body(reading, "\"body_text\"", raw, err);
    if (mrg_slice_eq_str(key, "body_base64"))
        return is_null(raw) ? MRG_ERR_OK : note_body(reading, "\"body_base64\"", raw, err);
    if (is_one_of(key, grpc, MRG_ARRAY_LEN(grpc)))
        return is_null(raw) ? MRG_ERR_OK : read_grpc(reading, key, raw, err);
    if (is_one_of(key, later, MRG_ARRAY_LEN(later)))
        return is_null(raw) ? MRG_ERR_OK : check_later(reading, key, raw, err);
    return mrg_error_set(err, MRG_ERR_INVALID,
                         "unknown member \"%.*s\"; expected \"status\", \"headers\", \"body\" or \"unsure\"",
                         (int)(key.len < 60 ? key.len : 60), key.ptr);
}

/* A reply to a unary call of such members alone would be an empty one. */
static enum mrg_err check_absent_body(const struct reading *reading, struct mrg_error *err)
{
    if (!reading->streamed || reading->reply->unsure.len > 0)
        return MRG_ERR_OK;
    return mrg_error_set(err, MRG_ERR_INVALID, "\"messages\" has no meaning here; expected \"body\"");
}

static enum mrg_err check_body(const struct mrg_body *body, struct mrg_error *err)
{
    if (body->bytes.len > MRG_MAX_REPLY_BODY)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "the body has %zu bytes; expected at most %u",
                             body->bytes.len, MRG_MAX_REPLY_BODY);
    if (body->kind == MRG_BODY_JSON && mrg_body_is_too_deep(body->bytes))
        return mrg_error_set(err, MRG_ERR_TOO_LARGE,
                             "the body is nested too deep; expected at most %d arrays and objects in each "
                             "other",
                             MRG_MAX_BODY_DEPTH);
    return MRG_ERR_OK;
}

static enum mrg_err read_body(struct reading *reading, struct mrg_error *err)
{
    struct mrg_body *body = &reading->reply->body;
    struct mrg_slice raw = reading->body;
    if (!raw.ptr)
        return check_absent_body(reading, err);
    bool member_is_body = mrg_slice_eq_str(mrg_slice_of(reading->body_name), "\"body\"");
    if (member_is_body && (*raw.ptr != '"' || !mrg_reply_says_text(reading->reply))) {
        *body = (struct mrg_body){MRG_BODY_JSON, mrg_jsontext_minified(reading->arena, raw)};
    } else if (*raw.ptr != '"') {
        return mrg_jsontext_expected(err, reading->body_name, raw, "a string");
    } else if (mrg_slice_eq_str(mrg_slice_of(reading->body_name), "\"body_base64\"")) {
        body->kind = MRG_BODY_BINARY;
        if (!mrg_base64_decode(reading->arena, mrg_jsontext_string(reading->arena, raw), &body->bytes))
            return mrg_jsontext_expected(err, reading->body_name, raw, "base64 with padding");
    } else {
        *body = (struct mrg_body){MRG_BODY_TEXT, mrg_jsontext_string(reading->arena, raw)};
    }
    return check_body(body, err);
}

enum mrg_err mrg_reply_parse(struct mrg_arena *arena, struct mrg_slice text, struct mrg_reply *ret_reply,
                             struct mrg_error *err)
{
    struct mrg_reply reply = {.body = {MRG_BODY_NONE, MRG_SLICE("")}, .unsure = MRG_SLICE("")};
    struct reading reading = {.arena = arena, .reply = &reply};
    enum mrg_err code = mrg_json_check(text, err);
    if (code)
        return code;
    while (text.len > 0 && strchr(" \t\r\n", *text.ptr)) {
        text.ptr++;
        text.len--;
    }
    if (*text.ptr != '{')
        return mrg_jsontext_expected(err, "the reply", text, "a JSON object with \"status\"");
    size_t cursor = 0;
    struct mrg_slice key, raw;
    while (!code && mrg_json_next(text, &cursor, &key, &raw))
        code = read_member(&reading, key, raw, err);
    if (!code && !reading.status && reply.has_grpc_status)
        reply.status = mrg_status_to_http(reply.grpc_status);
    else if (!code && !reading.status && reply.unsure.len == 0)
        code = mrg_jsontext_expected(err, "\"status\"", (struct mrg_slice){NULL, 0}, STATUS_EXPECTED);
    if (!code)
        code = read_body(&reading, err);
    if (!code)
        *ret_reply = reply;
    return code;
}
