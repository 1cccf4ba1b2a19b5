// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_cache.h"

#include <stdint.h>

void rpc_cache_init(struct rpc_cache *cache)
{
    for (size_t i = 0; i < MRG_REPLY_CACHE_SLOTS; i++)
        cache->slots[i] = (struct rpc_prepared){.text = NULL};
}

static void drop(struct rpc_prepared *one)
{
    if (!one->text)
        return;
    grpc_slice_unref(one->message);
    mrg_text_unref(one->text);
    mrg_config_unref(one->config);
    one->text = NULL;
}

void rpc_cache_done(struct rpc_cache *cache)
{
    for (size_t i = 0; i < MRG_REPLY_CACHE_SLOTS; i++)
        drop(&cache->slots[i]);
}

/* Texts come from the heap: their low bits are the same for all. */
static struct rpc_prepared *slot_of(struct rpc_cache *cache, const struct mrg_text *text)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)text >> 4) * 0x9E3779B97F4A7C15u;
    return &cache->slots[(mixed >> 32) % MRG_REPLY_CACHE_SLOTS];
}

bool rpc_cache_find(struct rpc_cache *cache, const struct mrg_text *text, const struct mrg_config *config,
                    const struct mrg_method *method, grpc_slice *ret_message)
{
    const struct rpc_prepared *one = slot_of(cache, text);
    if (one->text != text || one->config != config || one->method != method)
        return false;
    *ret_message = grpc_slice_ref(one->message);
    return true;
}

void rpc_cache_keep(struct rpc_cache *cache, struct mrg_text *text, struct mrg_config *config,
                    const struct mrg_method *method, grpc_slice message)
{
    if (GRPC_SLICE_LENGTH(message) > MRG_REPLY_CACHE_BYTES)
        return;
    struct rpc_prepared *one = slot_of(cache, text);
    drop(one);
    *one = (struct rpc_prepared){mrg_text_ref(text), mrg_config_ref(config), method, grpc_slice_ref(message)};
}
