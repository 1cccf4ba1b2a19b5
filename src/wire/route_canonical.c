// SPDX-License-Identifier: Apache-2.0
/*
 * The canonical form of a request. Most requests are canonical already, so the body's text is walked and cut:
 * nothing is copied before the first change.
 */
#include <string.h>

#include "core/query.h"
#include "util/json.h"
#include "util/uri.h"
#include "wire/route_int.h"

/* A text of which parts are left out or replaced, from its beginning to its end. */
struct edit {
    struct mrg_slice text;
    struct mrg_buf buf; /* so far; nothing was appended while `from` is the beginning and !changed */
    const char *from;   /* what of the text is not in buf yet */
    bool changed;
};

static void edit_init(struct edit *edit, struct mrg_slice text)
{
    *edit = (struct edit){.text = text, .from = text.ptr};
    mrg_buf_init(&edit->buf, SIZE_MAX);
}

static void edit_replace(struct edit *edit, const char *start, const char *end, struct mrg_slice with)
{
    if (!edit->changed)
        mrg_buf_reserve(&edit->buf, edit->text.len + 64);
    edit->changed = true;
    mrg_buf_append(&edit->buf, edit->from, (size_t)(start - edit->from));
    mrg_buf_append_slice(&edit->buf, with);
    edit->from = end;
}

/* The text as it is now, in *arena (made when needed) if it has changed. */
static struct mrg_slice edit_done(struct edit *edit, struct mrg_arena **arena)
{
    struct mrg_slice out = edit->text;
    if (edit->changed) {
        edit_replace(edit, edit->text.ptr + edit->text.len, edit->text.ptr + edit->text.len, MRG_SLICE(""));
        if (!*arena)
            *arena = mrg_arena_new(0);
        out = mrg_arena_take_buf(*arena, &edit->buf);
    }
    mrg_buf_done(&edit->buf);
    return out;
}

struct walk {
    const struct mrg_binding *binding; /* NULL: none */
    struct edit *edit;
};

/* Which fields of an object stand in it by their proto names; made for the first member that has another. */
struct names {
    uint64_t few[8];
    uint64_t *bits; /* NULL: not made yet */
};

static void names_make(struct names *names, const struct mrg_message *type, struct mrg_slice object)
{
    size_t words = type->field_count / 64 + 1;
    size_t cursor = 0;
    struct mrg_slice key, raw;
    names->bits = words <= MRG_ARRAY_LEN(names->few) ? names->few : mrg_malloc(words * sizeof(uint64_t));
    memset(names->bits, 0, words * sizeof(uint64_t));
    while (mrg_json_next(object, &cursor, &key, &raw)) {
        const struct mrg_field *field = mrg_route_field(type, key);
        if (field && (mrg_slice_eq(field->name, key) || memchr(key.ptr, '\\', key.len))) {
            size_t index = (size_t)(field - type->fields);
            names->bits[index / 64] |= UINT64_C(1) << index % 64;
        }
    }
}

static void names_done(struct names *names)
{
    if (names->bits != names->few)
        free(names->bits);
}

/* A member that goes by the JSON name of its field gets the proto's, if no other one has that. */
static void rename_key(struct walk *walk, struct names *names, const struct mrg_message *type,
                       struct mrg_slice object, const struct mrg_field *field, struct mrg_slice key)
{
    if (mrg_slice_eq(field->name, key) || !mrg_slice_eq(field->json_name, key))
        return;
    if (!names->bits)
        names_make(names, type, object);
    size_t index = (size_t)(field - type->fields);
    if (!(names->bits[index / 64] >> index % 64 & 1))
        edit_replace(walk->edit, key.ptr, key.ptr + key.len, field->name);
}

/*
 * Whether nothing of an object counts: all its members have their defaults. It stands for a message that is
 * there, but in the path there is a field of it that says so too.
 */
