// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "fidelity/report_int.h"
#include "util/json.h"

#define INDENT "  "

/* A tree being written. */
struct writing {
    struct mrg_buf *buf;
    struct mrg_buf path; /* of the node, as the comparison's findings have it */
    const char *marked;  /* a finding's path */
    unsigned depth;
};

static void begin_mark(struct mrg_buf *buf, bool marked)
{
    if (marked)
        mrg_buf_append_str(buf, "<mark>");
}

static void end_mark(struct mrg_buf *buf, bool marked)
{
    if (marked)
        mrg_buf_append_str(buf, "</mark>");
}

static bool is_marked(const struct writing *writing)
{
    return writing->marked && mrg_slice_eq_str(mrg_buf_slice(&writing->path), writing->marked);
}

static void append_line(struct writing *writing)
{
    mrg_buf_append_char(writing->buf, '\n');
    for (unsigned i = 0; i < writing->depth; i++)
        mrg_buf_append_str(writing->buf, INDENT);
}

static void append_leaf(struct writing *writing, struct json_object *node)
{
    struct mrg_buf json;
    mrg_buf_init(&json, SIZE_MAX);
    mrg_json_append_tree(&json, node);
    mrg_report_escape(writing->buf, mrg_buf_slice(&json));
    mrg_buf_done(&json);
}

static void append_node(struct writing *writing, struct json_object *node);

static void append_members(struct writing *writing, struct json_object *node)
{
    bool first = true;
    json_object_object_foreach (node, key, value) {
        size_t length = writing->path.len;
        size_t plain = strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
        mrg_buf_appendf(&writing->path, plain > 0 && !key[plain] ? ".%s" : "['%s']", key);
        mrg_buf_append_str(writing->buf, first ? "" : ",");
        append_line(writing);
        bool marked = is_marked(writing);
        begin_mark(writing->buf, marked);
        mrg_report_escape(writing->buf, MRG_SLICE("\""));
        mrg_report_escape(writing->buf, mrg_slice_of(key));
        mrg_report_escape(writing->buf, MRG_SLICE("\": "));
        const char *outer = writing->marked;
        writing->marked = marked ? NULL : outer;
        append_node(writing, value);
        writing->marked = outer;
        end_mark(writing->buf, marked);
        writing->path.len = length;
        first = false;
    }
}

static void append_items(struct writing *writing, struct json_object *node)
{
    for (size_t i = 0; i < json_object_array_length(node); i++) {
        size_t length = writing->path.len;
        mrg_buf_appendf(&writing->path, "[%zu]", i);
        mrg_buf_append_str(writing->buf, i > 0 ? "," : "");
        append_line(writing);
        append_node(writing, json_object_array_get_idx(node, i));
        writing->path.len = length;
    }
}

static void append_node(struct writing *writing, struct json_object *node)
{
    bool object = json_object_is_type(node, json_type_object);
    bool marked = is_marked(writing);
    if (!object && !json_object_is_type(node, json_type_array)) {
        begin_mark(writing->buf, marked);
        append_leaf(writing, node);
        end_mark(writing->buf, marked);
        return;
    }
    begin_mark(writing->buf, marked);
    mrg_buf_append_char(writing->buf, object ? '{' : '[');
    end_mark(writing->buf, marked);
    writing->depth++;
    if (object)
        append_members(writing, node);
    else
        append_items(writing, node);
    writing->depth--;
    if (object ? json_object_object_length(node) > 0 : json_object_array_length(node) > 0)
        append_line(writing);
    mrg_buf_append_char(writing->buf, object ? '}' : ']');
}

static void append_tree(struct mrg_buf *buf, const char *root, struct mrg_slice json, const char *marked)
{
    struct json_object *tree = NULL;
    struct writing writing = {.buf = buf, .marked = marked};
    if (mrg_json_parse(json, &tree, NULL)) {
        mrg_report_escape(buf, json);
        return;
    }
    mrg_buf_init(&writing.path, SIZE_MAX);
    mrg_buf_append_str(&writing.path, root);
    append_node(&writing, tree);
    mrg_buf_done(&writing.path);
    json_object_put(tree);
}

static void append_body(struct mrg_buf *buf, const struct mrg_body *body, const char *marked)
{
    bool whole = marked && strcmp(marked, "body") == 0 && body->kind != MRG_BODY_JSON;
    begin_mark(buf, whole);
    if (body->kind == MRG_BODY_JSON)
        append_tree(buf, "body", body->bytes, marked);
    else if (body->kind == MRG_BODY_TEXT)
        mrg_report_escape(buf, body->bytes);
    else
        mrg_buf_appendf(buf, body->kind == MRG_BODY_NONE ? "no body" : "%zu bytes", body->bytes.len);
    end_mark(buf, whole);
}

/* "status 200", or gRPC's number and message. */
static void append_status(struct mrg_buf *buf, const struct mrg_reply *reply, const char *marked)
{
    bool status = marked && strcmp(marked, "status") == 0;
    bool message = marked && strcmp(marked, "grpc_message") == 0;
    begin_mark(buf, status);
    if (reply->has_grpc_status)
        mrg_buf_appendf(buf, "gRPC status %d", reply->grpc_status);
    else
        mrg_buf_appendf(buf, "status %d", reply->status);
    end_mark(buf, status);
    if (reply->grpc_message.len > 0) {
        mrg_buf_append_char(buf, ' ');
        begin_mark(buf, message);
        mrg_report_escape(buf, reply->grpc_message);
        end_mark(buf, message);
    }
    mrg_buf_append_char(buf, '\n');
}

static void append_headers(struct mrg_buf *buf, const char *kind, const struct mrg_header *headers,
                           size_t count, const char *marked)
{
    size_t len = strlen(kind);
    for (size_t i = 0; i < count; i++) {
        struct mrg_slice name = headers[i].name;
        bool own = name.len > 7 && memcmp(name.ptr, "mirage-", 7) == 0;
        if (own || mrg_header_is_transport(name))
            continue;
        bool here = marked && strncmp(marked, kind, len) == 0 && marked[len] == '.' &&
                    mrg_slice_eq_str(name, marked + len + 1);
        begin_mark(buf, here);
        mrg_report_escape(buf, name);
        mrg_buf_append_str(buf, ": ");
        mrg_report_escape(buf, headers[i].value);
        end_mark(buf, here);
        mrg_buf_append_char(buf, '\n');
    }
}

void mrg_report_reply(struct mrg_buf *buf, const struct mrg_exchanged *side, const char *marked)
{
    const struct mrg_reply *reply = &side->reply;
    if (side->error) {
        mrg_buf_append_str(buf, "<mark>no reply: ");
        mrg_report_escape(buf, mrg_slice_of(side->error));
        mrg_buf_append_str(buf, "</mark>");
        return;
    }
    append_status(buf, reply, marked);
    append_headers(buf, "header", reply->headers, reply->header_count, marked);
    append_headers(buf, "trailer", reply->trailers, reply->trailer_count, marked);
    mrg_buf_append_char(buf, '\n');
    append_body(buf, &reply->body, marked);
    if (reply->grpc_details.ptr) {
        mrg_buf_append_str(buf, "\ngrpc_details: ");
        append_tree(buf, "grpc_details", reply->grpc_details, marked);
    }
}
