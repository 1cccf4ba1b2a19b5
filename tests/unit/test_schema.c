// SPDX-License-Identifier: Apache-2.0
#include "wire/schema.h"

#include "schema_help.h"

#define ALL   "corner/v1/all.proto"
#define TWO   "corner/v1/two.proto"
#define TOP   "corner/v1/top.proto"
#define WORDS "corner/v1/words.proto"
#define RULES "corner/v1/rules.proto"

static void test_scalars(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *json_name;
        ProtobufCType type;
    } expected[] = {
        {"a_double", "aDouble", PROTOBUF_C_TYPE_DOUBLE},
        {"a_float", "aFloat", PROTOBUF_C_TYPE_FLOAT},
        {"an_int32", "anInt32", PROTOBUF_C_TYPE_INT32},
        {"an_int64", "anInt64", PROTOBUF_C_TYPE_INT64},
        {"a_uint32", "aUint32", PROTOBUF_C_TYPE_UINT32},
        {"a_uint64", "aUint64", PROTOBUF_C_TYPE_UINT64},
        {"a_sint32", "aSint32", PROTOBUF_C_TYPE_SINT32},
        {"a_sint64", "aSint64", PROTOBUF_C_TYPE_SINT64},
        {"a_fixed32", "aFixed32", PROTOBUF_C_TYPE_FIXED32},
        {"a_fixed64", "aFixed64", PROTOBUF_C_TYPE_FIXED64},
        {"an_sfixed32", "anSfixed32", PROTOBUF_C_TYPE_SFIXED32},
        {"an_sfixed64", "anSfixed64", PROTOBUF_C_TYPE_SFIXED64},
        {"a_bool", "aBool", PROTOBUF_C_TYPE_BOOL},
        {"a_string", "aString", PROTOBUF_C_TYPE_STRING},
        {"some_bytes", "someBytes", PROTOBUF_C_TYPE_BYTES},
        {"a_color", "aColor", PROTOBUF_C_TYPE_ENUM},
        {"within", "within", PROTOBUF_C_TYPE_MESSAGE},
    };
    struct mrg_schema *schema = LOAD(ALL);
    const struct mrg_message *message = message_of(schema, "corner.v1.Scalars");
    assert_int_equal(message->field_count, MRG_ARRAY_LEN(expected));
    assert_int_equal(message->oneof_count, 0);
    assert_string_equal(message->full_name.ptr, "corner.v1.Scalars");
    assert_ptr_equal(mrg_message_of(&message->pc), message);
    for (size_t i = 0; i < MRG_ARRAY_LEN(expected); i++) {
        const struct mrg_field *field = &message->fields[i];
        assert_string_equal(field->name.ptr, expected[i].name);
        assert_true(mrg_slice_eq_str(field->json_name, expected[i].json_name));
        assert_int_equal(field->number, i + 1);
        assert_int_equal(field->type, expected[i].type);
        assert_false(field->repeated || field->map || field->required);
        assert_int_equal(field->presence, field->type == PROTOBUF_C_TYPE_MESSAGE);
        assert_int_equal(field->oneof, -1);
        assert_ptr_equal(field->pc, &message->pc.fields[i]);
        assert_ptr_equal(mrg_message_field(message, (uint32_t)i + 1), field);
        assert_ptr_equal(field_of(message, expected[i].name), field);
        assert_ptr_equal(field_of(message, expected[i].json_name), field);
    }
    assert_ptr_equal(message->fields[16].message, message);
    assert_ptr_equal(message->fields[15].enumeration, mrg_schema_enum(schema, SLICE("corner.v1.Color")));
    assert_null(mrg_message_field(message, 0));
    assert_null(mrg_message_field(message, 18));
    assert_null(mrg_message_field_named(message, SLICE("a_doubl")));
    assert_null(mrg_message_field_named(message, SLICE("")));
    mrg_schema_free(schema);
}

static void test_presence_and_oneofs(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(ALL, TWO);
    const struct mrg_message *message = message_of(schema, "corner.v1.Optionals");
    /* The oneofs behind `optional` are none. */
    assert_int_equal(message->oneof_count, 1);
    assert_string_equal(message->oneofs[0], "real");
    for (size_t i = 0; i < message->field_count; i++) {
        assert_true(message->fields[i].presence);
        assert_int_equal(message->fields[i].oneof, i < 7 ? -1 : 0);
    }
    message = message_of(schema, "corner.v1.Oneofs");
    assert_int_equal(message->oneof_count, 2);
    assert_string_equal(message->oneofs[1], "second");
    assert_int_equal(field_of(message, "real")->oneof, 0);
    assert_int_equal(field_of(message, "b")->oneof, 1);
    assert_int_equal(field_of(message, "beside")->oneof, -1);
    assert_true(field_of(message, "b")->presence);
    assert_false(field_of(message, "beside")->presence);

    message = message_of(schema, "corner.two.v1.Required");
    assert_true(field_of(message, "id")->required);
    message = message_of(schema, "corner.two.v1.Defaults");
    assert_true(field_of(message, "a_double")->presence);
    assert_false(field_of(message, "a_double")->required);
    mrg_schema_free(schema);
}

