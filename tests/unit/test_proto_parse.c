// SPDX-License-Identifier: Apache-2.0
#include "proto_help.h"

#include "core/limits.h"
#include "util/utf8.h"

#define KIND "a value of t.Kind: \"NONE\", \"BOX\", \"CRATE\", \"BIG\", or its number"

static void test_scalars(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"t.All", "{}", ""},
        {"t.All", " { \"i32\" : 1 } ", "08 01"},
        {"t.All",
         "{\"i32\":-2147483648,\"i64\":\"-9223372036854775808\",\"s32\":-2147483648,\"s64\":-"
         "9223372036854775808}",
         "08 80808080f8ffffffff01  10 80808080808080808001  28 ffffffff0f  30 ffffffffffffffffff01"},
        {"t.All",
         "{\"u32\":4294967295,\"u64\":18446744073709551615,\"x32\":\"4294967295\",\"x64\":"
         "\"18446744073709551615\"}",
         "18 ffffffff0f  20 ffffffffffffffffff01  3d ffffffff  41 ffffffffffffffff"},
        {"t.All", "{\"sx32\":-2,\"sx64\":-2,\"s32\":1,\"s64\":-1}",
         "28 02  30 01  4d feffffff  51 feffffffffffffff"},
        {"t.All", "{\"b\":true,\"s\":\"\\\"\\n\\u0000\\ud83d\\ude00\",\"kind\":\"BOX\"}",
         "68 01  72 07 220a00f09f9880  8001 01"},
        /* Fields come by number, and the defaults of those without presence do not come. */
        {"t.All", "{\"b\":true,\"i32\":1}", "08 01  68 01"},
        {"t.All",
         "{\"i32\":0,\"i64\":\"0\",\"u32\":0.0,\"x32\":0,\"f\":0,\"d\":0.0,\"b\":false,\"s\":\"\",\"y\":\"\","
         "\"kind\":\"NONE\"}",
         ""},
        {"t.All", "{\"i32\":null,\"s\":null,\"kind\":null}", ""},
        /* Escapes in names. */
        {"t.All", "{\"i\\u00332\":1}", "08 01"},
    };
    ASSERT_ALL(cases);
}

static void test_integers(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"t.All", "{\"i32\":1.0}", "08 01"},
        {"t.All", "{\"i32\":\"1e2\"}", "08 64"},
        {"t.All", "{\"i32\":150e-1}", "08 0f"},
        {"t.All", "{\"i32\":0.12E+2}", "08 0c"},
        {"t.All", "{\"i32\":-0}", ""},
        {"t.All", "{\"u32\":\"-0\"}", ""},
        {"t.All", "{\"i32\":0e999999999999999999999}", ""},
        /* Exact beyond what a double holds. */
        {"t.All", "{\"i64\":9223372036854775807.0}", "10 ffffffffffffffff7f"},
        {"t.All", "{\"i64\":9007199254740993.00}", "10 8180808080808010"},
        {"t.All", "{\"i64\":922337203685477580.7e1}", "10 ffffffffffffffff7f"},
        {"t.All", "{\"i32\":2147483648}", "i32: expected " INT32 "; got 2147483648"},
        {"t.All", "{\"i32\":-2147483649}", "i32: expected " INT32 "; got -2147483649"},
        {"t.All", "{\"i32\":1.5}", "i32: expected " INT32 "; got 1.5"},
        {"t.All", "{\"i32\":1e-400}", "i32: expected " INT32 "; got 1e-400"},
        {"t.All", "{\"i32\":1e400}", "i32: expected " INT32 "; got 1e400"},
        {"t.All", "{\"i32\":1e99999999999999999999}", "i32: expected " INT32 "; got 1e99999999999999999999"},
        {"t.All", "{\"i32\":true}", "i32: expected " INT32 "; got true"},
        {"t.All", "{\"i32\":[1]}", "i32: expected " INT32 "; got [1]"},
        {"t.All", "{\"i32\":\"\"}", "i32: expected " INT32 "; got \"\""},
        {"t.All", "{\"i32\":\"01\"}", "i32: expected " INT32 "; got \"01\""},
        {"t.All", "{\"i32\":\"+1\"}", "i32: expected " INT32 "; got \"+1\""},
        {"t.All", "{\"i32\":\" 1\"}", "i32: expected " INT32 "; got \" 1\""},
        {"t.All", "{\"i32\":\"1_0\"}", "i32: expected " INT32 "; got \"1_0\""},
        {"t.All", "{\"s32\":\"0x1\"}", "s32: expected " INT32 "; got \"0x1\""},
        {"t.All", "{\"u32\":-1}",
         "u32: expected an integer from 0 to 4294967295, as a number or a string; got -1"},
        {"t.All", "{\"u64\":18446744073709551616}",
         "u64: expected an integer from 0 to 18446744073709551615, as a number or a string; got "
         "18446744073709551616"},
        {"t.All", "{\"sx64\":9223372036854775808}",
         "sx64: expected an integer from -9223372036854775808 to 9223372036854775807, as a number or a "
         "string; got "
         "9223372036854775808"},
        {"t.All", "{\"b\":\"true\"}", "b: expected true or false; got \"true\""},
        {"t.All", "{\"b\":1}", "b: expected true or false; got 1"},
    };
    ASSERT_ALL(cases);
}

