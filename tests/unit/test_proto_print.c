// SPDX-License-Identifier: Apache-2.0
#include "proto_help.h"

#include "core/limits.h"

static void test_scalars(void **state)
{
    (void)state;
    const char *least =
        "08 80808080f8ffffffff01  10 80808080808080808001  28 ffffffff0f  30 ffffffffffffffffff01 "
        "4d 00000080  51 0000000000000080  5d 000080ff  61 000000000000f0ff  68 02 "
        "72 03 220a 00  7a 03 fbff00  8001 feffffffffffffffff01";
    assert_prints("t.All", least, MRG_PROTO_NORMAL,
                  "{\"i32\":-2147483648,\"i64\":-9223372036854775808,\"u32\":0,\"u64\":0,\"s32\":-2147483648,"
                  "\"s64\":-9223372036854775808,\"x32\":0,\"x64\":0,\"sx32\":-2147483648,"
                  "\"sx64\":-9223372036854775808,\"f\":\"-Infinity\",\"d\":\"-Infinity\",\"b\":true,"
                  "\"s\":\"\\\"\\n\\u0000\",\"y\":\"+/8A\",\"kind\":\"BIG\"}");
    const char *most =
        "08 ffffffff07  10 ffffffffffffffff7f  18 ffffffff0f  20 ffffffffffffffffff01  28 feffffff0f "
        "30 feffffffffffffffff01  3d ffffffff  41 ffffffffffffffff  5d cd cc 8c 41  61 9a9999999999b93f "
        "8001 01";
    assert_prints(
        "t.All", most, MRG_PROTO_JSON,
        "{\"i32\":2147483647,\"i64\":\"9223372036854775807\",\"u32\":4294967295,"
        "\"u64\":\"18446744073709551615\",\"s32\":2147483647,\"s64\":\"9223372036854775807\","
        "\"x32\":4294967295,\"x64\":\"18446744073709551615\",\"f\":17.6,\"d\":0.1,\"kind\":\"BOX\"}");
    assert_prints("t.All", "", MRG_PROTO_JSON, "{}");
    assert_prints(
        "t.All", "", MRG_PROTO_NORMAL,
        "{\"i32\":0,\"i64\":0,\"u32\":0,\"u64\":0,\"s32\":0,\"s64\":0,\"x32\":0,\"x64\":0,\"sx32\":0,"
        "\"sx64\":0,\"f\":0.0,\"d\":0.0,\"b\":false,\"s\":\"\",\"y\":\"\",\"kind\":\"NONE\"}");
    /* Numbers are cut to their size, whatever the varint. */
    assert_prints("t.All", "08 ffffffffffffffff7f 18 ffffffffffffffff7f", MRG_PROTO_JSON,
                  "{\"i32\":-1,\"u32\":4294967295}");
    assert_prints("t.All", "8001 63", MRG_PROTO_JSON, "{\"kind\":99}");
    assert_prints("t.All", "5d 00000080  61 0000000000000080", MRG_PROTO_JSON, "{\"f\":-0.0,\"d\":-0.0}");
    assert_prints("t.All", "5d 0000c07f  61 000000000000f87f", MRG_PROTO_JSON,
                  "{\"f\":\"NaN\",\"d\":\"NaN\"}");
}

static void test_presence(void **state)
{
    (void)state;
    /* An explicit default of a field without presence is no value; of one with presence it is. */
    assert_prints("t.Order", "0a 00  60 00  70 00", MRG_PROTO_JSON, "{\"maybe\":0}");
    assert_prints("t.Order", "40 00", MRG_PROTO_JSON, "{\"one\":0}");
    assert_prints(
        "t.Order", "", MRG_PROTO_NORMAL,
        "{\"order_id\":\"\",\"items\":[],\"by_name\":{},\"flags\":{},\"kinds\":{},\"numbers\":[],"
        "\"loose\":[],\"values\":{},\"kind\":\"NONE\",\"blobs\":[],\"labels\":{},\"many\":[],\"words\":[]}");
    assert_prints("t.Order", "32 00", MRG_PROTO_JSON, "{}");
    assert_prints("t.Old", "08 00", MRG_PROTO_NORMAL,
                  "{\"must\":0,\"many\":[],\"packed\":[],\"map\":{},\"list\":[],\"named\":{}}");
}

