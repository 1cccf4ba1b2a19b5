// SPDX-License-Identifier: Apache-2.0
#include "transports/http/http_cache.h"

#include <stdint.h>

void http_cache_init(struct http_cache *cache)
{
    pthread_mutex_init(&cache->lock, NULL);
    for (size_t i = 0; i < MRG_REPLY_CACHE_SLOTS; i++)
        cache->slots[i] = (struct http_prepared){0};
}

static void drop(struct http_prepared *one)
{
    if (!one->text)
        return;
    MHD_destroy_response(one->response);
    mrg_text_unref(one->text);
    *one = (struct http_prepared){0};
}

void http_cache_done(struct http_cache *cache)
{
    for (size_t i = 0; i < MRG_REPLY_CACHE_SLOTS; i++)
        drop(&cache->slots[i]);
    pthread_mutex_destroy(&cache->lock);
}

/* Texts come from the heap: their low bits are the same for all. */
static struct http_prepared *slot_of(struct http_cache *cache, const struct mrg_text *text)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)text >> 4) * 0x9E3779B97F4A7C15u;
    return &cache->slots[(mixed >> 32) % MRG_REPLY_CACHE_SLOTS];
}

bool http_cache_queue(struct http_cache *cache, struct MHD_Connection *connection,
                      const struct mrg_text *text, bool shows, enum MHD_Result *ret_result)
{
    pthread_mutex_lock(&cache->lock);
    struct http_prepared *one = slot_of(cache, text);
    bool there = one->text == text && one->shows == shows;
    if (there)
        *ret_result = MHD_queue_response(connection, one->status, one->response);
    pthread_mutex_unlock(&cache->lock);
    return there;
}

void http_cache_keep(struct http_cache *cache, struct mrg_text *text, bool shows, unsigned status,
                     struct MHD_Response *response)
{
    pthread_mutex_lock(&cache->lock);
    struct http_prepared *one = slot_of(cache, text);
    drop(one);
    *one = (struct http_prepared){mrg_text_ref(text), response, status, shows};
    pthread_mutex_unlock(&cache->lock);
}