static void test_reals(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"t.All", "{\"f\":0.1,\"d\":0.1}", "5d cdcccc3d  61 9a9999999999b93f"},
        {"t.All", "{\"f\":\"1.5\",\"d\":\"1e2\"}", "5d 0000c03f  61 0000000000005940"},
        {"t.All", "{\"f\":\"NaN\",\"d\":\"Infinity\"}", "5d 0000c07f  61 000000000000f07f"},
        {"t.All", "{\"f\":\"-Infinity\",\"d\":-0.0}", "5d 000080ff  61 0000000000000080"},
        {"t.All", "{\"d\":-0}", "61 0000000000000080"},
        {"t.All", "{\"f\":1e-46,\"d\":5e-324}", "61 0100000000000000"},
        {"t.All", "{\"f\":3.4028234663852886e38}", "5d ffff7f7f"},
        {"t.All", "{\"f\":3.4028235677973362e38}", "5d ffff7f7f"},
        {"t.All", "{\"f\":3.4028235677973366e38}",
         "f: expected a number within the range of a 32-bit float, \"NaN\", \"Infinity\" or \"-Infinity\"; "
         "got "
         "3.4028235677973366e38"},
        {"t.All", "{\"d\":1e309}",
         "d: expected a number within the range of a double, \"NaN\", \"Infinity\" or \"-Infinity\"; got "
         "1e309"},
        {"t.All", "{\"d\":\"nan\"}",
         "d: expected a number within the range of a double, \"NaN\", \"Infinity\" or \"-Infinity\"; got "
         "\"nan\""},
        {"t.All", "{\"d\":true}",
         "d: expected a number within the range of a double, \"NaN\", \"Infinity\" or \"-Infinity\"; got "
         "true"},
    };
    ASSERT_ALL(cases);
}

static void test_text(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"t.All", "{\"y\":\"+/8=\"}", "7a 02 fbff"},
        {"t.All", "{\"y\":\"-_8\"}", "7a 02 fbff"},
        {"t.All", "{\"y\":\"AA==\"}", "7a 01 00"},
        {"t.All", "{\"y\":\"AB\"}", "7a 01 00"},
        {"t.All", "{\"y\":\"\\u0041A\"}", "7a 01 00"},
        {"t.All", "{\"y\":\"AAA\"}", "7a 02 0000"},
        {"t.All", "{\"y\":\"A\"}", "y: expected bytes as a base64 string; got \"A\""},
        {"t.All", "{\"y\":\"AA=\"}", "y: expected bytes as a base64 string; got \"AA=\""},
        {"t.All", "{\"y\":\"A===\"}", "y: expected bytes as a base64 string; got \"A===\""},
        {"t.All", "{\"y\":\"AA==AA==\"}", "y: expected bytes as a base64 string; got \"AA==AA==\""},
        {"t.All", "{\"y\":\"A A=\"}", "y: expected bytes as a base64 string; got \"A A=\""},
        {"t.All", "{\"y\":5}", "y: expected bytes as a base64 string; got 5"},
        {"t.All", "{\"s\":5}", "s: expected a string; got 5"},
        {"t.All", "{\"s\":{}}", "s: expected a string; got {}"},
    };
    ASSERT_ALL(cases);
}

