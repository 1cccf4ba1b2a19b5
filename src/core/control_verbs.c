// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/control_int.h"
#include "util/json.h"
#include "util/text.h"

void mrg_verb_health(struct mrg_control *control)
{
    struct mrg_buf buf;
    struct mrg_config *config = mrg_gateway_config(control->gateway);
    mrg_buf_init(&buf, MRG_MAX_REPLY_BODY);
    mrg_buf_appendf(&buf, "{\"status\":\"%s\",\"version\":\"" MRG_VERSION "\",\"dependencies\":[",
                    mrg_gateway_is_closed(control->gateway) ? "stopping" : "serving");
    const char *before = "";
    for (size_t i = 0; i < config->dependency_count; i++) {
        const char *name = config->dependencies[i].name;
        if (control->dependency && strcmp(control->dependency, name) != 0)
            continue;
        mrg_buf_append_str(&buf, before);
        mrg_json_append_string(&buf, mrg_slice_of(name));
        before = ",";
    }
    mrg_buf_append_str(&buf, "]}");
    mrg_control_reply(control, 200, &buf);
    mrg_buf_done(&buf);
    mrg_config_unref(config);
}

/* {"status": what, "session": …, "dependency"?: …} */
static void reply_done(struct mrg_control *control, const char *what)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, MRG_MAX_REPLY_BODY);
    mrg_buf_appendf(&buf, "{\"status\":\"%s\",\"session\":", what);
    mrg_json_append_string(&buf, mrg_control_session(control));
    if (control->dependency) {
        mrg_buf_append_str(&buf, ",\"dependency\":");
        mrg_json_append_string(&buf, mrg_slice_of(control->dependency));
    }
    mrg_buf_append_char(&buf, '}');
    mrg_control_reply(control, 200, &buf);
    mrg_buf_done(&buf);
}

static void begin_anew(struct mrg_control *control, struct mrg_text *scenario)
{
    struct mrg_session *session =
        mrg_sessions_get(mrg_gateway_sessions(control->gateway), mrg_control_session(control));
    mrg_session_reset(session, control->dependency, scenario);
    mrg_session_unref(session);
}

void mrg_verb_reset(struct mrg_control *control)
{
    begin_anew(control, NULL);
    reply_done(control, "reset");
}

/* A string with a NUL is none: it would be cut there. */
static bool string_of(struct json_object *object, const char *key, const char **ret_text)
{
    struct json_object *value;
    if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_string) ||
        strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value))
        return false;
    *ret_text = json_object_get_string(value);
    return true;
}

static void append_member(struct mrg_buf *buf, const char *before, const char *key, const char *value)
{
    mrg_buf_appendf(buf, "%s\"%s\":", before, key);
    mrg_json_append_string(buf, mrg_slice_of(value));
}

/* One call of the announcement: method and path, nothing else, so that no expectation can slip into a
 * prompt. */
static bool append_call(struct mrg_control *control, struct mrg_buf *buf, struct json_object *call, size_t i)
{
    const char *method, *path;
    if (!json_object_is_type(call, json_type_object) || !string_of(call, "method", &method) ||
        !string_of(call, "path", &path)) {
        mrg_control_fail(control, 400,
                         "calls[%zu] is not a call; expected {\"method\": string, \"path\": string}", i);
        return false;
    }
    append_member(buf, i ? ",{" : "{", "method", method);
    append_member(buf, ",", "path", path);
    mrg_buf_append_char(buf, '}');
    return true;
}

static bool append_calls(struct mrg_control *control, struct mrg_buf *buf, struct json_object *calls)
{
    if (!json_object_is_type(calls, json_type_array)) {
        mrg_control_fail(control, 400,
                         "\"calls\" is missing or no list; expected [{\"method\", \"path\"}, …]");
        return false;
    }
    mrg_buf_append_str(buf, ",\"calls\":[");
    for (size_t i = 0; i < json_object_array_length(calls); i++) {
        if (!append_call(control, buf, json_object_array_get_idx(calls, i), i))
            return false;
    }
    mrg_buf_append_str(buf, "]}");
    return true;
}

