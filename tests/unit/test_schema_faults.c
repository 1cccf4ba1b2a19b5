// SPDX-License-Identifier: Apache-2.0
/* Descriptors with one fault each: protoc would not write them, others might. */
#include "wire/schema.h"

#include "schema_help.h"

/* A good file of one message with three fields and one enum, which a test then spoils. */
struct sample {
    file_proto file;
    message_proto message;
    message_proto *messages[2];
    field_proto fields[3];
    field_proto *field_list[3];
    Google__Protobuf__OneofDescriptorProto oneof;
    Google__Protobuf__OneofDescriptorProto *oneofs[1];
    enum_proto enumeration;
    enum_proto *enums[1];
    value_proto values[2];
    value_proto *value_list[2];
    char text[256];
};

static void sample_init(struct sample *s)
{
    *s = (struct sample){0};
    google__protobuf__file_descriptor_proto__init(&s->file);
    google__protobuf__descriptor_proto__init(&s->message);
    google__protobuf__enum_descriptor_proto__init(&s->enumeration);
    google__protobuf__oneof_descriptor_proto__init(&s->oneof);
    static char names[][8] = {"a", "b", "c", "ZERO",   "ONE",  "s.proto", "s",
                              "M", "E", "o", "proto2", ".s.M", ".s.E"};
    s->file.name = names[5];
    s->file.package = names[6];
    s->file.syntax = names[10];
    s->messages[0] = &s->message;
    s->file.message_type = s->messages;
    s->file.n_message_type = 1;
    s->enums[0] = &s->enumeration;
    s->file.enum_type = s->enums;
    s->file.n_enum_type = 1;
    s->message.name = names[7];
    s->enumeration.name = names[8];
    s->oneof.name = names[9];
    for (size_t i = 0; i < 3; i++) {
        google__protobuf__field_descriptor_proto__init(&s->fields[i]);
        s->fields[i].name = names[i];
        s->fields[i].has_number = s->fields[i].has_type = s->fields[i].has_label = 1;
        s->fields[i].number = (int32_t)i + 1;
        s->fields[i].label = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__LABEL__LABEL_OPTIONAL;
        s->field_list[i] = &s->fields[i];
    }
    s->fields[0].type = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_INT32;
    s->fields[1].type = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_MESSAGE;
    s->fields[1].type_name = names[11];
    s->fields[2].type = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_ENUM;
    s->fields[2].type_name = names[12];
    s->message.field = s->field_list;
    s->message.n_field = 3;
    s->oneofs[0] = &s->oneof;
    s->message.oneof_decl = s->oneofs;
    s->message.n_oneof_decl = 1;
    for (size_t i = 0; i < 2; i++) {
        google__protobuf__enum_value_descriptor_proto__init(&s->values[i]);
        s->values[i].name = names[3 + i];
        s->values[i].has_number = 1;
        s->values[i].number = (int32_t)i;
        s->value_list[i] = &s->values[i];
    }
    s->enumeration.value = s->value_list;
    s->enumeration.n_value = 2;
}

static void spoil_nothing(struct sample *s)
{
    (void)s;
}

static void set_text(struct sample *s, char **member, const char *text)
{
    snprintf(s->text, sizeof(s->text), "%s", text);
    *member = s->text;
}

static char timestamp_name[] = "Timestamp";
static char wrapper_name[] = "StringValue";
static char value_name[] = "value";

#define SPOIL(name, statement)                                                                               \
    static void spoil_##name(struct sample *s)                                                               \
    {                                                                                                        \
        statement;                                                                                           \
    }

