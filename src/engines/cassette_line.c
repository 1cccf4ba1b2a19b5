// SPDX-License-Identifier: Apache-2.0
#include "engines/cassette_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/jsontext.h"
#include "util/json.h"

struct reading {
    struct mrg_arena *arena;
    struct mrg_cassette_line *line; /* what is being filled */
    struct mrg_slice at_text;       /* raw; ptr NULL until seen */
    struct mrg_slice wrong;         /* the value that an error is about */
};

static bool read_number(struct mrg_slice raw, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.ptr[i] < '0' || raw.ptr[i] > '9' || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(raw.ptr[i] - '0'), &value))
            return false;
    }
    *ret_value = value;
    return raw.len > 0;
}

static bool read_place(struct mrg_slice raw, mrg_place *ret_place)
{
    mrg_place place = 0;
    if (raw.len != MRG_PLACE_TEXT + 2 || *raw.ptr != '"')
        return false;
    for (size_t i = 1; i <= MRG_PLACE_TEXT; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = raw.ptr[i] ? strchr(digits, raw.ptr[i]) : NULL;
        if (!digit)
            return false;
        place = place << 4 | (mrg_place)(digit - digits);
    }
    *ret_place = place;
    return true;
}

static enum mrg_err read_tokens(struct mrg_cassette_line *line, struct mrg_slice raw, struct mrg_error *err)
{
    uint64_t *const counts[] = {&line->tokens_in, &line->tokens_cached, &line->tokens_out};
    size_t cursor = 0, count = 0;
    struct mrg_slice item;
    bool fits = *raw.ptr == '[';
    while (fits && mrg_json_next_item(raw, &cursor, &item))
        fits = count < MRG_ARRAY_LEN(counts) && read_number(item, counts[count++]);
    if (!fits || count != MRG_ARRAY_LEN(counts))
        return mrg_jsontext_expected(err, "\"tokens\"", raw, "three counts: in, cached and out");
    return MRG_ERR_OK;
}

static enum mrg_err read_by_member(struct reading *reading, struct mrg_slice key, struct mrg_slice raw,
                                   struct mrg_error *err)
{
    struct mrg_cassette_line *line = reading->line;
    if (mrg_slice_eq_str(key, "model"))
        return mrg_jsontext_read_string(reading->arena, "\"model\"", raw, &line->model, err);
    if (mrg_slice_eq_str(key, "prompt"))
        return mrg_jsontext_read_string(reading->arena, "\"prompt\"", raw, &line->prompt, err);
    if (mrg_slice_eq_str(key, "evidence"))
        return mrg_jsontext_read_string(reading->arena, "\"evidence\"", raw, &line->evidence, err);
    if (mrg_slice_eq_str(key, "id"))
        return mrg_jsontext_read_string(reading->arena, "\"id\"", raw, &line->id, err);
    if (mrg_slice_eq_str(key, "text"))
        return mrg_jsontext_read_string(reading->arena, "\"text\"", raw, &line->text, err);
    if (mrg_slice_eq_str(key, "tokens"))
        return read_tokens(line, raw, err);
    if (mrg_slice_eq_str(key, "ms") && !read_number(raw, &line->ms))
        return mrg_jsontext_expected(err, "\"ms\"", raw, "milliseconds");
    return MRG_ERR_OK;
}

static enum mrg_err read_by(struct reading *reading, struct mrg_slice raw, struct mrg_error *err)
{
    if (*raw.ptr != '{')
        return mrg_jsontext_expected(err, "\"by\"", raw, "an object");
    size_t cursor = 0;
    struct mrg_slice key, value;
    enum mrg_err code = MRG_ERR_OK;
    while (!code && mrg_json_next(raw, &cursor, &key, &value)) {
        reading->wrong = value;
        code = read_by_member(reading, key, value, err);
    }
    return code;
}

static enum mrg_err read_object(const char *what, struct mrg_slice raw, struct mrg_slice *ret_object,
                                struct mrg_error *err)
{
    if (*raw.ptr != '{')
        return mrg_jsontext_expected(err, what, raw, "an object");
    *ret_object = raw;
    return MRG_ERR_OK;
}

static enum mrg_err read_nth(struct mrg_cassette_line *line, struct mrg_slice raw, struct mrg_error *err)
{
    uint64_t nth;
    if (!read_number(raw, &nth) || nth == 0 || nth > UINT32_MAX)
        return mrg_jsontext_expected(err, "\"nth\"", raw, "a count from 1");
    line->nth = (unsigned)nth;
    return MRG_ERR_OK;
}

