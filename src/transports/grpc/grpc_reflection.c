// SPDX-License-Identifier: Apache-2.0
#include "transports/grpc/grpc_int.h"

#include <errno.h>
#include <stdlib.h>

#include "util/base64.h"
#include "util/json.h"
#include "wire/proto.h"

/* One request on its way to an answer. */
struct inquiry {
    const struct rpc_served *served;
    struct mrg_arena *arena;
    struct mrg_buf *buf; /* the answer, JSON */
};

/* A file that is handed out, with the schema that knows its imports. */
struct found {
    const struct mrg_proto_file *file;
    const struct mrg_schema *schema;
};

/* ---- looking up ---- */

/* The schemas of an address in order; the last one is built in, and stands behind the others too. */
static const struct mrg_schema *schema_at(const struct rpc_served *served, size_t i)
{
    if (i < served->count)
        return mrg_schema_of(served->items[i]->shape);
    return i == served->count ? mrg_schema_builtin() : NULL;
}

static struct mrg_slice text_in(struct inquiry *inquiry, struct mrg_slice object, const char *key)
{
    struct mrg_slice value;
    struct mrg_buf buf;
    if (!mrg_json_member(object, key, &value))
        return MRG_SLICE("");
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_json_unescape(&buf, value);
    return mrg_arena_take_buf(inquiry->arena, &buf);
}

/* ---- answers ---- */

static void answer_error(struct inquiry *inquiry, int code, const char *message)
{
    mrg_buf_appendf(inquiry->buf, "\"error_response\":{\"error_code\":%d,\"error_message\":", code);
    mrg_json_append_string(inquiry->buf, mrg_slice_of(message));
    mrg_buf_append_char(inquiry->buf, '}');
}

static bool is_among(const struct mrg_proto_file **files, size_t count, const struct mrg_proto_file *file)
{
    for (size_t i = 0; i < count; i++) {
        if (files[i] == file)
            return true;
    }
    return false;
}

/* The file and all that it imports, each once, the file first. */
static const struct mrg_proto_file **with_imports(const struct found *found, size_t *ret_count)
{
    const struct mrg_proto_file **files = NULL;
    size_t count = 0, room = 0;
    mrg_grow((void **)&files, &room, count, sizeof(*files));
    files[count++] = found->file;
    for (size_t i = 0; i < count; i++) {
        const struct mrg_proto_file *file = files[i];
        for (size_t k = 0; k < file->import_count; k++) {
            const struct mrg_proto_file *import = mrg_schema_file(found->schema, file->imports[k]);
            if (!import || is_among(files, count, import))
                continue;
            mrg_grow((void **)&files, &room, count, sizeof(*files));
            files[count++] = import;
        }
    }
    *ret_count = count;
    return files;
}

static void answer_file(struct inquiry *inquiry, const struct found *found)
{
    if (!found->file) {
        answer_error(inquiry, MRG_GRPC_NOT_FOUND, "no file, symbol or extension of that name is served here");
        return;
    }
    size_t count;
    const struct mrg_proto_file **files = with_imports(found, &count);
    mrg_buf_append_str(inquiry->buf, "\"file_descriptor_response\":{\"file_descriptor_proto\":");
    for (size_t i = 0; i < count; i++) {
        mrg_buf_append_str(inquiry->buf, i ? ",\"" : "[\"");
        mrg_base64_append(inquiry->buf, files[i]->descriptor);
        mrg_buf_append_char(inquiry->buf, '"');
    }
    mrg_buf_append_str(inquiry->buf, "]}");
    free(files);
}

static void by_name(struct inquiry *inquiry, struct mrg_slice request)
{
    struct mrg_slice name = text_in(inquiry, request, "file_by_filename");
    struct found found = {NULL, NULL};
    for (size_t i = 0; !found.file && (found.schema = schema_at(inquiry->served, i)); i++)
        found.file = mrg_schema_file(found.schema, name);
    answer_file(inquiry, &found);
}

static void by_symbol(struct inquiry *inquiry, struct mrg_slice request)
{
    struct mrg_slice symbol = text_in(inquiry, request, "file_containing_symbol");
    struct found found = {NULL, NULL};
    for (size_t i = 0; !found.file && (found.schema = schema_at(inquiry->served, i)); i++)
        found.file = mrg_schema_file_of(found.schema, symbol);
    answer_file(inquiry, &found);
}

static void by_extension(struct inquiry *inquiry, struct mrg_slice request)
{
    struct found found = {NULL, NULL};
    struct mrg_slice extension, number;
    if (mrg_json_member(request, "file_containing_extension", &extension) &&
        mrg_json_member(extension, "extension_number", &number)) {
        struct mrg_slice type = text_in(inquiry, extension, "containing_type");
        int32_t wanted = (int32_t)strtol(mrg_arena_memdup(inquiry->arena, number.ptr, number.len), NULL, 10);
        for (size_t i = 0; !found.file && (found.schema = schema_at(inquiry->served, i)); i++)
            found.file = mrg_schema_file_of_extension(found.schema, type, wanted);
    }
    answer_file(inquiry, &found);
}