static void test_enums(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"t.All", "{\"kind\":\"CRATE\"}", "8001 01"},
        {"t.All", "{\"kind\":\"BIG\"}", "8001 feffffffffffffffff01"},
        {"t.All", "{\"kind\":1}", "8001 01"},
        {"t.All", "{\"kind\":\"-2\"}", "8001 feffffffffffffffff01"},
        {"t.All", "{\"kind\":1e0}", "8001 01"},
        {"t.All", "{\"kind\":99}", "8001 63"},
        {"t.All", "{\"kind\":\"1e0\"}", "kind: expected " KIND "; got \"1e0\""},
        {"t.All", "{\"kind\":\"1.0\"}", "kind: expected " KIND "; got \"1.0\""},
        {"t.All", "{\"kind\":\"1E0\"}", "kind: expected " KIND "; got \"1E0\""},
        {"t.All", "{\"kind\":\"box\"}", "kind: expected " KIND "; got \"box\""},
        {"t.All", "{\"kind\":2147483648}", "kind: expected " KIND "; got 2147483648"},
        {"t.All", "{\"kind\":true}", "kind: expected " KIND "; got true"},
        {"t.Old", "{\"must\":1,\"closed\":2,\"packed\":[\"ONE\",2]}", "08 01  10 02  22 02 01 02"},
        {"t.Old", "{\"must\":1,\"closed\":3}",
         "closed: expected a value of t.Closed: \"ONE\", \"TWO\", or its number; got 3"},
        {"t.Known", "{\"none\":null,\"nones\":[null,\"NULL_VALUE\",0]}", "7a 03 000000"},
        {"t.Known", "{\"none\":\"null\"}", "none: expected null; got \"null\""},
    };
    ASSERT_ALL(cases);
}

static void test_members(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"t.Order", "{\"order_id\":\"a\"}", "0a 01 61"},
        {"t.Order", "{\"orderId\":\"a\"}", "0a 01 61"},
        {"t.Order", "{\"orderId\":null,\"order_id\":\"a\"}", "0a 01 61"},
        {"t.Order", "{\"order_id\":\"a\",\"orderId\":\"a\"}",
         "order_id: expected this field once; it is there as \"order_id\" and as \"orderId\""},
        {"t.Order", "{\"maybe\":0}", "60 00"},
        {"t.Item", "{\"sku\":\"a\",\"part\":{},\"parts\":[{},{\"count\":1}]}",
         "0a 01 61  1a 00  22 00  22 02 10 01"},
        {"t.Item", "{\"parts\":[]}", ""},
        {"t.Item", "{\"parts\":null}", ""},
        {"t.Item", "{\"parts\":{}}", "parts: expected an array, each item an object (t.Item); got {}"},
        {"t.Item", "{\"parts\":[{},null]}", "parts[1]: expected an object (t.Item); got null"},
        {"t.Item", "{\"parts\":[{\"part\":{\"count\":\"x\"}}]}",
         "parts[0].part.count: expected " INT32 "; got \"x\""},
        {"t.Item", "{\"part\":[]}", "part: expected an object (t.Item); got []"},
        {"t.Item", "[]", "expected an object (t.Item); got []"},
        {"t.Item", "null", "expected an object (t.Item); got null"},
        {"t.Item", "{\"part\":{\"cuont\":1}}",
         "part.cuont: t.Item has no such field; did you mean \"count\"?; its fields are sku, count, part, "
         "parts"},
        {"t.Item", "{\"quantity\":1}",
         "quantity: t.Item has no such field; its fields are sku, count, part, parts"},
        {"t.Item", "{\"a b\":1}",
         "[\"a b\"]: t.Item has no such field; its fields are sku, count, part, parts"},
        {"t.Nothing", "{\"a\":1}", "a: t.Nothing has no such field; it has no fields"},
        {"t.Order", "{\"one\":1,\"two\":null}", "40 01"},
        {"t.Order", "{\"one\":0}", "40 00"},
        {"t.Order", "{\"one\":1,\"two\":\"\"}",
         "two: expected one member of the oneof \"choice\"; got \"one\" and \"two\""},
        {"t.Order", "{\"four\":null}", "5a 02 08 00"},
        {"t.Old", "{}", "must: expected this required field, " INT32 "; it is missing"},
        {"t.Old", "{\"must\":null}", "must: expected this required field, " INT32 "; it is missing"},
        {"t.Old", "{\"must\":0,\"seven\":7,\"list\":[{\"must\":1},{}]}",
         "list[1].must: expected this required field, " INT32 "; it is missing"},
        {"t.Old", "{\"must\":0,\"seven\":7,\"child\":{\"must\":1}}", "08 00  32 02 08 01  38 07"},
    };
    ASSERT_ALL(cases);
}