/* Names what the object has, because the likeliest reason is a misspelt key. */
static void refuse_scenario(struct mrg_control *control, struct json_object *tree)
{
    struct mrg_buf keys;
    mrg_buf_init(&keys, SIZE_MAX);
    if (json_object_is_type(tree, json_type_object)) {
        json_object_object_foreach (tree, key, value) {
            (void)value;
            mrg_buf_appendf(&keys, "%s\"%s\"", keys.len ? ", " : "; it has ", key);
        }
    }
    mrg_control_fail(control, 400,
                     "the scenario has neither form; expected {\"name\", \"calls\": [{\"method\", "
                     "\"path\"}]} or {\"instruction\"}%.200s",
                     keys.data ? keys.data : "");
    mrg_buf_done(&keys);
}

/* The context in its stored form: only the known members, in a fixed order, because places are hashed over
 * it. */
static bool append_scenario(struct mrg_control *control, struct mrg_buf *buf, struct json_object *tree)
{
    const char *text;
    if (string_of(tree, "instruction", &text)) {
        append_member(buf, "{", "instruction", text);
        mrg_buf_append_char(buf, '}');
        return true;
    }
    if (!string_of(tree, "name", &text)) {
        refuse_scenario(control, tree);
        return false;
    }
    append_member(buf, "{", "name", text);
    struct json_object *calls = NULL;
    json_object_object_get_ex(tree, "calls", &calls);
    return append_calls(control, buf, calls);
}

void mrg_verb_scenario(struct mrg_control *control)
{
    struct json_object *tree = NULL;
    struct mrg_error err;
    struct mrg_buf buf;
    if (mrg_json_parse(control->exchange->request.body.bytes, &tree, &err)) {
        mrg_control_fail(control, 400, "the scenario is not JSON: %.500s", err.message);
        return;
    }
    mrg_buf_init(&buf, MRG_MAX_SCENARIO);
    if (append_scenario(control, &buf, tree)) {
        if (mrg_buf_failed(&buf)) {
            mrg_control_fail(control, 413, "the scenario is larger than %u bytes", MRG_MAX_SCENARIO);
        } else {
            struct mrg_text *text = mrg_text_new(buf.data, buf.len);
            begin_anew(control, text);
            mrg_text_unref(text);
            reply_done(control, "announced");
        }
    }
    mrg_buf_done(&buf);
    json_object_put(tree);
}

void mrg_verb_state(struct mrg_control *control)
{
    /* No engine of this version keeps a document; the verb is there so that callers can be written against it. */
    mrg_reply_json(control->exchange->arena, &control->exchange->reply, 200, MRG_SLICE("{}"));
}

/* A number of the query, 0 when it is not there; false, and the reply says so, when it is none. */
static bool read_number(struct mrg_control *control, const char *key, uint64_t *ret_number)
{
    const char *text = mrg_control_query(control, key);
    char *end;
    *ret_number = 0;
    if (!text)
        return true;
    errno = 0;
    *ret_number = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0)
        return true;
    mrg_control_fail(control, 400, "%s is \"%.100s\"; expected a number", key, text);
    return false;
}

void mrg_verb_log(struct mrg_control *control)
{
    struct mrg_arena *arena = control->exchange->arena;
    const char *session = mrg_control_query(control, "session");
    uint64_t after, limit;
    if (!read_number(control, "after", &after) || !read_number(control, "limit", &limit))
        return;
    if (!session && control->session.len > 0)
        session = mrg_arena_memdup(arena, control->session.ptr, control->session.len);
    const struct mrg_journal_filter filter = {
        .dependency = control->dependency,
        .session = session,
        .after = after,
        .limit = (size_t)limit,
    };
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_journal_append_json(&buf, mrg_gateway_journal(control->gateway), &filter);
    mrg_control_reply(control, 200, &buf);
    mrg_buf_done(&buf);
}

void mrg_verb_metrics(struct mrg_control *control)
{
    struct mrg_exchange *exchange = control->exchange;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_stats_append_prometheus(&buf, mrg_gateway_stats(control->gateway), control->dependency);
    struct mrg_header *header = mrg_arena_zalloc(exchange->arena, sizeof(*header));
    header->name = MRG_SLICE("content-type");
    header->value = MRG_SLICE("text/plain; version=0.0.4; charset=utf-8");
    exchange->reply.status = 200;
    exchange->reply.headers = header;
    exchange->reply.header_count = 1;
    exchange->reply.body.kind = MRG_BODY_TEXT;
    exchange->reply.body.bytes =
        (struct mrg_slice){mrg_arena_memdup(exchange->arena, buf.data ? buf.data : "", buf.len), buf.len};
    mrg_buf_done(&buf);
}
