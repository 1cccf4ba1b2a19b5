// SPDX-License-Identifier: Apache-2.0
#include "core/journal.h"

#include <pthread.h>

#include "util/clock.h"
#include "util/json.h"

#define MAX_HELD 4u /* evicted records that are freed outside the lock; one is the rule */

struct mrg_journal {
    pthread_mutex_t lock;
    struct mrg_record **ring; /* max_entries slots */
    size_t max_entries;
    size_t max_bytes;
    size_t first; /* slot of the oldest entry */
    size_t count;
    size_t bytes;
    uint64_t evicted;
    uint64_t last_seq; /* of the newest entry ever added */
};

struct mrg_journal *mrg_journal_new(size_t max_entries, size_t max_bytes)
{
    struct mrg_journal *journal = mrg_zalloc(sizeof(*journal));
    pthread_mutex_init(&journal->lock, NULL);
    journal->ring = mrg_zalloc(max_entries * sizeof(*journal->ring));
    journal->max_entries = max_entries;
    journal->max_bytes = max_bytes;
    return journal;
}

static struct mrg_record *take_oldest(struct mrg_journal *journal)
{
    struct mrg_record *record = journal->ring[journal->first];
    journal->ring[journal->first] = NULL;
    journal->first = (journal->first + 1) % journal->max_entries;
    journal->count--;
    journal->bytes -= mrg_record_size(record);
    return record;
}

void mrg_journal_free(struct mrg_journal *journal)
{
    if (!journal)
        return;
    while (journal->count > 0)
        mrg_record_unref(take_oldest(journal));
    pthread_mutex_destroy(&journal->lock);
    free(journal->ring);
    free(journal);
}

void mrg_journal_add(struct mrg_journal *journal, struct mrg_record *record)
{
    struct mrg_record *evicted[MAX_HELD];
    size_t held = 0, size = mrg_record_size(record);
    mrg_record_ref(record);
    pthread_mutex_lock(&journal->lock);
    /* Numbered here, so that a reader who goes on behind `last` misses none that was numbered before and added after. */
    record->seq = ++journal->last_seq;
    while (journal->count > 0 &&
           (journal->count == journal->max_entries || journal->bytes + size > journal->max_bytes)) {
        struct mrg_record *oldest = take_oldest(journal);
        if (held < MAX_HELD)
            evicted[held++] = oldest;
        else
            mrg_record_unref(oldest);
        journal->evicted++;
    }
    journal->ring[(journal->first + journal->count) % journal->max_entries] = record;
    journal->count++;
    journal->bytes += size;
    pthread_mutex_unlock(&journal->lock);
    while (held > 0)
        mrg_record_unref(evicted[--held]);
}

static bool fits(const struct mrg_record *record, const struct mrg_journal_filter *filter)
{
    return record->seq > filter->after &&
           (!filter->dependency ||
            mrg_slice_eq_str(mrg_text_slice(record->dependency), filter->dependency)) &&
           (!filter->session || mrg_slice_eq_str(mrg_text_slice(record->session), filter->session));
}

static void append_record(struct mrg_buf *buf, const struct mrg_record *record)
{
    char at[MRG_CLOCK_TEXT];
    mrg_clock_rfc3339_of(record->at_ms, at);
    mrg_buf_appendf(buf, "{\"seq\":%llu,\"at\":\"%s\",\"dependency\":", (unsigned long long)record->seq, at);
    mrg_json_append_string(buf, mrg_text_slice(record->dependency));
    mrg_buf_append_str(buf, ",\"session\":");
    mrg_json_append_string(buf, mrg_text_slice(record->session));
    mrg_buf_appendf(buf, ",\"source\":\"%s\",\"status\":%d,\"duration_ms\":%llu.%03llu", record->source,
                    record->status, (unsigned long long)(record->duration_us / 1000),
                    (unsigned long long)(record->duration_us % 1000));
    if (record->gone)
        mrg_buf_append_str(buf, ",\"gone\":true");
    if (record->failed)
        mrg_buf_append_str(buf, ",\"failed\":true");
    mrg_buf_append_str(buf, ",\"request\":");
    mrg_buf_append_slice(buf, mrg_text_slice(record->request));
    mrg_buf_append_str(buf, ",\"reply\":");
    mrg_buf_append_slice(buf, mrg_text_slice(record->reply));
    mrg_buf_append_char(buf, '}');
}

void mrg_journal_append_json(struct mrg_buf *buf, struct mrg_journal *journal,
                             const struct mrg_journal_filter *filter)
{
    /* Copied under the lock, written outside it: a large log must not hold up the requests. */
    pthread_mutex_lock(&journal->lock);
    size_t kept = 0;
    struct mrg_record **records = mrg_malloc((journal->count + 1) * sizeof(*records));
    for (size_t i = 0; i < journal->count; i++) {
        struct mrg_record *record = journal->ring[(journal->first + i) % journal->max_entries];
        if (fits(record, filter))
            records[kept++] = mrg_record_ref(record);
    }
    uint64_t evicted = journal->evicted, last = journal->last_seq;
    pthread_mutex_unlock(&journal->lock);

    size_t skip = filter->limit && kept > filter->limit ? kept - filter->limit : 0;
    mrg_buf_append_str(buf, "{\"entries\":[");
    for (size_t i = 0; i < kept; i++) {
        if (i > skip)
            mrg_buf_append_char(buf, ',');
        if (i >= skip)
            append_record(buf, records[i]);
        mrg_record_unref(records[i]);
    }
    free(records);
    mrg_buf_appendf(buf, "],\"evicted\":%llu,\"last\":%llu}", (unsigned long long)evicted,
                    (unsigned long long)last);
}
