// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/call_int.h"
#include "core/limits.h"
#include "util/json.h"
#include "wire/route.h"

const struct mrg_cli_option mrg_ls_options[] = {
    MRG_CALL_TARGET_OPTIONS,
    {"json", 0, NULL, "Print one JSON document."},
    {0},
};

/* ---- gRPC: services and methods ---- */

static int type_width(const struct mrg_message *type, bool streams)
{
    return (int)type->full_name.len + (streams ? (int)strlen("stream ") : 0);
}

static void append_type(struct mrg_buf *buf, const struct mrg_message *type, bool streams, int width)
{
    mrg_buf_appendf(buf, "%s%s%*s", streams ? "stream " : "", type->full_name.ptr,
                    width > 0 ? width - type_width(type, streams) : 0, "");
}

static void append_service(struct mrg_buf *buf, const struct mrg_service *service)
{
    int name = 0, input = 0, output = 0;
    for (size_t i = 0; i < service->method_count; i++) {
        const struct mrg_method *one = &service->methods[i];
        int in = type_width(one->input, one->client_streams),
            out = type_width(one->output, one->server_streams);
        name = name > (int)one->name.len ? name : (int)one->name.len;
        input = input > in ? input : in;
        output = output > out ? output : out;
    }
    mrg_buf_appendf(buf, "%s\n", service->full_name.ptr);
    for (size_t i = 0; i < service->method_count; i++) {
        const struct mrg_method *one = &service->methods[i];
        mrg_buf_appendf(buf, "  %-*.*s  ", name, (int)one->name.len, one->name.ptr);
        append_type(buf, one->input, one->client_streams, input);
        mrg_buf_append_str(buf, " -> ");
        append_type(buf, one->output, one->server_streams, one->binding_count > 0 ? output : 0);
        for (size_t k = 0; k < one->binding_count; k++)
            mrg_buf_appendf(buf, "%s%s", k > 0 ? ", " : "  ", mrg_binding_text(one->bindings[k]));
        mrg_buf_append_char(buf, '\n');
    }
}

static void append_services(struct mrg_buf *buf, const struct mrg_schema *schema)
{
    size_t count;
    const struct mrg_service *const *services = mrg_schema_services(schema, &count);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            mrg_buf_append_char(buf, '\n');
        append_service(buf, services[i]);
    }
}

static void append_method_json(struct mrg_buf *buf, const struct mrg_method *method)
{
    mrg_buf_append_str(buf, "{\"name\":");
    mrg_json_append_string(buf, method->name);
    mrg_buf_append_str(buf, ",\"path\":");
    mrg_json_append_string(buf, method->path);
    mrg_buf_append_str(buf, ",\"input\":");
    mrg_json_append_string(buf, method->input->full_name);
    mrg_buf_append_str(buf, ",\"output\":");
    mrg_json_append_string(buf, method->output->full_name);
    mrg_buf_appendf(buf, ",\"client_streams\":%s,\"server_streams\":%s,\"routes\":[",
                    method->client_streams ? "true" : "false", method->server_streams ? "true" : "false");
    for (size_t i = 0; i < method->binding_count; i++) {
        if (i > 0)
            mrg_buf_append_char(buf, ',');
        mrg_json_append_string(buf, mrg_slice_of(mrg_binding_text(method->bindings[i])));
    }
    mrg_buf_append_str(buf, "]}");
}

static void append_services_json(struct mrg_buf *buf, const struct mrg_schema *schema)
{
    size_t count;
    const struct mrg_service *const *services = mrg_schema_services(schema, &count);
    mrg_buf_append_str(buf, "{\"services\":[");
    for (size_t i = 0; i < count; i++) {
        mrg_buf_append_str(buf, i > 0 ? ",{\"name\":" : "{\"name\":");
        mrg_json_append_string(buf, services[i]->full_name);
        mrg_buf_append_str(buf, ",\"methods\":[");
        for (size_t k = 0; k < services[i]->method_count; k++) {
            if (k > 0)
                mrg_buf_append_char(buf, ',');
            append_method_json(buf, &services[i]->methods[k]);
        }
        mrg_buf_append_str(buf, "]}");
    }
    mrg_buf_append_str(buf, "]}\n");
}

