// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/stats.h"
#include "util/json.h"

static void a_dependency_is_found_again(void **state)
{
    (void)state;
    struct mrg_stats *stats = mrg_stats_new();
    struct mrg_dependency_stats *one = mrg_stats_dependency(stats, "inventory");
    assert_ptr_not_equal(mrg_stats_dependency(stats, "payment"), one);
    char name[] = "inventory";
    assert_ptr_equal(mrg_stats_dependency(stats, name), one);
    assert_string_equal(one->name, "inventory");
    assert_int_equal(one->requests, 0);
    mrg_stats_free(stats);
    mrg_stats_free(NULL);
}

/* Each field has another value, so that none stands for another. */
static struct mrg_stats *filled(void)
{
    struct mrg_stats *stats = mrg_stats_new();
    struct mrg_dependency_stats *one = mrg_stats_dependency(stats, "inventory");
    one->requests = 101;
    one->from_cassette = 102;
    one->from_llm = 103;
    one->from_other = 104;
    one->failed = 105;
    one->missed = 106;
    one->gone = 107;
    one->unreachable = 119;
    one->dropped = 120;
    one->recorded = 108;
    one->stale = 109;
    one->lost = 116;
    one->record_retries = 117;
    one->waiting = 118;
    one->llm_calls = 110;
    one->llm_retries = 111;
    one->llm_repairs = 112;
    one->llm_tokens_in = 113;
    one->llm_tokens_cached = 114;
    one->llm_tokens_out = 115;
    one->llm_ms = 61007;
    mrg_stats_dependency(stats, "payment")->failed = 1;
    return stats;
}

/* The lines of the text format: each metric's help and type once, before its series, and all its series together. */
static void check_prometheus(const char *text)
{
    char seen[64][64];
    size_t count = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        char name[64];
        assert_non_null(strchr(line, '\n'));
        if (sscanf(line, "# HELP %63s ", name) == 1) {
            for (size_t i = 0; i < count; i++)
                assert_string_not_equal(seen[i], name);
            strcpy(seen[count++], name);
        } else if (sscanf(line, "# TYPE %63s counter", name) == 1) {
            assert_string_equal(seen[count - 1], name);
        } else if (sscanf(line, "# TYPE %63s gauge", name) == 1) {
            assert_string_equal(seen[count - 1], name);
        } else {
            assert_int_equal(sscanf(line, "%63[a-z_]{", name), 1);
            assert_string_equal(seen[count - 1], name);
        }
    }
    assert_true(count > 5);
}

static void metrics_in_prometheus_text(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "# TYPE mirage_requests_total counter\n",
        "mirage_exchanges_total{dependency=\"inventory\"} 101\n",
        "mirage_requests_total{dependency=\"inventory\",source=\"cassette\"} 102\n",
        "mirage_requests_total{dependency=\"inventory\",source=\"llm\"} 103\n",
        "mirage_requests_total{dependency=\"inventory\",source=\"other\"} 104\n",
        "mirage_requests_total{dependency=\"inventory\",source=\"mirage\"} 105\n",
        "mirage_requests_total{dependency=\"payment\",source=\"mirage\"} 1\n",
        "mirage_cassette_misses_total{dependency=\"inventory\"} 106\n",
        "mirage_callers_gone_total{dependency=\"inventory\"} 107\n",
        "mirage_zmq_unreachable_total{dependency=\"inventory\"} 119\n",
        "mirage_zmq_dropped_total{dependency=\"inventory\"} 120\n",
        "mirage_cassette_recorded_total{dependency=\"inventory\"} 108\n",
        "mirage_cassette_lost_total{dependency=\"inventory\"} 116\n",
        "mirage_cassette_write_failures_total{dependency=\"inventory\"} 117\n",
        "# TYPE mirage_cassette_waiting gauge\nmirage_cassette_waiting{dependency=\"inventory\"} 118\n",
        "mirage_cassette_stale_total{dependency=\"inventory\"} 109\n",
        "mirage_llm_calls_total{dependency=\"inventory\"} 110\n",
        "mirage_llm_retries_total{dependency=\"inventory\"} 111\n",
        "mirage_llm_repairs_total{dependency=\"inventory\"} 112\n",
        "mirage_llm_tokens_total{dependency=\"inventory\",kind=\"in\"} 113\n",
        "mirage_llm_tokens_total{dependency=\"inventory\",kind=\"cached\"} 114\n",
        "mirage_llm_tokens_total{dependency=\"inventory\",kind=\"out\"} 115\n",
        "mirage_llm_seconds_total{dependency=\"inventory\"} 61.007\n",
        "mirage_llm_seconds_total{dependency=\"payment\"} 0.000\n",
    };
    struct mrg_stats *stats = filled();
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_stats_append_prometheus(&buf, stats, NULL);
    for (size_t i = 0; i < MRG_ARRAY_LEN(lines); i++) {
        if (!strstr(buf.data, lines[i]))
            fail_msg("missing: %s", lines[i]);
    }
    check_prometheus(buf.data);
    mrg_buf_clear(&buf);
    mrg_stats_append_prometheus(&buf, stats, "payment");
    assert_non_null(strstr(buf.data, "mirage_requests_total{dependency=\"payment\",source=\"mirage\"} 1\n"));
    assert_null(strstr(buf.data, "inventory"));
    check_prometheus(buf.data);
    mrg_buf_done(&buf);
    mrg_stats_free(stats);
}

