// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/journal.h"
#include "util/json.h"

static struct mrg_text *text_of(const char *text)
{
    return mrg_text_new(text, strlen(text));
}

/* A record whose request's text has `bytes` bytes. */
static struct mrg_record *record_of(const char *dependency, const char *session, size_t bytes)
{
    struct mrg_record *record = mrg_record_new();
    char *request = mrg_asprintf("{\"path\":\"%0*d\"}", (int)(bytes - strlen("{\"path\":\"\"}")), 0);
    record->request = text_of(request);
    free(request);
    record->reply = text_of("{\"status\":200}");
    record->dependency = text_of(dependency);
    record->session = text_of(session);
    record->source = "llm";
    record->status = 200;
    return record;
}

static void add(struct mrg_journal *journal, const char *dependency, const char *session, size_t bytes)
{
    struct mrg_record *record = record_of(dependency, session, bytes);
    mrg_journal_add(journal, record);
    mrg_record_unref(record);
}

/* The journal in short: "3 4 5 | evicted 2 last 5". Freed by the caller. */
static char *shown(struct mrg_journal *journal, const struct mrg_journal_filter *filter)
{
    struct mrg_buf json, line;
    mrg_buf_init(&json, SIZE_MAX);
    mrg_buf_init(&line, SIZE_MAX);
    mrg_journal_append_json(&json, journal, filter);
    assert_int_equal(mrg_json_check(mrg_buf_slice(&json), NULL), MRG_ERR_OK);
    const char *p = json.data;
    uint64_t seq, evicted, last;
    while ((p = strstr(p, "{\"seq\":")) != NULL && sscanf(p, "{\"seq\":%" SCNu64, &seq) == 1) {
        mrg_buf_appendf(&line, "%" PRIu64 " ", seq);
        p++;
    }
    p = strstr(json.data, "],\"evicted\":");
    assert_non_null(p);
    assert_int_equal(sscanf(p, "],\"evicted\":%" SCNu64 ",\"last\":%" SCNu64 "}", &evicted, &last), 2);
    mrg_buf_appendf(&line, "| evicted %" PRIu64 " last %" PRIu64, evicted, last);
    mrg_buf_done(&json);
    return mrg_buf_take(&line, NULL);
}

static void expect(struct mrg_journal *journal, struct mrg_journal_filter filter, const char *what)
{
    _cleanup_free_ char *text = shown(journal, &filter);
    assert_string_equal(text, what);
}

#define ALL ((struct mrg_journal_filter){.limit = 0})

static void entries_are_bounded(void **state)
{
    (void)state;
    struct mrg_journal *journal = mrg_journal_new(3, 1 << 20);
    expect(journal, ALL, "| evicted 0 last 0");
    for (int i = 0; i < 3; i++)
        add(journal, "a", "s", 20);
    expect(journal, ALL, "1 2 3 | evicted 0 last 3");
    add(journal, "a", "s", 20);
    expect(journal, ALL, "2 3 4 | evicted 1 last 4");
    for (int i = 0; i < 7; i++)
        add(journal, "a", "s", 20);
    expect(journal, ALL, "9 10 11 | evicted 8 last 11");
    mrg_journal_free(journal);
    mrg_journal_free(NULL);
}

static void bytes_are_bounded(void **state)
{
    (void)state;
    struct mrg_record *record = record_of("a", "s", 1000);
    size_t size = mrg_record_size(record);
    assert_true(size > 1000 && size < 1200);
    mrg_record_unref(record);
    struct mrg_journal *journal = mrg_journal_new(100, 3 * size);
    for (int i = 0; i < 3; i++)
        add(journal, "a", "s", 1000);
    expect(journal, ALL, "1 2 3 | evicted 0 last 3");
    add(journal, "a", "s", 1001);
    expect(journal, ALL, "3 4 | evicted 2 last 4");
    add(journal, "a", "s", 20);
    expect(journal, ALL, "3 4 5 | evicted 2 last 5");
    /* One that is larger than all the room stays alone, until the next. */
    add(journal, "a", "s", 4 * size);
    expect(journal, ALL, "6 | evicted 5 last 6");
    add(journal, "a", "s", 20);
    expect(journal, ALL, "7 | evicted 6 last 7");
    mrg_journal_free(journal);
}

