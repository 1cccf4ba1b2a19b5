// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "core/jsontext.h"
#include "fidelity/result.h"
#include "util/json.h"

/* A document being read. */
struct reading {
    struct mrg_arena *arena;
    struct mrg_error *err;
};

static size_t count_items(struct mrg_slice array)
{
    struct mrg_slice item;
    size_t cursor = 0, count = 0;
    while (mrg_json_next_item(array, &cursor, &item))
        count++;
    return count;
}

static enum mrg_err refuse(struct reading *reading, const char *place, const char *expected)
{
    return mrg_error_set(reading->err, MRG_ERR_INVALID, "%s: expected %s", place, expected);
}

/* A text member; `other` when it is not there, unless that is NULL. */
static enum mrg_err read_text(struct reading *reading, struct mrg_slice object, const char *name,
                              const char *other, const char **ret_text)
{
    struct mrg_slice raw, text;
    if (!mrg_json_member(object, name, &raw)) {
        *ret_text = other;
        return other ? MRG_ERR_OK : refuse(reading, name, "a text; it is missing");
    }
    enum mrg_err code = mrg_jsontext_read_string(reading->arena, name, raw, &text, reading->err);
    if (!code)
        *ret_text = mrg_arena_memdup(reading->arena, text.ptr, text.len);
    return code;
}

/* An optional text: NULL when it is not there. */
static enum mrg_err read_optional(struct reading *reading, struct mrg_slice object, const char *name,
                                  const char **ret_text)
{
    struct mrg_slice raw;
    *ret_text = NULL;
    return mrg_json_member(object, name, &raw) ? read_text(reading, object, name, NULL, ret_text)
                                               : MRG_ERR_OK;
}

static uint64_t read_number(struct mrg_slice object, const char *name, uint64_t other)
{
    struct mrg_slice raw;
    return mrg_json_member(object, name, &raw) ? strtoull(raw.ptr, NULL, 10) : other;
}

static enum mrg_err read_texts(struct reading *reading, struct mrg_slice object, const char *name,
                               const char *const **ret_texts, size_t *ret_count)
{
    struct mrg_slice array, item, text;
    size_t cursor = 0;
    if (!mrg_json_member(object, name, &array))
        return MRG_ERR_OK;
    const char **texts = mrg_arena_zalloc(reading->arena, (count_items(array) + 1) * sizeof(*texts));
    while (mrg_json_next_item(array, &cursor, &item)) {
        enum mrg_err code = mrg_jsontext_read_string(reading->arena, name, item, &text, reading->err);
        if (code)
            return code;
        texts[(*ret_count)++] = mrg_arena_memdup(reading->arena, text.ptr, text.len);
    }
    *ret_texts = texts;
    return MRG_ERR_OK;
}

static enum mrg_err read_rule(struct reading *reading, struct mrg_slice item, struct mrg_compare_rule *rule)
{
    static const char *const names[] = {
#define X(name, text) text,
        MRG_DYNAMIC_MAP(X)
#undef X
    };
    const char *kind;
    enum mrg_err code = read_text(reading, item, "path", NULL, &rule->path);
    if (!code)
        code = read_optional(reading, item, "pattern", &rule->pattern);
    if (!code)
        code = read_text(reading, item, "kind", NULL, &kind);
    if (code)
        return code;
    for (size_t i = 0; i < MRG_ARRAY_LEN(names); i++)
        if (strcmp(kind, names[i]) == 0) {
            rule->kind = (enum mrg_dynamic)i;
            return MRG_ERR_OK;
        }
    return refuse(reading, "kind", "one of id, token, time, number, text");
}

static enum mrg_err read_rules(struct reading *reading, struct mrg_slice object,
                               struct mrg_compare_rules *rules)
{
    struct mrg_slice array, item;
    size_t cursor = 0;
    enum mrg_err code = MRG_ERR_OK;
    if (mrg_json_member(object, "dynamic", &array)) {
        struct mrg_compare_rule *all =
            mrg_arena_zalloc(reading->arena, (count_items(array) + 1) * sizeof(*all));
        while (!code && mrg_json_next_item(array, &cursor, &item))
            code = read_rule(reading, item, &all[rules->dynamic_count++]);
        rules->dynamic = all;
    }
    if (!code)
        code = read_texts(reading, object, "sets", &rules->sets, &rules->set_count);
    if (!code)
        code = read_texts(reading, object, "ignore", &rules->ignore, &rules->ignore_count);
    return code;
}

/* A reply over gRPC alone has no HTTP status, which the text form does not know: it is read with one and loses it again. */
static enum mrg_err read_grpc_reply(struct reading *reading, struct mrg_slice raw, struct mrg_reply *reply)
{
    struct mrg_slice key, value;
    struct mrg_buf text;
    mrg_buf_init(&text, SIZE_MAX);
    mrg_buf_append_str(&text, "{\"status\":200");
    for (size_t cursor = 0; mrg_json_next(raw, &cursor, &key, &value);)
        if (!mrg_slice_eq_str(key, "status"))
            mrg_buf_appendf(&text, ",\"%.*s\":%.*s", (int)key.len, key.ptr, (int)value.len, value.ptr);
    mrg_buf_append_char(&text, '}');
    enum mrg_err code = mrg_reply_parse(reading->arena, mrg_buf_slice(&text), reply, reading->err);
    reply->status = 0;
    mrg_buf_done(&text);
    return code;
}

