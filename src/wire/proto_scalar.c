// SPDX-License-Identifier: Apache-2.0
#include "util/json.h"
#include "wire/proto_write_int.h"

#define VARINT_MAX 10 /* bytes */

void mrg_proto_append_varint(struct mrg_buf *buf, uint64_t value)
{
    char bytes[VARINT_MAX];
    size_t len = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[len++] = (char)(value | 0x80);
    bytes[len++] = (char)value;
    mrg_buf_append(buf, bytes, len);
}

void mrg_proto_append_tag(struct mrg_buf *buf, uint32_t number, enum mrg_proto_wire wire)
{
    mrg_proto_append_varint(buf, (uint64_t)number << 3 | (unsigned)wire);
}

static void append_fixed(struct mrg_buf *buf, uint64_t value, size_t size)
{
    char bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(value >> (8 * i));
    mrg_buf_append(buf, bytes, size);
}

size_t mrg_proto_begin(struct mrg_proto_writer *w)
{
    size_t begun = w->buf->len;
    mrg_buf_append_char(w->buf, '\0');
    return begun;
}

void mrg_proto_end(struct mrg_proto_writer *w, size_t begun)
{
    struct mrg_buf *buf = w->buf;
    if (mrg_buf_failed(buf))
        return;
    size_t len = buf->len - begun - 1;
    size_t more = 0; /* bytes of the length beyond the one that is there */
    for (size_t left = len >> 7; left > 0; left >>= 7)
        more++;
    for (size_t i = 0; i < more; i++)
        mrg_buf_append_char(buf, '\0');
    if (mrg_buf_failed(buf))
        return;
    char *to = buf->data + begun;
    if (more > 0)
        memmove(to + 1 + more, to + 1, len);
    for (size_t i = 0; i < more; i++, len >>= 7)
        *to++ = (char)(len | 0x80);
    *to = (char)len;
}

struct mrg_slice mrg_proto_content(struct mrg_proto_writer *w, struct mrg_slice string)
{
    if (!memchr(string.ptr, '\\', string.len))
        return (struct mrg_slice){string.ptr + 1, string.len - 2};
    w->scratch.max = string.len;
    mrg_buf_clear(&w->scratch);
    mrg_json_unescape(&w->scratch, string);
    return mrg_buf_slice(&w->scratch);
}

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

/* Either alphabet, padded or not; bits beyond the last byte do not count. */
static bool append_base64(struct mrg_buf *buf, struct mrg_slice text)
{
    size_t len = text.len;
    while (len > 0 && text.len - len < 2 && text.ptr[len - 1] == '=')
        len--;
    if (len % 4 == 1 || (len < text.len && text.len % 4 != 0))
        return false;
    mrg_buf_reserve(buf, len / 4 * 3 + 2);
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < len; i++) {
        int digit = digit_of(text.ptr[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        held += 6;
        if (held >= 8) {
            held -= 8;
            mrg_buf_append_char(buf, (char)(bits >> held));
        }
    }
    return true;
}

static enum mrg_err write_text(struct mrg_proto_writer *w, const struct mrg_field *field,
                               struct mrg_slice value, const struct mrg_proto_place *place)
{
    if (value.ptr[0] != '"')
        return mrg_proto_fail_kind(w->err, place, field, value);
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        struct mrg_slice content = mrg_proto_content(w, value);
        mrg_proto_append_varint(w->buf, content.len);
        mrg_buf_append_slice(w->buf, content);
        return MRG_ERR_OK;
    }
    size_t begun = mrg_proto_begin(w);
    if (!append_base64(w->buf, mrg_proto_content(w, value)))
        return mrg_proto_fail_kind(w->err, place, field, value);
    mrg_proto_end(w, begun);
    return MRG_ERR_OK;
}

/* A number as it stands, or within a string. */
static bool number_text(struct mrg_proto_writer *w, struct mrg_slice value, struct mrg_slice *ret_number)
{
    *ret_number = value.ptr[0] == '"' ? mrg_proto_content(w, value) : value;
    return mrg_proto_is_number(*ret_number);
}

static bool is_plain_integer(struct mrg_slice text)
{
    return mrg_proto_is_number(text) && !memchr(text.ptr, '.', text.len) &&
           !memchr(text.ptr, 'e', text.len) && !memchr(text.ptr, 'E', text.len);
}

static bool read_enum(struct mrg_proto_writer *w, const struct mrg_enum *type, struct mrg_slice value,
                      uint64_t *ret_value)
{
    struct mrg_slice number;
    if (type->null && mrg_proto_is_null(value)) {
        *ret_value = 0;
        return true;
    }
    if (value.ptr[0] == '"') {
        struct mrg_slice name = mrg_proto_content(w, value);
        const struct mrg_enum_value *named = mrg_enum_value_named(type, name);
        if (named) {
            *ret_value = (uint64_t)(int64_t)named->number;
            return true;
        }
        if (!is_plain_integer(name))
            return false;
    }
    return number_text(w, value, &number) &&
           mrg_proto_read_integer(number, PROTOBUF_C_TYPE_INT32, ret_value) &&
           (!type->closed || mrg_enum_value(type, (int32_t)(uint32_t)*ret_value));
}

