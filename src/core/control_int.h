// SPDX-License-Identifier: Apache-2.0
/*
 * Control, private: what control.c (guards, dispatch), control_verbs.c and control_sessions.c share.
 */
#pragma once

#include "core/control.h"

/* One control request on its way. */
struct mrg_control {
    struct mrg_gateway *gateway;
    struct mrg_exchange *exchange;
    const char *dependency;   /* the one it is for; NULL: all */
    struct mrg_slice session; /* as named by the request; {NULL, 0}: not named */
    struct mrg_slice rest;    /* of the path, behind the verb: "" or "/ID/…" */
};

typedef void (*mrg_verb_fn)(struct mrg_control *control);

/* The session's name, `default` when the request names none. */
struct mrg_slice mrg_control_session(const struct mrg_control *control);
/* A decoded query value, or NULL. In the arena. */
const char *mrg_control_query(const struct mrg_control *control, const char *key);
/* Sets the reply. */
void mrg_control_fail(struct mrg_control *control, int status, const char *format, ...) MRG_PRINTF(3, 4);
void mrg_control_reply(struct mrg_control *control, int status, const struct mrg_buf *json);

/* control_verbs.c */
void mrg_verb_health(struct mrg_control *control);
void mrg_verb_reset(struct mrg_control *control);
void mrg_verb_scenario(struct mrg_control *control);
void mrg_verb_state(struct mrg_control *control);
void mrg_verb_log(struct mrg_control *control);
void mrg_verb_metrics(struct mrg_control *control);
/* control_sessions.c */
void mrg_verb_sessions_list(struct mrg_control *control);
void mrg_verb_sessions_create(struct mrg_control *control);
void mrg_verb_session_show(struct mrg_control *control);
void mrg_verb_session_delete(struct mrg_control *control);
/* A name of 16 random digits; in the arena. */
const char *mrg_control_fresh_name(struct mrg_arena *arena);
/* control_worlds.c */
void mrg_verb_session_snapshot(struct mrg_control *control);
void mrg_verb_session_fork(struct mrg_control *control);
void mrg_verb_session_restore(struct mrg_control *control);
