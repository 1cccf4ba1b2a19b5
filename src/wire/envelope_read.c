// SPDX-License-Identifier: Apache-2.0
/*
 * A server reads one of these for each message, so a request's text is copied once, whole, and its parts stay
 * where they are in the copy: quotes behind them become NULs once the reader is past them.
 */
#include <stdint.h>
#include <string.h>

#include "core/jsontext.h"
#include "core/limits.h"
#include "util/base64.h"
#include "util/json.h"
#include "util/uri.h"
#include "wire/envelope.h"

#define SHOWN          60 /* bytes of a name in a message */
#define SESSION_HEADER "mirage-session"
#define TARGET         "a string that begins with a slash"

struct reading {
    struct mrg_arena *arena;
    struct mrg_request *request;
    struct mrg_envelope *envelope;
    struct mrg_error *err;
    size_t header_room;      /* of request->headers */
    const char *body_name;   /* which of the three was there */
    struct mrg_slice body;   /* raw value of that member; ptr NULL: none was */
    struct mrg_slice target; /* content of "path"; ptr NULL: it was not there */
};

static bool is_null(struct mrg_slice raw)
{
    return *raw.ptr == 'n';
}

/* The copy is the reader's own; slices of it are const for everyone else. */
static char *own(struct mrg_slice slice)
{
    return (char *)(uintptr_t)slice.ptr;
}

/* The content of a string in the copy, where the reader has passed it. */
static struct mrg_slice string_in_place(struct mrg_arena *arena, char *raw, size_t len)
{
    if (memchr(raw, '\\', len))
        return mrg_jsontext_string(arena, (struct mrg_slice){raw, len});
    raw[len - 1] = '\0';
    return (struct mrg_slice){raw + 1, len - 2};
}

static enum mrg_err read_string(struct reading *r, const char *what, struct mrg_slice raw,
                                struct mrg_slice *ret_text)
{
    if (*raw.ptr != '"')
        return mrg_jsontext_expected(r->err, what, raw, "a string");
    *ret_text = string_in_place(r->arena, own(raw), raw.len);
    return MRG_ERR_OK;
}

static enum mrg_err read_method(struct reading *r, struct mrg_slice raw)
{
    enum mrg_err code = read_string(r, "\"method\"", raw, &r->request->method);
    struct mrg_slice method = r->request->method;
    if (!code && (method.len > MRG_MAX_METHOD || !mrg_is_token(method)))
        return mrg_error_set(r->err, MRG_ERR_INVALID,
                             "\"method\" is \"%.*s\"; expected a method such as POST",
                             (int)(method.len < SHOWN ? method.len : SHOWN), method.ptr);
    return code;
}

static enum mrg_err read_target(struct reading *r, struct mrg_slice raw)
{
    struct mrg_slice target = {NULL, 0};
    if (*raw.ptr != '"')
        return mrg_jsontext_expected(r->err, "\"path\"", raw, TARGET);
    enum mrg_err code = read_string(r, "\"path\"", raw, &target);
    if (code)
        return code;
    if (target.len > MRG_MAX_PATH)
        return mrg_error_set(r->err, MRG_ERR_TOO_LARGE, "\"path\" has %zu bytes; expected at most %u",
                             target.len, MRG_MAX_PATH);
    if (target.len == 0 || *target.ptr != '/')
        return mrg_error_set(r->err, MRG_ERR_INVALID, "\"path\" is \"%.*s\"; expected " TARGET,
                             (int)(target.len < SHOWN ? target.len : SHOWN), target.ptr);
    for (size_t i = 0; i < target.len; i++) {
        unsigned char c = (unsigned char)target.ptr[i];
        if (c <= 0x20 || c == 0x7F)
            return mrg_error_set(r->err, MRG_ERR_INVALID,
                                 "\"path\" has a blank or control character; expected it percent-encoded");
    }
    r->target = target;
    return MRG_ERR_OK;
}

