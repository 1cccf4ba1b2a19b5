// SPDX-License-Identifier: Apache-2.0
/*
 * A request becomes a message: what path and query say is put into a tree of fields, and the tree is written
 * together with the body's text, of which nothing else is touched.
 */
#include <string.h>

#include "core/jsontext.h"
#include "core/query.h"
#include "util/json.h"
#include "wire/route_int.h"

#define SHOWN 60 /* bytes of a key in a message */

struct text {
    struct mrg_slice text;
    struct text *next; /* of a repeated field, in order */
};

/* A field that something is said about, beside the body. */
struct node {
    const struct mrg_field *field; /* NULL: the input itself */
    struct node *first, *last;     /* its own fields */
    struct node *next;             /* of the fields beside it */
    struct text *texts;            /* its values; NULL: only its own fields are known */
    struct text *last_text;        /* of texts */
    struct mrg_slice base;         /* the body's JSON for it; ptr NULL: none */
    bool by_path;                  /* the path gives it */
    bool written;                  /* it is in the output */
};

struct building {
    const struct mrg_binding *binding; /* NULL: POST /pkg.Service/Method */
    const struct mrg_message *input;
    struct mrg_arena *arena; /* for the tree; NULL until it is needed */
    struct node root;
    struct mrg_buf *buf;
    struct mrg_error *err;
};

static struct node *child_of(struct building *b, struct node *node, const struct mrg_field *field)
{
    for (struct node *child = node->first; child; child = child->next) {
        if (child->field == field)
            return child;
    }
    struct node *child = mrg_arena_zalloc(b->arena, sizeof(*child));
    child->field = field;
    if (node->last)
        node->last->next = child;
    else
        node->first = child;
    node->last = child;
    return child;
}

static struct node *node_at(struct building *b, const struct mrg_field *const *path, size_t depth)
{
    struct node *node = &b->root;
    for (size_t i = 0; i < depth; i++)
        node = child_of(b, node, path[i]);
    return node;
}

static void add_text(struct building *b, struct node *node, struct mrg_slice value)
{
    struct text *text = mrg_arena_alloc(b->arena, sizeof(*text));
    *text = (struct text){value, NULL};
    if (node->last_text)
        node->last_text->next = text;
    else
        node->texts = text;
    node->last_text = text;
}

static void read_path(struct building *b, struct mrg_slice method, struct mrg_slice path)
{
    struct mrg_slice values[MRG_ROUTE_MAX_VARIABLES];
    if (!b->binding || b->binding->variable_count == 0 ||
        !mrg_route_matches(b->binding, method, path, values))
        return;
    for (size_t i = 0; i < b->binding->variable_count; i++) {
        const struct mrg_route_variable *variable = &b->binding->variables[i];
        struct node *node = node_at(b, variable->path, variable->depth);
        node->by_path = true;
        add_text(b, node, mrg_route_decode(b->arena, values[i], variable->multi));
    }
}

static enum mrg_err refuse(struct building *b, struct mrg_slice key, const char *why)
{
    return mrg_error_set(b->err, MRG_ERR_INVALID, "query \"%.*s\": %s",
                         (int)(key.len < SHOWN ? key.len : SHOWN), key.ptr, why);
}

static enum mrg_err read_pair(struct building *b, struct mrg_slice key, struct mrg_slice value)
{
    const struct mrg_field *path[MRG_ROUTE_MAX_KEY];
    size_t depth;
    if (!b->binding || b->binding->whole_body)
        return refuse(b, key, "the body holds all fields of this call; expected no query");
    const struct mrg_field *field = mrg_route_query_field(b->input, key, path, &depth);
    if (!field) {
        const char *why = mrg_arena_printf(b->arena, "%s has no such field", b->input->full_name.ptr);
        return refuse(b, key, why);
    }
    if (path[0] == b->binding->body)
        return refuse(b, key, "the field is the body of this call; expected it there");
    if (!mrg_route_is_single(field))
        return refuse(b, key, "a message or a map, which a query cannot hold; expected one of its fields");
    struct node *node = node_at(b, path, depth);
    if (node->by_path)
        return refuse(b, key, "the path gives this field; expected it there alone");
    if (node->texts && !field->repeated)
        return refuse(b, key, "a second value for a field that is not repeated");
    add_text(b, node, value);
    return MRG_ERR_OK;
}

static enum mrg_err read_query(struct building *b, struct mrg_slice text)
{
    enum mrg_err code = MRG_ERR_OK;
    size_t count;
    struct mrg_query_pair *pairs = mrg_query_read(b->arena, text, &count);
    for (size_t i = 0; i < count && !code; i++)
        code = read_pair(b, pairs[i].key, pairs[i].value);
    return code;
}

