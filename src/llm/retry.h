// SPDX-License-Identifier: Apache-2.0
/*
 * Retry: which failures are worth another attempt, and how long to wait before it.
 *
 * Pure functions; the waiting is the client's. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "llm/wire.h"

/* How an attempt failed that brought no HTTP reply, or none that can be read. */
enum mrg_llm_fault {
    MRG_LLM_FAULT_NONE,
    MRG_LLM_FAULT_CONNECT, /* name not found, refused, no route */
    MRG_LLM_FAULT_LOST,    /* the connection broke, or the reply ended too early */
    MRG_LLM_FAULT_TIMEOUT, /* the attempt took longer than it may */
    MRG_LLM_FAULT_TLS,     /* the certificate is not trusted */
    MRG_LLM_FAULT_SIZE,    /* the reply is over MRG_MAX_LLM_REPLY */
    MRG_LLM_FAULT_SETUP,   /* base_url is no URL, or the library refused the request */
};

#define MRG_LLM_NO_RETRY_AFTER UINT64_MAX

bool mrg_llm_retry_fault(enum mrg_llm_fault fault);
/* 408, 409, 429 and 5xx; but not a quota that is used up. `trouble` is what the body says. */
bool mrg_llm_retry_status(long status, const struct mrg_llm_trouble *trouble);

/* A Retry-After field's value in milliseconds from `now` on: seconds, or an HTTP date in any of its three
 * forms (RFC 9110, 5.6.7). MRG_LLM_NO_RETRY_AFTER when value is NULL or neither. */
uint64_t mrg_llm_retry_after(const char *value, time_t now);

/*
 * Milliseconds to wait after `failures` (from 1) failed attempts in a row: drawn from 0 to MRG_LLM_BACKOFF_MS
 * doubled with each failure; with a retry_after, that and up to half of MRG_LLM_BACKOFF_MS more, so that not
 * all come at once. Never more than MRG_LLM_BACKOFF_MAX_MS. `random` is any number, evenly drawn.
 */
uint64_t mrg_llm_backoff(unsigned failures, uint64_t retry_after, uint32_t random);
