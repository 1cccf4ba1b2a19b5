// SPDX-License-Identifier: Apache-2.0
/*
 * Proto help: types for the tests of the JSON mapping, and both directions in one line each.
 *
 * Bytes are written in hex with spaces wherever they help.
 */
#pragma once

#include "schema_help.h"

#include "util/json.h"
#include "wire/proto.h"

#define LONG_NAME "a_name_as_long_as_names_should_never_be_"

static const char new_proto[] =
    "syntax = \"proto3\"; package t;\n"
    "import \"google/protobuf/any.proto\"; import \"google/protobuf/duration.proto\";\n"
    "import \"google/protobuf/empty.proto\"; import \"google/protobuf/field_mask.proto\";\n"
    "import \"google/protobuf/struct.proto\"; import \"google/protobuf/timestamp.proto\";\n"
    "import \"google/protobuf/wrappers.proto\";\n"
    "enum Kind { option allow_alias = true; NONE = 0; BOX = 1; CRATE = 1; BIG = -2; }\n"
    "message All {\n"
    "  int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4; sint32 s32 = 5; sint64 s64 = 6;\n"
    "  fixed32 x32 = 7; fixed64 x64 = 8; sfixed32 sx32 = 9; sfixed64 sx64 = 10; float f = 11; double d = "
    "12;\n"
    "  bool b = 13; string s = 14; bytes y = 15; Kind kind = 16; }\n"
    "message Item { string sku = 1; int32 count = 2; Item part = 3; repeated Item parts = 4; }\n"
    "message Order {\n"
    "  string order_id = 1; repeated Item items = 2; map<string, Item> by_name = 3; map<bool, int32> flags = "
    "4;\n"
    "  map<int64, Kind> kinds = 5; repeated int32 numbers = 6; repeated int32 loose = 7 [packed = false];\n"
    "  oneof choice { int32 one = 8; string two = 9; Item three = 10; google.protobuf.Value four = 11; }\n"
    "  optional int32 maybe = 12; map<string, google.protobuf.Value> values = 13; Kind kind = 14;\n"
    "  repeated bytes blobs = 15; map<string, string> labels = 16; repeated Kind many = 17;\n"
    "  repeated fixed32 words = 18; }\n"
    "message Known {\n"
    "  google.protobuf.Timestamp at = 1; google.protobuf.Duration wait = 2; google.protobuf.FieldMask mask = "
    "3;\n"
    "  google.protobuf.Struct data = 4; google.protobuf.Value value = 5; google.protobuf.ListValue list = "
    "6;\n"
    "  google.protobuf.Any any = 7; google.protobuf.Int64Value boxed = 8; google.protobuf.Empty empty = 9;\n"
    "  google.protobuf.NullValue none = 10; google.protobuf.BytesValue bytes = 11;\n"
    "  repeated google.protobuf.Value values = 12; google.protobuf.FloatValue real = 13;\n"
    "  repeated google.protobuf.Int64Value boxes = 14; repeated google.protobuf.NullValue nones = 15; }\n"
    "message Nothing {}\n"
    "message Wide {"
    " int32 " LONG_NAME "10 = 10;"
    " int32 " LONG_NAME "11 = 11;"
    " int32 " LONG_NAME "12 = 12;"
    " int32 " LONG_NAME "13 = 13;"
    " int32 " LONG_NAME "14 = 14;"
    " int32 " LONG_NAME "15 = 15;"
    " int32 " LONG_NAME "16 = 16;"
    " int32 " LONG_NAME "17 = 17;"
    " int32 " LONG_NAME "18 = 18;"
    " int32 " LONG_NAME "19 = 19;"
    " int32 " LONG_NAME "20 = 20;"
    " int32 " LONG_NAME "21 = 21;"
    " }\n";

static const char old_proto[] =
    "syntax = \"proto2\"; package t;\n"
    "enum Closed { ONE = 1; TWO = 2; }\n"
    "message Old {\n"
    "  required int32 must = 1; optional Closed closed = 2; repeated Closed many = 3;\n"
    "  repeated Closed packed = 4 [packed = true]; map<string, Zeroed> map = 5; optional Old child = 6;\n"
    "  optional int32 seven = 7 [default = 7]; repeated Old list = 8; map<string, Old> named = 9;\n"
    "  oneof choice { Old left = 10; string right = 11; } }\n"
    "enum Zeroed { ZERO = 0; UNIT = 1; }\n";

static struct mrg_schema *proto_schema;

