// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include "core/control.h"
#include "fake_wire.h"
#include "util/json.h"

#define LOCAL "host: 127.0.0.1:8088"
#define JSON  LOCAL "\ncontent-type: application/json"

static struct rig rig;
static struct mrg_door *door, *shared, *control;

static int set_up(void **state)
{
    (void)state;
    rig_start(&rig, RIG_TWO);
    RIG_LLM->answer = rig_noted;
    door = mrg_door_new(MRG_DOOR_DEPENDENCY, "inventory", NULL);
    shared = mrg_door_new(MRG_DOOR_SHARED, NULL, NULL);
    control = mrg_door_new(MRG_DOOR_CONTROL, NULL, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mrg_door_unref(door);
    mrg_door_unref(shared);
    mrg_door_unref(control);
    rig_stop(&rig);
    return 0;
}

static void expect(struct mrg_door *through, const char *line, const char *headers, const char *body,
                   int status, const char *part)
{
    _cleanup_free_ char *text = call_text(&rig, through, line, headers, body, status);
    if (!strstr(text, part))
        fail_msg("%s: %s; expected in it: %s", line, text, part);
    if (line[0] != 'H' && !strstr(line, "metrics"))
        assert_int_equal(mrg_json_check(mrg_slice_of(text), NULL), MRG_ERR_OK);
}

/* What the next exchange finds. */
static struct call look(struct mrg_door *through, const char *headers)
{
    struct call *call = call_do(&rig, through, "GET /look", headers, NULL);
    struct call seen = *call;
    call_free(call);
    return seen;
}

static void change(struct mrg_door *through, const char *headers)
{
    call_free(call_do(&rig, through, "POST /items", headers, "{}"));
}

/* ---- which paths ---- */

static void control_paths_are_told_from_the_services_own(void **state)
{
    (void)state;
    expect(door, "GET /__mock__/health", LOCAL, NULL, 200, "\"status\":\"serving\"");
    expect(shared, "GET /__mock__/health", LOCAL, NULL, 200, "[\"inventory\",\"payment\"]");
    expect(control, "GET /__mock__/health", LOCAL, NULL, 200, "[\"inventory\",\"payment\"]");
    expect(door, "GET /__mock__/health", LOCAL, NULL, 200, "[\"inventory\"]");
    expect(shared, "GET /payment/__mock__/health", LOCAL, NULL, 200, "[\"payment\"]");
    expect(control, "GET /__mock__/health?dependency=payment", LOCAL, NULL, 200, "[\"payment\"]");
    expect(control, "GET /__mock__/health?dependency=paymen%74&dependency=y", LOCAL, NULL, 200,
           "[\"payment\"]");
    expect(control, "GET /__mock__/health?dependency=nobody", LOCAL, NULL, 404,
           "there is no dependency nobody");
    expect(control, "GET /__mock__/health?x=1", LOCAL, NULL, 400, "there is no query key");
    expect(door, "GET /__mock__/health?dependency=payment", LOCAL, NULL, 400,
           "this is the address of inventory");
    assert_int_equal(RIG_LLM->asked, 0);
    expect(door, "GET /__mock__x/health", LOCAL, NULL, 200, "ok");
    expect(door, "GET /metrics", LOCAL, NULL, 200, "ok");
    expect(door, "GET /items/__mock__/health", LOCAL, NULL, 200, "ok");
    assert_int_equal(RIG_LLM->asked, 3);
}

static void metrics_are_on_the_control_address_only(void **state)
{
    (void)state;
    change(door, NULL);
    struct call *call = call_do(&rig, control, "GET /metrics", LOCAL, NULL);
    const struct mrg_reply *reply = &call->exchange->reply;
    assert_int_equal(reply->status, 200);
    assert_string_equal(reply->headers[0].name.ptr, "content-type");
    assert_string_equal(reply->headers[0].value.ptr, "text/plain; version=0.0.4; charset=utf-8");
    assert_non_null(
        strstr(reply->body.bytes.ptr, "mirage_requests_total{dependency=\"inventory\",source=\"llm\"} 1\n"));
    call_free(call);
    expect(control, "HEAD /metrics", LOCAL, NULL, 200, "mirage_");
    expect(control, "POST /metrics", LOCAL, NULL, 405, "/metrics is read with GET");
    expect(control, "GET /metrics/x", LOCAL, NULL, 404, "this is the control address");
    expect(shared, "GET /metrics", LOCAL, NULL, 404, "no dependency has this path");
    /* The verb is at every address; at a dependency's own it tells of that one alone. */
    expect(shared, "GET /__mock__/metrics", LOCAL, NULL, 200, "dependency=\"payment\"");
    expect(control, "GET /__mock__/metrics?dependency=payment", LOCAL, NULL, 200, "dependency=\"payment\"");
    _cleanup_free_ char *own = call_text(&rig, door, "GET /__mock__/metrics", LOCAL, NULL, 200);
    assert_non_null(strstr(own, "mirage_requests_total{dependency=\"inventory\",source=\"llm\"} 1\n"));
    assert_null(strstr(own, "payment"));
    expect(door, "POST /__mock__/metrics", LOCAL, NULL, 405, "expected GET");
}

static void verbs_that_are_none(void **state)
{
    (void)state;
    static const char *const unknown[] = {"GET /__mock__",
                                          "GET /__mock__/",
                                          "GET /__mock__/nothing",
                                          "GET /__mock__/health/",
                                          "GET /__mock__//health",
                                          "GET /__mock__/sessions/",
                                          "GET /__mock__/sessions/a/b",
                                          "POST /__mock__/Reset"};
    static const char *const wrong[] = {
        "POST /__mock__/health",         "GET /__mock__/reset",        "GET /__mock__/scenario",
        "DELETE /__mock__/state",        "POST /__mock__/log",         "GET /__mock__/verify",
        "PUT /__mock__/sessions",        "PATCH /__mock__/sessions/a", "HEAD /__mock__/reset",
        "GET /__mock__/sessions/a/fork", "get /__mock__/health"};
    static const char *const later[] = {"PUT /__mock__/state", "PATCH /__mock__/state",
                                        "POST /__mock__/verify"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(unknown); i++)
        expect(door, unknown[i], LOCAL, NULL, 404, "there is no such verb; the verbs are");
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++)
        expect(door, wrong[i], LOCAL, NULL, 405, "is not a method of this verb");
    for (size_t i = 0; i < MRG_ARRAY_LEN(later); i++)
        expect(door, later[i], LOCAL, NULL, 501, "later version");
    expect(door, "HEAD /__mock__/health", LOCAL, NULL, 200, "serving");
    assert_int_equal(RIG_LLM->asked, 0);
}