static void test_lists_and_maps(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"t.Order", "{\"numbers\":[1,0,-1],\"loose\":[1,0]}",
         "32 0c 01 00 ffffffffffffffffff01  38 01  38 00"},
        {"t.Order", "{\"blobs\":[\"\",\"AA\"],\"many\":[\"BOX\",0]}", "7a 00  7a 01 00  8a01 02 01 00"},
        {"t.Order", "{\"numbers\":[1,\"x\"]}", "numbers[1]: expected " INT32 "; got \"x\""},
        {"t.Order", "{\"numbers\":1}", "numbers: expected an array, each item " INT32 "; got 1"},
        {"t.Order", "{\"loose\":[null]}", "loose[0]: expected " INT32 "; got null"},
        {"t.Order", "{\"numbers\":[null]}", "numbers[0]: expected " INT32 "; got null"},
        {"t.Order", "{\"flags\":{\"true\":1,\"false\":0}}", "22 04 08 01 10 01  22 02 08 00"},
        {"t.Order", "{\"kinds\":{\"-1\":\"BOX\"}}", "2a 0d 08 ffffffffffffffffff01 10 01"},
        {"t.Order", "{\"labels\":{\"\\u0061\\\\\":\"b\"}}", "8201 07 0a 02 615c 12 01 62"},
        {"t.Order", "{\"labels\":{}}", ""},
        {"t.Order", "{\"byName\":{\"a\":{\"count\":1}}}", "1a 07 0a 01 61 12 02 10 01"},
        {"t.Order", "{\"values\":{\"a\":null}}", "6a 07 0a 01 61 12 02 08 00"},
        {"t.Order", "{\"labels\":[]}", "labels: expected an object (a map); got []"},
        {"t.Order", "{\"by_name\":{\"a\\\"\":{\"sku\":\"\\\\\\\\\",\"count\":\"x\"}}}",
         "by_name[\"a\\\"\"].count: expected " INT32 "; got \"x\""},
        {"t.Order", "{\"by_name\":{\"a\":null}}", "by_name[\"a\"]: expected an object (t.Item); got null"},
        {"t.Order", "{\"flags\":{\"True\":1}}",
         "flags[\"True\"]: expected a key that is true or false; got True"},
        {"t.Order", "{\"flags\":{\"1\":1}}", "flags[\"1\"]: expected a key that is true or false; got 1"},
    };
    ASSERT_ALL(cases);
    static const char *const keys[] = {
        "", "1.0", "1e0", "1E0", "-0", "01", "+1", " 1", "9223372036854775808"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(keys); i++) {
        _cleanup_free_ char *json = mrg_asprintf("{\"kinds\":{\"%s\":1}}", keys[i]);
        _cleanup_free_ char *expected =
            mrg_asprintf("kinds[\"%s\"]: expected a key that is an integer from -9223372036854775808 to "
                         "9223372036854775807, as a number or a string; got %s",
                         keys[i], keys[i]);
        assert_parses("t.Order", json, expected);
    }
}

static void test_lenient(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"t.Item", "{\"a\":{\"b\":[1]},\"count\":1,\"part\":{\"c\":null}}", "10011a00"},
        {"t.Known",
         "{\"any\":{\"@type\":\"google.protobuf.Duration\",\"value\":\"1s\",\"b\":1},\"empty\":{\"a\":1}}",
         "3a1e0a18676f6f676c652e70726f746f6275662e4475726174696f6e120208014a00"},
        /* Unknown members only: what is known is looked at as closely as ever. */
        {"t.Item", "{\"a\":1,\"count\":\"x\"}", "count: expected " INT32 "; got \"x\""},
        {"t.Old", "{\"a\":1}", "must: expected this required field, " INT32 "; it is missing"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *got = parse_as(cases[i].type, cases[i].json, true);
        assert_string_equal(got, cases[i].expected);
    }
}

static enum mrg_err parse_into(const char *type, const char *json, size_t max, struct mrg_error *err)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, max);
    enum mrg_err code =
        mrg_proto_from_json(proto_schema, message_of(proto_schema, type), SLICE(json), false, &buf, err);
    mrg_buf_done(&buf);
    return code;
}

/* `open` as often as it says, `inner`, and as many `close`. */
static char *repeated(unsigned count, const char *open, const char *inner, const char *close)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, 1u << 20);
    for (unsigned i = 0; i < count; i++)
        mrg_buf_append_str(&buf, open);
    mrg_buf_append_str(&buf, inner);
    for (unsigned i = 0; i < count; i++)
        mrg_buf_append_str(&buf, close);
    return mrg_buf_take(&buf, NULL);
}

