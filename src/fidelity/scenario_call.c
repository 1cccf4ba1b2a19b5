// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <string.h>

#include "core/jsontext.h"
#include "fidelity/scenario_int.h"
#include "util/json.h"

/*
 * Appends a text percent-encoded, but for what may stand there as it is, escapes that are there, and ${…}, whose
 * value is encoded when it is filled in.
 */
static void append_encoded(struct mrg_buf *buf, const char *text, const char *plain)
{
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        const char *end = at[0] == '$' && at[1] == '{' ? strchr(at, '}') : NULL;
        bool escape = c == '%' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]);
        if (end) {
            mrg_buf_append(buf, at, (size_t)(end - at + 1));
            at = end;
        } else if (isalnum(c) || strchr("-._~", c) || strchr(plain, c) || escape) {
            mrg_buf_append_char(buf, (char)c);
        } else {
            mrg_buf_appendf(buf, "%%%02X", c);
        }
    }
}

static const char *take(struct mrg_arena *arena, struct mrg_buf *buf)
{
    const char *text = mrg_arena_memdup(arena, buf->data ? buf->data : "", buf->len);
    mrg_buf_done(buf);
    return text;
}

static void read_path(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                      struct mrg_scenario_call *call)
{
    struct mrg_buf buf;
    const struct mrg_node *path = mrg_node_get(node, "path");
    const char *text = mrg_scenario_text(reader, node, "path", true);
    if (!text)
        return;
    if (text[0] != '/' && strncmp(text, "${", 2) != 0)
        mrg_problems_add(reader->problems, path->mark, "path: expected it to begin with /");
    if (strchr(text, '?'))
        mrg_problems_add(reader->problems, path->mark,
                         "path: expected no ?; the query is a mapping under `query`");
    mrg_buf_init(&buf, SIZE_MAX);
    append_encoded(&buf, text, "/!$&'()*+,;=:@");
    call->path = take(reader->arena, &buf);
}

static void append_parameter(struct mrg_scenario_reader *reader, struct mrg_buf *buf,
                             const struct mrg_node *node, const char *key)
{
    if (node->kind != MRG_NODE_SCALAR) {
        mrg_problems_add(reader->problems, node->mark, "query: %s: expected a text or a list of texts", key);
        return;
    }
    if (buf->len > 0)
        mrg_buf_append_char(buf, '&');
    append_encoded(buf, key, "");
    mrg_buf_append_char(buf, '=');
    append_encoded(buf, node->text, "");
}

static void read_query(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                       struct mrg_scenario_call *call)
{
    struct mrg_buf buf;
    const struct mrg_node *query = mrg_node_get(node, "query");
    call->query = "";
    if (!query)
        return;
    if (query->kind != MRG_NODE_MAP) {
        mrg_problems_add(reader->problems, query->mark, "query: expected a mapping; got %s",
                         mrg_node_kind_name(query));
        return;
    }
    mrg_buf_init(&buf, SIZE_MAX);
    for (const struct mrg_node *child = query->first; child; child = child->next) {
        const struct mrg_node *value = child->kind == MRG_NODE_LIST ? child->first : child;
        for (; value; value = child->kind == MRG_NODE_LIST ? value->next : NULL)
            append_parameter(reader, &buf, value, child->key);
    }
    call->query = take(reader->arena, &buf);
}

static void read_headers(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                         struct mrg_scenario_call *call)
{
    const struct mrg_node *headers = mrg_node_get(node, "headers");
    if (!headers)
        return;
    if (headers->kind != MRG_NODE_MAP) {
        mrg_problems_add(reader->problems, headers->mark, "headers: expected a mapping; got %s",
                         mrg_node_kind_name(headers));
        return;
    }
    call->headers = mrg_arena_zalloc(reader->arena, (headers->count + 1) * sizeof(*call->headers));
    for (const struct mrg_node *child = headers->first; child; child = child->next) {
        if (child->kind != MRG_NODE_SCALAR || !mrg_is_token(mrg_slice_of(child->key)) ||
            mrg_has_control(mrg_slice_of(child->text)))
            mrg_problems_add(reader->problems, child->mark,
                             "headers: %s: expected a name and a text in one line", child->key);
        else
            call->headers[call->header_count++] = (struct mrg_header){
                mrg_jsontext_lower(reader->arena, mrg_slice_of(child->key)), mrg_slice_of(child->text)};
    }
}

static void read_body(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                      struct mrg_scenario_call *call)
{
    struct mrg_buf buf;
    const struct mrg_node *body = mrg_node_get(node, "body"), *text = mrg_node_get(node, "text");
    if (body && text)
        mrg_problems_add(reader->problems, text->mark, "expected body or text, not both");
    call->json = body != NULL;
    if (text)
        call->body = mrg_scenario_text(reader, node, "text", true);
    if (!body)
        return;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_scenario_append_json(&buf, body);
    call->body = take(reader->arena, &buf);
}

static bool is_name(const char *text)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return len > 0 && !text[len];
}

static void read_saves(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                       struct mrg_scenario_call *call)
{
    const struct mrg_node *saves = mrg_node_get(node, "save");
    if (!saves)
        return;
    if (saves->kind != MRG_NODE_MAP) {
        mrg_problems_add(reader->problems, saves->mark, "save: expected NAME: PATH; got %s",
                         mrg_node_kind_name(saves));
        return;
    }
    struct mrg_saved *all = mrg_arena_zalloc(reader->arena, (saves->count + 1) * sizeof(*all));
    for (const struct mrg_node *child = saves->first; child; child = child->next) {
        bool good = child->kind == MRG_NODE_SCALAR && is_name(child->key) &&
                    (strncmp(child->text, "body", 4) == 0 || strncmp(child->text, "header.", 7) == 0);
        if (good)
            all[call->save_count++] = (struct mrg_saved){child->key, child->text};
        else
            mrg_problems_add(reader->problems, child->mark,
                             "save: %s: expected a name of letters, digits and _, and body.… or header.NAME",
                             child->key);
    }
    call->saves = all;
}

void mrg_scenario_read_call(struct mrg_scenario_reader *reader, const struct mrg_node *node,
                            struct mrg_scenario_call *ret_call)
{
    static const char *const names[] = {"method", "path", "query",  "headers", "body",
                                        "text",   "save", "target", "wire",    NULL};
    if (!mrg_scenario_keys(reader, node, "a call", names))
        return;
    const char *method = mrg_scenario_text(reader, node, "method", true);
    if (method && !mrg_is_token(mrg_slice_of(method)))
        mrg_problems_add(reader->problems, mrg_node_mark_at(node, "method"),
                         "method: expected a method such as GET");
    ret_call->method = method;
    ret_call->target = mrg_scenario_text(reader, node, "target", false);
    read_path(reader, node, ret_call);
    read_query(reader, node, ret_call);
    read_headers(reader, node, ret_call);
    read_body(reader, node, ret_call);
    read_saves(reader, node, ret_call);
}
