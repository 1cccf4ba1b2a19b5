// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/jpath.h"
#include "util/json.h"

static struct mrg_jpath *parse(const char *text)
{
    struct mrg_jpath *path = NULL;
    struct mrg_error err;
    if (mrg_jpath_parse(text, &path, &err))
        fail_msg("%s", err.message);
    return path;
}

static void test_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum mrg_jpath_part part;
        const char *name;
    } want[] = {
        {"header.X-Request-Id", MRG_JPATH_HEADER, "x-request-id"},
        {"header.X-B3-*", MRG_JPATH_HEADER, "x-b3-*"},
        {"query.ts", MRG_JPATH_QUERY, "ts"},
        {"query.a.b[0] c", MRG_JPATH_QUERY, "a.b[0] c"},
        {"path", MRG_JPATH_PATH, NULL},
        {"body", MRG_JPATH_BODY, NULL},
        {"body.$", MRG_JPATH_BODY, NULL},
        {"body.$.a", MRG_JPATH_BODY, NULL},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(want); i++) {
        struct mrg_jpath *path = parse(want[i].text);
        assert_int_equal(mrg_jpath_part(path), want[i].part);
        if (want[i].name)
            assert_string_equal(mrg_jpath_name(path), want[i].name);
        else
            assert_null(mrg_jpath_name(path));
        mrg_jpath_free(path);
    }
    mrg_jpath_free(NULL);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } wrong[] = {
        {"", "\"\": column 1: expected header.NAME, query.KEY, path or body.$…"},
        {"cookie.a", "\"cookie.a\": column 1: expected header.NAME, query.KEY, path or body.$…"},
        {"paths", "\"paths\": column 1: expected header.NAME, query.KEY, path or body.$…"},
        {"bodyx", "\"bodyx\": column 1: expected header.NAME, query.KEY, path or body.$…"},
        {"header.", "\"header.\": column 8: expected a header name, which may hold *"},
        {"header.a b", "\"header.a b\": column 9: expected a header name, which may hold *"},
        {"query.", "\"query.\": column 7: expected a query key"},
        {"body.", "\"body.\": column 6: expected $, as in body.$.items[*].id"},
        {"body.a", "\"body.a\": column 6: expected $, as in body.$.items[*].id"},
        {"body.$a", "\"body.$a\": column 7: expected '.', '[' or the end"},
        {"body.$.", "\"body.$.\": column 8: expected a name or * after the dot"},
        {"body.$.[0]", "\"body.$.[0]\": column 8: expected a name or * after the dot"},
        {"body.$..", "\"body.$..\": column 9: expected a name, * or [ after .."},
        {"body.$...a", "\"body.$...a\": column 9: expected a name, * or [ after .."},
        {"body.$.0", "\"body.$.0\": column 8: expected a name or * after the dot"},
        {"body.$.x-id",
         "\"body.$.x-id\": column 9: expected '.', '[' or the end; other names stand in quotes: ['odd key']"},
        {"body.$.\xC3\xA9 ", "\"body.$.\xC3\xA9 \": column 9: expected '.', '[' or the end; other names "
                             "stand in quotes: ['odd key']"},
        {"body.$.a[", "\"body.$.a[\": column 10: expected a name in quotes, an index or *"},
        {"body.$[]", "\"body.$[]\": column 8: expected a name in quotes, an index or *"},
        {"body.$[a]", "\"body.$[a]\": column 8: expected a name in quotes, an index or *"},
        {"body.$[0", "\"body.$[0\": column 9: expected ]"},
        {"body.$[*", "\"body.$[*\": column 9: expected ]"},
        {"body.$['a]", "\"body.$['a]\": column 11: expected a closing '"},
        {"body.$[\"a]", "\"body.$[\"a]\": column 11: expected a closing \""},
        {"body.$['a\\", "\"body.$['a\\\": column 11: expected a closing '"},
        {"body.$['\\x']",
         "\"body.$['\\x']\": column 8: expected a name with the escapes of JSON, without NUL"},
        {"body.$['\\u0000']",
         "\"body.$['\\u0000']\": column 8: expected a name with the escapes of JSON, without NUL"},
        {"body.$[?@.a]",
         "\"body.$[?@.a]\": column 8: filters are not supported; expected a name in quotes, an index or *"},
        {"body.$[1:2]", "\"body.$[1:2]\": column 9: slices are not supported; expected ]"},
        {"body.$[:2]",
         "\"body.$[:2]\": column 8: slices are not supported; expected a name in quotes, an index or *"},
        {"body.$[1,2]",
         "\"body.$[1,2]\": column 9: lists are not supported; expected ], and a path of its own for each"},
        {"body.$[01]", "\"body.$[01]\": column 8: expected an index such as 0, 12 or -1"},
        {"body.$[-0]", "\"body.$[-0]\": column 8: expected an index such as 0, 12 or -1"},
        {"body.$[-]", "\"body.$[-]\": column 8: expected an index such as 0, 12 or -1"},
        {"body.$[9007199254740992]",
         "\"body.$[9007199254740992]\": column 8: expected an index such as 0, 12 or -1"},
        {"body.$[-99999999999999999999]",
         "\"body.$[-99999999999999999999]\": column 8: expected an index such as 0, 12 or -1"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++) {
        struct mrg_jpath *path = NULL;
        struct mrg_error err = {0};
        assert_int_equal(mrg_jpath_parse(wrong[i].text, &path, &err), MRG_ERR_INVALID);
        assert_string_equal(err.message, wrong[i].message);
        assert_null(path);
        assert_int_equal(mrg_jpath_parse(wrong[i].text, &path, NULL), MRG_ERR_INVALID);
    }
}

