// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies fail closed: JSON is taken apart by its rules, a form by its fields, a multipart body by its parts; of
 * any other, and of each piece that is not understood, all goes when a name of a rule occurs there or may.
 */
#include <string.h>

#include "core/match_int.h"
#include "util/json.h"

static void redact_whole(const struct mrg_redaction *redaction, struct mrg_body *body)
{
    struct mrg_slice mark = mrg_redaction_mark(redaction, body->bytes);
    if (body->kind == MRG_BODY_JSON)
        mark = mrg_slice_of(mrg_arena_printf(redaction->arena, "\"%.*s\"", (int)mark.len, mark.ptr));
    else
        body->kind = MRG_BODY_TEXT;
    body->bytes = mark;
}

static bool may_name(const struct mrg_redaction *redaction, struct mrg_slice text)
{
    return mrg_rules_may_name(&redaction->match->redact, text);
}

/* ---- JSON ---- */

static struct mrg_slice string_of(struct json_object *string)
{
    return (struct mrg_slice){json_object_get_string(string), (size_t)json_object_get_string_len(string)};
}

/*
 * A mrg_jpath_fn: the placeholder of a string is made of its content, so that "x" has the same in a form and
 * in a header.
 */
static struct json_object *redact_node(void *ctx, struct json_object *node, bool *ret_remove)
{
    const struct mrg_redaction *redaction = ctx;
    struct mrg_buf buf;
    struct mrg_slice mark;
    (void)ret_remove;
    mrg_buf_init(&buf, SIZE_MAX);
    if (json_object_is_type(node, json_type_string)) {
        mark = mrg_redaction_mark(redaction, string_of(node));
    } else {
        mrg_json_append_tree(&buf, node);
        mark = mrg_redaction_mark(redaction, mrg_buf_slice(&buf));
    }
    mrg_buf_done(&buf);
    return json_object_new_string_len(mark.ptr, (int)mark.len);
}

static size_t apply(struct mrg_redaction *redaction, struct json_object **tree)
{
    size_t hits = 0;
    const struct mrg_rules *rules = &redaction->match->redact;
    for (size_t i = 0; i < rules->count; i++)
        hits += mrg_jpath_apply(rules->items[i].path, tree, redact_node, redaction);
    return hits;
}

/* Whether a string is a document of its own (JSON, a form, XML) that may hold what a rule names. */
static bool holds_document(const struct mrg_redaction *redaction, struct mrg_slice text)
{
    bool looks = text.len > 0 && (memchr(text.ptr, '{', text.len) || memchr(text.ptr, '=', text.len) ||
                                  memchr(text.ptr, '<', text.len));
    return looks && may_name(redaction, text);
}

struct strings {
    const struct mrg_redaction *redaction;
    size_t hits; /* strings replaced */
    bool key;    /* a key is such a document */
};

/* What stands in the node's place; the node itself (borrowed) when nothing has to. At most MRG_JSON_DEPTH deep. */
static struct json_object *redact_strings(struct strings *strings, struct json_object *node)
{
    enum json_type type = json_object_get_type(node);
    if (type == json_type_string && holds_document(strings->redaction, string_of(node))) {
        strings->hits++;
        struct mrg_slice mark = mrg_redaction_mark(strings->redaction, string_of(node));
        return json_object_new_string_len(mark.ptr, (int)mark.len);
    }
    if (type == json_type_object) {
        json_object_object_foreach (node, key, value) {
            strings->key |= holds_document(strings->redaction, mrg_slice_of(key));
            struct json_object *other = redact_strings(strings, value);
            if (other != value)
                json_object_object_add(node, key, other);
        }
    }
    for (size_t i = 0; type == json_type_array && i < json_object_array_length(node); i++) {
        struct json_object *value = json_object_array_get_idx(node, i);
        struct json_object *other = redact_strings(strings, value);
        if (other != value)
            json_object_array_put_idx(node, i, other);
    }
    return node;
}

static void redact_json(struct mrg_redaction *redaction, struct mrg_body *body)
{
    struct json_object *tree = NULL;
    if (!mrg_rules_may_apply(&redaction->match->redact, body->bytes))
        return;
    if (mrg_json_parse(body->bytes, &tree, NULL) != MRG_ERR_OK) {
        redact_whole(redaction, body);
        return;
    }
    struct strings strings = {.redaction = redaction};
    size_t hits = apply(redaction, &tree);
    struct json_object *other = redact_strings(&strings, tree);
    if (other != tree) {
        json_object_put(tree);
        tree = other;
    }
    if (strings.key) {
        redact_whole(redaction, body);
    } else if (hits + strings.hits > 0) {
        struct mrg_buf buf;
        mrg_buf_init(&buf, SIZE_MAX);
        mrg_json_append_tree(&buf, tree);
        body->bytes = mrg_arena_take_buf(redaction->arena, &buf);
    }
    json_object_put(tree);
}

/* ---- forms ---- */

/* Whether the pieces of a form are what they seem: bodies of other kinds come under the form's type too. */
static bool is_clean_form(struct mrg_slice text)
{
    text = mrg_slice_trim(text);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || memchr("\"{}<>\\", c, 6))
            return false;
    }
    return true;
}

/* A name, or one such as user[password] and user.password. */
static bool is_plain_key(struct mrg_slice key)
{
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] == '\0' || strchr(" \t\"'{}<>=&;,:", key.ptr[i]))
            return false;
    }
    return true;
}

/*
 * One field of a form, as the object {key: value}: what a body path names there is what it would name in
 * JSON.
 */
