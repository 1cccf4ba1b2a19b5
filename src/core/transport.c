// SPDX-License-Identifier: Apache-2.0
#include "core/transport.h"

#include "util/alloc.h"

struct mrg_door *mrg_door_new(enum mrg_door_kind kind, const char *dependency, const char *session)
{
    struct mrg_door *door = mrg_zalloc(sizeof(*door));
    atomic_init(&door->refs, 1);
    door->kind = kind;
    door->dependency = dependency ? mrg_strdup(dependency) : NULL;
    door->session = session ? mrg_strdup(session) : NULL;
    return door;
}

struct mrg_door *mrg_door_ref(struct mrg_door *door)
{
    atomic_fetch_add_explicit(&door->refs, 1, memory_order_relaxed);
    return door;
}

void mrg_door_unref(struct mrg_door *door)
{
    if (!door || atomic_fetch_sub_explicit(&door->refs, 1, memory_order_acq_rel) != 1)
        return;
    free(door->dependency);
    free(door->session);
    free(door->address);
    free(door);
}
