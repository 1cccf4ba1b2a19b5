// SPDX-License-Identifier: Apache-2.0
#include "util/json.h"
#include "wire/proto_write_int.h"

/* Fields of google.protobuf.Value. */
enum { VALUE_NULL = 1, VALUE_NUMBER, VALUE_STRING, VALUE_BOOL, VALUE_STRUCT, VALUE_LIST };

static enum mrg_err write_json_value(struct mrg_proto_writer *w, struct mrg_slice value,
                                     const struct mrg_proto_place *place);

static void append_int(struct mrg_buf *buf, uint32_t number, int64_t value)
{
    if (value == 0)
        return;
    mrg_proto_append_tag(buf, number, MRG_PROTO_VARINT);
    mrg_proto_append_varint(buf, (uint64_t)value);
}

static void append_bytes(struct mrg_buf *buf, uint32_t number, struct mrg_slice bytes)
{
    mrg_proto_append_tag(buf, number, MRG_PROTO_LENGTH);
    mrg_proto_append_varint(buf, bytes.len);
    mrg_buf_append_slice(buf, bytes);
}

/* What the type is in JSON, as a value of a field of it would be told. */
static enum mrg_err fail_known(struct mrg_proto_writer *w, const struct mrg_message *type,
                               struct mrg_slice value, const struct mrg_proto_place *place)
{
    struct mrg_field as = {.type = PROTOBUF_C_TYPE_MESSAGE, .message = type};
    return mrg_proto_fail_kind(w->err, place, &as, value);
}

static enum mrg_err write_time(struct mrg_proto_writer *w, const struct mrg_message *type,
                               struct mrg_slice value, const struct mrg_proto_place *place)
{
    int64_t seconds;
    int32_t nanos;
    if (value.ptr[0] != '"')
        return fail_known(w, type, value, place);
    struct mrg_slice text = mrg_proto_content(w, value);
    if (!(type->known == MRG_KNOWN_DURATION ? mrg_proto_read_duration
                                            : mrg_proto_read_timestamp)(text, &seconds, &nanos))
        return fail_known(w, type, value, place);
    append_int(w->buf, 1, seconds);
    append_int(w->buf, 2, nanos);
    return MRG_ERR_OK;
}

/* aB as a_b; false for what would not come back as it was. */
static bool append_snake(struct mrg_buf *buf, struct mrg_slice path)
{
    for (size_t i = 0; i < path.len; i++) {
        char c = path.ptr[i];
        if (c == '_')
            return false;
        if (c >= 'A' && c <= 'Z') {
            mrg_buf_append_char(buf, '_');
            c = (char)(c + ('a' - 'A'));
        }
        mrg_buf_append_char(buf, c);
    }
    return true;
}

static enum mrg_err write_mask(struct mrg_proto_writer *w, const struct mrg_message *type,
                               struct mrg_slice value, const struct mrg_proto_place *place)
{
    if (value.ptr[0] != '"')
        return fail_known(w, type, value, place);
    struct mrg_slice rest = mrg_proto_content(w, value);
    bool more = rest.len > 0;
    while (more) {
        const char *comma = memchr(rest.ptr, ',', rest.len);
        struct mrg_slice path = {rest.ptr, comma ? (size_t)(comma - rest.ptr) : rest.len};
        more = comma != NULL;
        if (more) {
            rest.len -= path.len + 1;
            rest.ptr = comma + 1;
        }
        mrg_proto_append_tag(w->buf, 1, MRG_PROTO_LENGTH);
        size_t begun = mrg_proto_begin(w);
        if (!append_snake(w->buf, path))
            return fail_known(w, type, value, place);
        mrg_proto_end(w, begun);
    }
    return MRG_ERR_OK;
}

static enum mrg_err write_struct(struct mrg_proto_writer *w, struct mrg_slice object,
                                 const struct mrg_proto_place *place)
{
    size_t cursor = 0;
    struct mrg_slice key, value;
    enum mrg_err code = mrg_proto_descend(w, place);
    while (!code && mrg_json_next(object, &cursor, &key, &value)) {
        struct mrg_proto_place at = {.up = place, .key = key, .index = MRG_PROTO_NO_INDEX};
        mrg_proto_append_tag(w->buf, 1, MRG_PROTO_LENGTH);
        size_t begun = mrg_proto_begin(w);
        code = mrg_proto_descend(w, &at); /* a map's entry is a message too */
        append_bytes(w->buf, 1, mrg_proto_content(w, (struct mrg_slice){key.ptr - 1, key.len + 2}));
        mrg_proto_append_tag(w->buf, 2, MRG_PROTO_LENGTH);
        size_t inner = mrg_proto_begin(w);
        if (!code)
            code = write_json_value(w, value, &at);
        mrg_proto_end(w, inner);
        mrg_proto_end(w, begun);
        w->depth--;
    }
    w->depth--;
    return code;
}

