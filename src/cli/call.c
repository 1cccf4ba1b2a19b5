// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/call_int.h"
#include "core/jsontext.h"
#include "core/limits.h"
#include "util/uri.h"

const struct mrg_cli_option mrg_call_options[] = {
    {"method", 'X', "METHOD", "The method; default GET, or POST with -d."},
    {"header", 'H', "NAME:VALUE", "A header, or metadata.", true},
    {"data", 'd', "JSON", "The body; @FILE takes it from a file, @- from standard input."},
    {"session", 0, "NAME", "The session of a Mirage server that the call belongs to."},
    {"dependency", 0, "NAME", "ZeroMQ: the dependency, where several share an address."},
    MRG_CALL_TARGET_OPTIONS,
    {"verbose", 'v', NULL, "Print headers and trailers too."},
    {"json", 0, NULL, "Print one JSON document."},
    {0},
};

static enum mrg_err read_all(int file, const char *name, struct mrg_buf *buf, struct mrg_error *err)
{
    char piece[16384];
    ssize_t got;
    while ((got = read(file, piece, sizeof(piece))) != 0 && !mrg_buf_failed(buf)) {
        if (got > 0)
            mrg_buf_append(buf, piece, (size_t)got);
        else if (errno != EINTR)
            return mrg_error_set(err, MRG_ERR_NOT_FOUND, "%s: %s", name, strerror(errno));
    }
    if (mrg_buf_failed(buf))
        return mrg_error_set(err, MRG_ERR_INVALID, "%s has more than %zu bytes", name, buf->max);
    return MRG_ERR_OK;
}

static enum mrg_err read_data(const char *data, struct mrg_arena *arena, struct mrg_slice *ret_bytes,
                              struct mrg_error *err)
{
    struct mrg_buf buf;
    enum mrg_err code;
    if (data[0] != '@') {
        *ret_bytes = mrg_slice_of(data);
        return MRG_ERR_OK;
    }
    mrg_buf_init(&buf, MRG_MAX_BODY_CEILING);
    if (strcmp(data, "@-") == 0) {
        code = read_all(STDIN_FILENO, "standard input", &buf, err);
    } else {
        int file = open(data + 1, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            return mrg_error_set(err, MRG_ERR_NOT_FOUND, "-d %s: %s", data, strerror(errno));
        code = read_all(file, data + 1, &buf, err);
        close(file);
    }
    if (!code)
        *ret_bytes = (struct mrg_slice){mrg_arena_memdup(arena, buf.data ? buf.data : "", buf.len), buf.len};
    mrg_buf_done(&buf);
    return code;
}

static enum mrg_err read_header(const char *text, struct mrg_arena *arena, struct mrg_header *ret_header,
                                struct mrg_error *err)
{
    const char *colon = strchr(text, ':');
    struct mrg_slice name = {text, colon ? (size_t)(colon - text) : 0};
    struct mrg_slice value = mrg_slice_trim(mrg_slice_of(colon ? colon + 1 : NULL));
    if (!mrg_is_token(name) || mrg_has_control(value))
        return mrg_error_set(err, MRG_ERR_INVALID, "-H %s: expected NAME:VALUE", text);
    *ret_header = (struct mrg_header){
        .name = mrg_jsontext_lower(arena, name),
        .value = {mrg_arena_memdup(arena, value.ptr, value.len), value.len},
    };
    return MRG_ERR_OK;
}

static enum mrg_err read_headers(const struct mrg_cli_values *values, struct mrg_arena *arena,
                                 struct mrg_request *request, struct mrg_error *err)
{
    const char *text, *session = mrg_cli_value(values, "session");
    size_t count = 0, cursor = 0;
    while (mrg_cli_each(values, "header", &cursor))
        count++;
    request->headers = mrg_arena_zalloc(arena, (count + 1) * sizeof(*request->headers));
    for (cursor = 0; (text = mrg_cli_each(values, "header", &cursor));) {
        enum mrg_err code = read_header(text, arena, &request->headers[request->header_count++], err);
        if (code)
            return code;
    }
    if (session &&
        (!session[0] || mrg_has_control(mrg_slice_of(session)) || strlen(session) > MRG_MAX_SESSION_NAME))
        return mrg_error_set(err, MRG_ERR_INVALID, "--session: expected a name of 1 to %d characters",
                             MRG_MAX_SESSION_NAME);
    if (session)
        request->headers[request->header_count++] =
            (struct mrg_header){MRG_SLICE("mirage-session"), mrg_slice_of(session)};
    return MRG_ERR_OK;
}

static enum mrg_err make_request(const struct mrg_cli_values *values, const char *path,
                                 struct mrg_arena *arena, struct mrg_request *request, struct mrg_error *err)
{
    const char *data = mrg_cli_value(values, "data");
    const char *method = mrg_cli_value(values, "method");
    struct mrg_slice bytes = {"", 0};
    request->method = mrg_slice_of(method ? method : data ? "POST" : "GET");
    if (!mrg_is_token(request->method))
        return mrg_error_set(err, MRG_ERR_INVALID, "-X %s: expected a method such as GET", method);
    mrg_uri_split(mrg_slice_of(path), &request->path, &request->query);
    if (request->path.len == 0)
        request->path = MRG_SLICE("/");
    enum mrg_err code = read_headers(values, arena, request, err);
    if (!code && data)
        code = read_data(data, arena, &bytes, err);
    if (!code)
        request->body = mrg_body_classify(bytes, mrg_request_header(request, "content-type"));
    return code;
}

static void print_reply(const struct mrg_cli_values *values, const struct mrg_client_reply *reply)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    if (mrg_cli_value(values, "json"))
        mrg_call_append_json(&buf, reply);
    else
        mrg_call_append_text(&buf, reply, mrg_cli_value(values, "verbose") != NULL);
    fwrite(buf.data, 1, buf.len, stdout);
    mrg_buf_done(&buf);
}

static enum mrg_err call(const struct mrg_cli_values *values, const struct mrg_client_options *options,
                         struct mrg_arena *arena, struct mrg_client_reply *reply, struct mrg_error *err)
{
    struct mrg_client *client = NULL;
    struct mrg_request request = {.header_count = 0};
    const char *path;
    enum mrg_err code = mrg_client_open(mrg_cli_operand(values, 0), options, &client, &path, err);
    if (!code)
        code = make_request(values, path, arena, &request, err);
    if (!code)
        code = mrg_client_call(client, &request, arena, reply, err);
    mrg_client_close(client);
    return code;
}

int mrg_cli_call(const struct mrg_cli_values *values)
{
    struct mrg_client_options options = {.dependency = mrg_cli_value(values, "dependency")};
    struct mrg_client_reply reply;
    struct mrg_schema *schema = NULL;
    struct mrg_error err;
    struct mrg_arena *arena = mrg_arena_new(0);
    enum mrg_err code = mrg_call_target(values, &options, &err);
    if (!code)
        code = mrg_call_schema(values, &schema, &err);
    options.schema = schema;
    if (!code)
        code = call(values, &options, arena, &reply, &err);
    int status = code ? mrg_call_failed(code, &err) : mrg_call_exit(&reply.reply);
    if (!code)
        print_reply(values, &reply);
    mrg_schema_free(schema);
    mrg_arena_free(arena);
    return status;
}