static bool vanishes(const struct mrg_binding *binding, uint32_t active, size_t level,
                     const struct mrg_message *type, struct mrg_slice object)
{
    size_t cursor = 0;
    struct mrg_slice key, raw;
    if (*object.ptr != '{')
        return false;
    while (mrg_json_next(object, &cursor, &key, &raw)) {
        const struct mrg_field *field = mrg_route_field(type, key);
        if (!field)
            return false;
        uint32_t below = mrg_route_below(binding, active, level, field, NULL);
        if (!mrg_route_is_default(field, raw) &&
            !(below && vanishes(binding, below, level + 1, field->message, raw)))
            return false;
    }
    return true;
}

static void walk_object(struct walk *walk, uint32_t active, size_t level, const struct mrg_message *type,
                        struct mrg_slice object);

/* A number without fraction and exponent, as JSON spells it. */
static bool is_integer(struct mrg_slice raw)
{
    if (raw.len == 0 || (*raw.ptr != '-' && (*raw.ptr < '0' || *raw.ptr > '9')))
        return false;
    for (size_t i = 1; i < raw.len; i++) {
        if (raw.ptr[i] < '0' || raw.ptr[i] > '9')
            return false;
    }
    return true;
}

/* A field of double or float has one kind of number, however a caller spells it. */
static void walk_real(struct walk *walk, const struct mrg_field *field, struct mrg_slice raw)
{
    const struct mrg_message *message = field->message;
    if (message && message->known == MRG_KNOWN_WRAPPER)
        field = &message->fields[0];
    else if (message)
        return;
    if ((field->type == PROTOBUF_C_TYPE_DOUBLE || field->type == PROTOBUF_C_TYPE_FLOAT) && is_integer(raw))
        edit_replace(walk->edit, raw.ptr + raw.len, raw.ptr + raw.len, MRG_SLICE(".0"));
}

/* What is within a field's value. */
static void walk_value(struct walk *walk, uint32_t active, size_t level, const struct mrg_field *field,
                       struct mrg_slice raw)
{
    size_t cursor = 0;
    struct mrg_slice key, item;
    const struct mrg_field *value = field->map ? mrg_message_field(field->message, 2) : field;
    bool object = value && value->message && value->message->known == MRG_KNOWN_NONE;
    if (!value)
        return;
    if (field->map) {
        while (mrg_json_next(raw, &cursor, &key, &item))
            object ? walk_object(walk, 0, 0, value->message, item) : walk_real(walk, value, item);
    } else if (field->repeated) {
        while (mrg_json_next_item(raw, &cursor, &item))
            object ? walk_object(walk, 0, 0, value->message, item) : walk_real(walk, value, item);
    } else if (object) {
        walk_object(walk, active, level, value->message, raw);
    } else {
        walk_real(walk, value, raw);
    }
}

/* What is no object is passed over: a wrong type stays what it is. */
static void walk_object(struct walk *walk, uint32_t active, size_t level, const struct mrg_message *type,
                        struct mrg_slice object)
{
    struct names names = {.bits = NULL};
    const char *gap = NULL;  /* where the members that go began, when none stays before them */
    const char *last = NULL; /* the end of the member before */
    bool stays = false;      /* some member does */
    size_t cursor = 0;
    struct mrg_slice key, raw;
    while (mrg_json_next(object, &cursor, &key, &raw)) {
        const struct mrg_field *field = mrg_route_field(type, key);
        uint32_t below = field && active ? mrg_route_below(walk->binding, active, level, field, NULL) : 0;
        bool goes = field && (mrg_route_is_default(field, raw) ||
                              (below && vanishes(walk->binding, below, level + 1, field->message, raw)));
        if (goes && stays) {
            edit_replace(walk->edit, last, raw.ptr + raw.len, MRG_SLICE(""));
        } else if (goes) {
            gap = gap ? gap : key.ptr - 1;
        } else {
            if (gap && !stays)
                edit_replace(walk->edit, gap, key.ptr - 1, MRG_SLICE(""));
            stays = true;
            if (field) {
                rename_key(walk, &names, type, object, field, key);
                walk_value(walk, below, level + 1, field, raw);
            }
        }
        last = raw.ptr + raw.len;
    }
    if (gap && !stays)
        edit_replace(walk->edit, gap, last, MRG_SLICE(""));
    names_done(&names);
}

