// SPDX-License-Identifier: Apache-2.0
#include "core/request.h"

#include <string.h>

#include "core/query.h"
#include "util/base64.h"
#include "util/json.h"
#include "util/utf8.h"

const struct mrg_slice *mrg_request_header(const struct mrg_request *request, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < request->header_count; i++) {
        const struct mrg_header *header = &request->headers[i];
        if (header->name.len == len && memcmp(header->name.ptr, name, len) == 0)
            return &header->value;
    }
    return NULL;
}

static struct mrg_slice trim(struct mrg_slice text)
{
    while (text.len > 0 && (*text.ptr == ' ' || *text.ptr == '\t')) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* Cuts the piece before the next `separator` off *rest; false when nothing is left. */
static bool next_piece(struct mrg_slice *rest, char separator, struct mrg_slice *ret_piece)
{
    if (!rest->ptr)
        return false;
    const char *at = memchr(rest->ptr, separator, rest->len);
    size_t len = at ? (size_t)(at - rest->ptr) : rest->len;
    *ret_piece = trim((struct mrg_slice){rest->ptr, len});
    *rest = at ? (struct mrg_slice){at + 1, rest->len - len - 1} : (struct mrg_slice){NULL, 0};
    return true;
}

bool mrg_type_is_json(struct mrg_slice content_type)
{
    struct mrg_slice type;
    if (!next_piece(&content_type, ';', &type))
        return false;
    if (mrg_slice_caseeq_str(type, "application/json") || mrg_slice_caseeq_str(type, "text/json"))
        return true;
    return type.len > 5 && mrg_slice_caseeq_str((struct mrg_slice){type.ptr + type.len - 5, 5}, "+json");
}

struct mrg_body mrg_body_classify(struct mrg_slice bytes, const struct mrg_slice *content_type)
{
    if (bytes.len == 0)
        return (struct mrg_body){MRG_BODY_NONE, MRG_SLICE("")};
    bool said = !content_type || content_type->len == 0 || mrg_type_is_json(*content_type);
    if (said && mrg_json_check(bytes, NULL) == MRG_ERR_OK)
        return (struct mrg_body){MRG_BODY_JSON, bytes};
    if (!memchr(bytes.ptr, '\0', bytes.len) && mrg_utf8_valid(bytes))
        return (struct mrg_body){MRG_BODY_TEXT, bytes};
    return (struct mrg_body){MRG_BODY_BINARY, bytes};
}

#define EXACT(name)                                                                                          \
    {                                                                                                        \
        name, sizeof(name) - 1, false                                                                        \
    }
#define PREFIX(name)                                                                                         \
    {                                                                                                        \
        name, sizeof(name) - 1, true                                                                         \
    }

static const struct noise {
    const char *name;
    size_t len;
    bool prefix;
} noise[] = {
    EXACT("host"),
    EXACT("user-agent"),
    EXACT("accept-encoding"),
    EXACT("connection"),
    EXACT("content-length"),
    EXACT("accept-language"),
    EXACT("accept-charset"),
    EXACT("baggage"),
    EXACT("cache-control"),
    EXACT("date"),
    EXACT("dnt"),
    EXACT("expect"),
    EXACT("forwarded"),
    EXACT("http2-settings"),
    EXACT("keep-alive"),
    EXACT("max-forwards"),
    EXACT("pragma"),
    EXACT("priority"),
    EXACT("te"),
    EXACT("traceparent"),
    EXACT("tracestate"),
    EXACT("trailer"),
    EXACT("transfer-encoding"),
    EXACT("upgrade"),
    EXACT("upgrade-insecure-requests"),
    EXACT("via"),
    EXACT("x-real-ip"),
    PREFIX("mirage-"),
    PREFIX("proxy-"),
    PREFIX("sec-"),
    PREFIX("x-envoy-"),
    PREFIX("x-forwarded-"),
};

bool mrg_header_is_noise(struct mrg_slice name)
{
    for (size_t i = 0; i < MRG_ARRAY_LEN(noise); i++) {
        bool fits = noise[i].prefix ? name.len >= noise[i].len : name.len == noise[i].len;
        if (fits && memcmp(name.ptr, noise[i].name, noise[i].len) == 0)
            return true;
    }
    return false;
}

/*
 * Whether one media range or type is `type`, with no parameter but those that do not choose a representation.
 */
static bool plain_type(struct mrg_slice range, const char *type)
{
    struct mrg_slice piece;
    if (!next_piece(&range, ';', &piece) || !mrg_slice_caseeq_str(piece, type))
        return false;
    while (next_piece(&range, ';', &piece)) {
        bool quality = piece.len > 2 && (piece.ptr[0] == 'q' || piece.ptr[0] == 'Q') && piece.ptr[1] == '=';
        if (!quality && piece.len > 0 && !mrg_slice_caseeq_str(piece, "charset=utf-8") &&
            !mrg_slice_caseeq_str(piece, "charset=\"utf-8\""))
            return false;
    }
    return true;
}

bool mrg_header_is_implied(const struct mrg_request *request, const struct mrg_header *header)
{
    struct mrg_slice rest = header->value;
    struct mrg_slice first;
    if (mrg_slice_eq_str(header->name, "content-type"))
        return request->body.kind == MRG_BODY_JSON && plain_type(header->value, "application/json");
    if (!mrg_slice_eq_str(header->name, "accept") || !next_piece(&rest, ',', &first))
        return false;
    return plain_type(first, "application/json") || (plain_type(first, "*/*") && !rest.ptr);
}

static void append_key(struct mrg_buf *buf, struct mrg_slice key, bool *first)
{
    if (!*first)
        mrg_buf_append_char(buf, ',');
    *first = false;
    mrg_json_append_string(buf, key);
    mrg_buf_append_char(buf, ':');
}

static bool same_key(const struct mrg_query_pair *pairs, size_t at, size_t i, unsigned index)
{
    return pairs[i].index == index && mrg_slice_eq(pairs[i].key, pairs[at].key);
}

/* The values of the key of pairs[at], which is its first: a string, or an array of strings. */
static void append_values(struct mrg_buf *buf, const struct mrg_query_pair *pairs, size_t count, size_t at)
{
    size_t second = at + 1;
    while (second < count && !same_key(pairs, at, second, 1))
        second++;
    if (second == count) {
        mrg_json_append_string(buf, pairs[at].value);
        return;
    }
    unsigned written = 0;
    for (size_t i = at; i < count; i++) {
        if (!same_key(pairs, at, i, written))
            continue;
        mrg_buf_append_char(buf, written++ > 0 ? ',' : '[');
        mrg_json_append_string(buf, pairs[i].value);
    }
    mrg_buf_append_char(buf, ']');
}

static void append_pairs(struct mrg_buf *buf, const char *member, const struct mrg_query_pair *pairs,
                         size_t count)
{
    bool first = true;
    if (count == 0)
        return;
    mrg_buf_append_str(buf, member);
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].index > 0)
            continue;
        append_key(buf, pairs[i].key, &first);
        append_values(buf, pairs, count, i);
    }
    mrg_buf_append_char(buf, '}');
}

