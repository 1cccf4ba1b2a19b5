// SPDX-License-Identifier: Apache-2.0
/*
 * Hashes: XXH3 for tables and places, SHA-256 for what is written down as evidence of origin.
 * Thread: any; no state.
 */
#pragma once

#include <stdint.h>

#include "util/buf.h"

struct mrg_hash128 {
    uint64_t low;
    uint64_t high;
};

uint64_t mrg_hash64(const void *data, size_t len, uint64_t seed);
struct mrg_hash128 mrg_hash128_of(const void *data, size_t len, uint64_t seed);

#define MRG_SHA256_HEX 64 /* characters of a digest in hex, without the NUL */
struct mrg_sha256;        /* a digest under way */
struct mrg_sha256 *mrg_sha256_new(void);
void mrg_sha256_add(struct mrg_sha256 *sha, const void *data, size_t len);
/* A digest of its own that goes on from here. */
struct mrg_sha256 *mrg_sha256_copy(const struct mrg_sha256 *sha);
void mrg_sha256_free(struct mrg_sha256 *sha); /* one that is not finished; NULL is allowed */
/* Writes lower-case hex and a NUL, frees sha. */
void mrg_sha256_finish(struct mrg_sha256 *sha, char ret_hex[MRG_SHA256_HEX + 1]);
void mrg_sha256_hex(const void *data, size_t len, char ret_hex[MRG_SHA256_HEX + 1]);