static void test_many_steps(void **state)
{
    (void)state;
    char text[200] = "body.$";
    struct mrg_jpath *path;
    struct mrg_error err;
    for (int i = 0; i < 63; i++)
        strcat(text, ".a");
    mrg_jpath_free(parse(text));
    strcat(text, ".a");
    assert_int_equal(mrg_jpath_parse(text, &path, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "expected at most 63 steps"));
}

static void test_match_header(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *name;
        bool matches;
    } want[] = {
        {"header.x-id", "X-Id", true},    {"header.x-id", "x-idx", false},
        {"header.x-id", "x-i", false},    {"header.x-b3-*", "x-b3-spanid", true},
        {"header.x-b3-*", "x-b3-", true}, {"header.x-b3-*", "x-b", false},
        {"header.*-id", "x-a-id", true},  {"header.*-id", "x-id-a", false},
        {"header.*", "", true},           {"header.x*y*z", "xayaz", true},
        {"header.x*y*z", "xaz", false},   {"query.x", "x", false},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(want); i++) {
        struct mrg_jpath *path = parse(want[i].text);
        assert_int_equal(mrg_jpath_match_header(path, mrg_slice_of(want[i].name)), want[i].matches);
        mrg_jpath_free(path);
    }
}

static struct json_object *star(void *ctx, struct json_object *node, bool *ret_remove)
{
    (void)node, (void)ret_remove;
    return json_object_new_string(ctx);
}

static struct json_object *drop(void *ctx, struct json_object *node, bool *ret_remove)
{
    (void)ctx, (void)node;
    *ret_remove = true;
    return NULL;
}

static struct json_object *keep(void *ctx, struct json_object *node, bool *ret_remove)
{
    (void)ctx, (void)ret_remove;
    return json_object_get(node);
}

static struct json_object *clear(void *ctx, struct json_object *node, bool *ret_remove)
{
    (void)ctx, (void)node, (void)ret_remove;
    return NULL;
}

/* Drops what is even. */
static struct json_object *drop_even(void *ctx, struct json_object *node, bool *ret_remove)
{
    (void)ctx;
    *ret_remove = json_object_get_int(node) % 2 == 0;
    return *ret_remove ? NULL : json_object_get(node);
}

