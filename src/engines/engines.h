// SPDX-License-Identifier: Apache-2.0
/*
 * Engines: the ops tables that this program has, for the one array of them in engines.c.
 */
#pragma once

#include "core/engine.h"

extern const struct mrg_engine_ops mrg_engine_cassette; /* what was recorded */
extern const struct mrg_engine_ops mrg_engine_llm;      /* the language model */
