// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fidelity/report.h"
#include "fidelity/score.h"

#define REQUEST "\"request\":{\"method\":\"GET\",\"path\":\"/a\"}"
#define CALL(real, simulated)                                                                                \
    "{\"real\":{" REQUEST ",\"reply\":" real "},\"simulated\":{" REQUEST ",\"reply\":" simulated "}}"
#define TRIAL(name, dependency, category, repeat, calls)                                                     \
    "{\"name\":\"" name "\",\"category\":\"" category "\",\"dependency\":\"" dependency                      \
    "\",\"repeat\":" repeat ",\"calls\":[" calls "]}"
#define DOCUMENT(trials) "{\"format\":\"mirage-verify/1\",\"label\":\"<a & b>\",\"scenarios\":[" trials "]}"
#define OK_REPLY         "{\"status\":200,\"body\":{\"a\":1}}"
#define OTHER            "{\"status\":200,\"body\":{\"a\":2}}"
#define SHAPE            "{\"status\":200,\"body\":{\"b\":1}}"
#define STATUS           "{\"status\":404,\"body\":{\"a\":1}}"
#define SAID             "{\"status\":404,\"body\":{\"message\":\"not here\"}}"
#define SAID_OTHERWISE   "{\"status\":404,\"body\":{\"message\":\"not there\"}}"

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

static void score_of(struct mrg_arena *arena, const char *text, struct mrg_score *ret_score)
{
    struct mrg_error err;
    struct mrg_result *result = mrg_arena_zalloc(arena, sizeof(*result));
    if (mrg_result_parse(arena, mrg_slice_of(text), result, &err) ||
        mrg_score_result(result, arena, ret_score, &err))
        fail_msg("%s", err.message);
}

static const char mixed[] = DOCUMENT(
    TRIAL("one", "x", "plain", "1", CALL(OK_REPLY, OK_REPLY)) "," TRIAL("one", "x", "plain", "2", CALL(OK_REPLY, OTHER)) "," TRIAL(
        "two", "x", "odd",
        "1",
        CALL(OK_REPLY, OK_REPLY) "," CALL(
            OK_REPLY,
            SHAPE)) "," TRIAL("three", "y", "odd", "1",
                              CALL(
                                  OK_REPLY,
                                  STATUS)) "," TRIAL("four", "y", "plain", "1",
                                                     CALL(
                                                         SAID,
                                                         SAID_OTHERWISE)) "," TRIAL("five", "y", "plain", "1",
                                                                                    "{\"left_out\":\"no\","
                                                                                    "\"real\":{" REQUEST
                                                                                    "},\"simulated\":"
                                                                                    "{" REQUEST
                                                                                    "}}") "," TRIAL("six",
                                                                                                    "y",
                                                                                                    "plain",
                                                                                                    "1",
                                                                                                    "{\"real"
                                                                                                    "\":"
                                                                                                    "{" REQUEST
                                                                                                    ",\"erro"
                                                                                                    "r\":"
                                                                                                    "\"dead"
                                                                                                    "\"},"
                                                                                                    "\"simul"
                                                                                                    "ated\":"
                                                                                                    "{" REQUEST
                                                                                                    ",\"erro"
                                                                                                    "r\":"
                                                                                                    "\"x\"}"
                                                                                                    "}") "," TRIAL("seven",
                                                                                                                   "y",
                                                                                                                   "plain",
                                                                                                                   "1",
                                                                                                                   "{\"real\":{" REQUEST
                                                                                                                   ",\"reply\":" OK_REPLY
                                                                                                                   "},\"simulated\":{" REQUEST
                                                                                                                   ",\"error\":\"dead\"}}"));

static void stages_and_groups(void **state)
{
    static const struct {
        bool passed, key_level, uncertain;
        enum mrg_decided decided;
        const char *why;
    } expected[] = {
        {true, true, false, MRG_DECIDED_ORACLE, ""},
        {false, true, false, MRG_DECIDED_ORACLE, "call 1: body.a: 1 became 2"},
        {false, false, false, MRG_DECIDED_GATE, "call 2: body.a: missing"},
        {false, false, false, MRG_DECIDED_GATE, "call 1: status: 200 became 404"},
        {false, true, true, MRG_DECIDED_NOBODY, "call 1: body.message: \"not here\" became \"not there\""},
        {true, true, false, MRG_DECIDED_ORACLE, ""},
        {false, false, false, MRG_DECIDED_NOBODY, "call 1: the real side gave no answer: dead"},
        {false, false, false, MRG_DECIDED_GATE, "call 1: status: no answer: dead"},
    };
    struct mrg_score score;
    score_of(*state, mixed, &score);
    for (size_t i = 0; i < MRG_ARRAY_LEN(expected); i++) {
        const struct mrg_trial_score *trial = &score.trials[i];
        assert_string_equal(trial->why, expected[i].why);
        assert_int_equal(trial->passed, expected[i].passed);
        assert_int_equal(trial->uncertain, expected[i].uncertain);
        if (!trial->error) {
            assert_int_equal(trial->key_level, expected[i].key_level);
            assert_int_equal(trial->decided, expected[i].decided);
        }
    }
    assert_int_equal(score.errors, 1);
    assert_int_equal(score.all.scored, 7);
    assert_int_equal(score.all.passed, 2);
    assert_int_equal(score.all.key_level, 4);
    assert_int_equal(score.dependencies.count, 2);
    assert_string_equal(score.dependencies.items[1].name, "y");
    assert_int_equal(score.dependencies.items[1].scored, 4);
    assert_int_equal(score.categories.items[0].scored, 5);
    assert_true(score.mean > 0.2916 && score.mean < 0.2917); /* of 1/3 and 1/4 */
    assert_int_equal(score.decided[MRG_DECIDED_GATE], 3);
    assert_int_equal(score.decided[MRG_DECIDED_NOBODY], 1);
    assert_int_equal(score.calls, 7);
    assert_int_equal(score.left_out, 1);
    assert_int_equal(score.status_same, 5);
    assert_int_equal(score.shape_same, 4);
    assert_int_equal(score.scenarios, 1);
    assert_int_equal(score.steady, 0);
}