static int list_services(const struct mrg_cli_values *values, const char *target,
                         const struct mrg_client_options *options, struct mrg_buf *buf)
{
    struct mrg_schema *schema = NULL;
    struct mrg_error err;
    struct mrg_buf set;
    mrg_buf_init(&set, MRG_MAX_DESCRIPTORS);
    enum mrg_err code = mrg_call_schema(values, &schema, &err);
    if (!code && !schema) {
        code = mrg_client_reflect(target, options, &set, &err);
        const struct mrg_schema_source source = {.reflected = mrg_buf_slice(&set)};
        if (!code)
            code = mrg_schema_load(&source, &schema, &err);
    }
    mrg_buf_done(&set);
    if (code)
        return mrg_call_failed(code, &err);
    if (mrg_cli_value(values, "json"))
        append_services_json(buf, schema);
    else
        append_services(buf, schema);
    mrg_schema_free(schema);
    return MRG_EXIT_OK;
}

/* ---- a Mirage server: its dependencies ---- */

static enum mrg_err ask_health(const char *target, const struct mrg_client_options *options,
                               struct mrg_arena *arena, struct mrg_client_reply *reply, struct mrg_error *err)
{
    struct mrg_client *client = NULL;
    const struct mrg_request request = {.method = MRG_SLICE("GET"), .path = MRG_SLICE("/__mock__/health")};
    enum mrg_err code = mrg_client_open(target, options, &client, NULL, err);
    if (!code)
        code = mrg_client_call(client, &request, arena, reply, err);
    mrg_client_close(client);
    return code;
}

/* False when the reply is not that of a Mirage server. */
static bool append_names(struct mrg_buf *buf, const struct mrg_reply *reply)
{
    struct mrg_slice list, item;
    size_t cursor = 0;
    if (reply->status != 200 || reply->body.kind != MRG_BODY_JSON ||
        !mrg_json_member(reply->body.bytes, "dependencies", &list) || *list.ptr != '[')
        return false;
    while (mrg_json_next_item(list, &cursor, &item)) {
        if (*item.ptr != '"')
            return false;
        mrg_json_unescape(buf, item);
        mrg_buf_append_char(buf, '\n');
    }
    return true;
}

static int list_dependencies(const struct mrg_cli_values *values, const char *target,
                             const struct mrg_client_options *options, struct mrg_buf *buf)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_client_reply reply;
    struct mrg_error err;
    int status = MRG_EXIT_OK;
    enum mrg_err code = ask_health(target, options, arena, &reply, &err);
    if (code) {
        status = mrg_call_failed(code, &err);
    } else if (!append_names(buf, &reply.reply)) {
        mrg_cli_complain("%s is no Mirage server: GET /__mock__/health does not list dependencies", target);
        mrg_buf_clear(buf);
        status = MRG_EXIT_NO;
    } else if (mrg_cli_value(values, "json")) {
        mrg_buf_clear(buf);
        mrg_buf_append_slice(buf, reply.reply.body.bytes);
        mrg_buf_append_char(buf, '\n');
    }
    mrg_arena_free(arena);
    return status;
}

int mrg_cli_ls(const struct mrg_cli_values *values)
{
    const char *target = mrg_cli_operand(values, 0);
    struct mrg_client_options options = {0};
    struct mrg_error err;
    struct mrg_buf buf;
    enum mrg_err code = mrg_call_target(values, &options, &err);
    if (code)
        return mrg_call_failed(code, &err);
    mrg_buf_init(&buf, SIZE_MAX);
    bool grpc = strncasecmp(target, "grpc://", 7) == 0 || strncasecmp(target, "grpcs://", 8) == 0;
    int status = grpc ? list_services(values, target, &options, &buf)
                      : list_dependencies(values, target, &options, &buf);
    if (buf.len > 0)
        fwrite(buf.data, 1, buf.len, stdout);
    mrg_buf_done(&buf);
    return status;
}