static bool form_field(struct mrg_redaction *redaction, const struct mrg_query_pair *pair,
                       struct mrg_slice *ret_value)
{
    char *key = mrg_arena_memdup(redaction->arena, pair->key.ptr, pair->key.len);
    struct json_object *tree = json_object_new_object();
    struct json_object *value;
    json_object_object_add(tree, key, json_object_new_string_len(pair->value.ptr, (int)pair->value.len));
    bool hit = apply(redaction, &tree) > 0;
    if (hit && json_object_object_get_ex(tree, key, &value))
        *ret_value = mrg_slice_of(mrg_arena_strdup(redaction->arena, json_object_get_string(value)));
    else if (hit || may_name(redaction, pair->key) || may_name(redaction, pair->value))
        *ret_value = mrg_redaction_mark(redaction, pair->value);
    json_object_put(tree);
    return ret_value->ptr != pair->value.ptr;
}

static void redact_form(struct mrg_redaction *redaction, struct mrg_body *body)
{
    struct mrg_buf buf;
    bool any = false;
    bool known = is_clean_form(body->bytes) || !may_name(redaction, body->bytes);
    size_t count;
    struct mrg_query_pair *pairs = mrg_query_read(redaction->arena, body->bytes, &count);
    mrg_buf_init(&buf, SIZE_MAX);
    for (size_t i = 0; i < count && known; i++) {
        struct mrg_slice value = pairs[i].value;
        known = is_plain_key(pairs[i].key) || !may_name(redaction, pairs[i].key);
        any |= form_field(redaction, &pairs[i], &value);
        mrg_query_append_pair(&buf, pairs[i].key, value);
    }
    if (!known)
        redact_whole(redaction, body);
    else if (any)
        body->bytes = mrg_arena_take_buf(redaction->arena, &buf);
    mrg_buf_done(&buf);
}

/* ---- multipart ---- */

static bool holds_word(struct mrg_slice text, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; at + len <= text.len; at++) {
        if (mrg_slice_caseeq_str((struct mrg_slice){text.ptr + at, len}, word))
            return true;
    }
    return false;
}

/* Whether a part's head says that its content, or the head itself, is not to be read as it stands. */
static bool is_encoded(struct mrg_slice head)
{
    return holds_word(head, "content-encoding") || holds_word(head, "base64") ||
           holds_word(head, "quoted-printable") || holds_word(head, "=?");
}

/* One part; false when it cannot stay in any form. */
static bool redact_part(struct mrg_redaction *redaction, struct mrg_slice part, struct mrg_buf *buf,
                        bool *any)
{
    struct mrg_slice head, content;
    if (!mrg_multipart_split(part, &head, &content)) {
        mrg_buf_append_slice(buf, part);
        return !may_name(redaction, part);
    }
    mrg_buf_append_slice(buf, head);
    if (content.len > 0 && (is_encoded(head) || may_name(redaction, head) || may_name(redaction, content))) {
        content = mrg_redaction_mark(redaction, content);
        *any = true;
    }
    mrg_buf_append_slice(buf, content);
    return true;
}

static void redact_multipart(struct mrg_redaction *redaction, struct mrg_body *body,
                             struct mrg_slice boundary)
{
    struct mrg_buf buf;
    struct mrg_slice piece, delimiter;
    size_t cursor = 0;
    bool any = false, first = true, last = false, known = true;
    mrg_buf_init(&buf, SIZE_MAX);
    /* What stands before the first delimiter and behind the last is no part. */
    while (known && mrg_multipart_next(body->bytes, boundary, &cursor, &piece, &delimiter)) {
        if (first || last) {
            known = !may_name(redaction, piece);
            mrg_buf_append_slice(&buf, piece);
        } else {
            known = redact_part(redaction, piece, &buf, &any);
        }
        mrg_buf_append_slice(&buf, delimiter);
        first = false;
        last |= mrg_multipart_is_last(delimiter);
    }
    if (!known)
        redact_whole(redaction, body);
    else if (any)
        body->bytes = mrg_arena_take_buf(redaction->arena, &buf);
    mrg_buf_done(&buf);
}

/* ---- all of them ---- */

static bool is_form(const struct mrg_request *request)
{
    static const char form[] = "application/x-www-form-urlencoded";
    const struct mrg_slice *type = mrg_request_header(request, "content-type");
    return type && type->len >= sizeof(form) - 1 &&
           mrg_slice_caseeq_str((struct mrg_slice){type->ptr, sizeof(form) - 1}, form);
}

static bool is_compressed(const struct mrg_request *request)
{
    const struct mrg_slice *encoding = mrg_request_header(request, "content-encoding");
    return encoding && encoding->len > 0 && !mrg_slice_caseeq_str(*encoding, "identity");
}

void mrg_redact_body(struct mrg_redaction *redaction, struct mrg_request *request)
{
    const struct mrg_rules *rules = &redaction->match->redact;
    struct mrg_body *body = &request->body;
    struct mrg_slice boundary;
    if (!rules->parts[MRG_JPATH_BODY] || body->bytes.len == 0 || body->kind == MRG_BODY_NONE)
        return;
    if (rules->whole_body)
        redact_whole(redaction, body);
    else if (body->kind == MRG_BODY_JSON)
        redact_json(redaction, body);
    else if (is_compressed(request))
        redact_whole(redaction, body);
    else if (is_form(request))
        redact_form(redaction, body);
    else if (mrg_multipart_boundary(request, &boundary))
        redact_multipart(redaction, body, boundary);
    else if (may_name(redaction, body->bytes))
        redact_whole(redaction, body);
}