static void verdicts_count(void **state)
{
    struct mrg_score score;
    score_of(*state, mixed, &score);
    score.trials[4].passed = true;
    score.trials[4].decided = MRG_DECIDED_JUDGES;
    mrg_score_total(&score);
    mrg_score_total(&score);
    assert_int_equal(score.all.passed, 3);
    assert_int_equal(score.all.passed_alone, 2);
    assert_int_equal(score.decided[MRG_DECIDED_JUDGES], 1);
    assert_int_equal(score.dependencies.count, 2);
}

static void a_document_comes_back_as_it_was(void **state)
{
    static const char text[] = DOCUMENT(
        "{\"name\":\"a\",\"category\":\"\",\"dependency\":\"\",\"repeat\":3,\"error\":\"e\\n\",\"dynamic\":[{"
        "\"path\":\"body.$.a\",\"kind\":\"time\","
        "\"pattern\":\"a|b\"},{\"path\":\"header.x\",\"kind\":\"id\"}],\"sets\":[\"body.$.s\"],\"ignore\":["
        "\"body.$.i\"],\"calls\":["
        "{\"real\":{\"request\":{\"method\":\"POST\",\"path\":\"/"
        "a\",\"query\":{\"q\":\"1\"},\"headers\":{\"x\":\"1\"},\"body\":{\"n\":1.50}},"
        "\"reply\":{\"status\":0,\"headers\":{\"x-meta\":\"1\"},\"body\":{},\"grpc_status\":\"NOT_FOUND\","
        "\"grpc_message\":\"no\",\"trailers\":{\"t\":\"1\"}}},"
        "\"simulated\":{" REQUEST ",\"reply\":{\"status\":200,\"body_text\":\"t\"},\"duration_us\":7}}]}");
    struct mrg_arena *arena = *state;
    struct mrg_result result, again;
    struct mrg_buf first, second;
    struct mrg_error err;
    if (mrg_result_parse(arena, mrg_slice_of(text), &result, &err))
        fail_msg("%s", err.message);
    const struct mrg_trial *trial = &result.trials[0];
    assert_int_equal(trial->repeat, 3);
    assert_int_equal(trial->rules.dynamic[0].kind, MRG_DYNAMIC_TIME);
    assert_null(trial->rules.dynamic[1].pattern);
    assert_int_equal(trial->rules.set_count + trial->rules.ignore_count, 2);
    assert_int_equal(trial->calls[0].real.reply.status, 0);
    assert_int_equal(trial->calls[0].real.reply.grpc_status, 5);
    assert_int_equal(trial->calls[0].real.reply.trailer_count, 1);
    assert_int_equal(trial->calls[0].simulated.duration_us, 7);
    mrg_buf_init(&first, SIZE_MAX);
    mrg_buf_init(&second, SIZE_MAX);
    mrg_result_append_json(&first, &result);
    assert_int_equal(mrg_result_parse(arena, mrg_buf_slice(&first), &again, &err), MRG_ERR_OK);
    mrg_result_append_json(&second, &again);
    assert_string_equal(first.data, second.data);
    assert_non_null(strstr(first.data, "\"body\":{\"n\":1.50}"));
    assert_non_null(strstr(first.data, "\"grpc_message\":\"no\""));
    mrg_buf_done(&first);
    mrg_buf_done(&second);
}

