// SPDX-License-Identifier: Apache-2.0
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "core/match_int.h"
#include "core/query.h"
#include "util/log.h"

static void hmac(const void *key, size_t key_len, struct mrg_slice data,
                 unsigned char ret_digest[MRG_MATCH_KEY])
{
    unsigned len = 0;
    const unsigned char *made =
        HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)data.ptr, data.len, ret_digest, &len);
    MRG_ASSERT(made && len == MRG_MATCH_KEY);
}

/*
 * Keys and values are hashed one after the other, not joined: the dependency's name goes into the key. The
 * digest is cut to 32 bits: enough to tell the values of one test apart. Without a key that is no protection
 * for a value of few possibilities, which can be tried one by one.
 */
struct mrg_slice mrg_redaction_mark(const struct mrg_redaction *redaction, struct mrg_slice value)
{
    char hex[MRG_SHA256_HEX + 1];
    const struct mrg_match *match = redaction->match;
    if (match->has_redact_key) {
        unsigned char digest[MRG_MATCH_KEY];
        hmac(match->redact_key, sizeof(match->redact_key), value, digest);
        snprintf(hex, sizeof(hex), "%02x%02x%02x%02x", digest[0], digest[1], digest[2], digest[3]);
    } else {
        const char *name = match->config->name;
        struct mrg_sha256 *sha = mrg_sha256_new();
        mrg_sha256_add(sha, name, strlen(name) + 1);
        mrg_sha256_add(sha, value.ptr, value.len);
        mrg_sha256_finish(sha, hex);
    }
    return mrg_slice_of(mrg_arena_printf(redaction->arena, "[redacted %.8s]", hex));
}

void mrg_match_read_redact_key(struct mrg_match *match)
{
    const char *variable = match->config->redact_key_env;
    const char *key = variable ? getenv(variable) : NULL;
    match->has_redact_key = key && *key;
    if (match->has_redact_key)
        hmac(key, strlen(key), mrg_slice_of(match->config->name), match->redact_key);
    else if (variable && match->redact.count > 0)
        mrg_log(MRG_LOG_WARN,
                "dependency %s: The variable %s, which redact_key_env names, is not set; "
                "placeholders are made without a key",
                match->config->name, variable);
}

static void redact_path(const struct mrg_redaction *redaction, struct mrg_request *request)
{
    if (!redaction->match->redact.parts[MRG_JPATH_PATH])
        return;
    struct mrg_slice mark = mrg_redaction_mark(redaction, request->path);
    request->path = mrg_slice_of(mrg_arena_printf(redaction->arena, "/%.*s", (int)mark.len, mark.ptr));
}

static void redact_headers(const struct mrg_redaction *redaction, struct mrg_request *request)
{
    struct mrg_header *copy = NULL;
    for (size_t i = 0; i < request->header_count; i++) {
        if (!mrg_rules_header(&redaction->match->redact, request->headers[i].name))
            continue;
        if (!copy) {
            copy = mrg_arena_alloc(redaction->arena, request->header_count * sizeof(*copy));
            memcpy(copy, request->headers, request->header_count * sizeof(*copy));
        }
        copy[i].value = mrg_redaction_mark(redaction, request->headers[i].value);
    }
    if (copy)
        request->headers = copy;
}

static void redact_query(const struct mrg_redaction *redaction, struct mrg_request *request)
{
    if (!redaction->match->redact.parts[MRG_JPATH_QUERY] || request->query.len == 0)
        return;
    struct mrg_buf buf;
    bool any = false;
    size_t count;
    struct mrg_query_pair *pairs = mrg_query_read(redaction->arena, request->query, &count);
    mrg_buf_init(&buf, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        bool hit = mrg_rules_query(&redaction->match->redact, pairs[i].key);
        any |= hit;
        mrg_query_append_pair(&buf, pairs[i].key,
                              hit ? mrg_redaction_mark(redaction, pairs[i].value) : pairs[i].value);
    }
    if (any)
        request->query = mrg_arena_take_buf(redaction->arena, &buf);
    else
        mrg_buf_done(&buf);
}

const struct mrg_request *mrg_match_redact(const struct mrg_match *match, struct mrg_arena *arena,
                                           const struct mrg_request *request)
{
    if (match->redact.count == 0)
        return request;
    struct mrg_redaction redaction = {match, arena};
    struct mrg_request copy = *request;
    redact_path(&redaction, &copy);
    redact_headers(&redaction, &copy);
    redact_query(&redaction, &copy);
    mrg_redact_body(&redaction, &copy);
    bool same = copy.path.ptr == request->path.ptr && copy.headers == request->headers &&
                copy.query.ptr == request->query.ptr && copy.body.bytes.ptr == request->body.bytes.ptr;
    if (same)
        return request;
    struct mrg_request *redacted = mrg_arena_alloc(arena, sizeof(*redacted));
    *redacted = copy;
    return redacted;
}