static void test_merging(void **state)
{
    (void)state;
    /* The last of a scalar; messages are one together, lists are one list, in pieces of both kinds. */
    assert_prints("t.Item", "10 01  10 02  1a 03 0a 01 61  1a 02 10 05  1a 03 0a 01 62", MRG_PROTO_JSON,
                  "{\"count\":2,\"part\":{\"sku\":\"b\",\"count\":5}}");
    assert_prints("t.Order", "32 02 01 02  30 03  32 01 04  38 07  3a 01 08", MRG_PROTO_JSON,
                  "{\"numbers\":[1,2,3,4],\"loose\":[7,8]}");
    /* A oneof's last member; one that comes again after another begins anew. */
    assert_prints("t.Order", "40 01  4a 01 61", MRG_PROTO_JSON, "{\"two\":\"a\"}");
    assert_prints("t.Order", "52 02 10 05  40 01  52 03 0a 01 61", MRG_PROTO_JSON,
                  "{\"three\":{\"sku\":\"a\"}}");
    assert_prints("t.Order", "52 02 10 05  52 03 0a 01 61", MRG_PROTO_JSON,
                  "{\"three\":{\"sku\":\"a\",\"count\":5}}");
    /* Fields come by number, whatever their order. */
    assert_prints("t.Item", "10 01  0a 01 61", MRG_PROTO_JSON, "{\"sku\":\"a\",\"count\":1}");
}

static void test_maps(void **state)
{
    (void)state;
    assert_prints("t.Order", "22 04 08 01 10 07  22 02 10 08", MRG_PROTO_JSON,
                  "{\"flags\":{\"true\":7,\"false\":8}}");
    assert_prints("t.Order", "2a 0d 08 80808080808080808001 10 01  2a 00  2a 04 08 01 10 63", MRG_PROTO_JSON,
                  "{\"kinds\":{\"-9223372036854775808\":\"BOX\",\"0\":\"NONE\",\"1\":99}}");
    /* The last entry of a key; keys with quotes; an entry without a value. */
    assert_prints("t.Order",
                  "1a 07 0a 01 61 12 02 10 01  1a 03 0a 01 62  1a 07 0a 01 61 12 02 10 02  1a 03 0a 01 22",
                  MRG_PROTO_JSON, "{\"byName\":{\"b\":{},\"a\":{\"count\":2},\"\\\"\":{}}}");
    assert_prints("t.Order", "6a 03 0a 01 61", MRG_PROTO_JSON, "{\"values\":{\"a\":null}}");
}

/* Enough entries for the table: 40 keys, each of them twice. */
static void test_large_map(void **state)
{
    (void)state;
    struct mrg_buf bytes, json, expected;
    mrg_buf_init(&bytes, 1u << 16);
    mrg_buf_init(&json, 1u << 16);
    mrg_buf_init(&expected, 1u << 16);
    mrg_buf_append_str(&expected, "{\"byName\":{");
    for (int i = 0; i < 80; i++) {
        char key[3] = {(char)('a' + i % 40 / 10), (char)('0' + i % 10), '\0'};
        const char entry[] = {0x1a, 8, 0x0a, 2, key[0], key[1], 0x12, 2, 0x10, (char)i};
        mrg_buf_append(&bytes, entry, sizeof(entry));
        if (i >= 40)
            mrg_buf_appendf(&expected, "%s\"%s\":{\"count\":%d}", i > 40 ? "," : "", key, i);
    }
    mrg_buf_append_str(&expected, "}}");
    assert_int_equal(mrg_proto_to_json(proto_schema, message_of(proto_schema, "t.Order"),
                                       mrg_buf_slice(&bytes), MRG_PROTO_JSON, &json, NULL),
                     MRG_ERR_OK);
    assert_string_equal(json.data, expected.data);
    mrg_buf_done(&bytes);
    mrg_buf_done(&json);
    mrg_buf_done(&expected);
}

