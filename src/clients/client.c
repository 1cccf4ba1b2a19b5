// SPDX-License-Identifier: Apache-2.0
#include "clients/client.h"

#include <string.h>

#include "clients/client_int.h"
#include "core/jsontext.h"
#include "core/limits.h"
#include "util/clock.h"

struct scheme {
    const char *name;
    const struct mrg_client_ops *ops;
    bool secure;
    bool port; /* must be said */
    bool file; /* the address is a socket's path */
};

static const struct scheme schemes[] = {
    {"http", &mrg_client_http, false, false, false},  {"https", &mrg_client_http, true, false, false},
    {"grpc", &mrg_client_grpc, false, true, false},   {"grpcs", &mrg_client_grpc, true, true, false},
    {"zmq+tcp", &mrg_client_zmq, false, true, false}, {"zmq+ipc", &mrg_client_zmq, false, false, true},
};

static const struct scheme *find_scheme(struct mrg_slice name)
{
    for (size_t i = 0; i < MRG_ARRAY_LEN(schemes); i++) {
        if (mrg_slice_caseeq_str(name, schemes[i].name))
            return &schemes[i];
    }
    return NULL;
}

/* host, and port behind its colon (ptr NULL: none); a literal IPv6 host keeps its brackets. */
static void split_port(struct mrg_slice address, struct mrg_slice *ret_host, struct mrg_slice *ret_port)
{
    const char *end = address.ptr + address.len;
    const char *colon = memrchr(address.ptr, ':', address.len);
    if (colon && memchr(colon, ']', (size_t)(end - colon)))
        colon = NULL;
    *ret_host = (struct mrg_slice){address.ptr, colon ? (size_t)(colon - address.ptr) : address.len};
    *ret_port =
        colon ? (struct mrg_slice){colon + 1, (size_t)(end - colon - 1)} : (struct mrg_slice){NULL, 0};
}

static bool is_port(struct mrg_slice text)
{
    unsigned value = 0;
    if (text.len == 0 || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        value = 10 * value + (unsigned)(text.ptr[i] - '0');
    }
    return value >= 1 && value <= 65535;
}

static bool is_loopback(struct mrg_slice host)
{
    if (mrg_slice_caseeq_str(host, "localhost") || mrg_slice_eq_str(host, "[::1]"))
        return true;
    return host.len > 4 && memcmp(host.ptr, "127.", 4) == 0 && strspn(host.ptr, "0123456789.") >= host.len;
}

struct mrg_slice mrg_target_shown(const struct mrg_target *target)
{
    struct mrg_slice address = target->address;
    const char *at = memrchr(address.ptr, '@', address.len);
    if (at)
        return (struct mrg_slice){at + 1, (size_t)(address.ptr + address.len - at - 1)};
    return address;
}

static bool has_blank_or_control(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return true;
    }
    return false;
}

static enum mrg_err read_socket(const char *begin, struct mrg_target *target, struct mrg_error *err)
{
    const char *colon = strstr(begin, ":/");
    size_t len = colon ? (size_t)(colon - begin) : strlen(begin);
    if (len == 0)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "%s has no socket; expected zmq+ipc:///path/of/socket or "
                             "zmq+ipc:///path/of/socket:/path/of/request",
                             target->url);
    target->address = (struct mrg_slice){begin, len};
    target->path = begin + len + (colon ? 1 : 0);
    target->loopback = true;
    return MRG_ERR_OK;
}

static enum mrg_err read_host(const char *begin, const struct scheme *scheme, struct mrg_target *target,
                              struct mrg_error *err)
{
    struct mrg_slice host, port;
    target->address = (struct mrg_slice){begin, strcspn(begin, "/?#")};
    target->path = begin + target->address.len;
    struct mrg_slice shown = mrg_target_shown(target);
    split_port(shown, &host, &port);
    bool good = host.len > 0 && (port.ptr ? is_port(port) : !scheme->port);
    if (shown.ptr != begin && scheme->ops != &mrg_client_http)
        good = false;
    if (!good)
        return mrg_error_set(err, MRG_ERR_INVALID, "%s: expected %s://host%s/path", target->url, scheme->name,
                             scheme->port ? ":port" : "[:port]");
    target->loopback = is_loopback(host);
    return MRG_ERR_OK;
}