static void test_maps_and_lists(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(ALL);
    const struct mrg_message *maps = message_of(schema, "corner.v1.Maps");
    for (size_t i = 0; i < maps->field_count; i++) {
        const struct mrg_field *field = &maps->fields[i];
        assert_true(field->repeated && field->map && !field->presence);
        assert_true(field->message->map_entry);
        assert_int_equal(field->message->field_count, 2);
        assert_string_equal(field->message->fields[0].name.ptr, "key");
        assert_false(field->message->fields[0].presence);
    }
    assert_ptr_equal(field_of(maps, "to_message")->message->fields[1].message,
                     message_of(schema, "corner.v1.Scalars"));
    assert_int_equal(field_of(maps, "by_sfixed64")->message->fields[0].type, PROTOBUF_C_TYPE_SFIXED64);
    const struct mrg_message *lists = message_of(schema, "corner.v1.Lists");
    for (size_t i = 0; i < lists->field_count; i++)
        assert_true(lists->fields[i].repeated && !lists->fields[i].map && !lists->fields[i].presence);
    assert_int_equal(field_of(lists, "int32s")->pc->flags, PROTOBUF_C_FIELD_FLAG_PACKED);
    assert_int_equal(field_of(lists, "loose_int32s")->pc->flags, 0);
    assert_int_equal(field_of(lists, "strings")->pc->flags, 0);
    mrg_schema_free(schema);
}

static void test_enums(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(ALL, TWO);
    const struct mrg_enum *color = mrg_schema_enum(schema, SLICE("corner.v1.Color"));
    assert_int_equal(color->value_count, 5);
    assert_false(color->closed);
    assert_string_equal(color->values[3].name.ptr, "COLOR_AZURE");
    /* Of aliases the first. */
    assert_string_equal(mrg_enum_value(color, 2)->name.ptr, "COLOR_BLUE");
    assert_string_equal(mrg_enum_value(color, -5)->name.ptr, "COLOR_NEGATIVE");
    assert_null(mrg_enum_value(color, 3));
    assert_null(mrg_enum_value(color, 77));
    assert_int_equal(mrg_enum_value_named(color, SLICE("COLOR_AZURE"))->number, 2);
    assert_null(mrg_enum_value_named(color, SLICE("COLOR_AZUR")));
    assert_null(mrg_enum_value_named(color, SLICE("COLOR_ZZZ")));
    assert_true(mrg_schema_enum(schema, SLICE("corner.two.v1.Level"))->closed);
    assert_true(mrg_schema_enum(schema, SLICE("google.protobuf.NullValue"))->null);
    assert_false(color->null);
    /* Messages are no enums and the other way round. */
    assert_null(mrg_schema_enum(schema, SLICE("corner.v1.Scalars")));
    assert_null(mrg_schema_message(schema, SLICE("corner.v1.Color")));
    assert_non_null(mrg_schema_enum(schema, SLICE("corner.v1.Outer.Middle.Kind")));
    mrg_schema_free(schema);
}

static void test_names_and_numbers(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(ALL, WORDS);
    const struct mrg_message *names = message_of(schema, "corner.v1.Names");
    static const char *const json[] = {"snakeCaseName", "camelCase",        "@other",  "Leading",
                                       "trailing",      "doubleUnderscore", "number1", "UPPERCASE"};
    for (size_t i = 0; i < names->field_count; i++) {
        assert_true(mrg_slice_eq_str(names->fields[i].json_name, json[i]));
        assert_ptr_equal(field_of(names, json[i]), &names->fields[i]);
    }
    assert_ptr_equal(field_of(names, "other"), field_of(names, "@other"));
    const struct mrg_message *numbers = message_of(schema, "corner.v1.Numbers");
    static const uint32_t ascending[] = {1, 7, 1000, 20000, 536870911};
    for (size_t i = 0; i < numbers->field_count; i++) {
        assert_int_equal(numbers->fields[i].number, ascending[i]);
        assert_ptr_equal(mrg_message_field(numbers, ascending[i]), &numbers->fields[i]);
        assert_null(mrg_message_field(numbers, ascending[i] + 1));
    }
    /* The innermost of several names. */
    const struct mrg_message *middle = message_of(schema, "corner.v1.Outer.Middle");
    assert_ptr_equal(field_of(middle, "inner")->message, message_of(schema, "corner.v1.Outer.Middle.Inner"));
    assert_ptr_equal(field_of(middle, "other")->message, message_of(schema, "corner.v1.Outer.Inner"));
    assert_int_equal(field_of(message_of(schema, "corner.int.v1.struct"), "union")->type,
                     PROTOBUF_C_TYPE_MESSAGE);
    assert_non_null(mrg_schema_method(schema, SLICE("/corner.int.v1.return/for")));
    mrg_schema_free(schema);
}

