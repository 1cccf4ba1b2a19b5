// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/match_int.h"

#define FAR_LEAF 10u

static void push_name(struct mrg_buf *path, const char *name)
{
    size_t plain = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    if (plain > 0 && name[plain] == '\0')
        mrg_buf_appendf(path, ".%s", name);
    else
        mrg_buf_appendf(path, "['%s']", name);
}

static void pop_to(struct mrg_buf *path, size_t len)
{
    path->len = len;
    path->data[len] = '\0';
}

static void diff_node(struct mrg_diff *diff, bool has_here, struct json_object *here, bool has_recorded,
                      struct json_object *recorded);

static void diff_objects(struct mrg_diff *diff, struct json_object *here, struct json_object *recorded)
{
    size_t len = diff->path.len;
    json_object_object_foreach (here, key, value) {
        struct json_object *other = NULL;
        bool has = json_object_object_get_ex(recorded, key, &other);
        push_name(&diff->path, key);
        diff_node(diff, true, value, has, other);
        pop_to(&diff->path, len);
    }
    json_object_object_foreach (recorded, name, only) {
        if (json_object_object_get_ex(here, name, NULL))
            continue;
        push_name(&diff->path, name);
        diff_node(diff, false, NULL, true, only);
        pop_to(&diff->path, len);
    }
}

static void diff_arrays(struct mrg_diff *diff, struct json_object *here, struct json_object *recorded)
{
    size_t len = diff->path.len;
    size_t a = json_object_array_length(here);
    size_t b = json_object_array_length(recorded);
    for (size_t i = 0; i < a || i < b; i++) {
        mrg_buf_appendf(&diff->path, "[%zu]", i);
        diff_node(diff, i < a, i < a ? json_object_array_get_idx(here, i) : NULL, i < b,
                  i < b ? json_object_array_get_idx(recorded, i) : NULL);
        pop_to(&diff->path, len);
    }
}

static struct mrg_slice string_of(struct json_object *node)
{
    return (struct mrg_slice){json_object_get_string(node), (size_t)json_object_get_string_len(node)};
}

static bool same_text(struct mrg_slice a, struct mrg_slice b)
{
    struct mrg_hash128 x = mrg_json_hash(a);
    struct mrg_hash128 y = mrg_json_hash(b);
    return x.low == y.low && x.high == y.high;
}

/* Only numbers that are spelled in different ways need their text. */
static bool same_leaf(struct json_object *here, struct json_object *recorded)
{
    enum json_type type = json_object_get_type(here);
    if (type != json_object_get_type(recorded))
        return false;
    if (type == json_type_null)
        return true;
    if (type == json_type_boolean)
        return json_object_get_boolean(here) == json_object_get_boolean(recorded);
    if (type == json_type_string)
        return mrg_slice_eq(string_of(here), string_of(recorded));
    if (type == json_type_int)
        return json_object_get_int64(here) == json_object_get_int64(recorded) &&
               json_object_get_uint64(here) == json_object_get_uint64(recorded);
    struct mrg_buf a, b;
    mrg_buf_init(&a, SIZE_MAX);
    mrg_buf_init(&b, SIZE_MAX);
    mrg_json_append_tree(&a, here);
    mrg_json_append_tree(&b, recorded);
    bool same = same_text(mrg_buf_slice(&a), mrg_buf_slice(&b));
    mrg_buf_done(&a);
    mrg_buf_done(&b);
    return same;
}

static void tell_node(struct mrg_diff *diff, bool has_here, struct json_object *here, bool has_recorded,
                      struct json_object *recorded)
{
    struct mrg_buf a, b;
    mrg_buf_init(&a, SIZE_MAX);
    mrg_buf_init(&b, SIZE_MAX);
    if (has_here && !diff->told)
        mrg_json_append_tree(&a, here);
    if (has_recorded && !diff->told)
        mrg_json_append_tree(&b, recorded);
    mrg_diff_tell(diff, FAR_LEAF, mrg_buf_slice(&diff->path),
                  (struct mrg_slice){has_here ? a.data : NULL, a.len},
                  (struct mrg_slice){has_recorded ? b.data : NULL, b.len});
    mrg_buf_done(&a);
    mrg_buf_done(&b);
}

/* `has` tells JSON's null, which is NULL too, from a value that is not there. */
static void diff_node(struct mrg_diff *diff, bool has_here, struct json_object *here, bool has_recorded,
                      struct json_object *recorded)
{
    bool both = has_here && has_recorded;
    enum json_type type = both ? json_object_get_type(here) : json_type_null;
    bool alike = both && type == json_object_get_type(recorded);
    if (alike && type == json_type_object)
        diff_objects(diff, here, recorded);
    else if (alike && type == json_type_array)
        diff_arrays(diff, here, recorded);
    else if (!alike || !same_leaf(here, recorded))
        tell_node(diff, has_here, here, has_recorded, recorded);
}

void mrg_diff_trees(struct mrg_diff *diff, struct json_object *here, struct json_object *recorded)
{
    mrg_buf_clear(&diff->path);
    mrg_buf_append_str(&diff->path, "body.$");
    diff_node(diff, true, here, true, recorded);
}
