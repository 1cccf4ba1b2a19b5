// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/match_int.h"

#define MAX_BOUNDARY 70 /* RFC 2046 section 5.1.1 */

bool mrg_multipart_boundary(const struct mrg_request *request, struct mrg_slice *ret_boundary)
{
    static const char type[] = "multipart/";
    static const char name[] = "boundary=";
    const struct mrg_slice *value = mrg_request_header(request, "content-type");
    if (!value || value->len < sizeof(type) - 1 ||
        !mrg_slice_caseeq_str((struct mrg_slice){value->ptr, sizeof(type) - 1}, type))
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
