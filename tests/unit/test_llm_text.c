// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include "engines/llm_text.h"
#include "util/json.h"

/* ---- the object in an answer ---- */

static void expect_object(const char *text, const char *json)
{
    struct mrg_slice found;
    struct mrg_error err = {0};
    if (!mrg_llm_text_object(mrg_slice_of(text), &found, &err))
        fail_msg("%s: %s", text, err.message);
    if (!mrg_slice_eq_str(found, json))
        fail_msg("%s: found %.*s", text, (int)found.len, found.ptr);
}

static void expect_none(const char *text, const char *message)
{
    struct mrg_slice found = MRG_SLICE("untouched");
    struct mrg_error err = {0};
    if (mrg_llm_text_object(mrg_slice_of(text), &found, &err))
        fail_msg("%s: found %.*s", text, (int)found.len, found.ptr);
    assert_string_equal(err.message, message);
    assert_int_not_equal(err.code, MRG_ERR_OK);
    assert_true(mrg_slice_eq_str(found, "untouched"));
}

#define OBJECT "{\"status\":200,\"body\":{\"a\":[1,2]}}"

static void an_object_alone_or_wrapped(void **state)
{
    (void)state;
    expect_object(OBJECT, OBJECT);
    expect_object(" \r\n\t" OBJECT "\n\n", OBJECT);
    expect_object("```json\n" OBJECT "\n```", OBJECT);
    expect_object("```\n" OBJECT "\n```\n", OBJECT);
    expect_object("```json\r\n" OBJECT "\r\n```", OBJECT);
    expect_object("```json\n" OBJECT, OBJECT); /* the fence is not closed */
    expect_object("```json " OBJECT " ```", OBJECT);
    expect_object("Here is the reply:\n```json\n" OBJECT "\n```\nIt fits the source.", OBJECT);
    expect_object("The reply is " OBJECT ".", OBJECT);
    expect_object("{}", "{}");
    expect_object("As in [1]: " OBJECT " [source]", OBJECT);
}

static void fences_and_braces_within_the_object(void **state)
{
    (void)state;
    static const char fenced[] = "{\"status\":200,\"body\":\"```\\n{x}\\n```\"}";
    expect_object(fenced, fenced);
    char text[128];
    snprintf(text, sizeof(text), "```json\n%s\n```", fenced);
    expect_object(text, fenced);
    expect_object("The item {id} is gone.\n```json\n" OBJECT "\n```", OBJECT);
    snprintf(text, sizeof(text), "```json\n%s\n```\nas in {id}", fenced);
    expect_object(text, fenced);
}

static void what_is_no_object(void **state)
{
    (void)state;
    expect_none("", "the answer is empty; expected a JSON object");
    expect_none(" \n\t ", "the answer is empty; expected a JSON object");
    expect_none("I cannot answer that.", "the answer holds no JSON object; expected one");
    expect_none("[1,2]", "the answer holds no JSON object; expected one");
    expect_none("null", "the answer holds no JSON object; expected one");
    expect_none("{\"status\":200",
                "the answer is not valid JSON: line 1, column 14: expected ',' or '}'; the text ends here");
    expect_none("} {", "the answer is not valid JSON: line 1, column 1: expected a value");
    expect_none("{\"status\":200,}",
                "the answer is not valid JSON: line 1, column 15: expected a key in double quotes");
    expect_none("\"a { in a string\"", "the answer is a JSON value but no object; expected an object");
    expect_none("[" OBJECT "]", "the answer is an array; expected one JSON object");
    expect_none("```json\n[\n  " OBJECT "\n]\n```", "the answer is an array; expected one JSON object");
    expect_none("The replies are [ " OBJECT " ].", "the answer is an array; expected one JSON object");
    expect_none("First " OBJECT " and then " OBJECT,
                "the answer is not valid JSON: line 1, column 35: expected nothing after the value");
    expect_none("\"} {\"", "the answer is a JSON value but no object; expected an object");
}