SPOIL(type_name, set_text(s, &s->fields[1].type_name, ".s.Nope"))
SPOIL(kind, set_text(s, &s->fields[1].type_name, ".s.E"))
SPOIL(enum_kind, set_text(s, &s->fields[2].type_name, ".s.M"))
SPOIL(field_as_type, set_text(s, &s->fields[1].type_name, ".s.M.a"))
SPOIL(no_type_name, s->fields[1].type_name = NULL)
SPOIL(self_value, set_text(s, &s->values[1].name, "E"))
SPOIL(value_twice, set_text(s, &s->values[1].name, "ZERO"))
SPOIL(message_as_enum, set_text(s, &s->enumeration.name, "M"))
SPOIL(number_twice, s->fields[1].number = 1)
SPOIL(number_zero, s->fields[0].number = 0)
SPOIL(number_missing, s->fields[0].has_number = 0; s->fields[0].number = 0)
SPOIL(number_negative, s->fields[0].number = INT32_MIN)
SPOIL(number_large, s->fields[2].number = 536870912)
SPOIL(field_twice, set_text(s, &s->fields[1].name, "a"))
SPOIL(name_empty, set_text(s, &s->fields[0].name, ""))
SPOIL(name_missing, s->fields[0].name = NULL)
SPOIL(name_odd, set_text(s, &s->fields[0].name, "a\"b"))
SPOIL(name_digit, set_text(s, &s->message.name, "1M"))
SPOIL(package_odd, set_text(s, &s->file.package, "a..b"))
SPOIL(package_end, set_text(s, &s->file.package, "a."))
SPOIL(type_unknown, s->fields[0].type = 19)
SPOIL(type_zero, s->fields[0].has_type = 0)
SPOIL(label_unknown, s->fields[0].label = 4)
SPOIL(default_word, set_text(s, &s->fields[0].default_value, "five"))
SPOIL(default_large, set_text(s, &s->fields[0].default_value, "2147483648"))
SPOIL(default_enum, set_text(s, &s->fields[2].default_value, "TWO"))
SPOIL(default_message, set_text(s, &s->fields[1].default_value, ""))
SPOIL(default_proto3, set_text(s, &s->file.syntax, "proto3"); s->fields[0].default_value = s->fields[0].name)
SPOIL(default_bytes, set_text(s, &s->fields[0].default_value, "\\9");
      s->fields[0].type = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_BYTES)
SPOIL(default_bytes_end, set_text(s, &s->fields[0].default_value, "x\\");
      s->fields[0].type = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_BYTES)
SPOIL(oneof_index, s->fields[0].has_oneof_index = 1; s->fields[0].oneof_index = 1)
SPOIL(oneof_negative, s->fields[0].has_oneof_index = 1; s->fields[0].oneof_index = -1)
SPOIL(oneof_repeated, s->fields[0].has_oneof_index = 1;
      s->fields[0].label = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__LABEL__LABEL_REPEATED)
SPOIL(enum_empty, s->enumeration.n_value = 0)
SPOIL(enum_proto3, set_text(s, &s->file.syntax, "proto3"); s->values[0].number = 3)
SPOIL(no_name, s->file.name = NULL)
SPOIL(import_itself, set_text(s, &s->file.name, "x.proto"); s->file.dependency = &s->message.name;
      s->file.n_dependency = 1)
SPOIL(syntax, set_text(s, &s->file.syntax, "proto4"))
SPOIL(editions, set_text(s, &s->file.syntax, "editions"))
SPOIL(group, s->fields[1].type = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_GROUP)
SPOIL(timestamp, set_text(s, &s->file.package, "google.protobuf"); s->message.name = timestamp_name;
      s->message.n_field = 1)
SPOIL(wrapper, set_text(s, &s->file.package, "google.protobuf"); s->message.name = wrapper_name;
      s->fields[0].name = value_name; s->message.n_field = 1)
SPOIL(default_octal, set_text(s, &s->fields[0].default_value, "\\777");
      s->fields[0].type = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_BYTES)
