// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "compare/compare_int.h"
#include "core/jsontext.h"
#include "fidelity/judge_int.h"
#include "util/json.h"

const char *mrg_judge_rubric(void)
{
    return "You compare the replies of two implementations of one service, A and B, to the same requests. A "
           "program "
           "that calls the service reads these replies. Decide whether every reply of B tells that program, "
           "and the "
           "person who reads its log, the same as A's.\n"
           "\n"
           "The same: wording, punctuation or letter case of a message for people differ, and the message "
           "states the "
           "same facts.\n"
           "Not the same: any value, code, name, number, unit or condition differs or is missing; a message "
           "states "
           "another fact, another cause, or less; a message is about something else.\n"
           "Texts such as <id 1> stand for values that the service makes up; equal ones stand for equal "
           "values.\n"
           "Neither A nor B is the better one. If you are not sure, they are not the same.\n"
           "\n"
           "Answer with one JSON object and nothing else: {\"same\": true or false, \"why\": \"one "
           "sentence\"}";
}

void mrg_pair_text(const struct mrg_trial *trial, char ret_text[MRG_PAIR_TEXT + 1])
{
    struct mrg_buf buf;
    struct mrg_trial timeless = *trial;
    mrg_buf_init(&buf, SIZE_MAX);
    timeless.repeat = 0;
    timeless.calls = mrg_malloc((trial->call_count + 1) * sizeof(*timeless.calls));
    for (size_t i = 0; i < trial->call_count; i++) {
        timeless.calls[i] = trial->calls[i];
        timeless.calls[i].real.duration_us = timeless.calls[i].simulated.duration_us = 0;
    }
    mrg_trial_append_json(&buf, &timeless);
    struct mrg_hash128 hash = mrg_hash128_of(buf.data, buf.len, 0);
    snprintf(ret_text, MRG_PAIR_TEXT + 1, "%016llx", (unsigned long long)hash.low);
    mrg_freep(&timeless.calls);
    mrg_buf_done(&buf);
}

/* A text with each issued value replaced by its placeholder. */
static void append_anonymous(struct mrg_buf *buf, const struct mrg_pairs *pairs, bool real, const char *text)
{
    while (*text) {
        size_t best = 0, number = 0;
        for (size_t i = 0; i < pairs->count; i++) {
            const char *value = real ? pairs->items[i].real : pairs->items[i].simulated;
            size_t len = strlen(value);
            if (len > best && strncmp(text, value, len) == 0) {
                best = len;
                number = i + 1;
            }
        }
        if (best > 0)
            mrg_buf_appendf(buf, "<id %zu>", number);
        else
            mrg_buf_append_char(buf, *text);
        text += best > 0 ? best : 1;
    }
}

static void append_reply(struct mrg_buf *buf, const struct mrg_pairs *pairs, bool real, char letter,
                         const struct mrg_reply *reply)
{
    struct mrg_buf json;
    struct mrg_reply shown = *reply;
    mrg_buf_init(&json, SIZE_MAX);
    shown.headers = mrg_malloc((reply->header_count + 1) * sizeof(*shown.headers));
    shown.header_count = 0;
    for (size_t i = 0; i < reply->header_count; i++) {
        struct mrg_slice name = reply->headers[i].name;
        bool own = name.len > 7 && memcmp(name.ptr, "mirage-", 7) == 0;
        if (!own && !mrg_header_is_transport(name) && !mrg_slice_eq_str(name, "server"))
            shown.headers[shown.header_count++] = reply->headers[i];
    }
    mrg_reply_append_json(&json, &shown);
    mrg_buf_appendf(buf, "%c: ", letter);
    append_anonymous(buf, pairs, real, json.data);
    mrg_buf_append_char(buf, '\n');
    mrg_freep(&shown.headers);
    mrg_buf_done(&json);
}

static void append_request(struct mrg_buf *buf, const struct mrg_pairs *pairs,
                           const struct mrg_request *request)
{
    struct mrg_buf json;
    mrg_buf_init(&json, SIZE_MAX);
    mrg_request_append_json(&json, request, NULL, NULL);
    append_anonymous(buf, pairs, true, json.data);
    mrg_buf_append_char(buf, '\n');
    mrg_buf_done(&json);
}

static void append_calls(struct mrg_buf *buf, const struct mrg_pairs *pairs, const struct mrg_trial *trial,
                         bool real_first)
{
    for (size_t i = 0; i < trial->call_count; i++) {
        const struct mrg_result_call *call = &trial->calls[i];
        if (call->left_out)
            continue;
        mrg_buf_appendf(buf, "\nRequest %zu: ", i + 1);
        append_request(buf, pairs, &call->real.request);
        append_reply(buf, pairs, real_first, 'A', real_first ? &call->real.reply : &call->simulated.reply);
        append_reply(buf, pairs, !real_first, 'B', real_first ? &call->simulated.reply : &call->real.reply);
    }
}

void mrg_judge_append_question(struct mrg_buf *buf, const struct mrg_trial_score *score)
{
    struct mrg_compare *compare = NULL;
    const struct mrg_trial *trial = score->trial;
    char pair[MRG_PAIR_TEXT + 1];
    mrg_pair_text(trial, pair);
    if (mrg_compare_new(&trial->rules, &compare, NULL))
        return; /* it was scored by these rules */
    struct mrg_arena *arena = mrg_arena_new(0);
    for (size_t i = 0; i < trial->call_count; i++) {
        struct mrg_comparison comparison;
        mrg_compare_requests(compare, &trial->calls[i].real.request, &trial->calls[i].simulated.request);
        mrg_compare_replies(compare, &trial->calls[i].real.reply, &trial->calls[i].simulated.reply, arena,
                            &comparison);
    }
    append_calls(buf, &compare->pairs, trial, (pair[0] & 1) == 0);
    mrg_arena_free(arena);
    mrg_compare_free(compare);
}

static enum mrg_err expected(struct mrg_error *err, const char *what)
{
    return mrg_error_set(err, MRG_ERR_INVALID, "expected {\"same\": true or false, \"why\": \"…\"}; %s",
                         what);
}

enum mrg_err mrg_judge_read_answer(struct mrg_slice text, struct mrg_arena *arena, bool *ret_same,
                                   const char **ret_why, struct mrg_error *err)
{
    struct mrg_slice same, why, sentence;
    struct mrg_error inner;
    text = mrg_slice_trim(text);
    if (mrg_json_check(text, &inner))
        return expected(err, inner.message);
    if (!mrg_json_member(text, "same", &same) ||
        !(mrg_slice_eq_str(same, "true") || mrg_slice_eq_str(same, "false")))
        return expected(err, "\"same\" is neither true nor false");
    if (!mrg_json_member(text, "why", &why) || mrg_jsontext_read_string(arena, "why", why, &sentence, &inner))
        return expected(err, "\"why\" is no text");
    *ret_same = mrg_slice_eq_str(same, "true");
    *ret_why = mrg_arena_memdup(arena, sentence.ptr, sentence.len);
    return MRG_ERR_OK;
}
