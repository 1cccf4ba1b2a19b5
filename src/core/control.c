// SPDX-License-Identifier: Apache-2.0
#include "core/control.h"

#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/control_int.h"
#include "util/json.h"
#include "util/uri.h"

#define ROOT "/__mock__"

struct verb {
    const char *method;
    const char *path; /* behind ROOT; {id} is one segment */
    mrg_verb_fn fn;   /* NULL: belongs to a later version */
    bool open;        /* needs no token */
};

static const struct verb verbs[] = {
    {"GET", "/health", mrg_verb_health, true},
    {"POST", "/reset", mrg_verb_reset, false},
    {"POST", "/scenario", mrg_verb_scenario, false},
    {"GET", "/state", mrg_verb_state, false},
    {"PUT", "/state", NULL, false},
    {"PATCH", "/state", NULL, false},
    {"GET", "/log", mrg_verb_log, false},
    {"GET", "/metrics", mrg_verb_metrics, false},
    {"POST", "/verify", NULL, false},
    {"GET", "/sessions", mrg_verb_sessions_list, false},
    {"POST", "/sessions", mrg_verb_sessions_create, false},
    {"GET", "/sessions/{id}", mrg_verb_session_show, false},
    {"DELETE", "/sessions/{id}", mrg_verb_session_delete, false},
    {"POST", "/sessions/{id}/snapshot", mrg_verb_session_snapshot, false},
    {"POST", "/sessions/{id}/fork", mrg_verb_session_fork, false},
    {"POST", "/sessions/{id}/restore", mrg_verb_session_restore, false},
};

bool mrg_control_is(const struct mrg_exchange *exchange)
{
    struct mrg_slice path = exchange->request.path;
    size_t len = strlen(ROOT);
    if (path.len >= len && memcmp(path.ptr, ROOT, len) == 0 && (path.len == len || path.ptr[len] == '/'))
        return true;
    return exchange->door->kind == MRG_DOOR_CONTROL && mrg_slice_eq_str(path, "/metrics");
}

void mrg_control_fail(struct mrg_control *control, int status, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mrg_reply_fail(control->exchange->arena, &control->exchange->reply, status, "%s", text);
}

void mrg_control_reply(struct mrg_control *control, int status, const struct mrg_buf *json)
{
    mrg_reply_json(control->exchange->arena, &control->exchange->reply, status, mrg_buf_slice(json));
}

struct mrg_slice mrg_control_session(const struct mrg_control *control)
{
    return control->session.len > 0 ? control->session : MRG_SLICE("default");
}

const char *mrg_control_query(const struct mrg_control *control, const char *key)
{
    struct mrg_slice name, value;
    for (size_t cursor = 0; mrg_uri_next_pair(control->exchange->request.query, &cursor, &name, &value);) {
        if (mrg_slice_eq_str(name, key)) {
            struct mrg_slice plain = mrg_uri_decode(control->exchange->arena, value, true);
            return mrg_arena_memdup(control->exchange->arena, plain.ptr, plain.len);
        }
    }
    return NULL;
}

/* The host of host:port, brackets of an IPv6 address included; all of it when what follows the host is no
 * port. */
static struct mrg_slice host_only(struct mrg_slice authority)
{
    size_t len = authority.len;
    while (len > 0 && authority.ptr[len - 1] >= '0' && authority.ptr[len - 1] <= '9')
        len--;
    return len > 0 && authority.ptr[len - 1] == ':' ? (struct mrg_slice){authority.ptr, len - 1} : authority;
}

/* 127.0.0.0/8 in dotted form: a name such as 127.0.0.1.example.com is none. */
static bool is_loopback(struct mrg_slice host)
{
    if (mrg_slice_caseeq_str(host, "localhost") || mrg_slice_eq_str(host, "[::1]"))
        return true;
    if (host.len < 7 || host.len > 15 || memcmp(host.ptr, "127.", 4) != 0)
        return false;
    for (size_t i = 0; i < host.len; i++) {
        if (host.ptr[i] != '.' && (host.ptr[i] < '0' || host.ptr[i] > '9'))
            return false;
    }
    return true;
}

static bool host_allowed(const struct mrg_config *config, struct mrg_slice authority)
{
    struct mrg_slice host = host_only(authority);
    if (is_loopback(host))
        return true;
    for (size_t i = 0; i < config->control_hosts.count; i++) {
        if (mrg_slice_caseeq_str(host, config->control_hosts.items[i]))
            return true;
    }
    return false;
}

/* Same origin only: scheme://authority of the Host that was asked. `null` and every other page are
 * foreign. */
