// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/jsontext.h"
#include "transports/zmq/zmq_int.h"
#include "util/json.h"
#include "util/uri.h"
#include "wire/envelope.h"

#define SHOWN     100 /* bytes of a caller's text in a sentence */
#define MAX_NAMES 800 /* bytes of a list of names in a sentence */

static int shown(struct mrg_slice text)
{
    return (int)(text.len < SHOWN ? text.len : SHOWN);
}

static struct mrg_slice copy(struct zm_request *request, struct mrg_slice bytes)
{
    return (struct mrg_slice){mrg_arena_memdup(request->exchange->arena, bytes.ptr, bytes.len), bytes.len};
}

/* ---- envelope ---- */

/* All dependencies, as a list for a sentence, in the arena. */
static const char *names_of(struct zm_request *request)
{
    struct mrg_config *config = mrg_gateway_config(request->listener->transport->gateway);
    struct mrg_buf names;
    mrg_buf_init(&names, SIZE_MAX);
    for (size_t i = 0; i < config->dependency_count && names.len < MAX_NAMES; i++)
        mrg_buf_appendf(&names, "%s%s", i ? ", " : "", config->dependencies[i].name);
    if (names.len >= MAX_NAMES)
        mrg_buf_append_str(&names, ", …");
    mrg_config_unref(config);
    return mrg_arena_take_buf(request->exchange->arena, &names).ptr;
}

static bool starts_with(struct mrg_slice text, const char *start)
{
    size_t len = strlen(start);
    return text.len >= len && memcmp(text.ptr, start, len) == 0;
}

/* A control verb, perhaps behind /__s/NAME, which the gateway takes off. */
static bool is_verb(const struct mrg_exchange *exchange)
{
    static const char root[] = "/__mock__";
    static const char session[] = "/__s/";
    struct mrg_slice path = exchange->request.path;
    if (starts_with(path, session)) {
        size_t skip = sizeof(session) - 1;
        const char *slash = memchr(path.ptr + skip, '/', path.len - skip);
        if (!slash)
            return false;
        path = (struct mrg_slice){slash, path.len - (size_t)(slash - path.ptr)};
    }
    return starts_with(path, root) && (path.len == sizeof(root) - 1 || path.ptr[sizeof(root) - 1] == '/');
}

/* Whose request it is, where the address does not say. */
static int find_dependency(struct zm_request *request, const struct mrg_slice *name,
                           struct zm_refusal *refusal)
{
    struct mrg_exchange *exchange = request->exchange;
    const struct mrg_door *door = request->listener->door;
    if (door->kind == MRG_DOOR_DEPENDENCY) {
        if (!name->ptr || mrg_slice_eq_str(*name, door->dependency))
            return 0;
        return zm_refuse(request, refusal, 400, "this is the address of %s, not of \"%.*s\"",
                         door->dependency, shown(*name), name->ptr);
    }
    if (!name->ptr) {
        if (is_verb(exchange))
            return 0;
        return zm_refuse(request, refusal, 400, "\"dependency\" is missing; expected one of %s",
                         names_of(request));
    }
    if (memchr(name->ptr, '\0', name->len) == NULL)
        exchange->dependency = mrg_gateway_dependency(request->listener->transport->gateway, name->ptr);
    if (exchange->dependency)
        return 0;
    return zm_refuse(request, refusal, 404, "there is no dependency \"%.*s\"; expected one of %s",
                     shown(*name), name->ptr, names_of(request));
}

int zm_read_envelope(struct zm_request *request, struct mrg_slice frame, struct zm_refusal *refusal)
{
    struct mrg_exchange *exchange = request->exchange;
    struct mrg_envelope envelope = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    struct mrg_error err;
    enum mrg_err code =
        mrg_envelope_read(exchange->arena, copy(request, frame), &envelope, &exchange->request, &err);
    request->id = envelope.id;
    if (code)
        return zm_refuse(request, refusal, code == MRG_ERR_TOO_LARGE ? 413 : 400, "%s", err.message);
    if (envelope.session.ptr && envelope.session.len == 0)
        return zm_refuse(request, refusal, 400, "\"session\" is empty; expected a name");
    return find_dependency(request, &envelope.dependency, refusal);
}