/* ---- guards ---- */

static void hosts(void **state)
{
    (void)state;
    static const char *const good[] = {"127.0.0.1",   "127.0.0.1:80",   "127.255.0.9:1", "localhost",
                                       "localhost:1", "LocalHost:8088", "[::1]",         "[::1]:80",
                                       "mirage.test", "Mirage.Test:9"};
    static const char *const bad[] = {"",
                                      "127.0.0.1.evil.com",
                                      "127.0.0.1.evil.com:80",
                                      "evil.com",
                                      "localhost.evil.com",
                                      "xlocalhost",
                                      "127.0.0.1x",
                                      "[::1].evil.com",
                                      "[::1]x:80",
                                      "[::2]",
                                      "::1",
                                      "10.0.0.1:80",
                                      "128.0.0.1",
                                      "127.0.0.1:80:evil.com",
                                      "localhost:80.evil.com",
                                      "mirage.test.evil.com",
                                      "evil.com:mirage.test",
                                      "0.0.0.0",
                                      "127",
                                      "localhost@evil.com",
                                      "evil.com@localhost"};
    char header[64];
    for (size_t i = 0; i < MRG_ARRAY_LEN(good); i++) {
        snprintf(header, sizeof(header), "host: %s", good[i]);
        expect(door, "POST /__mock__/reset", header, NULL, 200, "reset");
    }
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++) {
        snprintf(header, sizeof(header), "host: %s", bad[i]);
        expect(door, "POST /__mock__/reset", header, NULL, 403, "control verbs refuse the Host");
        expect(control, "GET /metrics", header, NULL, 403, "control verbs refuse the Host");
        expect(door, "GET /__mock__/health", header, NULL, 403, "control verbs refuse the Host");
    }
    /* A wire without such a header. */
    expect(door, "POST /__mock__/reset", NULL, NULL, 200, "reset");
    /* The simulated service answers under any name. */
    expect(door, "GET /items", "host: inventory.test", NULL, 200, "ok");
}