static void test_closed_enums(void **state)
{
    (void)state;
    assert_prints("t.Old", "08 01  10 05  18 05  18 02  22 03 01 05 02", MRG_PROTO_JSON,
                  "{\"must\":1,\"many\":[\"TWO\"],\"packed\":[\"ONE\",\"TWO\"]}");
    assert_prints("t.Old", "08 01  10 01  10 05  22 01 05", MRG_PROTO_JSON,
                  "{\"must\":1,\"closed\":\"ONE\"}");
    /* An entry whose value is unknown is an unknown field; one without a value has the default. */
    assert_prints("t.Old", "08 01  2a 05 0a 01 61 10 05", MRG_PROTO_JSON, "{\"must\":1}");
    assert_prints("t.Old", "08 01  2a 05 0a 01 61 10 05  2a 03 0a 01 62", MRG_PROTO_JSON,
                  "{\"must\":1,\"map\":{\"b\":\"ZERO\"}}");
}

static void test_known(void **state)
{
    (void)state;
    assert_prints("t.Known", "0a 0b 08 c0f6f2bc06 10 80ade204", MRG_PROTO_JSON,
                  "{\"at\":\"2025-01-31T12:00:00.010Z\"}");
    assert_prints(
        "t.Known", "12 00  42 00  4a 00", MRG_PROTO_NORMAL,
        "{\"wait\":\"0s\",\"boxed\":0,\"empty\":{},\"none\":null,\"values\":[],\"boxes\":[],\"nones\":[]}");
    assert_prints("t.Known", "42 00  6a 05 0d 0000c03f  5a 03 0a 01 ff", MRG_PROTO_JSON,
                  "{\"boxed\":\"0\",\"bytes\":\"/w==\",\"real\":1.5}");
    assert_prints("t.Known", "1a 0b 0a 01 61 0a 07 62355f635f64", MRG_PROTO_JSON,
                  "mask.paths[1]: expected 7 bytes, as its length says; 6 are left");
    assert_prints("t.Known", "1a 09 0a 01 61 0a 04 62 5f 63 64", MRG_PROTO_JSON, "{\"mask\":\"a,bCd\"}");
    /* A Value of every kind; integers without a point. */
    assert_prints("t.Known",
                  "32 32  0a 02 08 00  0a 09 11 0000000000003940  0a 09 11 000000000000f83f  0a 03 1a 01 61 "
                  "0a 02 20 01  0a 09 2a 07 0a 05 0a 01 6b 12 00  0a 02 32 00",
                  MRG_PROTO_JSON, "{\"list\":[null,25,1.5,\"a\",true,{\"k\":null},[]]}");
    assert_prints("t.Known", "2a 00", MRG_PROTO_JSON, "{\"value\":null}");
    assert_prints("t.Known", "2a 09 11 0000000000000080", MRG_PROTO_JSON, "{\"value\":-0.0}");
    assert_prints("t.Known", "2a 09 11 50efe2d6e41a4b44", MRG_PROTO_JSON, "{\"value\":1e+21}");
    assert_prints("t.Known", "7a 02 00 00", MRG_PROTO_JSON, "{\"nones\":[null,null]}");
}