static void append_query(struct mrg_buf *buf, struct mrg_slice query)
{
    if (query.len == 0)
        return;
    struct mrg_arena *arena = mrg_arena_new(0);
    size_t count;
    struct mrg_query_pair *pairs = mrg_query_read(arena, query, &count);
    append_pairs(buf, ",\"query\":{", pairs, count);
    mrg_arena_free(arena);
}

static void append_headers(struct mrg_buf *buf, const struct mrg_request *request, mrg_header_filter_fn show,
                           void *ctx)
{
    struct mrg_query_pair *pairs = NULL;
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct mrg_header *header = &request->headers[i];
        if (mrg_header_is_implied(request, header) || (show && !show(ctx, header)))
            continue;
        if (!pairs)
            pairs = mrg_malloc(request->header_count * sizeof(*pairs));
        pairs[count] = (struct mrg_query_pair){.key = header->name, .value = header->value};
        for (size_t j = 0; j < count; j++)
            pairs[count].index += mrg_slice_eq(pairs[j].key, header->name);
        count++;
    }
    append_pairs(buf, ",\"headers\":{", pairs, count);
    free(pairs);
}

static void append_body(struct mrg_buf *buf, const struct mrg_body *body)
{
    if (body->kind == MRG_BODY_NONE || body->bytes.len == 0)
        return;
    if (body->kind == MRG_BODY_JSON) {
        mrg_buf_append_str(buf, ",\"body\":");
        mrg_json_minify(buf, body->bytes);
    } else if (body->kind == MRG_BODY_TEXT) {
        mrg_buf_append_str(buf, ",\"body_text\":");
        mrg_json_append_string(buf, body->bytes);
    } else {
        mrg_buf_append_str(buf, ",\"body_base64\":\"");
        mrg_base64_append(buf, body->bytes);
        mrg_buf_append_char(buf, '"');
    }
}

void mrg_request_append_json(struct mrg_buf *buf, const struct mrg_request *request,
                             mrg_header_filter_fn show, void *ctx)
{
    mrg_buf_append_str(buf, "{\"method\":");
    mrg_json_append_string(buf, request->method);
    mrg_buf_append_str(buf, ",\"path\":");
    mrg_json_append_string(buf, request->path);
    append_query(buf, request->query);
    append_headers(buf, request, show, ctx);
    append_body(buf, &request->body);
    mrg_buf_append_char(buf, '}');
}