static struct mrg_header *new_header(struct reading *r)
{
    struct mrg_request *request = r->request;
    if (request->header_count == r->header_room) {
        r->header_room = r->header_room ? 2 * r->header_room : 8;
        struct mrg_header *more = mrg_arena_alloc(r->arena, r->header_room * sizeof(*more));
        if (request->header_count > 0)
            memcpy(more, request->headers, request->header_count * sizeof(*more));
        request->headers = more;
    }
    return &request->headers[request->header_count++];
}

/* A token in lower case, in its place. */
static void lower(struct mrg_slice name)
{
    char *bytes = own(name);
    for (size_t i = 0; i < name.len; i++)
        bytes[i] = mrg_token_lower[(unsigned char)bytes[i]];
}

static enum mrg_err add_header(struct reading *r, struct mrg_slice name, struct mrg_slice raw)
{
    struct mrg_slice value = raw;
    int shown = (int)(name.len < SHOWN ? name.len : SHOWN);
    if (*raw.ptr == '{' || *raw.ptr == '[' || *raw.ptr == 'n')
        return mrg_jsontext_expected(
            r->err, mrg_arena_printf(r->arena, "\"%.*s\" of \"headers\"", shown, name.ptr), raw, "a string");
    if (r->request->header_count == MRG_MAX_HEADERS)
        return mrg_error_set(r->err, MRG_ERR_TOO_LARGE, "\"headers\" has more than %d values",
                             MRG_MAX_HEADERS);
    if (*raw.ptr == '"')
        value = string_in_place(r->arena, own(raw), raw.len);
    else
        value.ptr = mrg_arena_memdup(r->arena, raw.ptr, raw.len);
    if (mrg_has_control(value))
        return mrg_error_set(r->err, MRG_ERR_INVALID, "the value of header \"%.*s\" has a control character",
                             shown, name.ptr);
    value = mrg_slice_trim(value);
    own(value)[value.len] = '\0';
    *new_header(r) = (struct mrg_header){name, value};
    return MRG_ERR_OK;
}

static enum mrg_err read_headers(struct reading *r, struct mrg_slice raw)
{
    enum mrg_err code = MRG_ERR_OK;
    size_t cursor = 0;
    struct mrg_slice key, value, item;
    if (*raw.ptr != '{')
        return mrg_jsontext_expected(r->err, "\"headers\"", raw, "an object of strings");
    while (!code && mrg_json_next(raw, &cursor, &key, &value)) {
        size_t items = 0;
        struct mrg_slice name = string_in_place(r->arena, own(key) - 1, key.len + 2);
        if (!mrg_is_token(name))
            return mrg_error_set(r->err, MRG_ERR_INVALID,
                                 "header name \"%.*s\" has characters that a name cannot have",
                                 (int)(name.len < SHOWN ? name.len : SHOWN), name.ptr);
        lower(name);
        if (*value.ptr != '[')
            code = add_header(r, name, value);
        else
            while (!code && mrg_json_next_item(value, &items, &item))
                code = add_header(r, name, item);
    }
    return code;
}

static enum mrg_err note_body(struct reading *r, const char *name, struct mrg_slice raw)
{
    if (r->body.ptr)
        return mrg_error_set(r->err, MRG_ERR_INVALID,
                             "\"%s\" is a second body; expected one of body, body_text and body_base64",
                             name);
    r->body = raw;
    r->body_name = name;
    return MRG_ERR_OK;
}