static void bytes_without_an_end(void **state)
{
    (void)state;
    struct mrg_slice found;
    struct mrg_error err;
    assert_false(mrg_llm_text_object((struct mrg_slice){NULL, 0}, &found, &err));
    static const char *const texts[] = {"`", "``", "```",    "```\n",   "```\n```",
                                        "{", "}",  "```\n{", "{```\n}", "```{}```\n"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(texts); i++) {
        /* In memory of exactly that size, so that a byte read too far is seen. */
        size_t len = strlen(texts[i]);
        char *exact = malloc(len);
        memcpy(exact, texts[i], len);
        mrg_llm_text_object((struct mrg_slice){exact, len}, &found, &err);
        free(exact);
    }
}

/* ---- what the model is told ---- */

static void a_repair_quotes_the_error(void **state)
{
    (void)state;
    struct mrg_text *text = mrg_llm_text_repair("\"status\" is missing; 100%s sure");
    assert_non_null(strstr(text->data, "cannot be used: \"status\" is missing; 100%s sure. "));
    assert_non_null(strstr(text->data, "JSON"));
    mrg_text_unref(text);
}

static struct mrg_text *told; /* a reference */

static enum mrg_verdict tell(struct mrg_exchange *exchange)
{
    mrg_text_unref(told);
    told = mrg_llm_text_request(exchange, exchange->dependency->match);
    return rig_inline(exchange);
}

static void expect_told(struct rig *rig, struct mrg_door *door, const char *text)
{
    call_free(call_do(rig, door, "POST /items?x=1", "x-tenant: t\nhost: h\nx-secret: s\nauthorization: key",
                      "{ \"quantity\": 2.50 }"));
    assert_string_equal(told->data, text);
}

#define REQUEST                                                                                              \
    "{\"method\":\"POST\",\"path\":\"/"                                                                      \
    "items\",\"query\":{\"x\":\"1\"},\"headers\":{\"x-tenant\":\"t\",\"authorization\":\"key\"},"            \
    "\"body\":{\"quantity\":2.50}}"

static void the_request_and_the_scenario(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, "model: {name: m}\ndependencies: [{name: inventory, listen: {http: 127.0.0.1:0}, "
                    "headers: {hide: [x-secret]}}]\n");
    struct mrg_door *door = mrg_door_new(MRG_DOOR_DEPENDENCY, "inventory", NULL);
    RIG_LLM->answer = tell;
    expect_told(&rig, door, REQUEST);
    call_expect(&rig, door, "POST /__mock__/scenario", NULL, "{\"instruction\":\"Stock is \\\"low\\\".\"}",
                200, "announced");
    expect_told(&rig, door,
                "Instruction by the author of the test for this scenario; the simulated service behaves "
                "accordingly: \"Stock is \\\"low\\\".\""
                "\n\nThe request to answer now:\n" REQUEST);
    call_expect(&rig, door, "POST /__mock__/scenario", NULL,
                "{\"name\":\"n\",\"calls\":[{\"method\":\"GET\",\"path\":\"/instruction\"}]}", 200,
                "announced");
    expect_told(
        &rig, door,
        "Scenario announced by the test (the calls to come, in order; a hint, no request and no state): "
        "{\"name\":\"n\",\"calls\":[{\"method\":\"GET\",\"path\":\"/instruction\"}]}"
        "\n\nThe request to answer now:\n" REQUEST);
    /* The history and the journal keep the request alone. */
    call_expect(&rig, door, "GET /__mock__/log?limit=1", NULL, NULL, 200, "\"request\":" REQUEST ",");
    mrg_text_unref(told);
    told = NULL;
    mrg_door_unref(door);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_alone_or_wrapped), cmocka_unit_test(fences_and_braces_within_the_object),
        cmocka_unit_test(what_is_no_object),          cmocka_unit_test(bytes_without_an_end),
        cmocka_unit_test(a_repair_quotes_the_error),  cmocka_unit_test(the_request_and_the_scenario),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
