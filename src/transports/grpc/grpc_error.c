// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include "util/utf8.h"
#include "wire/status_details.h"

#define MAX_MESSAGE 2048u /* bytes of a status message: in percent-encoding it may be three times that */

struct mrg_slice rpc_error_message(struct mrg_arena *arena, const struct mrg_reply *reply)
{
    struct mrg_slice text = reply->grpc_message;
    if (!text.ptr)
        text = mrg_status_sentence(arena, reply);
    if (!text.ptr)
        return mrg_slice_of(mrg_arena_printf(arena, "HTTP %d", reply->status));
    text.len = mrg_utf8_cut(text, MAX_MESSAGE);
    /* No gRPC code says which of these it was. */
    bool odd = !reply->has_grpc_status && (reply->status / 100 == 3 || reply->status >= 600);
    if (odd)
        return mrg_slice_of(
            mrg_arena_printf(arena, "%.*s (HTTP %d)", (int)text.len, text.ptr, reply->status));
    return text;
}

void rpc_error_details(struct mrg_buf *buf, const struct mrg_schema *schema, const struct mrg_reply *reply,
                       int code, struct mrg_slice message, const char *domain, size_t room)
{
    const struct mrg_status_form form = {.domain = domain, .room = room};
    if (!reply->error && !mrg_status_append(buf, schema, reply, code, message, &form))
        mrg_buf_clear(buf);
}