/* ---- the other formats ---- */

int zm_read_line(struct zm_request *request, struct mrg_slice line, struct zm_refusal *refusal)
{
    struct mrg_request *form = &request->exchange->request;
    if (!zm_is_line(line))
        return zm_refuse(request, refusal, 400, "the first frame is \"%.*s\"; expected METHOD /path",
                         shown(line), line.ptr);
    line = copy(request, line);
    const char *blank = memchr(line.ptr, ' ', line.len);
    size_t method_len = (size_t)(blank - line.ptr);
    struct mrg_slice target = {blank + 1, line.len - method_len - 1};
    if (target.len > MRG_MAX_PATH)
        return zm_refuse(request, refusal, 414, "the path is longer than %u bytes", MRG_MAX_PATH);
    for (size_t i = 0; i < target.len; i++) {
        unsigned char c = (unsigned char)target.ptr[i];
        if (c <= 0x20 || c == 0x7F)
            return zm_refuse(request, refusal, 400,
                             "a blank or control character in the path; expected it percent-encoded");
    }
    form->method = (struct mrg_slice){line.ptr, method_len};
    mrg_uri_split(target, &form->path, &form->query);
    return 0;
}

static void take_body(struct zm_request *request, struct mrg_slice frame)
{
    struct mrg_request *form = &request->exchange->request;
    const struct mrg_slice *type = mrg_request_header(form, "content-type");
    form->body = mrg_body_classify(copy(request, frame), type);
}

int zm_read_body(struct zm_request *request, struct mrg_slice frame, struct zm_refusal *refusal)
{
    const char *route = request->exchange->dependency->config->zmq.route;
    if (zm_read_line(request, mrg_slice_of(route), refusal) == 0)
        take_body(request, frame);
    return refusal->status;
}

struct headers {
    struct zm_request *request;
    size_t room;
};

static enum mrg_err add_header(void *ctx, struct mrg_slice name, struct mrg_slice value,
                               struct mrg_error *err)
{
    struct headers *headers = ctx;
    struct mrg_arena *arena = headers->request->exchange->arena;
    struct mrg_request *form = &headers->request->exchange->request;
    value = mrg_slice_trim(value);
    if (!mrg_is_token(name))
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "\"%.*s\" is no header name; expected letters, digits and -", shown(name),
                             name.ptr);
    if (mrg_has_control(value))
        return mrg_error_set(err, MRG_ERR_INVALID, "the header \"%.*s\" has a control character in its value",
                             shown(name), name.ptr);
    if (form->header_count == MRG_MAX_HEADERS)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "more than %d header fields", MRG_MAX_HEADERS);
    if (form->header_count == headers->room) {
        headers->room = headers->room ? 2 * headers->room : 8;
        struct mrg_header *more = mrg_arena_alloc(arena, headers->room * sizeof(*more));
        if (form->header_count > 0)
            memcpy(more, form->headers, form->header_count * sizeof(*more));
        form->headers = more;
    }
    form->headers[form->header_count++] =
        (struct mrg_header){mrg_jsontext_lower(arena, name), copy(headers->request, value)};
    return MRG_ERR_OK;
}

static int read_headers(struct zm_request *request, struct mrg_slice frame, struct zm_refusal *refusal)
{
    struct headers headers = {request, 0};
    struct mrg_error err;
    if (frame.len == 0)
        return 0;
    enum mrg_err code = mrg_json_check(frame, &err);
    frame = mrg_slice_trim(frame);
    if (!code)
        code = mrg_jsontext_pairs(request->exchange->arena, "the headers", frame, add_header, &headers, &err);
    if (!code)
        return 0;
    return zm_refuse(request, refusal, code == MRG_ERR_TOO_LARGE ? 431 : 400,
                     "the second frame is no object of headers: %s", err.message);
}

int zm_read_multipart(struct zm_request *request, const struct mrg_slice *frames, unsigned count,
                      struct zm_refusal *refusal)
{
    if (zm_read_line(request, frames[0], refusal) != 0)
        return refusal->status;
    if (count > 1 && read_headers(request, frames[1], refusal) != 0)
        return refusal->status;
    if (count > 2)
        take_body(request, frames[2]);
    return 0;
}
