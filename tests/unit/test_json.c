// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "util/json.h"

static void assert_minified(const char *text, const char *expected)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, 1000);
    mrg_json_minify(&buf, mrg_slice_of(text));
    assert_string_equal(mrg_buf_slice(&buf).ptr, expected);
    mrg_buf_done(&buf);
}

static void test_minify(void **state)
{
    (void)state;
    assert_minified(" { \"a b\" : [ 1.50 , \"x \\\" y\" ] ,\n\t\"c\\\\\" : { } } ",
                    "{\"a b\":[1.50,\"x \\\" y\"],\"c\\\\\":{}}");
    assert_minified(" null\n", "null");
    assert_minified("[1,2]", "[1,2]");
}

static void test_member(void **state)
{
    (void)state;
    struct mrg_slice text =
        MRG_SLICE(" {\"a\":1, \"b\" : [1,{\"c\":\"]}\"}] ,\"\\u0063\":\"x\\\"\", \"d\":-1.5e3 } ");
    struct mrg_slice value;
    assert_true(mrg_json_member(text, "a", &value));
    assert_true(mrg_slice_eq_str(value, "1"));
    assert_true(mrg_json_member(text, "b", &value));
    assert_true(mrg_slice_eq_str(value, "[1,{\"c\":\"]}\"}]"));
    assert_true(mrg_json_member(text, "c", &value));
    assert_true(mrg_slice_eq_str(value, "\"x\\\"\""));
    assert_true(mrg_json_member(text, "d", &value));
    assert_true(mrg_slice_eq_str(value, "-1.5e3"));
    assert_false(mrg_json_member(text, "e", &value));
    assert_false(mrg_json_member(text, "", &value));
    assert_true(mrg_slice_eq_str(value, "-1.5e3"));
    assert_false(mrg_json_member(MRG_SLICE("[\"a\",1]"), "a", &value));
    assert_false(mrg_json_member(MRG_SLICE("\"a\""), "a", &value));
    assert_false(mrg_json_member(MRG_SLICE("{}"), "a", &value));
}

static void test_next(void **state)
{
    (void)state;
    struct mrg_slice text = MRG_SLICE("{ \"a\" : {\"x\":[]} , \"b\\n\":true}");
    struct mrg_slice key, value;
    size_t cursor = 0;
    assert_true(mrg_json_next(text, &cursor, &key, &value));
    assert_true(mrg_slice_eq_str(key, "a") && mrg_slice_eq_str(value, "{\"x\":[]}"));
    assert_true(mrg_json_next(text, &cursor, &key, &value));
    assert_true(mrg_slice_eq_str(key, "b\\n") && mrg_slice_eq_str(value, "true"));
    assert_false(mrg_json_next(text, &cursor, &key, &value));
    assert_false(mrg_json_next(text, &cursor, &key, &value));
    cursor = 0;
    assert_false(mrg_json_next(MRG_SLICE("[1]"), &cursor, &key, &value));
}

static void test_next_item(void **state)
{
    (void)state;
    struct mrg_slice text = MRG_SLICE(" [ [1,2] , \"a,b\" ,null]");
    struct mrg_slice value;
    size_t cursor = 0;
    static const char *const want[] = {"[1,2]", "\"a,b\"", "null"};
    for (size_t i = 0; i < 3; i++) {
        assert_true(mrg_json_next_item(text, &cursor, &value));
        assert_true(mrg_slice_eq_str(value, want[i]));
    }
    assert_false(mrg_json_next_item(text, &cursor, &value));
    cursor = 0;
    assert_false(mrg_json_next_item(MRG_SLICE("{\"a\":1}"), &cursor, &value));
    assert_false(mrg_json_next_item(MRG_SLICE("[ ]"), &cursor, &value));
}

static void assert_unescaped(const char *text, struct mrg_slice expected)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, 100000);
    mrg_json_unescape(&buf, mrg_slice_of(text));
    assert_true(mrg_slice_eq(mrg_buf_slice(&buf), expected));
    mrg_buf_done(&buf);
}

static void test_unescape(void **state)
{
    (void)state;
    assert_unescaped("\"\"", MRG_SLICE(""));
    assert_unescaped("\"abc\"", MRG_SLICE("abc"));
    assert_unescaped("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", MRG_SLICE("\"\\/\b\f\n\r\t"));
    assert_unescaped("\"x\\u0041\\u00e9\\u20AC\\uD83D\\uDE00y\"",
                     MRG_SLICE("xA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80y"));
    assert_unescaped("\"a\\u0000b\"", MRG_SLICE("a\0b"));
    assert_unescaped("\"\\uDBFF\\uDFFF\\ud800\\udc00\"", MRG_SLICE("\xF4\x8F\xBF\xBF\xF0\x90\x80\x80"));
    char text[2004] = "\"";
    char want[1000];
    for (int i = 0; i < 1000; i++) {
        memcpy(text + 1 + 2 * i, "\\n", 2);
        want[i] = '\n';
    }
    memcpy(text + 2001, "\"", 2);
    assert_unescaped(text, (struct mrg_slice){want, 1000});
}

static void assert_string_text(struct mrg_slice text, const char *expected)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, 1000);
    mrg_json_append_string(&buf, text);
    assert_string_equal(buf.data, expected);
    mrg_buf_done(&buf);
}