static void documents_that_are_none(void **state)
{
    static const char *const cases[][2] = {
        {"{", "line 1, column 2"},
        {"{\"format\":\"mirage-verify/2\"}", "format: expected \"mirage-verify/1\""},
        {"{\"format\":\"mirage-verify/1\"}", "scenarios: expected a list; it is missing"},
        {DOCUMENT("{}"), "scenarios[0]: name: expected a text; it is missing"},
        {DOCUMENT("{\"name\":\"a\"}"), "scenarios[0]: calls: expected a list; it is missing"},
        {DOCUMENT("{\"name\":\"a\",\"dynamic\":[{\"path\":\"body\",\"kind\":\"x\"}],\"calls\":[]}"),
         "scenarios[0]: kind: expected one of id,"},
        {DOCUMENT("{\"name\":\"a\",\"calls\":[{\"real\":{}}]}"),
         "scenarios[0]: calls[0]: real: request: expected an object"},
        {DOCUMENT("{\"name\":\"a\",\"calls\":[{\"real\":{" REQUEST "}}]}"),
         "scenarios[0]: calls[0]: real: reply: expected an object"},
        {DOCUMENT("{\"name\":\"a\",\"calls\":[{\"real\":{" REQUEST ",\"reply\":{\"status\":0}}}]}"),
         "scenarios[0]: calls[0]: real: \"status\" is 0"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct mrg_result result;
        struct mrg_error err;
        assert_int_equal(mrg_result_parse(*state, mrg_slice_of(cases[i][0]), &result, &err), MRG_ERR_INVALID);
        if (!strstr(err.message, cases[i][1]))
            fail_msg("\"%s\" in \"%s\"", cases[i][1], err.message);
    }
}

static bool near(double a, double b)
{
    return a - b < 0.00006 && b - a < 0.00006;
}

/* Wilson's interval of 81 of 263: Newcombe, Statist. Med. 17, 857-872 (1998), table I. */
static void intervals(void **state)
{
    (void)state;
    struct mrg_interval interval = mrg_wilson(81, 263);
    assert_true(near(interval.low, 0.2553) && near(interval.high, 0.3662));
    interval = mrg_wilson(0, 20);
    assert_true(interval.low == 0 && near(interval.high, 0.1611));
    interval = mrg_wilson(0, 0);
    assert_true(interval.low == 0 && interval.high == 1);
}

/* Appends trials of which `passes` tells who passes. */
static const char *trials(struct mrg_arena *arena, size_t count, bool (*passes)(size_t i))
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, "{\"format\":\"mirage-verify/1\",\"scenarios\":[");
    for (size_t i = 0; i < count; i++)
        mrg_buf_appendf(&buf, "%s{\"name\":\"s%zu\",\"calls\":[%s]}", i ? "," : "", i,
                        passes(i) ? CALL(OK_REPLY, OK_REPLY) : CALL(OK_REPLY, OTHER));
    mrg_buf_append_str(&buf, "]}");
    const char *text = mrg_arena_memdup(arena, buf.data, buf.len);
    mrg_buf_done(&buf);
    return text;
}

static bool first_passes(size_t i)
{
    return i < 48;
}

static bool second_passes(size_t i)
{
    return i < 36 || (i >= 48 && i < 50);
}

static bool none_passes(size_t i)
{
    return i > 1000;
}

/* 36, 12, 2, 0: Newcombe, Statist. Med. 17, 2635-2650 (1998), table II, method 10. */
static void paired_differences(void **state)
{
    struct mrg_score first, second, none;
    score_of(*state, trials(*state, 50, first_passes), &first);
    score_of(*state, trials(*state, 50, second_passes), &second);
    score_of(*state, trials(*state, 50, none_passes), &none);
    struct mrg_difference difference = mrg_score_difference(&first, &second);
    assert_int_equal(difference.pairs, 50);
    assert_int_equal(difference.both, 36);
    assert_int_equal(difference.first, 12);
    assert_int_equal(difference.second, 2);
    assert_true(near(difference.difference, 0.2));
    if (!near(difference.interval.low, 0.0569) || !near(difference.interval.high, 0.3404))
        fail_msg("%f %f", difference.interval.low, difference.interval.high);
    difference = mrg_score_difference(&none, &none);
    assert_true(difference.difference == 0 && difference.interval.low <= 0 && difference.interval.high >= 0);
}

static void reports_escape(void **state)
{
    struct mrg_score score;
    score_of(
        *state,
        DOCUMENT(TRIAL("<n>&\\\"|", "d|", "c", "1",
                       CALL("{\"status\":200,\"body\":\"<i>\"}", "{\"status\":200,\"body\":\"</pre>\"}"))),
        &score);
    static void (*const reports[])(struct mrg_buf *, const struct mrg_score *) = {
        mrg_report_junit, mrg_report_html, mrg_report_markdown, mrg_report_json};
    static const char *const has[] = {"name=\"&lt;n&gt;&amp;&quot;|\"", "&lt;/pre&gt;", "| d\\| | 1 |",
                                      "\"<n>&\\\"|\""};
    for (size_t i = 0; i < MRG_ARRAY_LEN(reports); i++) {
        struct mrg_buf buf;
        mrg_buf_init(&buf, SIZE_MAX);
        reports[i](&buf, &score);
        if (!strstr(buf.data, has[i]))
            fail_msg("no %s in %s", has[i], buf.data);
        if (i < 2)
            assert_null(strstr(buf.data, "<n>"));
        mrg_buf_done(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stages_and_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verdicts_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_document_comes_back_as_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(documents_that_are_none, set_up, tear_down),
        cmocka_unit_test(intervals),
        cmocka_unit_test_setup_teardown(paired_differences, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reports_escape, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