static void origins(void **state)
{
    (void)state;
    expect(door, "POST /__mock__/reset", LOCAL "\norigin: http://127.0.0.1:8088", NULL, 200, "reset");
    expect(door, "POST /__mock__/reset", LOCAL "\norigin: https://127.0.0.1:8088", NULL, 200, "reset");
    static const char *const bad[] = {"null",
                                      "",
                                      "http://evil.com",
                                      "http://127.0.0.1:8089",
                                      "http://127.0.0.1",
                                      "http://127.0.0.1:80888",
                                      "ftp://127.0.0.1:8088",
                                      "127.0.0.1:8088",
                                      "http://localhost:8088",
                                      "http://127.0.0.1:8088.evil.com"};
    char headers[128];
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++) {
        snprintf(headers, sizeof(headers), LOCAL "\norigin: %s", bad[i]);
        expect(door, "POST /__mock__/reset", headers, NULL, 403, "control verbs refuse the foreign Origin");
        expect(door, "GET /__mock__/health", headers, NULL, 403, "control verbs refuse the foreign Origin");
    }
    expect(door, "POST /__mock__/reset", "origin: http://127.0.0.1:8088", NULL, 403, "foreign Origin");
}

static void types(void **state)
{
    (void)state;
    const char *body = "{\"instruction\":\"be slow\"}";
    expect(door, "POST /__mock__/scenario", JSON, body, 200, "announced");
    expect(door, "POST /__mock__/scenario", JSON "; charset=utf-8", body, 200, "announced");
    expect(door, "POST /__mock__/scenario", LOCAL "\ncontent-type: application/x+json", body, 200,
           "announced");
    static const char *const bad[] = {"text/plain", "application/x-www-form-urlencoded",
                                      "multipart/form-data; boundary=x", "text/plain; application/json"};
    char headers[128];
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++) {
        snprintf(headers, sizeof(headers), LOCAL "\ncontent-type: %s", bad[i]);
        expect(door, "POST /__mock__/scenario", headers, body, 415, "the body is not JSON");
        expect(door, "POST /__mock__/reset", headers, "x=1", 415, "the body is not JSON");
    }
    expect(door, "POST /__mock__/reset", LOCAL, "x=1", 415, "the body is not JSON");
    expect(door, "POST /__mock__/reset", JSON, "{\"x\":}", 400, "the body is not JSON: line 1, column 6");
}

#define TOKEN_YAML                                                                                           \
    "control: {listen: 127.0.0.1:0, token_env: MIRAGE_TEST_TOKEN}\n"                                         \
    "model: {name: m}\n"                                                                                     \
    "dependencies: [{name: inventory, listen: {http: 127.0.0.1:0}}]\n"

