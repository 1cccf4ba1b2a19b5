// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/json.h"

static bool same(const char *a, const char *b)
{
    assert_int_equal(mrg_json_check(mrg_slice_of(a), NULL), MRG_ERR_OK);
    assert_int_equal(mrg_json_check(mrg_slice_of(b), NULL), MRG_ERR_OK);
    struct mrg_hash128 x = mrg_json_hash(mrg_slice_of(a));
    struct mrg_hash128 y = mrg_json_hash(mrg_slice_of(b));
    return x.low == y.low && x.high == y.high;
}

/* Cassettes hold places that rest on these: a change makes every recording miss. */
static void test_fixed(void **state)
{
    (void)state;
    struct mrg_hash128 hash = mrg_json_hash(MRG_SLICE("{\"a\":[1,-2.50,\"\\u00e9\",true,null],\"b\":{}}"));
    assert_true(hash.low == 0x34B134839946586Eu && hash.high == 0x1CC7407AF0AA8CDBu);
}

static void test_order_and_spelling(void **state)
{
    (void)state;
    assert_true(same("{\"a\":1,\"b\":2}", " { \"b\" : 2 , \"\\u0061\" : 1 } "));
    assert_true(same("\"a\\/b\\u00e9\\uD83D\\uDE00\\n\"", "\"a/b\xC3\xA9\xF0\x9F\x98\x80\\u000A\""));
    assert_true(same("[ 1 , 2 ]", "[1,2]"));
    assert_true(same("{\"x\":{\"a\":1,\"b\":[{}]},\"y\":0}", "{\"y\":0,\"x\":{\"b\":[{}],\"a\":1}}"));
}

static void test_differences(void **state)
{
    (void)state;
    static const char *const all[] = {
        "null",
        "true",
        "false",
        "0",
        "1",
        "-1",
        "12",
        "1.0",
        "10.0",
        "0.0",
        "\"\"",
        "\"0\"",
        "\"1\"",
        "\"null\"",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "[1]",
        "[1,2]",
        "[2,1]",
        "[[1],2]",
        "[[1,2]]",
        "[1,[2]]",
        "[0]",
        "[0,0]",
        "[null]",
        "{\"a\":1}",
        "{\"a\":2}",
        "{\"b\":1}",
        "{\"a\":\"1\"}",
        "{\"a\":1.0}",
        "{\"a\":{}}",
        "{\"a\":[]}",
        "{\"a\":null}",
        "{\"a\":1,\"b\":2}",
        "{\"a\":2,\"b\":1}",
        "{\"a\":1,\"b\":1}",
        "{\"a\":2,\"b\":2}",
        "{\"a\":{\"b\":1}}",
        "{\"b\":{\"a\":1}}",
        "[\"a\",1]",
        "[{\"a\":1},{\"b\":2}]",
        "[{\"a\":1,\"b\":2}]",
        "[{\"b\":2},{\"a\":1}]",
        "{\"\":1}",
        "{\"a\\u0000\":1}",
        "\"a\"",
        "\"a\\u0000\"",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551617",
        "100.000001",
        "100.000002",
        "1e400",
        "1e401",
        "1e99999999999999999999",
        "1e99999999999999999998",
        "1e-99999999999999999999",
        "-1e99999999999999999999",
        "0.30000000000000004",
        "0.3",
        "0.300000000000000040000001",
        "123456789012345678901234567890.5",
        "123456789012345678901234567891.5",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(all); i++) {
        for (size_t k = 0; k < MRG_ARRAY_LEN(all); k++) {
            if (same(all[i], all[k]) != (i == k))
                fail_msg("%s and %s", all[i], all[k]);
        }
    }
}

