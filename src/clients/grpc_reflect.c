// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/descriptor.pb-c.h>
#include <grpc/reflection/v1/reflection.pb-c.h>
#include <string.h>

#include "clients/grpc_int.h"
#include "core/limits.h"
#include "wire/proto.h"

#define V1      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
#define V1ALPHA "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"

typedef Grpc__Reflection__V1__ServerReflectionRequest Request;
typedef Grpc__Reflection__V1__ServerReflectionResponse Response;
typedef Google__Protobuf__FileDescriptorProto File;

/* One file that the server told. */
struct told {
    char *name;
    char **imports;
    size_t import_count;
    struct mrg_slice bytes; /* serialised; in the arena */
    bool written;           /* it is in the set, or on its way there */
};

/* One walk through a server's types. Both versions of the protocol have the same messages. */
struct walk {
    struct mrg_grpc_stream *stream;
    struct mrg_arena *arena;
    struct told *files;
    size_t count;
    size_t capacity;
    size_t bytes;       /* of all files */
    size_t imports;     /* of all files */
    struct mrg_buf out; /* a request, serialised */
    struct mrg_buf in;  /* a response, likewise */
};

static struct told *find_file(struct walk *walk, const char *name)
{
    for (size_t i = 0; i < walk->count; i++) {
        if (strcmp(walk->files[i].name, name) == 0)
            return &walk->files[i];
    }
    return NULL;
}

/* Checked first: protobuf-c has no limit of depth. */
static enum mrg_err read_file(struct walk *walk, struct mrg_slice bytes, struct mrg_error *err)
{
    const struct mrg_schema *builtin = mrg_schema_builtin();
    const struct mrg_message *type =
        mrg_schema_message(builtin, MRG_SLICE("google.protobuf.FileDescriptorProto"));
    struct mrg_error own;
    if (mrg_proto_check(type, bytes, &own) != MRG_ERR_OK)
        return mrg_error_set(err, MRG_ERR_IO, "reflection gave a file that is no FileDescriptorProto: %s",
                             own.message);
    File *file = google__protobuf__file_descriptor_proto__unpack(NULL, bytes.len, (const uint8_t *)bytes.ptr);
    if (!file)
        return mrg_error_set(err, MRG_ERR_IO, "reflection gave a file that is no FileDescriptorProto");
    const char *name = file->name ? file->name : "";
    if (!find_file(walk, name)) {
        mrg_grow((void **)&walk->files, &walk->capacity, walk->count, sizeof(*walk->files));
        struct told *told = &walk->files[walk->count++];
        *told =
            (struct told){.name = mrg_arena_strdup(walk->arena, name), .import_count = file->n_dependency};
        told->bytes = (struct mrg_slice){mrg_arena_memdup(walk->arena, bytes.ptr, bytes.len), bytes.len};
        told->imports = mrg_arena_alloc(walk->arena, (file->n_dependency + 1) * sizeof(*told->imports));
        for (size_t i = 0; i < file->n_dependency; i++)
            told->imports[i] = mrg_arena_strdup(walk->arena, file->dependency[i]);
        walk->bytes += bytes.len;
        walk->imports += file->n_dependency;
    }
    google__protobuf__file_descriptor_proto__free_unpacked(file, NULL);
    if (walk->bytes > MRG_MAX_DESCRIPTORS || walk->count > MRG_MAX_REFLECTED ||
        walk->imports > MRG_MAX_REFLECTED_IMPORTS)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE,
                             "reflection gave more than %u bytes of descriptors, %u files or %u imports",
                             MRG_MAX_DESCRIPTORS, MRG_MAX_REFLECTED, MRG_MAX_REFLECTED_IMPORTS);
    return MRG_ERR_OK;
}

static enum mrg_err ask(struct walk *walk, const Request *request, Response **ret_response,
                        struct mrg_error *err)
{
    size_t size = grpc__reflection__v1__server_reflection_request__get_packed_size(request);
    mrg_buf_clear(&walk->out);
    mrg_buf_clear(&walk->in);
    mrg_buf_reserve(&walk->out, size + 1);
    grpc__reflection__v1__server_reflection_request__pack(request, (uint8_t *)walk->out.data);
    enum mrg_err code =
        mrg_grpc_stream_exchange(walk->stream, (struct mrg_slice){walk->out.data, size}, &walk->in, err);
    if (code)
        return code;
    *ret_response = grpc__reflection__v1__server_reflection_response__unpack(NULL, walk->in.len,
                                                                             (const uint8_t *)walk->in.data);
    if (!*ret_response)
        return mrg_error_set(err, MRG_ERR_IO,
                             "reflection gave a message that is no ServerReflectionResponse");
    return MRG_ERR_OK;
}

static void free_response(Response **response)
{
    if (*response)
        grpc__reflection__v1__server_reflection_response__free_unpacked(*response, NULL);
}

/* Asks for a file by a name in it or by its own; what the server does not know is passed over. */
static enum mrg_err ask_files(struct walk *walk, char *symbol, char *name, struct mrg_error *err)
{
    Request request = GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__INIT;
    _cleanup_(free_response) Response *response = NULL;
    if (symbol) {
        request.message_request_case =
            GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL;
        request.file_containing_symbol = symbol;
    } else {
        request.message_request_case =
            GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME;
        request.file_by_filename = name;
    }
    enum mrg_err code = ask(walk, &request, &response, err);
    if (code ||
        response->message_response_case !=
            GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE)
        return code;
    const Grpc__Reflection__V1__FileDescriptorResponse *files = response->file_descriptor_response;
    for (size_t i = 0; i < files->n_file_descriptor_proto && !code; i++) {
        const ProtobufCBinaryData *one = &files->file_descriptor_proto[i];
        code = read_file(walk, (struct mrg_slice){(const char *)one->data, one->len}, err);
    }
    return code;
}