static bool origin_is_own(struct mrg_slice origin, const struct mrg_slice *host)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; host && i < MRG_ARRAY_LEN(schemes); i++) {
        size_t len = strlen(schemes[i]);
        if (origin.len == len + host->len && memcmp(origin.ptr, schemes[i], len) == 0 &&
            memcmp(origin.ptr + len, host->ptr, host->len) == 0)
            return true;
    }
    return false;
}

static bool token_fits(const struct mrg_config *config, const struct mrg_request *request)
{
    if (!config->control_token_env)
        return true;
    const char *token = getenv(config->control_token_env);
    const struct mrg_slice *given = mrg_request_header(request, "authorization");
    static const char scheme[] = "Bearer ";
    size_t skip = sizeof(scheme) - 1;
    if (!token || !*token || !given || given->len != skip + strlen(token) ||
        !mrg_slice_caseeq_str((struct mrg_slice){given->ptr, skip}, scheme))
        return false;
    return CRYPTO_memcmp(given->ptr + skip, token, strlen(token)) == 0;
}

/* Whether the body, if there is one, is JSON and does not say otherwise: pages can send other types
 * without asking first. */
static bool body_fits(struct mrg_control *control)
{
    const struct mrg_request *request = &control->exchange->request;
    const struct mrg_slice *type = mrg_request_header(request, "content-type");
    struct mrg_error err;
    if (request->body.bytes.len == 0 || request->body.kind == MRG_BODY_JSON)
        return true;
    if (type && mrg_type_is_json(*type) && mrg_json_check(request->body.bytes, &err))
        mrg_control_fail(control, 400, "the body is not JSON: %.500s", err.message);
    else
        mrg_control_fail(control, 415,
                         "the body is not JSON; expected a JSON object with content-type: application/json");
    return false;
}

/* One header beside a failure: RFC 9110 wants Allow with 405 and WWW-Authenticate with 401. */
static void add_header(struct mrg_control *control, const char *name, const char *value)
{
    struct mrg_arena *arena = control->exchange->arena;
    struct mrg_reply *reply = &control->exchange->reply;
    size_t count = reply->header_count;
    struct mrg_header *headers = mrg_arena_alloc(arena, (count + 1) * sizeof(*headers));
    for (size_t i = 0; i < count; i++)
        headers[i] = reply->headers[i];
    headers[count].name = mrg_slice_of(name);
    headers[count].value = mrg_slice_of(mrg_arena_strdup(arena, value));
    reply->headers = headers;
    reply->header_count = count + 1;
}

static bool guard(struct mrg_control *control, const struct mrg_config *config, bool open)
{
    const struct mrg_request *request = &control->exchange->request;
    const struct mrg_slice *host = mrg_request_header(request, "host");
    const struct mrg_slice *origin = mrg_request_header(request, "origin");
    if (host && !host_allowed(config, *host)) {
        mrg_control_fail(
            control, 403,
            "control verbs refuse the Host %.*s; expected a loopback name or one of control.hosts",
            (int)(host->len > 200 ? 200 : host->len), host->ptr);
    } else if (origin && !origin_is_own(*origin, host)) {
        mrg_control_fail(control, 403, "control verbs refuse the foreign Origin %.*s",
                         (int)(origin->len > 200 ? 200 : origin->len), origin->ptr);
    } else if (!open && !token_fits(config, request)) {
        mrg_control_fail(
            control, 401,
            "control verbs need the header Authorization: Bearer with the token of control.token_env");
        add_header(control, "www-authenticate", "Bearer");
    } else {
        return body_fits(control);
    }
    return false;
}

/* HEAD is GET without a body, which transports see to. */
static bool method_fits(struct mrg_slice method, const char *wanted)
{
    return mrg_slice_eq_str(method, wanted) ||
           (strcmp(wanted, "GET") == 0 && mrg_slice_eq_str(method, "HEAD"));
}

/* The verb of that path; *ret_known tells a path that exists with another method. */
static const struct verb *find_verb(struct mrg_slice method, struct mrg_slice path, bool *ret_known)
{
    *ret_known = false;
    for (size_t i = 0; i < MRG_ARRAY_LEN(verbs); i++) {
        if (!mrg_uri_match(verbs[i].path, path))
            continue;
        *ret_known = true;
        if (method_fits(method, verbs[i].method))
            return &verbs[i];
    }
    return NULL;
}

