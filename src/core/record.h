// SPDX-License-Identifier: Apache-2.0
/*
 * Record: one finished exchange as history, journal and prompt keep it: immutable counted text.
 *
 * Any thread may hold and read one. Requests are in the shown form: redacted, without the hidden headers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/text.h"

struct mrg_record {
    atomic_uint refs;
    uint64_t seq;                /* number of the exchange in this server, from 1; given by the journal */
    struct mrg_text *request;    /* normal form, JSON (core/request.h) */
    struct mrg_text *reply;      /* text form, JSON (core/reply.h) */
    struct mrg_text *dependency; /* its name */
    struct mrg_text *session;    /* its name */
    const char *source;          /* engine that answered; static; "mirage" for failures of Mirage's own */
    int status;                  /* HTTP status of the reply */
    bool gone;                   /* the caller had hung up before the reply */
    bool failed;                 /* a failure of Mirage's own: not part of the history */
    uint64_t duration_us;        /* from the request's last byte to the reply */
    uint64_t at_ms;              /* wall time of the reply, milliseconds since 1970 */
};

struct mrg_record *mrg_record_new(void); /* zeroed, one reference; the maker fills it before sharing it */
struct mrg_record *mrg_record_ref(struct mrg_record *record);
void mrg_record_unref(struct mrg_record *record);
/* Bytes that it holds, for the journal's bound. */
size_t mrg_record_size(const struct mrg_record *record);