static enum mrg_err read_member(struct reading *reading, struct mrg_slice key, struct mrg_slice raw,
                                struct mrg_error *err)
{
    struct mrg_cassette_line *line = reading->line;
    reading->wrong = raw;
    if (mrg_slice_eq_str(key, "at")) {
        reading->at_text = raw;
        if (!read_place(raw, &line->at))
            return mrg_jsontext_expected(err, "\"at\"", raw, "16 hexadecimal digits in lower case");
        return MRG_ERR_OK;
    }
    if (mrg_slice_eq_str(key, "nth"))
        return read_nth(line, raw, err);
    if (mrg_slice_eq_str(key, "dep"))
        return mrg_jsontext_read_string(reading->arena, "\"dep\"", raw, &line->dep, err);
    if (mrg_slice_eq_str(key, "req"))
        return read_object("\"req\"", raw, &line->req, err);
    if (mrg_slice_eq_str(key, "rep"))
        return read_object("\"rep\"", raw, &line->rep, err);
    if (mrg_slice_eq_str(key, "clock"))
        return mrg_jsontext_read_string(reading->arena, "\"clock\"", raw, &line->clock, err);
    return mrg_slice_eq_str(key, "by") ? read_by(reading, raw, err) : MRG_ERR_OK;
}

static enum mrg_err find_missing(const struct reading *reading, struct mrg_error *err)
{
    const struct mrg_cassette_line *line = reading->line;
    const struct mrg_slice none = {NULL, 0};
    if (!reading->at_text.ptr)
        return mrg_jsontext_expected(err, "\"at\"", none, "the place: 16 hexadecimal digits");
    if (line->nth == 0)
        return mrg_jsontext_expected(err, "\"nth\"", none, "a count from 1");
    if (!line->dep.ptr)
        return mrg_jsontext_expected(err, "\"dep\"", none, "the dependency's name");
    if (!line->req.ptr)
        return mrg_jsontext_expected(err, "\"req\"", none, "the request");
    if (!line->rep.ptr)
        return mrg_jsontext_expected(err, "\"rep\"", none, "the reply");
    return MRG_ERR_OK;
}

/*
 * A JSON error says "line 1, column 9: what"; here the line is the file's, so only the column and the rest
 * are kept.
 */
static void take_column(struct mrg_error *err, size_t *ret_column)
{
    unsigned long column;
    int past = 0;
    if (sscanf(err->message, "line %*u, column %lu: %n", &column, &past) == 1 && past > 0) {
        *ret_column = column;
        memmove(err->message, err->message + past, strlen(err->message + past) + 1);
    }
}

enum mrg_err mrg_cassette_line_parse(struct mrg_arena *arena, struct mrg_slice text,
                                     struct mrg_cassette_line *ret_line, size_t *ret_column,
                                     struct mrg_error *err)
{
    struct mrg_error own;
    struct mrg_slice none = MRG_SLICE("");
    struct mrg_cassette_line line = {
        .model = none, .prompt = none, .evidence = none, .id = none, .text = none, .clock = none};
    struct reading reading = {.arena = arena, .line = &line, .wrong = text};
    if (!err)
        err = &own;
    *ret_column = 1;
    enum mrg_err code = mrg_json_check(text, err);
    if (code) {
        take_column(err, ret_column);
        return code;
    }
    const char *first = text.ptr + strspn(text.ptr, " \t\r\n");
    if (*first != '{')
        return mrg_jsontext_expected(err, "the line", text, "a JSON object");
    size_t cursor = 0;
    struct mrg_slice key, raw;
    while (!code && mrg_json_next(text, &cursor, &key, &raw))
        code = read_member(&reading, key, raw, err);
    if (code) {
        *ret_column = (size_t)(reading.wrong.ptr - text.ptr) + 1;
        return code;
    }
    code = find_missing(&reading, err);
    if (!code)
        *ret_line = line;
    return code;
}

static void append_text(struct mrg_buf *buf, const char *before, struct mrg_slice text)
{
    mrg_buf_append_str(buf, before);
    mrg_json_append_string(buf, text);
}

void mrg_cassette_line_append(struct mrg_buf *buf, const struct mrg_cassette_line *line)
{
    char place[MRG_PLACE_TEXT + 1];
    mrg_place_text(line->at, place);
    mrg_buf_appendf(buf, "{\"at\":\"%s\",\"nth\":%u", place, line->nth);
    append_text(buf, ",\"dep\":", line->dep);
    mrg_buf_append_str(buf, ",\"req\":");
    mrg_buf_append_slice(buf, line->req);
    mrg_buf_append_str(buf, ",\"rep\":");
    mrg_buf_append_slice(buf, line->rep);
    if (line->model.len > 0) {
        append_text(buf, ",\"by\":{\"model\":", line->model);
        append_text(buf, ",\"prompt\":", line->prompt);
        append_text(buf, ",\"evidence\":", line->evidence);
        mrg_buf_appendf(buf, ",\"tokens\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "],\"ms\":%" PRIu64,
                        line->tokens_in, line->tokens_cached, line->tokens_out, line->ms);
        append_text(buf, ",\"id\":", line->id);
        append_text(buf, ",\"text\":", line->text);
        mrg_buf_append_char(buf, '}');
    }
    if (line->clock.len > 0)
        append_text(buf, ",\"clock\":", line->clock);
    mrg_buf_append_char(buf, '}');
}
