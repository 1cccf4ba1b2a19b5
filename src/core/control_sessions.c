// SPDX-License-Identifier: Apache-2.0
#include <openssl/rand.h>
#include <string.h>

#include "core/control_int.h"
#include "util/json.h"
#include "util/text.h"
#include "util/uri.h"

/* The ID of /sessions/ID; in the arena. */
static struct mrg_slice id_of(const struct mrg_control *control)
{
    return mrg_uri_decode(control->exchange->arena,
                          (struct mrg_slice){control->rest.ptr + 1, control->rest.len - 1}, false);
}

void mrg_verb_sessions_list(struct mrg_control *control)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_sessions_append_json(&buf, mrg_gateway_sessions(control->gateway));
    mrg_control_reply(control, 200, &buf);
    mrg_buf_done(&buf);
}

void mrg_verb_session_show(struct mrg_control *control)
{
    struct mrg_slice id = id_of(control);
    struct mrg_session *session = mrg_sessions_find(mrg_gateway_sessions(control->gateway), id);
    if (!session) {
        mrg_control_fail(control, 404, "there is no session %.*s", (int)(id.len > 200 ? 200 : id.len),
                         id.ptr);
        return;
    }
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_session_append_json(&buf, session);
    mrg_control_reply(control, 200, &buf);
    mrg_buf_done(&buf);
    mrg_session_unref(session);
}

void mrg_verb_session_delete(struct mrg_control *control)
{
    struct mrg_slice id = id_of(control);
    if (!mrg_sessions_drop(mrg_gateway_sessions(control->gateway), id)) {
        mrg_control_fail(control, 404, "there is no session %.*s", (int)(id.len > 200 ? 200 : id.len),
                         id.ptr);
        return;
    }
    mrg_gateway_close_session(control->gateway, id.ptr);
    mrg_reply_json(control->exchange->arena, &control->exchange->reply, 200,
                   MRG_SLICE("{\"status\":\"deleted\"}"));
}

const char *mrg_control_fresh_name(struct mrg_arena *arena)
{
    unsigned char bytes[8] = {0};
    RAND_bytes(bytes, sizeof(bytes));
    char hex[sizeof(bytes) * 2 + 1];
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    return mrg_arena_printf(arena, "s-%s", hex);
}

struct wish {
    const char *name; /* in the arena */
    bool listen;
};

/* One member of the body; false when the reply says what is wrong with it. */
static bool read_member(struct mrg_control *control, const char *key, struct json_object *value,
                        struct wish *wish)
{
    if (strcmp(key, "name") == 0) {
        struct mrg_slice name = {json_object_get_string(value), (size_t)json_object_get_string_len(value)};
        bool good = json_object_is_type(value, json_type_string) && mrg_session_name_ok(name);
        if (good)
            wish->name = mrg_arena_memdup(control->exchange->arena, name.ptr, name.len);
        else
            mrg_control_fail(
                control, 400,
                "\"name\" is no name for a session; expected 1 to %d letters, digits or - _ . : @ + ~",
                MRG_MAX_SESSION_NAME);
        return good;
    }
    if (strcmp(key, "listen") == 0) {
        wish->listen = json_object_get_boolean(value);
        if (!json_object_is_type(value, json_type_boolean))
            mrg_control_fail(control, 400, "\"listen\" is neither true nor false; expected a boolean");
        return json_object_is_type(value, json_type_boolean);
    }
    mrg_control_fail(control, 400, "there is no member \"%.100s\"; expected \"name\" or \"listen\"", key);
    return false;
}

/* {"name"?: string, "listen"?: bool}; an empty body is {}. The session that the request names otherwise is the
 * default name. */
static bool read_wish(struct mrg_control *control, struct wish *wish)
{
    struct mrg_slice body = control->exchange->request.body.bytes;
    struct json_object *tree = NULL;
    struct mrg_error err;
    if (body.len > 0 && mrg_json_parse(body, &tree, &err)) {
        mrg_control_fail(control, 400, "the body is not JSON: %.500s", err.message);
        return false;
    }
    bool good = body.len == 0 || json_object_is_type(tree, json_type_object);
    if (!good)
        mrg_control_fail(control, 400,
                         "the body is no object; expected {\"name\"?: string, \"listen\"?: boolean}");
    if (control->session.len > 0)
        wish->name = mrg_arena_memdup(control->exchange->arena, control->session.ptr, control->session.len);
    if (good && tree) {
        json_object_object_foreach (tree, key, value) {
            good = good && read_member(control, key, value, wish);
        }
    }
    json_object_put(tree);
    return good;
}

void mrg_verb_sessions_create(struct mrg_control *control)
{
    struct wish wish = {NULL, false};
    if (!read_wish(control, &wish))
        return;
    if (!wish.name)
        wish.name = mrg_control_fresh_name(control->exchange->arena);
    if (wish.listen && mrg_gateway_session_listens(control->gateway, wish.name)) {
        mrg_control_fail(control, 409, "session %s has addresses already; delete it first", wish.name);
        return;
    }
    struct mrg_buf buf;
    struct mrg_error err;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, "{\"session\":");
    mrg_json_append_string(&buf, mrg_slice_of(wish.name));
    mrg_session_unref(mrg_sessions_get(mrg_gateway_sessions(control->gateway), mrg_slice_of(wish.name)));
    enum mrg_err code = MRG_ERR_OK;
    if (wish.listen) {
        mrg_buf_append_str(&buf, ",\"dependencies\":");
        code = mrg_gateway_open_session(control->gateway, wish.name, &buf, &err);
    }
    mrg_buf_append_char(&buf, '}');
    if (code)
        mrg_control_fail(control, code == MRG_ERR_TOO_LARGE ? 429 : 500, "%s", err.message);
    else
        mrg_control_reply(control, 201, &buf);
    mrg_buf_done(&buf);
}
