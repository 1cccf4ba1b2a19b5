// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>

#include "util/json.h"
#include "util/utf8.h"
#include "wire/proto_int.h"

#define SHOWN_PATH   300u /* bytes of a path in a message; a longer one loses its middle */
#define SHOWN_KEY    48u  /* bytes of a map's key or of a member's name */
#define SHOWN_GOT    80u  /* bytes of a value that was given */
#define SHOWN_NAMES  400u /* bytes of a list of names */
#define LONGEST_NAME 64u  /* of the names that are compared to find the nearest */
#define LARGEST_PATH (64u << 10)

static bool is_plain_name(struct mrg_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return name.len > 0;
}

static void append_cut(struct mrg_buf *buf, struct mrg_slice text, size_t max)
{
    size_t shown = mrg_utf8_cut(text, max);
    mrg_buf_append(buf, text.ptr, shown);
    if (shown < text.len)
        mrg_buf_append_str(buf, "…");
}

static void append_key(struct mrg_buf *buf, struct mrg_slice key)
{
    size_t shown = mrg_utf8_cut(key, SHOWN_KEY);
    mrg_buf_append_char(buf, '[');
    mrg_json_append_string(buf, (struct mrg_slice){key.ptr, shown});
    mrg_buf_append_str(buf, shown < key.len ? "…]" : "]");
}

static void append_path(struct mrg_buf *buf, const struct mrg_proto_place *place)
{
    if (place->up)
        append_path(buf, place->up);
    bool plain = place->field || (is_plain_name(place->key) && place->key.len <= SHOWN_KEY);
    if (plain && buf->len > 0)
        mrg_buf_append_char(buf, '.');
    if (plain)
        mrg_buf_append_slice(buf, place->field ? place->field->name : place->key);
    else if (place->key.ptr)
        append_key(buf, place->key);
    if (place->index != MRG_PROTO_NO_INDEX)
        mrg_buf_appendf(buf, "[%zu]", place->index);
    if (place->field && place->key.ptr)
        append_key(buf, place->key);
}

static void append_shown_path(struct mrg_buf *buf, const struct mrg_proto_place *place)
{
    struct mrg_buf whole;
    mrg_buf_init(&whole, LARGEST_PATH);
    append_path(&whole, place);
    struct mrg_slice path = mrg_buf_slice(&whole);
    if (path.len <= SHOWN_PATH) {
        mrg_buf_append_slice(buf, path);
    } else {
        size_t tail = path.len - SHOWN_PATH / 2;
        while (((unsigned char)path.ptr[tail] & 0xC0) == 0x80)
            tail++;
        append_cut(buf, path, SHOWN_PATH / 2);
        mrg_buf_append(buf, path.ptr + tail, path.len - tail);
    }
    mrg_buf_done(&whole);
}

static void fail_text(struct mrg_error *err, enum mrg_err code, const struct mrg_proto_place *place,
                      const char *before, const char *sentence)
{
    struct mrg_buf path;
    mrg_buf_init(&path, sizeof(err->message));
    mrg_buf_append_str(&path, before);
    if (place) {
        if (*before)
            mrg_buf_append_str(&path, " of ");
        append_shown_path(&path, place);
    }
    mrg_error_set(err, code, "%s%s%s", path.len ? path.data : "", path.len ? ": " : "", sentence);
    mrg_buf_done(&path);
}

enum mrg_err mrg_proto_fail(struct mrg_error *err, enum mrg_err code, const struct mrg_proto_place *place,
                            const char *format, ...)
{
    if (!err)
        return code;
    char sentence[sizeof(err->message)];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    fail_text(err, code, place, "", sentence);
    return code;
}

enum mrg_err mrg_proto_fail_number(struct mrg_error *err, enum mrg_err code,
                                   const struct mrg_proto_place *place, uint32_t number, const char *format,
                                   ...)
{
    if (!err)
        return code;
    char sentence[sizeof(err->message)];
    char before[24];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    snprintf(before, sizeof(before), "field %u", number);
    fail_text(err, code, place, before, sentence);
    return code;
}

