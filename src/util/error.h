// SPDX-License-Identifier: Apache-2.0
/*
 * Errors: a code to branch on and a sentence to show.
 *
 * A function that can fail returns enum mrg_err (0 is success) and takes `struct mrg_error *err` as its last
 * argument, which may be NULL. It sets err only on failure and leaves its other outputs untouched then.
 * Callers wrap the message with what they were doing. Thread: any; an mrg_error belongs to its caller.
 */
#pragma once

#include "util/alloc.h"

#define MRG_ERR_MAP(X)                                                                                       \
    X(OK, "done")                                                                                            \
    X(INVALID, "bad input")                                                                                  \
    X(NOT_FOUND, "not found")                                                                                \
    X(TOO_LARGE, "over a limit")                                                                             \
    X(IO, "input or output failed")                                                                          \
    X(UNAVAILABLE, "could not be reached")                                                                   \
    X(TIMEOUT, "took too long")                                                                              \
    X(CANCELLED, "cancelled")                                                                                \
    X(UNSUPPORTED, "not supported")                                                                          \
    X(CONFLICT, "in use")                                                                                    \
    X(INTERNAL, "a fault in Mirage")

enum mrg_err {
#define X(name, text) MRG_ERR_##name,
    MRG_ERR_MAP(X)
#undef X
};

struct mrg_error {
    enum mrg_err code;  /* why, for code */
    char message[1024]; /* why, for people; no final full stop; cut when longer */
};

const char *mrg_err_text(enum mrg_err code);

/* Sets *err (when not NULL) and returns code, so that `return mrg_error_set(err, …)` reads well. */
enum mrg_err mrg_error_set(struct mrg_error *err, enum mrg_err code, const char *format, ...)
    MRG_PRINTF(3, 4);

/* Puts "what: " before the message that is there; returns err->code (INTERNAL when err is NULL). */
enum mrg_err mrg_error_wrap(struct mrg_error *err, const char *format, ...) MRG_PRINTF(2, 3);