static enum mrg_err ask_services(struct walk *walk, struct mrg_error *err)
{
    Request request = GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__INIT;
    _cleanup_(free_response) Response *response = NULL;
    char all[] = "*";
    request.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES;
    request.list_services = all;
    enum mrg_err code = ask(walk, &request, &response, err);
    if (code)
        return code;
    if (response->message_response_case ==
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE) {
        const Grpc__Reflection__V1__ListServiceResponse *list = response->list_services_response;
        for (size_t i = 0; i < list->n_service && !code; i++)
            code = ask_files(walk, list->service[i]->name, NULL, err);
    }
    return code;
}

/* Servers send what a file imports with it, or wait to be asked. */
static enum mrg_err ask_imports(struct walk *walk, struct mrg_error *err)
{
    for (size_t i = 0; i < walk->count; i++) {
        for (size_t k = 0; k < walk->files[i].import_count; k++) {
            char *name = walk->files[i].imports[k];
            enum mrg_err code = find_file(walk, name) ? MRG_ERR_OK : ask_files(walk, NULL, name, err);
            if (code)
                return code;
        }
    }
    return MRG_ERR_OK;
}

static void append_length(struct mrg_buf *buf, size_t value)
{
    for (; value >= 0x80; value >>= 7)
        mrg_buf_append_char(buf, (char)(value | 0x80));
    mrg_buf_append_char(buf, (char)value);
}

/* Appends the file that is at the top of the stack once its imports are there. */
static void append_tree(struct walk *walk, struct told **stack, struct told *root, struct mrg_buf *buf)
{
    size_t depth = 0;
    stack[depth++] = root;
    root->written = true;
    while (depth > 0) {
        struct told *top = stack[depth - 1], *next = NULL;
        for (size_t i = 0; i < top->import_count && !next; i++) {
            next = find_file(walk, top->imports[i]);
            if (next && next->written)
                next = NULL;
        }
        if (next) {
            next->written = true;
            stack[depth++] = next;
            continue;
        }
        mrg_buf_append_char(buf, '\n'); /* field 1 of FileDescriptorSet, with a length */
        append_length(buf, top->bytes.len);
        mrg_buf_append_slice(buf, top->bytes);
        depth--;
    }
}

static void append_set(struct walk *walk, struct mrg_buf *buf)
{
    struct told **stack = mrg_zalloc((walk->count + 1) * sizeof(struct told *));
    for (size_t i = 0; i < walk->count; i++) {
        if (!walk->files[i].written)
            append_tree(walk, stack, &walk->files[i], buf);
    }
    free(stack);
}

static enum mrg_err walk_all(struct walk *walk, struct mrg_grpc_channel *channel, const char *method,
                             uint64_t until_ms, struct mrg_error *err)
{
    enum mrg_err code = mrg_grpc_stream_open(channel, method, until_ms, &walk->stream, err);
    if (!code)
        code = ask_services(walk, err);
    if (!code)
        code = ask_imports(walk, err);
    mrg_grpc_stream_close(MRG_TAKE(walk->stream));
    return code;
}

enum mrg_err mrg_grpc_reflect(struct mrg_grpc_channel *channel, uint64_t until_ms, struct mrg_buf *buf,
                              struct mrg_error *err)
{
    struct walk walk = {.arena = mrg_arena_new(0)};
    mrg_buf_init(&walk.out, SIZE_MAX);
    mrg_buf_init(&walk.in, MRG_MAX_REPLY_BODY);
    enum mrg_err code = walk_all(&walk, channel, V1, until_ms, err);
    if (code == MRG_ERR_UNSUPPORTED)
        code = walk_all(&walk, channel, V1ALPHA, until_ms, err);
    if (code == MRG_ERR_UNSUPPORTED)
        mrg_error_set(err, code, "%s has no reflection", mrg_grpc_address(channel));
    else if (!code && walk.count == 0)
        code = mrg_error_set(err, MRG_ERR_NOT_FOUND, "%s describes no services by reflection",
                             mrg_grpc_address(channel));
    if (!code)
        append_set(&walk, buf);
    if (!code && mrg_buf_failed(buf))
        code = mrg_error_set(err, MRG_ERR_TOO_LARGE, "%s has more than %zu bytes of descriptors",
                             mrg_grpc_address(channel), buf->max);
    mrg_buf_done(&walk.out);
    mrg_buf_done(&walk.in);
    free(walk.files);
    mrg_arena_free(walk.arena);
    return code;
}

enum mrg_err mrg_client_reflect(const char *address, const struct mrg_client_options *options,
                                struct mrg_buf *buf, struct mrg_error *err)
{
    struct mrg_grpc_channel *channel = NULL;
    const struct mrg_client_ops *ops;
    struct mrg_target target;
    _cleanup_free_ char *url =
        strstr(address, "://") ? mrg_strdup(address) : mrg_asprintf("grpc://%s", address);
    enum mrg_err code = mrg_target_parse(url, &target, &ops, err);
    if (code)
        return code;
    if (ops != &mrg_client_grpc)
        return mrg_error_set(err, MRG_ERR_INVALID, "%s: expected host:port, grpc:// or grpcs://", address);
    code = mrg_grpc_dial(&target, options->ca_file, &channel, err);
    if (!code)
        code = mrg_grpc_reflect(channel, mrg_client_until(options->timeout_ms), buf, err);
    mrg_grpc_hang_up(channel);
    return code;
}
