// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/limits.h"
#include "llm/head.h"
#include "llm/say.h"
#include "llm/wire.h"
#include "util/json.h"

#define KEY "sk-test-0123456789abcdef"

static struct mrg_model_config openai = {
    .provider = MRG_PROVIDER_OPENAI,
    .base_url = (char *)"http://127.0.0.1:8100/v1",
    .name = (char *)"gpt-4o-mini",
    .key_env = (char *)"OPENAI_API_KEY",
    .has_temperature = true,
    .temperature = 0.1,
    .response_format = MRG_RESPONSE_JSON_OBJECT,
    .timeout_ms = 1500,
};

static struct mrg_model_config anthropic = {
    .provider = MRG_PROVIDER_ANTHROPIC,
    .base_url = (char *)"https://api.example.com",
    .name = (char *)"claude-sonnet-4-5",
    .key_env = (char *)"ANTHROPIC_API_KEY",
    .response_format = MRG_RESPONSE_JSON_OBJECT,
};

static struct mrg_text *text(const char *content)
{
    return mrg_text_new(content, strlen(content));
}

/* The whole body for a conversation in which user and assistant take turns; free(). */
static char *body_of(const struct mrg_model_config *model, const char *system, const char *const *turns,
                     size_t count, struct mrg_llm_body options)
{
    struct mrg_llm_message messages[8] = {0};
    struct mrg_text *prompt = system ? text(system) : NULL;
    for (size_t i = 0; i < count; i++)
        messages[i] = (struct mrg_llm_message){i % 2 ? MRG_LLM_ASSISTANT : MRG_LLM_USER, text(turns[i])};
    options.model = model;
    options.messages = messages;
    options.count = count;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_llm_wire(model->provider)->append_head(&buf, model->name, prompt);
    mrg_llm_wire(model->provider)->append_tail(&buf, &options);
    mrg_text_unref(prompt);
    for (size_t i = 0; i < count; i++)
        mrg_text_unref(messages[i].text);
    struct mrg_error err;
    if (mrg_json_check(mrg_buf_slice(&buf), &err) != MRG_ERR_OK)
        fail_msg("not JSON: %s\n%s", err.message, buf.data);
    return mrg_buf_take(&buf, NULL);
}

static void expect_body(const struct mrg_model_config *model, const char *system, const char *const *turns,
                        size_t count, struct mrg_llm_body options, const char *expected)
{
    char *body = body_of(model, system, turns, count, options);
    assert_string_equal(body, expected);
    free(body);
}

static const char *const one_turn[] = {"GET /items"};
static const char *const five_turns[] = {"first", "one", "second", "two", "third"};

static void openai_body_has_system_first_and_escapes(void **state)
{
    (void)state;
    const char *const turns[] = {"say \"a\\b\"\n\x01é"};
    expect_body(&openai, "You are\t\"it\"", turns, 1, (struct mrg_llm_body){.max_tokens = 2048},
                "{\"model\":\"gpt-4o-mini\",\"messages\":["
                "{\"role\":\"system\",\"content\":\"You are\\t\\\"it\\\"\"},"
                "{\"role\":\"user\",\"content\":\"say \\\"a\\\\b\\\"\\n\\u0001é\"}],"
                "\"temperature\":0.1,\"max_tokens\":2048}");
}

static void openai_body_without_system(void **state)
{
    (void)state;
    const char *expected =
        "{\"model\":\"gpt-4o-mini\",\"messages\":[{\"role\":\"user\",\"content\":\"GET /items\"}],"
        "\"temperature\":0.1,\"max_tokens\":5}";
    expect_body(&openai, NULL, one_turn, 1, (struct mrg_llm_body){.max_tokens = 5}, expected);
    expect_body(&openai, "", one_turn, 1, (struct mrg_llm_body){.max_tokens = 5}, expected);
}

