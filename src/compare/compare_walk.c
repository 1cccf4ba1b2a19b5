// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare_int.h"
#include "core/limits.h"
#include "util/json.h"

#define SHOWN 120u /* bytes of a value in a finding */

void mrg_walk_tell(struct mrg_walk *walk, enum mrg_stage stage, enum mrg_verdict verdict, const char *format,
                   ...)
{
    va_list args;
    char *text = NULL;
    if (!walk->quiet) {
        walk->gate |= stage == MRG_STAGE_GATE;
        if (verdict > walk->worst)
            walk->worst = verdict;
    }
    if (walk->quiet || walk->count >= MRG_MAX_FINDINGS) {
        walk->count++;
        return;
    }
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = mrg_strdup("differs");
    va_end(args);
    mrg_grow((void **)&walk->findings, &walk->room, walk->count, sizeof(*walk->findings));
    walk->findings[walk->count++] = (struct mrg_finding){
        .stage = stage,
        .verdict = verdict,
        .path = mrg_arena_memdup(walk->arena, walk->path.data ? walk->path.data : "", walk->path.len),
        .text = mrg_arena_strdup(walk->arena, text),
    };
    free(text);
}

size_t mrg_walk_enter(struct mrg_walk *walk, const char *name)
{
    size_t length = walk->path.len;
    size_t plain = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    if (length == 0)
        mrg_buf_append_str(&walk->path, name);
    else if (plain > 0 && !name[plain])
        mrg_buf_appendf(&walk->path, ".%s", name);
    else
        mrg_buf_appendf(&walk->path, "['%s']", name);
    return length;
}

void mrg_walk_leave(struct mrg_walk *walk, size_t length)
{
    walk->path.len = length;
    walk->path.data[length] = '\0';
}

const char *mrg_shown(struct mrg_arena *arena, struct json_object *node)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_json_append_tree(&buf, node);
    size_t len = buf.len;
    /* Not within a character. */
    if (len > SHOWN)
        for (len = SHOWN; len > 0 && ((unsigned char)buf.data[len] & 0xc0) == 0x80; len--)
            ;
    const char *text = mrg_arena_printf(arena, "%.*s%s", (int)len, buf.data, len < buf.len ? "…" : "");
    mrg_buf_done(&buf);
    return text;
}

const char *mrg_shown_text(struct mrg_arena *arena, const char *text)
{
    struct json_object *node = json_object_new_string(text);
    const char *shown = mrg_shown(arena, node);
    json_object_put(node);
    return shown;
}

/* How a number is spelled, or what a string holds. */
static const char *leaf_text(struct mrg_arena *arena, struct json_object *node)
{
    struct mrg_buf buf;
    if (json_object_is_type(node, json_type_string))
        return json_object_get_string(node);
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_json_append_tree(&buf, node);
    const char *text = mrg_arena_memdup(arena, buf.data, buf.len);
    mrg_buf_done(&buf);
    return text;
}

/* Services tell integers from fractions, and json-c makes doubles of the integers that it cannot hold. */
static const char *kind_of(struct json_object *node)
{
    switch (json_object_get_type(node)) {
    case json_type_null:
        return "null";
    case json_type_boolean:
        return "boolean";
    case json_type_int:
        return "integer";
    case json_type_double:
        return strpbrk(json_object_get_string(node), ".eE") ? "fraction" : "integer";
    case json_type_string:
        return "string";
    case json_type_array:
        return "array";
    case json_type_object:
        break;
    }
    return "object";
}

