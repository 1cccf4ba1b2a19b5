// SPDX-License-Identifier: Apache-2.0
/* RPCs' routes: those of annotations, and those of the configuration, which win. */
#include "wire/schema.h"

#include "schema_help.h"

#define RULES "corner/v1/rules.proto"

static const char *const rules[] = {RULES, NULL};

static const struct mrg_method *method_of(const struct mrg_schema *schema, const char *path)
{
    const struct mrg_method *method = mrg_schema_method(schema, SLICE(path));
    assert_non_null(method);
    return method;
}

static void test_annotations(void **state)
{
    (void)state;
    static const struct {
        const char *rpc;
        size_t count;
        const char *texts[3];
    } cases[] = {
        {"corner.rules.v1.Rules/Get", 1, {"GET /items/{id}"}},
        {"corner.rules.v1.Rules/Put", 1, {"PUT /items/{id}"}},
        {"corner.rules.v1.Rules/Make", 1, {"POST /items"}},
        {"corner.rules.v1.Rules/Drop",
         3,
         {"DELETE /items/{id}", "POST /items/{id}:drop", "GET /drop/{inner.name=a/**}"}},
        {"corner.rules.v1.Rules/Change", 1, {"PATCH /items/{id}"}},
        {"corner.rules.v1.Rules/Search", 1, {"SEARCH /items"}},
        {"corner.rules.v1.Rules/Plain", 0, {NULL}},
    };
    struct mrg_schema *schema = LOAD(RULES);
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        const struct mrg_method *method = method_of(schema, cases[i].rpc);
        assert_int_equal(method->binding_count, cases[i].count);
        for (size_t j = 0; j < method->binding_count; j++)
            assert_string_equal(mrg_binding_text(method->bindings[j]), cases[i].texts[j]);
    }
    mrg_schema_free(schema);
}

/* What a rule says of bodies reaches the binding: seen in what it makes of a message. */
static void test_bodies(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(RULES);
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_request request = {0};
    struct mrg_slice message = MRG_SLICE("{\"id\":\"a\",\"count\":2,\"inner\":{\"name\":\"n\"}}");
    mrg_route_request(method_of(schema, "corner.rules.v1.Rules/Put"), arena, message, &request);
    assert_true(mrg_slice_eq_str(request.method, "PUT"));
    assert_true(mrg_slice_eq_str(request.path, "/items/a"));
    assert_true(mrg_slice_eq_str(request.body.bytes, "{\"name\":\"n\"}"));
    struct mrg_slice reply = mrg_route_reply(method_of(schema, "corner.rules.v1.Rules/Put"), &request, arena,
                                             MRG_SLICE("{\"name\":\"m\"}"));
    assert_true(mrg_slice_eq_str(reply, "{\"inner\":{\"name\":\"m\"}}"));
    mrg_arena_free(arena);
    mrg_schema_free(schema);
}

static void test_routes_of_the_configuration(void **state)
{
    (void)state;
    static char get[] = "corner.rules.v1.Rules/Get";
    static char drop[] = "corner.rules.v1.Rules/Drop";
    static char plain[] = "/corner.rules.v1.Rules/Plain";
    static char http[][32] = {"GET /other/{id}", "DELETE /one/{id}", "DELETE /two/{id}", "POST /plain"};
    const struct mrg_route_config routes[] = {{.rpc = get, .http = http[0]},
                                              {.rpc = drop, .http = http[1]},
                                              {.rpc = drop, .http = http[2]},
                                              {.rpc = plain, .http = http[3]}};
    struct mrg_schema *schema;
    struct mrg_error err;
    assert_int_equal(load_with(test_roots, 1, rules, routes, 4, &schema, &err), MRG_ERR_OK);
    const struct mrg_method *method = method_of(schema, get);
    assert_int_equal(method->binding_count, 1);
    assert_string_equal(mrg_binding_text(method->bindings[0]), "GET /other/{id}");
    method = method_of(schema, drop);
    assert_int_equal(method->binding_count, 2);
    assert_string_equal(mrg_binding_text(method->bindings[0]), "DELETE /one/{id}");
    assert_string_equal(mrg_binding_text(method->bindings[1]), "DELETE /two/{id}");
    method = method_of(schema, plain);
    assert_string_equal(mrg_binding_text(method->bindings[0]), "POST /plain");
    struct mrg_hash128 with = mrg_schema_shape(schema)->ops->identity(mrg_schema_shape(schema));
    mrg_schema_free(schema);

    schema = LOAD(RULES);
    struct mrg_hash128 without = mrg_schema_shape(schema)->ops->identity(mrg_schema_shape(schema));
    assert_memory_not_equal(&with, &without, sizeof(with));
    mrg_schema_free(schema);
}

