// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "llm/lane.h"
#include "llm/llm.h"
#include "llm/schedule.h"

static struct mrg_model_config model = {
    .base_url = (char *)"http://h/v1", .name = (char *)"m", .concurrency = 2};
static struct mrg_model_config other = {
    .base_url = (char *)"http://h/v1", .name = (char *)"n", .concurrency = 1};

static struct mrg_llm_call *new_call(const struct mrg_model_config *config)
{
    struct mrg_llm_call *call = NULL;
    struct mrg_llm_message message = {MRG_LLM_USER, mrg_text_new("x", 1)};
    struct mrg_llm_request request = {.model = config, .messages = &message, .message_count = 1};
    assert_int_equal(mrg_llm_call_new(&request, &call, NULL), MRG_ERR_OK);
    return call;
}

static void let_go(struct mrg_llm_schedule *schedule, struct mrg_llm_call *call)
{
    (void)schedule;
    if (call->state == MRG_LLM_ACTIVE)
        mrg_llm_schedule_land(call);
    mrg_llm_schedule_release(call);
    mrg_llm_call_free(call);
}

static void expect_empty(struct mrg_llm_schedule *schedule)
{
    struct mrg_llm_call *call;
    while ((call = mrg_llm_schedule_any(schedule)))
        let_go(schedule, call);
    assert_true(mrg_list_empty(&schedule->lanes));
    assert_true(mrg_list_empty(&schedule->heads));
}

static void a_lane_lets_only_so_many_on(void **state)
{
    (void)state;
    struct mrg_llm_schedule s;
    struct mrg_llm_call *calls[4];
    mrg_llm_schedule_init(&s);
    for (int i = 0; i < 3; i++) {
        calls[i] = new_call(&model);
        assert_int_equal(mrg_llm_schedule_admit(&s, calls[i]), i == 0);
    }
    calls[3] = new_call(&other);
    assert_true(mrg_llm_schedule_admit(&s, calls[3]));
    assert_int_equal(mrg_llm_schedule_places(&s), 3);

    assert_ptr_equal(mrg_llm_schedule_next(&s, 0), calls[0]);
    assert_ptr_equal(mrg_llm_schedule_next(&s, 0), calls[1]);
    assert_ptr_equal(mrg_llm_schedule_next(&s, 0), calls[3]);
    assert_null(mrg_llm_schedule_next(&s, 0));
    let_go(&s, calls[0]);
    assert_ptr_equal(mrg_llm_schedule_next(&s, 0), calls[2]);
    assert_null(mrg_llm_schedule_next(&s, 0));
    expect_empty(&s);
}

static void a_wait_ends_in_order_and_goes_first(void **state)
{
    (void)state;
    struct mrg_llm_schedule s;
    struct mrg_llm_call *a = new_call(&other), *b = new_call(&other), *c = new_call(&other);
    mrg_llm_schedule_init(&s);
    mrg_llm_schedule_admit(&s, a);
    mrg_llm_schedule_admit(&s, b);
    assert_int_equal(mrg_llm_schedule_idle(&s, 0, 60000), 60000);
    assert_ptr_equal(mrg_llm_schedule_next(&s, 0), a);
    mrg_llm_schedule_land(a);
    mrg_llm_schedule_wait(&s, a, 500);
    assert_ptr_equal(mrg_llm_schedule_next(&s, 100), b);
    mrg_llm_schedule_land(b);
    mrg_llm_schedule_wait(&s, b, 300);
    assert_int_equal(mrg_llm_schedule_idle(&s, 100, 60000), 200);
    assert_int_equal(mrg_llm_schedule_idle(&s, 100, 50), 50);
    assert_int_equal(mrg_llm_schedule_idle(&s, 900, 50), 0);
    assert_null(mrg_llm_schedule_next(&s, 299));

    mrg_llm_schedule_admit(&s, c);
    assert_ptr_equal(mrg_llm_schedule_next(&s, 500), b);
    mrg_llm_schedule_land(b);
    mrg_llm_schedule_again(b);
    assert_ptr_equal(mrg_llm_schedule_next(&s, 500), b);
    let_go(&s, b);
    assert_ptr_equal(mrg_llm_schedule_next(&s, 500), a);
    let_go(&s, a);
    assert_ptr_equal(mrg_llm_schedule_next(&s, 500), c);
    expect_empty(&s);
}

static void keys_and_places_have_lanes_of_their_own(void **state)
{
    (void)state;
    struct mrg_llm_schedule s;
    struct mrg_model_config elsewhere = model, keyed = model, anthropic = model;
    elsewhere.base_url = (char *)"http://other/v1";
    keyed.key_env = (char *)"MIRAGE_TEST_KEY";
    anthropic.provider = MRG_PROVIDER_ANTHROPIC;
    setenv("MIRAGE_TEST_KEY", "sk-1", 1);
    const struct mrg_model_config *const configs[] = {&model, &elsewhere, &keyed, &anthropic};
    mrg_llm_schedule_init(&s);
    for (size_t i = 0; i < MRG_ARRAY_LEN(configs); i++)
        assert_true(mrg_llm_schedule_admit(&s, new_call(configs[i])));
    assert_false(mrg_llm_schedule_admit(&s, new_call(&keyed)));
    setenv("MIRAGE_TEST_KEY", "sk-2", 1);
    assert_true(mrg_llm_schedule_admit(&s, new_call(&keyed)));
    unsetenv("MIRAGE_TEST_KEY");
    expect_empty(&s);
}

static void a_call_that_was_never_admitted_is_released(void **state)
{
    (void)state;
    struct mrg_llm_schedule s;
    mrg_llm_schedule_init(&s);
    let_go(&s, new_call(&model));
    expect_empty(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_lets_only_so_many_on),
        cmocka_unit_test(a_wait_ends_in_order_and_goes_first),
        cmocka_unit_test(keys_and_places_have_lanes_of_their_own),
        cmocka_unit_test(a_call_that_was_never_admitted_is_released),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
