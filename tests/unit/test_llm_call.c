// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/limits.h"
#include "llm/call.h"

#define GOOD                                                                                                 \
    "{\"id\":\"i\",\"choices\":[{\"message\":{\"content\":\"all of it\"},\"finish_reason\":\"stop\"}]}"
#define CUT                                                                                                  \
    "{\"id\":\"i\",\"choices\":[{\"message\":{\"content\":\"one two th\"},\"finish_reason\":\"length\"}]}"
#define VAR     "MIRAGE_TEST_KEY"
#define THE_KEY "sk-0123456789abcdef"

static struct mrg_model_config model = {
    .base_url = (char *)"http://h/v1",
    .name = (char *)"m",
    .max_tokens = 100,
    .retries = 2,
    .timeout_ms = 1000,
};

/* One call, with the head that the schedule would give it. */
struct fixture {
    struct mrg_list heads;
    struct mrg_llm_call *call;
    unsigned done; /* times that on_done came */
    enum mrg_err code;
    char text[64];
    char message[256];
    bool cut;
};

static void on_done(void *ctx, const struct mrg_llm_result *result)
{
    struct fixture *f = ctx;
    f->done++;
    f->code = result->code;
    f->cut = result->cut;
    assert_true(result->text.len < sizeof(f->text));
    memcpy(f->text, result->text.ptr, result->text.len);
    f->text[result->text.len] = '\0';
    f->message[0] = '\0';
    if (result->message)
        snprintf(f->message, sizeof(f->message), "%s", result->message);
}

static void begin(struct fixture *f, enum mrg_llm_on_cut on_cut)
{
    *f = (struct fixture){0};
    mrg_list_init(&f->heads);
    struct mrg_text *system = mrg_text_new("be brief", 8);
    struct mrg_llm_message message = {MRG_LLM_USER, mrg_text_new("hello", 5)};
    struct mrg_llm_request request = {.model = &model,
                                      .system = system,
                                      .messages = &message,
                                      .message_count = 1,
                                      .on_cut = on_cut,
                                      .on_done = on_done,
                                      .ctx = f};
    assert_int_equal(mrg_llm_call_new(&request, &f->call, NULL), MRG_ERR_OK);
    mrg_text_unref(system);
    f->call->head = mrg_llm_head_get(&f->heads, &model, f->call->system);
}

static enum mrg_llm_next attempt(struct fixture *f, enum mrg_llm_fault fault, long status, const char *body)
{
    uint64_t wait = 0;
    struct mrg_llm_attempt outcome = {.fault = fault, .detail = "", .status = status};
    mrg_llm_call_open(f->call);
    mrg_buf_append_str(&f->call->body, body);
    enum mrg_llm_next next = mrg_llm_call_take(f->call, &outcome, &wait);
    if (next == MRG_LLM_WAIT)
        assert_true(wait <= MRG_LLM_BACKOFF_MAX_MS);
    return next;
}

static void end(struct fixture *f)
{
    mrg_llm_call_finish(f->call);
    assert_int_equal(f->done, 1);
    mrg_llm_head_put(f->call->head);
    assert_true(mrg_list_empty(&f->heads));
    mrg_llm_call_free(f->call);
}

static void refuse(struct mrg_model_config config, size_t count, const char *expected)
{
    struct mrg_error err = {0};
    struct mrg_llm_call *call = NULL;
    struct mrg_llm_message message = {MRG_LLM_USER, mrg_text_new("hello", 5)};
    struct mrg_text *text = mrg_text_ref(message.text);
    struct mrg_llm_request request = {.model = &config, .messages = &message, .message_count = count};
    assert_int_equal(mrg_llm_call_new(&request, &call, &err), MRG_ERR_INVALID);
    assert_null(call);
    if (!strstr(err.message, expected))
        fail_msg("\"%s\" does not say \"%s\"", err.message, expected);
    assert_int_equal(text->refs, count > 0 ? 1 : 2);
    if (count == 0)
        mrg_text_unref(text);
    mrg_text_unref(text);
}

static void what_cannot_be_asked_is_refused(void **state)
{
    (void)state;
    struct mrg_model_config config = model;
    refuse(config, 0, "needs a message");
    config.name = NULL;
    refuse(config, 1, "set model.name");
    config = model;
    config.base_url = (char *)"";
    refuse(config, 1, "set model.base_url");
}