/* POST, PUT and PATCH have a body unless the route says otherwise. */
static void test_default_bodies(void **state)
{
    (void)state;
    static char rpc[] = "corner.rules.v1.Rules/Plain";
    static char none[] = "";
    static char http[][16] = {"POST /a", "PUT /a", "PATCH /a", "DELETE /a", "POST /a"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(http); i++) {
        struct mrg_route_config route = {.rpc = rpc, .http = http[i], .body = i == 4 ? none : NULL};
        struct mrg_schema *schema;
        struct mrg_error err;
        assert_int_equal(load_with(test_roots, 1, rules, &route, 1, &schema, &err), MRG_ERR_OK);
        struct mrg_arena *arena = mrg_arena_new(0);
        struct mrg_request request = {0};
        mrg_route_request(method_of(schema, rpc), arena, MRG_SLICE("{\"id\":\"a\"}"), &request);
        assert_int_equal(request.body.bytes.len > 0, i < 3);
        assert_int_equal(request.query.len > 0, i >= 3);
        mrg_arena_free(arena);
        mrg_schema_free(schema);
    }
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *rpc;
        const char *http;
        const char *body;
        const char *message;
    } cases[] = {
        {"corner.rules.v1.Rules/Nope", "GET /a", NULL,
         "routes: corner.rules.v1.Rules/Nope: the protos have no such RPC; they have "
         "corner.rules.v1.Rules/Get, "},
        {"grpc.health.v1.Health/Check", "GET /a", NULL,
         "routes: grpc.health.v1.Health/Check: the protos have no such"},
        {"corner.rules.v1.Rules/Get", "GET /a/{nope}", NULL, "routes: corner.rules.v1.Rules/Get: "},
        {"corner.rules.v1.Rules/Get", "/a", NULL,
         "routes: corner.rules.v1.Rules/Get: expected a method and a path, as in POST "
         "/items/{item_id}/reserve"},
        {"corner.rules.v1.Rules/Get", " /a", NULL, "expected a method and a path"},
        {"corner.rules.v1.Rules/Get", "POST /a", "nope", "routes: corner.rules.v1.Rules/Get: "},
    };
    struct mrg_schema *schema;
    struct mrg_error err;
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *rpc = mrg_strdup(cases[i].rpc);
        _cleanup_free_ char *http = mrg_strdup(cases[i].http);
        _cleanup_free_ char *body = cases[i].body ? mrg_strdup(cases[i].body) : NULL;
        struct mrg_route_config route = {.rpc = rpc, .http = http, .body = body};
        assert_int_equal(load_with(test_roots, 1, rules, &route, 1, &schema, &err), MRG_ERR_INVALID);
        if (strstr(err.message, cases[i].message) != err.message && !strstr(err.message, "expected a method"))
            fail_msg("%s", err.message);
    }
    static char rpc[] = "a.B/C";
    static char http[] = "GET /a";
    struct mrg_route_config route = {.rpc = rpc, .http = http};
    assert_int_equal(load_with(test_roots, 1, NULL, &route, 1, &schema, &err), MRG_ERR_INVALID);
    struct mrg_schema_source source = {.routes = &route, .route_count = 1};
    assert_int_equal(mrg_schema_load(&source, &schema, &err), MRG_ERR_INVALID);
    assert_string_equal(err.message, "routes: a.B/C: the protos have no RPC");

    err = load_error("bad/rule.proto");
    assert_int_equal(err.code, MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "bad/rule.proto: Get: "));
    assert_non_null(strstr(err.message, "nope"));
}

/* Rules as bytes, with what protoc does not write. */
static void test_odd_rules(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        const char *message; /* NULL: the rule is good */
    } cases[] = {
        {"\x12\x02/a", 4, NULL},
        {"\x12\x02/a\x12\x02/b", 8, NULL},                   /* the last one counts */
        {"\x12\x02/a\x98\x06\x01", 7, NULL},                 /* an unknown field */
        {"\x42\x08\x0a\x02XY\x12\x02/a", 10, NULL},          /* custom */
        {"\x42\x04\x0a\x02XY", 6, "has no method and path"}, /* custom without a path */
        {"\x3a\x01*", 3, "has no method and path"},
        {"\x12\x05/a", 4, "is damaged"},
        {"\x12\x02/a\x5a\x03\x3a\x01*", 9, "has no method and path"}, /* an additional one without */
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        file_proto file;
        message_proto message;
        Google__Protobuf__ServiceDescriptorProto service;
        Google__Protobuf__MethodDescriptorProto method;
        Google__Protobuf__MethodOptions options;
        google__protobuf__file_descriptor_proto__init(&file);
        google__protobuf__descriptor_proto__init(&message);
        google__protobuf__service_descriptor_proto__init(&service);
        google__protobuf__method_descriptor_proto__init(&method);
        google__protobuf__method_options__init(&options);
        message_proto *messages[] = {&message};
        Google__Protobuf__ServiceDescriptorProto *services[] = {&service};
        Google__Protobuf__MethodDescriptorProto *methods[] = {&method};
        uint8_t option[64] = {(uint8_t)cases[i].len};
        memcpy(option + 1, cases[i].bytes, cases[i].len);
        ProtobufCMessageUnknownField unknown = {72295728, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
                                                cases[i].len + 1, option};
        options.base.n_unknown_fields = 1;
        options.base.unknown_fields = &unknown;
        file.name = (char[]){"f.proto"};
        message.name = (char[]){"M"};
        service.name = (char[]){"S"};
        method.name = (char[]){"Do"};
        method.input_type = method.output_type = message.name;
        method.options = &options;
        service.method = methods;
        file.message_type = messages;
        file.service = services;
        service.n_method = file.n_message_type = file.n_service = 1;
        struct mrg_schema *schema;
        struct mrg_error err;
        enum mrg_err code = load_file(&file, &schema, &err);
        if ((code == MRG_ERR_OK) != !cases[i].message || (code && !strstr(err.message, cases[i].message)))
            fail_msg("case %zu: %d %s", i, code, err.message);
        if (code == MRG_ERR_OK)
            assert_int_equal(method_of(schema, "S/Do")->binding_count, 1);
        else
            assert_int_equal(strncmp(err.message, "what the server's reflection gave", 10) == 0, 0);
        mrg_schema_free(schema);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_annotations),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_routes_of_the_configuration),
        cmocka_unit_test(test_default_bodies),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_odd_rules),
    };
    return cmocka_run_group_tests(tests, schema_setup, schema_teardown);
}
