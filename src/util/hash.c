// SPDX-License-Identifier: Apache-2.0
#include "util/hash.h"

#include <openssl/evp.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define SHA256_BYTES 32

uint64_t mrg_hash64(const void *data, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, len, seed);
}

struct mrg_hash128 mrg_hash128_of(const void *data, size_t len, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(data, len, seed);
    return (struct mrg_hash128){hash.low64, hash.high64};
}

/* It is OpenSSL's own context; the name hides it. */
static EVP_MD_CTX *context(struct mrg_sha256 *sha)
{
    return (EVP_MD_CTX *)sha;
}

struct mrg_sha256 *mrg_sha256_new(void)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    MRG_ASSERT(ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1);
    return (struct mrg_sha256 *)ctx;
}

struct mrg_sha256 *mrg_sha256_copy(const struct mrg_sha256 *sha)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    MRG_ASSERT(ctx && EVP_MD_CTX_copy_ex(ctx, (const EVP_MD_CTX *)sha) == 1);
    return (struct mrg_sha256 *)ctx;
}

void mrg_sha256_free(struct mrg_sha256 *sha)
{
    EVP_MD_CTX_free(context(sha));
}

void mrg_sha256_add(struct mrg_sha256 *sha, const void *data, size_t len)
{
    MRG_ASSERT(EVP_DigestUpdate(context(sha), data, len) == 1);
}

static void write_hex(const unsigned char digest[SHA256_BYTES], char ret_hex[MRG_SHA256_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < SHA256_BYTES; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 15];
    }
    ret_hex[MRG_SHA256_HEX] = '\0';
}

void mrg_sha256_finish(struct mrg_sha256 *sha, char ret_hex[MRG_SHA256_HEX + 1])
{
    unsigned char digest[SHA256_BYTES];
    MRG_ASSERT(EVP_DigestFinal_ex(context(sha), digest, NULL) == 1);
    EVP_MD_CTX_free(context(sha));
    write_hex(digest, ret_hex);
}

void mrg_sha256_hex(const void *data, size_t len, char ret_hex[MRG_SHA256_HEX + 1])
{
    unsigned char digest[SHA256_BYTES];
    MRG_ASSERT(EVP_Digest(data, len, digest, NULL, EVP_sha256(), NULL) == 1);
    write_hex(digest, ret_hex);
}
