// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include <string.h>

#include "util/base64.h"
#include "util/log.h"

#define ENTRY_BYTES 32u /* what HTTP/2 counts for an entry beside name and value (RFC 9113, section 6.5.2) */

static bool starts_with(struct mrg_slice text, const char *start)
{
    size_t len = strlen(start);
    return text.len >= len && memcmp(text.ptr, start, len) == 0;
}

/* The library refuses a batch with anything else in a value. */
static bool is_printable(char c)
{
    return c >= 0x20 && c <= 0x7E;
}

static size_t encoded_len(struct mrg_slice value)
{
    size_t len = value.len;
    for (size_t i = 0; i < value.len; i++)
        len += is_printable(value.ptr[i]) ? 0 : 2;
    return len;
}

/* A copy, in which what is not printable ASCII is percent-encoded. */
static grpc_slice encode(struct mrg_slice value, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    if (len == value.len)
        return grpc_slice_from_copied_buffer(value.ptr, value.len);
    grpc_slice slice = grpc_slice_malloc(len);
    uint8_t *p = GRPC_SLICE_START_PTR(slice);
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (is_printable(value.ptr[i])) {
            *p++ = c;
            continue;
        }
        *p++ = '%';
        *p++ = (uint8_t)digits[c >> 4];
        *p++ = (uint8_t)digits[c & 15];
    }
    return slice;
}

static void append(struct rpc_metadata *list, grpc_slice key, grpc_slice value, size_t size)
{
    list->items[list->count++] = (grpc_metadata){.key = key, .value = value};
    list->size += size;
}

void rpc_metadata_add(struct rpc_metadata *list, const char *key, struct mrg_slice value)
{
    size_t len = encoded_len(value);
    append(list, grpc_slice_from_static_string(key), encode(value, len), strlen(key) + len + ENTRY_BYTES);
}

void rpc_metadata_add_bytes(struct rpc_metadata *list, const char *key, struct mrg_slice bytes)
{
    append(list, grpc_slice_from_static_string(key), grpc_slice_from_copied_buffer(bytes.ptr, bytes.len),
           strlen(key) + bytes.len / 3 * 4 + ENTRY_BYTES);
}

/* Of the wire, or Mirage's: no service says them. */
static bool is_reserved(struct mrg_slice name)
{
    return mrg_header_is_transport(name) || starts_with(name, "grpc-") || starts_with(name, "mirage-") ||
           mrg_slice_eq_str(name, "content-type") || mrg_slice_eq_str(name, "host");
}

size_t rpc_metadata_status_size(struct mrg_slice message)
{
    size_t size = 2 * 64; /* grpc-status, grpc-message */
    for (size_t i = 0; i < message.len; i++)
        size += message.ptr[i] >= 0x20 && message.ptr[i] <= 0x7E && message.ptr[i] != '%' ? 1 : 3;
    return size;
}

static bool is_binary(struct mrg_slice name)
{
    return name.len > 4 && memcmp(name.ptr + name.len - 4, "-bin", 4) == 0;
}

/* Base64, padded or not. */
static bool decode(struct mrg_arena *arena, struct mrg_slice text, struct mrg_slice *ret_bytes)
{
    char *padded = mrg_arena_alloc(arena, text.len + 4);
    size_t len = text.len;
    if (len > 0)
        memcpy(padded, text.ptr, len);
    while (len % 4 != 0 && len - text.len < 2)
        padded[len++] = '=';
    return mrg_base64_decode(arena, (struct mrg_slice){padded, len}, ret_bytes);
}

static const char *add_one(struct rpc_metadata *list, struct mrg_arena *arena,
                           const struct mrg_header *header)
{
    struct mrg_slice value = header->value;
    bool binary = is_binary(header->name);
    size_t len = binary ? value.len : encoded_len(value);
    if (list->size + header->name.len + len + ENTRY_BYTES > MRG_GRPC_METADATA_ROOM)
        return "finds no room";
    grpc_slice key = grpc_slice_from_copied_buffer(header->name.ptr, header->name.len);
    if (!grpc_header_key_is_legal(key) || (binary && !decode(arena, value, &value))) {
        grpc_slice_unref(key);
        return "has a name or a value that cannot be sent";
    }
    append(list, key, binary ? grpc_slice_from_copied_buffer(value.ptr, value.len) : encode(value, len),
           header->name.len + len + ENTRY_BYTES);
    return NULL;
}

void rpc_metadata_add_service(struct rpc_metadata *list, struct mrg_arena *arena,
                              const struct mrg_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *why = is_reserved(headers[i].name) ? NULL : add_one(list, arena, &headers[i]);
        if (why)
            mrg_log(MRG_LOG_DEBUG, "gRPC: header %zu of a reply %s and was dropped", i + 1, why);
    }
}

void rpc_metadata_done(struct rpc_metadata *list)
{
    for (size_t i = 0; i < list->count; i++) {
        grpc_slice_unref(list->items[i].key);
        grpc_slice_unref(list->items[i].value);
    }
    list->count = 0;
}
