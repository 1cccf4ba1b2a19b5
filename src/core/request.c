// SPDX-License-Identifier: Apache-2.0
#include "core/request.h"

#include <string.h>

#include "core/limits.h"
#include "core/query.h"
#include "util/base64.h"
#include "util/json.h"
#include "util/utf8.h"

#define FEW_HEADERS 32u /* headers for which the stack has room */

const char mrg_token_lower[256] = {
    ['!'] = '!', ['#'] = '#', ['$'] = '$', ['%'] = '%', ['&'] = '&', ['\''] = '\'', ['*'] = '*', ['+'] = '+',
    ['-'] = '-', ['.'] = '.', ['^'] = '^', ['_'] = '_', ['`'] = '`', ['|'] = '|',   ['~'] = '~', ['0'] = '0',
    ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6',   ['7'] = '7', ['8'] = '8',
    ['9'] = '9', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd', ['E'] = 'e',   ['F'] = 'f', ['G'] = 'g',
    ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k', ['L'] = 'l', ['M'] = 'm',   ['N'] = 'n', ['O'] = 'o',
    ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r', ['S'] = 's', ['T'] = 't', ['U'] = 'u',   ['V'] = 'v', ['W'] = 'w',
    ['X'] = 'x', ['Y'] = 'y', ['Z'] = 'z', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c',   ['d'] = 'd', ['e'] = 'e',
    ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i', ['j'] = 'j', ['k'] = 'k',   ['l'] = 'l', ['m'] = 'm',
    ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q', ['r'] = 'r', ['s'] = 's',   ['t'] = 't', ['u'] = 'u',
    ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y', ['z'] = 'z',
};

bool mrg_is_token(struct mrg_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!mrg_token_lower[(unsigned char)text.ptr[i]])
            return false;
    }
    return text.len > 0;
}

bool mrg_has_control(struct mrg_slice text)
{
    unsigned found = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        found |= (c < 0x20) & (c != '\t');
        found |= c == 0x7F;
    }
    return found != 0;
}

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