static void test_limits(void **state)
{
    (void)state;
    struct mrg_error err = {0};
    assert_int_equal(parse_into("t.Item", "{\"sku\":\"abcdefgh\"}", 10, &err), MRG_ERR_OK);
    assert_int_equal(parse_into("t.Item", "{\"sku\":\"abcdefghi\"}", 10, &err), MRG_ERR_TOO_LARGE);
    assert_string_equal(err.message, "expected at most 10 bytes as a message");
    assert_int_equal(parse_into("t.Item", "{\"sku\":\"abcdefghi\",\"part\":{}}", 10, &err),
                     MRG_ERR_TOO_LARGE);
    assert_string_equal(err.message, "part: expected at most 10 bytes as a message");
    for (unsigned depth = MRG_MAX_PROTO_DEPTH - 1; depth <= MRG_MAX_PROTO_DEPTH; depth++) {
        _cleanup_free_ char *items = repeated(depth, "{\"part\":", "{}", "}");
        bool deep = depth == MRG_MAX_PROTO_DEPTH;
        assert_int_equal(parse_into("t.Item", items, 1u << 20, &err), deep ? MRG_ERR_TOO_LARGE : MRG_ERR_OK);
        assert_int_equal(deep, strstr(err.message, "expected at most 100 messages in each other") != NULL);
        err.message[0] = '\0';
    }
    /* A Value and its list are a message each. */
    for (unsigned depth = 49; depth <= 51; depth++) {
        _cleanup_free_ char *lists = repeated(depth, "[", "", "]");
        assert_int_equal(parse_into("google.protobuf.Value", lists, 1u << 20, NULL),
                         2 * depth > MRG_MAX_PROTO_DEPTH ? MRG_ERR_TOO_LARGE : MRG_ERR_OK);
    }
    /* Faults without a place for them. */
    assert_int_equal(parse_into("t.Item", "{\"count\":\"x\"}", 100, NULL), MRG_ERR_INVALID);
    assert_int_equal(parse_into("t.Item", "{\"x\":1}", 100, NULL), MRG_ERR_INVALID);
    assert_int_equal(parse_into("t.Order", "{\"flags\":{\"x\":1}}", 100, NULL), MRG_ERR_INVALID);
    assert_int_equal(parse_into("t.Order", "{\"numbers\":1}", 100, NULL), MRG_ERR_INVALID);
    assert_int_equal(parse_into("t.Old", "{}", 100, NULL), MRG_ERR_INVALID);
}

/* Long paths, names and values are cut, at whole characters. */
static void test_long_errors(void **state)
{
    (void)state;
    struct mrg_error err = {0};
    _cleanup_free_ char *text = repeated(60, "\xc3\xa9", "", "");
    _cleanup_free_ char *shown = repeated(39, "\xc3\xa9", "", "");
    _cleanup_free_ char *json = mrg_asprintf("{\"count\":\"%s\"}", text);
    _cleanup_free_ char *expected = mrg_asprintf("count: expected " INT32 "; got \"%s…", shown);
    assert_parses("t.Item", json, expected);
    for (unsigned pad = 0; pad < 2; pad++) {
        _cleanup_free_ char *objects = repeated(
            25, "{\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\":", pad ? "{\"ab\":1e999}" : "1e999", "}");
        assert_int_equal(parse_into("google.protobuf.Value", objects, 1u << 20, &err), MRG_ERR_INVALID);
        assert_non_null(strstr(err.message, "…"));
        assert_true(mrg_utf8_valid(SLICE(err.message)));
    }
    assert_int_equal(parse_into("t.Wide", "{\"x\":1}", 100, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, LONG_NAME "18, and 3 more"));
    _cleanup_free_ char *deep = repeated(80, "{\"part\":", "{\"count\":true}", "}");
    assert_int_equal(parse_into("t.Item", deep, 1u << 20, &err), MRG_ERR_INVALID);
    assert_ptr_equal(strstr(err.message, "part.part."), err.message);
    assert_non_null(strstr(err.message, "…"));
    assert_non_null(strstr(err.message, ".part.part.count: expected " INT32 "; got true"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_reals),          cmocka_unit_test(test_text),
        cmocka_unit_test(test_enums),          cmocka_unit_test(test_members),
        cmocka_unit_test(test_lists_and_maps), cmocka_unit_test(test_lenient),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_long_errors),
    };
    return cmocka_run_group_tests(tests, proto_setup, proto_teardown);
}
