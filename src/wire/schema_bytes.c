// SPDX-License-Identifier: Apache-2.0
#include "wire/schema_int.h"

/* Numbers of descriptor.proto. */
#define FILE_MESSAGES    4 /* FileDescriptorProto.message_type */
#define MESSAGE_MESSAGES 3 /* DescriptorProto.nested_type */
#define SET_FILES        1 /* FileDescriptorSet.file */

static bool varint(struct mrg_slice bytes, size_t *cursor, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && *cursor < bytes.len; shift += 7) {
        uint8_t byte = (uint8_t)bytes.ptr[(*cursor)++];
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool wrong(struct mrg_slice bytes, size_t *cursor)
{
    *cursor = bytes.len + 1;
    return false;
}

bool mrg_wire_next(struct mrg_slice bytes, size_t *cursor, struct mrg_wire_field *ret_field)
{
    if (*cursor >= bytes.len)
        return false;
    uint64_t tag;
    uint64_t value = 0;
    if (!varint(bytes, cursor, &tag) || tag >> 3 == 0 || tag > UINT32_MAX)
        return wrong(bytes, cursor);
    struct mrg_wire_field field = {.number = (uint32_t)(tag >> 3), .wire = tag & 7};
    size_t fixed = field.wire == 1 ? 8 : field.wire == 5 ? 4 : 0;
    if ((field.wire == 0 || field.wire == 2) && !varint(bytes, cursor, &value))
        return wrong(bytes, cursor);
    if (field.wire == 0)
        field.value = value;
    else if (field.wire == 2)
        fixed = value < bytes.len ? (size_t)value : bytes.len;
    else if (fixed == 0)
        return wrong(bytes, cursor);
    if (fixed > bytes.len - *cursor || (field.wire == 2 && value != fixed))
        return wrong(bytes, cursor);
    if (field.wire == 2)
        field.bytes = (struct mrg_slice){bytes.ptr + *cursor, fixed};
    *cursor += fixed;
    *ret_field = field;
    return true;
}

bool mrg_set_next(struct mrg_slice set, size_t *cursor, struct mrg_slice *ret_file)
{
    struct mrg_wire_field field;
    while (mrg_wire_next(set, cursor, &field)) {
        if (field.number != SET_FILES)
            continue;
        if (field.wire != 2)
            return wrong(set, cursor);
        *ret_file = field.bytes;
        return true;
    }
    return false;
}

static bool is_deep(struct mrg_slice bytes, uint32_t number, unsigned left)
{
    struct mrg_wire_field field;
    for (size_t cursor = 0; mrg_wire_next(bytes, &cursor, &field);)
        if (field.wire == 2 && field.number == number &&
            (left == 0 || is_deep(field.bytes, MESSAGE_MESSAGES, left - 1)))
            return true;
    return false;
}

bool mrg_file_is_deep(struct mrg_slice file)
{
    return is_deep(file, FILE_MESSAGES, MRG_MAX_PROTO_DEPTH);
}

/* An allocator for protobuf-c over an arena, with a bound. */
struct allowance {
    struct mrg_arena *arena;
    size_t left; /* bytes */
    bool spent;
};

static void *allowance_alloc(void *ctx, size_t size)
{
    struct allowance *allowance = ctx;
    if (size > allowance->left) {
        allowance->spent = true;
        return NULL;
    }
    allowance->left -= size;
    return mrg_arena_alloc(allowance->arena, size);
}

static void allowance_free(void *ctx, void *block)
{
    (void)ctx;
    (void)block;
}

Google__Protobuf__FileDescriptorProto *mrg_file_unpack(struct mrg_arena *arena, struct mrg_slice file,
                                                       struct mrg_error *err)
{
    /* protobuf-c follows nested messages as deep as they go, and takes far more memory than bytes. */
    if (mrg_file_is_deep(file)) {
        mrg_error_set(err, MRG_ERR_TOO_LARGE, "has message types within each other more than %u deep",
                      MRG_MAX_PROTO_DEPTH);
        return NULL;
    }
    size_t taken = mrg_arena_size(arena);
    size_t left = taken < MRG_MAX_UNPACKED ? MRG_MAX_UNPACKED - taken : 0;
    struct allowance allowance = {.arena = arena, .left = file.len * MRG_UNPACKED_PER_BYTE + 4096};
    if (allowance.left > left)
        allowance.left = left;
    ProtobufCAllocator allocator = {allowance_alloc, allowance_free, &allowance};
    Google__Protobuf__FileDescriptorProto *proto =
        google__protobuf__file_descriptor_proto__unpack(&allocator, file.len, (const uint8_t *)file.ptr);
    if (!proto && allowance.spent)
        mrg_error_set(err, MRG_ERR_TOO_LARGE, "takes too much memory");
    else if (!proto)
        mrg_error_set(err, MRG_ERR_INVALID, "is no FileDescriptorProto (cut short or damaged)");
    return proto;
}
