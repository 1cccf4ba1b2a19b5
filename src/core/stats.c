// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"

#include <pthread.h>
#include <string.h>

#include "util/json.h"

struct mrg_stats {
    pthread_mutex_t lock;               /* guards the list's growth */
    struct mrg_dependency_stats *first; /* in the order made */
    struct mrg_dependency_stats **tail;
};

/* One series of /metrics and one member of the report for each counter. */
struct counter {
    const char *member; /* in the report */
    const char *series; /* in /metrics, without mirage_ and _total (a gauge has none) */
    const char *label;  /* further labels, "" for none */
    const char *help;
    size_t offset;
    bool seconds; /* counted in milliseconds, told in seconds in /metrics */
    bool gauge;   /* goes down too */
};

#define AT(field) offsetof(struct mrg_dependency_stats, field)
static const struct counter counters[] = {
    {"requests", "exchanges", "", "Exchanges that took a turn.", AT(requests)},
    {"from_cassette", "requests", ",source=\"cassette\"", "Requests by who answered.", AT(from_cassette)},
    {"from_llm", "requests", ",source=\"llm\"", "Requests by who answered.", AT(from_llm)},
    {"from_other", "requests", ",source=\"other\"", "Requests by who answered.", AT(from_other)},
    {"failed", "requests", ",source=\"mirage\"", "Requests by who answered.", AT(failed)},
    {"missed", "cassette_misses", "", "Requests that a replay had no recording for.", AT(missed)},
    {"gone", "callers_gone", "", "Callers that hung up before their reply.", AT(gone)},
    {"zmq_unreachable", "zmq_unreachable", "", "Replies over ZeroMQ that found their peer gone.",
     AT(unreachable)},
    {"zmq_dropped", "zmq_dropped", "", "Replies over ZeroMQ that their peer did not read in time.",
     AT(dropped)},
    {"recorded", "cassette_recorded", "", "Replies written to the cassette.", AT(recorded)},
    {"lost", "cassette_lost", "", "Replies that could not be written to the cassette and are lost.",
     AT(lost)},
    {"record_retries", "cassette_write_failures", "", "Attempts to write to the cassette that failed.",
     AT(record_retries)},
    {"waiting", "cassette_waiting", "", "Replies not yet written to the cassette.", AT(waiting),
     .gauge = true},
    {"stale", "cassette_stale", "", "Recorded replies whose evidence has changed since.", AT(stale)},
    {"llm_calls", "llm_calls", "", "Replies that the provider gave, repairs included.", AT(llm_calls)},
    {"llm_retries", "llm_retries", "", "Attempts at the provider that failed and were repeated.",
     AT(llm_retries)},
    {"llm_repairs", "llm_repairs", "", "Replies sent back to the model with their error.", AT(llm_repairs)},
    {"llm_tokens_in", "llm_tokens", ",kind=\"in\"", "Tokens; in includes cached.", AT(llm_tokens_in)},
    {"llm_tokens_cached", "llm_tokens", ",kind=\"cached\"", "Tokens; in includes cached.",
     AT(llm_tokens_cached)},
    {"llm_tokens_out", "llm_tokens", ",kind=\"out\"", "Tokens; in includes cached.", AT(llm_tokens_out)},
    {"llm_ms", "llm_seconds", "", "Seconds spent waiting for the provider.", AT(llm_ms), true},
};

struct mrg_stats *mrg_stats_new(void)
{
    struct mrg_stats *stats = mrg_zalloc(sizeof(*stats));
    pthread_mutex_init(&stats->lock, NULL);
    stats->tail = &stats->first;
    return stats;
}

void mrg_stats_free(struct mrg_stats *stats)
{
    if (!stats)
        return;
    for (struct mrg_dependency_stats *one = stats->first; one;) {
        struct mrg_dependency_stats *next = one->next;
        free(one->name);
        free(one);
        one = next;
    }
    pthread_mutex_destroy(&stats->lock);
    free(stats);
}

struct mrg_dependency_stats *mrg_stats_dependency(struct mrg_stats *stats, const char *name)
{
    pthread_mutex_lock(&stats->lock);
    struct mrg_dependency_stats *one = stats->first;
    while (one && strcmp(one->name, name) != 0)
        one = one->next;
    if (!one) {
        one = mrg_zalloc(sizeof(*one));
        one->name = mrg_strdup(name);
        *stats->tail = one;
        stats->tail = &one->next;
    }
    pthread_mutex_unlock(&stats->lock);
    return one;
}

static unsigned long long value_of(const struct mrg_dependency_stats *one, const struct counter *counter)
{
    const atomic_ullong *value = (const atomic_ullong *)(const void *)((const char *)one + counter->offset);
    return atomic_load_explicit(value, memory_order_relaxed);
}

