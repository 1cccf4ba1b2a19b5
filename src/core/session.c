// SPDX-License-Identifier: Apache-2.0
#include "core/session.h"

#include <string.h>

#include "core/session_int.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/text.h"

bool mrg_session_name_ok(struct mrg_slice name)
{
    static const bool extra[256] = {
        ['-'] = true, ['_'] = true, ['.'] = true, [':'] = true, ['@'] = true, ['+'] = true, ['~'] = true,
    };
    if (name.len == 0 || name.len > MRG_MAX_SESSION_NAME)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && !extra[(unsigned char)c])
            return false;
    }
    return true;
}

struct mrg_session *mrg_session_new(struct mrg_slice name)
{
    struct mrg_session *session = mrg_zalloc(sizeof(*session));
    atomic_init(&session->refs, 1);
    atomic_init(&session->used_ms, mrg_clock_ms());
    session->name = mrg_text_new(name.ptr, name.len);
    pthread_mutex_init(&session->lock, NULL);
    return session;
}

struct mrg_session *mrg_session_ref(struct mrg_session *session)
{
    atomic_fetch_add_explicit(&session->refs, 1, memory_order_relaxed);
    return session;
}

void mrg_state_slots_free(struct mrg_state_slot *slot)
{
    while (slot) {
        struct mrg_state_slot *next = slot->next;
        mrg_state_unref(slot->state);
        free(slot);
        slot = next;
    }
}

void mrg_session_unref(struct mrg_session *session)
{
    if (!session || atomic_fetch_sub_explicit(&session->refs, 1, memory_order_acq_rel) != 1)
        return;
    mrg_state_slots_free(session->states);
    mrg_snapshots_free(session->snapshots);
    mrg_text_unref(session->scenario);
    mrg_text_unref(session->name);
    pthread_mutex_destroy(&session->lock);
    free(session);
}

struct mrg_text *mrg_session_name(const struct mrg_session *session)
{
    return session->name;
}

const struct mrg_text *mrg_session_to_tell(const struct mrg_exchange *exchange)
{
    if (!exchange->session)
        return NULL;
    const struct mrg_text *name = mrg_session_name(exchange->session);
    const struct mrg_slice *said = mrg_request_header(&exchange->request, "mirage-session");
    return said && mrg_slice_eq(*said, mrg_text_slice(name)) ? NULL : name;
}

struct mrg_sessions *mrg_sessions_new(void)
{
    struct mrg_sessions *sessions = mrg_zalloc(sizeof(*sessions));
    pthread_rwlock_init(&sessions->lock, NULL);
    atomic_init(&sessions->max, MRG_MAX_SESSIONS);
    return sessions;
}

void mrg_sessions_limit(struct mrg_sessions *sessions, unsigned max)
{
    atomic_store(&sessions->max, max);
}

void mrg_sessions_free(struct mrg_sessions *sessions)
{
    if (!sessions)
        return;
    struct mrg_session *session, *next;
    HASH_ITER (hh, sessions->table, session, next) {
        HASH_DEL(sessions->table, session);
        mrg_session_unref(session);
    }
    pthread_rwlock_destroy(&sessions->lock);
    free(sessions);
}

static struct mrg_session *lookup(struct mrg_sessions *sessions, struct mrg_slice name)
{
    struct mrg_session *session;
    HASH_FIND(hh, sessions->table, name.ptr, name.len, session);
    return session;
}

struct mrg_session *mrg_sessions_find(struct mrg_sessions *sessions, struct mrg_slice name)
{
    pthread_rwlock_rdlock(&sessions->lock);
    struct mrg_session *session = lookup(sessions, name);
    if (session)
        mrg_session_ref(session);
    pthread_rwlock_unlock(&sessions->lock);
    return session;
}

static bool is_default(const struct mrg_session *session)
{
    return mrg_slice_eq_str(mrg_text_slice(session->name), "default");
}

/* With the write lock held: forgets one session that is not `default`. */
static void drop_one(struct mrg_sessions *sessions, struct mrg_session *session)
{
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash's own links
    HASH_DEL(sessions->table, session);
    mrg_session_unref(session);
}

