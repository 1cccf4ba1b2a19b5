// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/limits.h"
#include "llm/retry.h"

static bool retried(long status, const char *body)
{
    struct mrg_llm_trouble trouble;
    mrg_llm_trouble_read(mrg_slice_of(body), NULL, &trouble);
    bool result = mrg_llm_retry_status(status, &trouble);
    mrg_llm_trouble_done(&trouble);
    return result;
}

static void passing_troubles_are_retried(void **state)
{
    (void)state;
    static const long again[] = {408, 409, 429, 500, 501, 502, 503, 504, 529, 599};
    static const long never[] = {200, 301, 400, 401, 402, 403, 404, 405, 413, 422, 499, 600};
    for (size_t i = 0; i < MRG_ARRAY_LEN(again); i++)
        assert_true(retried(again[i], ""));
    for (size_t i = 0; i < MRG_ARRAY_LEN(never); i++)
        assert_false(retried(never[i], ""));
}

static void a_used_up_quota_is_not(void **state)
{
    (void)state;
    assert_false(retried(429, "{\"error\":{\"message\":\"You exceeded\",\"type\":\"insufficient_quota\"}}"));
    assert_false(retried(429, "{\"error\":{\"message\":\"You exceeded\",\"code\":\"insufficient_quota\"}}"));
    assert_true(retried(429, "{\"error\":{\"message\":\"slow down\",\"code\":\"rate_limit_exceeded\"}}"));
}

static void faults(void **state)
{
    (void)state;
    assert_true(mrg_llm_retry_fault(MRG_LLM_FAULT_CONNECT));
    assert_true(mrg_llm_retry_fault(MRG_LLM_FAULT_LOST));
    assert_true(mrg_llm_retry_fault(MRG_LLM_FAULT_TIMEOUT));
    assert_false(mrg_llm_retry_fault(MRG_LLM_FAULT_NONE));
    assert_false(mrg_llm_retry_fault(MRG_LLM_FAULT_TLS));
    assert_false(mrg_llm_retry_fault(MRG_LLM_FAULT_SIZE));
    assert_false(mrg_llm_retry_fault(MRG_LLM_FAULT_SETUP));
}

static void retry_after_in_seconds(void **state)
{
    (void)state;
    assert_int_equal(mrg_llm_retry_after("0", 0), 0);
    assert_int_equal(mrg_llm_retry_after("17", 0), 17000);
    assert_int_equal(mrg_llm_retry_after(" 3 ", 0), 3000);
    assert_true(mrg_llm_retry_after("99999999999999999999999999", 0) >= 1000ull * UINT32_MAX);
    static const char *const bad[] = {"", "soon", "-1", "1.5", "1x", "0x10"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++)
        assert_true(mrg_llm_retry_after(bad[i], 0) == MRG_LLM_NO_RETRY_AFTER);
    assert_true(mrg_llm_retry_after(NULL, 0) == MRG_LLM_NO_RETRY_AFTER);
}

/* 784111777 is the moment of RFC 9110's examples; the two-digit year is taken for one of this century. */
static void retry_after_as_a_date(void **state)
{
    (void)state;
    const time_t then = 784111777;
    assert_int_equal(mrg_llm_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", then - 90), 90000);
    assert_int_equal(mrg_llm_retry_after("Sun Nov  6 08:49:37 1994", then - 2), 2000);
    assert_int_equal(mrg_llm_retry_after("Monday, 07-Nov-94 08:49:37 GMT", 3939958177 - 5), 5000);
    assert_int_equal(mrg_llm_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", then + 5), 0);
    static const char *const bad[] = {"Sun, 06 Nop 1994 08:49:37 GMT", "Sun, 06 vDe 1994 08:49:37 GMT",
                                      "Sun, 66 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 -8:49:37 GMT",
                                      "Sun, 06 Nov 1994"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++)
        assert_true(mrg_llm_retry_after(bad[i], 0) == MRG_LLM_NO_RETRY_AFTER);
}

static void backoff_doubles_with_full_jitter(void **state)
{
    (void)state;
    for (unsigned failures = 1; failures < 6; failures++) {
        uint64_t most = MRG_LLM_BACKOFF_MS << (failures - 1);
        assert_int_equal(mrg_llm_backoff(failures, MRG_LLM_NO_RETRY_AFTER, 0), 0);
        assert_int_equal(mrg_llm_backoff(failures, MRG_LLM_NO_RETRY_AFTER, UINT32_MAX), most);
        assert_in_range(mrg_llm_backoff(failures, MRG_LLM_NO_RETRY_AFTER, UINT32_MAX / 2), most / 2 - 1,
                        most / 2 + 1);
    }
    assert_int_equal(mrg_llm_backoff(40, MRG_LLM_NO_RETRY_AFTER, UINT32_MAX), MRG_LLM_BACKOFF_MAX_MS);
    assert_int_equal(mrg_llm_backoff(UINT32_MAX, MRG_LLM_NO_RETRY_AFTER, UINT32_MAX), MRG_LLM_BACKOFF_MAX_MS);
}

static void backoff_honours_retry_after(void **state)
{
    (void)state;
    assert_int_equal(mrg_llm_backoff(1, 3000, 0), 3000);
    assert_int_equal(mrg_llm_backoff(9, 3000, UINT32_MAX), 3000 + MRG_LLM_BACKOFF_MS / 2);
    assert_int_equal(mrg_llm_backoff(1, 0, 0), 0);
    assert_int_equal(mrg_llm_backoff(1, MRG_LLM_BACKOFF_MAX_MS - 1, UINT32_MAX), MRG_LLM_BACKOFF_MAX_MS);
    assert_int_equal(mrg_llm_backoff(1, 3600000, 5), MRG_LLM_BACKOFF_MAX_MS);
    assert_int_equal(mrg_llm_backoff(1, UINT64_MAX - 1, 5), MRG_LLM_BACKOFF_MAX_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passing_troubles_are_retried),
        cmocka_unit_test(a_used_up_quota_is_not),
        cmocka_unit_test(faults),
        cmocka_unit_test(retry_after_in_seconds),
        cmocka_unit_test(retry_after_as_a_date),
        cmocka_unit_test(backoff_doubles_with_full_jitter),
        cmocka_unit_test(backoff_honours_retry_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
