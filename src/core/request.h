// SPDX-License-Identifier: Apache-2.0
/*
 * Request: what was asked, in the one form that serves every wire (method, raw path, query, headers, body).
 *
 * An adapter fills it; all its bytes lie in the exchange's arena. A JSON body keeps its own text, so that
 * 100.000001 and "2" stay what they were. Which headers a model is shown is decided here by name, and by a
 * dependency's own list in core/match.h. Thread: whoever has the exchange.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/arena.h"
#include "util/buf.h"
#include "util/error.h"

struct mrg_header {
    struct mrg_slice name;  /* lower case; followed by a NUL */
    struct mrg_slice value; /* without white space at its ends; followed by a NUL */
};

enum mrg_body_kind {
    MRG_BODY_NONE,   /* no body at all */
    MRG_BODY_JSON,   /* one JSON value, checked (util/json.h); text is the caller's own spelling */
    MRG_BODY_TEXT,   /* UTF-8 that is not JSON (or not said to be) */
    MRG_BODY_BINARY, /* anything else */
};

struct mrg_body {
    enum mrg_body_kind kind;
    struct mrg_slice bytes; /* as received; followed by a NUL */
};

struct mrg_request {
    struct mrg_slice method;    /* as sent, upper case for the known ones */
    struct mrg_slice path;      /* raw, percent-escapes kept, without query, `/__s/NAME` and `prefix` */
    struct mrg_slice query;     /* raw, without '?'; empty when none */
    struct mrg_header *headers; /* in the order received, repeated ones too */
    size_t header_count;        /* of headers */
    struct mrg_body body;       /* as received */
};

/* The first header of that (lower-case) name, or NULL. */
const struct mrg_slice *mrg_request_header(const struct mrg_request *request, const char *name);

/*
 * Classifies body bytes (in the arena, NUL behind): JSON when the content type says json or is missing and
 * the bytes are valid JSON; text when UTF-8 without NULs; else binary. A body that is said to be JSON and is
 * not is TEXT: services answer such bodies too; and so is one that is nested deeper than MRG_MAX_BODY_DEPTH.
 * No bytes are no body.
 */
struct mrg_body mrg_body_classify(struct mrg_slice bytes, const struct mrg_slice *content_type);

/* Whether a checked JSON text is nested deeper than MRG_MAX_BODY_DEPTH. */
bool mrg_body_is_too_deep(struct mrg_slice json);

/*
 * What may stand in a head, in a request's and in a reply's (RFC 9110 section 5.6.2 and 5.5): the table holds
 * the lower case of each character of a token and 0 for all others; a token is one or more of these; a value
 * has no control character but the tab.
 */
extern const char mrg_token_lower[256];
bool mrg_is_token(struct mrg_slice text);
bool mrg_has_control(struct mrg_slice text);

/* Whether a content type is application/json, text/json or ends in +json, whatever its parameters. */
bool mrg_type_is_json(struct mrg_slice content_type);

/*
 * A header value as it is shown: itself when it is UTF-8; else in *arena (made when needed), a blank, which no
 * value begins with, then the value with \xE9 for each byte that is not UTF-8 and \\ for a backslash.
 */
struct mrg_slice mrg_header_shown(struct mrg_arena **arena, struct mrg_slice value);

/*
 * Appends the normal form as one JSON object, keys in a fixed order:
 *   {"method":…,"path":…,"query":{…},"headers":{…},"body":…}
 * query and headers only when there are any: values are strings, arrays of strings for repeated keys; a
 * query's are decoded (core/query.h). Bytes that are not UTF-8 stand as %FF in path and query, and as \xFF in
 * headers (mrg_header_shown). A JSON body is its own text, minified; text is "body_text", bytes are
 * "body_base64", no body is no member. Headers for which `show` returns false are left out, and so is what
 * the body's form says already (mrg_header_is_implied).
 */
typedef bool (*mrg_header_filter_fn)(const void *ctx, const struct mrg_header *header);
void mrg_request_append_json(struct mrg_buf *buf, const struct mrg_request *request,
                             mrg_header_filter_fn show, const void *ctx);

/*
 * Appends a body as a member of such an object, a comma before it: `,"body":…`, `,"body_base64":"…"`, or a
 * text under the name `text` ("body_text"). Nothing when there is no body.
 */
void mrg_body_append_member(struct mrg_buf *buf, const char *text, enum mrg_body_kind kind,
                            struct mrg_slice bytes);

/*
 * Reads a normal form (the object that mrg_request_append_json writes; any text) back into the arena. A query
 * comes back percent-encoded. INVALID: the message names the member and what was expected; unknown members
 * are refused, since a misspelt one would silently not count.
 */
enum mrg_err mrg_request_parse(struct mrg_arena *arena, struct mrg_slice json,
                               struct mrg_request *ret_request, struct mrg_error *err);

/*
 * Whether a header is transport noise, which is never shown to a model and never compared:
 *  - of the connection and the message's framing (RFC 9110 section 7.6.1, RFC 9112): connection, keep-alive,
 *    te, trailer, transfer-encoding, upgrade, http2-settings, proxy-*, content-length, expect, host and
 *    max-forwards;
 *  - added by whoever forwards: via, forwarded, x-forwarded-*, x-real-ip, x-envoy-*;
 *  - added by tracing: traceparent, tracestate, baggage (a session's name travels in it);
 *  - of the client library, the same at each of its calls: user-agent, accept-encoding, accept-language,
 *    accept-charset, priority, dnt, sec-*, upgrade-insecure-requests; and date;
 *  - for caches on the way: cache-control, pragma. What decides a reply (if-none-match, range …) is shown;
 *  - Mirage's own: mirage-*.
 * All others are shown: services read authorization, idempotency-key, x-request-id, cookies and their own.
 */
bool mrg_header_is_noise(struct mrg_slice name);

/*
 * Whether a header says nothing beyond the normal form, so that it is neither shown nor compared:
 *  - content-type: application/json beside a body that is JSON (charset=utf-8 or not), or in a GET or HEAD
 *    without one: clients set it for all their requests. Any other type, and this one beside a body that is not JSON, decide about
 *    replies such as 415 and 400 and are shown;
 *  - accept where the caller is content with JSON: the first range is application/json, or the only one is
 *    anything at all, without parameters but q and charset. Others ask for another form and are shown.
 */
bool mrg_header_is_implied(const struct mrg_request *request, const struct mrg_header *header);
