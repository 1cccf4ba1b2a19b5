// SPDX-License-Identifier: Apache-2.0
/*
 * A message becomes a request. This runs for every gRPC call, so everything is cut out of the message's text:
 * no tree is built, and numbers keep their spelling.
 */
#include <string.h>

#include "core/query.h"
#include "util/json.h"
#include "wire/route_int.h"

/* The raw values of the `active` variables, from the object at depth `level` of their paths. */
static void collect(const struct mrg_binding *binding, uint32_t active, size_t level,
                    const struct mrg_message *type, struct mrg_slice object, struct mrg_slice *values)
{
    size_t cursor = 0;
    struct mrg_slice key, raw;
    while (active && mrg_json_next(object, &cursor, &key, &raw)) {
        const struct mrg_field *field = mrg_route_field(type, key);
        if (!field)
            continue;
        uint32_t ends;
        uint32_t below = mrg_route_below(binding, active, level, field, &ends);
        if (ends)
            values[__builtin_ctz(ends)] = raw;
        if (below)
            collect(binding, below, level + 1, field->message, raw, values);
        active &= ~(ends | below);
    }
}

/* Whether a value is what the variable's segments say. */
static bool fits(const struct mrg_binding *binding, const struct mrg_route_variable *variable,
                 struct mrg_slice value)
{
    const struct mrg_route_segment *segments = &binding->segments[variable->first];
    if (value.len == 0)
        return false;
    if (!variable->multi)
        return segments[0].kind == MRG_ROUTE_ONE || mrg_slice_eq(segments[0].text, value);
    bool ended = false;
    for (size_t i = 0; i < variable->count; i++) {
        if (segments[i].kind == MRG_ROUTE_REST)
            return true;
        if (ended)
            return false;
        const char *slash = memchr(value.ptr, '/', value.len);
        size_t len = slash ? (size_t)(slash - value.ptr) : value.len;
        struct mrg_slice piece = {value.ptr, len};
        if (segments[i].kind == MRG_ROUTE_ONE ? len == 0 : !mrg_slice_eq(segments[i].text, piece))
            return false;
        ended = !slash;
        if (slash)
            value = (struct mrg_slice){slash + 1, value.len - len - 1};
    }
    return ended;
}

/* The texts of all variables; false when one has no value that fits. */
static bool read_values(const struct mrg_binding *binding, struct mrg_arena *arena, struct mrg_slice message,
                        struct mrg_slice *values)
{
    if (binding->nameless)
        return false;
    for (size_t i = 0; i < binding->variable_count; i++)
        values[i] = (struct mrg_slice){NULL, 0};
    collect(binding, mrg_route_all(binding), 0, binding->input, message, values);
    for (size_t i = 0; i < binding->variable_count; i++) {
        if (!values[i].ptr || !mrg_route_text(arena, values[i], &values[i]) ||
            !fits(binding, &binding->variables[i], values[i]))
            return false;
    }
    return true;
}

static char *put(char *out, struct mrg_slice text)
{
    memcpy(out, text.ptr, text.len);
    return out + text.len;
}

static struct mrg_slice make_path(const struct mrg_binding *binding, struct mrg_arena *arena,
                                  const struct mrg_slice *values)
{
    size_t room = binding->verb.len + 2;
    for (size_t i = 0; i < binding->segment_count; i++)
        room += binding->segments[i].text.len + 1;
    for (size_t i = 0; i < binding->variable_count; i++)
        room += 3 * values[i].len;
    char *start = mrg_arena_alloc(arena, room);
    char *out = start;
    size_t next = 0; /* variable */
    for (size_t i = 0; i < binding->segment_count; i++) {
        const struct mrg_route_variable *variable =
            next < binding->variable_count ? &binding->variables[next] : NULL;
        *out++ = '/';
        if (variable && variable->first == i) {
            out = mrg_route_encode(out, values[next++], variable->multi);
            i += variable->count - 1;
        } else {
            out = put(out, binding->segments[i].text);
        }
    }
    if (binding->verb.len > 0) {
        *out++ = ':';
        out = put(out, binding->verb);
    }
    *out = '\0';
    return (struct mrg_slice){start, (size_t)(out - start)};
}

static struct mrg_slice copy(struct mrg_arena *arena, struct mrg_slice text)
{
    return (struct mrg_slice){mrg_arena_memdup(arena, text.ptr, text.len), text.len};
}

