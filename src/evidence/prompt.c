// SPDX-License-Identifier: Apache-2.0
#include "evidence/prompt.h"

#include "evidence/roots.h"
#include "evidence/words.h"

#define MAX_MISSING 30u /* names of files that are not shown */

static struct mrg_slice content(const struct mrg_file *file)
{
    return (struct mrg_slice){file->data, file->len};
}

/* Files that the budget left out: a model should know that there is more. */
static void append_missing(struct mrg_buf *buf, const struct mrg_files *files)
{
    size_t missing = files->count - mrg_parts_kept(files);
    if (missing == 0)
        return;
    mrg_buf_append_str(buf, "Not shown, for lack of space:");
    size_t named = 0;
    for (size_t i = 0; i < files->count && named < MAX_MISSING; i++) {
        if (files->items[i].left_out)
            mrg_buf_appendf(buf, "%s %s", named++ > 0 ? "," : "", files->items[i].name);
    }
    mrg_buf_appendf(buf, "%s\n", missing > named ? ", and more" : "");
}

static int append_files(struct mrg_buf *buf, const struct mrg_files *files, const char *title,
                        const char *tag)
{
    int tokens = 0;
    if (mrg_parts_kept(files) == 0)
        return 0;
    mrg_buf_append_str(buf, title);
    for (size_t i = 0; i < files->count; i++) {
        if (!files->items[i].left_out)
            tokens += mrg_prompt_append_block(buf, tag, files->items[i].name, content(&files->items[i]));
    }
    append_missing(buf, files);
    return tokens;
}

static size_t kept_endpoints(const struct mrg_endpoints *endpoints)
{
    size_t kept = 0;
    for (size_t i = 0; i < endpoints->count; i++)
        kept += !endpoints->items[i].left_out;
    return kept;
}

static int append_examples(struct mrg_buf *buf, const struct mrg_examples *examples, const char *tag)
{
    if (examples->count == 0)
        return 0;
    struct mrg_buf text;
    mrg_buf_init(&text, MRG_MAX_PROMPT);
    for (size_t i = 0; i < examples->count; i++) {
        if (i > 0)
            mrg_buf_append_char(&text, '\n');
        mrg_example_append(&text, &examples->items[i]);
    }
    mrg_buf_append_str(
        buf, "\nReal replies, from another time: none of these calls has happened in the conversation.\n\n");
    int tokens = mrg_prompt_append_block(buf, tag, "examples", mrg_buf_slice(&text));
    mrg_buf_done(&text);
    return tokens;
}

static void append_evidence(struct mrg_buf *buf, const struct mrg_parts *parts, const char *tag,
                            struct mrg_prompt_size *size)
{
    size->source_tokens = append_files(buf, &parts->source, "\nThe service's source code:\n\n", tag);
    size->schema_tokens = append_files(buf, &parts->schema, "\nThe description of its interface:\n\n", tag);
    size->caller_tokens =
        append_files(buf, &parts->caller,
                     "\nCode of a caller. It shows how the service is used, and is not part of it:\n\n", tag);
    if (kept_endpoints(&parts->endpoints) > 0) {
        mrg_buf_append_str(
            buf,
            "\nCalls seen in production, as endpoint: status (how many). None of them has happened in the "
            "conversation.\n\n");
        size->trace_tokens = mrg_prompt_append_endpoints(buf, tag, &parts->endpoints, true);
    }
    size->example_tokens = append_examples(buf, &parts->examples, tag);
}

static void append_inference(struct mrg_buf *buf, const struct mrg_parts *parts)
{
    mrg_buf_append_str(buf, mrg_words_without_source);
    if (mrg_parts_kept(&parts->schema) > 0)
        mrg_buf_append_str(buf, mrg_words_schema_weight);
    if (parts->examples.count > 0)
        mrg_buf_append_str(buf, mrg_words_example_weight);
    if (mrg_parts_kept(&parts->caller) > 0)
        mrg_buf_append_str(buf, mrg_words_caller_weight);
    if (kept_endpoints(&parts->endpoints) > 0)
        mrg_buf_append_str(buf, mrg_words_trace_weight);
    mrg_buf_append_str(buf, mrg_words_without_source_end);
}

void mrg_prompt_append(struct mrg_buf *buf, const struct mrg_parts *parts, const char *tag,
                       struct mrg_prompt_size *size)
{
    bool source = mrg_parts_kept(&parts->source) > 0;
    _cleanup_free_ char *name = mrg_root_name(parts->name, "");
    mrg_buf_append_str(buf, mrg_words_intro);
    mrg_buf_append_str(buf, name);
    mrg_buf_append_str(buf, mrg_words_intro_end);
    append_evidence(buf, parts, tag, size);
    mrg_buf_append_char(buf, '\n');
    if (source)
        mrg_buf_append_str(buf, mrg_words_with_source);
    else
        append_inference(buf, parts);
    if (source && (mrg_parts_kept(&parts->schema) > 0 || mrg_parts_kept(&parts->caller) > 0 ||
                   parts->endpoints.count > 0 || parts->examples.count > 0))
        mrg_buf_append_str(buf, mrg_words_source_wins);
    mrg_buf_append_str(buf, mrg_words_made_up);
    mrg_buf_append_str(buf, mrg_words_request);
    mrg_buf_append_str(buf, mrg_words_answer);
    if (parts->grpc)
        mrg_buf_append_str(buf, mrg_words_grpc);
    mrg_buf_append_str(buf, source ? mrg_words_unsure_with_source : mrg_words_unsure_without_source);
}