static void assert_applied(const char *text, const char *json, mrg_jpath_fn fn, size_t count,
                           const char *expected)
{
    char stars[] = "*";
    struct mrg_buf buf;
    struct json_object *tree;
    struct mrg_jpath *path = parse(text);
    mrg_buf_init(&buf, 10000);
    assert_int_equal(mrg_json_parse(mrg_slice_of(json), &tree, NULL), MRG_ERR_OK);
    size_t found = mrg_jpath_apply(path, &tree, fn, stars);
    mrg_json_append_tree(&buf, tree);
    if (found != count || strcmp(buf.data, expected) != 0)
        fail_msg("%s on %s: %zu, %s", text, json, found, buf.data);
    json_object_put(tree);
    mrg_jpath_free(path);
    mrg_buf_done(&buf);
}

static void test_apply_names(void **state)
{
    (void)state;
    const char *json = "{\"a\":{\"b\":1,\"odd key\":2},\"b\":[{\"b\":3}],\"\":4,\"'\":5}";
    assert_applied("body.$.a.b", json, star, 1,
                   "{\"a\":{\"b\":\"*\",\"odd key\":2},\"b\":[{\"b\":3}],\"\":4,\"'\":5}");
    assert_applied("body.$.a['odd key']", json, drop, 1,
                   "{\"a\":{\"b\":1},\"b\":[{\"b\":3}],\"\":4,\"'\":5}");
    assert_applied("body.$[ \"a\" ].b", json, drop, 1,
                   "{\"a\":{\"odd key\":2},\"b\":[{\"b\":3}],\"\":4,\"'\":5}");
    assert_applied("body.$['\\u0061']", json, drop, 1, "{\"b\":[{\"b\":3}],\"\":4,\"'\":5}");
    assert_applied("body.$['']", json, clear, 1,
                   "{\"a\":{\"b\":1,\"odd key\":2},\"b\":[{\"b\":3}],\"\":null,\"'\":5}");
    assert_applied("body.$['\\'']", json, drop, 1,
                   "{\"a\":{\"b\":1,\"odd key\":2},\"b\":[{\"b\":3}],\"\":4}");
    assert_applied("body.$.x", json, drop, 0, json);
    assert_applied("body.$.a.b.c", json, drop, 0, json);
    assert_applied("body.$.b.b", json, drop, 0, json);
}

static void test_apply_indexes(void **state)
{
    (void)state;
    assert_applied("body.$.l[0]", "{\"l\":[1,2,3]}", star, 1, "{\"l\":[\"*\",2,3]}");
    assert_applied("body.$.l[1]", "{\"l\":[1,2,3]}", drop, 1, "{\"l\":[1,3]}");
    assert_applied("body.$.l[-1]", "{\"l\":[1,2,3]}", drop, 1, "{\"l\":[1,2]}");
    assert_applied("body.$.l[-3]", "{\"l\":[1,2,3]}", drop, 1, "{\"l\":[2,3]}");
    assert_applied("body.$.l[-4]", "{\"l\":[1,2,3]}", drop, 0, "{\"l\":[1,2,3]}");
    assert_applied("body.$.l[3]", "{\"l\":[1,2,3]}", drop, 0, "{\"l\":[1,2,3]}");
    assert_applied("body.$[0][1]", "[[1,2],[3]]", star, 1, "[[1,\"*\"],[3]]");
    assert_applied("body.$[0]", "{\"0\":1}", drop, 0, "{\"0\":1}");
}

