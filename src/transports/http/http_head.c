// SPDX-License-Identifier: Apache-2.0
#include "transports/http/http_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/uri.h"

#define WHY_SIZE 256u
#define SHOWN    40 /* bytes of a caller's text in a sentence */

struct reading {
    struct http_request *request;
    size_t room;      /* headers that the library holds */
    const char *end;  /* of what has been read of the head, in the library's buffer */
    unsigned lengths; /* Content-Length headers */
    unsigned codings; /* Transfer-Encoding headers */
    unsigned hosts;
    bool odd_coding; /* one that is not exactly chunked */
    uint64_t length; /* of the first Content-Length */
    int status;      /* 0, or what to refuse with */
    char *why;
};

static int refuse(struct reading *reading, int status, const char *format, ...) MRG_PRINTF(3, 4);

/* Callers' bytes in a sentence become printable ASCII. */
static int refuse(struct reading *reading, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reading->why, WHY_SIZE, format, args);
    va_end(args);
    for (char *p = reading->why; *p; p++) {
        if (*p < 0x20 || *p > 0x7E)
            *p = '?';
    }
    return reading->status = status;
}

/* What the library takes for a number; it has refused everything else before. */
static uint64_t number(struct mrg_slice digits)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.len && digits.ptr[i] >= '0' && digits.ptr[i] <= '9'; i++) {
        if (value > (UINT64_MAX - 9) / 10)
            return UINT64_MAX;
        value = value * 10 + (uint64_t)(digits.ptr[i] - '0');
    }
    return value;
}

/* Headers that decide where a request ends: two readers that disagree about them are how requests are
 * smuggled. `raw` is the value as the library compares it, with blanks at its end. */
static void note_framing(struct reading *reading, struct mrg_slice name, struct mrg_slice raw)
{
    switch (name.len) {
    case 4:
        reading->hosts += memcmp(name.ptr, "host", 4) == 0;
        break;
    case 14:
        if (memcmp(name.ptr, "content-length", 14) == 0 && reading->lengths++ == 0)
            reading->length = number(raw);
        break;
    case 17:
        if (memcmp(name.ptr, "transfer-encoding", 17) == 0) {
            reading->codings++;
            reading->odd_coding |= !mrg_slice_caseeq_str(raw, "chunked");
        }
        break;
    default:
        break;
    }
}

/* Name in lower case, NUL, value without blanks at its ends, NUL, in one piece of the arena. False for a
 * name that is no token. */
static bool copy(struct mrg_arena *arena, struct mrg_header *header, struct mrg_slice name,
                 struct mrg_slice value)
{
    char *bytes = mrg_arena_alloc(arena, name.len + value.len + 2);
    for (size_t i = 0; i < name.len; i++) {
        bytes[i] = mrg_token_lower[(unsigned char)name.ptr[i]];
        if (!bytes[i])
            return false;
    }
    bytes[name.len] = '\0';
    while (value.len > 0 && (value.ptr[value.len - 1] == ' ' || value.ptr[value.len - 1] == '\t'))
        value.len--;
    char *text = bytes + name.len + 1;
    memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    header->name = (struct mrg_slice){bytes, name.len};
    header->value = (struct mrg_slice){text, value.len};
    return name.len > 0;
}

static bool has_control(struct mrg_slice text)
{
    unsigned found = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        found |= (c < 0x20) & (c != '\t');
        found |= c == 0x7F;
    }
    return found != 0;
}

/*
 * The library parses the head in its buffer, a line right behind the other, and ends each piece with a NUL.
 * So a gap of more than a line's end between two pieces is something that it has passed over: a NUL in a
 * value and what follows it, a folded line (which it joins to a name), a line that begins with a colon (which
 * it takes for the end of the head). An attacker's front proxy may read such a head in another way. Only for
 * the version that this was found out of.
 */
static bool follows(const struct reading *reading, const char *next, size_t least, size_t most)
{
    size_t gap = (size_t)((uintptr_t)next - (uintptr_t)reading->end);
    return !reading->request->listener->transport->knows_layout || (gap >= least && gap <= most);
}

static int refuse_hidden(struct reading *reading)
{
    return refuse(reading, 400, "a NUL, a folded line or a nameless header in the request's head");
}

static enum MHD_Result on_header(void *ctx, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                 const char *value, size_t value_len)
{
    (void)kind;
    struct reading *reading = ctx;
    struct http_request *request = reading->request;
    struct mrg_request *form = &request->exchange->request;
    struct mrg_slice raw = {value ? value : "", value ? value_len : 0};
    request->head_bytes += name_len + raw.len + 4; /* colon, blank, end of line */
    if (request->head_bytes > request->listener->max_headers) {
        refuse(reading, 431, "the request's headers are larger than %zu bytes (limits.headers)",
               request->listener->max_headers);
        return MHD_NO;
    }
    if (!follows(reading, name, 1, 2)) {
        refuse_hidden(reading);
        return MHD_NO;
    }
    reading->end = raw.ptr + raw.len;
    MRG_ASSERT(form->header_count < reading->room);
    struct mrg_header *header = &form->headers[form->header_count];
    if (!copy(request->exchange->arena, header, (struct mrg_slice){name, name_len}, raw)) {
        refuse(reading, 400,
               "\"%.*s\" is no header name; expected letters, digits and - right before the colon", SHOWN,
               name);
        return MHD_NO;
    }
    if (has_control(header->value)) {
        refuse(reading, 400, "the header \"%.*s\" has a control character in its value", SHOWN, name);
        return MHD_NO;
    }
    form->header_count++;
    note_framing(reading, header->name, raw);
    return MHD_YES;
}