/*
 * With the write lock held: makes room for one more. The table keeps the order of adding, which serves as a
 * clock (second chance): a session used since it was last put at the end goes to the end again, the first
 * other is dropped.
 */
static void make_room(struct mrg_sessions *sessions)
{
    struct mrg_session *session, *next, *first = NULL;
    if (HASH_COUNT(sessions->table) < atomic_load(&sessions->max))
        return;
    HASH_ITER (hh, sessions->table, session, next) {
        unsigned long long used_ms = atomic_load(&session->used_ms);
        if (!is_default(session) && used_ms == session->queued_ms) {
            drop_one(sessions, session);
            return;
        }
        if (!first && !is_default(session))
            first = session;
        session->queued_ms = used_ms;
        HASH_DEL(sessions->table, session);
        HASH_ADD_KEYPTR(hh, sessions->table, session->name->data, session->name->len, session);
    }
    drop_one(sessions, first);
}

struct mrg_session *mrg_sessions_get(struct mrg_sessions *sessions, struct mrg_slice name)
{
    struct mrg_session *session = mrg_sessions_find(sessions, name);
    if (session) {
        atomic_store_explicit(&session->used_ms, mrg_clock_ms(), memory_order_relaxed);
        return session;
    }
    pthread_rwlock_wrlock(&sessions->lock);
    session = lookup(sessions, name);
    if (!session) {
        make_room(sessions);
        session = mrg_session_new(name);
        HASH_ADD_KEYPTR(hh, sessions->table, session->name->data, session->name->len, session);
    }
    mrg_session_ref(session);
    pthread_rwlock_unlock(&sessions->lock);
    return session;
}

bool mrg_sessions_put(struct mrg_sessions *sessions, struct mrg_session *session)
{
    struct mrg_slice name = mrg_text_slice(session->name);
    pthread_rwlock_wrlock(&sessions->lock);
    bool new = lookup(sessions, name) == NULL;
    if (new) {
        make_room(sessions);
        HASH_ADD_KEYPTR(hh, sessions->table, session->name->data, session->name->len, session);
    }
    pthread_rwlock_unlock(&sessions->lock);
    if (!new)
        mrg_session_unref(session);
    return new;
}

bool mrg_sessions_drop(struct mrg_sessions *sessions, struct mrg_slice name)
{
    pthread_rwlock_wrlock(&sessions->lock);
    struct mrg_session *session = lookup(sessions, name);
    if (session)
        HASH_DEL(sessions->table, session);
    pthread_rwlock_unlock(&sessions->lock);
    mrg_session_unref(session);
    return session != NULL;
}

size_t mrg_sessions_expire(struct mrg_sessions *sessions, uint64_t idle_ms)
{
    size_t dropped = 0;
    uint64_t now = mrg_clock_ms();
    struct mrg_session *session, *next;
    pthread_rwlock_wrlock(&sessions->lock);
    HASH_ITER (hh, sessions->table, session, next) {
        if (is_default(session) || atomic_load(&session->used_ms) + idle_ms > now)
            continue;
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash's own links
        HASH_DEL(sessions->table, session);
        mrg_session_unref(session);
        dropped++;
    }
    pthread_rwlock_unlock(&sessions->lock);
    return dropped;
}

struct mrg_state *mrg_session_state(struct mrg_session *session, struct mrg_text *dependency)
{
    pthread_mutex_lock(&session->lock);
    struct mrg_state_slot *slot = session->states;
    while (slot && !mrg_slice_eq(mrg_text_slice(slot->state->dependency), mrg_text_slice(dependency)))
        slot = slot->next;
    if (!slot) {
        slot = mrg_zalloc(sizeof(*slot));
        slot->state = mrg_state_new(dependency, session->name, session->scenario);
        slot->next = session->states;
        session->states = slot;
    }
    struct mrg_state *state = mrg_state_ref(slot->state);
    pthread_mutex_unlock(&session->lock);
    return state;
}

/* Takes the slots of that dependency (all: NULL) out of the session; the caller frees them outside the
 * lock. */