static struct mrg_slice body_of(const struct mrg_method *method, const struct mrg_binding *binding,
                                struct mrg_arena **arena, const struct mrg_body *body)
{
    struct edit edit;
    struct walk walk = {binding, &edit};
    uint32_t all = binding ? mrg_route_all(binding) : 0;
    const struct mrg_field *field = binding ? binding->body : NULL;
    if (body->kind != MRG_BODY_JSON || (binding && !binding->whole_body && !field))
        return body->bytes;
    edit_init(&edit, body->bytes);
    if (!field)
        walk_object(&walk, all, 0, method->input, body->bytes);
    else
        walk_value(&walk, mrg_route_below(binding, all, 0, field, NULL), 1, field, body->bytes);
    return edit_done(&edit, arena);
}

/* As JSON has it, so that there is one rule for what a default is. */
static bool is_default_text(const struct mrg_field *field, struct mrg_slice text)
{
    char quoted[64] = "\"";
    if (field->repeated || field->message)
        return false;
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        return text.len == 0 && mrg_route_is_default(field, MRG_SLICE("\"\""));
    case PROTOBUF_C_TYPE_ENUM:
        if (text.len == 0 || text.len > sizeof(quoted) - 2)
            return false;
        if (*text.ptr >= '0' && *text.ptr <= '9')
            break;
        memcpy(quoted + 1, text.ptr, text.len);
        quoted[text.len + 1] = '"';
        return mrg_route_is_default(field, (struct mrg_slice){quoted, text.len + 2});
    default:
        break;
    }
    return mrg_json_check(text, NULL) == MRG_ERR_OK && mrg_route_is_default(field, text);
}

static struct mrg_slice decoded(struct mrg_arena **scratch, struct mrg_slice raw)
{
    if (!memchr(raw.ptr, '%', raw.len) && !memchr(raw.ptr, '+', raw.len))
        return raw;
    if (!*scratch)
        *scratch = mrg_arena_new(MRG_ARENA_KEPT);
    return mrg_uri_decode(*scratch, raw, true);
}

static bool has_twice(struct mrg_slice query, struct mrg_slice key)
{
    size_t cursor = 0;
    unsigned count = 0;
    struct mrg_slice other, value;
    while (count < 2 && mrg_uri_next_pair(query, &cursor, &other, &value))
        count += mrg_slice_eq(other, key);
    return count == 2;
}

/* The key by proto names; false when it has them already. */
static bool by_proto_names(struct mrg_buf *name, struct mrg_slice key, const struct mrg_field *const *path,
                           size_t depth)
{
    mrg_buf_clear(name);
    for (size_t i = 0; i < depth; i++) {
        if (i > 0)
            mrg_buf_append_char(name, '.');
        mrg_buf_append_slice(name, path[i]->name);
    }
    return !mrg_slice_eq(mrg_buf_slice(name), key);
}

/* Whether the field that a query's key names has its place there. */
static bool is_of_query(const struct mrg_binding *binding, const struct mrg_field *const *path, size_t depth)
{
    uint32_t active = mrg_route_all(binding);
    uint32_t ends = 0;
    for (size_t level = 0; level < depth; level++)
        active = mrg_route_below(binding, active, level, path[level], &ends);
    return !ends && path[0] != binding->body;
}

