// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a line of a cassette: a line that is taken is found again under its request, and so it is when
 * the line is written and read once more. Redaction and the sentence for a miss see the same requests.
 */
#include <stdint.h>
#include <string.h>

#include "core/config.h"
#include "engines/cassette_miss.h"
#include "engines/cassette_store.h"

#define MOST (64u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *ignored[] = {(char *)(uintptr_t) "header.x-*", (char *)(uintptr_t) "query.ts",
                          (char *)(uintptr_t) "body.$..at"};
static char *secret[] = {(char *)(uintptr_t) "header.authorization", (char *)(uintptr_t) "query.key",
                         (char *)(uintptr_t) "body.$..pin"};

static struct mrg_match *match_of(struct mrg_dependency_config *config)
{
    struct mrg_match *match;
    *config = (struct mrg_dependency_config){.name = (char *)(uintptr_t) "d"};
    config->cassette.ignore = (struct mrg_strings){ignored, MRG_ARRAY_LEN(ignored)};
    config->redact = (struct mrg_strings){secret, MRG_ARRAY_LEN(secret)};
    MRG_ASSERT(mrg_match_new(config, &match, NULL) == MRG_ERR_OK);
    return match;
}

static void try_request(struct mrg_arena *arena, struct mrg_match *match,
                        const struct mrg_cassette_line *line)
{
    struct mrg_request request, again;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    MRG_ASSERT(mrg_request_parse(arena, line->req, &request, NULL) == MRG_ERR_OK);
    struct mrg_hash128 key = mrg_match_key(match, &request);
    mrg_request_append_json(&buf, &request, mrg_match_shows, match);
    MRG_ASSERT(!memchr(buf.data, '\n', buf.len));
    MRG_ASSERT(mrg_request_parse(arena, mrg_buf_slice(&buf), &again, NULL) == MRG_ERR_OK);
    struct mrg_hash128 same = mrg_match_key(match, &again);
    MRG_ASSERT(key.low == same.low && key.high == same.high);
    mrg_buf_clear(&buf);
    struct mrg_match_differ *differ = mrg_match_differ_new(match, &request);
    MRG_ASSERT(mrg_match_differ_compare(differ, &again, &buf) == 0);
    mrg_match_differ_free(differ);
    mrg_match_redact(match, arena, &request);
    mrg_buf_done(&buf);
}

static void try_store(struct mrg_arena *arena, struct mrg_match *match, struct mrg_cassette_store *store,
                      const struct mrg_cassette_line *line)
{
    struct mrg_request request;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    if (mrg_cassette_store_put(store, match, line, NULL, NULL) == MRG_ERR_OK) {
        MRG_ASSERT(mrg_request_parse(arena, line->req, &request, NULL) == MRG_ERR_OK);
        struct mrg_hash128 key = mrg_match_key(match, &request);
        struct mrg_cassette_entry *entry = mrg_cassette_store_find(store, line->at, key, line->nth);
        MRG_ASSERT(entry != NULL);
        struct mrg_text *rep = mrg_text_ref(entry->rep);
        struct mrg_reply reply = entry->reply;
        mrg_cassette_entry_unref(entry);
        MRG_ASSERT(reply.status >= 200);
        mrg_buf_append_slice(&buf, reply.body.bytes);
        for (size_t i = 0; i < reply.header_count; i++)
            mrg_buf_append_slice(&buf, reply.headers[i].value);
        mrg_text_unref(rep);
        mrg_cassette_miss(&buf, store, match, "f", &request, line->at, key, line->nth + 1);
        mrg_cassette_miss(&buf, store, match, "f", &request, line->at + 1, (struct mrg_hash128){1, 2}, 1);
        try_request(arena, match, line);
    }
    mrg_buf_done(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mrg_dependency_config config;
    struct mrg_cassette_line line, again;
    struct mrg_error err;
    struct mrg_buf buf;
    size_t column = 0;
    if (size > MOST)
        return 0;
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_match *match = match_of(&config);
    struct mrg_cassette_store *store = mrg_cassette_store_new("d");
    struct mrg_slice text = {mrg_arena_memdup(arena, data, size), size};
    mrg_buf_init(&buf, SIZE_MAX);
    if (mrg_cassette_line_parse(arena, text, &line, &column, &err)) {
        MRG_ASSERT(column > 0 && err.message[0] != '\0');
    } else {
        mrg_cassette_line_append(&buf, &line);
        MRG_ASSERT(mrg_cassette_line_parse(arena, mrg_buf_slice(&buf), &again, &column, &err) == MRG_ERR_OK);
        MRG_ASSERT(again.at == line.at && again.nth == line.nth && mrg_slice_eq(again.req, line.req));
        try_store(arena, match, store, &line);
    }
    mrg_buf_done(&buf);
    mrg_cassette_store_free(store);
    mrg_match_free(match);
    mrg_arena_free(arena);
    return 0;
}
