// SPDX-License-Identifier: Apache-2.0
#include "util/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void mrg_base64_append(struct mrg_buf *buf, struct mrg_slice bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    for (size_t left = bytes.len; left > 0;) {
        size_t count = left < 3 ? left : 3;
        uint32_t three = (uint32_t)p[0] << 16;
        if (count > 1)
            three |= (uint32_t)p[1] << 8;
        if (count > 2)
            three |= p[2];
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63], '=', '='};
        if (count > 1)
            four[2] = digits[three >> 6 & 63];
        if (count > 2)
            four[3] = digits[three & 63];
        mrg_buf_append(buf, four, sizeof(four));
        p += count;
        left -= count;
    }
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

bool mrg_base64_decode(struct mrg_arena *arena, struct mrg_slice text, struct mrg_slice *ret_bytes)
{
    if (text.len % 4)
        return false;
    size_t pad = 0;
    while (pad < 2 && pad < text.len && text.ptr[text.len - 1 - pad] == '=')
        pad++;
    size_t len = text.len / 4 * 3 - pad;
    unsigned char *out = mrg_arena_alloc(arena, len + 1);
    size_t at = 0;
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < text.len - pad; i++) {
        int value = value_of(text.ptr[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[at++] = (unsigned char)(bits >> held);
        }
    }
    if (bits & ((1u << held) - 1))
        return false;
    out[at] = '\0';
    *ret_bytes = (struct mrg_slice){(const char *)out, at};
    return true;
}