static void test_numbers(void **state)
{
    (void)state;
    assert_true(same("-0", "0"));
    assert_true(same("1.0", "1.00"));
    assert_true(same("1.0", "1e0"));
    assert_true(same("1.0", "10E-1"));
    assert_true(same("1.0", "0.01e+2"));
    assert_true(same("1e2", "100.0"));
    assert_false(same("1e2", "100"));
    assert_true(same("-1.50", "-15e-1"));
    assert_true(same("0.0", "-0.0"));
    assert_true(same("0.000", "0e5"));
    assert_true(same("0.00e-7", "0e99999999999999999999999"));
    assert_true(same("100.25", "10025e-2"));
    assert_true(same("1e005", "1e5"));
    assert_true(same("1e000000000000000000000000000000000001", "10.0"));
    assert_true(same("1e99999999999999999999", "1.0e+0099999999999999999999"));
    assert_true(same("1e400", "0.1e401"));
    assert_true(same("1e999999999999999999", "0.1e999999999999999999") == false);
    assert_true(same("1200.0", "1.2e3"));
    assert_true(same("0.00120", "12e-4"));
}

static void test_long_numbers(void **state)
{
    (void)state;
    for (size_t digits = 1; digits < 400; digits += 7) {
        char plain[900] = "7";
        char respelled[900] = "0.";
        memset(plain + 1, '3', digits);
        memcpy(plain + 1 + digits, ".50", 4);
        size_t len = 2;
        respelled[len++] = '7';
        memset(respelled + len, '3', digits);
        len += digits;
        snprintf(respelled + len, sizeof(respelled) - len, "5000e%zu", digits + 1);
        assert_true(same(plain, respelled));
        plain[1] = '4';
        assert_false(same(plain, respelled));
    }
}

/* Random trees, written twice: in another order, with other escapes, white space and numbers. */
static uint64_t seed;

static uint32_t roll(uint32_t sides)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % sides;
}

enum kind { NULL_KIND, TRUE_KIND, FALSE_KIND, INTEGER, FLOAT, STRING, ARRAY, OBJECT };

struct node {
    enum kind kind;
    uint32_t value;        /* of a scalar: what it is made of */
    uint32_t keys[6];      /* of an object: all different */
    struct node *items[6]; /* of a container */
    size_t count;          /* of items */
};

static struct node *grow_tree(int depth)
{
    struct node *node = mrg_zalloc(sizeof(*node));
    node->kind = (enum kind)roll(depth > 0 ? 8 : 6);
    node->value = roll(100000);
    if (node->kind < ARRAY)
        return node;
    node->count = roll(7);
    for (size_t i = 0; i < node->count; i++) {
        node->keys[i] = (uint32_t)i * 1000 + roll(1000);
        node->items[i] = grow_tree(depth - 1);
    }
    return node;
}

static void free_tree(struct node *node)
{
    for (size_t i = 0; i < node->count; i++)
        free_tree(node->items[i]);
    free(node);
}

static void write_blank(struct mrg_buf *buf)
{
    static const char blanks[] = "  \n\t\r";
    while (roll(3) == 0)
        mrg_buf_append_char(buf, blanks[roll(5)]);
}

static void write_string(struct mrg_buf *buf, uint32_t value)
{
    static const char *const spellings[][4] = {
        {"a", "\\u0061", "a", "a"},
        {"/", "\\/", "\\u002f", "/"},
        {"\\n", "\\u000a", "\\u000A", "\\n"},
        {"\xC3\xA9", "\\u00e9", "\\u00E9", "\xC3\xA9"},
        {"\xF0\x9F\x98\x80", "\\ud83d\\ude00", "\\uD83D\\uDE00", "\xF0\x9F\x98\x80"},
        {"\\\"", "\\u0022", "\\\"", "\\u0022"},
        {"\\\\", "\\u005c", "\\u005C", "\\\\"},
        {"long plain ascii", "long plain\\u0020ascii", "lon\\u0067 plain ascii", "long plain ascii"},
        {"\\u0000", "\\u0000", "\\u0000", "\\u0000"},
        {"7", "\\u0037", "7", "7"},
    };
    mrg_buf_append_char(buf, '"');
    for (; value > 0; value /= 10)
        mrg_buf_append_str(buf, spellings[value % 10][roll(4)]);
    mrg_buf_append_char(buf, '"');
}

