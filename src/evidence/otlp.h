// SPDX-License-Identifier: Apache-2.0
/*
 * Otlp: finds the spans in a JSON document of traces: OTLP/JSON (resourceSpans, batches), lists, single spans
 * (also wrapped in {"span": …} or {"_source": …}), Jaeger's and Zipkin's exports. Thread: main; no state.
 */
#pragma once

#include <json-c/json.h>

/* One object that may be a span; `service` is its resource's service.name, or NULL. Both are borrowed. */
typedef void (*mrg_span_fn)(void *ctx, struct json_object *span, const char *service);

/* Calls fn for every such object of the document, in its order. */
void mrg_otlp_each(struct json_object *document, mrg_span_fn fn, void *ctx);
