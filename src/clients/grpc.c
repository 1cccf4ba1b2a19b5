// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "clients/grpc_int.h"
#include "core/limits.h"
#include "core/status.h"
#include "util/base64.h"
#include "util/json.h"
#include "wire/proto.h"
#include "wire/route.h"

#define DETAILS "grpc-status-details-bin"

struct grpc_client {
    struct mrg_client base;
    struct mrg_grpc_channel *channel;
    const struct mrg_schema *schema; /* given, else `own`; NULL while there is none */
    struct mrg_schema *own;          /* by reflection, or NULL */
    uint64_t timeout_ms;             /* or 0 */
};

/* What a request's method and path stand for. */
struct rpc {
    const struct mrg_schema *schema;
    const struct mrg_method *method;   /* NULL: of no schema */
    const struct mrg_binding *binding; /* NULL: called by its own path */
    const char *path;                  /* "/pkg.Service/Method" */
};

static bool find_in(const struct mrg_schema *schema, const struct mrg_request *request, struct rpc *rpc)
{
    rpc->schema = schema;
    rpc->binding = NULL;
    rpc->method = mrg_schema_method(schema, request->path);
    if (!rpc->method)
        rpc->method = mrg_route_find(schema, request, &rpc->binding);
    rpc->path = rpc->method ? rpc->method->path.ptr : NULL;
    return rpc->method != NULL;
}

