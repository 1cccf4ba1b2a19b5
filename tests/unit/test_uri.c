// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/uri.h"

static void assert_decoded(const char *text, bool plus, struct mrg_slice expected)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_slice got = mrg_uri_decode(arena, mrg_slice_of(text), plus);
    assert_true(mrg_slice_eq(got, expected));
    assert_int_equal(got.ptr[got.len], 0);
    mrg_arena_free(arena);
}

static void test_decode(void **state)
{
    (void)state;
    assert_decoded("", false, MRG_SLICE(""));
    assert_decoded("plain", true, MRG_SLICE("plain"));
    assert_decoded("a%2Fb%20c%e2%82%AC", false, MRG_SLICE("a/b c\xE2\x82\xAC"));
    assert_decoded("a+b", false, MRG_SLICE("a+b"));
    assert_decoded("a+b%2B", true, MRG_SLICE("a b+"));
    assert_decoded("%00", false, MRG_SLICE("\0"));
    assert_decoded("%", false, MRG_SLICE("%"));
    assert_decoded("%4", false, MRG_SLICE("%4"));
    assert_decoded("%4g%41%g4%%41", false, MRG_SLICE("%4gA%g4%A"));
    assert_decoded("%2541", false, MRG_SLICE("%41"));
}

static void assert_split(const char *target, const char *path, const char *query)
{
    struct mrg_slice got_path, got_query;
    _cleanup_free_ char *exact = mrg_malloc(strlen(target));
    memcpy(exact, target, strlen(target));
    mrg_uri_split((struct mrg_slice){exact, strlen(target)}, &got_path, &got_query);
    if (!mrg_slice_eq_str(got_path, path) || !mrg_slice_eq_str(got_query, query))
        fail_msg("%s: %.*s and %.*s", target, (int)got_path.len, got_path.ptr, (int)got_query.len,
                 got_query.ptr);
}

static void test_split(void **state)
{
    (void)state;
    assert_split("/", "/", "");
    assert_split("/a%2Fb/?x=1&y=%20", "/a%2Fb/", "x=1&y=%20");
    assert_split("/a?b?c", "/a", "b?c");
    assert_split("/a?", "/a", "");
    assert_split("/a#f?x", "/a", "");
    assert_split("/a?x#f", "/a", "x");
    assert_split("http://host:80/a?x", "/a", "x");
    assert_split("HTTP://host", "/", "");
    assert_split("http://host?x=1", "/", "x=1");
    assert_split("http://user:pw@host/", "/", "");
    assert_split("svc+x.1-y://h/a", "/a", "");
    assert_split("*", "*", "");
    assert_split("host:443", "host:443", "");
    assert_split("/redirect?to=http://x/y", "/redirect", "to=http://x/y");
    assert_split("/http://x/y", "/http://x/y", "");
    assert_split("//host/a", "//host/a", "");
    assert_split("1a://b/c", "1a://b/c", "");
    assert_split("http:/", "http:/", "");
    assert_split("", "", "");
    assert_split("?x", "/", "x");
}

static void test_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        const char *value;
    } want[] = {{"a", "1"}, {"b", ""}, {"c", ""}, {"", "d"}, {"a", "2=3"}, {"", ""}};
    struct mrg_slice query = MRG_SLICE("&a=1&&b&c=&=d&a=2=3&=&&");
    struct mrg_slice key, value;
    size_t cursor = 0;
    for (size_t i = 0; i < MRG_ARRAY_LEN(want); i++) {
        assert_true(mrg_uri_next_pair(query, &cursor, &key, &value));
        assert_true(mrg_slice_eq_str(key, want[i].key) && mrg_slice_eq_str(value, want[i].value));
    }
    assert_false(mrg_uri_next_pair(query, &cursor, &key, &value));
    assert_false(mrg_uri_next_pair(query, &cursor, &key, &value));
    cursor = 0;
    assert_false(mrg_uri_next_pair(MRG_SLICE(""), &cursor, &key, &value));
    assert_false(mrg_uri_next_pair((struct mrg_slice){NULL, 0}, &cursor, &key, &value));
}

static bool fits(const char *template_text, const char *path)
{
    return mrg_uri_match(template_text, mrg_slice_of(path));
}