/* Cuts the piece before the next `separator` off *rest; false when nothing is left. */
static bool next_piece(struct mrg_slice *rest, char separator, struct mrg_slice *ret_piece)
{
    if (!rest->ptr)
        return false;
    const char *at = memchr(rest->ptr, separator, rest->len);
    size_t len = at ? (size_t)(at - rest->ptr) : rest->len;
    *ret_piece = mrg_slice_trim((struct mrg_slice){rest->ptr, len});
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

bool mrg_body_is_too_deep(struct mrg_slice json)
{
    unsigned depth = 0;
    const char *end = json.ptr + json.len;
    if (json.len <= 2 * MRG_MAX_BODY_DEPTH) /* two brackets for each */
        return false;
    for (const char *p = json.ptr; p < end; p++) {
        if (*p == '"') {
            for (p++; p < end && *p != '"'; p++)
                p += *p == '\\';
        } else if (*p == '{' || *p == '[') {
            if (++depth > MRG_MAX_BODY_DEPTH)
                return true;
        } else if (*p == '}' || *p == ']') {
            depth--;
        }
    }
    return false;
}

struct mrg_body mrg_body_classify(struct mrg_slice bytes, const struct mrg_slice *content_type)
{
    if (bytes.len == 0)
        return (struct mrg_body){MRG_BODY_NONE, MRG_SLICE("")};
    bool said = !content_type || content_type->len == 0 || mrg_type_is_json(*content_type);
    if (said && mrg_json_check(bytes, NULL) == MRG_ERR_OK && !mrg_body_is_too_deep(bytes))
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

struct noise {
    char name[28];
    size_t len;
    bool prefix;
};

static const struct noise noise_a[] = {EXACT("accept-encoding"), EXACT("accept-language"),
                                       EXACT("accept-charset")};
static const struct noise noise_b[] = {EXACT("baggage")};
static const struct noise noise_c[] = {EXACT("connection"), EXACT("content-length"), EXACT("cache-control")};
static const struct noise noise_d[] = {EXACT("date"), EXACT("dnt")};
static const struct noise noise_e[] = {EXACT("expect")};
static const struct noise noise_f[] = {EXACT("forwarded")};
static const struct noise noise_h[] = {EXACT("host"), EXACT("http2-settings")};
static const struct noise noise_k[] = {EXACT("keep-alive")};
static const struct noise noise_m[] = {EXACT("max-forwards"), PREFIX("mirage-")};
static const struct noise noise_p[] = {EXACT("pragma"), EXACT("priority"), PREFIX("proxy-")};
static const struct noise noise_s[] = {PREFIX("sec-")};
static const struct noise noise_t[] = {EXACT("te"), EXACT("traceparent"), EXACT("tracestate"),
                                       EXACT("trailer"), EXACT("transfer-encoding")};
static const struct noise noise_u[] = {EXACT("user-agent"), EXACT("upgrade"),
                                       EXACT("upgrade-insecure-requests")};
static const struct noise noise_v[] = {EXACT("via")};
static const struct noise noise_x[] = {EXACT("x-real-ip"), PREFIX("x-envoy-"), PREFIX("x-forwarded-")};

/* By the first letter: this is asked for each header of each request, several times. */
static const struct {
    const struct noise *items;
    size_t count;
} noise[26] = {
    ['a' - 'a'] = {noise_a, MRG_ARRAY_LEN(noise_a)}, ['b' - 'a'] = {noise_b, MRG_ARRAY_LEN(noise_b)},
    ['c' - 'a'] = {noise_c, MRG_ARRAY_LEN(noise_c)}, ['d' - 'a'] = {noise_d, MRG_ARRAY_LEN(noise_d)},
    ['e' - 'a'] = {noise_e, MRG_ARRAY_LEN(noise_e)}, ['f' - 'a'] = {noise_f, MRG_ARRAY_LEN(noise_f)},
    ['h' - 'a'] = {noise_h, MRG_ARRAY_LEN(noise_h)}, ['k' - 'a'] = {noise_k, MRG_ARRAY_LEN(noise_k)},
    ['m' - 'a'] = {noise_m, MRG_ARRAY_LEN(noise_m)}, ['p' - 'a'] = {noise_p, MRG_ARRAY_LEN(noise_p)},
    ['s' - 'a'] = {noise_s, MRG_ARRAY_LEN(noise_s)}, ['t' - 'a'] = {noise_t, MRG_ARRAY_LEN(noise_t)},
    ['u' - 'a'] = {noise_u, MRG_ARRAY_LEN(noise_u)}, ['v' - 'a'] = {noise_v, MRG_ARRAY_LEN(noise_v)},
    ['x' - 'a'] = {noise_x, MRG_ARRAY_LEN(noise_x)},
};

bool mrg_header_is_noise(struct mrg_slice name)
{
    unsigned letter = name.len > 0 ? (unsigned)(unsigned char)name.ptr[0] - 'a' : 26;
    if (letter >= 26)
        return false;
    const struct noise *items = noise[letter].items;
    for (size_t i = 0; i < noise[letter].count; i++) {
        bool fits = items[i].prefix ? name.len >= items[i].len : name.len == items[i].len;
        if (fits && memcmp(name.ptr, items[i].name, items[i].len) == 0)
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

static bool is_plain_read(const struct mrg_request *request)
{
    return request->body.bytes.len == 0 &&
           (mrg_slice_eq_str(request->method, "GET") || mrg_slice_eq_str(request->method, "HEAD"));
}

bool mrg_header_is_implied(const struct mrg_request *request, const struct mrg_header *header)
{
    struct mrg_slice rest = header->value;
    struct mrg_slice first;
    if (mrg_slice_eq_str(header->name, "content-type"))
        return (request->body.kind == MRG_BODY_JSON || is_plain_read(request)) &&
               plain_type(header->value, "application/json");
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

/* The values of the key of pairs[at], which is its first: a string, or an array of strings. */
static void append_values(struct mrg_buf *buf, const struct mrg_query_pair *pairs, size_t at)
{
    if (pairs[at].next == 0) {
        mrg_json_append_string(buf, pairs[at].value);
        return;
    }
    mrg_buf_append_char(buf, '[');
    mrg_json_append_string(buf, pairs[at].value);
    while ((at = pairs[at].next) > 0) {
        mrg_buf_append_char(buf, ',');
        mrg_json_append_string(buf, pairs[at].value);
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
        append_values(buf, pairs, i);
    }
    mrg_buf_append_char(buf, '}');
}

static void append_query(struct mrg_buf *buf, struct mrg_slice text)
{
    struct mrg_query query;
    if (text.len == 0)
        return;
    mrg_query_init(&query, text);
    append_pairs(buf, ",\"query\":{", query.pairs, query.count);
    mrg_query_done(&query);
}

struct mrg_slice mrg_header_shown(struct mrg_arena **arena, struct mrg_slice value)
{
    if (mrg_utf8_valid(value))
        return value;
    struct mrg_buf buf;
    const char *end = value.ptr + value.len;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_char(&buf, ' ');
    for (const char *p = value.ptr; p < end;) {
        size_t len = mrg_utf8_len(p, end);
        if (len == 0)
            mrg_buf_appendf(&buf, "\\x%02X", (unsigned)(unsigned char)*p++);
        else if (*p == '\\')
            mrg_buf_append_char(&buf, '\\');
        mrg_buf_append(&buf, p, len);
        p += len;
    }
    if (!*arena)
        *arena = mrg_arena_new(0);
    return mrg_arena_take_buf(*arena, &buf);
}

static void append_headers(struct mrg_buf *buf, const struct mrg_request *request, mrg_header_filter_fn show,
                           const void *ctx)
{
    struct mrg_query_pair few[FEW_HEADERS];
    struct mrg_query_pair *pairs = few;
    struct mrg_arena *arena = NULL;
    size_t count = 0;
    if (request->header_count > FEW_HEADERS)
        pairs = mrg_malloc(request->header_count * sizeof(*pairs));
    for (size_t i = 0; i < request->header_count; i++) {
        const struct mrg_header *header = &request->headers[i];
        if (!mrg_header_is_implied(request, header) && (!show || show(ctx, header)))
            pairs[count++] = (struct mrg_query_pair){.key = header->name,
                                                     .value = mrg_header_shown(&arena, header->value)};
    }
    mrg_query_number(pairs, count);
    append_pairs(buf, ",\"headers\":{", pairs, count);
    mrg_arena_free(arena);
    if (pairs != few)
        free(pairs);
}

void mrg_body_append_member(struct mrg_buf *buf, const char *text, enum mrg_body_kind kind,
                            struct mrg_slice bytes)
{
    switch (kind) {
    case MRG_BODY_NONE:
        break;
    case MRG_BODY_JSON:
        mrg_buf_append_str(buf, ",\"body\":");
        mrg_json_minify(buf, bytes);
        break;
    case MRG_BODY_TEXT:
        mrg_buf_appendf(buf, ",\"%s\":", text);
        mrg_json_append_string(buf, bytes);
        break;
    case MRG_BODY_BINARY:
        mrg_buf_append_str(buf, ",\"body_base64\":\"");
        mrg_base64_append(buf, bytes);
        mrg_buf_append_char(buf, '"');
        break;
    }
}

static void append_path(struct mrg_buf *buf, struct mrg_slice path)
{
    if (mrg_utf8_valid(path)) {
        mrg_json_append_string(buf, path);
        return;
    }
    struct mrg_arena *arena = mrg_arena_new(0);
    mrg_json_append_string(buf, mrg_uri_shown(arena, path));
    mrg_arena_free(arena);
}

void mrg_request_append_json(struct mrg_buf *buf, const struct mrg_request *request,
                             mrg_header_filter_fn show, const void *ctx)
{
    mrg_buf_append_str(buf, "{\"method\":");
    mrg_json_append_string(buf, request->method);
    mrg_buf_append_str(buf, ",\"path\":");
    append_path(buf, request->path);
    append_query(buf, request->query);
    append_headers(buf, request, show, ctx);
    if (request->body.bytes.len > 0)
        mrg_body_append_member(buf, "body_text", request->body.kind, request->body.bytes);
    mrg_buf_append_char(buf, '}');
}