enum mrg_err mrg_proto_fail_expected(struct mrg_error *err, const struct mrg_proto_place *place,
                                     const char *expected, struct mrg_slice got)
{
    if (!err)
        return MRG_ERR_INVALID;
    struct mrg_buf shown;
    mrg_buf_init(&shown, sizeof(err->message));
    append_cut(&shown, got, SHOWN_GOT);
    mrg_proto_fail(err, MRG_ERR_INVALID, place, "expected %s; got %s", expected, mrg_buf_slice(&shown).ptr);
    mrg_buf_done(&shown);
    return MRG_ERR_INVALID;
}

enum mrg_err mrg_proto_fail_kind(struct mrg_error *err, const struct mrg_proto_place *place,
                                 const struct mrg_field *field, struct mrg_slice got)
{
    if (!err)
        return MRG_ERR_INVALID;
    struct mrg_buf kind;
    mrg_buf_init(&kind, sizeof(err->message));
    mrg_proto_append_kind(&kind, field);
    mrg_proto_fail_expected(err, place, mrg_buf_slice(&kind).ptr, got);
    mrg_buf_done(&kind);
    return MRG_ERR_INVALID;
}

static void append_enum(struct mrg_buf *buf, const struct mrg_enum *type)
{
    if (type->null) {
        mrg_buf_append_str(buf, "null");
        return;
    }
    mrg_buf_append_str(buf, "a value of ");
    mrg_buf_append_slice(buf, type->full_name);
    mrg_buf_append_str(buf, ": ");
    for (size_t i = 0; i < type->value_count; i++) {
        if (i > 0)
            mrg_buf_append_str(buf, ", ");
        if (buf->len > SHOWN_NAMES) {
            mrg_buf_appendf(buf, "and %zu more", type->value_count - i);
            break;
        }
        mrg_buf_append_char(buf, '"');
        mrg_buf_append_slice(buf, type->values[i].name);
        mrg_buf_append_char(buf, '"');
    }
    mrg_buf_append_str(buf, ", or its number");
}

static const char *known_kind(const struct mrg_message *type)
{
    static const char *const kinds[] = {
        [MRG_KNOWN_NONE] = NULL,
        [MRG_KNOWN_ANY] = "an object with \"@type\" and the fields of that type (google.protobuf.Any)",
        [MRG_KNOWN_TIMESTAMP] = "a time such as \"2025-01-31T12:00:00.5Z\" from year 1 to 9999",
        [MRG_KNOWN_DURATION] = "a duration such as \"1.5s\", at most 315576000000 seconds",
        [MRG_KNOWN_FIELD_MASK] = "a string of lowerCamel field paths with commas between them",
        [MRG_KNOWN_STRUCT] = "an object",
        [MRG_KNOWN_VALUE] = "any JSON value",
        [MRG_KNOWN_LIST_VALUE] = "an array",
        [MRG_KNOWN_WRAPPER] = NULL,
        [MRG_KNOWN_EMPTY] = "an empty object",
    };
    return kinds[type->known];
}

