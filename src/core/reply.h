// SPDX-License-Identifier: Apache-2.0
/*
 * Reply: what goes back, in the protocol-neutral form that every renderer understands.
 *
 * Its text form is the JSON object that a model gives and a cassette keeps:
 *   {"status": 201, "headers"?: {…}, "body"?: …, "grpc_status"?…, "grpc_message"?…, "grpc_details"?…, "trailers"?…,
 *    "messages"?…, "state"?…, "unsure"?: "why"}
 * Bytes lie in the exchange's arena. Thread: whoever has the exchange.
 */
#pragma once

#include <stdbool.h>

#include "core/request.h"

struct mrg_reply {
    int status;                 /* HTTP status, 200-999; 0 while there is none */
    struct mrg_header *headers; /* the simulated service's; names in lower case, repeated ones apart */
    size_t header_count;        /* of headers */
    struct mrg_body body;       /* JSON bodies minified, spelling kept */
    struct mrg_slice unsure;    /* why the engine does not know; empty when it does */
    const char *source;         /* engine that answered, static: "llm"; NULL for Mirage's own failures */
    const char *error; /* Mirage's own failure: a sentence for mirage-error; NULL for the service's */
    bool
        lasting; /* exchange->reply_text stands for this very reply and will again: transports may keep it prepared */
    bool has_grpc_status;          /* grpc_status is exact, and nothing is guessed from `status` */
    int grpc_status;               /* its number (core/status.h), also one that has no name */
    struct mrg_slice grpc_message; /* UTF-8; ptr NULL: taken from the body */
    struct mrg_slice grpc_details; /* a checked JSON array of objects with "@type"; ptr NULL: none */
    struct mrg_header *trailers;   /* as headers; only gRPC has a place for them */
    size_t trailer_count;          /* of trailers */
};

/* The gRPC status that a reply has: the exact one, else the one that stands for its HTTP status. */
int mrg_reply_grpc_status(const struct mrg_reply *reply);

/*
 * The body as wires without a place for a gRPC status show it: the reply's own, else, for an exact status that
 * is not OK, google.rpc.Status as JSON: {"code":5,"message":"…","details":[…]} (as gRPC gateways send it), in
 * the arena.
 */
struct mrg_body mrg_reply_body(const struct mrg_reply *reply, struct mrg_arena *arena);

/*
 * Reads the text form (any text: it is checked first). Errors name the member and what was expected, in words
 * that a model can act on: "\"status\" is \"created\"; expected an integer from 200 to 999". Unknown members
 * are refused by name; those of later versions (messages, state) are accepted and dropped, but their shapes are
 * checked, and messages do not stand in a body's place. "grpc_status" is a name of core/status.h or a number;
 * a status that is missing beside it is the HTTP one that stands for it.
 * null counts as absent for all but status and body. Header values are strings,
 * numbers, booleans or arrays of these; a name that is no token, or a value with a control character, is
 * refused, and so are more than MRG_MAX_REPLY_HEADER_BYTES of them. A JSON body is nested at most
 * MRG_MAX_BODY_DEPTH deep. A body that is a string stands for a text body when headers say a content type that is not JSON;
 * else it is the JSON string. "body_text" and "body_base64" are explicit. An absent body is none; null is
 * JSON's null. With "unsure" the status may be missing, and is 0 then.
 */
enum mrg_err mrg_reply_parse(struct mrg_arena *arena, struct mrg_slice text, struct mrg_reply *ret_reply,
                             struct mrg_error *err);

/* Whether a plain string in "body" is a text: the headers say a content type that is not JSON. */
bool mrg_reply_says_text(const struct mrg_reply *reply);

/*
 * Appends the text form: {"status":…,"headers":{…},"body":…}, one line; what mrg_reply_parse reads back as
 * the same reply.
 */
void mrg_reply_append_json(struct mrg_buf *buf, const struct mrg_reply *reply);

/*
 * Makes a reply of Mirage's own: status, mirage-error with the sentence, and the body {"error": sentence} as
 * JSON. `sentence` says what to do; it is copied into the arena.
 */
void mrg_reply_fail(struct mrg_arena *arena, struct mrg_reply *reply, int status, const char *format, ...)
    __attribute__((nonnull)) MRG_PRINTF(4, 5);

/* A JSON reply of Mirage's own that is no failure (control verbs). `json` is copied. */
void mrg_reply_json(struct mrg_arena *arena, struct mrg_reply *reply, int status, struct mrg_slice json);

/*
 * Whether a reply header is the transport's own (Content-Length, Transfer-Encoding, Connection, Date …),
 * whatever an engine says. Content-Encoding is too: bodies leave as they are, never compressed.
 */
bool mrg_header_is_transport(struct mrg_slice name);