/* `stays`: a pair before this one does. Returns whether this one does. */
static bool walk_pair(struct edit *edit, const struct mrg_binding *binding, struct mrg_arena **scratch,
                      struct mrg_buf *name, struct mrg_slice key, struct mrg_slice value, bool stays)
{
    const struct mrg_field *path[MRG_ROUTE_MAX_KEY];
    size_t depth;
    const char *end = value.ptr + value.len;
    struct mrg_slice text = decoded(scratch, key);
    const struct mrg_field *field = mrg_route_query_field(binding->input, text, path, &depth);
    if (!field || !mrg_route_is_single(field) || !is_of_query(binding, path, depth))
        return true;
    if (is_default_text(field, decoded(scratch, value)) && !has_twice(edit->text, key)) {
        bool last = end == edit->text.ptr + edit->text.len;
        edit_replace(edit, key.ptr - stays, end + (!stays && !last), MRG_SLICE("")); /* an '&' goes with it */
        return false;
    }
    if (by_proto_names(name, text, path, depth))
        edit_replace(edit, key.ptr, key.ptr + key.len, mrg_buf_slice(name));
    return true;
}

static struct mrg_slice query_of(const struct mrg_binding *binding, struct mrg_arena **arena,
                                 struct mrg_slice query)
{
    struct edit edit;
    struct mrg_arena *scratch = NULL;
    struct mrg_buf name;
    bool stays = false;
    size_t cursor = 0;
    struct mrg_slice key, value;
    if (query.len == 0 || !binding || binding->whole_body)
        return query;
    mrg_buf_init(&name, SIZE_MAX);
    edit_init(&edit, query);
    while (mrg_uri_next_pair(query, &cursor, &key, &value))
        stays |= walk_pair(&edit, binding, &scratch, &name, key, value, stays);
    mrg_arena_free(scratch);
    mrg_buf_done(&name);
    return edit_done(&edit, arena);
}

/* What the path's variables stand for, spelled in one way: callers differ in what they escape. */
static struct mrg_slice path_of(const struct mrg_binding *binding, struct mrg_arena **arena,
                                const struct mrg_request *request)
{
    struct mrg_slice values[MRG_ROUTE_MAX_VARIABLES];
    struct edit edit;
    struct mrg_buf spelled;
    if (!binding || binding->variable_count == 0 ||
        !mrg_route_matches(binding, request->method, request->path, values))
        return request->path;
    edit_init(&edit, request->path);
    mrg_buf_init(&spelled, SIZE_MAX);
    for (size_t i = 0; i < binding->variable_count; i++) {
        if (mrg_route_is_plain(values[i], binding->variables[i].multi))
            continue;
        mrg_buf_clear(&spelled);
        mrg_route_append_spelled(&spelled, values[i], binding->variables[i].multi);
        if (!mrg_slice_eq(mrg_buf_slice(&spelled), values[i]))
            edit_replace(&edit, values[i].ptr, values[i].ptr + values[i].len, mrg_buf_slice(&spelled));
    }
    mrg_buf_done(&spelled);
    return edit_done(&edit, arena);
}

const struct mrg_request *mrg_route_trim(const struct mrg_method *method, const struct mrg_binding *binding,
                                         struct mrg_arena **arena, const struct mrg_request *request)
{
    struct mrg_slice body = body_of(method, binding, arena, &request->body);
    struct mrg_slice query = query_of(binding, arena, request->query);
    struct mrg_slice path = path_of(binding, arena, request);
    if (body.ptr == request->body.bytes.ptr && query.ptr == request->query.ptr &&
        path.ptr == request->path.ptr)
        return request;
    struct mrg_request *trimmed = mrg_arena_alloc(*arena, sizeof(*trimmed));
    *trimmed = *request;
    trimmed->body.bytes = body;
    trimmed->query = query;
    trimmed->path = path;
    return trimmed;
}

const struct mrg_request *mrg_route_canonical(const struct mrg_schema *schema, struct mrg_arena **arena,
                                              const struct mrg_request *request)
{
    const struct mrg_binding *binding = NULL;
    const struct mrg_method *method = mrg_route_find(schema, request, &binding);
    return method ? mrg_route_trim(method, binding, arena, request) : request;
}