static void test_match_segments(void **state)
{
    (void)state;
    assert_true(fits("/", "/"));
    assert_true(fits("/shipments", "/shipments"));
    assert_false(fits("/shipments", "/shipments/"));
    assert_false(fits("/shipments/", "/shipments"));
    assert_false(fits("/shipments", "/Shipments"));
    assert_true(fits("/shipments/{id}", "/shipments/42"));
    assert_true(fits("/shipments/{id}", "/shipments/a%2Fb"));
    assert_false(fits("/shipments/{id}", "/shipments/"));
    assert_false(fits("/shipments/{id}", "/shipments"));
    assert_false(fits("/shipments/{id}", "/shipments/4/"));
    assert_false(fits("/shipments/{id}", "/shipments/4/5"));
    assert_true(fits("/shipments/{id}/", "/shipments/4/"));
    assert_true(fits("/a/{x}/b/{y}", "/a/1/b/2"));
    assert_false(fits("/a/{x}/b/{y}", "/a/1/c/2"));
    assert_true(fits("/a/*/b", "/a/1/b"));
    assert_false(fits("/a/*/b", "/a//b"));
    assert_true(fits("", ""));
    assert_false(fits("", "/"));
}

static void test_match_within_a_segment(void **state)
{
    (void)state;
    assert_true(fits("/items/{id}:confirm", "/items/7:confirm"));
    assert_true(fits("/items/{id}:confirm", "/items/7:confirm:confirm"));
    assert_false(fits("/items/{id}:confirm", "/items/:confirm"));
    assert_false(fits("/items/{id}:confirm", "/items/7:cancel"));
    assert_true(fits("/items/item-{n}", "/items/item-001"));
    assert_false(fits("/items/item-{n}", "/items/item-"));
    assert_true(fits("/{a}.{b}", "/x.y.z"));
    assert_false(fits("/{a}.{b}", "/x."));
    assert_false(fits("/{a}{b}", "/x"));
    assert_true(fits("/{a}{b}", "/xy"));
    assert_true(fits("/a{", "/a{"));
    assert_false(fits("/a{", "/ab"));
    assert_true(fits("/a*", "/a*"));
    assert_false(fits("/a*", "/ab"));
}

static void test_match_rest(void **state)
{
    (void)state;
    assert_true(fits("/files/*", "/files/a"));
    assert_true(fits("/files/*", "/files/a/b/"));
    assert_true(fits("/files/*", "/files/"));
    assert_false(fits("/files/*", "/files"));
    assert_false(fits("/files/*", "/filesx/a"));
    assert_true(fits("/files/{name=**}", "/files/a/b"));
    assert_true(fits("/files/**", "/files/a/b"));
    assert_false(fits("/files/{name=*}", "/files/a/b"));
    assert_true(fits("/files/{name=*}", "/files/a"));
    assert_true(fits("*", "/any/thing"));
    assert_true(fits("/*", "/"));
}

static void test_match_takes_no_longer_than_it_should(void **state)
{
    (void)state;
    static char pattern[3002];
    static char path[8001];
    pattern[0] = path[0] = '/';
    for (int i = 0; i < 999; i++)
        memcpy(pattern + 1 + 3 * i, "{x}", 3);
    pattern[1 + 3 * 999] = 'b';
    memset(path + 1, 'a', sizeof(path) - 2);
    assert_false(fits(pattern, path));
}

static bool routes(const char *route, const char *method, const char *path)
{
    return mrg_uri_match_route(route, mrg_slice_of(method), mrg_slice_of(path));
}

static void test_match_route(void **state)
{
    (void)state;
    assert_true(routes("POST /search", "POST", "/search"));
    assert_false(routes("POST /search", "GET", "/search"));
    assert_false(routes("POST /search", "POST", "/find"));
    assert_true(routes("post   /a/{id}", "POST", "/a/1"));
    assert_true(routes("/search", "DELETE", "/search"));
    assert_false(routes("GET /a", "GETS", "/a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_match_segments),
        cmocka_unit_test(test_match_within_a_segment),
        cmocka_unit_test(test_match_rest),
        cmocka_unit_test(test_match_takes_no_longer_than_it_should),
        cmocka_unit_test(test_match_route),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