/* value / 100, in one of four spellings. */
static void write_float(struct mrg_buf *buf, uint32_t value)
{
    switch (roll(4)) {
    case 0:
        mrg_buf_appendf(buf, "%u.%02u", value / 100, value % 100);
        break;
    case 1:
        mrg_buf_appendf(buf, "%u.%02u0000", value / 100, value % 100);
        break;
    case 2:
        mrg_buf_appendf(buf, "%ue-2", value);
        break;
    default:
        mrg_buf_appendf(buf, "0.%06uE+004", value);
    }
}

static void write_tree(struct mrg_buf *buf, const struct node *node)
{
    static const char *const words[] = {"null", "true", "false"};
    size_t first = node->kind == OBJECT && node->count > 0 ? roll((uint32_t)node->count) : 0;
    write_blank(buf);
    if (node->kind <= FALSE_KIND)
        mrg_buf_append_str(buf, words[node->kind]);
    else if (node->kind == INTEGER)
        mrg_buf_appendf(buf, "%u", node->value);
    else if (node->kind == FLOAT)
        write_float(buf, node->value);
    else if (node->kind == STRING)
        write_string(buf, node->value);
    if (node->kind >= ARRAY) {
        mrg_buf_append_char(buf, node->kind == OBJECT ? '{' : '[');
        for (size_t i = 0; i < node->count; i++) {
            size_t k = (i + first) % node->count;
            write_blank(buf);
            if (node->kind == OBJECT)
                write_string(buf, node->keys[k]);
            write_blank(buf);
            mrg_buf_append_str(buf, node->kind == OBJECT ? ":" : "");
            write_tree(buf, node->items[k]);
            mrg_buf_append_str(buf, i + 1 < node->count ? "," : "");
        }
        mrg_buf_append_char(buf, node->kind == OBJECT ? '}' : ']');
    }
    write_blank(buf);
}

/* Changes one thing: a scalar, a key, an item's place, or what a node is. */
static void change(struct node *node)
{
    size_t i = node->count > 0 ? roll((uint32_t)node->count) : 0;
    if (node->count > 0 && roll(4) > 0) {
        change(node->items[i]);
    } else if (node->kind == OBJECT && node->count > 0 && roll(2)) {
        node->keys[i] += 10000;
    } else if (node->count > 0) {
        free_tree(node->items[--node->count]);
    } else if (node->kind == INTEGER || node->kind == FLOAT || node->kind == STRING) {
        node->value++;
    } else {
        node->kind = node->kind == NULL_KIND ? TRUE_KIND : node->kind == ARRAY ? OBJECT : NULL_KIND;
    }
}

static void test_random_trees(void **state)
{
    (void)state;
    struct mrg_buf a, b;
    mrg_buf_init(&a, 1u << 20);
    mrg_buf_init(&b, 1u << 20);
    seed = 20260131;
    for (int round = 0; round < 3000; round++) {
        struct node *tree = grow_tree(4);
        mrg_buf_clear(&a);
        mrg_buf_clear(&b);
        write_tree(&a, tree);
        write_tree(&b, tree);
        if (!same(a.data, b.data))
            fail_msg("round %d:\n%s\n%s", round, a.data, b.data);
        change(tree);
        mrg_buf_clear(&b);
        write_tree(&b, tree);
        if (same(a.data, b.data))
            fail_msg("round %d, changed:\n%s\n%s", round, a.data, b.data);
        free_tree(tree);
    }
    mrg_buf_done(&a);
    mrg_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),        cmocka_unit_test(test_order_and_spelling),
        cmocka_unit_test(test_differences),  cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_long_numbers), cmocka_unit_test(test_random_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
