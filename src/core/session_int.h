// SPDX-License-Identifier: Apache-2.0
/*
 * Session, inside: what session.c and session_worlds.c share. Nobody else includes it. Thread: as core/session.h.
 */
#pragma once

#include <uthash.h>

#include "core/session.h"

/* Lock order: the registry's before a session's before a state's. */

struct mrg_state_slot {
    struct mrg_state *state;
    struct mrg_state_slot *next;
};

/* What a session was at a moment. Its states are copies that nobody runs on. */
struct mrg_snapshot {
    struct mrg_text *name;
    struct mrg_state_slot *states;
    struct mrg_text *scenario; /* context of states that were still to be made; NULL: none */
    struct mrg_snapshot *next; /* older */
};

struct mrg_session {
    atomic_uint refs;
    struct mrg_text *name;
    atomic_ullong used_ms; /* monotonic; the last request or verb */
    unsigned long long
        queued_ms;        /* used_ms when it was last put at the end of the table; 0: new, one chance */
    pthread_mutex_t lock; /* guards the fields below */
    struct mrg_state_slot *states;  /* one for each dependency touched */
    struct mrg_text *scenario;      /* context of states still to be made; NULL: none */
    struct mrg_snapshot *snapshots; /* the newest first */
    UT_hash_handle hh;              /* the registry's */
};

struct mrg_sessions {
    pthread_rwlock_t lock;
    struct mrg_session *table; /* by name; one reference each */
    atomic_uint max;           /* of table */
};

void mrg_state_slots_free(struct mrg_state_slot *slot);
void mrg_snapshots_free(struct mrg_snapshot *snapshot);
/* Appends ,"snapshots":["newest", …] when there are any; with the session's lock held. */
void mrg_snapshots_append(struct mrg_buf *buf, const struct mrg_session *session);
/* A session that is in no table yet; one reference. */
struct mrg_session *mrg_session_new(struct mrg_slice name);
/* Puts a new session in; takes its reference. False: there is one of that name. */
bool mrg_sessions_put(struct mrg_sessions *sessions, struct mrg_session *session);