static void test_append_string(void **state)
{
    (void)state;
    assert_string_text(MRG_SLICE(""), "\"\"");
    assert_string_text(MRG_SLICE("a/b"), "\"a/b\"");
    assert_string_text(MRG_SLICE("\" \\ \b\f\n\r\t\v\x01\x1f\x7f"),
                       "\"\\\" \\\\ \\b\\f\\n\\r\\t\\u000b\\u0001\\u001f\x7f\"");
    assert_string_text(MRG_SLICE("a\0b"), "\"a\\u0000b\"");
    assert_string_text(MRG_SLICE("caf\xC3\xA9 \xF0\x9F\x98\x80"), "\"caf\xC3\xA9 \xF0\x9F\x98\x80\"");
    assert_string_text(MRG_SLICE("a\xFF"
                                 "b\xC3"),
                       "\"a\xEF\xBF\xBD"
                       "b\xEF\xBF\xBD\"");
}

/* Parsed and written again. */
static void assert_round(const char *text, const char *expected)
{
    struct mrg_buf buf;
    struct json_object *tree;
    struct mrg_error err;
    mrg_buf_init(&buf, 10000);
    if (mrg_json_parse(mrg_slice_of(text), &tree, &err))
        fail_msg("%s: %s", text, err.message);
    mrg_json_append_tree(&buf, tree);
    assert_string_equal(buf.data, expected);
    json_object_put(tree);
    mrg_buf_done(&buf);
}

static void test_parse_and_write(void **state)
{
    (void)state;
    static const char *const same[] = {
        "null",
        "true",
        "false",
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "1.0",
        "1.50",
        "100.000001",
        "1e400",
        "-0.0",
        "1E5",
        "\"\"",
        "\"a/b\\n\"",
        "[]",
        "{}",
        "[null,[],{}]",
        "{\"b\":1,\"a\":{\"c\":[1,2.50,\"x\"]}}",
        "\"a\\u0000b\"",
        "[9223372036854775808]",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(same); i++)
        assert_round(same[i], same[i]);
    assert_round(" [ 1 , { \"\\u0061\" : \"\\u00e9\\/\" } ] ", "[1,{\"a\":\"\xC3\xA9/\"}]");
    assert_round("-0", "0");
}

static void test_parse_fails(void **state)
{
    (void)state;
    struct json_object *tree = (struct json_object *)&tree;
    struct mrg_error err;
    assert_int_equal(mrg_json_parse(MRG_SLICE("{'a':1}"), &tree, &err), MRG_ERR_INVALID);
    assert_string_equal(err.message, "line 1, column 2: expected a key in double quotes or '}'");
    assert_int_equal(mrg_json_parse(MRG_SLICE("[{\"x\":[{\"a\\u0000\":[1],\"b\":2}]},3]"), &tree, &err),
                     MRG_ERR_UNSUPPORTED);
    assert_string_equal(err.message, "line 1, column 9: a key that holds \\u0000; expected none in it");
    assert_ptr_equal(tree, &tree);
}

static void test_parse_deep(void **state)
{
    (void)state;
    char text[6 * MRG_JSON_DEPTH + 2];
    for (size_t i = 0; i < MRG_JSON_DEPTH; i++) {
        memcpy(text + 5 * i, "{\"a\":", 5);
        text[5 * MRG_JSON_DEPTH + 1 + i] = '}';
    }
    text[5 * MRG_JSON_DEPTH] = '1';
    text[6 * MRG_JSON_DEPTH + 1] = '\0';
    assert_round(text, text);
}

static void assert_double_text(double value, const char *expected)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, 100);
    mrg_json_append_double(&buf, value);
    assert_string_equal(buf.data, expected);
    mrg_buf_done(&buf);
}

static void test_append_double(void **state)
{
    (void)state;
    assert_double_text(0.1, "0.1");
    assert_double_text(17.32, "17.32");
    assert_double_text(0.1 + 0.2, "0.30000000000000004");
    assert_double_text(1.0, "1.0");
    assert_double_text(-0.0, "-0.0");
    assert_double_text(1e22, "1e+22");
    assert_double_text(5e-324, "4.94065645841247e-324");
    assert_double_text(NAN, "null");
    assert_double_text(-INFINITY, "null");
}

/* New doubles are written short, whatever hangs on them; parsed ones as they were. */
static void test_write_doubles(void **state)
{
    (void)state;
    struct mrg_buf buf;
    mrg_buf_init(&buf, 1000);
    struct json_object *array = json_object_new_array();
    int mark = 7;
    char other_mark[] = "0";
    struct json_object *marked = json_object_new_double(0.1);
    json_object_set_userdata(marked, &mark, NULL);
    json_object_array_add(array, marked);
    struct json_object *marked_too = json_object_new_double(0.25);
    json_object_set_userdata(marked_too, other_mark, NULL);
    json_object_array_add(array, marked_too);
    json_object_array_add(array, json_object_new_double(2));
    json_object_array_add(array, json_object_new_double(NAN));
    json_object_array_add(array, json_object_new_double_s(0.1, "0.10000000000000001"));
    json_object_array_add(array, json_object_new_double_s(0.1, "junk"));
    json_object_array_add(array, json_object_new_int(INT32_MIN));
    mrg_json_append_tree(&buf, array);
    assert_string_equal(buf.data, "[0.1,0.25,2.0,null,0.10000000000000001,0.1,-2147483648]");
    json_object_put(array);
    mrg_buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minify),
        cmocka_unit_test(test_member),
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_next_item),
        cmocka_unit_test(test_unescape),
        cmocka_unit_test(test_append_string),
        cmocka_unit_test(test_parse_and_write),
        cmocka_unit_test(test_parse_fails),
        cmocka_unit_test(test_parse_deep),
        cmocka_unit_test(test_append_double),
        cmocka_unit_test(test_write_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