static void test_known_types(void **state)
{
    (void)state;
    static const enum mrg_known known[] = {
        MRG_KNOWN_ANY,        MRG_KNOWN_TIMESTAMP,  MRG_KNOWN_DURATION, MRG_KNOWN_STRUCT,  MRG_KNOWN_VALUE,
        MRG_KNOWN_LIST_VALUE, MRG_KNOWN_FIELD_MASK, MRG_KNOWN_EMPTY,    MRG_KNOWN_WRAPPER, MRG_KNOWN_WRAPPER,
        MRG_KNOWN_WRAPPER,    MRG_KNOWN_WRAPPER,    MRG_KNOWN_WRAPPER,  MRG_KNOWN_WRAPPER, MRG_KNOWN_WRAPPER,
        MRG_KNOWN_WRAPPER,    MRG_KNOWN_WRAPPER};
    struct mrg_schema *schema = LOAD(ALL);
    const struct mrg_message *message = message_of(schema, "corner.v1.Known");
    for (size_t i = 0; i < MRG_ARRAY_LEN(known); i++) {
        assert_int_equal(message->fields[i].message->known, known[i]);
        assert_int_equal(message_of(mrg_schema_builtin(), message->fields[i].message->full_name.ptr)->known,
                         known[i]);
    }
    assert_int_equal(message->known, MRG_KNOWN_NONE);
    mrg_schema_free(schema);
}

static void test_services(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(TOP, "shop/v1/catalog.proto", "shop/v1/checkout.proto");
    static const char *const expected[] = {"corner.v1.Top", "corner.v1.Empty", "shop.v1.CartService",
                                           "shop.v1.ProductCatalogService", "shop.v1.CheckoutService"};
    size_t count;
    const struct mrg_service *const *services = mrg_schema_services(schema, &count);
    assert_int_equal(count, MRG_ARRAY_LEN(expected));
    for (size_t i = 0; i < count; i++)
        assert_string_equal(services[i]->full_name.ptr, expected[i]);
    assert_int_equal(services[1]->method_count, 0);
    const struct mrg_method *methods = services[0]->methods;
    assert_int_equal(services[0]->method_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(methods[i].server_streams, i == 1 || i == 3);
        assert_int_equal(methods[i].client_streams, i == 2 || i == 3);
        assert_ptr_equal(methods[i].service, services[0]);
        assert_int_equal(methods[i].binding_count, 0);
    }
    const struct mrg_method *get = mrg_schema_method(schema, SLICE("/corner.v1.Top/Get"));
    assert_ptr_equal(get, &methods[0]);
    assert_ptr_equal(mrg_schema_method(schema, SLICE("corner.v1.Top/Get")), get);
    assert_string_equal(get->path.ptr, "/corner.v1.Top/Get");
    assert_string_equal(get->name.ptr, "Get");
    assert_ptr_equal(get->input, message_of(schema, "corner.v1.TopRequest"));
    assert_ptr_equal(get->output, message_of(schema, "corner.v1.Scalars"));
    static const char *const none[] = {"",
                                       "/",
                                       "/corner.v1.Top",
                                       "/corner.v1.Top/",
                                       "/corner.v1.Top/get",
                                       "//corner.v1.Top/Get",
                                       "/corner.v1.Top.Get",
                                       "/grpc.health.v1.Health/Check"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(none); i++)
        assert_null(mrg_schema_method(schema, SLICE(none[i])));
    mrg_schema_free(schema);
}

