// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include "util/json.h"
#include "wire/proto.h"

/* grpc.health.v1.HealthCheckResponse.ServingStatus */
enum serving {
    SERVING = 1,
    NOT_SERVING = 2,
    SERVICE_UNKNOWN = 3,
};

struct search {
    struct mrg_slice name;
    bool found;
};

static bool is_name(void *ctx, struct mrg_slice name)
{
    struct search *search = ctx;
    search->found = mrg_slice_eq(name, search->name);
    return !search->found;
}

/* No name: the address as a whole. */
static enum serving status_of(struct rpc_listener *listener, struct mrg_slice service)
{
    struct rpc_transport *transport = listener->transport;
    struct rpc_served served;
    struct search search = {service, service.len == 0};
    if (atomic_load(&transport->quiet) || mrg_gateway_is_closed(transport->gateway))
        return NOT_SERVING;
    rpc_served_init(&served, listener);
    bool serves = served.count > 0;
    if (!search.found)
        rpc_served_each(&served, is_name, &search);
    rpc_served_done(&served);
    if (!search.found)
        return SERVICE_UNKNOWN;
    return serves ? SERVING : NOT_SERVING;
}

/* The field `service` of a HealthCheckRequest, in the arena; NULL when the bytes are no such message. */
static char *read_service(struct rpc_call *call, struct mrg_slice bytes)
{
    struct mrg_buf *json = &call->queue->json, *name = &call->queue->bytes;
    struct mrg_slice value;
    mrg_buf_clear(json);
    mrg_buf_clear(name);
    json->max = MRG_MAX_BODY;
    if (mrg_proto_to_json(call->schema, call->method->input, bytes, MRG_PROTO_NORMAL, json, NULL))
        return NULL;
    if (mrg_json_member(mrg_buf_slice(json), "service", &value))
        mrg_json_unescape(name, value);
    return mrg_arena_memdup(call->exchange->arena, name->len ? name->data : "", name->len);
}

/* HealthCheckResponse{status}. */
static struct mrg_slice response(enum serving status, char bytes[2])
{
    bytes[0] = 1 << 3;
    bytes[1] = (char)status;
    return (struct mrg_slice){bytes, 2};
}

void rpc_health_check(struct rpc_call *call, struct mrg_slice bytes)
{
    char reply[2];
    const char *service = read_service(call, bytes);
    if (!service) {
        rpc_answer_failure(call, MRG_GRPC_INTERNAL,
                           "the message is no valid grpc.health.v1.HealthCheckRequest");
        return;
    }
    enum serving status = status_of(call->listener, mrg_slice_of(service));
    if (status == SERVICE_UNKNOWN)
        rpc_answer_failure(call, MRG_GRPC_NOT_FOUND, "no such service is served at this address");
    else
        rpc_call_finish(call, false, rpc_message_of(response(status, reply)), MRG_GRPC_OK, MRG_SLICE(""));
}

/* ---- Watch ---- */

static void show(struct rpc_call *call, enum serving status)
{
    struct rpc_stream *stream = call->stream;
    char reply[2];
    if (stream->sending || stream->ending || call->over || stream->shown == (int)status)
        return;
    stream->shown = (int)status;
    rpc_stream_send(call, response(status, reply));
}

void rpc_health_look(struct rpc_call *call)
{
    show(call, status_of(call->listener, mrg_slice_of(call->stream->service)));
}

static void on_message(struct rpc_call *call, struct mrg_slice bytes)
{
    struct rpc_stream *stream = call->stream;
    stream->service = read_service(call, bytes);
    if (!stream->service) {
        rpc_stream_end(call, MRG_GRPC_INTERNAL, "the message is no valid grpc.health.v1.HealthCheckRequest");
        return;
    }
    mrg_list_append(&call->queue->watches, &stream->watch);
    rpc_health_look(call);
}

static void on_half_closed(struct rpc_call *call)
{
    rpc_stream_end(call, MRG_GRPC_INVALID_ARGUMENT, "no message came; Watch has exactly one");
}

static void on_closing(struct rpc_call *call)
{
    if (call->stream->service)
        show(call, NOT_SERVING);
}

const struct rpc_stream_ops rpc_health_watch = {
    .message = on_message,
    .half_closed = on_half_closed,
    .sent = rpc_health_look,
    .closing = on_closing,
};