static void the_key_comes_from_the_variable(void **state)
{
    (void)state;
    struct mrg_model_config config = model;
    config.key_env = (char *)VAR;
    unsetenv(VAR);
    refuse(config, 1, "the variable " VAR);
    static const char *const bad[] = {"two words", "line\nbreak", "\x7f", "caf\xc3\xa9"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++) {
        setenv(VAR, bad[i], 1);
        refuse(config, 1, "another character that is in no key");
    }
    static const char *const good[] = {THE_KEY, ""};
    for (size_t i = 0; i < MRG_ARRAY_LEN(good); i++) {
        setenv(VAR, good[i], 1);
        struct mrg_llm_message message = {MRG_LLM_USER, mrg_text_new("hello", 5)};
        struct mrg_llm_request request = {.model = &config, .messages = &message, .message_count = 1};
        struct mrg_llm_call *call = NULL;
        assert_int_equal(mrg_llm_call_new(&request, &call, NULL), MRG_ERR_OK);
        if (i == 0)
            assert_string_equal(call->key, THE_KEY);
        else
            assert_null(call->key);
        mrg_llm_call_free(call);
    }
    unsetenv(VAR);
}

/* Reads the body in pieces of `room` bytes. */
static char *read_all(struct mrg_llm_call *call, size_t room)
{
    struct mrg_buf buf;
    char piece[64];
    size_t len;
    mrg_buf_init(&buf, SIZE_MAX);
    while ((len = mrg_llm_call_read(call, piece, room)) > 0)
        mrg_buf_append(&buf, piece, len);
    assert_int_equal(buf.len, call->size);
    return mrg_buf_take(&buf, NULL);
}

static void a_body_is_read_in_any_pieces_and_again(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, MRG_LLM_CUT_DOUBLE);
    for (size_t room = 1; room <= 64; room++) {
        mrg_llm_call_open(f.call);
        char *body = read_all(f.call, room);
        assert_string_equal(body,
                            "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"be brief\"},"
                            "{\"role\":\"user\",\"content\":\"hello\"}],\"max_tokens\":100}");
        free(body);
        assert_null(f.call->tail.data);
    }
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_NONE, 200, GOOD), MRG_LLM_FINISH);
    end(&f);
    assert_string_equal(f.text, "all of it");
}

static void retries_are_counted_out(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, MRG_LLM_CUT_DOUBLE);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_LOST, 0, ""), MRG_LLM_WAIT);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_NONE, 503, ""), MRG_LLM_WAIT);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_TIMEOUT, 0, ""), MRG_LLM_FINISH);
    assert_int_equal(f.call->result.retries, 2);
    end(&f);
    assert_int_equal(f.code, MRG_ERR_TIMEOUT);
    assert_string_equal(f.message,
                        "the provider at http://h/v1 did not answer within 1 s (after 3 attempts)");
}

static void a_garbled_reply_is_asked_for_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, MRG_LLM_CUT_DOUBLE);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_NONE, 200, ""), MRG_LLM_WAIT);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_NONE, 200, "{"), MRG_LLM_FINISH);
    end(&f);
    assert_int_equal(f.code, MRG_ERR_INTERNAL);
}

static void an_error_inside_a_200_counts_as_its_status(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, MRG_LLM_CUT_DOUBLE);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_NONE, 200, "{\"error\":{\"code\":401,\"message\":\"who?\"}}"),
                     MRG_LLM_FINISH);
    end(&f);
    assert_int_equal(f.code, MRG_ERR_INVALID);
    assert_string_equal(f.message,
                        "the provider answered 401: who? (no key is sent: model.key_env is not set)");
}

static void a_cut_reply_is_doubled_continued_or_reported(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, MRG_LLM_CUT_DOUBLE);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_NONE, 200, CUT), MRG_LLM_AGAIN);
    assert_int_equal(f.call->limit, 200);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_NONE, 200, CUT), MRG_LLM_FINISH);
    end(&f);
    assert_int_equal(f.code, MRG_ERR_TOO_LARGE);

    begin(&f, MRG_LLM_CUT_CONTINUE);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_NONE, 200, CUT), MRG_LLM_AGAIN);
    assert_int_equal(f.call->count, 3);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_NONE, 200, GOOD), MRG_LLM_FINISH);
    end(&f);
    assert_int_equal(f.code, MRG_ERR_OK);
    assert_string_equal(f.text, "one two thall of it");
    assert_false(f.cut);

    begin(&f, MRG_LLM_CUT_REPORT);
    assert_int_equal(attempt(&f, MRG_LLM_FAULT_NONE, 200, CUT), MRG_LLM_FINISH);
    end(&f);
    assert_string_equal(f.text, "one two th");
    assert_true(f.cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_asked_is_refused),
        cmocka_unit_test(the_key_comes_from_the_variable),
        cmocka_unit_test(a_body_is_read_in_any_pieces_and_again),
        cmocka_unit_test(retries_are_counted_out),
        cmocka_unit_test(a_garbled_reply_is_asked_for_once),
        cmocka_unit_test(an_error_inside_a_200_counts_as_its_status),
        cmocka_unit_test(a_cut_reply_is_doubled_continued_or_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
