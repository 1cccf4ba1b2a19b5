// SPDX-License-Identifier: Apache-2.0
#include <grpc/byte_buffer_reader.h>
#include <string.h>

#include "clients/grpc_core_int.h"
#include "util/base64.h"

static grpc_slice copied(struct mrg_slice text)
{
    return grpc_slice_from_copied_buffer(text.ptr, text.len);
}

static bool is_binary(struct mrg_slice name)
{
    return name.len > 4 && memcmp(name.ptr + name.len - 4, "-bin", 4) == 0;
}

/* What HTTP/2 and the library say themselves. */
static bool is_own(struct mrg_slice name)
{
    static const char *const names[] = {
        "accept", "accept-encoding", "content-encoding", "content-type", "date", "host", "user-agent"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(names); i++) {
        if (mrg_slice_eq_str(name, names[i]))
            return true;
    }
    return mrg_client_drops(name) || (name.len > 5 && memcmp(name.ptr, "grpc-", 5) == 0);
}

void mrg_grpc_metadata_free(grpc_metadata *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        grpc_slice_unref(items[i].key);
        grpc_slice_unref(items[i].value);
    }
    free(items);
}

static bool read_value(struct mrg_arena *arena, const struct mrg_header *header, grpc_slice *ret_value)
{
    struct mrg_slice bytes;
    if (!is_binary(header->name)) {
        *ret_value = copied(header->value);
        if (grpc_header_nonbin_value_is_legal(*ret_value))
            return true;
        grpc_slice_unref(*ret_value);
        return false;
    }
    /* On the wire it may come without padding. */
    static const char *const padding[] = {"", "", "==", "="};
    char *text = mrg_arena_printf(arena, "%.*s%s", (int)header->value.len, header->value.ptr,
                                  padding[header->value.len % 4]);
    if (!mrg_base64_decode(arena, mrg_slice_of(text), &bytes))
        return false;
    *ret_value = copied(bytes);
    return true;
}

enum mrg_err mrg_grpc_metadata_make(const struct mrg_grpc_request *request, struct mrg_arena *arena,
                                    grpc_metadata **ret_items, size_t *ret_count, struct mrg_error *err)
{
    grpc_metadata *items = mrg_zalloc((request->header_count + 1) * sizeof(*items));
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct mrg_header *header = &request->headers[i];
        if (is_own(header->name))
            continue;
        grpc_slice key = copied(header->name), value;
        bool legal = grpc_header_key_is_legal(key);
        if (!legal || !read_value(arena, header, &value)) {
            grpc_slice_unref(key);
            mrg_grpc_metadata_free(items, count);
            return mrg_error_set(err, MRG_ERR_INVALID, "header \"%.*s\" cannot be metadata; expected %s",
                                 (int)(header->name.len < 60 ? header->name.len : 60), header->name.ptr,
                                 !legal                    ? "a name of a-z, 0-9, - _ and ."
                                 : is_binary(header->name) ? "base64 in a -bin value"
                                                           : "printable ASCII");
        }
        items[count++] = (grpc_metadata){.key = key, .value = value};
    }
    *ret_items = items;
    *ret_count = count;
    return MRG_ERR_OK;
}

void mrg_grpc_metadata_read(struct mrg_arena *arena, const grpc_metadata_array *array,
                            struct mrg_header **ret_headers, size_t *ret_count)
{
    struct mrg_header_list list = {0};
    struct mrg_buf text;
    mrg_buf_init(&text, SIZE_MAX);
    for (size_t i = 0; i < array->count; i++) {
        struct mrg_slice name = mrg_grpc_text(&array->metadata[i].key);
        struct mrg_slice value = mrg_grpc_text(&array->metadata[i].value);
        mrg_buf_clear(&text);
        if (is_binary(name)) {
            mrg_base64_append(&text, value);
            value = mrg_buf_slice(&text);
        }
        mrg_header_list_add(&list, arena, name, value);
    }
    mrg_buf_done(&text);
    *ret_headers = list.items;
    *ret_count = list.count;
}

grpc_byte_buffer *mrg_grpc_pack(struct mrg_slice message)
{
    grpc_slice slice = copied(message);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

/* Appends the bytes and destroys the buffer (NULL: nothing came); false when they cannot be read. */
bool mrg_grpc_unpack(grpc_byte_buffer *buffer, struct mrg_buf *ret_bytes)
{
    grpc_byte_buffer_reader reader;
    if (!buffer)
        return false;
    bool good = grpc_byte_buffer_reader_init(&reader, buffer);
    if (good) {
        grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
        mrg_buf_append_slice(ret_bytes, mrg_grpc_text(&all));
        grpc_slice_unref(all);
        grpc_byte_buffer_reader_destroy(&reader);
    }
    grpc_byte_buffer_destroy(buffer);
    return good;
}
