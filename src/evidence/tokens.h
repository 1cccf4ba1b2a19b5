// SPDX-License-Identifier: Apache-2.0
/*
 * Tokens: how many a text comes to, estimated without a tokenizer: 4 bytes each for ASCII, 2 bytes each for
 * the rest, rounded up. Thread: any; no state.
 */
#pragma once

#include "util/buf.h"

int mrg_tokens(struct mrg_slice text); /* at most INT_MAX */