void mrg_stats_append_prometheus(struct mrg_buf *buf, struct mrg_stats *stats, const char *dependency)
{
    const char *series = "";
    pthread_mutex_lock(&stats->lock);
    for (size_t i = 0; i < MRG_ARRAY_LEN(counters); i++) {
        const struct counter *counter = &counters[i];
        const char *total = counter->gauge ? "" : "_total";
        if (strcmp(series, counter->series) != 0)
            mrg_buf_appendf(buf, "# HELP mirage_%s%s %s\n# TYPE mirage_%s%s %s\n", counter->series, total,
                            counter->help, counter->series, total, counter->gauge ? "gauge" : "counter");
        series = counter->series;
        for (const struct mrg_dependency_stats *one = stats->first; one; one = one->next) {
            unsigned long long value = value_of(one, counter);
            if (dependency && strcmp(one->name, dependency) != 0)
                continue;
            mrg_buf_appendf(buf, "mirage_%s%s{dependency=\"%s\"%s} ", counter->series, total, one->name,
                            counter->label);
            if (counter->seconds)
                mrg_buf_appendf(buf, "%llu.%03llu\n", value / 1000, value % 1000);
            else
                mrg_buf_appendf(buf, "%llu\n", value);
        }
    }
    pthread_mutex_unlock(&stats->lock);
}

static unsigned long long sum_of(const struct mrg_stats *stats, size_t offset)
{
    const struct counter counter = {.offset = offset};
    unsigned long long sum = 0;
    for (const struct mrg_dependency_stats *one = stats->first; one; one = one->next)
        sum += value_of(one, &counter);
    return sum;
}

void mrg_stats_append_json(struct mrg_buf *buf, struct mrg_stats *stats)
{
    pthread_mutex_lock(&stats->lock);
    mrg_buf_append_str(buf, "{\"dependencies\":[");
    for (const struct mrg_dependency_stats *one = stats->first; one; one = one->next) {
        mrg_buf_append_str(buf, one == stats->first ? "{\"name\":" : ",{\"name\":");
        mrg_json_append_string(buf, mrg_slice_of(one->name));
        for (size_t i = 0; i < MRG_ARRAY_LEN(counters); i++)
            mrg_buf_appendf(buf, ",\"%s\":%llu", counters[i].member, value_of(one, &counters[i]));
        mrg_buf_append_char(buf, '}');
    }
    mrg_buf_appendf(buf, "],\"failed\":%llu,\"missed\":%llu,\"lost\":%llu}", sum_of(stats, AT(failed)),
                    sum_of(stats, AT(missed)), sum_of(stats, AT(lost)));
    pthread_mutex_unlock(&stats->lock);
}

/* A miss is a failure too and counted in both. */
static unsigned long long failures_of(const struct mrg_dependency_stats *one)
{
    return atomic_load(&one->failed) + atomic_load(&one->lost);
}

static void append_failure(struct mrg_buf *buf, const struct mrg_dependency_stats *one)
{
    mrg_buf_appendf(buf, "    <failure message=\"%llu requests failed, %llu of them not recorded",
                    (unsigned long long)atomic_load(&one->failed),
                    (unsigned long long)atomic_load(&one->missed));
    if (atomic_load(&one->lost) > 0)
        mrg_buf_appendf(buf, "; %llu replies could not be written to the cassette",
                        (unsigned long long)atomic_load(&one->lost));
    mrg_buf_append_str(buf, "\"/>\n");
}

void mrg_stats_append_junit(struct mrg_buf *buf, struct mrg_stats *stats)
{
    size_t tests = 0, failures = 0;
    pthread_mutex_lock(&stats->lock);
    for (const struct mrg_dependency_stats *one = stats->first; one; one = one->next) {
        tests++;
        failures += failures_of(one) > 0;
    }
    mrg_buf_appendf(buf,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"mirage\" tests=\"%zu\" "
                    "failures=\"%zu\">\n",
                    tests, failures);
    for (const struct mrg_dependency_stats *one = stats->first; one; one = one->next) {
        mrg_buf_appendf(buf, "  <testcase classname=\"mirage.serve\" name=\"%s\" time=\"%.3f\">\n", one->name,
                        (double)atomic_load(&one->llm_ms) / 1000.0);
        if (failures_of(one))
            append_failure(buf, one);
        mrg_buf_append_str(buf, "    <system-out>");
        for (size_t i = 0; i < MRG_ARRAY_LEN(counters); i++)
            mrg_buf_appendf(buf, "%s%s %llu", i ? ", " : "", counters[i].member, value_of(one, &counters[i]));
        mrg_buf_append_str(buf, "</system-out>\n  </testcase>\n");
    }
    mrg_buf_append_str(buf, "</testsuite>\n");
    pthread_mutex_unlock(&stats->lock);
}

bool mrg_stats_any_failure(struct mrg_stats *stats)
{
    pthread_mutex_lock(&stats->lock);
    bool any = sum_of(stats, AT(failed)) + sum_of(stats, AT(lost)) > 0;
    pthread_mutex_unlock(&stats->lock);
    return any;
}
