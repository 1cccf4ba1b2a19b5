// SPDX-License-Identifier: Apache-2.0
/*
 * Slurp: a regular file, whole, into memory. Thread: any; no state.
 */
#pragma once

#include <stddef.h>

#include "util/error.h"

/*
 * Reads a regular file of at most max bytes. The caller frees *ret_data; a NUL follows its bytes. NOT_FOUND,
 * IO (the system's words), INVALID ("not a regular file"; nothing is waited for), TOO_LARGE. The message does
 * not name the path.
 */
enum mrg_err mrg_slurp(const char *path, size_t max, char **ret_data, size_t *ret_len, struct mrg_error *err);
