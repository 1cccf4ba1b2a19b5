// SPDX-License-Identifier: Apache-2.0
/*
 * Llm text: what the model is told for one request, and the JSON in what it answers.
 * Thread: any; no state.
 */
#pragma once

#include "core/exchange.h"
#include "core/match.h"
#include "util/text.h"

/*
 * The last message of the conversation: the scenario, when one was announced, and the request's normal form.
 * Earlier messages hold the normal form alone, so that a provider's cached prefix stays. One reference, the
 * caller's.
 */
struct mrg_text *mrg_llm_text_request(const struct mrg_exchange *exchange, const struct mrg_match *match);

/* What sends a reply back with its error. One reference, the caller's. */
struct mrg_text *mrg_llm_text_repair(const char *error);

/*
 * The JSON object in a model's answer: alone, in a fence, or with words around it. False with *err set (line
 * and column of what was wrong) when there is none. *ret_json points into text.
 */
bool mrg_llm_text_object(struct mrg_slice text, struct mrg_slice *ret_json, struct mrg_error *err);