static enum mrg_err read_reply(struct reading *reading, struct mrg_slice raw, struct mrg_reply *reply)
{
    struct mrg_slice status;
    if (mrg_json_member(raw, "status", &status) && mrg_slice_eq_str(status, "0") &&
        mrg_json_member(raw, "grpc_status", &status))
        return read_grpc_reply(reading, raw, reply);
    return mrg_reply_parse(reading->arena, raw, reply, reading->err);
}

static enum mrg_err read_side(struct reading *reading, struct mrg_slice call, const char *name, bool left_out,
                              struct mrg_exchanged *side)
{
    struct mrg_slice object, raw;
    if (!mrg_json_member(call, name, &object))
        return refuse(reading, name, "an object; it is missing");
    side->duration_us = read_number(object, "duration_us", 0);
    enum mrg_err code = mrg_json_member(object, "request", &raw)
                            ? mrg_request_parse(reading->arena, raw, &side->request, reading->err)
                            : refuse(reading, "request", "an object; it is missing");
    if (!code)
        code = read_optional(reading, object, "error", &side->error);
    if (!code && mrg_json_member(object, "reply", &raw))
        code = read_reply(reading, raw, &side->reply);
    else if (!code && !side->error && !left_out)
        code = refuse(reading, "reply", "an object; it is missing");
    return code ? mrg_error_wrap(reading->err, "%s", name) : MRG_ERR_OK;
}

static enum mrg_err read_call(struct reading *reading, struct mrg_slice item, struct mrg_result_call *call)
{
    enum mrg_err code = read_optional(reading, item, "left_out", &call->left_out);
    if (!code)
        code = read_side(reading, item, "real", call->left_out != NULL, &call->real);
    if (!code)
        code = read_side(reading, item, "simulated", call->left_out != NULL, &call->simulated);
    return code;
}

static enum mrg_err read_calls(struct reading *reading, struct mrg_slice object, struct mrg_trial *trial)
{
    struct mrg_slice array, item;
    size_t cursor = 0;
    if (!mrg_json_member(object, "calls", &array))
        return refuse(reading, "calls", "a list; it is missing");
    trial->calls = mrg_arena_zalloc(reading->arena, (count_items(array) + 1) * sizeof(*trial->calls));
    while (mrg_json_next_item(array, &cursor, &item)) {
        enum mrg_err code = read_call(reading, item, &trial->calls[trial->call_count]);
        if (code)
            return mrg_error_wrap(reading->err, "calls[%zu]", trial->call_count);
        trial->call_count++;
    }
    return MRG_ERR_OK;
}

static enum mrg_err read_trial(struct reading *reading, struct mrg_slice item, struct mrg_trial *trial)
{
    enum mrg_err code = read_text(reading, item, "name", NULL, &trial->scenario);
    trial->repeat = (unsigned)read_number(item, "repeat", 1);
    if (!code)
        code = read_text(reading, item, "category", "", &trial->category);
    if (!code)
        code = read_text(reading, item, "dependency", "", &trial->dependency);
    if (!code)
        code = read_optional(reading, item, "error", &trial->error);
    if (!code)
        code = read_rules(reading, item, &trial->rules);
    return code ? code : read_calls(reading, item, trial);
}

static enum mrg_err read_trials(struct reading *reading, struct mrg_slice text, struct mrg_result *result)
{
    struct mrg_slice array, item;
    size_t cursor = 0;
    if (!mrg_json_member(text, "scenarios", &array))
        return refuse(reading, "scenarios", "a list; it is missing");
    result->trials = mrg_arena_zalloc(reading->arena, (count_items(array) + 1) * sizeof(*result->trials));
    while (mrg_json_next_item(array, &cursor, &item)) {
        enum mrg_err code = read_trial(reading, item, &result->trials[result->trial_count]);
        if (code)
            return mrg_error_wrap(reading->err, "scenarios[%zu]", result->trial_count);
        result->trial_count++;
    }
    return MRG_ERR_OK;
}

enum mrg_err mrg_result_parse(struct mrg_arena *arena, struct mrg_slice text, struct mrg_result *ret_result,
                              struct mrg_error *err)
{
    struct mrg_error own;
    struct reading reading = {arena, err ? err : &own};
    struct mrg_result result = {.trial_count = 0};
    const char *format;
    enum mrg_err code = mrg_json_check(text, reading.err);
    if (!code)
        code = read_text(&reading, text, "format", "", &format);
    if (!code && strcmp(format, MRG_RESULT_FORMAT) != 0)
        code = refuse(&reading, "format", "\"" MRG_RESULT_FORMAT "\", as verify --json writes it");
    if (!code)
        code = read_text(&reading, text, "label", "", &result.label);
    if (!code)
        code = read_text(&reading, text, "started", "", &result.started);
    if (!code)
        code = read_text(&reading, text, "wire", "", &result.wire);
    if (!code)
        code = read_text(&reading, text, "real", "", &result.real);
    if (!code)
        code = read_text(&reading, text, "simulated", "", &result.simulated);
    if (!code)
        code = read_trials(&reading, text, &result);
    if (!code)
        *ret_result = result;
    return code;
}
