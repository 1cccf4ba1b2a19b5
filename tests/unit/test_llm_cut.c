// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/limits.h"
#include "llm/cut.h"

static void expect_join(const char *before, const char *piece, const char *expected)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, before);
    mrg_llm_cut_join(&buf, mrg_slice_of(piece));
    assert_string_equal(buf.data ? buf.data : "", expected);
    mrg_buf_done(&buf);
}

static void limits_double_to_the_ceiling(void **state)
{
    (void)state;
    assert_int_equal(mrg_llm_cut_double(2048), 4096);
    assert_int_equal(mrg_llm_cut_double(MRG_MAX_TOKENS_CEILING / 2 + 1), MRG_MAX_TOKENS_CEILING);
    assert_int_equal(mrg_llm_cut_double(MRG_MAX_TOKENS_CEILING), 0);
    assert_int_equal(mrg_llm_cut_double(INT32_MAX), 0);
}

static void pieces_are_joined(void **state)
{
    (void)state;
    expect_join("", "all of it", "all of it");
    expect_join("{\"a\": [1, ", "2]}", "{\"a\": [1, 2]}");
    expect_join("text", "", "text");
}

static void a_repeated_overlap_is_left_out(void **state)
{
    (void)state;
    expect_join("{\"name\": \"Widget\", \"qua", "\"name\": \"Widget\", \"quantity\": 5}",
                "{\"name\": \"Widget\", \"quantity\": 5}");
    expect_join("one two three", "one two three four", "one two three four");
    expect_join("one two three", "one two three", "one two three");
}

static void what_a_text_says_twice_stays(void **state)
{
    (void)state;
    expect_join("}\n  }\n", "  }\n}\n", "}\n  }\n  }\n}\n");
    expect_join("--------------------", "--------------------|", "----------------------------------------|");
    expect_join("a\n                ", "                b", "a\n                                b");
    expect_join("0000000000000000", "0000000000000000", "00000000000000000000000000000000");
    expect_join("xyz", "xyz", "xyzxyz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_double_to_the_ceiling),
        cmocka_unit_test(pieces_are_joined),
        cmocka_unit_test(a_repeated_overlap_is_left_out),
        cmocka_unit_test(what_a_text_says_twice_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