SPOIL(json_name, set_text(s, &s->fields[0].json_name, "\xff"))

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(struct sample *s);
        enum mrg_err code;
        const char *message;
    } cases[] = {
        {spoil_nothing, MRG_ERR_OK, ""},
        {spoil_type_name, MRG_ERR_INVALID, "s.proto: s.M.b has the type .s.Nope, which is no message"},
        {spoil_kind, MRG_ERR_INVALID, "s.proto: s.M.b has the type .s.E, which is no message"},
        {spoil_enum_kind, MRG_ERR_INVALID, "s.proto: s.M.c has the type .s.M, which is no enum"},
        {spoil_field_as_type, MRG_ERR_INVALID, "s.proto: s.M.b has the type .s.M.a, which is no message"},
        {spoil_no_type_name, MRG_ERR_INVALID, "s.proto: s.M.b has the type \"\", which is no message"},
        {spoil_self_value, MRG_ERR_INVALID, "s.proto: s.E is defined twice"},
        {spoil_value_twice, MRG_ERR_INVALID, "s.proto: s.ZERO is defined twice"},
        {spoil_message_as_enum, MRG_ERR_INVALID, "s.proto: s.M is defined twice"},
        {spoil_number_twice, MRG_ERR_INVALID, "has the number of another field"},
        {spoil_number_zero, MRG_ERR_INVALID, "s.proto: s.M.a has a number that is not from 1 to 536870911"},
        {spoil_number_missing, MRG_ERR_INVALID, "s.M.a has a number that is not from 1 to 536870911"},
        {spoil_number_negative, MRG_ERR_INVALID, "s.M.a has a number that is not from 1 to 536870911"},
        {spoil_number_large, MRG_ERR_INVALID, "s.M.c has a number that is not from 1 to 536870911"},
        {spoil_field_twice, MRG_ERR_INVALID, "s.proto: s.M.a is defined twice"},
        {spoil_name_empty, MRG_ERR_INVALID, "s.proto: s.M has a part whose name is no identifier"},
        {spoil_name_missing, MRG_ERR_INVALID, "s.proto: s.M has a part whose name is no identifier"},
        {spoil_name_odd, MRG_ERR_INVALID, "s.proto: s.M has a part whose name is no identifier"},
        {spoil_name_digit, MRG_ERR_INVALID, "s.proto: s has a part whose name is no identifier"},
        {spoil_package_odd, MRG_ERR_INVALID, "s.proto: its package is no dotted name"},
        {spoil_package_end, MRG_ERR_INVALID, "s.proto: its package is no dotted name"},
        {spoil_type_unknown, MRG_ERR_INVALID, "s.proto: s.M.a has a type that protobuf does not have"},
        {spoil_type_zero, MRG_ERR_INVALID, "s.proto: s.M.a has a type that protobuf does not have"},
        {spoil_label_unknown, MRG_ERR_INVALID, "s.proto: s.M.a has a label that protobuf does not have"},
        {spoil_default_word, MRG_ERR_INVALID, "s.proto: s.M.a has the default \"five\"; expected an integer"},
        {spoil_default_large, MRG_ERR_INVALID,
         "has the default \"2147483648\"; expected an integer of 32 bits"},
        {spoil_default_enum, MRG_ERR_INVALID,
         "s.proto: s.M.c has the default \"TWO\"; expected a value of its enum"},
        {spoil_default_message, MRG_ERR_INVALID, "s.proto: s.M.b has the default \"\"; expected none"},
        {spoil_default_proto3, MRG_ERR_INVALID, "s.proto: s.M.a has the default \"a\"; expected none"},
        {spoil_default_bytes, MRG_ERR_INVALID, "has the default \"\\9\"; expected bytes with C escapes"},
        {spoil_default_bytes_end, MRG_ERR_INVALID, "has the default \"x\\\"; expected bytes with C escapes"},
        {spoil_oneof_index, MRG_ERR_INVALID, "s.proto: s.M.a is in a oneof that its message does not have"},
        {spoil_oneof_negative, MRG_ERR_INVALID,
         "s.proto: s.M.a is in a oneof that its message does not have"},
        {spoil_oneof_repeated, MRG_ERR_INVALID, "s.proto: s.M.a is in a oneof and repeated or required"},
        {spoil_enum_empty, MRG_ERR_INVALID, "s.proto: the enum s.E has no values"},
        {spoil_enum_proto3, MRG_ERR_INVALID, "s.proto: the first value of the enum s.E must be 0"},
        {spoil_no_name, MRG_ERR_INVALID, "file 1: has no name"},
        {spoil_import_itself, MRG_ERR_INVALID, "x.proto: imports M, which is not there"},
        {spoil_syntax, MRG_ERR_UNSUPPORTED, "s.proto: has the syntax proto4; expected proto2 or proto3"},
        {spoil_editions, MRG_ERR_UNSUPPORTED, "s.proto: is written in a protobuf edition"},
        {spoil_group, MRG_ERR_UNSUPPORTED, "s.proto: s.M.b is a group; groups are not supported"},
        {spoil_timestamp, MRG_ERR_INVALID,
         "google.protobuf.Timestamp does not have the fields of protobuf's own"},
        {spoil_wrapper, MRG_ERR_INVALID,
         "google.protobuf.StringValue does not have the fields of protobuf's own"},
        {spoil_default_octal, MRG_ERR_INVALID, "has the default \"\\777\"; expected bytes with C escapes"},
        {spoil_json_name, MRG_ERR_INVALID, "s.proto: s.M.a has a json_name that is not UTF-8"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct sample sample;
        sample_init(&sample);
        cases[i].spoil(&sample);
        struct mrg_schema *schema;
        struct mrg_error err;
        enum mrg_err code = load_file(&sample.file, &schema, &err);
        if (code != cases[i].code || !strstr(err.message, cases[i].message))
            fail_msg("case %zu: %d \"%s\", expected %d \"%s\"", i, code, err.message, cases[i].code,
                     cases[i].message);
        mrg_schema_free(schema);
    }
}