/* /pkg.Service/Method, by its look. */
static bool is_method_path(struct mrg_slice path)
{
    if (path.len < 4 || path.ptr[0] != '/')
        return false;
    const char *slash = memchr(path.ptr + 1, '/', path.len - 1);
    if (!slash || slash == path.ptr + 1 || slash == path.ptr + path.len - 1)
        return false;
    for (size_t i = 1; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];
        if (path.ptr + i != slash && c != '.' && c != '_' && !(c >= '0' && c <= '9') &&
            !((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
            return false;
    }
    return true;
}

static bool is_empty(const struct mrg_request *request)
{
    struct mrg_slice body = mrg_slice_trim(request->body.bytes);
    return request->query.len == 0 && (body.len == 0 || mrg_slice_eq_str(body, "{}"));
}

static enum mrg_err reflect(struct grpc_client *client, uint64_t until_ms, struct mrg_error *err)
{
    struct mrg_buf set;
    mrg_buf_init(&set, MRG_MAX_DESCRIPTORS);
    enum mrg_err code = mrg_grpc_reflect(client->channel, until_ms, &set, err);
    if (!code) {
        const struct mrg_schema_source source = {.reflected = mrg_buf_slice(&set)};
        code = mrg_schema_load(&source, &client->own, err);
        if (code)
            mrg_error_wrap(err, "the types that %s tells", mrg_grpc_address(client->channel));
    }
    mrg_buf_done(&set);
    client->schema = client->own;
    return code;
}

static enum mrg_err find_rpc(struct grpc_client *client, const struct mrg_request *request,
                             struct mrg_arena *arena, uint64_t until_ms, struct rpc *rpc,
                             struct mrg_error *err)
{
    struct mrg_error own = {.code = MRG_ERR_OK};
    *rpc = (struct rpc){NULL};
    if (client->schema && find_in(client->schema, request, rpc))
        return MRG_ERR_OK;
    if (find_in(mrg_schema_builtin(), request, rpc))
        return MRG_ERR_OK;
    if (!client->schema) {
        enum mrg_err code = reflect(client, until_ms, &own);
        if (code == MRG_ERR_UNAVAILABLE || code == MRG_ERR_TIMEOUT)
            return mrg_error_set(err, code, "%s", own.message);
        if (!code && find_in(client->schema, request, rpc))
            return MRG_ERR_OK;
    }
    *rpc = (struct rpc){.path = mrg_arena_memdup(arena, request->path.ptr, request->path.len)};
    if (is_method_path(request->path) && is_empty(request))
        return MRG_ERR_OK;
    if (own.code)
        return mrg_error_set(err, own.code, "the types are not known: %s", own.message);
    return mrg_error_set(
        err, MRG_ERR_NOT_FOUND, "no method of %s is %.*s %s", mrg_grpc_address(client->channel),
        (int)(request->method.len < 20 ? request->method.len : 20), request->method.ptr, rpc->path);
}

/* The message's JSON text; appended. */
static enum mrg_err make_json(const struct rpc *rpc, const struct mrg_request *request, struct mrg_buf *json,
                              struct mrg_error *err)
{
    if (request->body.bytes.len > 0 && request->body.kind != MRG_BODY_JSON)
        return mrg_error_set(err, MRG_ERR_INVALID, "the body is no JSON; expected a message as an object");
    if (rpc->binding)
        return mrg_route_message(rpc->method, rpc->binding, request, json, err);
    if (request->query.len > 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "%s takes no query; expected the message as body",
                             rpc->path);
    mrg_buf_append_slice(json, request->body.bytes.len > 0 ? request->body.bytes : MRG_SLICE("{}"));
    return MRG_ERR_OK;
}

static enum mrg_err make_message(const struct rpc *rpc, const struct mrg_request *request,
                                 struct mrg_buf *bytes, struct mrg_error *err)
{
    struct mrg_buf json;
    if (!rpc->method)
        return MRG_ERR_OK;
    if (rpc->method->client_streams || rpc->method->server_streams)
        return mrg_error_set(err, MRG_ERR_UNSUPPORTED, "%s streams; only unary methods can be called",
                             rpc->path);
    mrg_buf_init(&json, SIZE_MAX);
    enum mrg_err code = make_json(rpc, request, &json, err);
    if (!code)
        code = mrg_proto_from_json(rpc->schema, rpc->method->input, mrg_buf_slice(&json), false, bytes, err);
    mrg_buf_done(&json);
    return code;
}

/* A route may say that one field of the message is the body. What wraps a body tells which. */
static struct mrg_slice body_of(const struct rpc *rpc, const struct mrg_request *request,
                                struct mrg_arena *arena, struct mrg_slice message)
{
    struct mrg_slice mark = MRG_SLICE("0"), name, value;
    size_t cursor = 0;
    if (!rpc->binding)
        return message;
    struct mrg_slice wrapped = mrg_route_reply(rpc->method, request, arena, mark);
    if (!mrg_json_next(wrapped, &cursor, &name, &value))
        return message;
    if (!mrg_json_member(message, mrg_arena_memdup(arena, name.ptr, name.len), &value))
        return MRG_SLICE("null");
    return (struct mrg_slice){mrg_arena_memdup(arena, value.ptr, value.len), value.len};
}

/* The message as body; what cannot be read is told in err, since the server's message is wrong then. */
static enum mrg_err read_message(const struct rpc *rpc, const struct mrg_request *request,
                                 struct mrg_arena *arena, const struct mrg_grpc_reply *raw,
                                 struct mrg_reply *reply, struct mrg_error *err)
{
    struct mrg_error own;
    struct mrg_buf json;
    if (!raw->has_message)
        return mrg_error_set(err, MRG_ERR_IO, "%s: OK without a message", rpc->path);
    if (!rpc->method) {
        reply->body = (struct mrg_body){raw->message.len > 0 ? MRG_BODY_BINARY : MRG_BODY_NONE, raw->message};
        return MRG_ERR_OK;
    }
    mrg_buf_init(&json, SIZE_MAX);
    enum mrg_err code =
        mrg_proto_to_json(rpc->schema, rpc->method->output, raw->message, MRG_PROTO_NORMAL, &json, &own);
    struct mrg_slice text = mrg_arena_take_buf(arena, &json);
    if (code)
        return mrg_error_set(err, MRG_ERR_IO, "%s: the reply is no %s: %s", rpc->path,
                             rpc->method->output->full_name.ptr, own.message);
    reply->body = (struct mrg_body){MRG_BODY_JSON, body_of(rpc, request, arena, text)};
    return MRG_ERR_OK;
}

/* Takes the status' details out of the trailers. */
static void read_details(const struct rpc *rpc, struct mrg_arena *arena, struct mrg_reply *reply)
{
    size_t kept = 0;
    for (size_t i = 0; i < reply->trailer_count; i++) {
        const struct mrg_header *trailer = &reply->trailers[i];
        struct mrg_slice bytes;
        if (!mrg_slice_eq_str(trailer->name, DETAILS) || reply->grpc_details.ptr ||
            !mrg_base64_decode(arena, trailer->value, &bytes) ||
            !mrg_grpc_details(rpc->schema, bytes, arena, &reply->grpc_details))
            reply->trailers[kept++] = *trailer;
    }
    reply->trailer_count = kept;
}

static enum mrg_err read_reply(const struct rpc *rpc, const struct mrg_request *request,
                               struct mrg_arena *arena, const struct mrg_grpc_reply *raw,
                               struct mrg_reply *reply, struct mrg_error *err)
{
    *reply = (struct mrg_reply){
        .has_grpc_status = true,
        .grpc_status = raw->status,
        .grpc_message = raw->text.len > 0 ? raw->text : (struct mrg_slice){NULL, 0},
        .headers = raw->headers,
        .header_count = raw->header_count,
        .trailers = raw->trailers,
        .trailer_count = raw->trailer_count,
    };
    read_details(rpc, arena, reply);
    if (raw->status != MRG_GRPC_OK)
        return MRG_ERR_OK;
    return read_message(rpc, request, arena, raw, reply, err);
}

static enum mrg_err grpc_client_call(struct mrg_client *base, const struct mrg_request *request,
                                     struct mrg_arena *arena, struct mrg_client_reply *ret_reply,
                                     struct mrg_error *err)
{
    struct grpc_client *client = (struct grpc_client *)base;
    uint64_t until = mrg_client_until(client->timeout_ms);
    struct mrg_client_reply whole = {0};
    struct mrg_grpc_reply raw;
    struct mrg_buf message;
    struct rpc rpc;
    enum mrg_err code = find_rpc(client, request, arena, until, &rpc, err);
    if (code)
        return code;
    mrg_buf_init(&message, SIZE_MAX);
    code = make_message(&rpc, request, &message, err);
    if (!code) {
        const struct mrg_grpc_request out = {
            .method = rpc.path,
            .message = mrg_buf_slice(&message),
            .headers = request->headers,
            .header_count = request->header_count,
            .until_ms = until,
        };
        code = mrg_grpc_unary(client->channel, &out, arena, &raw, err);
    }
    mrg_buf_done(&message);
    if (!code)
        code = read_reply(&rpc, request, arena, &raw, &whole.reply, err);
    if (code)
        return code;
    whole.duration_us = raw.duration_us;
    *ret_reply = whole;
    return MRG_ERR_OK;
}

static enum mrg_err grpc_client_open(const struct mrg_target *target,
                                     const struct mrg_client_options *options, struct mrg_client **ret_client,
                                     struct mrg_error *err)
{
    struct mrg_grpc_channel *channel;
    enum mrg_err code = mrg_grpc_dial(target, options->ca_file, &channel, err);
    if (code)
        return code;
    struct grpc_client *client = mrg_zalloc(sizeof(*client));
    client->base.ops = &mrg_client_grpc;
    client->channel = channel;
    client->schema = options->schema;
    client->timeout_ms = options->timeout_ms;
    *ret_client = &client->base;
    return MRG_ERR_OK;
}

static void grpc_client_close(struct mrg_client *base)
{
    struct grpc_client *client = (struct grpc_client *)base;
    mrg_grpc_hang_up(client->channel);
    mrg_schema_free(client->own);
    free(client);
}

const struct mrg_client_ops mrg_client_grpc = {grpc_client_open, grpc_client_call, grpc_client_close};
