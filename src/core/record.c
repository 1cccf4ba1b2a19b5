// SPDX-License-Identifier: Apache-2.0
#include "core/record.h"

struct mrg_record *mrg_record_new(void)
{
    struct mrg_record *record = mrg_zalloc(sizeof(*record));
    atomic_init(&record->refs, 1);
    return record;
}

struct mrg_record *mrg_record_ref(struct mrg_record *record)
{
    if (record)
        atomic_fetch_add_explicit(&record->refs, 1, memory_order_relaxed);
    return record;
}

void mrg_record_unref(struct mrg_record *record)
{
    if (!record || atomic_fetch_sub_explicit(&record->refs, 1, memory_order_acq_rel) != 1)
        return;
    mrg_text_unref(record->request);
    mrg_text_unref(record->reply);
    mrg_text_unref(record->dependency);
    mrg_text_unref(record->session);
    free(record);
}

/* The names are shared by all records of a state and cost nothing more. */
size_t mrg_record_size(const struct mrg_record *record)
{
    size_t size = sizeof(*record);
    if (record->request)
        size += sizeof(*record->request) + record->request->len + 1;
    if (record->reply)
        size += sizeof(*record->reply) + record->reply->len + 1;
    return size;
}
