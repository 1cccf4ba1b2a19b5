// SPDX-License-Identifier: Apache-2.0
/*
 * Provenance: where a model's reply came from. The engine that asked a model leaves it in
 * exchange->engine_data, in the exchange's arena; the recorder writes it down. Thread: whoever has the turn.
 */
#pragma once

#include <stdint.h>

#include "util/hash.h"

struct mrg_provenance {
    const char *model;                    /* as the provider says it */
    const char *id;                       /* the provider's response id; "" when it gave none */
    char prompt_hash[MRG_SHA256_HEX + 1]; /* SHA-256 of the conversation as sent */
    char text_hash[MRG_SHA256_HEX + 1];   /* SHA-256 of the provider's text */
    uint64_t tokens_in;                   /* of the prompt, cached ones included */
    uint64_t tokens_cached;
    uint64_t tokens_out;
    uint64_t ms; /* from the first attempt to the reply */
};
