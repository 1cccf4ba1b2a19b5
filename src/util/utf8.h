// SPDX-License-Identifier: Apache-2.0
/*
 * Utf8: which bytes are UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF).
 * NUL is a character like others. Thread: any; no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

#define MRG_UTF8_MAX         4              /* bytes of the longest character */
#define MRG_UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD, what stands for wrong bytes */

/* Bytes of the character at p, 1 to 4; 0 when those before end are no whole character. p < end. */
size_t mrg_utf8_len(const char *p, const char *end);

bool mrg_utf8_valid(struct mrg_slice text);

/* Writes the character and returns its bytes. code_point is no surrogate and at most 0x10FFFF. */
size_t mrg_utf8_encode(uint32_t code_point, char ret_bytes[MRG_UTF8_MAX]);

/* The most bytes, up to max, that text may be cut to without splitting a character. */
size_t mrg_utf8_cut(struct mrg_slice text, size_t max);