static inline void write_file(const char *name, const char *text)
{
    _cleanup_free_ char *path = mrg_asprintf("%s/%s", test_folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static inline int proto_setup(void **state)
{
    if (schema_setup(state))
        return -1;
    write_file("new.proto", new_proto);
    write_file("old.proto", old_proto);
    char *roots[] = {test_folder};
    static const char *const files[] = {"new.proto", "old.proto", NULL};
    struct mrg_error err;
    if (load_with(roots, 1, files, NULL, 0, &proto_schema, &err) != MRG_ERR_OK)
        fail_msg("%s", err.message);
    return 0;
}

static inline int proto_teardown(void **state)
{
    mrg_schema_free(proto_schema);
    return schema_teardown(state);
}

/* "08 96 01" as bytes; the caller frees. */
static inline char *from_hex(const char *hex, size_t *ret_len)
{
    char *bytes = mrg_malloc(strlen(hex) / 2 + 1);
    size_t len = 0;
    unsigned value;
    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        assert_int_equal(sscanf(hex, "%2x", &value), 1);
        bytes[len++] = (char)value;
        hex++;
    }
    *ret_len = len;
    return bytes;
}

static inline enum mrg_err check_bytes(const char *type, const char *hex, struct mrg_error *err)
{
    size_t len;
    _cleanup_free_ char *bytes = from_hex(hex, &len);
    *err = (struct mrg_error){0};
    return mrg_proto_check(message_of(proto_schema, type), (struct mrg_slice){bytes, len}, err);
}

/* JSON text, or the error's message; the caller frees. */
static inline char *print_as(const char *type, const char *hex, enum mrg_proto_form form)
{
    size_t len;
    struct mrg_buf buf;
    struct mrg_error err = {0};
    _cleanup_free_ char *bytes = from_hex(hex, &len);
    mrg_buf_init(&buf, 1u << 20);
    enum mrg_err code = mrg_proto_to_json(proto_schema, message_of(proto_schema, type),
                                          (struct mrg_slice){bytes, len}, form, &buf, &err);
    assert_int_equal(code, err.code);
    if (code) {
        mrg_buf_clear(&buf);
        mrg_buf_append_str(&buf, err.message);
    } else {
        assert_int_equal(mrg_json_check(mrg_buf_slice(&buf), &err), MRG_ERR_OK);
    }
    return mrg_buf_take(&buf, NULL);
}

/* Bytes in hex without spaces, or the error's message; the caller frees. */
static inline char *parse_as(const char *type, const char *json, bool lenient)
{
    struct mrg_buf bytes, text;
    struct mrg_error err = {0};
    mrg_buf_init(&bytes, 1u << 20);
    mrg_buf_init(&text, 1u << 21);
    assert_int_equal(mrg_json_check(SLICE(json), NULL), MRG_ERR_OK);
    enum mrg_err code =
        mrg_proto_from_json(proto_schema, message_of(proto_schema, type), SLICE(json), lenient, &bytes, &err);
    assert_int_equal(code, err.code);
    if (code) {
        mrg_buf_append_str(&text, err.message);
    } else {
        for (size_t i = 0; i < bytes.len; i++)
            mrg_buf_appendf(&text, "%02x", (unsigned char)bytes.data[i]);
        assert_int_equal(mrg_proto_check(message_of(proto_schema, type), mrg_buf_slice(&bytes), &err),
                         MRG_ERR_OK);
    }
    mrg_buf_done(&bytes);
    return mrg_buf_take(&text, NULL);
}

static inline void assert_prints(const char *type, const char *hex, enum mrg_proto_form form,
                                 const char *expected)
{
    _cleanup_free_ char *got = print_as(type, hex, form);
    assert_string_equal(got, expected);
}

/* `expected` in hex with spaces, or the error's message, which has no way to look like hex. */
static inline void assert_parses(const char *type, const char *json, const char *expected)
{
    _cleanup_free_ char *got = parse_as(type, json, false);
    char *without = mrg_strdup(expected);
    if (strspn(expected, "0123456789abcdef ") == strlen(expected)) {
        size_t len = 0;
        for (const char *p = expected; *p; p++) {
            if (*p != ' ')
                without[len++] = *p;
        }
        without[len] = '\0';
    }
    assert_string_equal(got, without);
    free(without);
}

#define INT32 "an integer from -2147483648 to 2147483647, as a number or a string"

struct parse_case {
    const char *type;
    const char *json;
    const char *expected; /* bytes in hex, or a message */
};

static inline void assert_all(const struct parse_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_parses(cases[i].type, cases[i].json, cases[i].expected);
}

#define ASSERT_ALL(cases) assert_all(cases, MRG_ARRAY_LEN(cases))