static void test_apply_wildcards(void **state)
{
    (void)state;
    assert_applied("body.$.items[*].id", "{\"items\":[{\"id\":1,\"n\":2},{\"id\":3},4]}", drop, 2,
                   "{\"items\":[{\"n\":2},{},4]}");
    assert_applied("body.$[*]", "[1,2,3,4,5,6]", drop_even, 6, "[1,3,5]");
    assert_applied("body.$[*]", "[1,null,3]", drop, 3, "[]");
    assert_applied("body.$.*", "{\"a\":1,\"b\":[2]}", star, 2, "{\"a\":\"*\",\"b\":\"*\"}");
    assert_applied("body.$.*", "{\"a\":2,\"b\":1,\"c\":4}", drop_even, 3, "{\"b\":1}");
    assert_applied("body.$.*.*", "{\"a\":{\"x\":1},\"b\":[2,3]}", star, 3,
                   "{\"a\":{\"x\":\"*\"},\"b\":[\"*\",\"*\"]}");
    assert_applied("body.$[*]", "7", drop, 0, "7");
}

static void test_apply_descendants(void **state)
{
    (void)state;
    assert_applied("body.$..p", "{\"p\":1,\"a\":[{\"p\":2,\"q\":{\"p\":3}},[[{\"p\":4}]]]}", drop, 4,
                   "{\"a\":[{\"q\":{}},[[{}]]]}");
    assert_applied("body.$..p", "{\"p\":{\"p\":1}}", star, 2, "{\"p\":\"*\"}");
    assert_applied("body.$..p", "{\"p\":{\"p\":1,\"q\":2}}", keep, 2, "{\"p\":{\"p\":1,\"q\":2}}");
    assert_applied("body.$..a.b", "{\"a\":{\"b\":1,\"a\":{\"b\":2}},\"b\":3}", drop, 2,
                   "{\"a\":{\"a\":{}},\"b\":3}");
    assert_applied("body.$.x..p", "{\"p\":1,\"x\":{\"p\":2,\"y\":[{\"p\":3}]}}", drop, 2,
                   "{\"p\":1,\"x\":{\"y\":[{}]}}");
    assert_applied("body.$..[0]", "[[1,2],[3]]", drop, 3, "[[]]");
    assert_applied("body.$..['p']", "[{\"p\":1}]", drop, 1, "[{}]");
    assert_applied("body.$..*", "{\"a\":[1,{\"b\":2}]}", keep, 4, "{\"a\":[1,{\"b\":2}]}");
    assert_applied("body.$..*..*", "{\"a\":[1,{\"b\":2}]}", keep, 3, "{\"a\":[1,{\"b\":2}]}");
}

static void test_apply_root(void **state)
{
    (void)state;
    assert_applied("body.$", "{\"a\":1}", star, 1, "\"*\"");
    assert_applied("body", "{\"a\":1}", drop, 1, "null");
    assert_applied("body.$", "null", keep, 1, "null");
    assert_applied("body.$", "[1]", keep, 1, "[1]");
    assert_applied("header.a", "{\"a\":1}", drop, 0, "{\"a\":1}");
    assert_applied("path", "{\"a\":1}", drop, 0, "{\"a\":1}");
}

static void test_apply_large_array(void **state)
{
    (void)state;
    struct json_object *tree = json_object_new_array();
    for (int i = 0; i < 200000; i++)
        json_object_array_add(tree, json_object_new_int(i));
    struct mrg_jpath *path = parse("body.$[*]");
    assert_int_equal(mrg_jpath_apply(path, &tree, drop_even, NULL), 200000);
    assert_int_equal(json_object_array_length(tree), 100000);
    assert_int_equal(json_object_get_int(json_object_array_get_idx(tree, 99999)), 199999);
    json_object_put(tree);
    mrg_jpath_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),           cmocka_unit_test(test_errors),
        cmocka_unit_test(test_many_steps),      cmocka_unit_test(test_match_header),
        cmocka_unit_test(test_apply_names),     cmocka_unit_test(test_apply_indexes),
        cmocka_unit_test(test_apply_wildcards), cmocka_unit_test(test_apply_descendants),
        cmocka_unit_test(test_apply_root),      cmocka_unit_test(test_apply_large_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
