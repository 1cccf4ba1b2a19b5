// SPDX-License-Identifier: Apache-2.0
/* The well-known types from JSON; to JSON they are in test_proto_print.c. */
#include "proto_help.h"

static void test_times(void **state)
{
    (void)state;
    static const struct parse_case sound[] = {
        {"t.Known", "{\"at\":\"2025-01-31T12:00:00.010Z\"}", "0a 0b 08 c0f6f2bc06 10 80ade204"},
        {"t.Known", "{\"at\":\"1970-01-01T00:00:00Z\"}", "0a 00"},
        {"t.Known", "{\"at\":\"1970-01-01T01:30:00.5+01:30\"}", "0a 06 10 80cab5ee01"},
        {"t.Known", "{\"at\":\"1969-12-31T23:59:59.999999999Z\"}",
         "0a 11 08 ffffffffffffffffff01 10 ff93ebdc03"},
        {"t.Known", "{\"at\":\"0001-01-01T00:00:00Z\"}", "0a 0b 08 8092b8c398feffffff01"},
        {"t.Known", "{\"at\":\"9999-12-31T23:59:59Z\"}", "0a 07 08 ff82d1ffaf07"},
        {"t.Known", "{\"at\":\"2024-02-29T00:00:00-00:01\"}", "0a 06 08 bc92ffae06"},
        {"t.Known", "{\"wait\":\"1.5s\"}", "12 08 08 01 10 80cab5ee01"},
        {"t.Known", "{\"wait\":\"-0.000000001s\"}", "12 0b 10 ffffffffffffffffff01"},
        {"t.Known", "{\"at\":\"2000-02-29T00:00:00Z\"}", "0a 06 08 8098ecc503"},
        {"t.Known", "{\"wait\":\"0s\"}", "12 00"},
        {"t.Known", "{\"wait\":\"-315576000000s\"}", "12 0b 08 80c4d1b1e8f6ffffff01"},
    };
    ASSERT_ALL(sound);
    static const char *const times[] = {
        "2025-01-31T12:00:00",
        "2025-01-31 12:00:00Z",
        "2025-13-01T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2025-01-31T24:00:00Z",
        "2025-01-31T12:60:00Z",
        "2016-12-31T23:59:60Z",
        "2025-1-31T12:00:00Z",
        "2025-01-31T12:00:00.Z",
        "2025-01-31T12:00:00.1234567890Z",
        "2025-01-31T12:00:00+24:00",
        "2025-01-31T12:00:00+0100",
        "0000-12-31T23:59:59Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2025-01-31T12:00:00ZZ",
        "",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(times); i++) {
        _cleanup_free_ char *json = mrg_asprintf("{\"at\":\"%s\"}", times[i]);
        _cleanup_free_ char *expected = mrg_asprintf(
            "at: expected a time such as \"2025-01-31T12:00:00.5Z\" from year 1 to 9999; got \"%s\"",
            times[i]);
        assert_parses("t.Known", json, expected);
    }
    static const char *const durations[] = {
        "1",  "1.s", ".5s",           "+1s",           "1 s",  "--1s",
        "s",  "-s",  "1.0000000001s", "315576000001s", "1e1s", "9999999999999s",
        "1ss"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(durations); i++) {
        _cleanup_free_ char *json = mrg_asprintf("{\"wait\":\"%s\"}", durations[i]);
        _cleanup_free_ char *expected = mrg_asprintf(
            "wait: expected a duration such as \"1.5s\", at most 315576000000 seconds; got \"%s\"",
            durations[i]);
        assert_parses("t.Known", json, expected);
    }
    assert_parses("t.Known", "{\"wait\":1}",
                  "wait: expected a duration such as \"1.5s\", at most 315576000000 seconds; got 1");
}

#define MASK "mask: expected a string of lowerCamel field paths with commas between them; got "

