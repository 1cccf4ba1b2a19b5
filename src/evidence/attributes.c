// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "evidence/span.h"

#define MAX_VALUE 8192u /* bytes of a value that is looked at; a longer path is no path */

static struct json_object *member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;
    if (json_object_is_type(object, json_type_object))
        json_object_object_get_ex(object, key, &value);
    return value;
}

/* {"stringValue": "x"} and the like, or {"Value": …}; else the value itself. */
static struct json_object *unwrapped(struct json_object *value)
{
    static const char *const kinds[] = {"stringValue", "intValue",     "doubleValue",
                                        "boolValue",   "string_value", "int_value"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(kinds); i++) {
        struct json_object *inner = member(value, kinds[i]);
        if (inner)
            return inner;
    }
    return value;
}

static char *as_text(struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_string:
        if (json_object_get_string_len(value) > (int)MAX_VALUE)
            return NULL;
        return mrg_strdup(json_object_get_string(value));
    case json_type_int:
        return mrg_asprintf("%" PRId64, json_object_get_int64(value));
    case json_type_double:
        return mrg_asprintf("%.0f", json_object_get_double(value));
    default:
        return NULL;
    }
}

/* http.method as one key, or as a member of a member; any mixture of the two. */
static struct json_object *in_map(struct json_object *map, const char *key)
{
    struct json_object *value = member(map, key);
    if (value)
        return value;
    for (const char *dot = strchr(key, '.'); dot; dot = strchr(dot + 1, '.')) {
        _cleanup_free_ char *head = mrg_strndup(key, (size_t)(dot - key));
        value = member(map, head);
        value = value ? in_map(value, dot + 1) : NULL;
        if (value)
            return value;
    }
    return NULL;
}

static struct json_object *in_list(struct json_object *list, const char *key)
{
    size_t count = json_object_array_length(list);
    for (size_t i = 0; i < count; i++) {
        struct json_object *pair = json_object_array_get_idx(list, i);
        struct json_object *name = member(pair, "key");
        if (json_object_is_type(name, json_type_string) && strcmp(json_object_get_string(name), key) == 0)
            return member(pair, "value");
    }
    return NULL;
}

char *mrg_span_attribute(struct json_object *holder, const char *key)
{
    static const char *const places[] = {"attributes", "tags"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(places); i++) {
        struct json_object *place = member(holder, places[i]);
        struct json_object *value = NULL;
        if (json_object_is_type(place, json_type_array))
            value = in_list(place, key);
        else if (place)
            value = in_map(place, key);
        char *text = value ? as_text(unwrapped(value)) : NULL;
        if (text)
            return text;
    }
    struct json_object *own = in_map(holder, key);
    return own ? as_text(unwrapped(own)) : NULL;
}
