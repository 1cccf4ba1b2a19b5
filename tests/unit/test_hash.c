// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/hash.h"

/* The vectors of FIPS 180-4's examples. */
static void test_sha256(void **state)
{
    (void)state;
    char hex[MRG_SHA256_HEX + 1];
    mrg_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    mrg_sha256_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void test_sha256_in_pieces(void **state)
{
    (void)state;
    char hex[MRG_SHA256_HEX + 1];
    struct mrg_sha256 *sha = mrg_sha256_new();
    mrg_sha256_add(sha, "a", 1);
    mrg_sha256_add(sha, "", 0);
    mrg_sha256_add(sha, "bc", 2);
    mrg_sha256_finish(sha, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_sha256_goes_two_ways(void **state)
{
    (void)state;
    char hex[MRG_SHA256_HEX + 1];
    struct mrg_sha256 *sha = mrg_sha256_new();
    mrg_sha256_add(sha, "ab", 2);
    struct mrg_sha256 *copy = mrg_sha256_copy(sha), *unused = mrg_sha256_copy(copy);
    mrg_sha256_add(sha, "x", 1);
    mrg_sha256_add(copy, "c", 1);
    mrg_sha256_finish(copy, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    mrg_sha256_finish(sha, hex);
    char whole[MRG_SHA256_HEX + 1];
    mrg_sha256_hex("abx", 3, whole);
    assert_string_equal(hex, whole);
    mrg_sha256_free(unused);
    mrg_sha256_free(NULL);
}

/* XXH3 is a fixed algorithm; places in cassettes rest on it. */
static void test_xxh3(void **state)
{
    (void)state;
    assert_true(mrg_hash64("", 0, 0) == 0x2D06800538D394C2u);
    struct mrg_hash128 empty = mrg_hash128_of("", 0, 0);
    assert_true(empty.low == 0x6001C324468D497Fu && empty.high == 0x99AA06D3014798D8u);
    assert_true(mrg_hash64("a", 1, 0) != mrg_hash64("a", 1, 1));
    assert_true(mrg_hash64("a", 1, 0) != mrg_hash64("b", 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_sha256_in_pieces),
        cmocka_unit_test(test_sha256_goes_two_ways),
        cmocka_unit_test(test_xxh3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
