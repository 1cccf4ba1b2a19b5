// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/json.h"

/* In memory that ends where the text ends, so that a read past it is seen. */
static enum mrg_err check_exact(struct mrg_slice text, struct mrg_error *err)
{
    _cleanup_free_ char *copy = mrg_malloc(text.len);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    return mrg_json_check((struct mrg_slice){copy, text.len}, err);
}

static void assert_valid(struct mrg_slice text)
{
    struct mrg_error err = {.message = "none"};
    if (check_exact(text, &err))
        fail_msg("%.*s: %s", (int)text.len, text.ptr, err.message);
    assert_string_equal(err.message, "none");
}

static void assert_wrong(struct mrg_slice text, const char *message)
{
    struct mrg_error err = {0};
    assert_int_equal(check_exact(text, &err), MRG_ERR_INVALID);
    assert_string_equal(err.message, message);
    assert_int_equal(check_exact(text, NULL), MRG_ERR_INVALID);
}

static void test_valid(void **state)
{
    (void)state;
    static const char *const good[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12",
        "-1.5",
        "1e5",
        "1E+5",
        "0.5e-10",
        "\"\"",
        "\"a\"",
        "[]",
        "{}",
        " [ ] ",
        "\t{\r\n}\n",
        "[1,2]",
        "[[],{}]",
        "{\"a\":1}",
        "{ \"a\" : [ 1 , { \"b\" : null } ] , \"c\" : \"d\" }",
        "\"\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u00e9 \\uD83D\\uDE00 \\u0000\"",
        "\"caf\xC3\xA9 \xF0\x9F\x98\x80\"",
        "\"\x7F\"",
        "123456789012345678901234567890",
        "1e400",
        "{\"\":0}",
        "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":2}}",
        "\"long enough for whole words, and a quote \\\" after them\"",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(good); i++)
        assert_valid(mrg_slice_of(good[i]));
}

static void test_messages(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } wrong[] = {
        {"", "line 1, column 1: expected a value; the text ends here"},
        {"  ", "line 1, column 3: expected a value; the text ends here"},
        {"{\"a\":1,}", "line 1, column 8: expected a key in double quotes"},
        {"{\"a\":   }", "line 1, column 9: expected a value"},
        {"{a:1}", "line 1, column 2: expected a key in double quotes or '}'"},
        {"{'a':1}", "line 1, column 2: expected a key in double quotes or '}'"},
        {"{\"a\" 1}", "line 1, column 6: expected ':'"},
        {"{\"a\":1 \"b\":2}", "line 1, column 8: expected ',' or '}'"},
        {"{\"a\":1", "line 1, column 7: expected ',' or '}'; the text ends here"},
        {"[1 2]", "line 1, column 4: expected ',' or ']'"},
        {"[1,]", "line 1, column 4: expected a value"},
        {"[1}", "line 1, column 3: expected ',' or ']'"},
        {"[", "line 1, column 2: expected a value; the text ends here"},
        {"]", "line 1, column 1: expected a value"},
        {"{} x", "line 1, column 4: expected nothing after the value"},
        {"1 2", "line 1, column 3: expected nothing after the value"},
        {"{\n  \"a\": 1,\n  \"b\": nul\n}", "line 3, column 8: expected null"},
        {"True", "line 1, column 1: expected a value"},
        {"NaN", "line 1, column 1: expected a value"},
        {"truex", "line 1, column 5: expected nothing after the value"},
        {"01", "line 1, column 2: a digit after a leading 0; expected the number without it"},
        {"-", "line 1, column 2: expected a digit; the text ends here"},
        {"-a", "line 1, column 2: expected a digit"},
        {"+1", "line 1, column 1: expected a value"},
        {".5", "line 1, column 1: expected a value"},
        {"1.", "line 1, column 3: expected a digit after the decimal point; the text ends here"},
        {"1.e5", "line 1, column 3: expected a digit after the decimal point"},
        {"1e", "line 1, column 3: expected a digit in the exponent; the text ends here"},
        {"1e+", "line 1, column 4: expected a digit in the exponent; the text ends here"},
        {"0x10", "line 1, column 2: expected nothing after the value"},
        {"\"abc", "line 1, column 5: expected the end of the string that is open; the text ends here"},
        {"\"a\nb\"", "line 1, column 3: a control character in a string; expected it escaped"},
        {"\"\\x\"", "line 1, column 2: expected an escape such as \\n, \\\" or \\u0041"},
        {"\"\\", "line 1, column 3: expected an escape and the end of the string; the text ends here"},
        {"\"\\u12g4\"", "line 1, column 2: expected four hex digits after \\u"},
        {"\"\\u12", "line 1, column 2: expected four hex digits after \\u"},
        {"\"\\uD800\"", "line 1, column 2: expected a pair of surrogates, not one alone"},
        {"\"\\uDC00\\uD800\"", "line 1, column 2: expected a pair of surrogates, not one alone"},
        {"\"\\uDC00\\uDC00\"", "line 1, column 2: expected a pair of surrogates, not one alone"},
        {"\"\\uD800\\uE000\"", "line 1, column 2: expected a pair of surrogates, not one alone"},
        {"\"\\uD800\\u0041\"", "line 1, column 2: expected a pair of surrogates, not one alone"},
        {"\"\\uD800", "line 1, column 2: expected a pair of surrogates, not one alone"},
        {"[\"\xC3\xA9\xE2\x82\xAC\", x]", "line 1, column 8: expected a value"},
        {"\"ab\xC0\x80\"", "line 1, column 4: bytes that are not UTF-8; expected a character"},
        {"\"\xED\xA0\x80\"", "line 1, column 2: bytes that are not UTF-8; expected a character"},
        {"\"\xF4\x90\x80\x80\"", "line 1, column 2: bytes that are not UTF-8; expected a character"},
        {"\"\xC3", "line 1, column 2: bytes that are not UTF-8; expected a character"},
        {"\xEF\xBB\xBF{}", "line 1, column 1: expected a value"},
        {"/* */ 1", "line 1, column 1: expected a value"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++)
        assert_wrong(mrg_slice_of(wrong[i].text), wrong[i].message);
    assert_wrong((struct mrg_slice){NULL, 0}, "line 1, column 1: expected a value; the text ends here");
    assert_wrong((struct mrg_slice){"1\0", 2}, "line 1, column 2: expected nothing after the value");
    assert_wrong((struct mrg_slice){"\"a\0\"", 4},
                 "line 1, column 3: a control character in a string; expected it escaped");
}