static void openai_body_for_reasoning_models(void **state)
{
    (void)state;
    struct mrg_model_config model = openai;
    model.has_temperature = false;
    model.completion_tokens = true;
    expect_body(&model, NULL, five_turns, 3, (struct mrg_llm_body){.max_tokens = 7},
                "{\"model\":\"gpt-4o-mini\",\"messages\":[{\"role\":\"user\",\"content\":\"first\"},"
                "{\"role\":\"assistant\",\"content\":\"one\"},{\"role\":\"user\",\"content\":\"second\"}],"
                "\"max_completion_tokens\":7}");
}

static void openai_response_format_needs_both(void **state)
{
    (void)state;
    char *body = body_of(&openai, NULL, one_turn, 1, (struct mrg_llm_body){.max_tokens = 1, .json = true});
    assert_non_null(strstr(body, ",\"response_format\":{\"type\":\"json_object\"}}"));
    free(body);

    body = body_of(&openai, NULL, one_turn, 1,
                   (struct mrg_llm_body){.max_tokens = 1, .json = true, .schema = "{\"type\":\"object\"}"});
    assert_non_null(
        strstr(body, ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"reply\","
                     "\"schema\":{\"type\":\"object\"}}}}"));
    free(body);

    struct mrg_model_config plain = openai;
    plain.response_format = MRG_RESPONSE_NONE;
    body = body_of(&plain, NULL, one_turn, 1, (struct mrg_llm_body){.max_tokens = 1, .json = true});
    assert_null(strstr(body, "response_format"));
    free(body);

    body = body_of(&openai, NULL, one_turn, 1, (struct mrg_llm_body){.max_tokens = 1, .schema = "{}"});
    assert_null(strstr(body, "response_format"));
    free(body);
}

static void anthropic_body_marks_system_and_history(void **state)
{
    (void)state;
    expect_body(&anthropic, "You are it", five_turns, 5,
                (struct mrg_llm_body){.max_tokens = 2048, .json = true},
                "{\"model\":\"claude-sonnet-4-5\",\"system\":[{\"type\":\"text\",\"text\":\"You are it\","
                "\"cache_control\":{\"type\":\"ephemeral\"}}],\"messages\":["
                "{\"role\":\"user\",\"content\":\"first\"},{\"role\":\"assistant\",\"content\":\"one\"},"
                "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"second\","
                "\"cache_control\":{\"type\":\"ephemeral\"}}]},"
                "{\"role\":\"assistant\",\"content\":\"two\"},{\"role\":\"user\",\"content\":\"third\"}],"
                "\"max_tokens\":2048}");
}

static void anthropic_body_of_one_message_marks_system_only(void **state)
{
    (void)state;
    struct mrg_model_config model = anthropic;
    model.has_temperature = true;
    model.temperature = 0.5;
    expect_body(
        &model, NULL, one_turn, 1, (struct mrg_llm_body){.max_tokens = 9},
        "{\"model\":\"claude-sonnet-4-5\",\"messages\":[{\"role\":\"user\",\"content\":\"GET /items\"}],"
        "\"max_tokens\":9,\"temperature\":0.5}");
}

static void anthropic_never_marks_an_empty_block(void **state)
{
    (void)state;
    const char *const turns[] = {"", "one", "second"};
    char *body = body_of(&anthropic, NULL, turns, 3, (struct mrg_llm_body){.max_tokens = 9});
    assert_null(strstr(body, "cache_control"));
    free(body);
}

static void paths_follow_the_base_url(void **state)
{
    (void)state;
    assert_string_equal(mrg_llm_openai.path("http://h/v1"), "/chat/completions");
    assert_string_equal(mrg_llm_anthropic.path("https://api.anthropic.com"), "/v1/messages");
    assert_string_equal(mrg_llm_anthropic.path("https://api.anthropic.com/v1"), "/messages");
    assert_string_equal(mrg_llm_anthropic.path("v"), "/v1/messages");
}

