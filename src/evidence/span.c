// SPDX-License-Identifier: Apache-2.0
#include "evidence/span.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "util/uri.h"

#define MAX_TEXT 300u /* bytes of a method, path or route that are kept */

static const char *const grpc_codes[] = {
    "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED",
};

/* The first of the keys (NULL-terminated) that has a value. */
static char *first_of(struct json_object *span, const char *const *keys)
{
    for (; *keys; keys++) {
        char *text = mrg_span_attribute(span, *keys);
        if (text && *text)
            return text;
        free(text);
    }
    return NULL;
}

#define FIRST(span, ...) first_of((span), (const char *const[]){__VA_ARGS__, NULL})

/* A copy that may stand in one line of a prompt. */
static char *clean(struct mrg_slice text)
{
    char *copy = mrg_strndup(text.ptr, text.len < MAX_TEXT ? text.len : MAX_TEXT);
    for (char *p = copy; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c <= 0x20 || c >= 0x7f || c == '<' || c == '>')
            *p = '_';
    }
    return copy;
}

/* A route as frameworks write it, with <id> and <int:id> (Flask, Django) turned into {id}. */
static char *clean_route(const char *route)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, MAX_TEXT);
    for (const char *p = route; *p; p++) {
        const char *end = *p == '<' ? strchr(p, '>') : NULL;
        if (!end) {
            mrg_buf_append_char(&buf, *p);
            continue;
        }
        const char *colon = memrchr(p, ':', (size_t)(end - p));
        const char *name = colon ? colon + 1 : p + 1;
        mrg_buf_appendf(&buf, "{%.*s}", (int)(end - name), name);
        p = end;
    }
    char *clear = clean(mrg_buf_slice(&buf));
    mrg_buf_done(&buf);
    return clear;
}

static char *replace(char **slot, char *value)
{
    free(*slot);
    *slot = value;
    return value;
}

static enum mrg_span_kind kind_of(struct json_object *span)
{
    _cleanup_free_ char *text = FIRST(span, "kind", "spanKind", "span.kind", "span_kind");
    if (!text)
        return MRG_SPAN_NONE;
    const char *dot = strrchr(text, '.');
    const char *name = dot ? dot + 1 : text;
    if (strncasecmp(name, "SPAN_KIND_", 10) == 0)
        name += 10;
    if (strcasecmp(name, "SERVER") == 0 || strcmp(name, "2") == 0)
        return MRG_SPAN_SERVER;
    if (strcasecmp(name, "CLIENT") == 0 || strcmp(name, "3") == 0)
        return MRG_SPAN_CLIENT;
    if (strcasecmp(name, "UNSPECIFIED") == 0 || strcmp(name, "0") == 0 || *name == '\0')
        return MRG_SPAN_NONE;
    return MRG_SPAN_OTHER;
}

/* host[:port] of a URL; NULL when it has none. */
static char *authority(const char *url)
{
    const char *slashes = url ? strstr(url, "://") : NULL;
    if (!slashes)
        return NULL;
    const char *host = slashes + 3;
    size_t len = strcspn(host, "/?#");
    const char *at = memchr(host, '@', len);
    if (at) {
        len -= (size_t)(at + 1 - host);
        host = at + 1;
    }
    return clean((struct mrg_slice){host, len});
}

static char *peer_of(struct json_object *span)
{
    _cleanup_free_ char *name = FIRST(span, "peer.service", "remoteEndpoint.serviceName");
    if (name)
        return clean(mrg_slice_of(name));
    _cleanup_free_ char *host =
        FIRST(span, "server.address", "net.peer.name", "http.host", "net.sock.peer.name");
    if (!host) {
        _cleanup_free_ char *url = FIRST(span, "url.full", "http.url");
        char *from_url = authority(url);
        return from_url ? from_url : mrg_strdup("");
    }
    _cleanup_free_ char *port = FIRST(span, "server.port", "net.peer.port");
    if (!port || strchr(host, ':'))
        return clean(mrg_slice_of(host));
    _cleanup_free_ char *both = mrg_asprintf("%s:%s", host, port);
    return clean(mrg_slice_of(both));
}

