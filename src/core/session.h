// SPDX-License-Identifier: Apache-2.0
/*
 * Session: a named, isolated world; one state for each dependency that it has touched.
 *
 * A state lets one exchange in at a time, in arrival order (core/turn.c). Its data below the line belong to
 * whoever has the turn. A reset puts a fresh state in the old one's place: exchanges in flight end on the old
 * one and nobody sees them. Thread: any. Locks: registry before session before state; none is held while an
 * engine runs.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "core/exchange.h"
#include "core/limits.h"
#include "core/record.h"
#include "util/hash.h"

struct mrg_count; /* nth of one request at the current place */

struct mrg_state {
    atomic_uint refs;
    struct mrg_text *dependency; /* its name */
    struct mrg_text *session;    /* its name */
    struct mrg_text *scenario;   /* context, minified JSON; NULL: none */
    pthread_mutex_t lock;        /* guards the queue, and the change that ends a turn */
    struct mrg_list waiting;     /* exchanges, in arrival order */
    unsigned waiting_count;
    bool running; /* somebody has the turn */
    /* ---- whoever has the turn reads, and changes at its end, with the lock held: others may copy then ---- */
    struct mrg_record **window; /* the latest exchanges, oldest first */
    size_t window_len;
    size_t window_room;
    uint64_t exchanges; /* committed since the state began */
    mrg_place place;
    struct mrg_count *counts; /* equal requests at this place */
    /* ---- read by control verbs ---- */
    atomic_ullong exchanges_seen; /* a copy of `exchanges` that any thread may read */
    _Atomic mrg_place place_seen; /* a copy of `place` likewise */
};

struct mrg_session;
struct mrg_sessions;

/* Whether a name may name a session: 1 to MRG_MAX_SESSION_NAME of letters, digits and - _ . : @ + ~ */
bool mrg_session_name_ok(struct mrg_slice name);

struct mrg_sessions *mrg_sessions_new(void);
void mrg_sessions_free(struct mrg_sessions *sessions);
/* How many there may be, at least 2; MRG_MAX_SESSIONS until said. Past it a new one takes the place of the one idle
 * longest. */
void mrg_sessions_limit(struct mrg_sessions *sessions, unsigned max);

/* The session of that name, made if need be; one reference for the caller. Touches its idle clock. */
struct mrg_session *mrg_sessions_get(struct mrg_sessions *sessions, struct mrg_slice name);
/* The same without making one: NULL. */
struct mrg_session *mrg_sessions_find(struct mrg_sessions *sessions, struct mrg_slice name);
struct mrg_session *mrg_session_ref(struct mrg_session *session);
void mrg_session_unref(struct mrg_session *session);
struct mrg_text *mrg_session_name(const struct mrg_session *session); /* borrowed */
/* What a reply's mirage-session says, borrowed; NULL: there is no session, or the caller named this very one in a header, and is
 * told nothing new. */
const struct mrg_text *mrg_session_to_tell(const struct mrg_exchange *exchange);

/* Forgets a session (its exchanges in flight end unseen). False when there is none of that name. */
bool mrg_sessions_drop(struct mrg_sessions *sessions, struct mrg_slice name);
/* Drops sessions idle for longer than idle_ms, but never `default`; returns how many. */
size_t mrg_sessions_expire(struct mrg_sessions *sessions, uint64_t idle_ms);

/* The session's state for a dependency, made if need be; one reference for the caller. */
struct mrg_state *mrg_session_state(struct mrg_session *session, struct mrg_text *dependency);
/* A fresh state, not yet in any session; one reference. For mrg_session_state. */
struct mrg_state *mrg_state_new(struct mrg_text *dependency, struct mrg_text *session,
                                struct mrg_text *scenario);
/* A copy that nobody runs on yet, for a session of that name; one reference. With the lock held of a state that runs. */
struct mrg_state *mrg_state_copy(const struct mrg_state *state, struct mrg_text *session);
struct mrg_state *mrg_state_ref(struct mrg_state *state);
void mrg_state_unref(struct mrg_state *state);

/* Begin anew: that dependency (or all: NULL), with a scenario (minified JSON; NULL: none). Any exchange in
 * flight ends on the old state. */
void mrg_session_reset(struct mrg_session *session, const char *dependency, struct mrg_text *scenario);

/*
 * Keeps what all states of the session are at this moment, between turns, under a name; one of that name is replaced. What is in
 * flight has not happened yet in it. Lasts as long as the session, resets included. TOO_LARGE: MRG_MAX_SNAPSHOTS of others.
 */
enum mrg_err mrg_session_snapshot(struct mrg_session *session, const char *name, struct mrg_error *err);
/* Makes the session what it was at a snapshot (NULL: the newest), which stays. Exchanges in flight end on the old states.
 * NOT_FOUND. */
enum mrg_err mrg_session_restore(struct mrg_session *session, const char *name, struct mrg_error *err);
/*
 * A second session that begins where `from` is, or was at a snapshot (NULL: now); one reference for the caller. It has no
 * snapshots. NOT_FOUND: the snapshot; CONFLICT: there is a session of that name.
 */
enum mrg_err mrg_sessions_fork(struct mrg_sessions *sessions, struct mrg_session *from, const char *snapshot,
                               struct mrg_slice name, struct mrg_session **ret_session,
                               struct mrg_error *err);

/* {"name","idle_ms","states":[{"dependency","exchanges","place","scenario"?}],"snapshots"?:[name, newest first]} */
void mrg_session_append_json(struct mrg_buf *buf, struct mrg_session *session);
/* {"sessions":[{"name","idle_ms","exchanges"}]} */
void mrg_sessions_append_json(struct mrg_buf *buf, struct mrg_sessions *sessions);

/* With the turn held: nth of this request at the state's place (1 for the first), without counting it. */
unsigned mrg_state_nth(struct mrg_state *state, struct mrg_hash128 key);
/* With the turn held: appends to the window (which slides by `step` when it holds window + step), counts,
 * and moves the place when `changes`. */
void mrg_state_commit(struct mrg_state *state, struct mrg_record *record, struct mrg_hash128 key,
                      bool changes, unsigned window, unsigned step);
