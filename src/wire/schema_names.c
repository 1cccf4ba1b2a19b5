// SPDX-License-Identifier: Apache-2.0
#include "wire/schema_int.h"

void mrg_names_done(struct mrg_names *names)
{
    free(names->places);
    *names = (struct mrg_names){0};
}

/* The place of the name, or the free one where it belongs. */
static struct mrg_symbol *place_of(const struct mrg_names *names, uint64_t hash, struct mrg_slice name)
{
    size_t at = hash & (names->room - 1);
    while (names->places[at].name.ptr &&
           !(names->places[at].hash == hash && mrg_slice_eq(names->places[at].name, name)))
        at = (at + 1) & (names->room - 1);
    return &names->places[at];
}

static void grow(struct mrg_names *names)
{
    struct mrg_names more = {.room = names->room > 0 ? names->room * 2 : 64, .count = names->count};
    more.places = mrg_zalloc(more.room * sizeof(*more.places));
    for (size_t i = 0; i < names->room; i++)
        if (names->places[i].name.ptr)
            *place_of(&more, names->places[i].hash, names->places[i].name) = names->places[i];
    free(names->places);
    *names = more;
}

const struct mrg_symbol *mrg_names_add(struct mrg_names *names, struct mrg_symbol symbol)
{
    if (names->count * 2 >= names->room)
        grow(names);
    symbol.hash = mrg_hash64(symbol.name.ptr, symbol.name.len, 0);
    struct mrg_symbol *place = place_of(names, symbol.hash, symbol.name);
    if (place->name.ptr)
        return place;
    *place = symbol;
    names->count++;
    return NULL;
}

const struct mrg_symbol *mrg_names_find(const struct mrg_names *names, struct mrg_slice name)
{
    if (names->count == 0)
        return NULL;
    const struct mrg_symbol *place = place_of(names, mrg_hash64(name.ptr, name.len, 0), name);
    return place->name.ptr ? place : NULL;
}