static bool read_http(struct json_object *span, struct mrg_span *out)
{
    _cleanup_free_ char *method = FIRST(span, "http.request.method", "http.method", "method");
    _cleanup_free_ char *target =
        FIRST(span, "url.path", "http.target", "http.path", "url.full", "http.url", "path");
    _cleanup_free_ char *route = FIRST(span, "http.route");
    if (!method || (!target && !route))
        return false;
    struct mrg_slice path, query;
    mrg_uri_split(mrg_slice_of(target ? target : route), &path, &query);
    _cleanup_free_ char *more = query.len == 0 ? FIRST(span, "url.query") : NULL;
    replace(&out->method, clean(mrg_slice_of(method)));
    for (char *p = out->method; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    replace(&out->path, clean(path));
    replace(&out->query, more ? mrg_strdup(more + (*more == '?')) : mrg_strndup(query.ptr, query.len));
    if (route)
        replace(&out->route, clean_route(route));
    _cleanup_free_ char *status =
        FIRST(span, "http.response.status_code", "http.status_code", "status_code", "status");
    bool number = status && strspn(status, "0123456789") == strlen(status) && strlen(status) == 3;
    replace(&out->status, mrg_strdup(number ? status : "none"));
    return true;
}

static char *rpc_status(struct json_object *span)
{
    _cleanup_free_ char *status =
        FIRST(span, "rpc.grpc.status_code", "rpc.response.status_code", "grpc.status_code");
    if (!status)
        return mrg_strdup("none");
    if (strspn(status, "0123456789") != strlen(status))
        return clean(mrg_slice_of(status));
    unsigned long code = strtoul(status, NULL, 10);
    return code < MRG_ARRAY_LEN(grpc_codes) ? mrg_strdup(grpc_codes[code]) : clean(mrg_slice_of(status));
}

static bool read_rpc(struct json_object *span, struct mrg_span *out)
{
    _cleanup_free_ char *method = FIRST(span, "rpc.method");
    _cleanup_free_ char *service = FIRST(span, "rpc.service");
    _cleanup_free_ char *system = FIRST(span, "rpc.system", "rpc.system.name");
    if (!method && !service && !system)
        return false;
    /*
     * The newest convention has the whole name in rpc.method; some writers have it in the span's name alone.
     */
    bool whole = method && strchr(method, '/');
    _cleanup_free_ char *full = NULL;
    if (service && method && !whole)
        full = mrg_asprintf("%s/%s", service, method);
    else if (whole)
        full = mrg_strdup(method);
    else
        full = FIRST(span, "name", "operationName");
    if (!full || !strchr(full, '/') || strchr(full, ' '))
        return false;
    _cleanup_free_ char *path = mrg_asprintf("%s%s", *full == '/' ? "" : "/", full);
    replace(&out->method, mrg_strdup("POST"));
    replace(&out->path, clean(mrg_slice_of(path)));
    replace(&out->query, mrg_strdup(""));
    replace(&out->status, rpc_status(span));
    out->rpc = true;
    return true;
}

bool mrg_span_read(struct json_object *span, const char *service, struct mrg_span *ret_span)
{
    struct mrg_span out = {0};
    if (!json_object_is_type(span, json_type_object) || !(read_rpc(span, &out) || read_http(span, &out))) {
        mrg_span_done(&out);
        return false;
    }
    out.kind = kind_of(span);
    _cleanup_free_ char *own =
        FIRST(span, "service.name", "localEndpoint.serviceName", "serviceName", "service");
    out.service = clean(mrg_slice_of(own ? own : service ? service : ""));
    out.peer = out.kind == MRG_SPAN_CLIENT ? peer_of(span) : mrg_strdup("");
    *ret_span = out;
    return true;
}

void mrg_span_done(struct mrg_span *span)
{
    free(span->service);
    free(span->peer);
    free(span->method);
    free(span->path);
    free(span->query);
    free(span->route);
    free(span->status);
    *span = (struct mrg_span){0};
}
