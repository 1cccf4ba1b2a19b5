// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/match_int.h"
#include "util/utf8.h"

#define MAX_BOUNDARY 70 /* RFC 2046 section 5.1.1 */

bool mrg_multipart_boundary(const struct mrg_request *request, struct mrg_slice *ret_boundary)
{
    static const char type[] = "multipart/";
    static const char name[] = "boundary=";
    const struct mrg_slice *value = mrg_request_header(request, "content-type");
    if (!value || value->len < sizeof(type) - 1 ||
        !mrg_slice_caseeq_str((struct mrg_slice){value->ptr, sizeof(type) - 1}, type) ||
        !mrg_utf8_valid(*value)) /* which is shown in another spelling */
        return false;
    for (size_t at = sizeof(type) - 1; at + sizeof(name) - 1 < value->len; at++) {
        if (!mrg_slice_caseeq_str((struct mrg_slice){value->ptr + at, sizeof(name) - 1}, name))
            continue;
        struct mrg_slice rest = {value->ptr + at + sizeof(name) - 1, value->len - at - (sizeof(name) - 1)};
        const char *end = rest.ptr + rest.len;
        char stop = *rest.ptr == '"' ? '"' : ';';
        if (stop == '"')
            rest.ptr++;
        const char *past = memchr(rest.ptr, stop, (size_t)(end - rest.ptr));
        rest.len = (size_t)((past ? past : end) - rest.ptr);
        while (rest.len > 0 && rest.ptr[rest.len - 1] == ' ')
            rest.len--;
        if (rest.len == 0 || rest.len > MAX_BOUNDARY)
            return false;
        *ret_boundary = rest;
        return true;
    }
    return false;
}

void mrg_multipart_append(struct mrg_buf *buf, struct mrg_slice text, struct mrg_slice boundary)
{
    const char *p = text.ptr;
    const char *end = p + text.len;
    const char *hit;
    while (p < end && (hit = memmem(p, (size_t)(end - p), boundary.ptr, boundary.len))) {
        mrg_buf_append(buf, p, (size_t)(hit - p));
        mrg_buf_append_str(buf, "boundary");
        p = hit + boundary.len;
    }
    mrg_buf_append(buf, p, (size_t)(end - p));
}

/* Where the delimiter line that begins at `at` ends; 0 when none begins there. */
static size_t delimiter_end(struct mrg_slice text, struct mrg_slice boundary, size_t at)
{
    size_t end = at + 2 + boundary.len;
    if (end > text.len || memcmp(text.ptr + at, "--", 2) != 0 ||
        memcmp(text.ptr + at + 2, boundary.ptr, boundary.len) != 0)
        return 0;
    if (text.len - end >= 2 && memcmp(text.ptr + end, "--", 2) == 0)
        end += 2;
    while (end < text.len && (text.ptr[end] == ' ' || text.ptr[end] == '\t'))
        end++;
    if (end < text.len && text.ptr[end] == '\r')
        end++;
    if (end < text.len && text.ptr[end] != '\n')
        return 0;
    return end < text.len ? end + 1 : end;
}

bool mrg_multipart_next(struct mrg_slice text, struct mrg_slice boundary, size_t *cursor,
                        struct mrg_slice *ret_piece, struct mrg_slice *ret_delimiter)
{
    size_t from = *cursor;
    if (from > text.len)
        return false;
    for (size_t at = from; at < text.len; at++) {
        size_t end = at == from || text.ptr[at - 1] == '\n' ? delimiter_end(text, boundary, at) : 0;
        if (end > 0) {
            size_t stop = at;
            if (stop > from && text.ptr[stop - 1] == '\n')
                stop--;
            if (stop > from && stop < at && text.ptr[stop - 1] == '\r')
                stop--;
            *ret_piece = (struct mrg_slice){text.ptr + from, stop - from};
            *ret_delimiter = (struct mrg_slice){text.ptr + stop, end - stop};
            *cursor = end;
            return true;
        }
        const char *newline = memchr(text.ptr + at, '\n', text.len - at);
        at = newline ? (size_t)(newline - text.ptr) : text.len - 1;
    }
    *ret_piece = (struct mrg_slice){text.ptr + from, text.len - from};
    *ret_delimiter = (struct mrg_slice){text.ptr + text.len, 0};
    *cursor = text.len + 1;
    return true;
}

bool mrg_multipart_is_last(struct mrg_slice delimiter)
{
    delimiter = mrg_slice_trim(delimiter);
    return delimiter.len > 2 && memcmp(delimiter.ptr + delimiter.len - 2, "--", 2) == 0;
}

bool mrg_multipart_split(struct mrg_slice part, struct mrg_slice *ret_head, struct mrg_slice *ret_content)
{
    const char *line = part.ptr;
    const char *end = part.ptr + part.len;
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        bool blank = newline && (newline == line || (newline == line + 1 && *line == '\r'));
        if (!newline)
            return false;
        line = newline + 1;
        if (blank) {
            *ret_head = (struct mrg_slice){part.ptr, (size_t)(line - part.ptr)};
            *ret_content = (struct mrg_slice){line, (size_t)(end - line)};
            return true;
        }
    }
    return false;
}