enum mrg_err mrg_target_parse(const char *url, struct mrg_target *ret_target,
                              const struct mrg_client_ops **ret_ops, struct mrg_error *err)
{
    const char *mark = strstr(url, "://");
    const struct scheme *scheme = mark ? find_scheme((struct mrg_slice){url, (size_t)(mark - url)}) : NULL;
    if (!scheme)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "%s: expected http://, https://, grpc://, grpcs://, zmq+tcp:// or zmq+ipc://",
                             url);
    if (has_blank_or_control(url))
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "%s has a blank or a control character; expected it percent-encoded", url);
    struct mrg_target target = {
        .url = url,
        .scheme = mrg_slice_of(scheme->name),
        .secure = scheme->secure,
    };
    enum mrg_err code =
        scheme->file ? read_socket(mark + 3, &target, err) : read_host(mark + 3, scheme, &target, err);
    if (code)
        return code;
    *ret_target = target;
    if (ret_ops)
        *ret_ops = scheme->ops;
    return MRG_ERR_OK;
}

void mrg_header_list_add(struct mrg_header_list *list, struct mrg_arena *arena, struct mrg_slice name,
                         struct mrg_slice value)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        struct mrg_header *more = mrg_arena_alloc(arena, list->room * sizeof(*more));
        if (list->count > 0)
            memcpy(more, list->items, list->count * sizeof(*more));
        list->items = more;
    }
    value = mrg_slice_trim(value);
    list->items[list->count++] = (struct mrg_header){
        .name = mrg_jsontext_lower(arena, name),
        .value = {mrg_arena_memdup(arena, value.ptr, value.len), value.len},
    };
}

bool mrg_client_drops(struct mrg_slice name)
{
    static const char *const names[] = {
        "connection", "content-length",   "expect",  "http2-settings",    "keep-alive",
        "te",         "proxy-connection", "trailer", "transfer-encoding", "upgrade",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(names); i++) {
        if (mrg_slice_caseeq_str(name, names[i]))
            return true;
    }
    return false;
}

enum mrg_err mrg_client_check_header(const struct mrg_header *header, struct mrg_error *err)
{
    int len = (int)(header->name.len < 60 ? header->name.len : 60);
    if (!mrg_is_token(header->name))
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "header name \"%.*s\" has characters that a name cannot have", len,
                             header->name.ptr);
    if (mrg_has_control(header->value))
        return mrg_error_set(err, MRG_ERR_INVALID, "the value of header \"%.*s\" has a control character",
                             len, header->name.ptr);
    return MRG_ERR_OK;
}

uint64_t mrg_client_left(uint64_t until_ms)
{
    uint64_t now = mrg_clock_ms();
    return now < until_ms ? until_ms - now : 0;
}

uint64_t mrg_client_until(uint64_t timeout_ms)
{
    return mrg_clock_ms() + (timeout_ms ? timeout_ms : MRG_CALL_TIMEOUT_MS);
}

enum mrg_err mrg_client_open(const char *url, const struct mrg_client_options *options,
                             struct mrg_client **ret_client, const char **ret_path, struct mrg_error *err)
{
    struct mrg_target target = {0};
    const struct mrg_client_ops *ops = NULL;
    enum mrg_err code = mrg_target_parse(url, &target, &ops, err);
    if (!code && ops)
        code = ops->open(&target, options, ret_client, err);
    if (!code && ret_path)
        *ret_path = target.path;
    return code;
}

enum mrg_err mrg_client_call(struct mrg_client *client, const struct mrg_request *request,
                             struct mrg_arena *arena, struct mrg_client_reply *ret_reply,
                             struct mrg_error *err)
{
    return client->ops->call(client, request, arena, ret_reply, err);
}

void mrg_client_close(struct mrg_client *client)
{
    if (client)
        client->ops->close(client);
}