static void a_head_is_shared_and_hashes_the_conversation(void **state)
{
    (void)state;
    struct mrg_list heads;
    mrg_list_init(&heads);
    struct mrg_text *system = text("You are it");
    struct mrg_llm_head *a = mrg_llm_head_get(&heads, &openai, system);
    struct mrg_llm_head *b = mrg_llm_head_get(&heads, &openai, system);
    struct mrg_llm_head *c = mrg_llm_head_get(&heads, &anthropic, system);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);

    struct mrg_llm_message messages[] = {{MRG_LLM_USER, text("hello")}, {MRG_LLM_ASSISTANT, text("hi")}};
    char hash[MRG_SHA256_HEX + 1], expected[MRG_SHA256_HEX + 1];
    static const char whole[] = "system: You are it\nuser: hello\nassistant: hi";
    mrg_sha256_hex(whole, strlen(whole), expected);
    mrg_llm_head_hash(a, messages, 2, hash);
    assert_string_equal(hash, expected);
    mrg_llm_head_hash(c, messages, 2, hash);
    assert_string_equal(hash, expected);

    struct mrg_llm_head *bare = mrg_llm_head_get(&heads, &openai, NULL);
    mrg_sha256_hex("user: hello", 11, expected);
    mrg_llm_head_hash(bare, messages, 1, hash);
    assert_string_equal(hash, expected);

    mrg_llm_head_put(bare);
    mrg_llm_head_put(a);
    mrg_llm_head_put(b);
    mrg_llm_head_put(c);
    assert_true(mrg_list_empty(&heads));
    assert_int_equal(system->refs, 1);
    mrg_text_unref(system);
    mrg_text_unref(messages[0].text);
    mrg_text_unref(messages[1].text);
}

/* ---- replies ---- */

static struct mrg_llm_reply read_good(const struct mrg_llm_wire_ops *wire, const char *body)
{
    struct mrg_llm_reply reply = {0};
    struct mrg_error err = {0};
    if (mrg_llm_reply_read(wire, mrg_slice_of(body), &reply, &err) != MRG_ERR_OK)
        fail_msg("%s", err.message);
    return reply;
}

static void expect_bad(const struct mrg_llm_wire_ops *wire, const char *body, const char *message)
{
    struct mrg_llm_reply reply = {0};
    struct mrg_error err = {0};
    assert_int_equal(mrg_llm_reply_read(wire, mrg_slice_of(body), &reply, &err), MRG_ERR_INTERNAL);
    if (!strstr(err.message, message))
        fail_msg("\"%s\" does not say \"%s\"", err.message, message);
}

static void openai_reply(void **state)
{
    (void)state;
    struct mrg_llm_reply reply = read_good(
        &mrg_llm_openai,
        "{\"id\":\"chatcmpl-1\",\"model\":\"gpt-4o-mini-2024\",\"choices\":[{\"index\":0,\"message\":{"
        "\"role\":"
        "\"assistant\",\"content\":\"a\\u0000\\u00e9\",\"refusal\":null},\"finish_reason\":\"stop\"}],"
        "\"usage\":"
        "{\"prompt_tokens\":100,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":64}}}");
    assert_int_equal(reply.text.len, 4);
    assert_memory_equal(reply.text.data, "a\0é", 4);
    assert_string_equal(reply.id, "chatcmpl-1");
    assert_string_equal(reply.model, "gpt-4o-mini-2024");
    assert_false(reply.cut);
    assert_null(reply.withheld);
    assert_int_equal(reply.tokens_in, 100);
    assert_int_equal(reply.tokens_cached, 64);
    assert_int_equal(reply.tokens_out, 7);
    mrg_llm_reply_done(&reply);
}

static void expect_names(const struct mrg_llm_wire_ops *wire, const char *body, const char *expected)
{
    struct mrg_llm_reply reply;
    struct mrg_error err;
    if (mrg_llm_reply_read(wire, mrg_slice_of(body), &reply, &err))
        fail_msg("%s", err.message);
    assert_string_equal(reply.id, expected);
    assert_string_equal(reply.model, expected);
    mrg_llm_reply_done(&reply);
}

