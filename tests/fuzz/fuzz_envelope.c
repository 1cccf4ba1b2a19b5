// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as an envelope, a request's and a reply's: what is taken must come back the same when it is written
 * and read again.
 */
#include <stdint.h>
#include <string.h>

#include "util/json.h"
#include "wire/envelope.h"

#define MOST (64u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_ended(struct mrg_slice text)
{
    MRG_ASSERT(text.ptr[text.len] == '\0');
}

static void assert_same_body(const struct mrg_body *a, const struct mrg_body *b)
{
    struct mrg_buf minified;
    mrg_buf_init(&minified, SIZE_MAX);
    MRG_ASSERT(a->kind == b->kind);
    assert_ended(a->bytes);
    if (a->kind == MRG_BODY_JSON)
        mrg_json_minify(&minified, a->bytes);
    else
        mrg_buf_append_slice(&minified, a->bytes);
    MRG_ASSERT(mrg_slice_eq(mrg_buf_slice(&minified), b->bytes));
    mrg_buf_done(&minified);
}

/* Values of one name may have been apart. */
static void assert_has(const struct mrg_header *headers, size_t count, const struct mrg_header *one)
{
    assert_ended(one->name);
    assert_ended(one->value);
    for (size_t i = 0; i < count; i++) {
        if (mrg_slice_eq(headers[i].name, one->name) && mrg_slice_eq(headers[i].value, one->value))
            return;
    }
    MRG_ASSERT(!"the header came back");
}

static void try_request(struct mrg_arena *arena, struct mrg_slice text)
{
    struct mrg_envelope envelope, again_envelope;
    struct mrg_request request, again;
    struct mrg_error err = {.message = ""};
    struct mrg_buf buf;
    if (mrg_envelope_read(arena, text, &envelope, &request, &err)) {
        MRG_ASSERT(err.message[0] != '\0');
        return;
    }
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_envelope_append_request(&buf, &envelope, &request);
    MRG_ASSERT(mrg_envelope_read(arena, mrg_buf_slice(&buf), &again_envelope, &again, &err) == MRG_ERR_OK);
    MRG_ASSERT(mrg_slice_eq(envelope.id, again_envelope.id));
    MRG_ASSERT(mrg_slice_eq(envelope.dependency, again_envelope.dependency));
    MRG_ASSERT(mrg_slice_eq(envelope.session, again_envelope.session));
    MRG_ASSERT(mrg_slice_eq(request.method, again.method) && mrg_slice_eq(request.path, again.path));
    MRG_ASSERT(mrg_slice_eq(request.query, again.query) && request.header_count == again.header_count);
    for (size_t i = 0; i < request.header_count; i++)
        assert_has(again.headers, again.header_count, &request.headers[i]);
    assert_same_body(&request.body, &again.body);
    mrg_buf_done(&buf);
}

static void try_reply(struct mrg_arena *arena, struct mrg_slice text)
{
    struct mrg_reply reply, again;
    struct mrg_slice id, again_id;
    struct mrg_error err = {.message = ""};
    struct mrg_buf buf;
    if (mrg_envelope_read_reply(arena, text, &id, &reply, &err)) {
        MRG_ASSERT(err.message[0] != '\0');
        return;
    }
    if (reply.status == 0) /* an unsure one; none is sent */
        return;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_envelope_append_reply(&buf, id, &reply, NULL, 0);
    MRG_ASSERT(mrg_envelope_read_reply(arena, mrg_buf_slice(&buf), &again_id, &again, &err) == MRG_ERR_OK);
    MRG_ASSERT(mrg_slice_eq(id, again_id) && reply.status == again.status);
    MRG_ASSERT((reply.error != NULL) == (again.error != NULL) && reply.header_count == again.header_count);
    assert_same_body(&reply.body, &again.body);
    mrg_buf_done(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MOST)
        return 0;
    struct mrg_arena *arena = mrg_arena_new(0);
    char *exact = mrg_malloc(size ? size : 1); /* of its very size, so that a byte read behind it is seen */
    memcpy(exact, data, size);
    try_request(arena, (struct mrg_slice){exact, size});
    try_reply(arena, (struct mrg_slice){exact, size});
    free(exact);
    mrg_arena_free(arena);
    return 0;
}
