// SPDX-License-Identifier: Apache-2.0
#include "evidence/drops.h"

#include <stdarg.h>
#include <stdio.h>

static void push(struct mrg_drops *drops, char *what, char *why)
{
    mrg_grow((void **)&drops->items, &drops->capacity, drops->count, sizeof(*drops->items));
    drops->items[drops->count++] = (struct mrg_dropped){.what = what, .why = why};
}

void mrg_drops_add(struct mrg_drops *drops, const char *part, const char *name, const char *why, ...)
{
    if (drops->count >= MRG_MAX_DROPS) {
        drops->more++;
        return;
    }
    char reason[512];
    va_list args;
    va_start(args, why);
    vsnprintf(reason, sizeof(reason), why, args);
    va_end(args);
    push(drops, mrg_asprintf("%s%s%s", part, *name ? " " : "", name), mrg_strdup(reason));
}

void mrg_drops_close(struct mrg_drops *drops)
{
    if (drops->more > 0)
        push(drops, mrg_asprintf("%zu more", drops->more), mrg_strdup("not listed one by one"));
    drops->more = 0;
}

void mrg_drops_done(struct mrg_drops *drops)
{
    for (size_t i = 0; i < drops->count; i++) {
        free(drops->items[i].what);
        free(drops->items[i].why);
    }
    free(drops->items);
    *drops = (struct mrg_drops){0};
}