/*
 * The object without what the path has: a message of which nothing remains goes too, since the path says that
 * it is there. `out` has room for object.len bytes; returns the end.
 */
static char *put_rest(const struct mrg_binding *binding, uint32_t active, size_t level,
                      const struct mrg_message *type, struct mrg_slice object, char *out)
{
    size_t cursor = 0;
    struct mrg_slice key, raw;
    char *start = out;
    *out++ = '{';
    while (mrg_json_next(object, &cursor, &key, &raw)) {
        uint32_t ends = 0;
        const struct mrg_field *field = active ? mrg_route_field(type, key) : NULL;
        uint32_t below = field ? mrg_route_below(binding, active, level, field, &ends) : 0;
        if (ends)
            continue;
        char *back = out;
        if (out > start + 1)
            *out++ = ',';
        out = put(out, (struct mrg_slice){key.ptr - 1, key.len + 2});
        *out++ = ':';
        char *value = out;
        out = below && *raw.ptr == '{' ? put_rest(binding, below, level + 1, field->message, raw, out)
                                       : put(out, raw);
        if (below && out == value + 2)
            out = back;
    }
    *out++ = '}';
    return out;
}

static struct mrg_slice without_bound(const struct mrg_binding *binding, struct mrg_arena *arena,
                                      uint32_t active, size_t level, const struct mrg_message *type,
                                      struct mrg_slice object)
{
    if (!active || *object.ptr != '{')
        return copy(arena, object);
    char *start = mrg_arena_alloc(arena, object.len + 1);
    char *end = put_rest(binding, active, level, type, object, start);
    *end = '\0';
    return (struct mrg_slice){start, (size_t)(end - start)};
}

static struct mrg_body make_body(const struct mrg_binding *binding, struct mrg_arena *arena,
                                 struct mrg_slice message)
{
    uint32_t all = mrg_route_all(binding);
    size_t cursor = 0;
    struct mrg_slice key, raw;
    if (binding->whole_body)
        return (struct mrg_body){MRG_BODY_JSON,
                                 without_bound(binding, arena, all, 0, binding->input, message)};
    while (binding->body && mrg_json_next(message, &cursor, &key, &raw)) {
        if (mrg_route_field(binding->input, key) != binding->body)
            continue;
        uint32_t below = mrg_route_below(binding, all, 0, binding->body, NULL);
        return (struct mrg_body){MRG_BODY_JSON,
                                 without_bound(binding, arena, below, 1, binding->body->message, raw)};
    }
    return (struct mrg_body){MRG_BODY_NONE, MRG_SLICE("")};
}

/* A query being written. */
struct query {
    const struct mrg_binding *binding;
    struct mrg_arena *arena;
    struct mrg_buf buf;  /* so far */
    struct mrg_buf name; /* of the messages around the field, each with a dot behind */
};

static void append_pair(struct query *query, const struct mrg_field *field, struct mrg_slice raw)
{
    struct mrg_slice text;
    if (!mrg_route_text(query->arena, raw, &text))
        return;
    size_t outer = query->name.len;
    struct mrg_slice key = field->name;
    if (outer > 0) {
        mrg_buf_append_slice(&query->name, field->name);
        key = mrg_buf_slice(&query->name);
    }
    mrg_query_append_pair(&query->buf, key, text);
    query->name.len = outer;
}

static void append_fields(struct query *query, uint32_t active, size_t level, const struct mrg_message *type,
                          struct mrg_slice object);

static void append_field(struct query *query, uint32_t below, size_t level, const struct mrg_field *field,
                         struct mrg_slice raw)
{
    size_t cursor = 0;
    struct mrg_slice item;
    if (mrg_route_is_group(field)) {
        size_t outer = query->name.len;
        mrg_buf_append_slice(&query->name, field->name);
        mrg_buf_append_char(&query->name, '.');
        append_fields(query, below, level + 1, field->message, raw);
        query->name.len = outer;
    } else if (!mrg_route_is_single(field)) {
        return;
    } else if (!field->repeated) {
        if (!mrg_route_is_default(field, raw))
            append_pair(query, field, raw);
    } else {
        while (mrg_json_next_item(raw, &cursor, &item))
            append_pair(query, field, item);
    }
}

