// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include <stdio.h>
#include <string.h>

#include "core/session.h"
#include "util/json.h"
#include "util/log.h"
#include "util/text.h"
#include "util/utf8.h"
#include "wire/proto.h"
#include "wire/route.h"
#include "wire/status_details.h"

#define OWN_METADATA 4u /* entries that are Mirage's own, at most */
#define DETAILS_KEY  "grpc-status-details-bin"

/* ---- the message ---- */

static const char *kind_name(enum mrg_body_kind kind)
{
    return kind == MRG_BODY_TEXT ? "a text" : "bytes";
}

/* A text as JSON: of the control verbs, Metrics has one. A simulated service's text is no message. */
static bool as_string(const struct rpc_call *call, const struct mrg_exchange *exchange,
                      const struct mrg_reply *reply, struct mrg_slice *ret_json)
{
    struct mrg_buf json;
    if (reply->body.kind != MRG_BODY_TEXT || call->schema != mrg_schema_builtin())
        return false;
    mrg_buf_init(&json, SIZE_MAX);
    mrg_json_append_string(&json, reply->body.bytes);
    *ret_json = mrg_arena_take_buf(exchange->arena, &json);
    return true;
}

/* Appends the output message that a reply's body stands for. No body is an empty message. */
static enum mrg_err encode(const struct rpc_call *call, const struct mrg_exchange *exchange,
                           const struct mrg_reply *reply, bool lenient, struct mrg_buf *buf,
                           struct mrg_error *err)
{
    const struct mrg_message *type = call->method->output;
    struct mrg_slice json = MRG_SLICE("{}");
    if (reply->body.kind == MRG_BODY_JSON)
        json = mrg_route_reply(call->method, &exchange->request, exchange->arena, reply->body.bytes);
    else if (as_string(call, exchange, reply, &json))
        json = mrg_route_reply(call->method, &exchange->request, exchange->arena, json);
    else if (reply->body.kind != MRG_BODY_NONE)
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "the reply does not fit %.200s: the body is %s; expected JSON",
                             type->full_name.ptr, kind_name(reply->body.kind));
    enum mrg_err code = mrg_proto_from_json(call->schema, type, json, lenient, buf, err);
    return code ? mrg_error_wrap(err, "the reply does not fit %.200s", type->full_name.ptr) : MRG_ERR_OK;
}

enum mrg_err rpc_fits(const struct mrg_exchange *exchange, const struct mrg_reply *reply,
                      struct mrg_error *err)
{
    const struct rpc_call *call = exchange->adapter;
    if (mrg_reply_grpc_status(reply) != MRG_GRPC_OK)
        return mrg_status_details_fit(call->schema, reply, err);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    enum mrg_err code = encode(call, exchange, reply, false, &buf, err);
    mrg_buf_done(&buf);
    return code;
}

/* ---- metadata ---- */

static void add_error(struct rpc_metadata *list, const char *sentence)
{
    struct mrg_slice text = mrg_slice_of(sentence);
    text.len = mrg_utf8_cut(text, MRG_MAX_ERROR_HEADER);
    rpc_metadata_add(list, "mirage-error", text);
}

static void add_initial(struct rpc_call *call)
{
    struct mrg_exchange *exchange = call->exchange;
    const struct mrg_reply *reply = &exchange->reply;
    struct rpc_metadata *list = &call->initial;
    list->items =
        mrg_arena_alloc(exchange->arena, (reply->header_count + OWN_METADATA) * sizeof(*list->items));
    if (call->shows) {
        const struct mrg_text *session = mrg_session_to_tell(exchange);
        if (reply->source)
            rpc_metadata_add(list, "mirage-source", mrg_slice_of(reply->source));
        if (session)
            rpc_metadata_add(list, "mirage-session", mrg_text_slice(session));
        if (reply->error)
            add_error(list, reply->error);
    }
    rpc_metadata_add_service(list, exchange->arena, reply->headers, reply->header_count);
}

/* But for the details. */
static void add_trailing(struct rpc_call *call)
{
    struct mrg_exchange *exchange = call->exchange;
    const struct mrg_reply *reply = &exchange->reply;
    struct rpc_metadata *list = &call->trailing;
    list->items =
        mrg_arena_alloc(exchange->arena, (reply->trailer_count + OWN_METADATA) * sizeof(*list->items));
    if (call->shows) {
        char number[16];
        snprintf(number, sizeof(number), "%d", reply->status);
        rpc_metadata_add(list, "mirage-http-status", mrg_slice_of(number));
    }
    rpc_metadata_add_service(list, exchange->arena, reply->trailers, reply->trailer_count);
}