static void test_known(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"t.Known", "{\"mask\":\"\"}", "1a 00"},
        {"t.Known", "{\"mask\":\"a,bCd.eF\"}", "1a 0d 0a 01 61 0a 08 625f63642e655f66"},
        /* Empty paths, which a mask of several may have. */
        {"t.Known", "{\"mask\":\"a,,b\"}", "1a 08 0a 01 61 0a 00 0a 01 62"},
        {"t.Known", "{\"mask\":\",\"}", "1a 04 0a 00 0a 00"},
        {"t.Known", "{\"mask\":\"a_b\"}", MASK "\"a_b\""},
        {"t.Known", "{\"mask\":[\"a\"]}", MASK "[\"a\"]"},
        {"t.Known", "{\"data\":{}}", "22 00"},
        {"t.Known", "{\"data\":{\"a\\n\":null}}", "22 0a 0a 08 0a 02 610a 12 02 08 00"},
        {"t.Known", "{\"data\":[]}", "data: expected an object; got []"},
        {"t.Known", "{\"value\":null}", "2a 02 08 00"},
        {"t.Known", "{\"value\":\"\"}", "2a 02 1a 00"},
        {"t.Known", "{\"value\":false}", "2a 02 20 00"},
        {"t.Known", "{\"value\":{\"k\":[1.5,true]}}",
         "2a 1a 2a 18 0a 16 0a 01 6b 12 11 32 0f 0a 09 11 000000000000f83f 0a 02 20 01"},
        {"t.Known", "{\"value\":-0}", "2a 09 11 0000000000000080"},
        {"t.Known", "{\"value\":{\"k\":[1e999]}}",
         "value.k[0]: expected a number within the range of a double; got 1e999"},
        {"t.Known", "{\"list\":[[],{}]}", "32 08 0a 02 32 00 0a 02 2a 00"},
        {"t.Known", "{\"list\":{}}", "list: expected an array; got {}"},
        {"t.Known", "{\"boxed\":\"5\"}", "42 02 08 05"},
        {"t.Known", "{\"boxed\":0}", "42 00"},
        {"t.Known", "{\"boxed\":null}", ""},
        {"t.Known", "{\"boxed\":{}}",
         "boxed: expected an integer from -9223372036854775808 to 9223372036854775807, as a number or a "
         "string; got {}"},
        {"t.Known", "{\"bytes\":\"_w\",\"real\":\"NaN\"}", "5a 03 0a 01 ff  6a 05 0d 0000c07f"},
        {"t.Known", "{\"boxes\":[1,0]}", "72 02 08 01 72 00"},
        {"t.Known", "{\"values\":[null]}", "62 02 08 00"},
        {"t.Known", "{\"values\":null}", ""},
        {"t.Known", "{\"empty\":{}}", "4a 00"},
        {"t.Known", "{\"empty\":{\"a\":1}}",
         "empty.a: google.protobuf.Empty has no such field; it has no fields"},
        {"t.Known", "{\"empty\":[]}", "empty: expected an empty object; got []"},
    };
    ASSERT_ALL(cases);
}

static void test_any(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"t.Known", "{\"any\":{}}", "3a 00"},
        {"t.Known", "{\"any\":{\"count\":5,\"@type\":\"x/t.Item\"}}",
         "3a 0e 0a 08 782f742e4974656d 12 02 10 05"},
        {"t.Known", "{\"any\":{\"@type\":\"google.protobuf.Duration\",\"value\":\"1s\"}}",
         "3a 1e 0a 18 676f6f676c652e70726f746f6275662e4475726174696f6e 12 02 08 01"},
        {"t.Known", "{\"any\":{\"@type\":\"google.protobuf.Empty\"}}",
         "3a 19 0a 15 676f6f676c652e70726f746f6275662e456d707479 12 00"},
        {"t.Known", "{\"any\":{\"@type\":\"a/b\"}}",
         "any[\"@type\"]: expected the URL of a type that the descriptors have; got \"a/b\""},
        {"t.Known", "{\"any\":{\"count\":5}}",
         "any[\"@type\"]: expected a string with the type's URL, such as "
         "\"type.googleapis.com/pkg.Message\", in a "
         "google.protobuf.Any"},
        {"t.Known", "{\"any\":5}",
         "any: expected an object with \"@type\" and the fields of that type (google.protobuf.Any); got 5"},
        {"t.Known", "{\"any\":{\"@type\":\"x/t.Item\",\"count\":\"x\"}}",
         "any.count: expected " INT32 "; got \"x\""},
        {"t.Known", "{\"any\":{\"@type\":\"google.protobuf.Duration\",\"value\":\"1s\",\"b\":1}}",
         "any.b: expected only \"@type\" and \"value\" in a google.protobuf.Any of google.protobuf.Duration"},
        {"t.Known", "{\"any\":{\"@type\":\"google.protobuf.Duration\"}}",
         "any.value: expected the content of the google.protobuf.Any, a google.protobuf.Duration; it is "
         "missing"},
        {"t.Known", "{\"any\":{\"@type\":\"google.protobuf.Int64Value\",\"value\":\"x\"}}",
         "any.value: expected an integer from -9223372036854775808 to 9223372036854775807, as a number or a "
         "string; got \"x\""},
        {"t.Known", "{\"any\":{\"@type\":\"t.Old\"}}",
         "any.must: expected this required field, " INT32 "; it is missing"},
    };
    ASSERT_ALL(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_any),
    };
    return cmocka_run_group_tests(tests, proto_setup, proto_teardown);
}
