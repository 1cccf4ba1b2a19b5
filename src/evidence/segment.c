// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "evidence/templates.h"

#define MIN_HEX     8  /* digits of hex that are an id */
#define MIN_SUFFIX  6  /* characters behind a prefix_ that are an id */
#define MAX_PREFIX  12 /* letters of such a prefix */
#define MIN_NUMBER  3  /* digits behind a word that are an id: item-001 */
#define MIN_CODE    6  /* capitals and digits that are an id: OLJCESPC7Z */
#define MIN_MIXTURE 16 /* letters and digits that are an id */

/* How many of each kind of character a segment has. */
struct shape {
    size_t digits;
    size_t lower;
    size_t upper;
    size_t hex;    /* 0-9a-fA-F */
    size_t joints; /* - _ . ~ */
    size_t others;
};

static struct shape shape_of(struct mrg_slice text)
{
    struct shape shape = {0};
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool digit = c >= '0' && c <= '9';
        bool lower = c >= 'a' && c <= 'z';
        bool upper = c >= 'A' && c <= 'Z';
        shape.digits += digit;
        shape.lower += lower;
        shape.upper += upper;
        shape.hex += digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        shape.joints += c == '-' || c == '_' || c == '.' || c == '~';
        shape.others += !digit && !lower && !upper && c != '-' && c != '_' && c != '.' && c != '~';
    }
    return shape;
}

/* v1, v2.1, v1beta2 */
static bool is_version(struct mrg_slice text)
{
    if (text.len < 2 || text.len > 10 || text.ptr[0] != 'v' || text.ptr[1] < '0' || text.ptr[1] > '9')
        return false;
    size_t i = 1;
    while (i < text.len && ((text.ptr[i] >= '0' && text.ptr[i] <= '9') || text.ptr[i] == '.'))
        i++;
    struct mrg_slice rest = {text.ptr + i, text.len - i};
    return rest.len == 0 || (rest.len >= 4 && memcmp(rest.ptr, "beta", 4) == 0) ||
           (rest.len >= 5 && memcmp(rest.ptr, "alpha", 5) == 0);
}

/* rsv_12ab34cd56ef */
static bool is_prefixed(struct mrg_slice text)
{
    size_t letters = 0;
    while (letters < text.len && ((text.ptr[letters] | 0x20) >= 'a' && (text.ptr[letters] | 0x20) <= 'z'))
        letters++;
    if (letters == 0 || letters > MAX_PREFIX || letters >= text.len || !strchr("_-", text.ptr[letters]))
        return false;
    struct mrg_slice rest = {text.ptr + letters + 1, text.len - letters - 1};
    struct shape shape = shape_of(rest);
    return rest.len >= MIN_SUFFIX && shape.digits > 0 && shape.joints + shape.others == 0 &&
           (shape.digits > 1 || shape.hex == rest.len);
}

bool mrg_segment_is_id(struct mrg_slice segment)
{
    struct shape shape = shape_of(segment);
    if (segment.len == 0 || segment.ptr[0] == '{' || is_version(segment))
        return false;
    if (memchr(segment.ptr, '%', segment.len) || memchr(segment.ptr, '@', segment.len))
        return true;
    if (shape.others > 0)
        return false;
    if (shape.digits > 0 && shape.digits + shape.joints == segment.len)
        return true;
    if (shape.hex + shape.joints == segment.len && shape.hex >= MIN_HEX && shape.digits > 0)
        return true;
    if (shape.digits > 0 && shape.digits + shape.upper == segment.len && segment.len >= MIN_CODE)
        return true;
    if (shape.joints == 0 && segment.len >= MIN_MIXTURE && shape.digits > 1)
        return true;
    size_t number = 0;
    while (number < segment.len && segment.ptr[segment.len - 1 - number] >= '0' &&
           segment.ptr[segment.len - 1 - number] <= '9')
        number++;
    return number >= MIN_NUMBER || is_prefixed(segment);
}

/* {id:[0-9]+}, :id, <int:id>, [id], *: how frameworks write a variable. */
static bool is_variable(struct mrg_slice segment, struct mrg_slice *ret_name)
{
    struct mrg_slice name = segment;
    char open = segment.len > 0 ? segment.ptr[0] : '\0';
    char last = segment.len > 0 ? segment.ptr[segment.len - 1] : '\0';
    bool pair = (open == '{' && last == '}') || (open == '<' && last == '>') || (open == '[' && last == ']');
    if (!pair && open != ':')
        return false;
    name.ptr++;
    name.len -= pair ? 2 : 1;
    const char *colon = name.len > 0 ? memchr(name.ptr, ':', name.len) : NULL;
    if (colon && open == '<') {
        name.len -= (size_t)(colon + 1 - name.ptr);
        name.ptr = colon + 1;
    } else if (colon) {
        name.len = (size_t)(colon - name.ptr);
    }
    const char *pattern = name.len > 0 ? memchr(name.ptr, '(', name.len) : NULL;
    if (pattern)
        name.len = (size_t)(pattern - name.ptr);
    while (name.len > 0 && strchr("?*+.", name.ptr[name.len - 1]))
        name.len--;
    *ret_name = name.len > 0 ? name : MRG_SLICE("id");
    return true;
}

char *mrg_template_from_route(const char *route)
{
    size_t len = strlen(route);
    if (len == 0 || route[len - 1] == '*' || strchr(route, ' '))
        return NULL;
    struct mrg_buf buf;
    mrg_buf_init(&buf, 4 * len + 8);
    if (*route != '/')
        mrg_buf_append_char(&buf, '/');
    for (const char *p = route;;) {
        struct mrg_slice segment = {p, strcspn(p, "/")};
        struct mrg_slice name;
        if (is_variable(segment, &name)) {
            mrg_buf_append_char(&buf, '{');
            mrg_buf_append_slice(&buf, name);
            mrg_buf_append_char(&buf, '}');
        } else {
            mrg_buf_append_slice(&buf, segment);
        }
        p += segment.len;
        if (*p == '\0')
            return mrg_buf_take(&buf, NULL);
        mrg_buf_append_char(&buf, *p++);
    }
}
