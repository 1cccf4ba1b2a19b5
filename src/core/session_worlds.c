// SPDX-License-Identifier: Apache-2.0
/*
 * Sessions as worlds. A state changes only when a turn ends, under its lock; so what stands between two turns can be copied at
 * any time, and with all locks of a session held at once, of all its states at one moment. What is in flight then has not
 * happened yet, as far as the copy knows.
 */
#include <string.h>

#include "core/session_int.h"
#include "util/json.h"
#include "util/text.h"

void mrg_snapshots_free(struct mrg_snapshot *snapshot)
{
    while (snapshot) {
        struct mrg_snapshot *older = snapshot->next;
        mrg_state_slots_free(snapshot->states);
        mrg_text_unref(snapshot->scenario);
        mrg_text_unref(snapshot->name);
        free(snapshot);
        snapshot = older;
    }
}

void mrg_snapshots_append(struct mrg_buf *buf, const struct mrg_session *session)
{
    const char *before = ",\"snapshots\":[";
    for (const struct mrg_snapshot *snapshot = session->snapshots; snapshot; snapshot = snapshot->next) {
        mrg_buf_append_str(buf, before);
        mrg_json_append_string(buf, mrg_text_slice(snapshot->name));
        before = ",";
    }
    if (session->snapshots)
        mrg_buf_append_char(buf, ']');
}

/* Copies of all, in their order, for a session of that name. Of states that run: with every lock of them held. */
static struct mrg_state_slot *copy_slots(struct mrg_state_slot *slots, struct mrg_text *session, bool running)
{
    struct mrg_state_slot *copies = NULL, **end = &copies;
    for (struct mrg_state_slot *slot = slots; running && slot; slot = slot->next)
        pthread_mutex_lock(&slot->state->lock);
    for (struct mrg_state_slot *slot = slots; slot; slot = slot->next) {
        struct mrg_state_slot *copy = mrg_zalloc(sizeof(*copy));
        copy->state = mrg_state_copy(slot->state, session);
        *end = copy;
        end = &copy->next;
    }
    for (struct mrg_state_slot *slot = slots; running && slot; slot = slot->next)
        pthread_mutex_unlock(&slot->state->lock);
    return copies;
}

static struct mrg_snapshot **find(struct mrg_session *session, const char *name)
{
    struct mrg_snapshot **link = &session->snapshots;
    while (*link && name && !mrg_slice_eq_str(mrg_text_slice((*link)->name), name))
        link = &(*link)->next;
    return link;
}

static size_t count_of(const struct mrg_session *session)
{
    size_t count = 0;
    for (const struct mrg_snapshot *snapshot = session->snapshots; snapshot; snapshot = snapshot->next)
        count++;
    return count;
}

enum mrg_err mrg_session_snapshot(struct mrg_session *session, const char *name, struct mrg_error *err)
{
    struct mrg_snapshot *old = NULL, *snapshot;
    pthread_mutex_lock(&session->lock);
    struct mrg_snapshot **link = find(session, name);
    if (!*link && count_of(session) >= MRG_MAX_SNAPSHOTS) {
        pthread_mutex_unlock(&session->lock);
        return mrg_error_set(err, MRG_ERR_TOO_LARGE,
                             "the session has %u snapshots; expected the name of one, which is then replaced",
                             MRG_MAX_SNAPSHOTS);
    }
    if (*link) {
        old = *link;
        *link = old->next;
        old->next = NULL;
    }
    snapshot = mrg_zalloc(sizeof(*snapshot));
    snapshot->name = mrg_text_new(name, strlen(name));
    snapshot->states = copy_slots(session->states, session->name, true);
    snapshot->scenario = mrg_text_ref(session->scenario);
    snapshot->next = session->snapshots;
    session->snapshots = snapshot;
    pthread_mutex_unlock(&session->lock);
    mrg_snapshots_free(old);
    return MRG_ERR_OK;
}

static enum mrg_err not_found(const struct mrg_session *session, const char *name, struct mrg_error *err)
{
    const struct mrg_slice own = mrg_text_slice(session->name);
    if (!name)
        return mrg_error_set(err, MRG_ERR_NOT_FOUND, "session %.*s has no snapshot", (int)own.len, own.ptr);
    return mrg_error_set(err, MRG_ERR_NOT_FOUND, "session %.*s has no snapshot \"%s\"", (int)own.len, own.ptr,
                         name);
}

enum mrg_err mrg_session_restore(struct mrg_session *session, const char *name, struct mrg_error *err)
{
    pthread_mutex_lock(&session->lock);
    const struct mrg_snapshot *snapshot = *find(session, name);
    if (!snapshot) {
        pthread_mutex_unlock(&session->lock);
        return not_found(session, name, err);
    }
    struct mrg_state_slot *old = session->states;
    struct mrg_text *old_scenario = session->scenario;
    session->states = copy_slots(snapshot->states, session->name, false);
    session->scenario = mrg_text_ref(snapshot->scenario);
    pthread_mutex_unlock(&session->lock);
    mrg_state_slots_free(old);
    mrg_text_unref(old_scenario);
    return MRG_ERR_OK;
}

enum mrg_err mrg_sessions_fork(struct mrg_sessions *sessions, struct mrg_session *from, const char *snapshot,
                               struct mrg_slice name, struct mrg_session **ret_session, struct mrg_error *err)
{
    struct mrg_session *fork = mrg_session_new(name);
    pthread_mutex_lock(&from->lock);
    const struct mrg_snapshot *at = snapshot ? *find(from, snapshot) : NULL;
    bool found = !snapshot || at;
    if (found) {
        fork->states = copy_slots(at ? at->states : from->states, fork->name, !at);
        fork->scenario = mrg_text_ref(at ? at->scenario : from->scenario);
    }
    pthread_mutex_unlock(&from->lock);
    if (!found) {
        mrg_session_unref(fork);
        return not_found(from, snapshot, err);
    }
    mrg_session_ref(fork);
    if (!mrg_sessions_put(sessions, fork)) {
        mrg_session_unref(fork);
        return mrg_error_set(err, MRG_ERR_CONFLICT, "there is a session %.*s already; expected a new name",
                             (int)name.len, name.ptr);
    }
    *ret_session = fork;
    return MRG_ERR_OK;
}