static enum mrg_err read_body(struct building *b, const struct mrg_body *body)
{
    const struct mrg_field *field = b->binding ? b->binding->body : NULL;
    bool whole = !b->binding || b->binding->whole_body;
    if (body->kind == MRG_BODY_NONE)
        return MRG_ERR_OK;
    if (body->kind != MRG_BODY_JSON)
        return mrg_error_set(b->err, MRG_ERR_INVALID, "the body is not JSON; expected %s",
                             whole ? "an object" : "a JSON value");
    struct mrg_slice json = mrg_slice_trim(body->bytes);
    size_t cursor = 0;
    struct mrg_slice key, raw;
    if (whole) {
        if (*json.ptr != '{')
            return mrg_jsontext_expected(b->err, "the body", json, "an object");
        b->root.base = json;
    } else if (field) {
        node_at(b, &field, 1)->base = json;
    } else if (*json.ptr != '{' || mrg_json_next(json, &cursor, &key, &raw)) {
        return mrg_jsontext_expected(b->err, "the body", json,
                                     "none: this call has all its fields in path and query");
    }
    return MRG_ERR_OK;
}

static void append_texts(struct mrg_buf *buf, const struct node *node)
{
    const struct mrg_field *field = node->field;
    char before = '[';
    if (!field->repeated) {
        mrg_route_append_value(buf, field, node->texts->text);
        return;
    }
    for (const struct text *text = node->texts; text; text = text->next) {
        mrg_buf_append_char(buf, before);
        mrg_route_append_value(buf, field, text->text);
        before = ',';
    }
    mrg_buf_append_char(buf, ']');
}

static enum mrg_err append_object(struct building *b, struct node *node, const struct mrg_message *type);

/* The value of a node, over the body's own JSON for it. */
static enum mrg_err append_node(struct building *b, struct node *node, struct mrg_slice base)
{
    node->written = true;
    if (node->texts) {
        append_texts(b->buf, node);
        return MRG_ERR_OK;
    }
    if (!node->first) {
        mrg_buf_append_slice(b->buf, base);
        return MRG_ERR_OK;
    }
    const char *name = node->field->name.ptr;
    if (base.ptr && *base.ptr != '{')
        return mrg_jsontext_expected(b->err, mrg_arena_printf(b->arena, "\"%.60s\" of the body", name), base,
                                     "an object, as the path has a field of it");
    node->base = base;
    return append_object(b, node, node->field->message);
}

static struct node *find_child(const struct node *node, const struct mrg_field *field)
{
    for (struct node *child = field ? node->first : NULL; child; child = child->next) {
        if (child->field == field)
            return child;
    }
    return NULL;
}

static enum mrg_err append_object(struct building *b, struct node *node, const struct mrg_message *type)
{
    enum mrg_err code = MRG_ERR_OK;
    size_t cursor = 0;
    struct mrg_slice key, raw;
    char before = '{';
    while (!code && node->base.ptr && mrg_json_next(node->base, &cursor, &key, &raw)) {
        struct node *child = find_child(node, mrg_route_field(type, key));
        if (child && child->written)
            continue;
        mrg_buf_append_char(b->buf, before);
        before = ',';
        mrg_buf_append(b->buf, key.ptr - 1, key.len + 2);
        mrg_buf_append_char(b->buf, ':');
        if (child)
            code = append_node(b, child, raw);
        else
            mrg_buf_append_slice(b->buf, raw);
    }
    for (struct node *child = node->first; child && !code; child = child->next) {
        if (child->written)
            continue;
        mrg_buf_append_char(b->buf, before);
        before = ',';
        mrg_json_append_string(b->buf, child->field->name);
        mrg_buf_append_char(b->buf, ':');
        code = append_node(b, child, child->base);
    }
    if (before == '{')
        mrg_buf_append_char(b->buf, '{');
    mrg_buf_append_char(b->buf, '}');
    return code;
}

enum mrg_err mrg_route_message(const struct mrg_method *method, const struct mrg_binding *binding,
                               const struct mrg_request *request, struct mrg_buf *buf, struct mrg_error *err)
{
    struct building b = {.binding = binding, .input = method->input, .buf = buf, .err = err};
    b.arena = mrg_arena_new(MRG_ARENA_KEPT);
    read_path(&b, request->method, request->path);
    enum mrg_err code = read_query(&b, request->query);
    if (!code)
        code = read_body(&b, &request->body);
    if (!code)
        code = append_object(&b, &b.root, b.input);
    mrg_arena_free(b.arena);
    return code;
}
