// SPDX-License-Identifier: Apache-2.0
#include "core/place.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Seeds keep a start and a step from ever being the same text. */
#define SEED_SCENARIO 1
#define SEED_STEP     2

/* Places are written into files that other machines read: the bytes hashed are little-endian everywhere. */
mrg_place mrg_place_start(const char *dependency, const char *scenario)
{
    uint64_t context = 0;
    if (scenario && *scenario)
        context = mrg_hash64(scenario, strlen(scenario), SEED_SCENARIO);
    return mrg_hash64(dependency, strlen(dependency), context);
}

mrg_place mrg_place_after(mrg_place place, struct mrg_hash128 request_key, int status)
{
    uint64_t step[4] = {htole64(place), htole64(request_key.low), htole64(request_key.high),
                        htole64((uint64_t)status)};
    return mrg_hash64(step, sizeof(step), SEED_STEP);
}

void mrg_place_text(mrg_place place, char ret_text[MRG_PLACE_TEXT + 1])
{
    snprintf(ret_text, MRG_PLACE_TEXT + 1, "%016" PRIx64, place);
}
