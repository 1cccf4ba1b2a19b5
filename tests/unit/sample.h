// SPDX-License-Identifier: Apache-2.0
/*
 * Sample: requests for tests, written as they would be in a message: "POST /items?x=1", "name: value\n…", a
 * body. Everything lies in the arena. Static functions: each test includes its own copy.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "core/match.h"
#include "core/request.h"

static inline struct mrg_slice sample_copy(struct mrg_arena *arena, const char *text, size_t len)
{
    return (struct mrg_slice){mrg_arena_memdup(arena, text, len), len};
}

/* `headers` and `body` may be NULL; body_len 0: its strlen. */
static inline struct mrg_request sample_bytes(struct mrg_arena *arena, const char *line, const char *headers,
                                              const char *body, size_t body_len)
{
    struct mrg_request request = {.query = MRG_SLICE(""), .body = {MRG_BODY_NONE, MRG_SLICE("")}};
    const char *target = strchr(line, ' ') + 1;
    const char *query = strchr(target, '?');
    request.method = sample_copy(arena, line, (size_t)(target - line) - 1);
    request.path = sample_copy(arena, target, query ? (size_t)(query - target) : strlen(target));
    if (query)
        request.query = sample_copy(arena, query + 1, strlen(query + 1));
    request.headers = mrg_arena_alloc(arena, 50 * sizeof(*request.headers));
    while (headers && *headers) {
        size_t len = strcspn(headers, "\n");
        size_t name = strcspn(headers, ":");
        struct mrg_header *header = &request.headers[request.header_count++];
        header->name = sample_copy(arena, headers, name);
        header->value = sample_copy(arena, headers + name + 2, len - name - 2);
        headers += headers[len] ? len + 1 : len;
    }
    if (body) {
        struct mrg_slice bytes = sample_copy(arena, body, body_len ? body_len : strlen(body));
        request.body = mrg_body_classify(bytes, mrg_request_header(&request, "content-type"));
    }
    return request;
}

static inline struct mrg_request sample(struct mrg_arena *arena, const char *line, const char *headers,
                                        const char *body)
{
    return sample_bytes(arena, line, headers, body, 0);
}

/* The normal form, in the arena. */
static inline const char *sample_json(struct mrg_arena *arena, const struct mrg_request *request,
                                      struct mrg_match *match)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_request_append_json(&buf, request, match ? mrg_match_shows : NULL, match);
    const char *text = mrg_arena_memdup(arena, buf.data, buf.len);
    mrg_buf_done(&buf);
    return text;
}