static void tokens(void **state)
{
    (void)state;
    char *environ_list[] = {(char[]){"MIRAGE_TEST_TOKEN=sesame"}, NULL};
    struct mrg_config *config = rig_config_env(TOKEN_YAML, environ_list);
    rig_take_over(&rig, config);
    mrg_config_unref(config);
    setenv("MIRAGE_TEST_TOKEN", "sesame", 1);
    expect(door, "POST /__mock__/reset", LOCAL "\nauthorization: Bearer sesame", NULL, 200, "reset");
    expect(door, "POST /__mock__/reset", LOCAL "\nauthorization: bearer sesame", NULL, 200, "reset");
    static const char *const bad[] = {"Bearer sesam", "Bearer sesamE", "Bearer sesame1", "Bearer ", "Bearer",
                                      "sesame",       "Basic sesame",  "Bearer  sesame", ""};
    char headers[128];
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++) {
        snprintf(headers, sizeof(headers), LOCAL "\nauthorization: %s", bad[i]);
        expect(door, "POST /__mock__/reset", headers, NULL, 401,
               "control verbs need the header Authorization");
    }
    static const char *const closed[] = {
        "POST /__mock__/reset",     "POST /__mock__/scenario",     "GET /__mock__/state",
        "GET /__mock__/log",        "GET /__mock__/sessions",      "POST /__mock__/sessions",
        "GET /__mock__/sessions/a", "DELETE /__mock__/sessions/a", "PUT /__mock__/state",
        "GET /__mock__/nothing",    "DELETE /__mock__/health",     "GET /__mock__/log?dependency=nobody"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(closed); i++)
        expect(control, closed[i], LOCAL, NULL, 401, "control verbs need the header Authorization");
    expect(door, "GET /__mock__/health", LOCAL, NULL, 200, "serving");
    expect(control, "GET /metrics", LOCAL, NULL, 401, "control.token_env");
    /* A variable that has gone since admits nobody. */
    unsetenv("MIRAGE_TEST_TOKEN");
    expect(door, "POST /__mock__/reset", LOCAL "\nauthorization: Bearer ", NULL, 401, "control verbs need");
    setenv("MIRAGE_TEST_TOKEN", "", 1);
    expect(door, "POST /__mock__/reset", LOCAL "\nauthorization: Bearer ", NULL, 401, "control verbs need");
    unsetenv("MIRAGE_TEST_TOKEN");
}

static void names_of_sessions(void **state)
{
    (void)state;
    expect(door, "POST /__mock__/reset", LOCAL "\nmirage-session: a b", NULL, 400,
           "the session's name is not one");
    expect(door, "POST /__s//__mock__/reset", LOCAL, NULL, 400, "the session's name is not one");
    expect(door, "POST /__mock__/reset", LOCAL "\nmirage-session: a", NULL, 200,
           "{\"status\":\"reset\",\"session\":\"a\",\"dependency\":\"inventory\"}");
    expect(door, "POST /__s/b/__mock__/reset", LOCAL, NULL, 200, "\"session\":\"b\"");
    expect(control, "POST /__mock__/reset", LOCAL "\nbaggage: mirage-session=c", NULL, 200,
           "{\"status\":\"reset\",\"session\":\"c\"}");
    expect(control, "POST /__mock__/reset", LOCAL, NULL, 200,
           "{\"status\":\"reset\",\"session\":\"default\"}");
}

/* ---- reset and scenario ---- */

static void reset_takes_one_dependency_or_all(void **state)
{
    (void)state;
    struct mrg_door *payment = mrg_door_new(MRG_DOOR_DEPENDENCY, "payment", NULL);
    change(door, NULL);
    change(payment, NULL);
    change(door, "mirage-session: other");
    expect(door, "POST /__mock__/reset", LOCAL, NULL, 200, "reset");
    assert_int_equal(look(door, NULL).window_len, 0);
    assert_int_equal(look(payment, NULL).window_len, 1);
    assert_int_equal(look(door, "mirage-session: other").window_len, 1);
    expect(control, "POST /__mock__/reset?dependency=payment", LOCAL, NULL, 200,
           "\"dependency\":\"payment\"");
    assert_int_equal(look(payment, NULL).window_len, 0);
    assert_int_equal(look(door, NULL).window_len, 1);
    expect(control, "POST /__mock__/reset", LOCAL, NULL, 200, "reset");
    assert_int_equal(look(payment, NULL).window_len, 0);
    assert_int_equal(look(door, NULL).window_len, 0);
    assert_int_equal(look(door, "mirage-session: other").window_len, 2);
    mrg_door_unref(payment);
}

