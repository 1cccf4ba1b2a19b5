// SPDX-License-Identifier: Apache-2.0
#include <google/rpc/status.pb-c.h>
#include <string.h>

#include "clients/grpc_int.h"
#include "util/base64.h"
#include "util/json.h"
#include "wire/proto.h"

static struct mrg_slice pack_any(const Google__Protobuf__Any *any, struct mrg_arena *arena)
{
    size_t size = google__protobuf__any__get_packed_size(any);
    char *bytes = mrg_arena_alloc(arena, size + 1);
    google__protobuf__any__pack(any, (uint8_t *)bytes);
    return (struct mrg_slice){bytes, size};
}

static void append_any(struct mrg_buf *buf, const struct mrg_schema *schema, const Google__Protobuf__Any *any,
                       struct mrg_arena *arena)
{
    struct mrg_buf own;
    const struct mrg_message *type =
        mrg_schema_message(mrg_schema_builtin(), MRG_SLICE("google.protobuf.Any"));
    mrg_buf_init(&own, SIZE_MAX);
    if (mrg_proto_to_json(schema, type, pack_any(any, arena), MRG_PROTO_NORMAL, &own, NULL) == MRG_ERR_OK) {
        mrg_buf_append_slice(buf, mrg_buf_slice(&own));
    } else {
        mrg_buf_append_str(buf, "{\"@type\":");
        mrg_json_append_string(buf, mrg_slice_of(any->type_url));
        mrg_buf_append_str(buf, ",\"value\":\"");
        mrg_base64_append(buf, (struct mrg_slice){(const char *)any->value.data, any->value.len});
        mrg_buf_append_str(buf, "\"}");
    }
    mrg_buf_done(&own);
}

bool mrg_grpc_details(const struct mrg_schema *schema, struct mrg_slice bytes, struct mrg_arena *arena,
                      struct mrg_slice *ret_json)
{
    Google__Rpc__Status *status = google__rpc__status__unpack(NULL, bytes.len, (const uint8_t *)bytes.ptr);
    if (!status)
        return false;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_char(&buf, '[');
    for (size_t i = 0; i < status->n_details; i++) {
        if (i > 0)
            mrg_buf_append_char(&buf, ',');
        append_any(&buf, schema ? schema : mrg_schema_builtin(), status->details[i], arena);
    }
    mrg_buf_append_char(&buf, ']');
    google__rpc__status__free_unpacked(status, NULL);
    *ret_json = mrg_arena_take_buf(arena, &buf);
    return true;
}
