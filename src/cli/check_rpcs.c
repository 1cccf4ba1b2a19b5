// SPDX-License-Identifier: Apache-2.0
#include "cli/check_int.h"

#include <json-c/json.h>

#include "wire/route.h"

static bool is_unary(const struct mrg_method *method)
{
    return !method->client_streams && !method->server_streams;
}

/* ---- for people ---- */

static const char *kind_of(const struct mrg_method *method)
{
    if (method->client_streams)
        return method->server_streams ? "both sides stream" : "the client streams";
    return "the server streams";
}

static void append_route(struct mrg_buf *buf, const struct mrg_binding *binding)
{
    mrg_buf_append_str(buf, mrg_binding_text(binding));
    if (mrg_binding_body(binding)[0])
        mrg_buf_appendf(buf, ", body %s", mrg_binding_body(binding));
    if (mrg_binding_response_body(binding)[0])
        mrg_buf_appendf(buf, ", response body %s", mrg_binding_response_body(binding));
    mrg_buf_append_char(buf, '\n');
}

static void append_method(struct mrg_buf *buf, const struct mrg_method *method, int width)
{
    mrg_buf_appendf(buf, "    %-*s  ", width, method->name.ptr);
    if (!is_unary(method)) {
        mrg_buf_appendf(buf, "not unary: %s; UNIMPLEMENTED\n", kind_of(method));
        return;
    }
    if (method->binding_count == 0)
        mrg_buf_appendf(buf, "POST %s, body *\n", method->path.ptr);
    for (size_t i = 0; i < method->binding_count; i++) {
        if (i > 0)
            mrg_buf_appendf(buf, "    %-*s  ", width, "");
        append_route(buf, method->bindings[i]);
    }
}

static void append_service(struct mrg_buf *buf, const struct mrg_service *service)
{
    int width = 0;
    for (size_t i = 0; i < service->method_count; i++)
        width = width > (int)service->methods[i].name.len ? width : (int)service->methods[i].name.len;
    mrg_buf_appendf(buf, "  %s\n", service->full_name.ptr);
    for (size_t i = 0; i < service->method_count; i++)
        append_method(buf, &service->methods[i], width);
}

void mrg_check_append_rpcs(struct mrg_buf *buf, const struct mrg_schema *schema)
{
    size_t count;
    const struct mrg_service *const *services = mrg_schema_services(schema, &count);
    if (count == 0)
        mrg_buf_append_str(buf, "  none: its protos have no service\n");
    for (size_t i = 0; i < count; i++)
        append_service(buf, services[i]);
}

/* ---- JSON ---- */

static void add(struct json_object *object, const char *key, const char *text)
{
    json_object_object_add(object, key, json_object_new_string(text));
}

static struct json_object *route_json(const char *http, const char *body, const char *response_body)
{
    struct json_object *object = json_object_new_object();
    add(object, "http", http);
    add(object, "body", body);
    add(object, "response_body", response_body);
    return object;
}

static struct json_object *routes_json(const struct mrg_method *method)
{
    struct json_object *list = json_object_new_array();
    if (is_unary(method) && method->binding_count == 0) {
        _cleanup_free_ char *http = mrg_asprintf("POST %s", method->path.ptr);
        json_object_array_add(list, route_json(http, "*", ""));
    }
    for (size_t i = 0; is_unary(method) && i < method->binding_count; i++) {
        const struct mrg_binding *one = method->bindings[i];
        json_object_array_add(
            list, route_json(mrg_binding_text(one), mrg_binding_body(one), mrg_binding_response_body(one)));
    }
    return list;
}

struct json_object *mrg_check_rpcs_json(const struct mrg_schema *schema)
{
    struct json_object *list = json_object_new_array();
    size_t count;
    const struct mrg_service *const *services = mrg_schema_services(schema, &count);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < services[i]->method_count; k++) {
            const struct mrg_method *method = &services[i]->methods[k];
            struct json_object *object = json_object_new_object();
            add(object, "rpc", method->path.ptr + 1);
            add(object, "input", method->input->full_name.ptr);
            add(object, "output", method->output->full_name.ptr);
            json_object_object_add(object, "unary", json_object_new_boolean(is_unary(method)));
            json_object_object_add(object, "routes", routes_json(method));
            json_object_array_add(list, object);
        }
    }
    return list;
}