static enum mrg_err read_member(struct reading *r, struct mrg_slice key, struct mrg_slice raw)
{
    if (mrg_slice_eq_str(key, "method"))
        return read_method(r, raw);
    if (mrg_slice_eq_str(key, "path"))
        return read_target(r, raw);
    if (mrg_slice_eq_str(key, "body"))
        return note_body(r, "body", raw);
    if (mrg_slice_eq_str(key, "headers"))
        return is_null(raw) ? MRG_ERR_OK : read_headers(r, raw);
    if (mrg_slice_eq_str(key, "dependency"))
        return is_null(raw) ? MRG_ERR_OK : read_string(r, "\"dependency\"", raw, &r->envelope->dependency);
    if (mrg_slice_eq_str(key, "session"))
        return is_null(raw) ? MRG_ERR_OK : read_string(r, "\"session\"", raw, &r->envelope->session);
    if (mrg_slice_eq_str(key, "body_text"))
        return is_null(raw) ? MRG_ERR_OK : note_body(r, "body_text", raw);
    if (mrg_slice_eq_str(key, "body_base64"))
        return is_null(raw) ? MRG_ERR_OK : note_body(r, "body_base64", raw);
    return mrg_error_set(r->err, MRG_ERR_INVALID,
                         "unknown member \"%.*s\"; expected id, dependency, session, method, path, headers, "
                         "body, body_text or body_base64",
                         (int)(key.len < SHOWN ? key.len : SHOWN), key.ptr);
}

/* All members have been passed. */
static enum mrg_err read_body(struct reading *r)
{
    struct mrg_body *body = &r->request->body;
    struct mrg_slice raw = r->body;
    if (!raw.ptr)
        return MRG_ERR_OK;
    if (strcmp(r->body_name, "body") == 0) {
        if (mrg_body_is_too_deep(raw))
            return mrg_error_set(
                r->err, MRG_ERR_TOO_LARGE,
                "\"body\" is nested too deep; expected at most %d arrays and objects in each "
                "other",
                MRG_MAX_BODY_DEPTH);
        own(raw)[raw.len] = '\0';
        *body = (struct mrg_body){MRG_BODY_JSON, raw};
        return MRG_ERR_OK;
    }
    enum mrg_body_kind kind = strcmp(r->body_name, "body_text") == 0 ? MRG_BODY_TEXT : MRG_BODY_BINARY;
    if (*raw.ptr != '"')
        return mrg_error_set(r->err, MRG_ERR_INVALID, "\"%s\" is no string; expected one", r->body_name);
    struct mrg_slice text = string_in_place(r->arena, own(raw), raw.len);
    if (kind == MRG_BODY_BINARY && !mrg_base64_decode(r->arena, text, &text))
        return mrg_error_set(r->err, MRG_ERR_INVALID,
                             "\"body_base64\" is no base64; expected it with padding, as in RFC 4648");
    *body = (struct mrg_body){text.len > 0 ? kind : MRG_BODY_NONE, text};
    return MRG_ERR_OK;
}

/* The member "session" is as good as the header, and goes before it. */
static enum mrg_err add_session(struct reading *r)
{
    struct mrg_slice session = r->envelope->session;
    struct mrg_request *request = r->request;
    if (!session.ptr)
        return MRG_ERR_OK;
    if (mrg_has_control(session))
        return mrg_error_set(r->err, MRG_ERR_INVALID, "\"session\" has a control character");
    for (size_t i = 0; i < request->header_count; i++) {
        if (mrg_slice_eq_str(request->headers[i].name, SESSION_HEADER)) {
            request->headers[i].value = session;
            return MRG_ERR_OK;
        }
    }
    *new_header(r) = (struct mrg_header){MRG_SLICE(SESSION_HEADER), session};
    return MRG_ERR_OK;
}

static enum mrg_err finish(struct reading *r)
{
    if (!r->request->method.ptr)
        return mrg_jsontext_expected(r->err, "\"method\"", r->request->method, "a string");
    if (!r->target.ptr)
        return mrg_jsontext_expected(r->err, "\"path\"", r->target, TARGET);
    mrg_uri_split(r->target, &r->request->path, &r->request->query);
    enum mrg_err code = add_session(r);
    return code ? code : read_body(r);
}