static void test_files_for_reflection(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(TOP, TWO);
    static const struct {
        const char *symbol;
        const char *file;
    } cases[] = {
        {"corner.v1.Top", TOP},
        {"corner.v1.Top.Get", TOP},
        {"corner.v1.TopRequest", TOP},
        {"corner.v1.TopRequest.middle", TOP},
        {"corner.v1.Color", ALL},
        {"corner.v1.COLOR_RED", ALL},
        {"corner.v1.Oneofs.first", ALL},
        {"corner.v1.Maps.ByInt32Entry", ALL},
        {"corner.v1.Outer.Middle.KIND_NONE", ALL},
        {"corner.base.v1.Base", "corner/v1/base.proto"},
        {"other.v1.Other", "other/v1/other.proto"},
        {"corner.two.v1.note", TWO},
        {"corner.two.v1.Two.inner_note", TWO},
        {"grpc.health.v1.Health", "grpc/health/v1/health.proto"},
        {"mirage.v1.Control.Reset", "mirage/v1/control.proto"},
        {"google.rpc.ErrorInfo", "google/rpc/error_details.proto"},
        {"google.api.http", "google/api/annotations.proto"},
        {"corner.v1", NULL},
        {"corner.v1.Nope", NULL},
        {".corner.v1.Top", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        const struct mrg_proto_file *file = mrg_schema_file_of(schema, SLICE(cases[i].symbol));
        assert_int_equal(file != NULL, cases[i].file != NULL);
        if (!file)
            continue;
        assert_string_equal(file->name.ptr, cases[i].file);
        assert_ptr_equal(mrg_schema_file(schema, SLICE(cases[i].file)), file);
        /* The bytes are that file's. */
        struct mrg_arena *arena = mrg_arena_new(0);
        file_proto *proto = mrg_file_unpack(arena, file->descriptor, NULL);
        assert_non_null(proto);
        assert_string_equal(proto->name, cases[i].file);
        assert_int_equal(proto->n_dependency, file->import_count);
        mrg_arena_free(arena);
    }
    const struct mrg_proto_file *top = mrg_schema_file(schema, SLICE(TOP));
    assert_int_equal(top->import_count, 2);
    assert_true(mrg_slice_eq_str(top->imports[1], "corner/v1/middle.proto"));
    assert_null(mrg_schema_file(schema, SLICE("top.proto")));
    mrg_schema_free(schema);
}

static void test_extensions(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(TWO, RULES);
    struct mrg_arena *arena = mrg_arena_new(0);
    size_t count;
    const int32_t *numbers = mrg_schema_extensions(schema, arena, SLICE("corner.two.v1.Two"), &count);
    assert_int_equal(count, 3);
    assert_int_equal(numbers[0], 100);
    assert_int_equal(numbers[1], 101);
    assert_int_equal(numbers[2], 1000);
    /* Here and built-in: once. */
    numbers = mrg_schema_extensions(schema, arena, SLICE("google.protobuf.MethodOptions"), &count);
    assert_int_equal(count, 1);
    assert_int_equal(numbers[0], 72295728);
    mrg_schema_extensions(schema, arena, SLICE("corner.two.v1.Lists"), &count);
    assert_int_equal(count, 0);
    struct mrg_slice two = SLICE("corner.two.v1.Two");
    assert_string_equal(mrg_schema_file_of_extension(schema, two, 101)->name.ptr, TWO);
    assert_null(mrg_schema_file_of_extension(schema, two, 102));
    assert_null(mrg_schema_file_of_extension(schema, SLICE("corner.two.v1.Tw"), 101));
    assert_string_equal(
        mrg_schema_file_of_extension(mrg_schema_builtin(), SLICE("google.protobuf.MethodOptions"), 72295728)
            ->name.ptr,
        "google/api/annotations.proto");
    mrg_arena_free(arena);
    mrg_schema_free(schema);
}

static void test_builtin(void **state)
{
    (void)state;
    const struct mrg_schema *builtin = mrg_schema_builtin();
    assert_ptr_equal(mrg_schema_builtin(), builtin);
    static const char *const messages[] = {"google.rpc.Status",
                                           "google.rpc.ErrorInfo",
                                           "google.rpc.BadRequest.FieldViolation",
                                           "google.protobuf.Int64Value",
                                           "google.api.HttpRule",
                                           "grpc.health.v1.HealthCheckRequest",
                                           "google.protobuf.FileDescriptorSet",
                                           "mirage.v1.AnnounceRequest",
                                           "grpc.reflection.v1.ServerReflectionRequest",
                                           "grpc.reflection.v1alpha.ServerReflectionRequest"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(messages); i++)
        assert_string_equal(message_of(builtin, messages[i])->full_name.ptr, messages[i]);
    size_t count;
    mrg_schema_services(builtin, &count);
    assert_int_equal(count, 4);
    const struct mrg_method *reset = mrg_schema_method(builtin, SLICE("/mirage.v1.Control/Reset"));
    assert_int_equal(reset->binding_count, 1);
    assert_string_equal(mrg_binding_text(reset->bindings[0]), "POST /__mock__/reset");
    assert_null(mrg_schema_shape(NULL));
    assert_null(mrg_schema_of(NULL));
    mrg_schema_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),           cmocka_unit_test(test_presence_and_oneofs),
        cmocka_unit_test(test_maps_and_lists),    cmocka_unit_test(test_enums),
        cmocka_unit_test(test_names_and_numbers), cmocka_unit_test(test_known_types),
        cmocka_unit_test(test_services),          cmocka_unit_test(test_files_for_reflection),
        cmocka_unit_test(test_extensions),        cmocka_unit_test(test_builtin),
    };
    return cmocka_run_group_tests(tests, schema_setup, schema_teardown);
}