static struct mrg_text *scenario; /* that the engine found, a reference */

static enum mrg_verdict keep_scenario(struct mrg_exchange *exchange)
{
    mrg_text_unref(scenario);
    scenario = mrg_text_ref(exchange->state->scenario);
    return rig_noted(exchange);
}

static void expect_scenario(struct mrg_door *through, const char *headers, const char *json)
{
    RIG_LLM->answer = keep_scenario;
    struct call seen = look(through, headers);
    if (json)
        assert_string_equal(scenario->data, json);
    else
        assert_null(scenario);
    assert_int_equal(seen.place, mrg_place_start(through->dependency, json));
    assert_int_equal(seen.window_len, 0);
    mrg_text_unref(scenario);
    scenario = NULL;
}

static void both_forms_of_a_scenario(void **state)
{
    (void)state;
    struct mrg_door *payment = mrg_door_new(MRG_DOOR_DEPENDENCY, "payment", NULL);
    change(door, NULL);
    expect(door, "POST /__mock__/scenario", JSON,
           " { \"calls\" : [ {\"path\":\"/items/1\", \"method\":\"GET\"}, "
           "{\"method\":\"POST\",\"path\":\"/items\"} ], \"name\":\"n \\u00e9\" } ",
           200, "{\"status\":\"announced\",\"session\":\"default\",\"dependency\":\"inventory\"}");
    expect_scenario(door, NULL,
                    "{\"name\":\"n "
                    "\xC3\xA9\",\"calls\":[{\"method\":\"GET\",\"path\":\"/items/"
                    "1\"},{\"method\":\"POST\",\"path\":\"/items\"}]}");
    expect_scenario(payment, NULL, NULL);

    /* What is no part of the form cannot slip into a prompt. */
    expect(door, "POST /__mock__/scenario", JSON,
           "{\"name\":\"n\",\"calls\":[{\"method\":\"GET\",\"path\":\"/"
           "\",\"expect\":{\"status\":201}}],\"answer\":42}",
           200, "announced");
    expect_scenario(door, NULL, "{\"name\":\"n\",\"calls\":[{\"method\":\"GET\",\"path\":\"/\"}]}");
    expect(door, "POST /__mock__/scenario", JSON, "{\"name\":\"n\",\"calls\":[]}", 200, "announced");
    expect_scenario(door, NULL, "{\"name\":\"n\",\"calls\":[]}");

    expect(control, "POST /__mock__/scenario", JSON "\nmirage-session: all",
           "{\"instruction\":\"Stock is low.\"}", 200, "{\"status\":\"announced\",\"session\":\"all\"}");
    expect_scenario(door, "mirage-session: all", "{\"instruction\":\"Stock is low.\"}");
    expect_scenario(payment, "mirage-session: all", "{\"instruction\":\"Stock is low.\"}");
    expect(control, "POST /__mock__/reset", LOCAL "\nmirage-session: all", NULL, 200, "reset");
    expect_scenario(door, "mirage-session: all", NULL);
    mrg_door_unref(payment);
}