static void names_are_short_and_without_controls(void **state)
{
    (void)state;
    char x[400] = {0};
    memset(x, 'x', 199);
    struct mrg_buf body;
    mrg_buf_init(&body, SIZE_MAX);
    mrg_buf_appendf(&body,
                    "{\"id\":\"%s\xC3\xA9yy\",\"model\":\"%s\xC3\xA9yy\",\"content\":[{\"type\":\"text\","
                    "\"text\":\"{}\"}]}",
                    x, x);
    expect_names(&mrg_llm_anthropic, body.data, x);
    mrg_buf_done(&body);
    expect_names(&mrg_llm_openai,
                 "{\"id\":\"a\\n\\u001b[31m\\u007f\\u009b\xC3\xA9\",\"model\":\"a\\n\\u001b["
                 "31m\\u007f\\u009b\xC3\xA9\","
                 "\"choices\":[{\"message\":{\"content\":\"{}\"}}]}",
                 "a??[31m???\xC3\xA9");
}

static void openai_content_in_parts_null_and_cut(void **state)
{
    (void)state;
    struct mrg_llm_reply reply =
        read_good(&mrg_llm_openai,
                  "{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":"
                  "\"image\"},7,{\"type\":\"text\",\"text\":\"b\"}]},\"finish_reason\":\"length\"}]}");
    assert_string_equal(reply.text.data, "ab");
    assert_true(reply.cut);
    assert_string_equal(reply.id, "");
    assert_int_equal(reply.tokens_in + reply.tokens_out + reply.tokens_cached, 0);
    mrg_llm_reply_done(&reply);

    reply = read_good(&mrg_llm_openai, "{\"choices\":[{\"message\":{\"content\":null}}],\"usage\":null}");
    assert_int_equal(reply.text.len, 0);
    mrg_llm_reply_done(&reply);
}

static void openai_withheld(void **state)
{
    (void)state;
    struct mrg_llm_reply reply =
        read_good(&mrg_llm_openai, "{\"choices\":[{\"message\":{\"content\":\"\"},\"finish_reason\":"
                                   "\"content_filter\"}]}");
    assert_string_equal(reply.withheld, "content_filter");
    mrg_llm_reply_done(&reply);
    reply =
        read_good(&mrg_llm_openai, "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"I can't\"},"
                                   "\"finish_reason\":\"stop\"}]}");
    assert_string_equal(reply.withheld, "refusal: I can't");
    mrg_llm_reply_done(&reply);
}

static void anthropic_reply(void **state)
{
    (void)state;
    struct mrg_llm_reply reply = read_good(
        &mrg_llm_anthropic,
        "{\"id\":\"msg_1\",\"model\":\"claude\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},{"
        "\"type\":"
        "\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}],\"stop_reason\":\"end_turn\",\"usage\":"
        "{\"input_tokens\":10,\"cache_creation_input_tokens\":200,\"cache_read_input_tokens\":3000,"
        "\"output_tokens\":5}}");
    assert_string_equal(reply.text.data, "ab");
    assert_string_equal(reply.id, "msg_1");
    assert_int_equal(reply.tokens_in, 3210);
    assert_int_equal(reply.tokens_cached, 3000);
    assert_int_equal(reply.tokens_out, 5);
    assert_false(reply.cut);
    mrg_llm_reply_done(&reply);
}

static void anthropic_stop_reasons(void **state)
{
    (void)state;
    struct mrg_llm_reply reply =
        read_good(&mrg_llm_anthropic, "{\"content\":[],\"stop_reason\":\"max_tokens\"}");
    assert_true(reply.cut);
    mrg_llm_reply_done(&reply);
    reply = read_good(&mrg_llm_anthropic, "{\"content\":[],\"stop_reason\":\"refusal\"}");
    assert_string_equal(reply.withheld, "refusal");
    mrg_llm_reply_done(&reply);
}

static void what_is_no_reply_is_named(void **state)
{
    (void)state;
    expect_bad(&mrg_llm_openai, "", "it is empty");
    expect_bad(&mrg_llm_openai, "<html>", "it is no JSON: line 1");
    expect_bad(&mrg_llm_openai, "{\"choices\":[{\"mess", "it is no JSON");
    expect_bad(&mrg_llm_openai, "[]", "it is no JSON object");
    expect_bad(&mrg_llm_openai, "null", "it is no JSON object");
    expect_bad(&mrg_llm_openai, "{\"choices\":[]}", "it has no choices");
    expect_bad(&mrg_llm_openai, "{\"choices\":{}}", "it has no choices");
    expect_bad(&mrg_llm_openai, "{\"choices\":[null]}", "choices[0] has no message");
    expect_bad(&mrg_llm_anthropic, "{\"choices\":[]}", "it has no content");
    expect_bad(&mrg_llm_anthropic, "{\"content\":[],\"stop_reason\":\"end_turn\"}", "its content is empty");
}