/* A checked object, or an error. */
static enum mrg_err check_object(struct mrg_slice text, const char *what, const char *expected,
                                 struct mrg_error *err)
{
    enum mrg_err code = mrg_json_check(text, err);
    if (code) {
        mrg_error_wrap(err, "%s", what);
        return code;
    }
    text = mrg_slice_trim(text);
    return *text.ptr == '{' ? MRG_ERR_OK : mrg_jsontext_expected(err, what, text, expected);
}

enum mrg_err mrg_envelope_read(struct mrg_arena *arena, struct mrg_slice text,
                               struct mrg_envelope *ret_envelope, struct mrg_request *ret_request,
                               struct mrg_error *err)
{
    struct mrg_request request = {.query = MRG_SLICE(""), .body = {MRG_BODY_NONE, MRG_SLICE("")}};
    struct reading r = {.arena = arena, .request = &request, .envelope = ret_envelope, .err = err};
    *ret_envelope = (struct mrg_envelope){.id = {NULL, 0}};
    enum mrg_err code = check_object(text, "the envelope", "an object with \"method\" and \"path\"", err);
    if (code)
        return code;
    struct mrg_slice copy = {mrg_arena_memdup(arena, text.ptr, text.len), text.len};
    size_t cursor = 0;
    struct mrg_slice key, raw;
    while (mrg_json_next(copy, &cursor, &key, &raw)) {
        if (mrg_slice_eq_str(key, "id"))
            ret_envelope->id = raw;
        else if (!code)
            code = read_member(&r, key, raw);
    }
    if (!code)
        code = finish(&r);
    if (!code)
        *ret_request = request;
    return code;
}

/* {"status", "error"}: a failure of the server's own. */
static enum mrg_err read_failure(struct mrg_arena *arena, struct mrg_slice raw, struct mrg_reply *reply,
                                 struct mrg_error *err)
{
    struct mrg_slice sentence = {NULL, 0};
    if (reply->header_count > 0 || reply->body.kind != MRG_BODY_NONE)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "\"error\" stands beside headers or a body; expected it instead of them");
    enum mrg_err code = mrg_jsontext_read_string(arena, "\"error\"", raw, &sentence, err);
    if (!code)
        mrg_reply_fail(arena, reply, reply->status, "%s", sentence.ptr);
    return code;
}

enum mrg_err mrg_envelope_read_reply(struct mrg_arena *arena, struct mrg_slice text, struct mrg_slice *ret_id,
                                     struct mrg_reply *ret_reply, struct mrg_error *err)
{
    struct mrg_slice id = {NULL, 0};
    struct mrg_slice error = {NULL, 0};
    struct mrg_slice key, raw;
    size_t cursor = 0;
    enum mrg_err code = check_object(text, "the reply", "an object with \"status\"", err);
    if (code)
        return code;
    char *rest = mrg_arena_alloc(arena, text.len + 1); /* the reply's text form, without our members */
    size_t len = 0;
    while (mrg_json_next(text, &cursor, &key, &raw)) {
        if (mrg_slice_eq_str(key, "id")) {
            id = (struct mrg_slice){mrg_arena_memdup(arena, raw.ptr, raw.len), raw.len};
        } else if (mrg_slice_eq_str(key, "error")) {
            error = raw;
        } else {
            const char *start = key.ptr - 1;
            size_t member = (size_t)(raw.ptr + raw.len - start);
            rest[len] = len == 0 ? '{' : ',';
            memcpy(rest + len + 1, start, member);
            len += member + 1;
        }
    }
    if (len == 0)
        rest[len++] = '{';
    rest[len++] = '}';
    struct mrg_reply reply;
    code = mrg_reply_parse(arena, (struct mrg_slice){rest, len}, &reply, err);
    if (!code && error.ptr)
        code = read_failure(arena, error, &reply, err);
    if (code)
        return code;
    *ret_id = id;
    *ret_reply = reply;
    return MRG_ERR_OK;
}
