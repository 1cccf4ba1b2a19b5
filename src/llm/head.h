// SPDX-License-Identifier: Apache-2.0
/*
 * Head: the part of a request's body that many calls have in common, written once for all of them.
 *
 * A system prompt can be hundreds of kilobytes and thousands of calls may wait with it, so its escaped form,
 * and the state of the hash over it, are shared by count for as long as some call holds them. Thread: the
 * client's only.
 */
#pragma once

#include "llm/llm.h"
#include "llm/wire.h"
#include "util/list.h"

struct mrg_llm_head {
    struct mrg_list node; /* in the client's list of heads */
    enum mrg_provider provider;
    struct mrg_text *system; /* a reference; NULL: none */
    char *model;
    char *json; /* the bytes */
    size_t len;
    unsigned refs;             /* calls that hold it */
    struct mrg_sha256 *digest; /* private: after "system: TEXT" */
};

/* A head for these, from the list when one is there (the system text is compared by identity); give it
 * back. */
struct mrg_llm_head *mrg_llm_head_get(struct mrg_list *heads, const struct mrg_model_config *model,
                                      struct mrg_text *system);
void mrg_llm_head_put(struct mrg_llm_head *head); /* NULL is allowed */

/* SHA-256 over "system: TEXT\nuser: TEXT\nassistant: TEXT …" in lower-case hex. */
void mrg_llm_head_hash(const struct mrg_llm_head *head, const struct mrg_llm_message *messages, size_t count,
                       char ret_hex[MRG_SHA256_HEX + 1]);