static void refuse_verb(struct mrg_control *control, struct mrg_slice path, bool known)
{
    const struct mrg_request *request = &control->exchange->request;
    if (!known) {
        mrg_control_fail(
            control, 404,
            "there is no such verb; the verbs are health, reset, scenario, state, log, metrics and sessions");
        return;
    }
    struct mrg_buf allow;
    mrg_buf_init(&allow, SIZE_MAX);
    for (size_t i = 0; i < MRG_ARRAY_LEN(verbs); i++) {
        if (mrg_uri_match(verbs[i].path, path))
            mrg_buf_appendf(&allow, "%s%s", allow.len ? ", " : "", verbs[i].method);
    }
    mrg_control_fail(control, 405, "%.*s is not a method of this verb; expected %s", (int)request->method.len,
                     request->method.ptr, allow.data);
    add_header(control, "allow", allow.data);
    mrg_buf_done(&allow);
}

static bool dependency_known(struct mrg_control *control)
{
    if (!control->dependency)
        return true;
    struct mrg_dependency *dependency = mrg_gateway_dependency(control->gateway, control->dependency);
    if (!dependency)
        mrg_control_fail(control, 404, "there is no dependency %.200s", control->dependency);
    mrg_dependency_unref(dependency);
    return dependency != NULL;
}

static bool session_fits(struct mrg_control *control)
{
    if (!control->session.ptr || mrg_session_name_ok(control->session))
        return true;
    mrg_control_fail(control, 400,
                     "the session's name is not one; expected 1 to %d letters, digits or - _ . : @ + ~",
                     MRG_MAX_SESSION_NAME);
    return false;
}

static void answer_metrics(struct mrg_control *control)
{
    if (method_fits(control->exchange->request.method, "GET")) {
        mrg_verb_metrics(control);
        return;
    }
    mrg_control_fail(control, 405, "/metrics is read with GET");
    add_header(control, "allow", "GET");
}

/* A misspelt key that is passed over would do the verb to the wrong session or dependency. */
static bool query_fits(struct mrg_control *control)
{
    static const char *const known[] = {"dependency", "session", "after", "limit"};
    struct mrg_slice key, value;
    for (size_t cursor = 0; mrg_uri_next_pair(control->exchange->request.query, &cursor, &key, &value);) {
        bool fits = false;
        for (size_t i = 0; i < MRG_ARRAY_LEN(known); i++)
            fits |= mrg_slice_eq_str(key, known[i]);
        if (fits)
            continue;
        mrg_control_fail(
            control, 400,
            "there is no query key \"%.*s\"; expected dependency, session, or for the log after and limit",
            (int)(key.len > 100 ? 100 : key.len), key.ptr);
        return false;
    }
    return true;
}

/* ?session= names one where nothing else does; ?dependency= may not contradict the address. */
static bool names_fit(struct mrg_control *control)
{
    const char *session = mrg_control_query(control, "session");
    const char *dependency = mrg_control_query(control, "dependency");
    if (session && !control->session.ptr)
        control->session = mrg_slice_of(session);
    if (!control->dependency)
        control->dependency = dependency;
    if (!dependency || strcmp(dependency, control->dependency) == 0)
        return true;
    mrg_control_fail(control, 400, "this is the address of %s, not of %.200s", control->dependency,
                     dependency);
    return false;
}

/* The guard comes first: who may not ask is told nothing else. */
static void dispatch(struct mrg_control *control, const struct mrg_config *config)
{
    const struct mrg_request *request = &control->exchange->request;
    bool metrics = mrg_slice_eq_str(request->path, "/metrics");
    size_t skip = metrics ? 0 : strlen(ROOT);
    struct mrg_slice path = {request->path.ptr + skip, request->path.len - skip};
    bool known;
    const struct verb *verb = find_verb(request->method, path, &known);
    if (!guard(control, config, verb && verb->open) || !query_fits(control) || !names_fit(control) ||
        !session_fits(control) || !dependency_known(control))
        return;
    if (metrics) {
        answer_metrics(control);
    } else if (!verb) {
        refuse_verb(control, path, known);
    } else if (!verb->fn) {
        mrg_control_fail(control, 501, "this verb belongs to a later version");
    } else if (!verb->open && mrg_gateway_is_closed(control->gateway)) {
        mrg_control_fail(control, 503, "the server is stopping");
    } else {
        const char *slash = path.len > 1 ? memchr(path.ptr + 1, '/', path.len - 1) : NULL;
        control->rest =
            slash ? (struct mrg_slice){slash, path.len - (size_t)(slash - path.ptr)} : MRG_SLICE("");
        verb->fn(control);
    }
}

void mrg_control_answer(struct mrg_gateway *gateway, struct mrg_exchange *exchange, const char *dependency,
                        struct mrg_slice session)
{
    struct mrg_control control = {gateway, exchange, dependency, session, {"", 0}};
    struct mrg_config *config = mrg_gateway_config(gateway);
    dispatch(&control, config);
    mrg_config_unref(config);
}