static void filters(void **state)
{
    (void)state;
    struct mrg_journal *journal = mrg_journal_new(100, 1 << 20);
    add(journal, "a", "s", 20);
    add(journal, "b", "s", 20);
    add(journal, "a", "t", 20);
    add(journal, "ab", "st", 20);
    add(journal, "a", "s", 20);
    expect(journal, (struct mrg_journal_filter){.dependency = "a"}, "1 3 5 | evicted 0 last 5");
    expect(journal, (struct mrg_journal_filter){.session = "s"}, "1 2 5 | evicted 0 last 5");
    expect(journal, (struct mrg_journal_filter){.dependency = "a", .session = "s"}, "1 5 | evicted 0 last 5");
    expect(journal, (struct mrg_journal_filter){.dependency = "a", .limit = 2}, "3 5 | evicted 0 last 5");
    expect(journal, (struct mrg_journal_filter){.dependency = "a", .after = 1, .limit = 1},
           "5 | evicted 0 last 5");
    expect(journal, (struct mrg_journal_filter){.after = 3}, "4 5 | evicted 0 last 5");
    expect(journal, (struct mrg_journal_filter){.after = 5}, "| evicted 0 last 5");
    expect(journal, (struct mrg_journal_filter){.after = UINT64_MAX, .limit = SIZE_MAX},
           "| evicted 0 last 5");
    expect(journal, (struct mrg_journal_filter){.dependency = ""}, "| evicted 0 last 5");
    mrg_journal_free(journal);
}

static void an_entry_in_full(void **state)
{
    (void)state;
    struct mrg_journal *journal = mrg_journal_new(10, 1 << 20);
    struct mrg_record *record = record_of("inventory", "default", 14);
    struct mrg_buf buf;
    record->at_ms = 1769850900123;
    record->duration_us = 1840007;
    mrg_journal_add(journal, record);
    mrg_record_unref(record);
    record = record_of("inventory", "default", 14);
    record->source = "mirage";
    record->status = 503;
    record->failed = record->gone = true;
    mrg_journal_add(journal, record);
    mrg_record_unref(record);
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_journal_append_json(&buf, journal, &ALL);
    assert_string_equal(
        buf.data,
        "{\"entries\":[{\"seq\":1,\"at\":\"2026-01-31T09:15:00.123Z\",\"dependency\":\"inventory\","
        "\"session\":\"default\","
        "\"source\":\"llm\",\"status\":200,\"duration_ms\":1840.007,\"request\":{\"path\":\"000\"},\"reply\":"
        "{\"status\":200}},"
        "{\"seq\":2,\"at\":\"1970-01-01T00:00:00.000Z\",\"dependency\":\"inventory\",\"session\":\"default\","
        "\"source\":\"mirage\",\"status\":503,\"duration_ms\":0.000,\"gone\":true,\"failed\":true,"
        "\"request\":{\"path\":\"000\"},\"reply\":{\"status\":200}}],\"evicted\":0,\"last\":2}");
    mrg_buf_done(&buf);
    mrg_journal_free(journal);
}

enum { THREADS = 4, EACH = 500 };
static atomic_int adding;

static void *add_many(void *journal)
{
    for (int i = 0; i < EACH; i++)
        add(journal, "a", "s", 40);
    atomic_fetch_sub(&adding, 1);
    return NULL;
}

/* Whoever goes on behind `last` sees every entry once, in order. */
static void a_follower_misses_nothing(void **state)
{
    (void)state;
    struct mrg_journal *journal = mrg_journal_new(THREADS * EACH, 64 << 20);
    pthread_t threads[THREADS];
    struct mrg_journal_filter filter = {.after = 0};
    uint64_t next = 1;
    adding = THREADS;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, add_many, journal);
    for (bool more = true; more;) {
        more = adding > 0;
        _cleanup_free_ char *text = shown(journal, &filter);
        for (char *p = text; *p != '|'; p++)
            assert_int_equal(strtoull(p, &p, 10), next++);
        assert_int_equal(sscanf(strstr(text, "last"), "last %" SCNu64, &filter.after), 1);
    }
    assert_int_equal(next, THREADS * EACH + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    mrg_journal_free(journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_bounded),
        cmocka_unit_test(bytes_are_bounded),
        cmocka_unit_test(filters),
        cmocka_unit_test(an_entry_in_full),
        cmocka_unit_test(a_follower_misses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
