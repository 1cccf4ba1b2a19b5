// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compare/compare.h"

#define T0 "2026-01-01T10:00:00Z"

static const struct mrg_compare_rule dynamic[] = {
    {"body.$..id", MRG_DYNAMIC_ID, "rsv_[0-9a-f]{6}"},
    {"body.$..uuid", MRG_DYNAMIC_ID, NULL},
    {"body.$..token", MRG_DYNAMIC_TOKEN, NULL},
    {"body.$..at", MRG_DYNAMIC_TIME, NULL},
    {"body.$..until", MRG_DYNAMIC_TIME, NULL},
    {"body.$..score", MRG_DYNAMIC_NUMBER, NULL},
    {"body.$..motto", MRG_DYNAMIC_TEXT, NULL},
    {"body.$..slogan", MRG_DYNAMIC_TEXT, "go .*"},
    {"header.location", MRG_DYNAMIC_ID, "/r/rsv_[0-9a-f]{6}"},
};
static const char *const sets[] = {"body.$.tags", "body.$.rows"};
static const char *const ignore[] = {"body.$.noise", "header.x-noise"};
static const struct mrg_compare_rules rules = {dynamic, MRG_ARRAY_LEN(dynamic), sets, MRG_ARRAY_LEN(sets),
                                               ignore,  MRG_ARRAY_LEN(ignore)};

static struct mrg_reply parse(struct mrg_arena *arena, const char *text)
{
    struct mrg_reply reply;
    struct mrg_error err;
    if (mrg_reply_parse(arena, mrg_slice_of(text), &reply, &err))
        fail_msg("%s: %s", text, err.message);
    return reply;
}

/* Steps of a scenario: real and simulated replies in turn, NULL at the end. The last one's verdict; every other is the same. */
static enum mrg_verdict play(const char *const *steps, struct mrg_comparison *ret_last,
                             struct mrg_arena *arena)
{
    struct mrg_compare *compare;
    struct mrg_error err;
    if (mrg_compare_new(&rules, &compare, &err))
        fail_msg("%s", err.message);
    for (; steps[0]; steps += 2) {
        struct mrg_reply real = parse(arena, steps[0]), simulated = parse(arena, steps[1]);
        mrg_compare_replies(compare, &real, &simulated, arena, ret_last);
        if (steps[2] && ret_last->verdict != MRG_VERDICT_SAME)
            fail_msg("%s against %s: %s: %s", steps[0], steps[1], ret_last->findings[0].path,
                     ret_last->findings[0].text);
    }
    mrg_compare_free(compare);
    return ret_last->verdict;
}

struct pair {
    const char *steps[9];
    const char *told; /* of the first finding: "path: text", or a part of it; NULL: no matter */
};

static void assert_all(const struct pair *pairs, size_t count, enum mrg_verdict verdict, int key_level)
{
    for (size_t i = 0; i < count; i++) {
        struct mrg_arena *arena = mrg_arena_new(0);
        struct mrg_comparison last;
        if (play(pairs[i].steps, &last, arena) != verdict)
            fail_msg("%zu: %s against %s: verdict %d: %s: %s", i, pairs[i].steps[0], pairs[i].steps[1],
                     last.verdict, last.finding_count ? last.findings[0].path : "",
                     last.finding_count ? last.findings[0].text : "");
        if (key_level >= 0 && last.key_level != (bool)key_level)
            fail_msg("%zu: %s: key level %d", i, pairs[i].steps[0], last.key_level);
        if (pairs[i].told) {
            const char *told =
                mrg_arena_printf(arena, "%s: %s", last.findings[0].path, last.findings[0].text);
            if (!strstr(told, pairs[i].told))
                fail_msg("%zu: \"%s\" in \"%s\"", i, pairs[i].told, told);
        }
        mrg_arena_free(arena);
    }
}

#define R(body)       "{\"status\":200,\"body\":" body "}"
#define H(name, text) "{\"status\":200,\"headers\":{\"" name "\":\"" text "\"},\"body\":1}"
#define G(rest)       "{\"status\":200,\"grpc_status\":5," rest "}"

