// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a model's reply: what is taken must come back the same when it is written and read again.
 */
#include <stdint.h>
#include <string.h>

#include "core/reply.h"
#include "util/json.h"

#define MOST (64u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_same(const struct mrg_reply *a, const struct mrg_reply *b)
{
    MRG_ASSERT(a->status == b->status && a->header_count == b->header_count);
    MRG_ASSERT(a->body.kind == b->body.kind && mrg_slice_eq(a->body.bytes, b->body.bytes));
    MRG_ASSERT(mrg_slice_eq(a->unsure, b->unsure));
    MRG_ASSERT(b->body.bytes.ptr[b->body.bytes.len] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mrg_reply reply, again;
    struct mrg_error err = {.message = ""};
    struct mrg_buf first, second;
    if (size > MOST)
        return 0;
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_slice text = {mrg_arena_memdup(arena, data, size), size};
    mrg_buf_init(&first, SIZE_MAX);
    mrg_buf_init(&second, SIZE_MAX);
    if (mrg_reply_parse(arena, text, &reply, &err)) {
        MRG_ASSERT(err.message[0] != '\0');
    } else if (reply.status > 0) {
        mrg_reply_append_json(&first, &reply);
        MRG_ASSERT(!memchr(first.data, '\n', first.len));
        MRG_ASSERT(mrg_reply_parse(arena, mrg_buf_slice(&first), &again, &err) == MRG_ERR_OK);
        assert_same(&reply, &again);
        mrg_reply_append_json(&second, &again);
        MRG_ASSERT(mrg_slice_eq(mrg_buf_slice(&first), mrg_buf_slice(&second)));
    }
    mrg_buf_done(&first);
    mrg_buf_done(&second);
    mrg_arena_free(arena);
    return 0;
}
