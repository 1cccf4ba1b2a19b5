// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engines/cassette_line.h"

static const char full[] = "{\"at\":\"0123456789abcdef\",\"nth\":2,\"dep\":\"inventory\",\"req\":{\"method\":"
                           "\"GET\",\"path\":\"/x\"},\"rep\":{\"status\":200},"
                           "\"by\":{\"model\":\"m\",\"prompt\":\"p\",\"evidence\":\"e\",\"tokens\":[10,4,"
                           "18446744073709551615],\"ms\":1840,\"id\":\"i\\\"d\","
                           "\"text\":\"t\"},\"clock\":\"2026-01-31T09:15:00.123Z\"}";

static struct mrg_cassette_line parse(struct mrg_arena *arena, const char *text)
{
    struct mrg_cassette_line line;
    struct mrg_error err;
    size_t column;
    if (mrg_cassette_line_parse(arena, mrg_slice_of(text), &line, &column, &err))
        fail_msg("%s: column %zu: %s", text, column, err.message);
    return line;
}

static void test_parts(void **state)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    (void)state;
    struct mrg_cassette_line line = parse(arena, full);
    assert_true(line.at == 0x0123456789abcdefu);
    assert_int_equal(line.nth, 2);
    assert_true(mrg_slice_eq_str(line.dep, "inventory"));
    assert_true(mrg_slice_eq_str(line.req, "{\"method\":\"GET\",\"path\":\"/x\"}"));
    assert_true(mrg_slice_eq_str(line.rep, "{\"status\":200}"));
    assert_true(mrg_slice_eq_str(line.model, "m"));
    assert_true(mrg_slice_eq_str(line.prompt, "p"));
    assert_true(mrg_slice_eq_str(line.evidence, "e"));
    assert_true(line.tokens_in == 10 && line.tokens_cached == 4 && line.tokens_out == UINT64_MAX &&
                line.ms == 1840);
    assert_true(mrg_slice_eq_str(line.id, "i\"d"));
    assert_true(mrg_slice_eq_str(line.text, "t"));
    assert_true(mrg_slice_eq_str(line.clock, "2026-01-31T09:15:00.123Z"));
    mrg_arena_free(arena);
}

static void test_round_trip(void **state)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_buf buf;
    (void)state;
    mrg_buf_init(&buf, SIZE_MAX);
    struct mrg_cassette_line line = parse(arena, full);
    mrg_cassette_line_append(&buf, &line);
    assert_string_equal(buf.data, full);
    mrg_buf_done(&buf);
    mrg_arena_free(arena);
}

static void test_by_hand(void **state)
{
    static const char text[] =
        " {\"rep\": {\"status\":200}, \"req\":{}, \"dep\":\"d\", \"patch\":{\"a\":1}, \"later\":[],"
        "\"nth\":1,\"at\":\"0000000000000000\",\"by\":{\"who\":1}}\r";
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_buf buf;
    (void)state;
    mrg_buf_init(&buf, SIZE_MAX);
    struct mrg_cassette_line line = parse(arena, text);
    assert_int_equal(line.model.len, 0);
    assert_int_equal(line.clock.len, 0);
    mrg_cassette_line_append(&buf, &line);
    assert_string_equal(
        buf.data,
        "{\"at\":\"0000000000000000\",\"nth\":1,\"dep\":\"d\",\"req\":{},\"rep\":{\"status\":200}}");
    mrg_buf_done(&buf);
    mrg_arena_free(arena);
}

/* `mark` stands in text where the error is, and is taken out. */
static void assert_refused(const char *text, const char *part)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_cassette_line line = {.nth = 77};
    struct mrg_error err = {.message = ""};
    const char *mark = strchr(text, '^');
    size_t column, at = mark ? (size_t)(mark - text) : 0;
    _cleanup_free_ char *clean = mrg_strdup(text);
    if (mark)
        memmove(clean + at, clean + at + 1, strlen(clean + at));
    if (!mrg_cassette_line_parse(arena, mrg_slice_of(clean), &line, &column, &err))
        fail_msg("%s is taken", clean);
    if (!strstr(err.message, part) || column != at + 1)
        fail_msg("%s: column %zu, \"%s\"; expected column %zu, \"%s\"", clean, column, err.message, at + 1,
                 part);
    assert_int_equal(line.nth, 77);
    mrg_arena_free(arena);
}

#define REST "\"dep\":\"d\",\"req\":{},\"rep\":{}}"

static void test_refusals(void **state)
{
    (void)state;
    assert_refused("^x", "expected a value");
    assert_refused("{\"at\":^}", "expected a value");
    assert_refused("[]", "the line is []; expected a JSON object");
    assert_refused("{\"at\":^\"0123456789ABCDEF\",\"nth\":1," REST,
                   "\"at\" is \"0123456789ABCDEF\"; expected 16 hexadecimal");
    assert_refused("{\"at\":^\"0123456789abcde\",\"nth\":1," REST, "\"at\" is");
    assert_refused("{\"at\":^1,\"nth\":1," REST, "\"at\" is 1");
    assert_refused("{\"at\":\"0123456789abcdef\",\"nth\":^0," REST, "\"nth\" is 0; expected a count from 1");
    assert_refused("{\"at\":\"0123456789abcdef\",\"nth\":^1.5," REST, "\"nth\" is 1.5");
    assert_refused("{\"at\":\"0123456789abcdef\",\"nth\":^4294967296," REST, "\"nth\" is 4294967296");
    assert_refused("{\"nth\":1," REST, "\"at\" is missing; expected the place");
    assert_refused("{\"at\":\"0123456789abcdef\"," REST, "\"nth\" is missing");
    assert_refused("{\"at\":\"0123456789abcdef\",\"nth\":1,\"dep\":^null,\"req\":{},\"rep\":{}}",
                   "\"dep\" is null");
    assert_refused("{\"at\":\"0123456789abcdef\",\"nth\":1,\"req\":{},\"rep\":{}}", "\"dep\" is missing");
    assert_refused("{\"at\":\"0123456789abcdef\",\"nth\":1,\"dep\":\"d\",\"req\":^[],\"rep\":{}}",
                   "\"req\" is []; expected an object");
    assert_refused("{\"at\":\"0123456789abcdef\",\"nth\":1,\"dep\":\"d\",\"rep\":{}}", "\"req\" is missing");
    assert_refused("{\"at\":\"0123456789abcdef\",\"nth\":1,\"dep\":\"d\",\"req\":{}}", "\"rep\" is missing");
    assert_refused("{\"by\":^7,\"at\":\"0123456789abcdef\",\"nth\":1," REST,
                   "\"by\" is 7; expected an object");
    assert_refused("{\"by\":{\"model\":^7},\"at\":\"0123456789abcdef\",\"nth\":1," REST, "\"model\" is 7");
    assert_refused("{\"by\":{\"tokens\":^[1,2]},\"at\":\"0123456789abcdef\",\"nth\":1," REST,
                   "\"tokens\" is [1,2]; expected three");
    assert_refused("{\"by\":{\"tokens\":^[1,2,3,4]},\"at\":\"0123456789abcdef\",\"nth\":1," REST,
                   "\"tokens\"");
    assert_refused("{\"by\":{\"ms\":^-1},\"at\":\"0123456789abcdef\",\"nth\":1," REST, "\"ms\" is -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
