// SPDX-License-Identifier: Apache-2.0
#include "engines/llm_text.h"

#include <string.h>

#include "core/dependency.h"
#include "core/session.h"
#include "util/json.h"

#define SCENARIO_CALLS                                                                                       \
    "Scenario announced by the test (the calls to come, in order; a hint, no request and no state): "
#define SCENARIO_WORDS                                                                                       \
    "Instruction by the author of the test for this scenario; the simulated service behaves accordingly: "

struct mrg_text *mrg_llm_text_request(const struct mrg_exchange *exchange, const struct mrg_match *match)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    struct mrg_slice scenario = mrg_text_slice(exchange->state->scenario);
    struct mrg_slice instruction;
    uint64_t forgotten = exchange->state->exchanges - exchange->state->window_len;
    if (forgotten > 0 && exchange->dependency->config->preset != MRG_PRESET_PAPER)
        mrg_buf_appendf(&buf, "(The service has answered %llu requests before the first message above.)\n\n",
                        (unsigned long long)forgotten);
    if (scenario.len > 0) {
        bool words = mrg_json_member(scenario, "instruction", &instruction);
        mrg_buf_append_str(&buf, words ? SCENARIO_WORDS : SCENARIO_CALLS);
        mrg_buf_append_slice(&buf, words ? instruction : scenario);
        mrg_buf_append_str(&buf, "\n\nThe request to answer now:\n");
    }
    mrg_request_append_json(&buf, exchange->shown, mrg_match_shows, match);
    struct mrg_text *text = mrg_text_new(buf.data, buf.len);
    mrg_buf_done(&buf);
    return text;
}

struct mrg_text *mrg_llm_text_repair(const char *error)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_appendf(
        &buf,
        "Your last answer cannot be used: %s. The request is still unanswered. Answer it again with one JSON "
        "object of the form described at the start and nothing else.",
        error);
    struct mrg_text *text = mrg_text_new(buf.data, buf.len);
    mrg_buf_done(&buf);
    return text;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct mrg_slice trim(struct mrg_slice text)
{
    size_t start = 0, end = text.len;
    while (start < end && is_space(text.ptr[start]))
        start++;
    while (end > start && is_space(text.ptr[end - 1]))
        end--;
    return (struct mrg_slice){text.ptr + start, end - start};
}

/* What stands between the first fence's line and the next fence; text itself when there is none. */
static struct mrg_slice inside_fence(struct mrg_slice text)
{
    const char *open = text.ptr ? memmem(text.ptr, text.len, "```", 3) : NULL;
    const char *line = open ? memchr(open, '\n', text.len - (size_t)(open - text.ptr)) : NULL;
    if (!line)
        return text;
    struct mrg_slice rest = {line + 1, text.len - (size_t)(line + 1 - text.ptr)};
    /* The last fence: a body may hold fences of its own. */
    for (size_t at = rest.len; at >= 3; at--) {
        if (memcmp(rest.ptr + at - 3, "```", 3) == 0)
            return trim((struct mrg_slice){rest.ptr, at - 3});
    }
    return trim(rest);
}

/* Whether an array's bracket is next to the braces: of a list no object may be picked. */
static bool in_brackets(struct mrg_slice text, const char *first, const char *last)
{
    const char *end = text.ptr + text.len;
    while (first > text.ptr && is_space(first[-1]))
        first--;
    do
        last++;
    while (last < end && is_space(*last));
    return (first > text.ptr && first[-1] == '[') || (last < end && *last == ']');
}

static struct mrg_slice between_braces(struct mrg_slice text)
{
    const char *first = text.len > 0 ? memchr(text.ptr, '{', text.len) : NULL;
    const char *last = first ? memrchr(text.ptr, '}', text.len) : NULL;
    return last && last > first ? (struct mrg_slice){first, (size_t)(last - first) + 1}
                                : (struct mrg_slice){text.ptr, 0};
}

static bool is_object(struct mrg_slice text)
{
    return text.len > 0 && text.ptr[0] == '{' && mrg_json_check(text, NULL) == MRG_ERR_OK;
}

bool mrg_llm_text_object(struct mrg_slice text, struct mrg_slice *ret_json, struct mrg_error *err)
{
    text = trim(text);
    if (text.len == 0) {
        mrg_error_set(err, MRG_ERR_INVALID, "the answer is empty; expected a JSON object");
        return false;
    }
    const struct mrg_slice candidates[] = {text, inside_fence(text), between_braces(text)};
    struct mrg_slice braces = candidates[2];
    if (braces.len > 0 && !is_object(candidates[0]) && !is_object(candidates[1]) && is_object(braces) &&
        in_brackets(text, braces.ptr, braces.ptr + braces.len - 1)) {
        mrg_error_set(err, MRG_ERR_INVALID, "the answer is an array; expected one JSON object");
        return false;
    }
    for (size_t i = 0; i < MRG_ARRAY_LEN(candidates); i++) {
        if (is_object(candidates[i])) {
            *ret_json = candidates[i];
            return true;
        }
    }
    if (!memchr(text.ptr, '{', text.len)) {
        mrg_error_set(err, MRG_ERR_INVALID, "the answer holds no JSON object; expected one");
    } else {
        struct mrg_slice widest = candidates[2].len > 0 ? candidates[2] : text;
        if (mrg_json_check(widest, err))
            mrg_error_wrap(err, "the answer is not valid JSON");
        else
            mrg_error_set(err, MRG_ERR_INVALID,
                          "the answer is a JSON value but no object; expected an object");
    }
    return false;
}