static int check_framing(struct reading *reading, const char *version)
{
    struct http_request *request = reading->request;
    bool old = strcmp(version, "HTTP/1.0") == 0;
    if (reading->lengths > 1)
        return refuse(reading, 400, "%u Content-Length headers; expected at most one", reading->lengths);
    if (reading->lengths > 0 && reading->codings > 0)
        return refuse(reading, 400, "both Content-Length and Transfer-Encoding; expected one of them");
    if (reading->codings > 1 || reading->odd_coding)
        return refuse(reading, 400, "a Transfer-Encoding that is not exactly chunked; no other is supported");
    if (reading->codings > 0 && old)
        return refuse(reading, 400, "a Transfer-Encoding in HTTP/1.0; expected a Content-Length");
    if (reading->hosts > 1)
        return refuse(reading, 400, "%u Host headers; expected one", reading->hosts);
    if (reading->hosts == 0 && !old)
        return refuse(reading, 400, "no Host header; HTTP/1.1 requires one");
    request->chunked = reading->codings > 0;
    size_t max = request->max_body;
    if (reading->length > max)
        return refuse(reading, 413, "the body's %llu bytes are more than %zu (limits.body)",
                      (unsigned long long)reading->length, max);
    request->declared = (size_t)reading->length;
    return 0;
}

/* RFC 9112, section 3.2: origin-form, absolute-form, and * for OPTIONS. CONNECT's authority-form is a proxy's. */
static bool is_target(struct mrg_slice target, const char *method)
{
    static const char *const starts[] = {"/", "http://", "https://"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(starts); i++) {
        size_t len = strlen(starts[i]);
        if (target.len >= len && strncasecmp(target.ptr, starts[i], len) == 0)
            return true;
    }
    return mrg_slice_eq_str(target, "*") && strcmp(method, "OPTIONS") == 0;
}

static int read_line(struct reading *reading, const char *method, const char *url, const char *version)
{
    struct http_request *request = reading->request;
    struct mrg_request *form = &request->exchange->request;
    size_t method_len = strlen(method);
    if (method_len > MRG_MAX_METHOD || !mrg_is_token((struct mrg_slice){method, method_len}))
        return refuse(reading, 400, "\"%.*s\" is no method", SHOWN, method);
    if (!request->target.ptr)
        return refuse(reading, 414, "the request target is longer than %u bytes", MRG_MAX_PATH);
    for (size_t i = 0; i < request->target.len; i++) {
        unsigned char c = (unsigned char)request->target.ptr[i];
        if (c <= 0x20 || c == 0x7F)
            return refuse(reading, 400,
                          "a blank or control character in the request target; expected it percent-encoded");
    }
    if (!is_target(request->target, method))
        return refuse(reading, 400,
                      "the request target begins with no slash; expected a path or an http URL");
    reading->end = method + method_len;
    bool whole = follows(reading, url, 1, 1);
    reading->end = url + request->target.len; /* decoded since, in its place */
    whole = whole && follows(reading, version, 1, 1);
    reading->end = version + strlen(version);
    if (!whole)
        return refuse(reading, 400,
                      "the request line is not METHOD, target and version with one blank between them");
    form->method =
        (struct mrg_slice){mrg_arena_memdup(request->exchange->arena, method, method_len), method_len};
    mrg_uri_split(request->target, &form->path, &form->query);
    request->head_bytes =
        method_len + request->target.len + 14; /* blanks, version, end of line, empty line */
    return 0;
}

/* The empty line, and no more, behind the last header. */
static bool ends(const struct reading *reading, const char *method)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(reading->request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info && follows(reading, method + info->header_size, 2, 4);
}

int http_head_read(struct http_request *request, const struct http_line *line, char ret_why[WHY_SIZE])
{
    struct reading reading = {.request = request, .why = ret_why};
    struct mrg_request *form = &request->exchange->request;
    if (read_line(&reading, line->method, line->url, line->version) != 0)
        return reading.status;
    int count = MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, NULL, NULL);
    if (count < 0 || (unsigned)count > MRG_MAX_HEADERS)
        return refuse(&reading, 431, "%d header fields; at most %d are taken", count, MRG_MAX_HEADERS);
    reading.room = (size_t)count;
    form->headers = mrg_arena_alloc(request->exchange->arena, reading.room * sizeof(*form->headers));
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, on_header, &reading);
    if (reading.status == 0 && !ends(&reading, line->method))
        refuse_hidden(&reading);
    return reading.status != 0 ? reading.status : check_framing(&reading, line->version);
}
