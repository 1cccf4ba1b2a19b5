// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "util/json_int.h"
#include "util/utf8.h"

static void append_escape(struct mrg_buf *buf, unsigned char c)
{
    static const char names[] = "btn\0fr"; /* of 8 to 13 */
    static const char digits[] = "0123456789abcdef";
    char escape[6] = {'\\', (char)c};
    size_t len = 2;
    if (c >= 8 && c <= 13 && names[c - 8]) {
        escape[1] = names[c - 8];
    } else if (c < 0x20) {
        memcpy(escape + 1, "u00", 3);
        escape[4] = digits[c >> 4];
        escape[5] = digits[c & 15];
        len = 6;
    }
    mrg_buf_append(buf, escape, len);
}

void mrg_json_append_string(struct mrg_buf *buf, struct mrg_slice text)
{
    const char *p = text.ptr;
    const char *end = p + text.len;
    mrg_buf_append_char(buf, '"');
    while (p < end) {
        const char *run = p;
        size_t len = 1;
        while ((p = mrg_json_plain(p, end)) < end && (unsigned char)*p >= 0x80 &&
               (len = mrg_utf8_len(p, end)) > 0)
            p += len;
        mrg_buf_append(buf, run, (size_t)(p - run));
        if (p == end)
            break;
        if (len == 0)
            mrg_buf_append_str(buf, MRG_UTF8_REPLACEMENT);
        else
            append_escape(buf, (unsigned char)*p);
        p++;
    }
    mrg_buf_append_char(buf, '"');
}

void mrg_json_append_double(struct mrg_buf *buf, double value)
{
    char text[40];
    if (!isfinite(value)) {
        mrg_buf_append_str(buf, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    mrg_buf_append_str(buf, text);
    if (!strpbrk(text, ".e"))
        mrg_buf_append_str(buf, ".0");
}

/*
 * A double made by json_object_new_double_s prints its userdata. That is how its spelling is told from
 * userdata that somebody else hung on an ordinary double: only the former equals what is printed.
 */
static bool append_spelled(struct mrg_buf *buf, struct json_object *number)
{
    const char *kept = json_object_get_userdata(number);
    if (!kept)
        return false;
    const char *printed = json_object_to_json_string_ext(number, JSON_C_TO_STRING_PLAIN);
    size_t len = 0;
    while (printed[len] && printed[len] == kept[len])
        len++;
    if (printed[len] || kept[len] || mrg_json_check((struct mrg_slice){printed, len}, NULL))
        return false;
    mrg_buf_append(buf, printed, len);
    return true;
}

static void append_integer(struct mrg_buf *buf, struct json_object *number)
{
    char text[24];
    int64_t value = json_object_get_int64(number);
    if (value == INT64_MAX)
        snprintf(text, sizeof(text), "%" PRIu64, json_object_get_uint64(number));
    else
        snprintf(text, sizeof(text), "%" PRId64, value);
    mrg_buf_append_str(buf, text);
}

static void append_object(struct mrg_buf *buf, struct json_object *object)
{
    bool first = true;
    mrg_buf_append_char(buf, '{');
    json_object_object_foreach (object, key, value) {
        if (!first)
            mrg_buf_append_char(buf, ',');
        first = false;
        mrg_json_append_string(buf, mrg_slice_of(key));
        mrg_buf_append_char(buf, ':');
        mrg_json_append_tree(buf, value);
    }
    mrg_buf_append_char(buf, '}');
}

static void append_array(struct mrg_buf *buf, struct json_object *array)
{
    size_t count = json_object_array_length(array);
    mrg_buf_append_char(buf, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            mrg_buf_append_char(buf, ',');
        mrg_json_append_tree(buf, json_object_array_get_idx(array, i));
    }
    mrg_buf_append_char(buf, ']');
}

void mrg_json_append_tree(struct mrg_buf *buf, struct json_object *tree)
{
    switch (json_object_get_type(tree)) {
    case json_type_null:
        mrg_buf_append_str(buf, "null");
        break;
    case json_type_boolean:
        mrg_buf_append_str(buf, json_object_get_boolean(tree) ? "true" : "false");
        break;
    case json_type_double:
        if (!append_spelled(buf, tree))
            mrg_json_append_double(buf, json_object_get_double(tree));
        break;
    case json_type_int:
        append_integer(buf, tree);
        break;
    case json_type_string: {
        size_t len = (size_t)json_object_get_string_len(tree);
        mrg_json_append_string(buf, (struct mrg_slice){json_object_get_string(tree), len});
        break;
    }
    case json_type_object:
        append_object(buf, tree);
        break;
    case json_type_array:
        append_array(buf, tree);
        break;
    }
}
