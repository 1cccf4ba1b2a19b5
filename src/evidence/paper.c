// SPDX-License-Identifier: Apache-2.0
#include "evidence/prompt.h"

#include "evidence/roots.h"
#include "util/utf8.h"

/* Section III-G. */
#define ONE_FILE   8000u /* characters of source in one file */
#define MORE_FILES 6000u /* characters of source in several, headers included */
#define CALLER     5000u /* characters of caller source */

/* Text, wrapped for reading. */
/* clang-format off */
static const char words_before[] =
    "You simulate the service \"%s\" for integration tests of a program that calls it. Every user message"
    " is one HTTP request to the service; you answer it as the real service would.\n";

static const char words_after[] =
    "\n"
    "# Instructions\n"
    "\n"
    "Simulate the behaviour of this service as faithfully as you can: its status codes, its response "
    "bodies, its validation and its errors. Track its state across requests: what earlier requests of "
    "this conversation created or changed must show in later replies. Answer each request with one JSON"
    " object and nothing else, with these fields:\n"
    "- \"status\": the HTTP status, an integer\n"
    "- \"body\": the response body, an object or a list\n"
    "- \"headers\": optional, an object of response headers\n";
/* clang-format on */

/* Bytes of the first `characters` characters. */
static size_t cut(struct mrg_slice text, size_t characters)
{
    const char *p = text.ptr;
    const char *end = text.ptr + text.len;
    for (; p < end && characters > 0; characters--) {
        size_t len = mrg_utf8_len(p, end);
        p += len > 0 ? len : 1;
    }
    return (size_t)(p - text.ptr);
}

/* The files one after the other, with headers where there are several. */
static void join(struct mrg_buf *buf, const struct mrg_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->count > 1)
            mrg_buf_appendf(buf, "%s# File: %s\n", i > 0 ? "\n" : "", files->items[i].name);
        mrg_buf_append(buf, files->items[i].data, files->items[i].len);
    }
}

static int append_cut(struct mrg_buf *buf, struct mrg_parts *parts, const char *part,
                      const struct mrg_files *files, size_t limit, const char *tag)
{
    struct mrg_buf all;
    mrg_buf_init(&all, MRG_MAX_PROMPT);
    join(&all, files);
    struct mrg_slice text = mrg_buf_slice(&all);
    size_t len = cut(text, limit);
    if (len < text.len)
        mrg_drops_add(&parts->drops, part, "", "cut to %zu,000 characters (preset paper)", limit / 1000);
    int tokens = mrg_prompt_append_block(buf, tag, part, (struct mrg_slice){text.ptr, len});
    mrg_buf_done(&all);
    return tokens;
}

void mrg_prompt_append_paper(struct mrg_buf *buf, struct mrg_parts *parts, const char *tag,
                             struct mrg_prompt_size *size)
{
    _cleanup_free_ char *name = mrg_root_name(parts->name, "");
    mrg_buf_appendf(buf, words_before, name);
    if (parts->source.count > 0) {
        mrg_buf_append_str(buf, "\n# Source code of the service\n\n");
        size->source_tokens = append_cut(buf, parts, "source", &parts->source,
                                         parts->source.count > 1 ? MORE_FILES : ONE_FILE, tag);
    }
    if (parts->caller.count > 0) {
        mrg_buf_append_str(buf, "\n# Source code of the caller\n\n");
        size->caller_tokens = append_cut(buf, parts, "caller", &parts->caller, CALLER, tag);
    }
    if (parts->endpoints.count > 0) {
        mrg_buf_append_str(buf, "\n# Observed traffic: endpoint: status (count)\n\n");
        size->trace_tokens = mrg_prompt_append_endpoints(buf, tag, &parts->endpoints, false);
    }
    mrg_buf_append_str(buf, words_after);
}