static enum mrg_err write_list(struct mrg_proto_writer *w, struct mrg_slice array,
                               const struct mrg_proto_place *place)
{
    size_t cursor = 0;
    struct mrg_slice value;
    struct mrg_proto_place at = {.up = place, .index = 0};
    enum mrg_err code = mrg_proto_descend(w, place);
    while (!code && mrg_json_next_item(array, &cursor, &value)) {
        mrg_proto_append_tag(w->buf, 1, MRG_PROTO_LENGTH);
        size_t begun = mrg_proto_begin(w);
        code = write_json_value(w, value, &at);
        mrg_proto_end(w, begun);
        at.index++;
    }
    w->depth--;
    return code;
}

static enum mrg_err write_number(struct mrg_proto_writer *w, struct mrg_slice value,
                                 const struct mrg_proto_place *place)
{
    double number;
    uint64_t bits;
    char bytes[sizeof(bits)];
    if (!mrg_proto_read_double(value, &number))
        return mrg_proto_fail_expected(w->err, place, "a number within the range of a double", value);
    memcpy(&bits, &number, sizeof(bits));
    for (size_t i = 0; i < sizeof(bits); i++)
        bytes[i] = (char)(bits >> (8 * i));
    mrg_proto_append_tag(w->buf, VALUE_NUMBER, MRG_PROTO_FIXED64);
    mrg_buf_append(w->buf, bytes, sizeof(bytes));
    return MRG_ERR_OK;
}

static enum mrg_err write_json_value(struct mrg_proto_writer *w, struct mrg_slice value,
                                     const struct mrg_proto_place *place)
{
    enum mrg_err code = mrg_proto_descend(w, place);
    size_t begun;
    switch (value.ptr[0]) {
    case '{':
    case '[':
        mrg_proto_append_tag(w->buf, value.ptr[0] == '{' ? VALUE_STRUCT : VALUE_LIST, MRG_PROTO_LENGTH);
        begun = mrg_proto_begin(w);
        if (!code)
            code = (value.ptr[0] == '{' ? write_struct : write_list)(w, value, place);
        mrg_proto_end(w, begun);
        break;
    case '"':
        append_bytes(w->buf, VALUE_STRING, mrg_proto_content(w, value));
        break;
    case 't':
    case 'f':
        mrg_proto_append_tag(w->buf, VALUE_BOOL, MRG_PROTO_VARINT);
        mrg_buf_append_char(w->buf, value.ptr[0] == 't');
        break;
    case 'n':
        mrg_proto_append_tag(w->buf, VALUE_NULL, MRG_PROTO_VARINT);
        mrg_buf_append_char(w->buf, 0);
        break;
    default:
        code = code ? code : write_number(w, value, place);
    }
    w->depth--;
    return code;
}

/* The content of an Any of a type whose JSON is its own: all of it is in "value". */
static enum mrg_err write_any_known(struct mrg_proto_writer *w, const struct mrg_message *type,
                                    struct mrg_slice object, const struct mrg_proto_place *place)
{
    struct mrg_proto_place at = {.up = place, .key = MRG_SLICE("value"), .index = MRG_PROTO_NO_INDEX};
    size_t cursor = 0;
    struct mrg_slice key, value;
    struct mrg_slice content = {NULL, 0};
    while (mrg_json_next(object, &cursor, &key, &value)) {
        struct mrg_slice name = mrg_proto_content(w, (struct mrg_slice){key.ptr - 1, key.len + 2});
        if (mrg_slice_eq_str(name, "value")) {
            content = value;
        } else if (!w->lenient && !mrg_slice_eq_str(name, "@type")) {
            at.key = name;
            return mrg_proto_fail(w->err, MRG_ERR_INVALID, &at,
                                  "expected only \"@type\" and \"value\" in a google.protobuf.Any of %s",
                                  type->full_name.ptr);
        }
    }
    if (!content.ptr && type->known == MRG_KNOWN_EMPTY)
        return MRG_ERR_OK;
    if (!content.ptr)
        return mrg_proto_fail(w->err, MRG_ERR_INVALID, &at,
                              "expected the content of the google.protobuf.Any, a %s; it is missing",
                              type->full_name.ptr);
    return mrg_proto_write(w, type, content, &at);
}