static void test_known_faults(void **state)
{
    (void)state;
    assert_prints("t.Known", "0a 02 10 ff", MRG_PROTO_JSON,
                  "at.nanos: expected a varint; the bytes end within it, or it has more than 10");
    assert_prints("t.Known", "0a 06 10 8094ebdc03", MRG_PROTO_JSON,
                  "at: expected a time from year 1 to 9999, with 0 to 999999999 nanoseconds; got 0 seconds "
                  "and 1000000000 "
                  "nanoseconds");
    static const char *const paths[] = {"a_", "aB", "a_1", "a__b", "a_B"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(paths); i++) {
        struct mrg_buf bytes;
        mrg_buf_init(&bytes, 64);
        mrg_buf_appendf(&bytes, "1a %02zx 0a %02zx", strlen(paths[i]) + 2, strlen(paths[i]));
        for (const char *p = paths[i]; *p; p++)
            mrg_buf_appendf(&bytes, "%02x", *p);
        _cleanup_free_ char *expected = mrg_asprintf(
            "mask.paths[0]: expected a path without capital letters, and a small letter after each _; got %s",
            paths[i]);
        assert_prints("t.Known", mrg_buf_slice(&bytes).ptr, MRG_PROTO_JSON, expected);
        mrg_buf_done(&bytes);
    }
    assert_prints("t.Known", "3a 03 12 01 00", MRG_PROTO_JSON,
                  "any: expected an Any of a type that the descriptors have; got ");
    assert_prints(
        "t.Known", "0a 0b 10 ffffffffffffffffff01", MRG_PROTO_JSON,
        "at: expected a time from year 1 to 9999, with 0 to 999999999 nanoseconds; got 0 seconds and -1 "
        "nanoseconds");
    assert_prints(
        "t.Known", "12 0d 08 01 10 ffffffffffffffffff01", MRG_PROTO_JSON,
        "wait: expected a duration of at most 315576000000 seconds, with nanoseconds of the same sign, less "
        "than a second; got 1 seconds and -1 nanoseconds");
    assert_prints(
        "t.Known", "1a 04 0a 02 61 5f", MRG_PROTO_JSON,
        "mask.paths[0]: expected a path without capital letters, and a small letter after each _; got a_");
    assert_prints("t.Known", "22 10 0a 0e 0a 01 61 12 09 11 000000000000f87f", MRG_PROTO_JSON,
                  "data.fields[\"a\"].number_value: expected a number that JSON has; got NaN or an infinity");
}

static void test_any(void **state)
{
    (void)state;
    assert_prints("t.Known", "3a 00", MRG_PROTO_JSON, "{\"any\":{}}");
    /* "x/t.Item" with count 5; a Duration of 1 s; the built-in schema's google.rpc.ErrorInfo. */
    assert_prints("t.Known", "3a 0e 0a 08 782f742e4974656d 12 02 10 05", MRG_PROTO_JSON,
                  "{\"any\":{\"@type\":\"x/t.Item\",\"count\":5}}");
    assert_prints(
        "t.Known", "3a 0e 0a 08 782f742e4974656d 12 02 10 05", MRG_PROTO_NORMAL,
        "{\"any\":{\"@type\":\"x/t.Item\",\"sku\":\"\",\"count\":5,\"parts\":[]},\"none\":null,\"values\":[],"
        "\"boxes\":[],\"nones\":[]}");
    assert_prints("t.Known", "3a 1e 0a 18 676f6f676c652e70726f746f6275662e4475726174696f6e 12 02 08 01",
                  MRG_PROTO_JSON, "{\"any\":{\"@type\":\"google.protobuf.Duration\",\"value\":\"1s\"}}");
    assert_prints("t.Known", "3a 1b 0a 14 676f6f676c652e7270632e4572726f72496e666f 12 03 0a 01 41",
                  MRG_PROTO_JSON, "{\"any\":{\"@type\":\"google.rpc.ErrorInfo\",\"reason\":\"A\"}}");
    assert_prints("t.Known", "3a 17 0a 15 676f6f676c652e70726f746f6275662e456d707479", MRG_PROTO_JSON,
                  "{\"any\":{\"@type\":\"google.protobuf.Empty\"}}");
    assert_prints("t.Known", "3a 05 0a 03 612f62", MRG_PROTO_JSON,
                  "any: expected an Any of a type that the descriptors have; got a/b");
    assert_prints("t.Known", "3a 0d 0a 08 782f742e4974656d 12 01 10", MRG_PROTO_JSON,
                  "any.count: expected a varint; the bytes end within it, or it has more than 10");
}

