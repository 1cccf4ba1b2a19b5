// SPDX-License-Identifier: Apache-2.0
#include "util/utf8.h"

#include <string.h>

static bool is_tail(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

size_t mrg_utf8_len(const char *p, const char *end)
{
    const unsigned char *s = (const unsigned char *)p;
    size_t left = (size_t)(end - p);
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xC2)
        return 0;
    if (s[0] < 0xE0)
        return left >= 2 && is_tail(s[1]) ? 2 : 0;
    if (s[0] < 0xF0) {
        if (left < 3 || !is_tail(s[1]) || !is_tail(s[2]))
            return 0;
        bool overlong = s[0] == 0xE0 && s[1] < 0xA0;
        bool surrogate = s[0] == 0xED && s[1] > 0x9F;
        return overlong || surrogate ? 0 : 3;
    }
    if (s[0] > 0xF4 || left < 4 || !is_tail(s[1]) || !is_tail(s[2]) || !is_tail(s[3]))
        return 0;
    bool overlong = s[0] == 0xF0 && s[1] < 0x90;
    bool beyond = s[0] == 0xF4 && s[1] > 0x8F;
    return overlong || beyond ? 0 : 4;
}

bool mrg_utf8_valid(struct mrg_slice text)
{
    const char *p = text.ptr;
    const char *end = p + text.len;
    while (p < end) {
        uint64_t eight;
        if (end - p >= 8 && (memcpy(&eight, p, 8), (eight & 0x8080808080808080u) == 0)) {
            p += 8;
            continue;
        }
        size_t len = mrg_utf8_len(p, end);
        if (len == 0)
            return false;
        p += len;
    }
    return true;
}

size_t mrg_utf8_encode(uint32_t code_point, char ret_bytes[MRG_UTF8_MAX])
{
    if (code_point < 0x80) {
        ret_bytes[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        ret_bytes[0] = (char)(0xC0 | (code_point >> 6));
        ret_bytes[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        ret_bytes[0] = (char)(0xE0 | (code_point >> 12));
        ret_bytes[1] = (char)(0x80 | ((code_point >> 6) & 0x3F));
        ret_bytes[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    ret_bytes[0] = (char)(0xF0 | (code_point >> 18));
    ret_bytes[1] = (char)(0x80 | ((code_point >> 12) & 0x3F));
    ret_bytes[2] = (char)(0x80 | ((code_point >> 6) & 0x3F));
    ret_bytes[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

size_t mrg_utf8_cut(struct mrg_slice text, size_t max)
{
    if (text.len <= max)
        return text.len;
    size_t cut = max;
    for (int back = 0; back < 3 && cut > 0 && is_tail((unsigned char)text.ptr[cut]); back++)
        cut--;
    /* Four tails in a row are no character: bytes that are not UTF-8 are cut where they are. */
    return is_tail((unsigned char)text.ptr[cut]) ? max : cut;
}
