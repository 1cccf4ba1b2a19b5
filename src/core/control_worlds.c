// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/control_int.h"
#include "util/json.h"
#include "util/text.h"
#include "util/uri.h"

#define LATEST "latest" /* name of a snapshot that was given none */

/* What such a verb's body says; in the arena, NULL when it does not. */
struct wish {
    const char *name; /* of the new session */
    const char *snapshot;
};

/* A text that may name a session or a snapshot; an empty one is none, as gRPC has it. */
static bool read_name(struct mrg_control *control, const char *key, struct json_object *value,
                      const char **ret_name)
{
    struct mrg_slice name = {json_object_get_string(value), (size_t)json_object_get_string_len(value)};
    bool text = json_object_is_type(value, json_type_string);
    if (text && name.len == 0)
        return true;
    if (!text || !mrg_session_name_ok(name)) {
        mrg_control_fail(control, 400, "\"%s\" is no name; expected 1 to %d letters, digits or - _ . : @ + ~",
                         key, MRG_MAX_SESSION_NAME);
        return false;
    }
    *ret_name = mrg_arena_memdup(control->exchange->arena, name.ptr, name.len);
    return true;
}

static bool read_member(struct mrg_control *control, const char *key, struct json_object *value, bool fork,
                        struct wish *wish)
{
    if (strcmp(key, "snapshot") == 0)
        return read_name(control, key, value, &wish->snapshot);
    if (fork && strcmp(key, "name") == 0)
        return read_name(control, key, value, &wish->name);
    mrg_control_fail(control, 400, "there is no member \"%.100s\"; expected %s\"snapshot\"", key,
                     fork ? "\"name\" or " : "");
    return false;
}

/* An object, or nothing at all. False, and the reply says why: it is neither. */
static bool read_wish(struct mrg_control *control, bool fork, struct wish *wish)
{
    struct mrg_slice body = control->exchange->request.body.bytes;
    struct json_object *tree = NULL;
    struct mrg_error err;
    if (body.len == 0)
        return true;
    if (mrg_json_parse(body, &tree, &err)) {
        mrg_control_fail(control, 400, "the body is not JSON: %.500s", err.message);
        return false;
    }
    bool good = json_object_is_type(tree, json_type_object);
    if (!good)
        mrg_control_fail(control, 400, "the body is no object; expected {%s\"snapshot\"?: string}",
                         fork ? "\"name\"?: string, " : "");
    if (good) {
        json_object_object_foreach (tree, key, value) {
            good = good && read_member(control, key, value, fork, wish);
        }
    }
    json_object_put(tree);
    return good;
}

/* The session of /sessions/ID/verb, or NULL and the reply says so. A reference. */
static struct mrg_session *find(struct mrg_control *control)
{
    struct mrg_slice id = {control->rest.ptr + 1, control->rest.len - 1};
    const char *end = memchr(id.ptr, '/', id.len);
    id.len = end ? (size_t)(end - id.ptr) : id.len;
    id = mrg_uri_decode(control->exchange->arena, id, false);
    struct mrg_session *session = mrg_sessions_find(mrg_gateway_sessions(control->gateway), id);
    if (!session)
        mrg_control_fail(control, 404, "there is no session %.*s", (int)(id.len > 200 ? 200 : id.len),
                         id.ptr);
    return session;
}

static void reply(struct mrg_control *control, int status, struct mrg_session *session, enum mrg_err code,
                  const struct mrg_error *err)
{
    struct mrg_buf buf;
    if (code) {
        mrg_control_fail(control,
                         code == MRG_ERR_NOT_FOUND  ? 404
                         : code == MRG_ERR_CONFLICT ? 409
                                                    : 429,
                         "%s", err->message);
        return;
    }
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_session_append_json(&buf, session);
    mrg_control_reply(control, status, &buf);
    mrg_buf_done(&buf);
}

void mrg_verb_session_snapshot(struct mrg_control *control)
{
    struct wish wish = {NULL, NULL};
    struct mrg_error err;
    struct mrg_session *session = read_wish(control, false, &wish) ? find(control) : NULL;
    if (session)
        reply(control, 201, session,
              mrg_session_snapshot(session, wish.snapshot ? wish.snapshot : LATEST, &err), &err);
    mrg_session_unref(session);
}

void mrg_verb_session_restore(struct mrg_control *control)
{
    struct wish wish = {NULL, NULL};
    struct mrg_error err;
    struct mrg_session *session = read_wish(control, false, &wish) ? find(control) : NULL;
    if (session)
        reply(control, 200, session, mrg_session_restore(session, wish.snapshot, &err), &err);
    mrg_session_unref(session);
}

void mrg_verb_session_fork(struct mrg_control *control)
{
    struct wish wish = {NULL, NULL};
    struct mrg_error err;
    struct mrg_session *fork = NULL;
    struct mrg_session *session = read_wish(control, true, &wish) ? find(control) : NULL;
    if (!session)
        return;
    if (!wish.name)
        wish.name = mrg_control_fresh_name(control->exchange->arena);
    enum mrg_err code = mrg_sessions_fork(mrg_gateway_sessions(control->gateway), session, wish.snapshot,
                                          mrg_slice_of(wish.name), &fork, &err);
    reply(control, 201, fork, code, &err);
    mrg_session_unref(fork);
    mrg_session_unref(session);
}