/* ---- replies ---- */

/* The message of a reply, made or found again; a reference. */
static enum mrg_err make_message(struct rpc_call *call, grpc_slice *ret_message, struct mrg_error *err)
{
    struct mrg_exchange *exchange = call->exchange;
    struct mrg_buf *bytes = &call->queue->bytes;
    struct rpc_cache *cache = &call->queue->cache;
    bool lasting = exchange->reply.lasting && exchange->reply_text && exchange->dependency;
    struct mrg_config *config = lasting ? exchange->dependency->owner : NULL;
    if (lasting && rpc_cache_find(cache, exchange->reply_text, config, call->method, ret_message))
        return MRG_ERR_OK;
    mrg_buf_clear(bytes);
    enum mrg_err code = encode(call, exchange, &exchange->reply, true, bytes, err);
    if (code)
        return code;
    *ret_message = grpc_slice_from_copied_buffer(bytes->data, bytes->len);
    if (lasting)
        rpc_cache_keep(cache, exchange->reply_text, config, call->method, *ret_message);
    return MRG_ERR_OK;
}

static void answer_message(struct rpc_call *call)
{
    struct mrg_error err;
    grpc_slice message;
    if (make_message(call, &message, &err)) {
        rpc_answer_failure(call, MRG_GRPC_INTERNAL, err.message);
        return;
    }
    struct mrg_slice text = call->exchange->reply.grpc_message;
    text = text.ptr ? text : MRG_SLICE("");
    text.len = mrg_utf8_cut(text, MRG_MAX_GRPC_MESSAGE);
    add_initial(call);
    call->trailing.size = rpc_metadata_status_size(text);
    add_trailing(call);
    rpc_call_finish(call, false, grpc_raw_byte_buffer_create(&message, 1), MRG_GRPC_OK, text);
    grpc_slice_unref(message);
}

/* Bytes of details that still fit the trailing metadata, in base64. */
static size_t details_room(const struct rpc_call *call)
{
    size_t taken = call->trailing.size + 64; /* the details' own entry */
    return taken < MRG_GRPC_METADATA_ROOM ? (MRG_GRPC_METADATA_ROOM - taken) / 4 * 3 : 0;
}

/*
 * Without a message all metadata travel in one block: what comes first has its place, and whoever calls gets the
 * status and its message, even where a service's headers find no room.
 */
static void answer_error(struct rpc_call *call, int status)
{
    struct mrg_exchange *exchange = call->exchange;
    struct mrg_buf *details = &call->queue->bytes;
    const char *domain = exchange->dependency ? exchange->dependency->config->name : "mirage";
    struct mrg_slice message = mrg_status_message(exchange->arena, &exchange->reply, MRG_MAX_GRPC_MESSAGE);
    call->initial.size = rpc_metadata_status_size(message);
    add_initial(call);
    call->trailing.size = call->initial.size;
    add_trailing(call);
    mrg_buf_clear(details);
    if (!exchange->reply.error &&
        mrg_status_append(details, call->schema, &exchange->reply, message, domain, details_room(call)))
        rpc_metadata_add_bytes(&call->trailing, DETAILS_KEY, mrg_buf_slice(details));
    rpc_call_finish(call, false, NULL, status, message);
}

void rpc_answer(struct rpc_call *call)
{
    const struct mrg_reply *reply = &call->exchange->reply;
    if (call->over)
        return;
    if (reply->status < 200 || reply->status > 999) {
        char why[96];
        snprintf(why, sizeof(why), "the reply's status is %d; expected 200 to 999", reply->status);
        rpc_answer_failure(call, MRG_GRPC_INTERNAL, why);
        return;
    }
    int status = mrg_reply_grpc_status(reply);
    if (status == MRG_GRPC_OK)
        answer_message(call);
    else
        answer_error(call, status);
}

void rpc_answer_failure(struct rpc_call *call, int status, const char *sentence)
{
    if (call->over)
        return;
    MRG_ASSERT(call->initial.count == 0 && call->trailing.count == 0);
    call->initial.items = &call->failure;
    if (call->shows)
        add_error(&call->initial, sentence);
    struct mrg_slice text = mrg_slice_of(sentence);
    rpc_call_finish(call, false, NULL, status, text);
}
