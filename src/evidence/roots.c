// SPDX-License-Identifier: Apache-2.0
#include "evidence/roots.h"

#include <string.h>

#include "util/utf8.h"

/* The path without slashes at its end. */
static struct mrg_slice trimmed(const char *path)
{
    struct mrg_slice slice = mrg_slice_of(path);
    while (slice.len > 0 && slice.ptr[slice.len - 1] == '/')
        slice.len--;
    return slice;
}

/* The last `parts` parts of a path; all of it when it has no more. */
static struct mrg_slice tail(struct mrg_slice path, size_t parts)
{
    size_t from = path.len;
    while (from > 0) {
        if (path.ptr[from - 1] == '/' && --parts == 0)
            break;
        from--;
    }
    return (struct mrg_slice){path.ptr + from, path.len - from};
}

static bool tail_is_unique(const struct mrg_strings *roots, size_t index, size_t parts)
{
    struct mrg_slice own = tail(trimmed(roots->items[index]), parts);
    for (size_t i = 0; i < roots->count; i++) {
        if (i != index && mrg_slice_eq(own, tail(trimmed(roots->items[i]), parts)))
            return false;
    }
    return true;
}

char *mrg_root_label(const struct mrg_strings *roots, size_t index, bool folder)
{
    if (roots->count == 1 && folder)
        return mrg_strdup("");
    struct mrg_slice path = trimmed(roots->items[index]);
    struct mrg_slice label = tail(path, 1);
    for (size_t parts = 1; label.len < path.len && !tail_is_unique(roots, index, parts); parts++)
        label = tail(path, parts + 1);
    while (label.len > 0 && *label.ptr == '/') {
        label.ptr++;
        label.len--;
    }
    return mrg_strndup(label.ptr, label.len);
}

char *mrg_root_name(const char *label, const char *rel)
{
    _cleanup_free_ char *joined = mrg_asprintf("%s%s%s", label, *label && *rel ? "/" : "", rel);
    struct mrg_buf buf;
    mrg_buf_init(&buf, strlen(joined) * 3);
    const char *end = joined + strlen(joined);
    for (const char *p = joined; p < end;) {
        size_t len = mrg_utf8_len(p, end);
        bool plain = (unsigned char)*p >= 0x20 && *p != 0x7f && !strchr("\"<>", *p);
        if (len == 0)
            mrg_buf_append_str(&buf, MRG_UTF8_REPLACEMENT);
        else if (plain)
            mrg_buf_append(&buf, p, len);
        else
            mrg_buf_append_char(&buf, '_');
        p += len > 0 ? len : 1;
    }
    return mrg_buf_take(&buf, NULL);
}