static void malformed_scenarios_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *body, *part;
    } bad[] = {
        {"", "the scenario is not JSON"},
        {"{", "the body is not JSON: line 1, column 2"},
        {"{\"name\":\"a\",\"name\":\"b\",\"calls\":[]}", "the body is not JSON"},
        {"null", "neither form"},
        {"[]", "neither form"},
        {"\"x\"", "neither form"},
        {"{}", "neither form"},
        {"{\"instruction\":5}", "neither form"},
        {"{\"instruction\":null}", "neither form"},
        {"{\"instruction\":\"a\\u0000b\"}", "neither form"},
        {"{\"calls\":[]}", "neither form"},
        {"{\"name\":7,\"calls\":[]}", "neither form"},
        {"{\"name\":\"n\"}", "\\\"calls\\\" is missing or no list"},
        {"{\"name\":\"n\",\"calls\":null}", "\\\"calls\\\" is missing or no list"},
        {"{\"name\":\"n\",\"calls\":{}}", "\\\"calls\\\" is missing or no list"},
        {"{\"name\":\"n\",\"calls\":[null]}", "calls[0] is not a call"},
        {"{\"name\":\"n\",\"calls\":[\"GET /\"]}", "calls[0] is not a call"},
        {"{\"name\":\"n\",\"calls\":[{\"method\":\"GET\",\"path\":\"/\"},{\"method\":\"GET\"}]}",
         "calls[1] is not a call"},
        {"{\"name\":\"n\",\"calls\":[{\"path\":\"/\"}]}", "calls[0] is not a call"},
        {"{\"name\":\"n\",\"calls\":[{\"method\":1,\"path\":\"/\"}]}", "calls[0] is not a call"},
        {"{\"name\":\"n\",\"calls\":[{\"method\":\"GET\",\"path\":\"/a\\u0000b\"}]}",
         "calls[0] is not a call"},
    };
    change(door, NULL);
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++)
        expect(door, "POST /__mock__/scenario", JSON, bad[i].body, 400, bad[i].part);
    assert_int_equal(look(door, NULL).window_len, 1);
}

static void a_scenario_may_be_64_KiB(void **state)
{
    (void)state;
    struct mrg_buf body;
    mrg_buf_init(&body, SIZE_MAX);
    mrg_buf_append_str(&body, "{\"instruction\":\"");
    while (body.len < MRG_MAX_SCENARIO - 2)
        mrg_buf_append_char(&body, 'x');
    size_t len = body.len;
    mrg_buf_append_str(&body, "\"}");
    assert_int_equal(body.len, MRG_MAX_SCENARIO);
    expect(door, "POST /__mock__/scenario", JSON, body.data, 200, "announced");
    body.len = len;
    mrg_buf_append_str(&body, "y\"}");
    expect(door, "POST /__mock__/scenario", JSON, body.data, 413, "the scenario is larger than 65536 bytes");
    mrg_buf_done(&body);
}

/* ---- state, log ---- */

static void the_state_is_empty(void **state)
{
    (void)state;
    change(door, NULL);
    _cleanup_free_ char *text = call_text(&rig, door, "GET /__mock__/state", LOCAL, NULL, 200);
    assert_string_equal(text, "{}");
}

static int entries(const char *line, const char *headers)
{
    _cleanup_free_ char *text = call_text(&rig, line[4] == 'd' ? door : control,
                                          line[4] == 'd' ? line + 6 : line + 4, headers, NULL, 200);
    assert_int_equal(mrg_json_check(mrg_slice_of(text), NULL), MRG_ERR_OK);
    int count = 0;
    for (const char *p = text; (p = strstr(p, "\"seq\":")) != NULL; p++)
        count++;
    return count;
}