/* What no caller could call wrong. */
static void legitimate_variations_pass(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {{R("{\"a\":1,\"b\":2}"), R("{\"b\":2,\"a\":1}")}, NULL},
        {{R("{\"a\":{\"b\":1,\"c\":[{\"d\":1,\"e\":2}]}}"), R("{\"a\":{\"c\":[{\"e\":2,\"d\":1}],\"b\":1}}")},
         NULL},
        {{R("{\"a\":1}"), R(" {  \"a\" :\n 1 } ")}, NULL},
        {{R("1.50"), R("1.5")}, NULL},
        {{R("150.0"), R("1.5e2")}, NULL},
        {{R("0.000001"), R("1e-6")}, NULL},
        {{R("\"caf\\u00e9\""), R("\"café\"")}, NULL},
        {{R("\"a/b\""), R("\"a\\/b\"")}, NULL},
        {{R("{\"id\":\"rsv_0a1b2c\"}"), R("{\"id\":\"rsv_ffffff\"}")}, NULL},
        {{R("{\"uuid\":\"3f2b8c1e-0000-4a4a-8a8a-0123456789ab\"}"),
          R("{\"uuid\":\"9e9e9e9e-1111-4b4b-9b9b-ba9876543210\"}")},
         NULL},
        {{R("{\"uuid\":41}"), R("{\"uuid\":7}")}, NULL},
        {{R("{\"token\":\"at_Xy12Zw34Qq\"}"), R("{\"token\":\"at_aB98cD76eE\"}")}, NULL},
        {{R("{\"id\":\"rsv_0a1b2c\"}"), R("{\"id\":\"rsv_ffffff\"}"), R("{\"id\":\"rsv_0a1b2c\"}"),
          R("{\"id\":\"rsv_ffffff\"}")},
         NULL},
        {{R("{\"id\":\"rsv_0a1b2c\"}"), R("{\"id\":\"rsv_ffffff\"}"),
          R("{\"message\":\"rsv_0a1b2c is held\"}"), R("{\"message\":\"rsv_ffffff is held\"}")},
         NULL},
        {{R("{\"id\":\"rsv_0a1b2c\"}"), R("{\"id\":\"rsv_ffffff\"}"), R("{\"self\":\"/r/rsv_0a1b2c?x=1\"}"),
          R("{\"self\":\"/r/rsv_ffffff?x=1\"}")},
         NULL},
        {{R("[{\"id\":\"rsv_000001\"},{\"id\":\"rsv_000002\"}]"),
          R("[{\"id\":\"rsv_00000a\"},{\"id\":\"rsv_00000b\"}]")},
         NULL},
        {{R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"2031-05-05T23:59:01Z\"}")}, NULL},
        {{R("{\"at\":\"2026-01-01T10:00:00.123Z\"}"), R("{\"at\":\"2031-05-05T23:59:01.999Z\"}")}, NULL},
        {{R("{\"at\":1767261600}"), R("{\"at\":1777777777}")}, NULL},
        {{R("{\"at\":1767261600123}"), R("{\"at\":1777777777000}")}, NULL},
        {{R("{\"at\":\"Thu, 01 Jan 2026 10:00:00 GMT\"}"), R("{\"at\":\"Fri, 02 Jan 2026 11:00:00 GMT\"}")},
         NULL},
        {{R("{\"at\":\"" T0 "\",\"until\":\"2026-01-01T11:00:00Z\"}"),
          R("{\"at\":\"2030-01-01T00:00:00Z\",\"until\":\"2030-01-01T01:00:01Z\"}")},
         NULL},
        {{R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"2030-01-01T00:00:00Z\"}"),
          R("{\"at\":\"2026-01-01T10:00:05Z\"}"), R("{\"at\":\"2030-01-01T00:00:40Z\"}")},
         NULL},
        {{R("{\"score\":0.25}"), R("{\"score\":0.75}")}, NULL},
        {{R("{\"slogan\":\"go west\"}"), R("{\"slogan\":\"go east\"}")}, NULL},
        {{R("{\"tags\":[\"a\",\"b\",\"c\"]}"), R("{\"tags\":[\"c\",\"a\",\"b\"]}")}, NULL},
        {{R("{\"rows\":[{\"n\":1,\"id\":\"rsv_000001\"},{\"n\":2,\"id\":\"rsv_000002\"}]}"),
          R("{\"rows\":[{\"id\":\"rsv_0000bb\",\"n\":2},{\"id\":\"rsv_0000aa\",\"n\":1}]}")},
         NULL},
        {{R("{\"noise\":1,\"a\":1}"), R("{\"a\":1}")}, NULL},
        {{H("content-type", "application/json"), H("content-type", "Application/JSON; charset=UTF-8")}, NULL},
        {{H("content-type", "text/csv; header=present"), H("content-type", "text/csv;header=present")}, NULL},
        {{H("location", "/r/rsv_0a1b2c"), H("location", "/r/rsv_ffffff")}, NULL},
        {{H("x-noise", "1"), R("1")}, NULL},
        {{R("1"), "{\"status\":200,\"headers\":{\"mirage-source\":\"llm\",\"server\":\"x\"},\"body\":1}"},
         NULL},
        {{"{\"status\":200,\"headers\":{\"a\":\"1\",\"b\":\"2\"}}",
          "{\"status\":200,\"headers\":{\"b\":\"2\",\"a\":\"1\"}}"},
         NULL},
        {{"{\"status\":204}", "{\"status\":204}"}, NULL},
        {{G("\"grpc_message\":\"no\""), G("\"grpc_message\":\"no\"")}, NULL},
    };
    assert_true(MRG_ARRAY_LEN(pairs) >= 30);
    assert_all(pairs, MRG_ARRAY_LEN(pairs), MRG_VERDICT_SAME, 1);
}

