// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The table of docs/wires.md, told a second time. */
static void test_http_to_grpc(void **state)
{
    static const int pairs[][2] = {
        {200, 0},  {201, 0},  {202, 0},  {204, 0}, {299, 0},  {300, 2}, {302, 2}, {304, 2},  {399, 2},
        {400, 3},  {401, 16}, {402, 9},  {403, 7}, {404, 5},  {405, 9}, {406, 9}, {409, 10}, {410, 5},
        {412, 9},  {413, 9},  {418, 9},  {422, 3}, {428, 9},  {429, 8}, {451, 9}, {499, 1},  {500, 13},
        {501, 12}, {502, 13}, {503, 14}, {504, 4}, {599, 13}, {600, 2}, {700, 2}, {999, 2},
    };
    (void)state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(pairs); i++)
        assert_int_equal(mrg_status_from_http(pairs[i][0]), pairs[i][1]);
}

static void test_grpc_to_http(void **state)
{
    static const int https[MRG_GRPC_COUNT] = {200, 499, 500, 400, 504, 404, 409, 403, 429,
                                              400, 409, 400, 501, 500, 503, 500, 401};
    (void)state;
    for (int i = 0; i < MRG_GRPC_COUNT; i++)
        assert_int_equal(mrg_status_to_http(i), https[i]);
    assert_int_equal(mrg_status_to_http(17), 500);
    assert_int_equal(mrg_status_to_http(-1), 500);
    assert_int_equal(mrg_status_to_http(400), 500);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < MRG_GRPC_COUNT; i++)
        assert_int_equal(mrg_status_of_name(mrg_slice_of(mrg_status_name(i))), i);
    assert_string_equal(mrg_status_name(16), "UNAUTHENTICATED");
    assert_null(mrg_status_name(17));
    assert_int_equal(mrg_status_of_name(MRG_SLICE("aborted")), -1);
    assert_int_equal(mrg_status_of_name(MRG_SLICE("")), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_to_grpc),
        cmocka_unit_test(test_grpc_to_http),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