static void hostile_counts_are_not_taken(void **state)
{
    (void)state;
    struct mrg_llm_reply reply = read_good(
        &mrg_llm_openai, "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":-5,"
                         "\"completion_tokens\":99999999999999999999,\"prompt_tokens_details\":7}}");
    assert_int_equal(reply.tokens_in, 0);
    assert_int_equal(reply.tokens_out, 0);
    mrg_llm_reply_done(&reply);
}

/* ---- errors ---- */

static void expect_sentence(const struct mrg_model_config *model, long status, const char *body,
                            enum mrg_err code, const char *expected)
{
    struct mrg_llm_trouble trouble;
    mrg_llm_trouble_read(mrg_slice_of(body), KEY, &trouble);
    char *sentence = mrg_llm_say_status(model, KEY, status, &trouble);
    assert_string_equal(sentence, expected);
    assert_int_equal(mrg_llm_code_of_status(status, &trouble), code);
    free(sentence);
    mrg_llm_trouble_done(&trouble);
}

static void errors_become_sentences(void **state)
{
    (void)state;
    expect_sentence(
        &openai, 401, "{\"error\":{\"message\":\"Incorrect API key provided.\",\"type\":\"x\"}}",
        MRG_ERR_INVALID,
        "the provider answered 401: Incorrect API key provided (check the variable OPENAI_API_KEY)");
    expect_sentence(
        &anthropic, 529,
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        MRG_ERR_UNAVAILABLE, "the provider answered 529: Overloaded");
    expect_sentence(&openai, 400, "{\"detail\":[{\"msg\":\"field required\",\"loc\":[]}]}", MRG_ERR_INVALID,
                    "the provider answered 400: field required");
    expect_sentence(&openai, 400, "[{\"error\":{\"code\":400,\"message\":\"Listed\"}}]", MRG_ERR_INVALID,
                    "the provider answered 400: Listed");
    expect_sentence(&openai, 500, "{\"error\":\"plain\"}", MRG_ERR_UNAVAILABLE,
                    "the provider answered 500: plain");
    expect_sentence(&openai, 502,
                    "<html>\r\n<head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
                    MRG_ERR_UNAVAILABLE, "the provider answered 502: 502 Bad Gateway");
    expect_sentence(&openai, 503, "<p>Sorry,</p>\n<b>no</b>", MRG_ERR_UNAVAILABLE,
                    "the provider answered 503: Sorry, no");
    expect_sentence(&openai, 500, "  upstream\n\tdied \x1b[31m\xff ", MRG_ERR_UNAVAILABLE,
                    "the provider answered 500: upstream died [31m");
    expect_sentence(&openai, 500, "", MRG_ERR_UNAVAILABLE, "the provider answered 500 and said no more");
    expect_sentence(&openai, 404, "{\"error\":{\"message\":\"no such model\"}}", MRG_ERR_INVALID,
                    "the provider answered 404: no such model (check model.base_url and model.name)");
    expect_sentence(
        &openai, 301, "", MRG_ERR_INVALID,
        "the provider answered 301 and said no more (redirects are not followed: check model.base_url)");
}

static void prompts_over_the_context_are_too_large(void **state)
{
    (void)state;
    expect_sentence(
        &openai, 400,
        "{\"error\":{\"code\":400,\"message\":\"the request exceeds the available context size\",\"type\":"
        "\"exceed_context_size_error\",\"n_prompt_tokens\":9001,\"n_ctx\":4096}}",
        MRG_ERR_TOO_LARGE,
        "the prompt has 9001 tokens and the model's context holds 4096: the provider answered 400: the "
        "request exceeds the available context size");
    expect_sentence(&openai, 400,
                    "{\"error\":{\"message\":\"This model's maximum\",\"code\":\"context_length_exceeded\"}}",
                    MRG_ERR_TOO_LARGE, "the provider answered 400: This model's maximum");
    expect_sentence(
        &anthropic, 400,
        "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 210000 tokens > "
        "200000 maximum\"}}",
        MRG_ERR_TOO_LARGE, "the provider answered 400: prompt is too long: 210000 tokens > 200000 maximum");
}