static void the_gate_refuses(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {{"{\"status\":201,\"body\":1}", "{\"status\":200,\"body\":1}"}, "status: 201 became 200"},
        {{R("{\"a\":1}"), R("{}")}, "body.a: missing"},
        {{R("{}"), R("{\"a\":1}")}, "body.a: not expected"},
        {{R("{\"a\":{\"b c\":1}}"), R("{\"a\":{}}")}, "body.a['b c']: missing"},
        {{R("1"), R("\"1\"")}, "body: 1 (integer) became \"1\" (string)"},
        {{R("1"), R("1.0")}, "integer"},
        {{R("12345678901234567890123"), R("1.5")}, "integer"},
        {{R("null"), R("0")}, "null"},
        {{R("true"), R("1")}, "boolean"},
        {{R("[]"), R("{}")}, "array"},
        {{R("[1,2]"), R("[1]")}, "body: 2 items became 1"},
        {{R("{\"tags\":[1]}"), R("{\"tags\":[1,1]}")}, "items"},
        {{R("{\"id\":\"rsv_0a1b2c\"}"), R("{\"id\":1}")}, "string"},
        {{R("1"), "{\"status\":200,\"body_text\":\"1\"}"}, "body: JSON became text"},
        {{R("1"), "{\"status\":200}"}, "body: JSON became no body"},
        {{G("\"body\":1"), "{\"status\":200,\"grpc_status\":6,\"body\":1}"}, "status: 5 became 6"},
        {{G("\"grpc_details\":[{\"@type\":\"t/a.B\"}]"), G("\"grpc_message\":\"\"")},
         "grpc_details: missing"},
    };
    assert_all(pairs, MRG_ARRAY_LEN(pairs), MRG_VERDICT_DIFFERENT, 0);
}

