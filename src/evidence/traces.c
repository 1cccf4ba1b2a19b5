// SPDX-License-Identifier: Apache-2.0
#include "evidence/traces.h"

#include <string.h>

#include "evidence/otlp.h"
#include "evidence/span.h"
#include "evidence/templates.h"
#include "util/json.h"
#include "util/uri.h"

#define FIRST_SLOTS 1024u
#define MAX_KEY     40u /* bytes of a query key that is shown */

static bool owner_of(struct mrg_traces *traces, const struct mrg_span *span, size_t *ret_owner)
{
    bool client = span->kind == MRG_SPAN_CLIENT;
    const char *name = client ? span->peer : span->service;
    for (size_t i = 0; i < traces->owner_count; i++) {
        if (traces->owners[i].client == client && strcmp(traces->owners[i].name, name) == 0) {
            *ret_owner = i;
            return true;
        }
    }
    if (traces->owner_count >= MRG_MAX_OWNERS)
        return false;
    mrg_grow((void **)&traces->owners, &traces->owner_capacity, traces->owner_count, sizeof(*traces->owners));
    traces->owners[traces->owner_count] = (struct mrg_owner){.client = client, .name = mrg_strdup(name)};
    *ret_owner = traces->owner_count++;
    return true;
}

static uint64_t hash_of(const struct mrg_call *call)
{
    uint64_t hash =
        mrg_hash64(call->method, strlen(call->method), call->owner * 4 + call->routed * 2u + call->rpc);
    hash = mrg_hash64(call->path, strlen(call->path), hash);
    return mrg_hash64(call->status, strlen(call->status), hash);
}

static bool same(const struct mrg_call *a, const struct mrg_call *b)
{
    return a->owner == b->owner && a->routed == b->routed && a->rpc == b->rpc &&
           strcmp(a->method, b->method) == 0 && strcmp(a->path, b->path) == 0 &&
           strcmp(a->status, b->status) == 0;
}

static void place(struct mrg_traces *traces, size_t index)
{
    size_t slot = hash_of(&traces->calls[index]) & (traces->slot_count - 1);
    while (traces->slots[slot] != 0)
        slot = (slot + 1) & (traces->slot_count - 1);
    traces->slots[slot] = index + 1;
}

static void grow_slots(struct mrg_traces *traces)
{
    free(traces->slots);
    traces->slot_count = traces->slot_count ? traces->slot_count * 2 : FIRST_SLOTS;
    traces->slots = mrg_zalloc(traces->slot_count * sizeof(*traces->slots));
    for (size_t i = 0; i < traces->call_count; i++)
        place(traces, i);
}

static struct mrg_call *find(struct mrg_traces *traces, const struct mrg_call *key)
{
    if (traces->slot_count == 0)
        return NULL;
    size_t slot = hash_of(key) & (traces->slot_count - 1);
    for (; traces->slots[slot] != 0; slot = (slot + 1) & (traces->slot_count - 1)) {
        struct mrg_call *call = &traces->calls[traces->slots[slot] - 1];
        if (same(call, key))
            return call;
    }
    return NULL;
}

/* NULL past the bound. Takes nothing from key. */
static struct mrg_call *ensure(struct mrg_traces *traces, const struct mrg_call *key)
{
    struct mrg_call *call = find(traces, key);
    if (call || traces->call_count >= MRG_MAX_CALLS)
        return call;
    if (traces->call_count * 2 >= traces->slot_count)
        grow_slots(traces);
    mrg_grow((void **)&traces->calls, &traces->call_capacity, traces->call_count, sizeof(*traces->calls));
    call = &traces->calls[traces->call_count];
    *call = *key;
    call->method = mrg_strdup(key->method);
    call->path = mrg_strdup(key->path);
    call->status = mrg_strdup(key->status);
    place(traces, traces->call_count++);
    return call;
}

static bool is_plain_key(struct mrg_slice key)
{
    for (size_t i = 0; i < key.len; i++) {
        unsigned char c = (unsigned char)key.ptr[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        if (!letter && !(c >= '0' && c <= '9') && !strchr("_-.[]", c))
            return false;
    }
    return key.len > 0 && key.len <= MAX_KEY;
}

static void note_query(struct mrg_call *call, const char *query)
{
    struct mrg_slice key, value;
    size_t cursor = 0;
    while (mrg_uri_next_pair(mrg_slice_of(query), &cursor, &key, &value)) {
        size_t i = 0;
        while (i < MRG_MAX_QUERY_KEYS && call->query_keys[i] && !mrg_slice_eq_str(key, call->query_keys[i]))
            i++;
        if (i < MRG_MAX_QUERY_KEYS && !call->query_keys[i] && is_plain_key(key))
            call->query_keys[i] = mrg_strndup(key.ptr, key.len);
    }
}

static void count_span(void *ctx, struct json_object *object, const char *service)
{
    struct mrg_traces *traces = ctx;
    _cleanup_(mrg_span_done) struct mrg_span span = {0};
    if (!mrg_span_read(object, service, &span) || span.kind == MRG_SPAN_OTHER)
        return;
    traces->spans++;
    _cleanup_free_ char *template = span.route ? mrg_template_from_route(span.route) : NULL;
    /* A router's root handler gives "/" as the route of everything. */
    if (template && strcmp(template, "/") == 0 && strcmp(span.path, "/") != 0)
        mrg_freep(&template);
    struct mrg_call key = {.method = span.method,
                           .path = template ? template : span.path,
                           .routed = template != NULL,
                           .rpc = span.rpc,
                           .status = span.status};
    struct mrg_call *call = owner_of(traces, &span, &key.owner) ? ensure(traces, &key) : NULL;
    if (!call) {
        traces->lost++;
        return;
    }
    call->count++;
    traces->owners[call->owner].spans++;
    note_query(call, span.query);
}

bool mrg_traces_add(struct mrg_traces *traces, struct mrg_slice json, struct mrg_error *err)
{
    struct json_object *tree = NULL;
    if (mrg_json_parse(json, &tree, err) != MRG_ERR_OK)
        return false;
    mrg_otlp_each(tree, count_span, traces);
    json_object_put(tree);
    return true;
}

void mrg_traces_done(struct mrg_traces *traces)
{
    for (size_t i = 0; i < traces->owner_count; i++)
        free(traces->owners[i].name);
    for (size_t i = 0; i < traces->call_count; i++) {
        struct mrg_call *call = &traces->calls[i];
        free(call->method);
        free(call->path);
        free(call->status);
        for (size_t k = 0; k < MRG_MAX_QUERY_KEYS; k++)
            free(call->query_keys[k]);
    }
    free(traces->owners);
    free(traces->calls);
    free(traces->slots);
    *traces = (struct mrg_traces){0};
}