static void numbers(struct inquiry *inquiry, struct mrg_slice request)
{
    struct mrg_slice type = text_in(inquiry, request, "all_extension_numbers_of_type");
    const struct mrg_schema *schema = NULL;
    for (size_t i = 0; (schema = schema_at(inquiry->served, i)) && !mrg_schema_message(schema, type); i++)
        ;
    if (!schema) {
        answer_error(inquiry, MRG_GRPC_NOT_FOUND, "no type of that name is served here");
        return;
    }
    size_t count;
    const int32_t *found = mrg_schema_extensions(schema, inquiry->arena, type, &count);
    mrg_buf_append_str(inquiry->buf, "\"all_extension_numbers_response\":{\"base_type_name\":");
    mrg_json_append_string(inquiry->buf, type);
    mrg_buf_append_str(inquiry->buf, ",\"extension_number\":[");
    for (size_t i = 0; i < count; i++)
        mrg_buf_appendf(inquiry->buf, "%s%d", i ? "," : "", (int)found[i]);
    mrg_buf_append_str(inquiry->buf, "]}");
}

static bool append_service(void *ctx, struct mrg_slice name)
{
    struct mrg_buf *buf = ctx;
    mrg_buf_append_str(buf, buf->data[buf->len - 1] == '[' ? "{\"name\":" : ",{\"name\":");
    mrg_json_append_string(buf, name);
    mrg_buf_append_char(buf, '}');
    return true;
}

static void services(struct inquiry *inquiry, struct mrg_slice request)
{
    (void)request;
    mrg_buf_append_str(inquiry->buf, "\"list_services_response\":{\"service\":[");
    rpc_served_each(inquiry->served, append_service, inquiry->buf);
    mrg_buf_append_str(inquiry->buf, "]}");
}

static const struct {
    const char *member; /* of the request's oneof */
    void (*answer)(struct inquiry *inquiry, struct mrg_slice request);
} questions[] = {
    {"file_by_filename", by_name},
    {"file_containing_symbol", by_symbol},
    {"file_containing_extension", by_extension},
    {"all_extension_numbers_of_type", numbers},
    {"list_services", services},
};

void rpc_reflection_answer(const struct rpc_served *served, struct mrg_slice request, struct mrg_buf *buf)
{
    struct inquiry inquiry = {served, mrg_arena_new(0), buf};
    struct mrg_slice host, value;
    size_t i = 0;
    mrg_buf_append_str(buf, "{\"valid_host\":");
    mrg_buf_append_slice(buf, mrg_json_member(request, "host", &host) ? host : MRG_SLICE("\"\""));
    mrg_buf_append_str(buf, ",\"original_request\":");
    mrg_buf_append_slice(buf, request);
    mrg_buf_append_char(buf, ',');
    while (i < MRG_ARRAY_LEN(questions) && !mrg_json_member(request, questions[i].member, &value))
        i++;
    if (i < MRG_ARRAY_LEN(questions))
        questions[i].answer(&inquiry, request);
    else
        answer_error(&inquiry, MRG_GRPC_INVALID_ARGUMENT, "the request asks nothing");
    mrg_buf_append_char(buf, '}');
    mrg_arena_free(inquiry.arena);
}

/* ---- the stream: one answer to each request, in order ---- */

static void on_message(struct rpc_call *call, struct mrg_slice bytes)
{
    struct mrg_buf *request = &call->queue->json, *message = &call->queue->bytes;
    struct rpc_served served;
    struct mrg_buf json;
    mrg_buf_clear(request);
    mrg_buf_clear(message);
    request->max = MRG_MAX_BODY;
    if (mrg_proto_to_json(call->schema, call->method->input, bytes, MRG_PROTO_NORMAL, request, NULL) ||
        mrg_buf_failed(request)) {
        rpc_stream_end(call, MRG_GRPC_INTERNAL, "the message is no valid ServerReflectionRequest");
        return;
    }
    mrg_buf_init(&json, SIZE_MAX);
    rpc_served_init(&served, call->listener);
    rpc_reflection_answer(&served, mrg_buf_slice(request), &json);
    rpc_served_done(&served);
    if (mrg_proto_from_json(call->schema, call->method->output, mrg_buf_slice(&json), false, message, NULL))
        rpc_stream_end(call, MRG_GRPC_INTERNAL, "the answer is no valid ServerReflectionResponse");
    else
        rpc_stream_send(call, mrg_buf_slice(message));
    mrg_buf_done(&json);
}

static void on_half_closed(struct rpc_call *call)
{
    rpc_stream_end(call, MRG_GRPC_OK, "");
}

const struct rpc_stream_ops rpc_reflection = {
    .message = on_message,
    .half_closed = on_half_closed,
    .sent = rpc_call_receive,
};
