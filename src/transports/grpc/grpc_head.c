// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/base64.h"

#define WHY_SIZE    256u
#define ENTRY_BYTES 4u /* of a header beside name and value, as in HTTP/1: colon, blank, end of line */

static int refuse(char why[WHY_SIZE], int status, const char *format, ...) MRG_PRINTF(3, 4);

/* Callers' bytes in a sentence become printable ASCII. */
static int refuse(char why[WHY_SIZE], int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, WHY_SIZE, format, args);
    va_end(args);
    for (char *p = why; *p; p++) {
        if (*p < 0x20 || *p > 0x7E)
            *p = '?';
    }
    return status;
}

static struct mrg_slice text_of(const grpc_slice *slice)
{
    return (struct mrg_slice){(const char *)GRPC_SLICE_START_PTR(*slice), GRPC_SLICE_LENGTH(*slice)};
}

static bool starts_with(struct mrg_slice text, const char *start)
{
    size_t len = strlen(start);
    return text.len >= len && memcmp(text.ptr, start, len) == 0;
}

static bool is_binary(struct mrg_slice name)
{
    return name.len > 4 && memcmp(name.ptr + name.len - 4, "-bin", 4) == 0;
}

/* What gRPC says to itself is no part of the request. */
static bool is_wires(struct mrg_slice name)
{
    return name.len == 0 || name.ptr[0] == ':' || starts_with(name, "grpc-") ||
           mrg_slice_eq_str(name, "user-agent") || mrg_slice_eq_str(name, "content-type") ||
           mrg_slice_eq_str(name, "te");
}

/* Bytes as base64 without padding, as they stand in HTTP/2. The scratch is used up to the next call. */
static struct mrg_slice as_base64(struct mrg_buf *scratch, struct mrg_slice bytes)
{
    mrg_buf_clear(scratch);
    mrg_base64_append(scratch, bytes);
    struct mrg_slice text = mrg_buf_slice(scratch);
    while (text.len > 0 && text.ptr[text.len - 1] == '=')
        text.len--;
    return text;
}

/* Name, NUL, value without blanks at its ends, NUL, in one piece of the arena. False for a name that is no token. */
static bool copy(struct mrg_arena *arena, struct mrg_header *header, struct mrg_slice name,
                 struct mrg_slice value)
{
    value = mrg_slice_trim(value);
    char *bytes = mrg_arena_alloc(arena, name.len + value.len + 2);
    for (size_t i = 0; i < name.len; i++) {
        bytes[i] = mrg_token_lower[(unsigned char)name.ptr[i]];
        if (!bytes[i])
            return false;
    }
    bytes[name.len] = '\0';
    char *text = bytes + name.len + 1;
    if (value.len > 0)
        memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    header->name = (struct mrg_slice){bytes, name.len};
    header->value = (struct mrg_slice){text, value.len};
    return true;
}

int rpc_head_read(struct rpc_call *call, const grpc_metadata_array *metadata, char why[WHY_SIZE])
{
    struct mrg_request *request = &call->exchange->request;
    struct mrg_arena *arena = call->exchange->arena;
    size_t max = atomic_load_explicit(&call->listener->transport->max_headers, memory_order_relaxed);
    size_t bytes = call->method->path.len;
    request->headers = mrg_arena_alloc(arena, metadata->count * sizeof(*request->headers));
    for (size_t i = 0; i < metadata->count; i++) {
        struct mrg_slice name = text_of(&metadata->metadata[i].key);
        struct mrg_slice value = text_of(&metadata->metadata[i].value);
        if (is_wires(name))
            continue;
        if (request->header_count == MRG_MAX_HEADERS)
            return refuse(why, MRG_GRPC_RESOURCE_EXHAUSTED, "more than %d metadata entries", MRG_MAX_HEADERS);
        if (is_binary(name))
            value = as_base64(&call->queue->bytes, value);
        bytes += name.len + value.len + ENTRY_BYTES;
        if (bytes > max)
            return refuse(why, MRG_GRPC_RESOURCE_EXHAUSTED,
                          "the metadata is larger than %zu bytes (limits.headers)", max);
        if (!copy(arena, &request->headers[request->header_count], name, value))
            return refuse(why, MRG_GRPC_INVALID_ARGUMENT, "metadata \"%.*s\" has a name that is no token",
                          (int)(name.len > 40 ? 40 : name.len), name.ptr);
        if (mrg_has_control(request->headers[request->header_count].value))
            return refuse(why, MRG_GRPC_INVALID_ARGUMENT,
                          "metadata \"%.*s\" has a control character in its value",
                          (int)(name.len > 40 ? 40 : name.len), name.ptr);
        request->header_count++;
    }
    return MRG_GRPC_OK;
}
