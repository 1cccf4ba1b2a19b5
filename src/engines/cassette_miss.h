// SPDX-License-Identifier: Apache-2.0
/*
 * Cassette miss: the sentence that tells why nothing recorded fits, with the nearest recorded request and the
 * first difference.
 *
 * It looks at the target of every entry and compares a few whole, within MRG_MISS_ENTRIES and MRG_MISS_BYTES:
 * some milliseconds at most, for requests that are about to fail. Thread: any.
 */
#pragma once

#include "engines/cassette_store.h"

/* Appends the sentence. `path` is the cassette's file, for people. */
void mrg_cassette_miss(struct mrg_buf *buf, struct mrg_cassette_store *store, const struct mrg_match *match,
                       const char *path, const struct mrg_request *request, mrg_place at,
                       struct mrg_hash128 key, unsigned nth);