static void the_report_as_json(void **state)
{
    (void)state;
    struct mrg_stats *stats = filled();
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_stats_append_json(&buf, stats);
    assert_int_equal(mrg_json_check(mrg_buf_slice(&buf), NULL), MRG_ERR_OK);
    assert_non_null(strstr(
        buf.data,
        "{\"dependencies\":[{\"name\":\"inventory\",\"requests\":101,\"from_cassette\":102,\"from_llm\":103,"
        "\"from_other\":104,\"failed\":105,\"missed\":106,\"gone\":107,\"zmq_unreachable\":119,\"zmq_"
        "dropped\":120,\"recorded\":108,\"lost\":116,"
        "\"record_retries\":117,\"waiting\":118,\"stale\":109,"
        "\"llm_calls\":110,\"llm_retries\":111,\"llm_repairs\":112,\"llm_tokens_in\":113,"
        "\"llm_tokens_cached\":114,\"llm_tokens_out\":115,\"llm_ms\":61007},{\"name\":\"payment\","));
    assert_non_null(strstr(buf.data, "],\"failed\":106,\"missed\":106,\"lost\":116}"));
    mrg_buf_done(&buf);
    mrg_stats_free(stats);

    stats = mrg_stats_new();
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_stats_append_json(&buf, stats);
    assert_string_equal(buf.data, "{\"dependencies\":[],\"failed\":0,\"missed\":0,\"lost\":0}");
    mrg_buf_done(&buf);
    mrg_stats_free(stats);
}

static void the_report_as_junit(void **state)
{
    (void)state;
    struct mrg_stats *stats = filled();
    struct mrg_buf buf;
    mrg_stats_dependency(stats, "shipping")->requests = 7;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_stats_append_junit(&buf, stats);
    assert_non_null(strstr(buf.data, "<testsuite name=\"mirage\" tests=\"3\" failures=\"2\">"));
    assert_non_null(
        strstr(buf.data, "<testcase classname=\"mirage.serve\" name=\"inventory\" time=\"61.007\">\n"
                         "    <failure message=\"105 requests failed, 106 of them not recorded; 116 replies "
                         "could not be written to the cassette\"/>"));
    assert_non_null(strstr(buf.data, "name=\"shipping\" time=\"0.000\">\n    <system-out>requests 7, "));
    assert_non_null(strstr(buf.data, "</testsuite>\n"));
    mrg_buf_done(&buf);
    mrg_stats_free(stats);
}

static void any_failure_counts(void **state)
{
    (void)state;
    struct mrg_stats *stats = mrg_stats_new();
    assert_false(mrg_stats_any_failure(stats));
    mrg_stats_dependency(stats, "a")->gone = 1;
    mrg_stats_dependency(stats, "a")->unreachable = 1;
    mrg_stats_dependency(stats, "a")->dropped = 1;
    mrg_stats_dependency(stats, "a")->stale = 1;
    assert_false(mrg_stats_any_failure(stats));
    mrg_stats_dependency(stats, "b")->failed = 1;
    assert_true(mrg_stats_any_failure(stats));
    mrg_stats_dependency(stats, "b")->failed = 0;
    mrg_stats_dependency(stats, "a")->record_retries = 1;
    mrg_stats_dependency(stats, "a")->waiting = 1;
    assert_false(mrg_stats_any_failure(stats));
    mrg_stats_dependency(stats, "a")->lost = 1;
    assert_true(mrg_stats_any_failure(stats));
    mrg_stats_free(stats);
}

static void *count_on(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "d%d", i % 10);
        atomic_fetch_add(&mrg_stats_dependency(arg, name)->requests, 1);
    }
    return NULL;
}

static void many_threads_count(void **state)
{
    (void)state;
    struct mrg_stats *stats = mrg_stats_new();
    struct mrg_buf buf;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, count_on, stats);
    mrg_buf_init(&buf, SIZE_MAX);
    for (int i = 0; i < 20; i++) {
        mrg_buf_clear(&buf);
        mrg_stats_append_prometheus(&buf, stats, NULL);
        mrg_stats_append_json(&buf, stats);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof(name), "d%d", i);
        assert_int_equal(mrg_stats_dependency(stats, name)->requests, 400);
    }
    mrg_buf_done(&buf);
    mrg_stats_free(stats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dependency_is_found_again), cmocka_unit_test(metrics_in_prometheus_text),
        cmocka_unit_test(the_report_as_json),          cmocka_unit_test(the_report_as_junit),
        cmocka_unit_test(any_failure_counts),          cmocka_unit_test(many_threads_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
