// SPDX-License-Identifier: Apache-2.0
/*
 * Examples: real replies of the dependency, one for each endpoint, from JSON lines of
 *   {"method", "path", "request_body"?, "status"?, "headers"?, "body" | "body_text"}
 * or of a request and a reply: {"req" | "request": {…}, "rep" | "reply" | "response": {…}}.
 * Bodies keep their spelling. Thread: main.
 */
#pragma once

#include "evidence/files.h"
#include "util/hash.h"

struct mrg_example {
    char *method;
    char *path;     /* as given, with its query */
    char *template; /* which endpoint it is of */
    int status;
    char *request; /* request body as JSON text, or NULL */
    char *headers; /* reply headers as JSON text, or NULL */
    char *body;    /* reply body as JSON text, or NULL */
};

struct mrg_examples {
    struct mrg_example *items; /* in the order read, one an endpoint: its first 2xx, else its first */
    size_t count, capacity;
};

/*
 * Reads the files that files holds (and hashes their bytes into them), without what `redact` names. Lines
 * that are no examples go to drops.
 */
enum mrg_err mrg_examples_read(struct mrg_files *files, const struct mrg_strings *redact,
                               struct mrg_examples *examples, struct mrg_drops *drops, struct mrg_error *err);
void mrg_examples_done(struct mrg_examples *examples);

void mrg_example_append(struct mrg_buf *buf, const struct mrg_example *example);
