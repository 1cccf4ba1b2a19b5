// SPDX-License-Identifier: Apache-2.0
/*
 * Prompt: the evidence and our words, as the system prompt that a model is given.
 *
 * Stable to the byte for the same parts. What evidence says stands in blocks that it cannot close: their tag
 * does not occur in it. Thread: main.
 */
#pragma once

#include "evidence/parts.h"

/* Bytes of one prompt: past any budget that a model could take. */
#define MRG_MAX_PROMPT (512u << 20)

/*
 * Our own: everything that is known, and how the reply is worked out. *size is filled in but for bytes and
 * tokens. `tag` is from mrg_prompt_tag.
 */
void mrg_prompt_append(struct mrg_buf *buf, const struct mrg_parts *parts, const char *tag,
                       struct mrg_prompt_size *size);

/*
 * The paper's system (section III-B): its parts and its limits in characters. What is cut is told in
 * parts->drops.
 */
void mrg_prompt_append_paper(struct mrg_buf *buf, struct mrg_parts *parts, const char *tag,
                             struct mrg_prompt_size *size);

/*
 * The tag of the blocks: "file", or "file-" and some hex where evidence has "<file" or "</file". `hash` is
 * the evidence's, which nothing in the evidence can know. The caller frees it.
 */
char *mrg_prompt_tag(const struct mrg_parts *parts, const char *hash);

/* One file in its block; both return the tokens that they have added, estimated. */
int mrg_prompt_append_block(struct mrg_buf *buf, const char *tag, const char *name, struct mrg_slice content);
int mrg_prompt_append_endpoints(struct mrg_buf *buf, const char *tag, const struct mrg_endpoints *endpoints,
                                bool queries);
