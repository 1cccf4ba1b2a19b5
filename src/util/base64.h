// SPDX-License-Identifier: Apache-2.0
/*
 * Base64: bytes as text (RFC 4648 section 4, with padding). Thread: any; no state.
 */
#pragma once

#include <stdbool.h>

#include "util/arena.h"
#include "util/buf.h"

void mrg_base64_append(struct mrg_buf *buf, struct mrg_slice bytes);

/*
 * Decodes into the arena, a NUL behind. Strict: padding where it belongs, no white space, no bits left over;
 * else false.
 */
bool mrg_base64_decode(struct mrg_arena *arena, struct mrg_slice text, struct mrg_slice *ret_bytes);
