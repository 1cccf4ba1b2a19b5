// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes through util/json: what passes the check must mean the same minified, parsed and written again, and
 * json-c must take it too.
 */
#include <string.h>

#include "util/json.h"

#define MOST (64u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_value(struct mrg_slice a, struct mrg_slice b)
{
    struct mrg_hash128 x = mrg_json_hash(a);
    struct mrg_hash128 y = mrg_json_hash(b);
    return x.low == y.low && x.high == y.high;
}

static void try_minify(struct mrg_slice text)
{
    struct mrg_buf once, twice;
    mrg_buf_init(&once, MOST);
    mrg_buf_init(&twice, MOST);
    mrg_json_minify(&once, text);
    MRG_ASSERT(once.len > 0 && once.len <= text.len);
    MRG_ASSERT(mrg_json_check(mrg_buf_slice(&once), NULL) == MRG_ERR_OK);
    MRG_ASSERT(same_value(text, mrg_buf_slice(&once)));
    mrg_json_minify(&twice, mrg_buf_slice(&once));
    MRG_ASSERT(mrg_slice_eq(mrg_buf_slice(&once), mrg_buf_slice(&twice)));
    mrg_buf_done(&once);
    mrg_buf_done(&twice);
}

static void try_parse(struct mrg_slice text)
{
    struct mrg_buf written;
    struct json_object *tree = NULL;
    struct mrg_error err;
    enum mrg_err code = mrg_json_parse(text, &tree, &err);
    MRG_ASSERT(code == MRG_ERR_OK || code == MRG_ERR_UNSUPPORTED);
    if (code)
        return;
    mrg_buf_init(&written, 8u * MOST);
    mrg_json_append_tree(&written, tree);
    MRG_ASSERT(mrg_json_check(mrg_buf_slice(&written), NULL) == MRG_ERR_OK);
    MRG_ASSERT(same_value(text, mrg_buf_slice(&written)));
    json_object_put(tree);
    mrg_buf_done(&written);
}

static void try_json_c(struct mrg_slice text)
{
    _cleanup_free_ char *copy = mrg_malloc(text.len + 1);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    struct json_tokener *tokener = json_tokener_new_ex(MRG_JSON_DEPTH + 2);
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *tree = json_tokener_parse_ex(tokener, copy, (int)text.len + 1);
    MRG_ASSERT(json_tokener_get_error(tokener) == json_tokener_success);
    json_object_put(tree);
    json_tokener_free(tokener);
}

static void try_walk(struct mrg_slice text)
{
    struct mrg_slice key, value, again;
    struct mrg_buf name;
    size_t cursor = 0;
    mrg_buf_init(&name, MOST);
    while (mrg_json_next(text, &cursor, &key, &value)) {
        MRG_ASSERT(mrg_json_check(value, NULL) == MRG_ERR_OK);
        mrg_buf_clear(&name);
        mrg_json_unescape(&name, (struct mrg_slice){key.ptr - 1, key.len + 2});
        const char *content = mrg_buf_slice(&name).ptr;
        if (strlen(content) == name.len)
            MRG_ASSERT(mrg_json_member(text, content, &again) && again.ptr == value.ptr &&
                       again.len == value.len);
        try_walk(value);
    }
    cursor = 0;
    while (mrg_json_next_item(text, &cursor, &value)) {
        MRG_ASSERT(mrg_json_check(value, NULL) == MRG_ERR_OK);
        try_walk(value);
    }
    mrg_buf_done(&name);
}

/* Any bytes at all become a string that reads back. */
static void try_string(struct mrg_slice bytes)
{
    struct mrg_buf string, content, again;
    mrg_buf_init(&string, 8u * MOST);
    mrg_buf_init(&content, 8u * MOST);
    mrg_buf_init(&again, 8u * MOST);
    mrg_json_append_string(&string, bytes);
    MRG_ASSERT(mrg_json_check(mrg_buf_slice(&string), NULL) == MRG_ERR_OK);
    mrg_json_unescape(&content, mrg_buf_slice(&string));
    mrg_json_append_string(&again, mrg_buf_slice(&content));
    MRG_ASSERT(mrg_slice_eq(mrg_buf_slice(&string), mrg_buf_slice(&again)));
    mrg_buf_done(&string);
    mrg_buf_done(&content);
    mrg_buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mrg_slice text = {(const char *)data, size};
    struct mrg_error err;
    if (size > MOST)
        return 0;
    try_string(text);
    if (mrg_json_check(text, &err)) {
        MRG_ASSERT(strncmp(err.message, "line ", 5) == 0);
        return 0;
    }
    try_minify(text);
    try_parse(text);
    try_json_c(text);
    try_walk(text);
    return 0;
}