/* Names that the reader has to look for, as makers other than protoc may leave them. */
static void test_relative_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool found;
    } cases[] = {{"M", true},         {"s.M", true}, {"Inner", true}, {"M.Inner", true},
                 {"s.M.Inner", true}, {"a", false},  {"", false},     {"t.M", false}};
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct sample sample;
        sample_init(&sample);
        message_proto inner;
        message_proto *inners[] = {&inner};
        google__protobuf__descriptor_proto__init(&inner);
        inner.name = (char[]){"Inner"};
        sample.message.nested_type = inners;
        sample.message.n_nested_type = 1;
        sample.fields[1].has_type = 0;
        set_text(&sample, &sample.fields[1].type_name, cases[i].name);
        struct mrg_schema *schema;
        struct mrg_error err;
        assert_int_equal(load_file(&sample.file, &schema, &err) == MRG_ERR_OK, cases[i].found);
        if (schema)
            assert_non_null(field_of(message_of(schema, "s.M"), "b")->message);
        mrg_schema_free(schema);
    }
}

static void test_bad_map_entries(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct sample sample;
        sample_init(&sample);
        Google__Protobuf__MessageOptions options;
        google__protobuf__message_options__init(&options);
        options.has_map_entry = options.map_entry = 1;
        sample.message.options = &options;
        sample.fields[0].name = (char[]){"key"};
        sample.fields[1].name = (char[]){"value"};
        sample.fields[1].type = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_STRING;
        sample.fields[1].type_name = NULL;
        sample.message.n_field = 2;
        sample.message.n_oneof_decl = 0;
        if (i == 1)
            sample.message.n_field = 1;
        if (i == 2)
            sample.fields[0].type = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_DOUBLE;
        if (i == 3)
            sample.fields[1].label = GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__LABEL__LABEL_REPEATED;
        if (i == 4)
            sample.fields[1].number = 3;
        if (i == 5)
            sample.fields[1].name = sample.file.package;
        struct mrg_schema *schema;
        struct mrg_error err;
        assert_int_equal(load_file(&sample.file, &schema, &err), i == 0 ? MRG_ERR_OK : MRG_ERR_INVALID);
        if (i > 0)
            assert_string_equal(err.message, "s.proto: s.M is no map entry");
        mrg_schema_free(schema);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_relative_names),
        cmocka_unit_test(test_bad_map_entries),
    };
    return cmocka_run_group_tests(tests, schema_setup, schema_teardown);
}
