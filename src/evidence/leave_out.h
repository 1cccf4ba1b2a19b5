// SPDX-License-Identifier: Apache-2.0
/*
 * Leave out: which files and folders of a tree say nothing of a service's behaviour, judged by name and by
 * content.
 *
 * It reads no file itself. All functions return NULL for "keep", else the reason (static). Thread: any; no
 * state.
 */
#pragma once

#include <stdbool.h>

#include "util/buf.h"

/*
 * The names that stand in one folder, sorted by strcmp: what lies beside a folder tells whether it is built
 * or vendored.
 */
struct mrg_siblings {
    char *const *names; /* borrowed */
    size_t count;       /* of names */
};

/*
 * `top`: it lies directly in the configured folder. `code`: a part that holds code (tests are left out
 * there).
 */
const char *mrg_leave_out_folder(const char *name, bool top, bool code, const struct mrg_siblings *siblings);
const char *mrg_leave_out_file(const char *name, bool code);

/* By content: "binary", "minified". `name` is the file's base name. Data of no bytes is "empty". */
const char *mrg_leave_out_content(const char *name, struct mrg_slice data);