static void the_log_can_be_filtered(void **state)
{
    (void)state;
    struct mrg_door *payment = mrg_door_new(MRG_DOOR_DEPENDENCY, "payment", NULL);
    change(door, NULL);
    change(door, "mirage-session: a");
    change(payment, "mirage-session: a");
    change(payment, "mirage-session: b");
    mrg_door_unref(payment);
    assert_int_equal(entries("all GET /__mock__/log", LOCAL), 4);
    assert_int_equal(entries("all GET /__mock__/log?dependency=payment", LOCAL), 2);
    assert_int_equal(entries("all GET /__mock__/log?session=a", LOCAL), 2);
    assert_int_equal(entries("all GET /__mock__/log?session=a&dependency=payment", LOCAL), 1);
    assert_int_equal(entries("all GET /__mock__/log", LOCAL "\nmirage-session: b"), 1);
    assert_int_equal(entries("all GET /__mock__/log?session=a", LOCAL "\nmirage-session: b"), 2);
    assert_int_equal(entries("all GET /__mock__/log?session=nobody", LOCAL), 0);
    assert_int_equal(entries("all GET /__mock__/log?limit=3", LOCAL), 3);
    assert_int_equal(entries("all GET /__mock__/log?limit=0", LOCAL), 4);
    assert_int_equal(entries("all GET /__mock__/log?limit=9", LOCAL), 4);
    assert_int_equal(entries("all GET /__mock__/log?after=3", LOCAL), 1);
    assert_int_equal(entries("all GET /__mock__/log?after=99", LOCAL), 0);
    expect(control, "GET /__mock__/log?after=2&limit=1", LOCAL, NULL, 200, "{\"entries\":[{\"seq\":4,");
    expect(control, "GET /__mock__/log?after=2&limit=1", LOCAL, NULL, 200, "\"last\":4}");
    expect(door, "GET /__mock__/log?limit=1", LOCAL, NULL, 200, "\"session\":\"a\"");
    expect(door, "GET /__mock__/log?dependency=payment", LOCAL, NULL, 400,
           "this is the address of inventory");
    expect(control, "GET /__mock__/log?after=x", LOCAL, NULL, 400, "after is \\\"x\\\"; expected a number");
    expect(control, "GET /__mock__/log?limit=-1", LOCAL, NULL, 400, "limit is \\\"-1\\\"; expected a number");
}

/* ---- sessions ---- */

static void sessions_are_made_listed_shown_and_deleted(void **state)
{
    (void)state;
    expect(control, "GET /__mock__/sessions", LOCAL, NULL, 200, "{\"sessions\":[]}");
    expect(control, "POST /__mock__/sessions", JSON, "{\"name\":\"a:1\"}", 201, "{\"session\":\"a:1\"}");
    expect(control, "POST /__mock__/sessions", LOCAL, NULL, 201, "{\"session\":\"s-");
    expect(control, "POST /__mock__/sessions", LOCAL "\nmirage-session: b", NULL, 201, "{\"session\":\"b\"}");
    expect(control, "POST /__mock__/sessions", JSON "\nmirage-session: b",
           "{\"name\":\"c\",\"listen\":false}", 201, "{\"session\":\"c\"}");
    change(door, "mirage-session: b");
    expect(control, "GET /__mock__/sessions", LOCAL, NULL, 200, "{\"name\":\"a:1\",\"idle_ms\":");
    expect(control, "GET /__mock__/sessions", LOCAL, NULL, 200, "\"exchanges\":1}");
    expect(control, "GET /__mock__/sessions/b", LOCAL, NULL, 200,
           "\"states\":[{\"dependency\":\"inventory\",\"exchanges\":1,\"place\":\"");
    expect(control, "GET /__mock__/sessions/a%3a1", LOCAL, NULL, 200, "{\"name\":\"a:1\"");
    expect(control, "GET /__mock__/sessions/nobody", LOCAL, NULL, 404, "there is no session nobody");
    expect(control, "GET /__mock__/sessions/b%00", LOCAL, NULL, 404, "there is no session b");
    expect(control, "DELETE /__mock__/sessions/b", LOCAL, NULL, 200, "{\"status\":\"deleted\"}");
    expect(control, "DELETE /__mock__/sessions/b", LOCAL, NULL, 404, "there is no session b");
    expect(control, "GET /__mock__/sessions/b", LOCAL, NULL, 404, "there is no session b");
    assert_int_equal(look(door, "mirage-session: b").window_len, 0);
}

