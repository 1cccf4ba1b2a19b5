// SPDX-License-Identifier: Apache-2.0
/* protobuf-c, given the types of a schema, against bytes that another library wrote. */
#include "wire/types.h"

#include <math.h>

#include "schema_help.h"

#define ALL "corner/v1/all.proto"
#define TWO "corner/v1/two.proto"

static unsigned nibble(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* Unpacks, packs, and wants the same bytes; and the same of a message cut short, without a fault. */
static void check_round_trip(const struct mrg_message *type, const char *hex)
{
    size_t len = strlen(hex) / 2;
    uint8_t *bytes = mrg_malloc(len + 1);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
    ProtobufCMessage *message = protobuf_c_message_unpack(&type->pc, NULL, len, bytes);
    assert_non_null(message);
    assert_ptr_equal(mrg_message_of(message->descriptor), type);
    assert_true(protobuf_c_message_check(message));
    assert_int_equal(protobuf_c_message_get_packed_size(message), len);
    uint8_t *again = mrg_malloc(len + 1);
    assert_int_equal(protobuf_c_message_pack(message, again), len);
    assert_memory_equal(bytes, again, len);
    protobuf_c_message_free_unpacked(message, NULL);
    free(again);
    size_t step = len > 300 ? 37 : 1;
    for (size_t cut = 0; cut < len; cut += step) {
        uint8_t *exact = mrg_malloc(cut + 1);
        memcpy(exact, bytes, cut);
        message = protobuf_c_message_unpack(&type->pc, NULL, cut, exact);
        protobuf_c_message_free_unpacked(message, NULL);
        free(exact);
    }
    free(bytes);
}

static void test_golden(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(ALL, TWO, "corner/v1/words.proto", "corner/v1/top.proto",
                                     "shop/v1/catalog.proto", "shop/v1/checkout.proto");
    _cleanup_free_ char *path = mrg_asprintf("%s/golden.txt", test_roots[0]);
    struct mrg_buf text;
    mrg_buf_init(&text, 1u << 20);
    assert_int_equal(mrg_schema_read_file(path, 1u << 20, &text, NULL), MRG_ERR_OK);
    size_t count = 0;
    for (char *line = text.data; *line; count++) {
        char *space = strchr(line, ' ');
        char *end = strchr(line, '\n');
        assert_true(space && end && space < end);
        *space = *end = '\0';
        check_round_trip(message_of(schema, line), space + 1);
        line = end + 1;
    }
    assert_true(count > 30);
    mrg_buf_done(&text);
    mrg_schema_free(schema);
}

static const void *place(const ProtobufCMessage *message, const struct mrg_message *type, const char *name)
{
    return (const char *)message + field_of(type, name)->pc->offset;
}

static void test_defaults(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(TWO);
    const struct mrg_message *type = message_of(schema, "corner.two.v1.Defaults");
    ProtobufCMessage *message = protobuf_c_message_unpack(&type->pc, NULL, 0, NULL);
    assert_non_null(message);
#define VALUE(type_name, name) (*(type_name const *)place(message, type, name))
    assert_true(VALUE(double, "a_double") == -1.5);
    assert_true(VALUE(float, "a_float") == 0.25f);
    assert_int_equal(VALUE(int32_t, "an_int32"), INT32_MIN);
    assert_true(VALUE(int64_t, "an_int64") == INT64_MIN);
    assert_int_equal(VALUE(uint32_t, "a_uint32"), UINT32_MAX);
    assert_true(VALUE(uint64_t, "a_uint64") == UINT64_MAX);
    assert_int_equal(VALUE(int32_t, "a_sint32"), 0x7f);
    assert_int_equal(VALUE(int64_t, "a_sint64"), 9);
    assert_int_equal(VALUE(uint32_t, "a_fixed32"), 8);
    assert_int_equal(VALUE(uint64_t, "a_fixed64"), 11);
    assert_int_equal(VALUE(int32_t, "an_sfixed32"), -12);
    assert_int_equal(VALUE(int64_t, "an_sfixed64"), -13);
    assert_int_equal(VALUE(protobuf_c_boolean, "a_bool"), 1);
    assert_string_equal(VALUE(char *, "a_string"), "d\303\251f\"ault\n");
    assert_int_equal(VALUE(ProtobufCBinaryData, "some_bytes").len, 7);
    assert_memory_equal(VALUE(ProtobufCBinaryData, "some_bytes").data, "a\0\377\\\"\n?", 7);
    assert_int_equal(VALUE(int32_t, "a_level"), -1);
    assert_int_equal(VALUE(int32_t, "first_level"), 7);
    assert_true(isinf(VALUE(double, "infinite")) && VALUE(double, "infinite") < 0);
    assert_true(isnan(VALUE(float, "nan")));
    assert_null(VALUE(char *, "none"));
#undef VALUE
    /* None of them is sent. */
    assert_int_equal(protobuf_c_message_get_packed_size(message), 0);
    protobuf_c_message_free_unpacked(message, NULL);
    mrg_schema_free(schema);
}

static void test_required_and_recursion(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(ALL, TWO);
    const struct mrg_message *required = message_of(schema, "corner.two.v1.Required");
    assert_null(protobuf_c_message_unpack(&required->pc, NULL, 2, (const uint8_t *)"\x08\x05"));
    /* children of children … */
    const struct mrg_message *tree = message_of(schema, "corner.v1.Tree");
    uint8_t bytes[200];
    for (size_t i = 0; i < 100; i += 2) {
        bytes[i] = 0x12;
        bytes[i + 1] = (uint8_t)(98 - i);
    }
    ProtobufCMessage *message = protobuf_c_message_unpack(&tree->pc, NULL, 100, bytes);
    assert_non_null(message);
    size_t depth = 0;
    for (const ProtobufCMessage *m = message;
         *(const size_t *)((const char *)m + field_of(tree, "children")->pc->quantifier_offset);
         m = **(ProtobufCMessage * *const *)place(m, tree, "children"))
        depth++;
    assert_int_equal(depth, 50);
    protobuf_c_message_free_unpacked(message, NULL);
    mrg_schema_free(schema);
}

/* What protobuf-c looks up by name and number. */
static void test_look_ups_of_protobuf_c(void **state)
{
    (void)state;
    struct mrg_schema *schema = LOAD(ALL);
    static const char *const names[] = {"corner.v1.Scalars", "corner.v1.Lists", "corner.v1.Numbers",
                                        "corner.v1.Names", "corner.v1.Nothing"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(names); i++) {
        const struct mrg_message *type = message_of(schema, names[i]);
        for (size_t j = 0; j < type->field_count; j++) {
            const struct mrg_field *field = &type->fields[j];
            assert_ptr_equal(protobuf_c_message_descriptor_get_field(&type->pc, field->number), field->pc);
            assert_ptr_equal(protobuf_c_message_descriptor_get_field_by_name(&type->pc, field->name.ptr),
                             field->pc);
        }
        assert_null(protobuf_c_message_descriptor_get_field(&type->pc, 99999));
        assert_null(protobuf_c_message_descriptor_get_field_by_name(&type->pc, "zzz"));
        assert_string_equal(type->pc.package_name, "corner.v1");
        assert_string_equal(type->pc.short_name, names[i] + sizeof("corner.v1"));
    }
    mrg_schema_free(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_required_and_recursion),
        cmocka_unit_test(test_look_ups_of_protobuf_c),
    };
    return cmocka_run_group_tests(tests, schema_setup, schema_teardown);
}