static void test_every_control_character(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        for (size_t at = 1; at < 20; at++) {
            char text[21] = "\"aaaaaaaaaaaaaaaaaaa";
            text[20] = '"';
            text[at] = (char)c;
            bool good = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
            assert_int_equal(check_exact((struct mrg_slice){text, 21}, NULL) == MRG_ERR_OK, good);
        }
    }
}

static void test_depth(void **state)
{
    (void)state;
    char text[4 * MRG_JSON_DEPTH + 4];
    struct mrg_error err;
    memset(text, '[', MRG_JSON_DEPTH);
    memset(text + MRG_JSON_DEPTH, ']', MRG_JSON_DEPTH);
    assert_valid((struct mrg_slice){text, 2 * MRG_JSON_DEPTH});
    memset(text, '[', MRG_JSON_DEPTH + 1);
    assert_int_equal(mrg_json_check((struct mrg_slice){text, 2 * MRG_JSON_DEPTH}, &err), MRG_ERR_TOO_LARGE);
    assert_string_equal(err.message,
                        "line 1, column 101: expected at most 100 arrays and objects in each other");
}

static void test_duplicate_keys(void **state)
{
    (void)state;
    assert_wrong(MRG_SLICE("{\"a\":1,\"b\":2,\"a\":3}"),
                 "line 1, column 14: the key \"a\" stands in this object before; expected each key once");
    assert_wrong(
        MRG_SLICE("{\"a\":1,\"\\u0061\":3}"),
        "line 1, column 8: the key \"\\u0061\" stands in this object before; expected each key once");
    assert_wrong(MRG_SLICE("[{\"x\":{\"a\":1},\n\"y\":{\"a\":1,\"a\":2}}]"),
                 "line 2, column 12: the key \"a\" stands in this object before; expected each key once");
    assert_wrong(MRG_SLICE("{\"a\":{\"b\":[{}]},\"a\":{}}"),
                 "line 1, column 17: the key \"a\" stands in this object before; expected each key once");
    assert_valid(MRG_SLICE("{\"a\":1,\"A\":2,\"a\\u0000\":3,\"\":4}"));
}

/* `twice` of `count` keys stands there a second time, at the end, in the middle of which an object lies. */
static struct mrg_slice many_keys(struct mrg_buf *buf, int count, int twice)
{
    mrg_buf_clear(buf);
    mrg_buf_append_str(buf, "{");
    for (int i = 0; i < count; i++)
        mrg_buf_appendf(buf, "\"key-%d\":%s,", i, i == count / 2 ? "{\"key-0\":1}" : "1");
    if (twice >= 0)
        mrg_buf_appendf(buf, "\"\\u006bey-%d\":1}", twice);
    else
        mrg_buf_append_str(buf, "\"last\":1}");
    return mrg_buf_slice(buf);
}

static void test_duplicate_keys_at_every_size(void **state)
{
    (void)state;
    struct mrg_buf buf;
    mrg_buf_init(&buf, 8u << 20);
    for (int count = 1; count < 100; count++) {
        assert_int_equal(mrg_json_check(many_keys(&buf, count, -1), NULL), MRG_ERR_OK);
        for (int twice = 0; twice < count; twice++)
            assert_int_equal(mrg_json_check(many_keys(&buf, count, twice), NULL), MRG_ERR_INVALID);
    }
    assert_int_equal(mrg_json_check(many_keys(&buf, 100000, -1), NULL), MRG_ERR_OK);
    struct mrg_error err = {0};
    assert_int_equal(mrg_json_check(many_keys(&buf, 100000, 77777), &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "the key \"\\u006bey-77777\" stands in this object before"));
    many_keys(&buf, 50, 30);
    buf.data[buf.len - 1] = ',';
    mrg_buf_append_str(&buf, "\"key-1\":1,\"key-40\":1}");
    assert_int_equal(mrg_json_check(mrg_buf_slice(&buf), &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "the key \"\\u006bey-30\" stands in this object before"));
    mrg_buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_every_control_character),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_duplicate_keys),
        cmocka_unit_test(test_duplicate_keys_at_every_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