static void malformed_wishes(void **state)
{
    (void)state;
    static const struct {
        const char *body, *part;
    } bad[] = {
        {"{", "the body is not JSON"},
        {"[]", "the body is no object"},
        {"null", "the body is no object"},
        {"\"a\"", "the body is no object"},
        {"{\"name\":1}", "is no name"},
        {"{\"name\":\"\"}", "is no name"},
        {"{\"name\":\"a b\"}", "is no name"},
        {"{\"name\":null}", "is no name"},
        {"{\"name\":\"a\\u0000b\"}", "is no name"},
        {"{\"listen\":1}", "is neither true nor false"},
        {"{\"listen\":null}", "is neither true nor false"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++)
        expect(control, "POST /__mock__/sessions", JSON, bad[i].body, 400, bad[i].part);
    expect(control, "GET /__mock__/sessions", LOCAL, NULL, 200, "{\"sessions\":[]}");
}

static void a_session_may_listen(void **state)
{
    (void)state;
    struct fake_wire wire;
    fake_wire_init(&wire, &rig);
    expect(control, "POST /__mock__/sessions", JSON, "{\"name\":\"a\",\"listen\":true}", 201,
           "{\"session\":\"a\",\"dependencies\":[{\"name\":\"inventory\",\"http\":\"http://"
           "127.0.0.1:1\"},{\"name\":\"payment\",\"http\":\"http://127.0.0.1:2\"}]}");
    /* Through its own address, the verbs are for that session and dependency. */
    struct mrg_door *own = wire.open[0];
    change(own, NULL);
    assert_int_equal(look(own, "mirage-session: x").window_len, 1);
    expect(own, "POST /__mock__/reset", LOCAL, NULL, 200, "\"session\":\"a\",\"dependency\":\"inventory\"");
    assert_int_equal(look(own, NULL).window_len, 0);

    wire.fail_at = wire.opened + 2;
    expect(control, "POST /__mock__/sessions", JSON, "{\"name\":\"b\",\"listen\":true}", 500,
           "no port is free");
    assert_int_equal(wire.open_count, 2);
    for (int i = 0; i < 31; i++)
        expect(control, "POST /__mock__/sessions", JSON, "{\"listen\":true}", 201, "dependencies");
    expect(control, "POST /__mock__/sessions", JSON, "{\"name\":\"a\",\"listen\":true}", 409,
           "session a has addresses already; delete it first");
    expect(control, "POST /__mock__/sessions", JSON, "{\"name\":\"c\",\"listen\":true}", 429,
           "sessions hold 64 addresses");
    assert_int_equal(wire.open_count, 64);
    assert_int_equal(fake_wire_count(&wire, "a"), 2);
    expect(control, "DELETE /__mock__/sessions/a", LOCAL, NULL, 200, "deleted");
    assert_int_equal(fake_wire_count(&wire, "a"), 0);
    assert_int_equal(wire.open_count, 62);
    expect(control, "POST /__mock__/sessions", JSON, "{\"name\":\"a\",\"listen\":true}", 201, "dependencies");
    fake_wire_stop(&wire);
}

static void verbs_are_answered_while_turns_are_held(void **state)
{
    (void)state;
    RIG_LLM->answer = rig_pend;
    struct call *held = call_send(&rig, door, "POST /items", NULL, "{}");
    expect(door, "GET /__mock__/health", LOCAL, NULL, 200, "serving");
    expect(door, "GET /__mock__/sessions/default", LOCAL, NULL, 200, "\"exchanges\":0");
    expect(door, "POST /__mock__/reset", LOCAL, NULL, 200, "reset");
    rig_release(rig_take());
    call_free(held);
    /* Verbs are neither journaled nor counted. */
    assert_int_equal(mrg_stats_dependency(rig.stats, "inventory")->requests, 1);
    expect(door, "GET /__mock__/log", LOCAL, NULL, 200, "\"last\":1}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(control_paths_are_told_from_the_services_own),
        TEST(metrics_are_on_the_control_address_only),
        TEST(verbs_that_are_none),
        TEST(hosts),
        TEST(origins),
        TEST(types),
        TEST(tokens),
        TEST(names_of_sessions),
        TEST(reset_takes_one_dependency_or_all),
        TEST(both_forms_of_a_scenario),
        TEST(malformed_scenarios_change_nothing),
        TEST(a_scenario_may_be_64_KiB),
        TEST(the_state_is_empty),
        TEST(the_log_can_be_filtered),
        TEST(sessions_are_made_listed_shown_and_deleted),
        TEST(malformed_wishes),
        TEST(a_session_may_listen),
        TEST(verbs_are_answered_while_turns_are_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
