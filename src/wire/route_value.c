// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/jsontext.h"
#include "util/json.h"
#include "util/uri.h"
#include "wire/route_int.h"

/* RFC 3986's unreserved characters, which is what HttpRule leaves as they are. */
static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

char *mrg_route_encode(char *out, struct mrg_slice text, bool slashes)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (is_unreserved(c) || (slashes && c == '/')) {
            *out++ = (char)c;
            continue;
        }
        *out++ = '%';
        *out++ = digits[c >> 4];
        *out++ = digits[c & 15];
    }
    return out;
}

bool mrg_route_is_plain(struct mrg_slice text, bool slashes)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_unreserved((unsigned char)text.ptr[i]) && !(slashes && text.ptr[i] == '/'))
            return false;
    }
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void mrg_route_append_spelled(struct mrg_buf *buf, struct mrg_slice raw, bool slashes)
{
    char encoded[3];
    for (size_t i = 0; i < raw.len; i++) {
        unsigned char c = (unsigned char)raw.ptr[i];
        int high = raw.len - i > 2 && c == '%' ? hex_digit(raw.ptr[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(raw.ptr[i + 2]) : -1;
        if (low >= 0) {
            c = (unsigned char)(high << 4 | low);
            i += 2;
        }
        /* %2F is no slash. */
        char *end = mrg_route_encode(encoded, (struct mrg_slice){(char *)&c, 1}, slashes && low < 0);
        mrg_buf_append(buf, encoded, (size_t)(end - encoded));
    }
}

struct mrg_slice mrg_route_decode(struct mrg_arena *arena, struct mrg_slice text, bool slashes)
{
    if (!slashes)
        return mrg_uri_decode(arena, text, false);
    char *out = mrg_arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t from = 0; from < text.len;) {
        size_t to = from;
        while (to < text.len && !(text.len - to >= 3 && text.ptr[to] == '%' && text.ptr[to + 1] == '2' &&
                                  (text.ptr[to + 2] | 0x20) == 'f'))
            to++;
        struct mrg_slice run = mrg_uri_decode(arena, (struct mrg_slice){text.ptr + from, to - from}, false);
        memcpy(out + len, run.ptr, run.len);
        len += run.len;
        size_t kept = to < text.len ? 3 : 0;
        memcpy(out + len, text.ptr + to, kept);
        len += kept;
        from = to + kept;
    }
    out[len] = '\0';
    return (struct mrg_slice){out, len};
}

uint32_t mrg_route_below(const struct mrg_binding *binding, uint32_t active, size_t level,
                         const struct mrg_field *field, uint32_t *ret_ends)
{
    uint32_t below = 0;
    uint32_t ends = 0;
    for (size_t i = 0; active >> i; i++) {
        const struct mrg_route_variable *variable = &binding->variables[i];
        if (!(active >> i & 1) || variable->path[level] != field)
            continue;
        if (variable->depth == level + 1)
            ends |= 1u << i;
        else
            below |= 1u << i;
    }
    if (ret_ends)
        *ret_ends = ends;
    return below;
}

const struct mrg_field *mrg_route_field(const struct mrg_message *type, struct mrg_slice raw_key)
{
    if (!memchr(raw_key.ptr, '\\', raw_key.len))
        return mrg_message_field_named(type, raw_key);
    struct mrg_buf name;
    mrg_buf_init(&name, raw_key.len);
    mrg_json_unescape(&name, (struct mrg_slice){raw_key.ptr - 1, raw_key.len + 2});
    const struct mrg_field *field = mrg_message_field_named(type, mrg_buf_slice(&name));
    mrg_buf_done(&name);
    return field;
}

bool mrg_route_is_group(const struct mrg_field *field)
{
    return !field->repeated && field->message && field->message->known == MRG_KNOWN_NONE;
}

bool mrg_route_is_single(const struct mrg_field *field)
{
    if (field->map)
        return false;
    if (!field->message)
        return true;
    switch (field->message->known) {
    case MRG_KNOWN_TIMESTAMP:
    case MRG_KNOWN_DURATION:
    case MRG_KNOWN_FIELD_MASK:
    case MRG_KNOWN_WRAPPER:
        return true;
    case MRG_KNOWN_NONE:
    case MRG_KNOWN_ANY:
    case MRG_KNOWN_STRUCT:
    case MRG_KNOWN_VALUE:
    case MRG_KNOWN_LIST_VALUE:
    case MRG_KNOWN_EMPTY:
        return false;
    }
    return false;
}

static bool is_number(struct mrg_slice text)
{
    return text.len > 0 && (*text.ptr == '-' || (*text.ptr >= '0' && *text.ptr <= '9'));
}

/* Of a number as JSON spells it: no digit but 0 before the exponent. */
static bool is_zero(struct mrg_slice number)
{
    for (size_t i = 0; i < number.len && (number.ptr[i] | 0x20) != 'e'; i++) {
        if (number.ptr[i] >= '1' && number.ptr[i] <= '9')
            return false;
    }
    return is_number(number);
}

static bool is_first_value(const struct mrg_enum *type, struct mrg_slice raw)
{
    const struct mrg_enum_value *value = NULL;
    if (type->null)
        return mrg_slice_eq_str(raw, "null");
    if (type->value_count == 0)
        return false;
    if (is_number(raw))
        return type->values[0].number == 0 && is_zero(raw);
    if (raw.len > 2 && *raw.ptr == '"')
        value = mrg_enum_value_named(type, (struct mrg_slice){raw.ptr + 1, raw.len - 2});
    return value && value->number == type->values[0].number;
}

/* An empty array or object, blanks in it or not. */
static bool is_empty(struct mrg_slice raw, char bracket)
{
    if (*raw.ptr != bracket)
        return false;
    for (size_t i = 1; i + 1 < raw.len; i++) {
        if (!mrg_is_blank(raw.ptr[i]))
            return false;
    }
    return true;
}

bool mrg_route_is_default(const struct mrg_field *field, struct mrg_slice raw)
{
    if (field->repeated)
        return is_empty(raw, field->map ? '{' : '[');
    if (field->presence || field->required || field->message)
        return false;
    switch (field->type) {
    case PROTOBUF_C_TYPE_BOOL:
        return mrg_slice_eq_str(raw, "false");
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        return mrg_slice_eq_str(raw, "\"\"");
    case PROTOBUF_C_TYPE_ENUM:
        return is_first_value(field->enumeration, raw);
    default:
        return is_zero(raw);
    }
}

bool mrg_route_text(struct mrg_arena *arena, struct mrg_slice raw, struct mrg_slice *ret_text)
{
    if (*raw.ptr == '{' || *raw.ptr == '[' || *raw.ptr == 'n')
        return false;
    if (*raw.ptr != '"')
        *ret_text = raw;
    else if (memchr(raw.ptr, '\\', raw.len))
        *ret_text = mrg_jsontext_string(arena, raw);
    else
        *ret_text = (struct mrg_slice){raw.ptr + 1, raw.len - 2};
    return true;
}

/* What a wrapper wraps; other fields are themselves. */
static const struct mrg_field *unwrapped(const struct mrg_field *field)
{
    if (field->message && field->message->known == MRG_KNOWN_WRAPPER && field->message->field_count > 0)
        return &field->message->fields[0];
    return field;
}

/* Whether the text may stand as it is where the field's JSON value does. */
static bool is_bare(const struct mrg_field *field, struct mrg_slice text)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        return false;
    case PROTOBUF_C_TYPE_BOOL:
        return mrg_slice_eq_str(text, "true") || mrg_slice_eq_str(text, "false");
    case PROTOBUF_C_TYPE_ENUM:
        if (field->enumeration->null)
            return mrg_slice_eq_str(text, "null");
        break;
    default:
        break;
    }
    return is_number(text) && mrg_json_check(text, NULL) == MRG_ERR_OK &&
           !mrg_is_blank(text.ptr[text.len - 1]);
}

void mrg_route_append_value(struct mrg_buf *buf, const struct mrg_field *field, struct mrg_slice text)
{
    if (is_bare(unwrapped(field), text))
        mrg_buf_append_slice(buf, text);
    else
        mrg_json_append_string(buf, text);
}

const struct mrg_field *mrg_route_query_field(const struct mrg_message *type, struct mrg_slice key,
                                              const struct mrg_field **ret_path, size_t *ret_depth)
{
    for (size_t depth = 0; depth < MRG_ROUTE_MAX_KEY; depth++) {
        const char *dot = memchr(key.ptr, '.', key.len);
        size_t len = dot ? (size_t)(dot - key.ptr) : key.len;
        const struct mrg_field *field = mrg_message_field_named(type, (struct mrg_slice){key.ptr, len});
        if (!field || (dot && !mrg_route_is_group(field)))
            return NULL;
        ret_path[depth] = field;
        if (!dot) {
            *ret_depth = depth + 1;
            return field;
        }
        type = field->message;
        key = (struct mrg_slice){dot + 1, key.len - len - 1};
    }
    return NULL;
}