static struct mrg_state_slot *detach(struct mrg_session *session, const char *dependency)
{
    struct mrg_state_slot *out = NULL;
    for (struct mrg_state_slot **link = &session->states; *link;) {
        struct mrg_state_slot *slot = *link;
        if (dependency && !mrg_slice_eq_str(mrg_text_slice(slot->state->dependency), dependency)) {
            link = &slot->next;
            continue;
        }
        *link = slot->next;
        slot->next = out;
        out = slot;
    }
    return out;
}

void mrg_session_reset(struct mrg_session *session, const char *dependency, struct mrg_text *scenario)
{
    pthread_mutex_lock(&session->lock);
    struct mrg_state_slot *old = detach(session, dependency);
    if (dependency) {
        struct mrg_text *name = mrg_text_new(dependency, strlen(dependency));
        struct mrg_state_slot *slot = mrg_zalloc(sizeof(*slot));
        slot->state = mrg_state_new(name, session->name, scenario);
        slot->next = session->states;
        session->states = slot;
        mrg_text_unref(name);
    } else {
        mrg_text_unref(session->scenario);
        session->scenario = mrg_text_ref(scenario);
    }
    pthread_mutex_unlock(&session->lock);
    mrg_state_slots_free(old);
}

static uint64_t idle_ms(struct mrg_session *session)
{
    /* Read before the clock, which may otherwise lie behind a request that comes in between. */
    uint64_t used_ms = atomic_load(&session->used_ms);
    return mrg_clock_ms() - used_ms;
}

void mrg_session_append_json(struct mrg_buf *buf, struct mrg_session *session)
{
    mrg_buf_append_str(buf, "{\"name\":");
    mrg_json_append_string(buf, mrg_text_slice(session->name));
    mrg_buf_appendf(buf, ",\"idle_ms\":%llu,\"states\":[", (unsigned long long)idle_ms(session));
    pthread_mutex_lock(&session->lock);
    for (struct mrg_state_slot *slot = session->states; slot; slot = slot->next) {
        struct mrg_state *state = slot->state;
        char place[MRG_PLACE_TEXT + 1];
        mrg_place_text(atomic_load(&state->place_seen), place);
        mrg_buf_append_str(buf, slot == session->states ? "{\"dependency\":" : ",{\"dependency\":");
        mrg_json_append_string(buf, mrg_text_slice(state->dependency));
        mrg_buf_appendf(buf, ",\"exchanges\":%llu,\"place\":\"%s\"",
                        (unsigned long long)atomic_load(&state->exchanges_seen), place);
        if (state->scenario) {
            mrg_buf_append_str(buf, ",\"scenario\":");
            mrg_buf_append_slice(buf, mrg_text_slice(state->scenario));
        }
        mrg_buf_append_char(buf, '}');
    }
    mrg_buf_append_char(buf, ']');
    mrg_snapshots_append(buf, session);
    pthread_mutex_unlock(&session->lock);
    mrg_buf_append_char(buf, '}');
}

static unsigned long long exchanges_of(struct mrg_session *session)
{
    unsigned long long sum = 0;
    pthread_mutex_lock(&session->lock);
    for (struct mrg_state_slot *slot = session->states; slot; slot = slot->next)
        sum += atomic_load(&slot->state->exchanges_seen);
    pthread_mutex_unlock(&session->lock);
    return sum;
}

void mrg_sessions_append_json(struct mrg_buf *buf, struct mrg_sessions *sessions)
{
    struct mrg_session *session, *next;
    const char *before = "";
    mrg_buf_append_str(buf, "{\"sessions\":[");
    pthread_rwlock_rdlock(&sessions->lock);
    HASH_ITER (hh, sessions->table, session, next) {
        mrg_buf_appendf(buf, "%s{\"name\":", before);
        mrg_json_append_string(buf, mrg_text_slice(session->name));
        mrg_buf_appendf(buf, ",\"idle_ms\":%llu,\"exchanges\":%llu}", (unsigned long long)idle_ms(session),
                        exchanges_of(session));
        before = ",";
    }
    pthread_rwlock_unlock(&sessions->lock);
    mrg_buf_append_str(buf, "]}");
}