void mrg_proto_append_kind(struct mrg_buf *buf, const struct mrg_field *field)
{
    static const char *const kinds[] = {
        [PROTOBUF_C_TYPE_INT32] = "an integer from -2147483648 to 2147483647, as a number or a string",
        [PROTOBUF_C_TYPE_UINT32] = "an integer from 0 to 4294967295, as a number or a string",
        [PROTOBUF_C_TYPE_INT64] =
            "an integer from -9223372036854775808 to 9223372036854775807, as a number or a string",
        [PROTOBUF_C_TYPE_UINT64] = "an integer from 0 to 18446744073709551615, as a number or a string",
        [PROTOBUF_C_TYPE_FLOAT] =
            "a number within the range of a 32-bit float, \"NaN\", \"Infinity\" or \"-Infinity\"",
        [PROTOBUF_C_TYPE_DOUBLE] =
            "a number within the range of a double, \"NaN\", \"Infinity\" or \"-Infinity\"",
        [PROTOBUF_C_TYPE_BOOL] = "true or false",
        [PROTOBUF_C_TYPE_STRING] = "a string",
        [PROTOBUF_C_TYPE_BYTES] = "bytes as a base64 string",
    };
    ProtobufCType type = field->type;
    if (type == PROTOBUF_C_TYPE_ENUM) {
        append_enum(buf, field->enumeration);
        return;
    }
    if (type == PROTOBUF_C_TYPE_MESSAGE) {
        const struct mrg_message *message = field->message;
        if (message->known == MRG_KNOWN_WRAPPER)
            mrg_proto_append_kind(buf, &message->fields[0]);
        else if (known_kind(message))
            mrg_buf_append_str(buf, known_kind(message));
        else
            mrg_buf_appendf(buf, "an object (%s)", message->full_name.ptr);
        return;
    }
    if (type == PROTOBUF_C_TYPE_SINT32 || type == PROTOBUF_C_TYPE_SFIXED32)
        type = PROTOBUF_C_TYPE_INT32;
    else if (type == PROTOBUF_C_TYPE_SINT64 || type == PROTOBUF_C_TYPE_SFIXED64)
        type = PROTOBUF_C_TYPE_INT64;
    else if (type == PROTOBUF_C_TYPE_FIXED32)
        type = PROTOBUF_C_TYPE_UINT32;
    else if (type == PROTOBUF_C_TYPE_FIXED64)
        type = PROTOBUF_C_TYPE_UINT64;
    mrg_buf_append_str(buf, kinds[type]);
}

static char fold(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* Edits between two names, case and underscores aside; LONGEST_NAME when one is too long to compare. */
static size_t edits(struct mrg_slice a, struct mrg_slice b)
{
    size_t row[LONGEST_NAME + 1];
    if (a.len > LONGEST_NAME || b.len > LONGEST_NAME)
        return LONGEST_NAME;
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t best = diagonal + (fold(a.ptr[i - 1]) != fold(b.ptr[j - 1]));
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b.len];
}

static const struct mrg_field *nearest(const struct mrg_message *type, struct mrg_slice name)
{
    const struct mrg_field *found = NULL;
    size_t least = name.len / 3 + 1;
    for (size_t i = 0; i < type->field_count; i++) {
        size_t by_name = edits(name, type->fields[i].name);
        size_t by_json = edits(name, type->fields[i].json_name);
        size_t count = by_name < by_json ? by_name : by_json;
        if (count < least || (count == least && !found)) {
            least = count;
            found = &type->fields[i];
        }
    }
    return found;
}

enum mrg_err mrg_proto_fail_unknown(struct mrg_error *err, const struct mrg_proto_place *place,
                                    const struct mrg_message *type, struct mrg_slice name)
{
    if (!err)
        return MRG_ERR_INVALID;
    struct mrg_proto_place at = {.up = place, .key = name, .index = MRG_PROTO_NO_INDEX};
    struct mrg_buf names;
    mrg_buf_init(&names, sizeof(err->message));
    const struct mrg_field *near = nearest(type, name);
    if (near)
        mrg_buf_appendf(&names, "; did you mean \"%s\"?", near->name.ptr);
    mrg_buf_append_str(&names, type->field_count ? "; its fields are " : "; it has no fields");
    for (size_t i = 0; i < type->field_count; i++) {
        if (i > 0)
            mrg_buf_append_str(&names, ", ");
        if (names.len > SHOWN_NAMES) {
            mrg_buf_appendf(&names, "and %zu more", type->field_count - i);
            break;
        }
        mrg_buf_append_slice(&names, type->fields[i].name);
    }
    mrg_proto_fail(err, MRG_ERR_INVALID, &at, "%s has no such field%s", type->full_name.ptr,
                   mrg_buf_slice(&names).ptr);
    mrg_buf_done(&names);
    return MRG_ERR_INVALID;
}
