// SPDX-License-Identifier: Apache-2.0
/*
 * Parts: all that is known of one dependency, read and not yet in words. Belongs to the loading of one
 * mrg_evidence.
 */
#pragma once

#include "evidence/drops.h"
#include "evidence/endpoints.h"
#include "evidence/examples.h"
#include "evidence/files.h"

struct mrg_parts {
    const char *name; /* of the dependency; borrowed */
    enum mrg_use use; /* resolved; ALL only when there is nothing at all */
    bool paper;       /* preset: paper */
    bool grpc;        /* its protobuf messages are known: it may be called over gRPC */
    struct mrg_files source;
    struct mrg_files caller;
    struct mrg_files schema;
    struct mrg_files trace_files;   /* not loaded: endpoints are what is shown of them */
    struct mrg_files example_files; /* not loaded: likewise */
    struct mrg_endpoints endpoints;
    struct mrg_examples examples;
    struct mrg_drops drops;
};

/* Files that are shown. */
size_t mrg_parts_kept(const struct mrg_files *files);

void mrg_parts_done(struct mrg_parts *parts);
