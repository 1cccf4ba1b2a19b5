// SPDX-License-Identifier: Apache-2.0
/*
 * Span: what one recorded span says of one call: method, path or route, status, whose it is.
 *
 * Understands the attribute names of OpenTelemetry's HTTP and RPC conventions, old and new, as a map (flat or
 * nested), as OTLP's list of keys and values, as Jaeger's or Zipkin's tags, or on the span itself. Thread:
 * main.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "util/buf.h"

enum mrg_span_kind { MRG_SPAN_NONE, MRG_SPAN_SERVER, MRG_SPAN_CLIENT, MRG_SPAN_OTHER };

struct mrg_span {
    enum mrg_span_kind kind; /* NONE: it does not say */
    char *service;           /* who recorded it; "" when unknown */
    char *peer;              /* a client span's other side: name or host[:port]; "" when unknown */
    char *method;            /* upper case; POST for an RPC */
    char *path;              /* raw, without query; /pkg.Service/Method for an RPC */
    char *query;             /* raw; "" when none */
    char *route;             /* http.route as given, or NULL */
    char *status;            /* "201", "NOT_FOUND", or "none" */
    bool rpc;                /* path is no path but a method */
};

/*
 * False when the span is none of a call (no method and path to be found). `service` is the resource's, or
 * NULL. Free with mrg_span_done.
 */
bool mrg_span_read(struct json_object *span, const char *service, struct mrg_span *ret_span);
void mrg_span_done(struct mrg_span *span);

/* The value of an attribute of a span or resource as text, or NULL. The caller frees it. */
char *mrg_span_attribute(struct json_object *holder, const char *key);