static bool read_special(struct mrg_slice text, double *ret_value)
{
    if (mrg_slice_eq_str(text, "NaN"))
        *ret_value = (double)__builtin_nanf("");
    else if (mrg_slice_eq_str(text, "Infinity"))
        *ret_value = __builtin_inf();
    else if (mrg_slice_eq_str(text, "-Infinity"))
        *ret_value = -__builtin_inf();
    else
        return false;
    return true;
}

static bool read_real(struct mrg_proto_writer *w, ProtobufCType type, struct mrg_slice value,
                      uint64_t *ret_bits)
{
    struct mrg_slice number;
    double real = 0;
    float single;
    bool special = false;
    if (!number_text(w, value, &number)) {
        special = value.ptr[0] == '"' && read_special(number, &real);
        if (!special)
            return false;
    }
    if (type == PROTOBUF_C_TYPE_DOUBLE) {
        if (!special && !mrg_proto_read_double(number, &real))
            return false;
        memcpy(ret_bits, &real, sizeof(real));
        return true;
    }
    single = (float)real;
    if (!special && !mrg_proto_read_float(number, &single))
        return false;
    uint32_t bits;
    memcpy(&bits, &single, sizeof(bits));
    *ret_bits = bits;
    return true;
}

static bool read_number(struct mrg_proto_writer *w, const struct mrg_field *field, struct mrg_slice value,
                        uint64_t *ret_value)
{
    struct mrg_slice number;
    switch (field->type) {
    case PROTOBUF_C_TYPE_BOOL:
        *ret_value = value.ptr[0] == 't';
        return value.ptr[0] == 't' || value.ptr[0] == 'f';
    case PROTOBUF_C_TYPE_ENUM:
        return read_enum(w, field->enumeration, value, ret_value);
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
        return read_real(w, field->type, value, ret_value);
    default:
        return number_text(w, value, &number) && mrg_proto_read_integer(number, field->type, ret_value);
    }
}

static void append_number(struct mrg_buf *buf, ProtobufCType type, uint64_t value)
{
    if (type == PROTOBUF_C_TYPE_SINT32 || type == PROTOBUF_C_TYPE_SINT64)
        value = value << 1 ^ (0 - (value >> 63));
    switch (mrg_proto_wire_of(type)) {
    case MRG_PROTO_FIXED32:
        append_fixed(buf, value, 4);
        break;
    case MRG_PROTO_FIXED64:
        append_fixed(buf, value, 8);
        break;
    default:
        mrg_proto_append_varint(buf, value);
    }
}

enum mrg_err mrg_proto_write_scalar(struct mrg_proto_writer *w, const struct mrg_field *field,
                                    struct mrg_slice value, bool tagged, const struct mrg_proto_place *place)
{
    enum mrg_proto_wire wire = mrg_proto_wire_of(field->type);
    bool implicit = tagged && !field->repeated && !field->presence;
    if (wire == MRG_PROTO_LENGTH) {
        if (implicit && mrg_slice_eq_str(value, "\"\""))
            return MRG_ERR_OK;
        if (tagged)
            mrg_proto_append_tag(w->buf, field->number, wire);
        return write_text(w, field, value, place);
    }
    uint64_t number;
    if (!read_number(w, field, value, &number))
        return mrg_proto_fail_kind(w->err, place, field, value);
    if (implicit && number == 0)
        return MRG_ERR_OK;
    if (tagged)
        mrg_proto_append_tag(w->buf, field->number, wire);
    append_number(w->buf, field->type, number);
    return MRG_ERR_OK;
}

/* Keys are as protobuf writes them, so that two spellings of one number are not two entries. */
static bool read_key(ProtobufCType type, struct mrg_slice text, uint64_t *ret_value)
{
    if (type == PROTOBUF_C_TYPE_BOOL) {
        *ret_value = mrg_slice_eq_str(text, "true");
        return *ret_value || mrg_slice_eq_str(text, "false");
    }
    return is_plain_integer(text) && !mrg_slice_eq_str(text, "-0") &&
           mrg_proto_read_integer(text, type, ret_value);
}

enum mrg_err mrg_proto_write_key(struct mrg_proto_writer *w, const struct mrg_field *field,
                                 struct mrg_slice key, const struct mrg_proto_place *place)
{
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        mrg_proto_append_tag(w->buf, field->number, MRG_PROTO_LENGTH);
        mrg_proto_append_varint(w->buf, key.len);
        mrg_buf_append_slice(w->buf, key);
        return MRG_ERR_OK;
    }
    uint64_t value;
    if (!read_key(field->type, key, &value)) {
        struct mrg_buf kind;
        mrg_buf_init(&kind, sizeof(w->err->message));
        mrg_buf_append_str(&kind, "a key that is ");
        mrg_proto_append_kind(&kind, field);
        mrg_proto_fail_expected(w->err, place, mrg_buf_slice(&kind).ptr, key);
        mrg_buf_done(&kind);
        return MRG_ERR_INVALID;
    }
    mrg_proto_append_tag(w->buf, field->number, mrg_proto_wire_of(field->type));
    append_number(w->buf, field->type, value);
    return MRG_ERR_OK;
}
