// SPDX-License-Identifier: Apache-2.0
/*
 * gRPC client, innermost: the C core's objects, shared by the files that work with them (grpc_channel.c,
 * grpc_metadata.c, grpc_rpc.c); the rest of the client sees grpc_int.h only. Thread: one at a time for each
 * channel.
 */
#pragma once

#include <grpc/grpc.h>

#include "clients/grpc_int.h"

struct mrg_grpc_channel {
    grpc_channel *channel;
    grpc_completion_queue *queue; /* plucked: the thread that calls waits for its own tags */
    char *address;                /* host:port */
};

gpr_timespec mrg_grpc_at(uint64_t until_ms); /* a time of mrg_clock_ms */
/* Waits for a batch; false when it failed. */
bool mrg_grpc_pluck(struct mrg_grpc_channel *channel, void *tag);
/* Waits until there is a connection or a reason why there is none, which a call then tells. UNAVAILABLE: neither
 * came in time. */
enum mrg_err mrg_grpc_connect(struct mrg_grpc_channel *channel, uint64_t until_ms, struct mrg_error *err);

/* Borrowed, for as long as the slice stays. */
static inline struct mrg_slice mrg_grpc_text(const grpc_slice *slice)
{
    return (struct mrg_slice){(const char *)GRPC_SLICE_START_PTR(*slice), GRPC_SLICE_LENGTH(*slice)};
}

/* The request's headers that can be metadata, *ret_count of them, for mrg_grpc_metadata_free. INVALID names one that
 * cannot. */
enum mrg_err mrg_grpc_metadata_make(const struct mrg_grpc_request *request, struct mrg_arena *arena,
                                    grpc_metadata **ret_items, size_t *ret_count, struct mrg_error *err);
void mrg_grpc_metadata_free(grpc_metadata *items, size_t count);
/* Copies metadata as headers, `-bin` values in base64. */
void mrg_grpc_metadata_read(struct mrg_arena *arena, const grpc_metadata_array *array,
                            struct mrg_header **ret_headers, size_t *ret_count);

grpc_byte_buffer *mrg_grpc_pack(struct mrg_slice message);
/* Appends the bytes and destroys the buffer (NULL: nothing came); false when they cannot be read. */
bool mrg_grpc_unpack(grpc_byte_buffer *buffer, struct mrg_buf *bytes);
