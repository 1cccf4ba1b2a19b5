// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "evidence/prompt.h"
#include "evidence/tokens.h"

static bool has_tag(struct mrg_slice text, const char *tag)
{
    _cleanup_free_ char *open = mrg_asprintf("<%s", tag);
    _cleanup_free_ char *close = mrg_asprintf("</%s", tag);
    return text.len > 0 && (memmem(text.ptr, text.len, open, strlen(open)) ||
                            memmem(text.ptr, text.len, close, strlen(close)));
}

static bool files_have_tag(const struct mrg_files *files, const char *tag)
{
    for (size_t i = 0; i < files->count; i++) {
        if (has_tag((struct mrg_slice){files->items[i].data, files->items[i].len}, tag))
            return true;
    }
    return false;
}

static bool examples_have_tag(const struct mrg_examples *examples, const char *tag)
{
    struct mrg_buf text;
    mrg_buf_init(&text, MRG_MAX_PROMPT);
    for (size_t i = 0; i < examples->count; i++)
        mrg_example_append(&text, &examples->items[i]);
    bool has = has_tag(mrg_buf_slice(&text), tag);
    mrg_buf_done(&text);
    return has;
}

/* Endpoints have no "<": what spans say is cleaned of it. */
static bool any_has_tag(const struct mrg_parts *parts, const char *tag)
{
    return files_have_tag(&parts->source, tag) || files_have_tag(&parts->caller, tag) ||
           files_have_tag(&parts->schema, tag) || examples_have_tag(&parts->examples, tag);
}

char *mrg_prompt_tag(const struct mrg_parts *parts, const char *hash)
{
    char *tag = mrg_strdup("file");
    for (unsigned n = 0; any_has_tag(parts, tag); n++) {
        char hex[MRG_SHA256_HEX + 1];
        _cleanup_free_ char *seed = mrg_asprintf("%s %u", hash, n);
        mrg_sha256_hex(seed, strlen(seed), hex);
        free(tag);
        tag = mrg_asprintf("file-%.8s", hex);
    }
    return tag;
}

static int tokens_since(const struct mrg_buf *buf, size_t start)
{
    struct mrg_slice all = mrg_buf_slice(buf);
    return mrg_tokens((struct mrg_slice){all.ptr + start, all.len - start});
}

int mrg_prompt_append_block(struct mrg_buf *buf, const char *tag, const char *name, struct mrg_slice content)
{
    size_t start = buf->len;
    mrg_buf_appendf(buf, "<%s name=\"%s\">\n", tag, name);
    mrg_buf_append_slice(buf, content);
    if (content.len == 0 || content.ptr[content.len - 1] != '\n')
        mrg_buf_append_char(buf, '\n');
    mrg_buf_appendf(buf, "</%s>\n", tag);
    return tokens_since(buf, start);
}

int mrg_prompt_append_endpoints(struct mrg_buf *buf, const char *tag, const struct mrg_endpoints *endpoints,
                                bool queries)
{
    struct mrg_buf lines;
    mrg_buf_init(&lines, MRG_MAX_PROMPT);
    mrg_endpoints_append(&lines, endpoints, queries);
    int tokens = mrg_prompt_append_block(buf, tag, "traces", mrg_buf_slice(&lines));
    mrg_buf_done(&lines);
    return tokens;
}