static void the_oracle_refuses(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {{R("{\"a\":10}"), R("{\"a\":11}")}, "body.a: 10 became 11"},
        {{R("12345678901234567890123"), R("12345678901234567890124")}, NULL},
        {{R("1.005"), R("1.0049999")}, NULL},
        {{R("true"), R("false")}, NULL},
        {{R("\"HELD\""), R("\"held\"")}, NULL},
        {{R("[1,2]"), R("[2,1]")}, "body[0]"},
        {{R("{\"tags\":[\"a\",\"b\"]}"), R("{\"tags\":[\"a\",\"c\"]}")}, "body.tags[1]: \"b\" became \"c\""},
        {{R("{\"id\":\"rsv_0a1b2c\"}"), R("{\"id\":\"rsv_0a1b2\"}")}, "pattern"},
        {{R("{\"id\":\"rsv_0a1b2c\"}"), R("{\"id\":\"\"}")}, NULL},
        {{R("{\"uuid\":\"ord_0a1b2c\"}"), R("{\"uuid\":\"or_0a1b2c\"}")}, "form"},
        {{R("{\"uuid\":\"0a1b2c3d4e\"}"), R("{\"uuid\":\"0a1b2c3d4z\"}")}, "form"},
        {{R("{\"id\":\"rsv_000001\"}"), R("{\"id\":\"rsv_00000a\"}"), R("{\"id\":\"rsv_000001\"}"),
          R("{\"id\":\"rsv_00000b\"}")},
         "stood for it before"},
        {{R("{\"id\":\"rsv_000001\"}"), R("{\"id\":\"rsv_00000a\"}"), R("{\"id\":\"rsv_000002\"}"),
          R("{\"id\":\"rsv_00000a\"}")},
         "stood for another before"},
        {{R("{\"id\":\"rsv_000001\"}"), R("{\"id\":\"rsv_00000a\"}"), R("\"rsv_000001\""),
          R("\"rsv_00000b\"")},
         NULL},
        {{R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"2026-01-01\"}")}, "spelled"},
        {{R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"2026-01-01T10:00:00.5Z\"}")}, "spelled"},
        {{R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"2026-01-01T10:00:00+00:00\"}")}, "spelled"},
        {{R("{\"at\":\"" T0 "\",\"until\":\"2026-01-01T11:00:00Z\"}"),
          R("{\"at\":\"" T0 "\",\"until\":\"2026-01-01T12:00:00Z\"}")},
         "not as far"},
        {{R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"2026-01-01T10:00:30Z\"}"),
          R("{\"at\":\"2026-01-01T09:59:30Z\"}")},
         "wrong way"},
        {{R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"2026-01-01T10:00:30Z\"}"),
          R("{\"at\":\"" T0 "\"}")},
         "not moved"},
        {{R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"2026-01-02T10:00:00Z\"}"),
          R("{\"at\":\"2026-01-03T10:00:00Z\"}")},
         "not as far"},
        {{R("{\"at\":1767261600123}"), R("{\"at\":1767261600123}"), R("{\"at\":1767261600123}"),
          R("{\"at\":1767261600124}")},
         "another time"},
        {{R("{\"score\":1}"), R("{\"score\":-1}")}, "sign"},
        {{R("{\"slogan\":\"go west\"}"), R("{\"slogan\":\"west\"}")}, "pattern"},
        {{R("{\"message\":\"requested 5, available 2\"}"), R("{\"message\":\"requested 5, available 3\"}")},
         NULL},
        {{R("{\"message\":\"Item 'a' is gone\"}"), R("{\"message\":\"Item 'b' is gone\"}")}, NULL},
        {{R("{\"message\":\"order_ref is set\"}"), R("{\"message\":\"order_id is set\"}")}, NULL},
        {{R("{\"code\":\"not here\"}"), R("{\"code\":\"not there\"}")}, NULL},
        {{H("x-a", "1"), R("1")}, "header.x-a: missing"},
        {{R("1"), H("x-a", "1")}, "header.x-a: not expected"},
        {{H("x-a", "1"), H("x-a", "2")}, "header.x-a: \"1\" became \"2\""},
        {{H("content-type", "text/plain"), H("content-type", "text/html")}, NULL},
        {{"{\"status\":200,\"headers\":{\"a\":[\"1\",\"2\"]}}",
          "{\"status\":200,\"headers\":{\"a\":[\"2\",\"1\"]}}"},
         NULL},
        {{"{\"status\":200,\"body_text\":\"a b\"}", "{\"status\":200,\"body_text\":\"a 1\"}"}, NULL},
        {{"{\"status\":200,\"body_base64\":\"/w==\"}", "{\"status\":200,\"body_base64\":\"/g==\"}"}, "bytes"},
        {{G("\"grpc_details\":[{\"@type\":\"t/a.B\",\"n\":1}]"),
          G("\"grpc_details\":[{\"@type\":\"t/a.B\",\"n\":2}]")},
         NULL},
        {{G("\"trailers\":{\"x\":\"1\"}"), G("\"trailers\":{\"x\":\"2\"}")}, "trailer.x"},
    };
    assert_all(pairs, MRG_ARRAY_LEN(pairs), MRG_VERDICT_DIFFERENT, 1);
}

