// SPDX-License-Identifier: Apache-2.0
/*
 * Imports: which files a file imports, guessed from the words of its import lines and the names of the other
 * files.
 *
 * Knows how Python, JavaScript, Go, Java, Kotlin, C#, Ruby, PHP, Rust, C and their like write it; files of
 * one folder see each other in languages with packages. Thread: main.
 */
#pragma once

#include <stdbool.h>

#include "evidence/files.h"

struct mrg_imports; /* the words of all files' import lines */

struct mrg_imports *mrg_imports_new(const struct mrg_files *files); /* borrows files */
void mrg_imports_free(struct mrg_imports *imports);

/* Whether the file with index from imports the one with index to. */
bool mrg_imports_has(const struct mrg_imports *imports, size_t from, size_t to);
