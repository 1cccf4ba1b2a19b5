// SPDX-License-Identifier: Apache-2.0
/*
 * Cassette line: one recorded exchange as a line of text, to and from its parts.
 *
 *   {"at":"<16 hex: place>","nth":1,"dep":"inventory","req":{…},"rep":{…},
 *    "by":{"model","prompt","evidence","tokens":[in,cached,out],"ms","id","text"},"clock":"<when>"}
 *
 * `req` is a request's normal form (core/request.h), `rep` a reply's text form (core/reply.h); both are kept
 * as text here. `by` and `clock` may be missing: lines may be written by hand. Members that are not known
 * (`patch` and others of later versions) are passed over. Thread: any; no state.
 */
#pragma once

#include <stdint.h>

#include "core/place.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/error.h"

struct mrg_cassette_line {
    mrg_place at;              /* where it was recorded */
    unsigned nth;              /* equal requests at that place, from 1 */
    struct mrg_slice dep;      /* the dependency's name */
    struct mrg_slice req;      /* normal form, JSON */
    struct mrg_slice rep;      /* text form, JSON */
    struct mrg_slice model;    /* the model's name; this and the following are empty or 0 when not known */
    struct mrg_slice prompt;   /* SHA-256 of the conversation */
    struct mrg_slice evidence; /* SHA-256 of the evidence */
    uint64_t tokens_in;        /* cached ones included */
    uint64_t tokens_cached;
    uint64_t tokens_out;
    uint64_t ms;            /* how long the model took */
    struct mrg_slice id;    /* the provider's response id */
    struct mrg_slice text;  /* SHA-256 of the provider's text */
    struct mrg_slice clock; /* wall time, RFC 3339 */
};

/*
 * Takes a line (without its newline) apart; req and rep point into text, the rest lies in the arena or in
 * text. INVALID: the message says what was expected, *ret_column (from 1) where.
 */
enum mrg_err mrg_cassette_line_parse(struct mrg_arena *arena, struct mrg_slice text,
                                     struct mrg_cassette_line *ret_line, size_t *ret_column,
                                     struct mrg_error *err);

/*
 * Appends the line without a newline. req and rep must be single lines. `by` is left out when the model is
 * not known.
 */
void mrg_cassette_line_append(struct mrg_buf *buf, const struct mrg_cassette_line *line);
