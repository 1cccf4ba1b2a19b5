// SPDX-License-Identifier: Apache-2.0
/*
 * Messages that came compressed. The library would inflate them whole before it looks at their size, so that some
 * hundred kilobytes could ask for gigabytes: here it ends at the limit.
 */
#include <zlib.h>

#include "transports/grpc/grpc_int.h"

#define EITHER_HEADER (15 + 32) /* of zlib's (deflate, RFC 1950) and of gzip's (RFC 1952) */

bool rpc_message_is_compressed(const grpc_byte_buffer *message)
{
    return message->type == GRPC_BB_RAW && message->data.raw.compression > GRPC_COMPRESS_NONE;
}

enum mrg_err rpc_message_inflate(struct mrg_slice bytes, struct mrg_buf *buf, struct mrg_error *err)
{
    unsigned char piece[16384];
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)bytes.ptr, .avail_in = (unsigned)bytes.len};
    if (bytes.len > UINT32_MAX || inflateInit2(&stream, EITHER_HEADER) != Z_OK)
        return mrg_error_set(err, MRG_ERR_INTERNAL, "the message cannot be inflated");
    int status = Z_OK;
    while (status == Z_OK && !mrg_buf_failed(buf)) {
        stream.next_out = piece;
        stream.avail_out = sizeof(piece);
        status = inflate(&stream, Z_NO_FLUSH);
        mrg_buf_append(buf, piece, sizeof(piece) - stream.avail_out);
    }
    inflateEnd(&stream);
    if (mrg_buf_failed(buf))
        return mrg_error_set(err, MRG_ERR_TOO_LARGE,
                             "inflated the message is larger than %zu bytes (limits.body)", buf->max);
    if (status != Z_STREAM_END)
        return mrg_error_set(err, MRG_ERR_INVALID, "the message is said to be compressed, and is not");
    return MRG_ERR_OK;
}