static void append_fields(struct query *query, uint32_t active, size_t level, const struct mrg_message *type,
                          struct mrg_slice object)
{
    size_t cursor = 0;
    struct mrg_slice key, raw;
    while (mrg_json_next(object, &cursor, &key, &raw)) {
        const struct mrg_field *field = mrg_route_field(type, key);
        uint32_t ends = 0;
        if (!field || (level == 0 && field == query->binding->body))
            continue;
        uint32_t below = mrg_route_below(query->binding, active, level, field, &ends);
        if (!ends)
            append_field(query, below, level, field, raw);
    }
}

static struct mrg_slice make_query(const struct mrg_binding *binding, struct mrg_arena *arena,
                                   struct mrg_slice message)
{
    struct query query = {.binding = binding, .arena = arena};
    if (binding->whole_body)
        return MRG_SLICE("");
    mrg_buf_init(&query.buf, SIZE_MAX);
    mrg_buf_init(&query.name, SIZE_MAX);
    append_fields(&query, mrg_route_all(binding), 0, binding->input, message);
    mrg_buf_done(&query.name);
    return mrg_arena_take_buf(arena, &query.buf);
}

/* Whether a query can say all that neither the path nor the body takes: no map, no list of messages. */
static bool query_holds(const struct mrg_binding *binding, uint32_t active, size_t level,
                        const struct mrg_message *type, struct mrg_slice object)
{
    size_t cursor = 0;
    struct mrg_slice key, raw;
    while (mrg_json_next(object, &cursor, &key, &raw)) {
        const struct mrg_field *field = mrg_route_field(type, key);
        uint32_t ends = 0;
        if (!field || (level == 0 && field == binding->body) || mrg_slice_eq_str(raw, "null"))
            continue;
        uint32_t below = mrg_route_below(binding, active, level, field, &ends);
        if (ends || mrg_route_is_single(field) || mrg_route_is_default(field, raw))
            continue;
        if (!mrg_route_is_group(field) || !query_holds(binding, below, level + 1, field->message, raw))
            return false;
    }
    return true;
}

static bool can_say(const struct mrg_binding *binding, struct mrg_slice message)
{
    return binding->whole_body || query_holds(binding, mrg_route_all(binding), 0, binding->input, message);
}

void mrg_route_request(const struct mrg_method *method, struct mrg_arena *arena, struct mrg_slice message,
                       struct mrg_request *request)
{
    struct mrg_slice values[MRG_ROUTE_MAX_VARIABLES];
    message = mrg_slice_trim(message);
    for (size_t i = 0; i < method->binding_count; i++) {
        const struct mrg_binding *binding = method->bindings[i];
        if (!read_values(binding, arena, message, values) || !can_say(binding, message))
            continue;
        request->path = make_path(binding, arena, values);
        request->query = make_query(binding, arena, message);
        request->body = make_body(binding, arena, message);
        request->method = binding->method;
        if (binding->any_method)
            request->method = request->body.kind == MRG_BODY_NONE ? MRG_SLICE("GET") : MRG_SLICE("POST");
        return;
    }
    request->method = MRG_SLICE("POST");
    request->path = copy(arena, method->path);
    request->query = MRG_SLICE("");
    request->body = (struct mrg_body){MRG_BODY_JSON, copy(arena, message)};
}

/* The binding that a request was made by. More than one may match its path; the method's bytes are the one's. */
static const struct mrg_binding *made_by(const struct mrg_method *method, const struct mrg_request *request)
{
    for (size_t i = 0; i < method->binding_count; i++) {
        if (request->method.ptr == method->bindings[i]->method.ptr)
            return method->bindings[i];
    }
    for (size_t i = 0; i < method->binding_count; i++) {
        if (mrg_route_matches(method->bindings[i], request->method, request->path, NULL))
            return method->bindings[i];
    }
    return NULL;
}

struct mrg_slice mrg_route_reply(const struct mrg_method *method, const struct mrg_request *request,
                                 struct mrg_arena *arena, struct mrg_slice body)
{
    const struct mrg_binding *binding = made_by(method, request);
    if (!binding || !binding->response || body.len == 0)
        return body;
    struct mrg_slice name = binding->response->name;
    char *start = mrg_arena_alloc(arena, name.len + body.len + 6);
    char *out = put(put(start, MRG_SLICE("{\"")), name);
    out = put(put(put(out, MRG_SLICE("\":")), body), MRG_SLICE("}"));
    *out = '\0';
    return (struct mrg_slice){start, (size_t)(out - start)};
}
