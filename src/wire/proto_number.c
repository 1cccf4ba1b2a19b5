// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>

#include "util/json.h"
#include "wire/proto_int.h"

#define SHORT_NUMBER  63   /* characters of a number that is read without the heap */
#define LARGEST_SCALE 1000 /* powers of ten beyond this are as good as this one */
#define MOST_DIGITS   20   /* of a 64-bit integer */

enum mrg_proto_wire mrg_proto_wire_of(ProtobufCType type)
{
    static const unsigned char wires[] = {
        [PROTOBUF_C_TYPE_INT32] = MRG_PROTO_VARINT,     [PROTOBUF_C_TYPE_SINT32] = MRG_PROTO_VARINT,
        [PROTOBUF_C_TYPE_SFIXED32] = MRG_PROTO_FIXED32, [PROTOBUF_C_TYPE_INT64] = MRG_PROTO_VARINT,
        [PROTOBUF_C_TYPE_SINT64] = MRG_PROTO_VARINT,    [PROTOBUF_C_TYPE_SFIXED64] = MRG_PROTO_FIXED64,
        [PROTOBUF_C_TYPE_UINT32] = MRG_PROTO_VARINT,    [PROTOBUF_C_TYPE_FIXED32] = MRG_PROTO_FIXED32,
        [PROTOBUF_C_TYPE_UINT64] = MRG_PROTO_VARINT,    [PROTOBUF_C_TYPE_FIXED64] = MRG_PROTO_FIXED64,
        [PROTOBUF_C_TYPE_FLOAT] = MRG_PROTO_FIXED32,    [PROTOBUF_C_TYPE_DOUBLE] = MRG_PROTO_FIXED64,
        [PROTOBUF_C_TYPE_BOOL] = MRG_PROTO_VARINT,      [PROTOBUF_C_TYPE_ENUM] = MRG_PROTO_VARINT,
        [PROTOBUF_C_TYPE_STRING] = MRG_PROTO_LENGTH,    [PROTOBUF_C_TYPE_BYTES] = MRG_PROTO_LENGTH,
        [PROTOBUF_C_TYPE_MESSAGE] = MRG_PROTO_LENGTH,
    };
    return (enum mrg_proto_wire)wires[type];
}

bool mrg_proto_is_signed(ProtobufCType type)
{
    return type != PROTOBUF_C_TYPE_UINT32 && type != PROTOBUF_C_TYPE_FIXED32 &&
           type != PROTOBUF_C_TYPE_UINT64 && type != PROTOBUF_C_TYPE_FIXED64;
}

bool mrg_proto_is_64(ProtobufCType type)
{
    return type == PROTOBUF_C_TYPE_INT64 || type == PROTOBUF_C_TYPE_SINT64 ||
           type == PROTOBUF_C_TYPE_SFIXED64 || type == PROTOBUF_C_TYPE_UINT64 ||
           type == PROTOBUF_C_TYPE_FIXED64;
}

void mrg_proto_append_integer(struct mrg_buf *buf, uint64_t value, bool is_signed)
{
    char text[MOST_DIGITS + 2];
    char *at = text + sizeof(text);
    bool negative = is_signed && (int64_t)value < 0;
    uint64_t left = negative ? 0 - value : value;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (negative)
        *--at = '-';
    mrg_buf_append(buf, at, (size_t)(text + sizeof(text) - at));
}

static bool append_not_finite(struct mrg_buf *buf, double value)
{
    if (isfinite(value))
        return false;
    mrg_buf_append_str(buf, isnan(value) ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    return true;
}

void mrg_proto_append_double(struct mrg_buf *buf, double value)
{
    if (!append_not_finite(buf, value))
        mrg_json_append_double(buf, value);
}

void mrg_proto_append_float(struct mrg_buf *buf, float value)
{
    char text[40];
    if (append_not_finite(buf, (double)value))
        return;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    mrg_buf_append_str(buf, text);
    if (!strpbrk(text, ".e"))
        mrg_buf_append_str(buf, ".0");
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

bool mrg_proto_is_number(struct mrg_slice text)
{
    const char *p = text.ptr;
    const char *end = p + text.len;
    if (p < end && *p == '-')
        p++;
    const char *digits = p;
    p = skip_digits(p, end);
    if (p == digits || (*digits == '0' && p - digits > 1))
        return false;
    if (p < end && *p == '.') {
        digits = ++p;
        p = skip_digits(p, end);
        if (p == digits)
            return false;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        digits = p;
        p = skip_digits(p, end);
        if (p == digits)
            return false;
    }
    return p == end;
}

/* The exponent at p, which is at the 'e' or at end. */
static long long read_exponent(const char *p, const char *end, long long digit_count)
{
    long long value = 0;
    if (p == end)
        return 0;
    p++;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    for (; p < end; p++) {
        if (value < digit_count + LARGEST_SCALE)
            value = value * 10 + (*p - '0');
    }
    return negative ? -value : value;
}

/* The magnitude of a number without its sign; false when it has a fraction or more than 64 bits. */
static bool read_magnitude(const char *p, const char *end, uint64_t *ret_value)
{
    const char *exponent = p;
    const char *point = NULL;
    long long length = end - p;
    for (; exponent < end && *exponent != 'e' && *exponent != 'E'; exponent++) {
        if (*exponent == '.')
            point = exponent;
    }
    const char *last = exponent; /* past the last digit that is not 0 */
    while (last > p && (last[-1] == '0' || last[-1] == '.'))
        last--;
    while (p < last && (*p == '0' || *p == '.'))
        p++;
    *ret_value = 0;
    if (p == last)
        return true;
    /* How many zeros follow the digits from p to last. */
    const char *ones = point ? point : exponent;
    long long scale = last > ones ? -(long long)(last - ones - 1) : (long long)(ones - last);
    scale += read_exponent(exponent, end, length);
    if (scale < 0 || scale > MOST_DIGITS || last - p > MOST_DIGITS + 1)
        return false;
    uint64_t value = 0;
    for (; p < last; p++) {
        if (*p != '.' && (__builtin_mul_overflow(value, 10u, &value) ||
                          __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value)))
            return false;
    }
    for (; scale > 0; scale--) {
        if (__builtin_mul_overflow(value, 10u, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool mrg_proto_read_integer(struct mrg_slice number, ProtobufCType type, uint64_t *ret_value)
{
    const char *p = number.ptr;
    bool negative = number.len > 0 && *p == '-';
    uint64_t value;
    if (!read_magnitude(p + negative, p + number.len, &value))
        return false;
    bool is_signed = mrg_proto_is_signed(type);
    unsigned bits = (mrg_proto_is_64(type) ? 64 : 32) - is_signed;
    uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    if (negative)
        most = is_signed ? most + 1 : 0;
    if (value > most)
        return false;
    *ret_value = negative ? 0 - value : value;
    return true;
}

bool mrg_proto_read_double(struct mrg_slice number, double *ret_value)
{
    char text[SHORT_NUMBER + 1];
    _cleanup_free_ char *heap = number.len > SHORT_NUMBER ? mrg_strndup(number.ptr, number.len) : NULL;
    if (!heap) {
        memcpy(text, number.ptr, number.len);
        text[number.len] = '\0';
    }
    double value = strtod(heap ? heap : text, NULL);
    if (!isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

bool mrg_proto_read_float(struct mrg_slice number, float *ret_value)
{
    double wide;
    if (!mrg_proto_read_double(number, &wide))
        return false;
    /* Through the double, as protobuf's libraries do: the nearest float of the nearest double. */
    float value = (float)wide;
    if (!isfinite(value))
        return false;
    *ret_value = value;
    return true;
}
