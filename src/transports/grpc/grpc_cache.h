// SPDX-License-Identifier: Apache-2.0
/*
 * Prepared messages: a reply that is sent again and again (a replayed one) is made into protobuf once.
 *
 * A small direct-mapped table, one for each queue's thread and used by it alone. The key is the reply's text, and the method
 * within a configuration; an entry holds a reference of text and configuration, so that no others can have their addresses.
 */
#pragma once

#include <grpc/slice.h>
#include <stdbool.h>

#include "core/config.h"
#include "core/limits.h"
#include "util/text.h"
#include "wire/schema.h"

struct rpc_prepared {
    struct mrg_text *text;           /* a reference; NULL: free */
    struct mrg_config *config;       /* a reference; the method's schema is one of its dependencies' */
    const struct mrg_method *method; /* borrowed, compared only */
    grpc_slice message;
};

struct rpc_cache {
    struct rpc_prepared slots[MRG_REPLY_CACHE_SLOTS];
};

void rpc_cache_init(struct rpc_cache *cache);
void rpc_cache_done(struct rpc_cache *cache);

/* The message, a reference for the caller; false when it is not there. */
bool rpc_cache_find(struct rpc_cache *cache, const struct mrg_text *text, const struct mrg_config *config,
                    const struct mrg_method *method, grpc_slice *ret_message);
/* Keeps one, unless it is too large. Takes references of its own. */
void rpc_cache_keep(struct rpc_cache *cache, struct mrg_text *text, struct mrg_config *config,
                    const struct mrg_method *method, grpc_slice message);
