// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <math.h>

#include "util/utf8.h"
#include "wire/schema_int.h"

static enum mrg_err fail(struct mrg_error *err, const char *text, const char *expected)
{
    return mrg_error_set(err, MRG_ERR_INVALID, "has the default \"%.40s\"; expected %s", text, expected);
}

static void *keep(struct mrg_schema *schema, const void *value, size_t size)
{
    void *copy = mrg_arena_alloc(schema->arena, size);
    memcpy(copy, value, size);
    return copy;
}

/* Decimal, or as in C with 0x and 0 before it. */
static bool read_signed(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (end == text || *end || errno != 0 || value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}

static bool read_unsigned(const char *text, uint64_t max, uint64_t *ret_value)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (*text < '0' || *text > '9' || *end || errno != 0 || value > max)
        return false;
    *ret_value = value;
    return true;
}

static bool read_float(const char *text, double *ret_value)
{
    char *end;
    if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0)
        *ret_value = *text == '-' ? -INFINITY : INFINITY;
    else if (strcmp(text, "nan") == 0 || strcmp(text, "-nan") == 0)
        *ret_value = NAN;
    else {
        *ret_value = strtod(text, &end);
        return end != text && *end == '\0';
    }
    return true;
}

static unsigned digit(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                  : 99;
}

/* A number of up to `most` digits at *p. False: there is none. */
static bool read_escape(const char **p, unsigned base, unsigned most, uint8_t *ret_byte)
{
    unsigned value = 0;
    unsigned count = 0;
    while (count < most && digit(**p) < base) {
        value = value * base + digit(**p);
        (*p)++;
        count++;
    }
    *ret_byte = (uint8_t)value;
    return count > 0 && value < 256;
}

/* C escapes, as protoc writes defaults of bytes. */
static bool read_bytes(struct mrg_schema *schema, const char *text, ProtobufCBinaryData *ret_data)
{
    static const char letters[] = "abfnrtv\\'\"?";
    static const char meanings[] = "\a\b\f\n\r\t\v\\'\"?";
    uint8_t *data = mrg_arena_alloc(schema->arena, strlen(text) + 1);
    size_t len = 0;
    for (const char *p = text; *p;) {
        if (*p != '\\') {
            data[len++] = (uint8_t)*p++;
            continue;
        }
        p++;
        const char *letter = *p ? strchr(letters, *p) : NULL;
        if (letter) {
            data[len++] = (uint8_t)meanings[letter - letters];
            p++;
        } else if (*p == 'x' || *p == 'X') {
            p++;
            if (!read_escape(&p, 16, 2, &data[len++]))
                return false;
        } else if (!read_escape(&p, 8, 3, &data[len++])) {
            return false;
        }
    }
    *ret_data = (ProtobufCBinaryData){len, data};
    return true;
}

static enum mrg_err read_integer(struct mrg_schema *schema, const struct mrg_field *field, const char *text,
                                 const void **ret_value, struct mrg_error *err)
{
    int64_t number = 0;
    uint64_t natural = 0;
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        if (!read_signed(text, INT32_MIN, INT32_MAX, &number))
            return fail(err, text, "an integer of 32 bits");
        *ret_value = keep(schema, &(int32_t){(int32_t)number}, sizeof(int32_t));
        return MRG_ERR_OK;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        if (!read_signed(text, INT64_MIN, INT64_MAX, &number))
            return fail(err, text, "an integer of 64 bits");
        *ret_value = keep(schema, &number, sizeof(number));
        return MRG_ERR_OK;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        if (!read_unsigned(text, UINT32_MAX, &natural))
            return fail(err, text, "a natural number of 32 bits");
        *ret_value = keep(schema, &(uint32_t){(uint32_t)natural}, sizeof(uint32_t));
        return MRG_ERR_OK;
    default:
        if (!read_unsigned(text, UINT64_MAX, &natural))
            return fail(err, text, "a natural number of 64 bits");
        *ret_value = keep(schema, &natural, sizeof(natural));
        return MRG_ERR_OK;
    }
}

static enum mrg_err read_other(struct mrg_schema *schema, const struct mrg_field *field, const char *text,
                               const void **ret_value, struct mrg_error *err)
{
    double number = 0;
    ProtobufCBinaryData data;
    const struct mrg_enum_value *value;
    switch (field->type) {
    case PROTOBUF_C_TYPE_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return fail(err, text, "true or false");
        *ret_value = keep(schema, &(protobuf_c_boolean){*text == 't'}, sizeof(protobuf_c_boolean));
        return MRG_ERR_OK;
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
        if (!read_float(text, &number))
            return fail(err, text, "a number");
        *ret_value = field->type == PROTOBUF_C_TYPE_DOUBLE
                         ? keep(schema, &number, sizeof(number))
                         : keep(schema, &(float){(float)number}, sizeof(float));
        return MRG_ERR_OK;
    case PROTOBUF_C_TYPE_ENUM:
        value = mrg_enum_value_named(field->enumeration, mrg_slice_of(text));
        if (!value)
            return fail(err, text, "a value of its enum");
        *ret_value = keep(schema, &value->number, sizeof(value->number));
        return MRG_ERR_OK;
    case PROTOBUF_C_TYPE_STRING:
        if (!mrg_utf8_valid(mrg_slice_of(text)))
            return fail(err, "", "UTF-8");
        *ret_value = mrg_schema_copy(schema, mrg_slice_of(text)).ptr;
        return MRG_ERR_OK;
    case PROTOBUF_C_TYPE_BYTES:
        if (!read_bytes(schema, text, &data))
            return fail(err, text, "bytes with C escapes");
        *ret_value = keep(schema, &data, sizeof(data));
        return MRG_ERR_OK;
    default:
        return read_integer(schema, field, text, ret_value, err);
    }
}

enum mrg_err mrg_schema_default(struct mrg_schema *schema, const struct mrg_field *field, bool proto3,
                                const char *text, const void **ret_value, struct mrg_error *err)
{
    if (text && (proto3 || field->repeated || field->message))
        return fail(err, text, "none");
    if (text)
        return read_other(schema, field, text, ret_value, err);
    if (field->repeated)
        return MRG_ERR_OK;
    if (field->type == PROTOBUF_C_TYPE_STRING && !field->presence)
        *ret_value = protobuf_c_empty_string;
    else if (field->enumeration && field->enumeration->closed && field->enumeration->values[0].number != 0)
        *ret_value = &field->enumeration->values[0].number;
    return MRG_ERR_OK;
}
