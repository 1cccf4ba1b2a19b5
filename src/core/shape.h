// SPDX-License-Identifier: Apache-2.0
/*
 * Shape: what is known of the form of a dependency's requests, beyond the bytes: today its protobuf schema
 * (wire/schema.h), which is behind this table because core knows no wire.
 *
 * A shape is immutable and lives as long as its dependency. Thread: any.
 */
#pragma once

#include "core/request.h"
#include "util/hash.h"

struct mrg_shape;

struct mrg_shape_ops {
    void (*free)(struct mrg_shape *shape);
    /*
     * The request as it counts in a comparison: fields without presence that have their default are left out
     * of body and query, because a protobuf message cannot tell them from absent ones. `request` itself when
     * it has none or is of no known route; else a copy in *arena, which is made when it is NULL (the caller
     * frees it). The normal form of one message has the same canonical form whichever wire it came by.
     */
    const struct mrg_request *(*canonical)(const struct mrg_shape *shape, struct mrg_arena **arena,
                                           const struct mrg_request *request);
    /* The same for two shapes whose canonical forms are alike for every request. */
    struct mrg_hash128 (*identity)(const struct mrg_shape *shape);
};

/* First member of the schema's own struct. */
struct mrg_shape {
    const struct mrg_shape_ops *ops;
};
