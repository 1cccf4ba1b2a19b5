// SPDX-License-Identifier: Apache-2.0
#include "util/jpath.h"

#include <string.h>

#include "util/jpath_int.h"

void mrg_jpath_free(struct mrg_jpath *path)
{
    if (!path)
        return;
    for (size_t i = 0; i < path->count; i++)
        free(path->steps[i].name);
    free(path->steps);
    free(path->name);
    free(path);
}

enum mrg_jpath_part mrg_jpath_part(const struct mrg_jpath *path)
{
    return path->part;
}

const char *mrg_jpath_name(const struct mrg_jpath *path)
{
    return path->name;
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* Stars take any run of bytes; on a mismatch the last one takes one more. */
bool mrg_jpath_match_header(const struct mrg_jpath *path, struct mrg_slice name)
{
    if (path->part != MRG_JPATH_HEADER)
        return false;
    const char *pattern = path->name;
    const char *star = NULL;
    size_t at = 0;
    size_t resume = 0;
    while (at < name.len) {
        if (*pattern == '*') {
            star = pattern++;
            resume = at;
        } else if (*pattern == lower(name.ptr[at])) {
            pattern++;
            at++;
        } else if (star) {
            pattern = star + 1;
            at = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/*
 * A walk: bit i of `at` says that the node is reached by the first i steps; the last bit, that the path names
 * it.
 */
struct walk {
    const struct mrg_jpath *path;
    mrg_jpath_fn fn;
    void *ctx;
    size_t found; /* nodes that fn was called for */
};

static struct json_object *visit(struct walk *w, struct json_object *node, uint64_t at, bool *ret_remove);

static bool step_takes(const struct mrg_jpath_step *step, const char *key, size_t index, size_t length)
{
    if (step->kind == STEP_ANY)
        return true;
    if (key)
        return step->kind == STEP_NAME && strcmp(step->name, key) == 0;
    if (step->kind != STEP_INDEX)
        return false;
    int64_t want = step->index < 0 ? step->index + (int64_t)length : step->index;
    return want >= 0 && (uint64_t)want == index;
}

/* `key` is NULL for an item of an array of `length`. */
static uint64_t child_bits(const struct mrg_jpath *path, uint64_t at, const char *key, size_t index,
                           size_t length)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < path->count; i++) {
        if (!(at >> i & 1))
            continue;
        const struct mrg_jpath_step *step = &path->steps[i];
        if (step->deep)
            bits |= UINT64_C(1) << i;
        if (step_takes(step, key, index, length))
            bits |= UINT64_C(1) << (i + 1);
    }
    return bits;
}

static void walk_object(struct walk *w, struct json_object *object, uint64_t at)
{
    json_object_object_foreach (object, key, child) {
        uint64_t bits = child_bits(w->path, at, key, 0, 0);
        bool removed = false;
        if (!bits)
            continue;
        struct json_object *now = visit(w, child, bits, &removed);
        if (removed)
            json_object_object_del(object, key);
        else if (now != child)
            json_object_object_add(object, key, now);
        else
            json_object_put(now);
    }
}

/* Items that stay move up over those that were dropped, so that dropping many costs no more than one. */
static void walk_array(struct walk *w, struct json_object *array, uint64_t at)
{
    size_t length = json_object_array_length(array);
    size_t kept = 0;
    for (size_t i = 0; i < length; i++) {
        struct json_object *child = json_object_array_get_idx(array, i);
        uint64_t bits = child_bits(w->path, at, NULL, i, length);
        bool removed = false;
        struct json_object *now = bits ? visit(w, child, bits, &removed) : json_object_get(child);
        if (removed)
            continue;
        if (now != child || kept != i)
            json_object_array_put_idx(array, kept, now);
        else
            json_object_put(now);
        kept++;
    }
    if (kept < length)
        json_object_array_del_idx(array, kept, length - kept);
}

/* As deep as the tree, which mrg_json_parse has bounded. Returns a reference of its own. */
static struct json_object *visit(struct walk *w, struct json_object *node, uint64_t at, bool *ret_remove)
{
    uint64_t named = UINT64_C(1) << w->path->count;
    if (at & ~named) {
        if (json_object_is_type(node, json_type_object))
            walk_object(w, node, at);
        else if (json_object_is_type(node, json_type_array))
            walk_array(w, node, at);
    }
    if (!(at & named))
        return json_object_get(node);
    w->found++;
    struct json_object *now = w->fn(w->ctx, node, ret_remove);
    MRG_ASSERT(!*ret_remove || !now);
    return now;
}

size_t mrg_jpath_apply(const struct mrg_jpath *path, struct json_object **tree, mrg_jpath_fn fn, void *ctx)
{
    if (path->part != MRG_JPATH_BODY)
        return 0;
    struct walk w = {.path = path, .fn = fn, .ctx = ctx};
    bool removed = false;
    struct json_object *now = visit(&w, *tree, 1, &removed);
    json_object_put(*tree);
    *tree = now;
    return w.found;
}
