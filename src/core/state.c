// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <uthash.h>

#include "core/session.h"
#include "util/text.h"

struct mrg_count {
    struct mrg_hash128 key;
    unsigned seen;
    UT_hash_handle hh;
};

struct mrg_state *mrg_state_new(struct mrg_text *dependency, struct mrg_text *session,
                                struct mrg_text *scenario)
{
    struct mrg_state *state = mrg_zalloc(sizeof(*state));
    atomic_init(&state->refs, 1);
    state->dependency = mrg_text_ref(dependency);
    state->session = mrg_text_ref(session);
    state->scenario = mrg_text_ref(scenario);
    pthread_mutex_init(&state->lock, NULL);
    mrg_list_init(&state->waiting);
    state->place = mrg_place_start(dependency->data, scenario ? scenario->data : NULL);
    atomic_init(&state->exchanges_seen, 0);
    atomic_init(&state->place_seen, state->place);
    return state;
}

static void copy_counts(const struct mrg_state *from, struct mrg_state *to)
{
    for (const struct mrg_count *count = from->counts; count; count = count->hh.next) {
        struct mrg_count *copy = mrg_zalloc(sizeof(*copy));
        copy->key = count->key;
        copy->seen = count->seen;
        HASH_ADD(hh, to->counts, key, sizeof(copy->key), copy);
    }
}

struct mrg_state *mrg_state_copy(const struct mrg_state *state, struct mrg_text *session)
{
    struct mrg_state *copy = mrg_state_new(state->dependency, session, state->scenario);
    copy->window = mrg_zalloc((state->window_len + 1) * sizeof(*copy->window));
    copy->window_room = state->window_len + 1;
    for (; copy->window_len < state->window_len; copy->window_len++)
        copy->window[copy->window_len] = mrg_record_ref(state->window[copy->window_len]);
    copy->exchanges = state->exchanges;
    copy->place = state->place;
    copy_counts(state, copy);
    atomic_store(&copy->exchanges_seen, copy->exchanges);
    atomic_store(&copy->place_seen, copy->place);
    return copy;
}

struct mrg_state *mrg_state_ref(struct mrg_state *state)
{
    atomic_fetch_add_explicit(&state->refs, 1, memory_order_relaxed);
    return state;
}

static void clear_counts(struct mrg_state *state)
{
    struct mrg_count *count, *next;
    HASH_ITER (hh, state->counts, count, next) {
        HASH_DEL(state->counts, count);
        free(count);
    }
}

void mrg_state_unref(struct mrg_state *state)
{
    if (!state || atomic_fetch_sub_explicit(&state->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < state->window_len; i++)
        mrg_record_unref(state->window[i]);
    free(state->window);
    clear_counts(state);
    mrg_text_unref(state->dependency);
    mrg_text_unref(state->session);
    mrg_text_unref(state->scenario);
    pthread_mutex_destroy(&state->lock);
    free(state);
}

static struct mrg_count *find_count(struct mrg_state *state, struct mrg_hash128 key)
{
    struct mrg_count *count;
    HASH_FIND(hh, state->counts, &key, sizeof(key), count);
    return count;
}

unsigned mrg_state_nth(struct mrg_state *state, struct mrg_hash128 key)
{
    const struct mrg_count *count = state->counts ? find_count(state, key) : NULL;
    return count ? count->seen + 1 : 1;
}

static void count_one(struct mrg_state *state, struct mrg_hash128 key)
{
    struct mrg_count *count = find_count(state, key);
    if (!count && HASH_COUNT(state->counts) >= MRG_MAX_COUNTS)
        return;
    if (!count) {
        count = mrg_zalloc(sizeof(*count));
        count->key = key;
        HASH_ADD(hh, state->counts, key, sizeof(count->key), count);
    }
    count->seen++;
}

static void slide(struct mrg_state *state, unsigned step)
{
    for (unsigned i = 0; i < step; i++)
        mrg_record_unref(state->window[i]);
    state->window_len -= step;
    memmove(state->window, state->window + step, state->window_len * sizeof(*state->window));
}

void mrg_state_commit(struct mrg_state *state, struct mrg_record *record, struct mrg_hash128 key,
                      bool changes, unsigned window, unsigned step)
{
    MRG_ASSERT(window <= MRG_MAX_WINDOW && step >= 1 && step <= MRG_WINDOW_STEP);
    pthread_mutex_lock(&state->lock);
    /* A reload may have made the window smaller. */
    while (state->window_len >= window + step)
        slide(state, step);
    mrg_grow((void **)&state->window, &state->window_room, state->window_len, sizeof(*state->window));
    state->window[state->window_len++] = mrg_record_ref(record);
    if (state->window_len == window + step)
        slide(state, step);
    if (changes) {
        clear_counts(state);
        state->place = mrg_place_after(state->place, key, record->status);
        atomic_store_explicit(&state->place_seen, state->place, memory_order_relaxed);
    } else {
        count_one(state, key);
    }
    atomic_store_explicit(&state->exchanges_seen, ++state->exchanges, memory_order_relaxed);
    pthread_mutex_unlock(&state->lock);
}
