// SPDX-License-Identifier: Apache-2.0
/*
 * Prepared replies: a reply that is sent again and again (a replayed one) is made into the library's form
 * once.
 *
 * A small direct-mapped table, one for each listener; the key is the reply's text, of which an entry holds a
 * reference, so that no other text can have its address, and whether Mirage's own headers are shown. A lock
 * is held for the time of a look-up and a queueing. Thread: any.
 */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>

#include "core/limits.h"
#include "util/text.h"

struct http_cache {
    pthread_mutex_t lock;
    struct http_prepared {
        struct mrg_text *text; /* a reference; NULL: free */
        struct MHD_Response *response;
        unsigned status;
        bool shows; /* with Mirage's own headers */
    } slots[MRG_REPLY_CACHE_SLOTS];
};

void http_cache_init(struct http_cache *cache);
void http_cache_done(struct http_cache *cache);

/* Queues the reply of that text if it is there; *ret_result is the library's answer. */
bool http_cache_queue(struct http_cache *cache, struct MHD_Connection *connection,
                      const struct mrg_text *text, bool shows, enum MHD_Result *ret_result);
/* Keeps a reply that was queued: takes over the caller's reference of `response`. */
void http_cache_keep(struct http_cache *cache, struct mrg_text *text, bool shows, unsigned status,
                     struct MHD_Response *response);