static void keys_are_masked(void **state)
{
    (void)state;
    expect_sentence(
        &openai, 401, "{\"error\":{\"message\":\"bad key " KEY ", really " KEY "\"}}", MRG_ERR_INVALID,
        "the provider answered 401: bad key [key], really [key] (check the variable OPENAI_API_KEY)");
    expect_sentence(&openai, 500, "no: Bearer sk-test-01234567****", MRG_ERR_UNAVAILABLE,
                    "the provider answered 500: no: Bearer [key]****");
    expect_sentence(&openai, 500, "<title>" KEY "</title>", MRG_ERR_UNAVAILABLE,
                    "the provider answered 500: [key]");
}

static void a_long_message_is_cut_after_masking(void **state)
{
    (void)state;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    for (int i = 0; i < 290; i++)
        mrg_buf_append_char(&buf, 'x');
    mrg_buf_append_str(&buf, KEY " and more of it");
    char *line = mrg_llm_one_line(mrg_buf_slice(&buf), KEY);
    assert_null(strstr(line, "sk-"));
    assert_true(strlen(line) <= 310);
    assert_non_null(strstr(line, "…"));
    free(line);
    mrg_buf_done(&buf);
}

static void faults_become_sentences(void **state)
{
    (void)state;
    struct mrg_model_config model = openai;
    model.base_url = (char *)"http://user:secret@host:1/v1@2";
    struct mrg_llm_attempt attempt = {.fault = MRG_LLM_FAULT_CONNECT, .detail = "Connection refused"};
    char *sentence = mrg_llm_say_fault(&model, KEY, &attempt);
    assert_string_equal(sentence,
                        "the provider at http://host:1/v1@2 could not be reached: Connection refused");
    free(sentence);
    attempt.fault = MRG_LLM_FAULT_TIMEOUT;
    sentence = mrg_llm_say_fault(&openai, NULL, &attempt);
    assert_string_equal(sentence, "the provider at http://127.0.0.1:8100/v1 did not answer within 1.5 s");
    free(sentence);
    assert_int_equal(mrg_llm_code_of_fault(MRG_LLM_FAULT_TIMEOUT), MRG_ERR_TIMEOUT);
    assert_int_equal(mrg_llm_code_of_fault(MRG_LLM_FAULT_SIZE), MRG_ERR_TOO_LARGE);
    assert_int_equal(mrg_llm_code_of_fault(MRG_LLM_FAULT_LOST), MRG_ERR_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openai_body_has_system_first_and_escapes),
        cmocka_unit_test(openai_body_without_system),
        cmocka_unit_test(openai_body_for_reasoning_models),
        cmocka_unit_test(openai_response_format_needs_both),
        cmocka_unit_test(anthropic_body_marks_system_and_history),
        cmocka_unit_test(anthropic_body_of_one_message_marks_system_only),
        cmocka_unit_test(anthropic_never_marks_an_empty_block),
        cmocka_unit_test(paths_follow_the_base_url),
        cmocka_unit_test(a_head_is_shared_and_hashes_the_conversation),
        cmocka_unit_test(openai_reply),
        cmocka_unit_test(names_are_short_and_without_controls),
        cmocka_unit_test(openai_content_in_parts_null_and_cut),
        cmocka_unit_test(openai_withheld),
        cmocka_unit_test(anthropic_reply),
        cmocka_unit_test(anthropic_stop_reasons),
        cmocka_unit_test(what_is_no_reply_is_named),
        cmocka_unit_test(hostile_counts_are_not_taken),
        cmocka_unit_test(errors_become_sentences),
        cmocka_unit_test(prompts_over_the_context_are_too_large),
        cmocka_unit_test(keys_are_masked),
        cmocka_unit_test(a_long_message_is_cut_after_masking),
        cmocka_unit_test(faults_become_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