static void what_cannot_be_decided_is_uncertain(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {{R("{\"message\":\"Item 'a' does not exist\"}"), R("{\"message\":\"Item 'a' was not found\"}")},
         "became"},
        {{R("{\"detail\":\"It's late, 5 left\"}"), R("{\"detail\":\"It is late: 5 left\"}")}, NULL},
        {{R("{\"error\":{\"title\":\"Bad Request\"}}"), R("{\"error\":{\"title\":\"bad request\"}}")},
         "body.error.title"},
        {{R("{\"motto\":\"a\"}"), R("{\"motto\":\"b\"}")}, NULL},
        {{R("{\"at\":\"soon\"}"), R("{\"at\":\"later\"}")}, "no time"},
        {{R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"" T0 "\"}"), R("{\"at\":\"" T0 "\"}"),
          R("{\"at\":\"2026-01-01T10:00:01Z\"}")},
         "another time"},
        {{G("\"grpc_message\":\"no such item\""), G("\"grpc_message\":\"item not known\"")}, "grpc_message"},
    };
    assert_all(pairs, MRG_ARRAY_LEN(pairs), MRG_VERDICT_UNCERTAIN, 1);
}

static void metrics_of_the_first_version(void **state)
{
    (void)state;
    static const struct {
        const char *real, *simulated;
        bool status, shape, identical;
    } cases[] = {
        {R("{\"a\":1}"), R("{\"a\":1}"), true, true, true},
        {R("{\"a\":1.0}"), R("{\"a\":1.00}"), true, true, false},
        {R("{\"a\":1}"), R("{\"a\":2}"), true, true, false},
        {R("{\"a\":1}"), R("{\"b\":1}"), true, false, false},
        {R("1"), "{\"status\":404,\"body\":1}", false, true, false},
        {R("1"), H("x", "1"), true, true, false},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct mrg_arena *arena = mrg_arena_new(0);
        const char *const steps[] = {cases[i].real, cases[i].simulated, NULL};
        struct mrg_comparison last;
        play(steps, &last, arena);
        assert_int_equal(last.status_same, cases[i].status);
        assert_int_equal(last.shape_same, cases[i].shape);
        assert_int_equal(last.identical, cases[i].identical);
        mrg_arena_free(arena);
    }
}

