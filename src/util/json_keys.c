// SPDX-License-Identifier: Apache-2.0
#include "util/json_int.h"

#define FEW 16u /* an object's keys are compared one by one up to here, and sorted once beyond */

void mrg_json_keys_init(struct mrg_json_keys *keys)
{
    keys->items = keys->small;
    keys->count = 0;
    keys->capacity = MRG_ARRAY_LEN(keys->small);
}

void mrg_json_keys_done(struct mrg_json_keys *keys)
{
    if (keys->items != keys->small)
        free(keys->items);
}

static struct mrg_json_key *next_item(struct mrg_json_keys *keys)
{
    if (keys->count == keys->capacity) {
        bool moved = keys->items == keys->small;
        void *items = moved ? NULL : keys->items;
        mrg_grow(&items, &keys->capacity, keys->count, sizeof(*keys->items));
        if (moved)
            memcpy(items, keys->small, sizeof(keys->small));
        keys->items = items;
    }
    return &keys->items[keys->count++];
}

static int compare_content(const struct mrg_json_key *a, const struct mrg_json_key *b)
{
    struct mrg_json_content x, y;
    mrg_json_content_init(&x, (struct mrg_slice){a->raw, a->len}, a->escaped);
    mrg_json_content_init(&y, (struct mrg_slice){b->raw, b->len}, b->escaped);
    size_t len = x.text.len < y.text.len ? x.text.len : y.text.len;
    int order = len > 0 ? memcmp(x.text.ptr, y.text.ptr, len) : 0;
    if (order == 0)
        order = (x.text.len > y.text.len) - (x.text.len < y.text.len);
    mrg_json_content_done(&x);
    mrg_json_content_done(&y);
    return order;
}

bool mrg_json_keys_add(struct mrg_json_keys *keys, size_t base, struct mrg_slice raw, bool escaped)
{
    struct mrg_json_key key = {.raw = raw.ptr, .len = raw.len, .escaped = escaped};
    if (escaped) {
        struct mrg_json_content content;
        mrg_json_content_init(&content, raw, true);
        key.hash = mrg_hash64(content.text.ptr, content.text.len, 0);
        mrg_json_content_done(&content);
    } else {
        key.hash = mrg_hash64(raw.ptr, raw.len, 0);
    }
    if (keys->count - base < FEW) {
        for (size_t i = base; i < keys->count; i++) {
            if (keys->items[i].hash == key.hash && compare_content(&keys->items[i], &key) == 0)
                return false;
        }
    }
    *next_item(keys) = key;
    return true;
}

/* By content where hashes are equal, so that keys made to collide cost no more than others. */
static int compare_keys(const void *left, const void *right)
{
    const struct mrg_json_key *a = left;
    const struct mrg_json_key *b = right;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    int order = compare_content(a, b);
    return order ? order : (a->raw > b->raw) - (a->raw < b->raw);
}

bool mrg_json_keys_close(struct mrg_json_keys *keys, size_t base, struct mrg_slice *ret_twice)
{
    struct mrg_json_key *items = keys->items + base;
    size_t count = keys->count - base;
    keys->count = base;
    if (count <= FEW)
        return false;
    qsort(items, count, sizeof(*items), compare_keys);
    const struct mrg_json_key *twice = NULL;
    for (size_t i = 1; i < count; i++) {
        if (items[i].hash == items[i - 1].hash && compare_content(&items[i], &items[i - 1]) == 0 &&
            (!twice || items[i].raw < twice->raw))
            twice = &items[i];
    }
    if (twice)
        *ret_twice = (struct mrg_slice){twice->raw, twice->len};
    return twice != NULL;
}
