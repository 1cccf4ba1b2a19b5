// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/jsontext.h"

static int set_up(void **state)
{
    *state = mrg_arena_new(0);
    return 0;
}

static int tear_down(void **state)
{
    mrg_arena_free(*state);
    return 0;
}

static void test_expected(void **state)
{
    struct mrg_error err;
    (void)state;
    assert_int_equal(mrg_jsontext_expected(&err, "\"a\"", MRG_SLICE("7"), "a string"), MRG_ERR_INVALID);
    assert_string_equal(err.message, "\"a\" is 7; expected a string");
    mrg_jsontext_expected(&err, "\"a\"", (struct mrg_slice){NULL, 0}, "a string");
    assert_string_equal(err.message, "\"a\" is missing; expected a string");
    /* Long values are cut, and no character is cut in two. */
    mrg_jsontext_expected(
        &err, "a", MRG_SLICE("\"12345678901234567890123456789012345678901234567890123456789\xC3\xA9\""), "b");
    assert_non_null(strstr(err.message, "56789\xE2\x80\xA6; expected b"));
    assert_int_equal(mrg_jsontext_expected(NULL, "a", MRG_SLICE("7"), "b"), MRG_ERR_INVALID);
}

static void test_copies(void **state)
{
    struct mrg_arena *arena = *state;
    assert_string_equal(mrg_jsontext_string(arena, MRG_SLICE("\"a\\n\\u00e9\"")).ptr, "a\n\xC3\xA9");
    assert_int_equal(mrg_jsontext_string(arena, MRG_SLICE("\"\"")).len, 0);
    assert_string_equal(mrg_jsontext_string(arena, MRG_SLICE("\"\"")).ptr, "");
    assert_string_equal(mrg_jsontext_minified(arena, MRG_SLICE("{ \"a\" : [ 1 ] }")).ptr, "{\"a\":[1]}");
    assert_string_equal(mrg_jsontext_lower(arena, MRG_SLICE("X-Aé@[")).ptr, "x-aé@[");
}

static void test_read_string(void **state)
{
    struct mrg_arena *arena = *state;
    struct mrg_slice text = MRG_SLICE("kept");
    struct mrg_error err;
    assert_int_equal(mrg_jsontext_read_string(arena, "w", MRG_SLICE("1.50"), &text, &err), MRG_ERR_INVALID);
    assert_string_equal(err.message, "w is 1.50; expected a string");
    assert_string_equal(text.ptr, "kept");
    assert_int_equal(mrg_jsontext_read_string(arena, "w", MRG_SLICE("\"x\\n\""), &text, &err), MRG_ERR_OK);
    assert_string_equal(text.ptr, "x\n");
}

static enum mrg_err collect(void *ctx, struct mrg_slice name, struct mrg_slice value, struct mrg_error *err)
{
    struct mrg_buf *buf = ctx;
    mrg_buf_appendf(buf, "%s=%s;", name.ptr, value.ptr);
    return mrg_slice_eq_str(value, "stop") ? mrg_error_set(err, MRG_ERR_TOO_LARGE, "stopped") : MRG_ERR_OK;
}

static void test_pairs(void **state)
{
    struct mrg_arena *arena = *state;
    struct mrg_error err;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    struct mrg_slice object = MRG_SLICE("{\"a\":1,\"b\":[\"x\",\"y\"],\"none\":[],\"a\\nc\":false}");
    assert_int_equal(mrg_jsontext_pairs(arena, "\"o\"", object, collect, &buf, &err), MRG_ERR_OK);
    assert_string_equal(buf.data, "a=1;b=x;b=y;a\nc=false;");
    mrg_buf_clear(&buf);
    object = MRG_SLICE("{\"a\":[\"x\",\"stop\",\"y\"],\"b\":1}");
    assert_int_equal(mrg_jsontext_pairs(arena, "\"o\"", object, collect, &buf, &err), MRG_ERR_TOO_LARGE);
    assert_string_equal(buf.data, "a=x;a=stop;");
    assert_int_equal(mrg_jsontext_pairs(arena, "\"o\"", MRG_SLICE("{\"a\":[[]]}"), collect, &buf, &err),
                     MRG_ERR_INVALID);
    assert_string_equal(err.message, "\"a\" of \"o\" is []; expected a string");
    assert_int_equal(mrg_jsontext_pairs(arena, "\"o\"", MRG_SLICE("[]"), collect, &buf, &err),
                     MRG_ERR_INVALID);
    assert_string_equal(err.message, "\"o\" is []; expected an object of strings");
    mrg_buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expected),
        cmocka_unit_test_setup_teardown(test_copies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_string, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pairs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