static void requests_pair_what_stands_in_them(void **state)
{
    (void)state;
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_compare *compare;
    struct mrg_comparison comparison;
    static const struct mrg_compare_rules none = {.dynamic = NULL};
    struct mrg_request a, b;
    assert_int_equal(mrg_compare_new(&none, &compare, NULL), MRG_ERR_OK);
    assert_int_equal(
        mrg_request_parse(
            arena,
            MRG_SLICE(
                "{\"method\":\"GET\",\"path\":\"/r/rsv_000001\",\"query\":{\"a\":\"x\",\"t\":\"tok_000001\"},"
                "\"headers\":{\"authorization\":\"Bearer at_0001\"},\"body\":{\"k\":[\"key-00001\"]}}"),
            &a, NULL),
        MRG_ERR_OK);
    assert_int_equal(
        mrg_request_parse(
            arena,
            MRG_SLICE(
                "{\"method\":\"GET\",\"path\":\"/r/rsv_00000a\",\"query\":{\"t\":\"tok_00000a\",\"a\":\"x\"},"
                "\"headers\":{\"authorization\":\"Bearer at_000a\"},\"body\":{\"k\":[\"key-0000a\"]}}"),
            &b, NULL),
        MRG_ERR_OK);
    mrg_compare_requests(compare, &a, &b);
    struct mrg_reply real = parse(arena, R("[\"rsv_000001\",\"tok_000001\",\"at_0001\",\"is key-00001\"]"));
    struct mrg_reply simulated =
        parse(arena, R("[\"rsv_00000a\",\"tok_00000a\",\"at_000a\",\"is key-0000a\"]"));
    mrg_compare_replies(compare, &real, &simulated, arena, &comparison);
    assert_int_equal(comparison.verdict, MRG_VERDICT_SAME);
    mrg_compare_replies(compare, &real, &real, arena, &comparison);
    assert_int_equal(comparison.finding_count, 4);
    mrg_compare_free(compare);
    mrg_arena_free(arena);
}

static void bad_rules_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct mrg_compare_rule rule;
        const char *set, *told;
    } cases[] = {
        {{"path", MRG_DYNAMIC_ID, NULL}, NULL, "dynamic: \"path\": expected body.… or header.NAME"},
        {{"body.$.[", MRG_DYNAMIC_ID, NULL}, NULL, "dynamic: \"body.$.[\""},
        {{"body.$.a", MRG_DYNAMIC_ID, "(a"}, NULL, "pattern \"(a\""},
        {{"body.$.a", MRG_DYNAMIC_ID, NULL}, "query.a", "sets: \"query.a\": expected body.…"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct mrg_error err;
        struct mrg_compare *compare = NULL;
        const struct mrg_compare_rules bad = {.dynamic = &cases[i].rule,
                                              .dynamic_count = 1,
                                              .sets = &cases[i].set,
                                              .set_count = cases[i].set != NULL};
        assert_int_equal(mrg_compare_new(&bad, &compare, &err), MRG_ERR_INVALID);
        if (!strstr(err.message, cases[i].told))
            fail_msg("\"%s\" in \"%s\"", cases[i].told, err.message);
        assert_null(compare);
    }
}

static void findings_are_bounded(void **state)
{
    (void)state;
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_buf a, b;
    mrg_buf_init(&a, SIZE_MAX);
    mrg_buf_init(&b, SIZE_MAX);
    mrg_buf_append_str(&a, "{\"status\":200,\"body\":[0");
    mrg_buf_append_str(&b, "{\"status\":200,\"body\":[0");
    for (int i = 0; i < 500; i++) {
        mrg_buf_appendf(&a, ",%d", i);
        mrg_buf_appendf(&b, ",%d", i + 1);
    }
    mrg_buf_append_str(&a, ",1]}");
    mrg_buf_append_str(&b, ",null]}");
    const char *const steps[] = {a.data, b.data, NULL};
    struct mrg_comparison last;
    play(steps, &last, arena);
    assert_int_equal(last.verdict, MRG_VERDICT_DIFFERENT);
    assert_false(last.key_level); /* though the one that says so is not told */
    assert_int_equal(last.finding_count, 100);
    mrg_buf_done(&a);
    mrg_buf_done(&b);
    mrg_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legitimate_variations_pass),   cmocka_unit_test(the_gate_refuses),
        cmocka_unit_test(the_oracle_refuses),           cmocka_unit_test(what_cannot_be_decided_is_uncertain),
        cmocka_unit_test(metrics_of_the_first_version), cmocka_unit_test(requests_pair_what_stands_in_them),
        cmocka_unit_test(bad_rules_are_refused),        cmocka_unit_test(findings_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
