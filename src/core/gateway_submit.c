// SPDX-License-Identifier: Apache-2.0
/*
 * Submission: which dependency and which session an exchange belongs to.
 */
#include <string.h>

#include "core/control.h"
#include "core/gateway_int.h"
#include "util/text.h"
#include "util/uri.h"

#define SESSION_PREFIX "/__s/"
#define SESSION_MEMBER "mirage-session"

static bool starts_with(struct mrg_slice text, const char *start)
{
    size_t len = strlen(start);
    return text.len >= len && memcmp(text.ptr, start, len) == 0;
}

static struct mrg_slice trim(struct mrg_slice text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = (struct mrg_slice){text.ptr + 1, text.len - 1};
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* What stands before the first `stop`, and *rest behind it. */
static struct mrg_slice cut(struct mrg_slice text, char stop, struct mrg_slice *rest)
{
    const char *at = text.len > 0 ? memchr(text.ptr, stop, text.len) : NULL;
    if (!at) {
        *rest = (struct mrg_slice){text.ptr + text.len, 0};
        return text;
    }
    size_t len = (size_t)(at - text.ptr);
    *rest = (struct mrg_slice){at + 1, text.len - len - 1};
    return (struct mrg_slice){text.ptr, len};
}

/* The member mirage-session of a W3C baggage header: key=value;properties, separated by commas. {NULL, 0}:
 * not there. */
static struct mrg_slice from_baggage(struct mrg_arena *arena, struct mrg_slice baggage)
{
    while (baggage.len > 0) {
        struct mrg_slice rest, value;
        struct mrg_slice member = cut(baggage, ',', &rest);
        struct mrg_slice properties;
        struct mrg_slice key = trim(cut(cut(member, ';', &properties), '=', &value));
        value = trim(value);
        if (mrg_slice_eq_str(key, SESSION_MEMBER) && value.len > 0)
            return mrg_uri_decode(arena, value, false);
        baggage = rest;
    }
    return (struct mrg_slice){NULL, 0};
}

/* Takes /__s/NAME off the path; {NULL, 0} when it is not there. */
static struct mrg_slice from_path(struct mrg_exchange *exchange)
{
    struct mrg_request *request = &exchange->request;
    if (!starts_with(request->path, SESSION_PREFIX))
        return (struct mrg_slice){NULL, 0};
    size_t skip = strlen(SESSION_PREFIX);
    struct mrg_slice rest;
    struct mrg_slice name =
        cut((struct mrg_slice){request->path.ptr + skip, request->path.len - skip}, '/', &rest);
    request->path = rest.len > 0 || name.len + skip < request->path.len
                        ? (struct mrg_slice){name.ptr + name.len, request->path.len - skip - name.len}
                        : MRG_SLICE("/");
    return mrg_uri_decode(exchange->arena, name, false);
}

/* The session that the exchange names; {NULL, 0} when it names none. An empty name in the path is a name,
 * and a wrong one. */
static struct mrg_slice session_of(struct mrg_exchange *exchange)
{
    struct mrg_request *request = &exchange->request;
    struct mrg_slice name = from_path(exchange);
    if (exchange->door->session)
        return mrg_slice_of(exchange->door->session);
    if (name.ptr)
        return name;
    const struct mrg_slice *header = mrg_request_header(request, SESSION_MEMBER);
    if (header && header->len > 0)
        return *header;
    /* Several baggage headers are one list (W3C Baggage, section 3.2). */
    for (size_t i = 0; i < request->header_count && !name.ptr; i++) {
        if (mrg_slice_eq_str(request->headers[i].name, "baggage"))
            name = from_baggage(exchange->arena, request->headers[i].value);
    }
    return name;
}

static bool has_prefix(struct mrg_slice path, const char *prefix)
{
    size_t len = strlen(prefix);
    return starts_with(path, prefix) && (path.len == len || path.ptr[len] == '/');
}

/* With the read lock held: the dependency whose prefix is the longest that fits; its prefix is taken off
 * the path. */
static struct mrg_dependency *by_prefix(const struct mrg_gateway *gateway, struct mrg_request *request)
{
    struct mrg_dependency *best = NULL;
    for (size_t i = 0; i < gateway->dependency_count; i++) {
        struct mrg_dependency *one = gateway->dependencies[i];
        const char *prefix = one->config->prefix;
        if (prefix && has_prefix(request->path, prefix) &&
            (!best || strlen(prefix) > strlen(best->config->prefix)))
            best = one;
    }
    if (best) {
        size_t len = strlen(best->config->prefix);
        request->path = request->path.len > len
                            ? (struct mrg_slice){request->path.ptr + len, request->path.len - len}
                            : MRG_SLICE("/");
    }
    return best;
}

static struct mrg_dependency *find_dependency(struct mrg_gateway *gateway, struct mrg_exchange *exchange)
{
    const struct mrg_door *door = exchange->door;
    if (door->kind == MRG_DOOR_CONTROL)
        return NULL;
    if (door->kind == MRG_DOOR_DEPENDENCY)
        return mrg_gateway_dependency(gateway, door->dependency);
    pthread_rwlock_rdlock(&gateway->lock);
    struct mrg_dependency *found = by_prefix(gateway, &exchange->request);
    if (found)
        mrg_dependency_ref(found);
    pthread_rwlock_unlock(&gateway->lock);
    return found;
}

static void refuse_unknown(struct mrg_gateway *gateway, struct mrg_exchange *exchange)
{
    struct mrg_buf known;
    mrg_buf_init(&known, SIZE_MAX);
    pthread_rwlock_rdlock(&gateway->lock);
    for (size_t i = 0; i < gateway->dependency_count; i++) {
        const struct mrg_dependency_config *config = gateway->dependencies[i]->config;
        if (config->prefix)
            mrg_buf_appendf(&known, "%s%s", known.len ? ", " : "", config->prefix);
    }
    pthread_rwlock_unlock(&gateway->lock);
    if (exchange->door->kind == MRG_DOOR_CONTROL)
        mrg_reply_fail(exchange->arena, &exchange->reply, 404,
                       "this is the control address: it answers /metrics and the verbs under /__mock__/");
    else if (exchange->door->kind == MRG_DOOR_SHARED)
        mrg_reply_fail(exchange->arena, &exchange->reply, 404,
                       "no dependency has this path; the prefixes are %s", known.len ? known.data : "none");
    else
        mrg_reply_fail(exchange->arena, &exchange->reply, 503,
                       "dependency %s is no longer in the configuration", exchange->door->dependency);
    mrg_buf_done(&known);
}

/* Sets session, state, shown and key; false when the reply is a refusal already. */
static bool admit(struct mrg_gateway *gateway, struct mrg_exchange *exchange, struct mrg_slice session)
{
    if (!session.ptr)
        session = MRG_SLICE("default");
    if (!exchange->dependency) {
        refuse_unknown(gateway, exchange);
        return false;
    }
    if (!mrg_session_name_ok(session)) {
        mrg_reply_fail(exchange->arena, &exchange->reply, 400,
                       "the session's name is not one; expected 1 to %d letters, digits or - _ . : @ + ~",
                       MRG_MAX_SESSION_NAME);
        return false;
    }
    exchange->session = mrg_sessions_get(gateway->sessions, session);
    exchange->state = mrg_session_state(exchange->session, exchange->dependency->name);
    exchange->shown = mrg_match_shown(exchange->dependency->match, exchange->arena, &exchange->request);
    exchange->key = mrg_match_key(exchange->dependency->match, exchange->shown);
    return true;
}

/* What never got a turn counts as failed all the same, so that --strict sees it. */
static void skip_refused(struct mrg_exchange *exchange)
{
    if (exchange->dependency)
        atomic_fetch_add_explicit(&exchange->dependency->stats->failed, 1, memory_order_relaxed);
    mrg_turn_skip(exchange);
}

void mrg_gateway_submit(struct mrg_gateway *gateway, struct mrg_exchange *exchange)
{
    mrg_exchange_ref(exchange);
    mrg_gateway_enter(gateway);
    exchange->gateway = gateway;
    struct mrg_slice session = session_of(exchange);
    if (!exchange->dependency)
        exchange->dependency = find_dependency(gateway, exchange);
    /* Behind a shared address's prefix the session may stand as well: /inventory/__s/NAME/items. */
    struct mrg_slice behind =
        exchange->door->kind == MRG_DOOR_SHARED ? from_path(exchange) : (struct mrg_slice){NULL, 0};
    if (behind.ptr)
        session = behind;
    if (mrg_control_is(exchange)) {
        const char *name = exchange->dependency ? exchange->dependency->config->name : NULL;
        mrg_control_answer(gateway, exchange, name, session);
        mrg_turn_skip(exchange);
    } else if (atomic_load(&gateway->closed)) {
        mrg_reply_fail(exchange->arena, &exchange->reply, 503, "the server is stopping");
        mrg_turn_skip(exchange);
    } else if (admit(gateway, exchange, session)) {
        mrg_turn_enter(exchange);
    } else {
        skip_refused(exchange);
    }
}
