// SPDX-License-Identifier: Apache-2.0
/*
 * Cassette miss: the sentence that tells why nothing recorded fits, with the nearest recorded request and the
 * first difference.
 *
 * Slow (it compares with many entries): for requests that are about to fail. Thread: any.
 */
#pragma once

#include "engines/cassette_store.h"

/* Appends the sentence. `path` is the cassette's file, for people. */
void mrg_cassette_miss(struct mrg_buf *buf, struct mrg_cassette_store *store, const struct mrg_match *match,
                       const char *path, const struct mrg_request *request, mrg_place at,
                       struct mrg_hash128 key, unsigned nth);