static int by_node(const void *a, const void *b)
{
    const struct mrg_marked *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

static const struct mrg_marked *mark_of(const struct mrg_walk *walk, struct json_object *node)
{
    struct mrg_marked key = {.node = node};
    if (!node || walk->marks.count == 0)
        return NULL;
    return bsearch(&key, walk->marks.items, walk->marks.count, sizeof(key), by_node);
}

static void compare_members(struct mrg_walk *walk, struct json_object *real, struct json_object *simulated)
{
    json_object_object_foreach (real, key, value) {
        struct json_object *other = NULL;
        size_t length = mrg_walk_enter(walk, key);
        if (json_object_object_get_ex(simulated, key, &other))
            mrg_compare_trees(walk, key, value, other);
        else
            mrg_walk_tell(walk, MRG_STAGE_GATE, MRG_VERDICT_DIFFERENT, "missing");
        mrg_walk_leave(walk, length);
    }
    json_object_object_foreach (simulated, name, extra) {
        (void)extra;
        if (json_object_object_get_ex(real, name, NULL))
            continue;
        size_t length = mrg_walk_enter(walk, name);
        mrg_walk_tell(walk, MRG_STAGE_GATE, MRG_VERDICT_DIFFERENT, "not expected");
        mrg_walk_leave(walk, length);
    }
}

static void compare_item(struct mrg_walk *walk, const char *name, struct json_object *real, size_t i,
                         struct json_object *simulated, size_t j)
{
    size_t length = walk->path.len;
    mrg_buf_appendf(&walk->path, "[%zu]", i);
    mrg_compare_trees(walk, name, json_object_array_get_idx(real, i),
                      json_object_array_get_idx(simulated, j));
    mrg_walk_leave(walk, length);
}

static bool items_agree(struct mrg_walk *walk, const char *name, struct json_object *real, size_t i,
                        struct json_object *simulated, size_t j)
{
    bool quiet = walk->quiet;
    size_t before = walk->count;
    walk->quiet = true;
    compare_item(walk, name, real, i, simulated, j);
    walk->quiet = quiet;
    bool agree = walk->count == before;
    walk->count = before;
    return agree;
}

/* Each real item takes the first simulated one that agrees with it and is free; those left over are compared in order. */
static void compare_set(struct mrg_walk *walk, const char *name, struct json_object *real,
                        struct json_object *simulated, size_t count)
{
    bool *taken = mrg_zalloc(count * sizeof(*taken) + 1);
    size_t *partner = mrg_malloc(count * sizeof(*partner) + 1);
    for (size_t i = 0; i < count; i++) {
        partner[i] = count;
        for (size_t j = 0; j < count && partner[i] == count; j++)
            if (!taken[j] && items_agree(walk, name, real, i, simulated, j))
                partner[i] = j;
        if (partner[i] == count)
            continue;
        taken[partner[i]] = true;
        compare_item(walk, name, real, i, simulated, partner[i]);
    }
    for (size_t i = 0, j = 0; i < count; i++) {
        if (partner[i] < count)
            continue;
        while (taken[j])
            j++;
        compare_item(walk, name, real, i, simulated, j++);
    }
    free(taken);
    free(partner);
}

static void compare_arrays(struct mrg_walk *walk, const char *name, struct json_object *real,
                           struct json_object *simulated)
{
    size_t a = json_object_array_length(real);
    size_t b = json_object_array_length(simulated);
    const struct mrg_marked *mark = mark_of(walk, real);
    if (a != b)
        mrg_walk_tell(walk, MRG_STAGE_GATE, MRG_VERDICT_DIFFERENT, "%zu items became %zu", a, b);
    if (a == b && mark && !mark->rule && a <= MRG_MAX_SET_ITEMS) {
        compare_set(walk, name, real, simulated, a);
        return;
    }
    for (size_t i = 0; i < a && i < b; i++)
        compare_item(walk, name, real, i, simulated, i);
}

static bool same_number(const char *real, const char *simulated)
{
    struct mrg_hash128 a = mrg_json_hash(mrg_slice_of(real));
    struct mrg_hash128 b = mrg_json_hash(mrg_slice_of(simulated));
    return a.low == b.low && a.high == b.high;
}

static void compare_leaves(struct mrg_walk *walk, const char *name, struct json_object *real,
                           struct json_object *simulated)
{
    const char *a = leaf_text(walk->arena, real), *b = leaf_text(walk->arena, simulated);
    const struct mrg_marked *mark = mark_of(walk, real);
    if (mark && mark->rule)
        mrg_compare_dynamic(walk, mark->rule, a, b);
    else if (json_object_is_type(real, json_type_string))
        mrg_compare_texts(walk, name, a, b);
    else if (!same_number(a, b))
        mrg_walk_tell(walk, MRG_STAGE_ORACLE, MRG_VERDICT_DIFFERENT, "%s became %s",
                      mrg_shown(walk->arena, real), mrg_shown(walk->arena, simulated));
}

void mrg_compare_trees(struct mrg_walk *walk, const char *name, struct json_object *real,
                       struct json_object *simulated)
{
    const char *kind = kind_of(real), *other = kind_of(simulated);
    if (strcmp(kind, other) != 0) {
        mrg_walk_tell(walk, MRG_STAGE_GATE, MRG_VERDICT_DIFFERENT, "%s (%s) became %s (%s)",
                      mrg_shown(walk->arena, real), kind, mrg_shown(walk->arena, simulated), other);
        return;
    }
    if (json_object_is_type(real, json_type_object))
        compare_members(walk, real, simulated);
    else if (json_object_is_type(real, json_type_array))
        compare_arrays(walk, name, real, simulated);
    else if (real)
        compare_leaves(walk, name, real, simulated);
}