static enum mrg_err write_any(struct mrg_proto_writer *w, const struct mrg_message *any,
                              struct mrg_slice object, const struct mrg_proto_place *place)
{
    size_t cursor = 0;
    struct mrg_slice key, value;
    if (object.ptr[0] != '{')
        return fail_known(w, any, object, place);
    if (!mrg_json_next(object, &cursor, &key, &value))
        return MRG_ERR_OK;
    struct mrg_proto_place at = {.up = place, .key = MRG_SLICE("@type"), .index = MRG_PROTO_NO_INDEX};
    if (!mrg_json_member(object, "@type", &value) || value.ptr[0] != '"')
        return mrg_proto_fail(w->err, MRG_ERR_INVALID, &at,
                              "expected a string with the type's URL, such as "
                              "\"type.googleapis.com/pkg.Message\", in a google.protobuf.Any");
    struct mrg_slice url = mrg_proto_content(w, value);
    const char *slash = memrchr(url.ptr, '/', url.len);
    struct mrg_slice name = url;
    if (slash)
        name = (struct mrg_slice){slash + 1, (size_t)(url.ptr + url.len - slash) - 1};
    const struct mrg_message *type = mrg_schema_message(w->schema, name);
    if (!type)
        return mrg_proto_fail_expected(w->err, &at, "the URL of a type that the descriptors have", value);
    append_bytes(w->buf, 1, url);
    mrg_proto_append_tag(w->buf, 2, MRG_PROTO_LENGTH);
    size_t begun = mrg_proto_begin(w);
    enum mrg_err code = type->known == MRG_KNOWN_NONE ? mrg_proto_write_members(w, type, object, true, place)
                                                      : write_any_known(w, type, object, place);
    mrg_proto_end(w, begun);
    return code;
}

static enum mrg_err write_empty(struct mrg_proto_writer *w, const struct mrg_message *type,
                                struct mrg_slice value, const struct mrg_proto_place *place)
{
    if (value.ptr[0] != '{')
        return fail_known(w, type, value, place);
    return mrg_proto_write_members(w, type, value, false, place);
}

static enum mrg_err write_known(struct mrg_proto_writer *w, const struct mrg_message *type,
                                struct mrg_slice value, const struct mrg_proto_place *place)
{
    switch (type->known) {
    case MRG_KNOWN_ANY:
        return write_any(w, type, value, place);
    case MRG_KNOWN_TIMESTAMP:
    case MRG_KNOWN_DURATION:
        return write_time(w, type, value, place);
    case MRG_KNOWN_FIELD_MASK:
        return write_mask(w, type, value, place);
    case MRG_KNOWN_WRAPPER:
        return mrg_proto_write_scalar(w, &type->fields[0], value, true, place);
    case MRG_KNOWN_STRUCT:
        return value.ptr[0] == '{' ? write_struct(w, value, place) : fail_known(w, type, value, place);
    case MRG_KNOWN_LIST_VALUE:
        return value.ptr[0] == '[' ? write_list(w, value, place) : fail_known(w, type, value, place);
    case MRG_KNOWN_VALUE:
        return write_json_value(w, value, place);
    case MRG_KNOWN_EMPTY:
    case MRG_KNOWN_NONE:
        break;
    }
    return write_empty(w, type, value, place);
}

enum mrg_err mrg_proto_write_known(struct mrg_proto_writer *w, const struct mrg_message *type,
                                   struct mrg_slice value, const struct mrg_proto_place *place)
{
    /* What goes deeper counts itself. */
    bool counts = type->known == MRG_KNOWN_ANY || type->known == MRG_KNOWN_WRAPPER ||
                  type->known == MRG_KNOWN_TIMESTAMP || type->known == MRG_KNOWN_DURATION ||
                  type->known == MRG_KNOWN_FIELD_MASK;
    if (!counts)
        return write_known(w, type, value, place);
    enum mrg_err code = mrg_proto_descend(w, place);
    if (!code)
        code = write_known(w, type, value, place);
    w->depth--;
    return code;
}
