// SPDX-License-Identifier: Apache-2.0
/*
 * Format protobuf: a message of the configured RPC's input in, one of its output out. A reply of one frame is
 * the output; one of two frames is an error: a google.rpc.Status, then the word "status".
 */
#include "core/status.h"
#include "transports/zmq/zmq_int.h"
#include "wire/proto.h"
#include "wire/route.h"
#include "wire/status_details.h"

static const struct mrg_schema *schema_of(const struct mrg_exchange *exchange)
{
    const struct mrg_schema *schema =
        exchange->dependency ? mrg_schema_of(exchange->dependency->shape) : NULL;
    return schema ? schema : mrg_schema_builtin();
}

/* ---- errors ---- */

static void render_status(const struct zm_request *request, const struct mrg_reply *reply, struct zm_out *out)
{
    const struct mrg_exchange *exchange = request->exchange;
    const char *domain = exchange->dependency ? exchange->dependency->config->name : "mirage";
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_slice message = mrg_status_message(arena, reply, MRG_MAX_REPLY_BODY);
    mrg_buf_clear(&out->text);
    mrg_status_append(&out->text, schema_of(exchange), reply, message, domain, SIZE_MAX);
    mrg_arena_free(arena);
    out->frames[0] = mrg_buf_slice(&out->text);
    out->frames[1] = MRG_SLICE("status");
    out->count = 2;
}

/* ---- replies ---- */

/* The output message; on failure `message` may hold a part. */
static enum mrg_err make_message(const struct zm_request *request, const struct mrg_reply *reply,
                                 struct mrg_arena *arena, bool lenient, struct mrg_buf *message,
                                 struct mrg_error *err)
{
    const struct mrg_method *method = request->method;
    const struct mrg_exchange *exchange = request->exchange;
    if (reply->body.kind == MRG_BODY_NONE)
        return MRG_ERR_OK;
    if (reply->body.kind != MRG_BODY_JSON)
        return mrg_error_set(err, MRG_ERR_INVALID, "the body is no JSON");
    struct mrg_slice json = mrg_route_reply(method, &exchange->request, arena, reply->body.bytes);
    return mrg_proto_from_json(schema_of(exchange), method->output, json, lenient, message, err);
}

static bool is_ok(const struct mrg_reply *reply)
{
    return !reply->error && mrg_reply_grpc_status(reply) == MRG_GRPC_OK;
}

static enum mrg_err fits(const struct mrg_exchange *exchange, const struct mrg_reply *reply,
                         struct mrg_error *err)
{
    const struct zm_request *request = exchange->adapter;
    struct mrg_buf message;
    enum mrg_err code = MRG_ERR_OK;
    mrg_buf_init(&message, SIZE_MAX);
    if (is_ok(reply)) {
        code = make_message(request, reply, exchange->arena, false, &message, err);
        if (code)
            mrg_error_wrap(err, "the body does not fit %s", request->method->output->full_name.ptr);
    } else {
        code = mrg_status_details_fit(schema_of(exchange), reply, err);
    }
    mrg_buf_done(&message);
    return code;
}

void zm_render_proto(const struct zm_request *request, const struct mrg_reply *reply, struct mrg_arena *arena,
                     struct zm_out *out)
{
    struct mrg_error err;
    if (!is_ok(reply)) {
        render_status(request, reply, out);
        return;
    }
    if (make_message(request, reply, arena, true, &out->text, &err) == MRG_ERR_OK) {
        out->frames[0] = mrg_buf_slice(&out->text);
        out->count = 1;
        return;
    }
    mrg_buf_clear(&out->other);
    mrg_buf_appendf(&out->other, "the reply does not fit %s: %s", request->method->output->full_name.ptr,
                    err.message);
    const struct mrg_reply failure = {
        .status = 500,
        .has_grpc_status = true,
        .grpc_status = MRG_GRPC_INTERNAL,
        .grpc_message = mrg_buf_slice(&out->other),
        .error = out->other.data,
    };
    render_status(request, &failure, out);
}

/* ---- requests ---- */

int zm_read_proto(struct zm_request *request, struct mrg_slice frame, struct zm_refusal *refusal)
{
    struct mrg_exchange *exchange = request->exchange;
    const struct mrg_schema *schema = schema_of(exchange);
    const char *rpc = exchange->dependency->config->zmq.rpc;
    const struct mrg_method *method = mrg_schema_method(schema, mrg_slice_of(rpc));
    struct mrg_error err;
    struct mrg_buf json;
    if (!method)
        return zm_refuse(request, refusal, 501, "the protos have no RPC %s (zmq.rpc)", rpc);
    if (method->client_streams || method->server_streams)
        return zm_refuse(request, refusal, 501, "%s is streaming; this version answers unary calls", rpc);
    mrg_buf_init(&json, MRG_PROTO_JSON_TIMES * atomic_load_explicit(&request->listener->transport->max_body,
                                                                    memory_order_relaxed));
    enum mrg_err code = mrg_proto_to_json(schema, method->input, frame, MRG_PROTO_NORMAL, &json, &err);
    if (code) {
        mrg_buf_done(&json);
        return zm_refuse(request, refusal, code == MRG_ERR_TOO_LARGE ? 413 : 400, "the message is no %s: %s",
                         method->input->full_name.ptr, err.message);
    }
    mrg_route_request(method, exchange->arena, mrg_arena_take_buf(exchange->arena, &json),
                      &exchange->request);
    request->method = method;
    exchange->fits = fits;
    size_t target = exchange->request.path.len + exchange->request.query.len;
    if (target > MRG_MAX_PATH)
        return zm_refuse(request, refusal, 414,
                         "path and query of the message have %zu bytes; at most %u are taken", target,
                         MRG_MAX_PATH);
    return 0;
}
