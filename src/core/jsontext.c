// SPDX-License-Identifier: Apache-2.0
#include "core/jsontext.h"

#include "util/json.h"
#include "util/utf8.h"

#define QUOTED 60 /* bytes of a wrong value that a message shows */

enum mrg_err mrg_jsontext_expected(struct mrg_error *err, const char *what, struct mrg_slice raw,
                                   const char *expected)
{
    if (!raw.ptr)
        return mrg_error_set(err, MRG_ERR_INVALID, "%s is missing; expected %s", what, expected);
    bool cut = raw.len > QUOTED;
    int len = (int)(cut ? mrg_utf8_cut(raw, QUOTED) : raw.len);
    return mrg_error_set(err, MRG_ERR_INVALID, "%s is %.*s%s; expected %s", what, len, raw.ptr,
                         cut ? "…" : "", expected);
}

struct mrg_slice mrg_jsontext_string(struct mrg_arena *arena, struct mrg_slice raw)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, raw.len);
    mrg_json_unescape(&buf, raw);
    return mrg_arena_take_buf(arena, &buf);
}

enum mrg_err mrg_jsontext_read_string(struct mrg_arena *arena, const char *what, struct mrg_slice raw,
                                      struct mrg_slice *ret_text, struct mrg_error *err)
{
    if (*raw.ptr != '"')
        return mrg_jsontext_expected(err, what, raw, "a string");
    *ret_text = mrg_jsontext_string(arena, raw);
    return MRG_ERR_OK;
}

/* The content of a string; the text itself of a number, true or false. INVALID for others, naming `what`. */
static enum mrg_err read_scalar(struct mrg_arena *arena, const char *what, struct mrg_slice raw,
                                struct mrg_slice *ret_text, struct mrg_error *err)
{
    if (*raw.ptr == '{' || *raw.ptr == '[' || *raw.ptr == 'n')
        return mrg_jsontext_expected(err, what, raw, "a string");
    if (*raw.ptr == '"')
        *ret_text = mrg_jsontext_string(arena, raw);
    else
        *ret_text = (struct mrg_slice){mrg_arena_memdup(arena, raw.ptr, raw.len), raw.len};
    return MRG_ERR_OK;
}

struct mrg_slice mrg_jsontext_lower(struct mrg_arena *arena, struct mrg_slice text)
{
    char *lower = mrg_arena_memdup(arena, text.ptr, text.len);
    for (size_t i = 0; i < text.len; i++) {
        if (lower[i] >= 'A' && lower[i] <= 'Z')
            lower[i] = (char)(lower[i] + ('a' - 'A'));
    }
    return (struct mrg_slice){lower, text.len};
}

struct mrg_slice mrg_jsontext_minified(struct mrg_arena *arena, struct mrg_slice raw)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, raw.len);
    mrg_json_minify(&buf, raw);
    return mrg_arena_take_buf(arena, &buf);
}

static enum mrg_err one_pair(struct mrg_arena *arena, const char *what, struct mrg_slice name,
                             struct mrg_slice raw, mrg_jsontext_pair_fn fn, void *ctx, struct mrg_error *err)
{
    struct mrg_slice value = {NULL, 0};
    enum mrg_err code = read_scalar(arena, what, raw, &value, err);
    return code ? code : fn(ctx, name, value, err);
}

enum mrg_err mrg_jsontext_pairs(struct mrg_arena *arena, const char *what, struct mrg_slice object,
                                mrg_jsontext_pair_fn fn, void *ctx, struct mrg_error *err)
{
    if (*object.ptr != '{')
        return mrg_jsontext_expected(err, what, object, "an object of strings");
    size_t cursor = 0;
    struct mrg_slice key, raw, item;
    enum mrg_err code = MRG_ERR_OK;
    while (!code && mrg_json_next(object, &cursor, &key, &raw)) {
        struct mrg_slice name = mrg_jsontext_string(arena, (struct mrg_slice){key.ptr - 1, key.len + 2});
        const char *where = mrg_arena_printf(arena, "%.*s of %s", (int)key.len + 2, key.ptr - 1, what);
        if (*raw.ptr != '[') {
            code = one_pair(arena, where, name, raw, fn, ctx, err);
            continue;
        }
        size_t items = 0;
        while (!code && mrg_json_next_item(raw, &items, &item))
            code = one_pair(arena, where, name, item, fn, ctx, err);
    }
    return code;
}