static void test_limits(void **state)
{
    (void)state;
    size_t len;
    struct mrg_buf buf;
    struct mrg_error err;
    const struct mrg_message *order = message_of(proto_schema, "t.Order");
    _cleanup_free_ char *bytes = from_hex("0a 05 6162636465 12 00 12 00", &len);
    mrg_buf_init(&buf, 10);
    assert_int_equal(
        mrg_proto_to_json(proto_schema, order, (struct mrg_slice){bytes, len}, MRG_PROTO_JSON, &buf, &err),
        MRG_ERR_TOO_LARGE);
    assert_string_equal(err.message, "items: expected at most 10 bytes as JSON");
    mrg_buf_done(&buf);
    /* Lists in each other: 98 arrays and objects are what a body may have. */
    struct mrg_buf list, outer;
    mrg_buf_init(&list, 1u << 16);
    for (unsigned depth = 1; depth <= MRG_MAX_BODY_DEPTH; depth++) {
        mrg_buf_init(&outer, 1u << 16);
        if (depth % 2) {
            mrg_buf_append_char(&outer, 0x32); /* Value.list_value */
        } else {
            mrg_buf_append_char(&outer, 0x0a); /* ListValue.values */
        }
        if (list.len > 0x7f)
            mrg_buf_append_char(&outer, (char)(list.len | 0x80));
        mrg_buf_append_char(&outer, (char)(list.len > 0x7f ? list.len >> 7 : list.len));
        mrg_buf_append_slice(&outer, mrg_buf_slice(&list));
        mrg_buf_done(&list);
        list = outer;
    }
    mrg_buf_init(&buf, 1u << 16);
    const struct mrg_message *any_list = message_of(proto_schema, "google.protobuf.ListValue");
    assert_int_equal(
        mrg_proto_to_json(proto_schema, any_list, mrg_buf_slice(&list), MRG_PROTO_JSON, &buf, NULL),
        MRG_ERR_OK);
    mrg_buf_done(&buf);
    mrg_buf_done(&list);
}

/* Items in each other by their lists: two levels of JSON each. */
static void test_json_depth(void **state)
{
    (void)state;
    const struct mrg_message *item = message_of(proto_schema, "t.Item");
    for (unsigned depth = 48; depth <= 49; depth++) {
        struct mrg_buf bytes, outer, json;
        struct mrg_error err;
        mrg_buf_init(&bytes, 1u << 16);
        for (unsigned i = 0; i < depth; i++) {
            mrg_buf_init(&outer, 1u << 16);
            mrg_buf_append_char(&outer, 0x22);
            if (bytes.len > 0x7f)
                mrg_buf_append_char(&outer, (char)(bytes.len | 0x80));
            mrg_buf_append_char(&outer, (char)(bytes.len > 0x7f ? bytes.len >> 7 : bytes.len));
            mrg_buf_append_slice(&outer, mrg_buf_slice(&bytes));
            mrg_buf_done(&bytes);
            bytes = outer;
        }
        mrg_buf_init(&json, 1u << 16);
        enum mrg_err code =
            mrg_proto_to_json(proto_schema, item, mrg_buf_slice(&bytes), MRG_PROTO_JSON, &json, &err);
        assert_int_equal(code, depth == 48 ? MRG_ERR_OK : MRG_ERR_TOO_LARGE);
        if (code)
            assert_non_null(strstr(err.message, ": expected at most 98 objects and arrays in each other"));
        mrg_buf_done(&bytes);
        mrg_buf_done(&json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),    cmocka_unit_test(test_presence),
        cmocka_unit_test(test_merging),    cmocka_unit_test(test_maps),
        cmocka_unit_test(test_large_map),  cmocka_unit_test(test_closed_enums),
        cmocka_unit_test(test_known),      cmocka_unit_test(test_known_faults),
        cmocka_unit_test(test_any),        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_json_depth),
    };
    return cmocka_run_group_tests(tests, proto_setup, proto_teardown);
}
