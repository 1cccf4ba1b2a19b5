// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "core/control.h"
#include "core/gateway_int.h"
#include "util/clock.h"
#include "util/text.h"

/* How often idle sessions are looked for: four times in their time, within these. */
#define EXPIRY_LEAST_MS 1000u
#define EXPIRY_MOST_MS  30000u
#define DRAIN_LOOK_MS   10u /* how often drain looks whether anything is left, beside being told */

static void unref_all(struct mrg_dependency **dependencies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mrg_dependency_unref(dependencies[i]);
    free(dependencies);
}

/* With the write lock held: takes out the retired dependencies that nobody else holds any more; they are
 * freed outside it. */
static struct mrg_dependency **take_unheld(struct mrg_gateway *gateway, size_t *ret_count)
{
    struct mrg_dependency **out = mrg_zalloc((gateway->retired_count + 1) * sizeof(*out));
    size_t kept = 0, taken = 0;
    for (size_t i = 0; i < gateway->retired_count; i++) {
        struct mrg_dependency *one = gateway->retired[i];
        if (atomic_load(&one->refs) > 1)
            gateway->retired[kept++] = one;
        else
            out[taken++] = one;
    }
    gateway->retired_count = kept;
    *ret_count = taken;
    return out;
}

static void prune_retired(struct mrg_gateway *gateway)
{
    size_t count;
    pthread_rwlock_wrlock(&gateway->lock);
    struct mrg_dependency **unheld = take_unheld(gateway, &count);
    pthread_rwlock_unlock(&gateway->lock);
    unref_all(unheld, count);
}

static uint64_t idle_time(struct mrg_gateway *gateway)
{
    pthread_rwlock_rdlock(&gateway->lock);
    uint64_t idle_ms = gateway->config ? gateway->config->sessions_idle_ms : EXPIRY_MOST_MS * 4;
    pthread_rwlock_unlock(&gateway->lock);
    return idle_ms;
}

static void plan_expiry(struct mrg_gateway *gateway)
{
    uint64_t every_ms = idle_time(gateway) / 4;
    if (every_ms < EXPIRY_LEAST_MS)
        every_ms = EXPIRY_LEAST_MS;
    if (every_ms > EXPIRY_MOST_MS)
        every_ms = EXPIRY_MOST_MS;
    mrg_watch_timer_set(gateway->watch, &gateway->expiry, mrg_clock_ms() + every_ms);
}

static void on_expiry(struct mrg_timer *timer)
{
    struct mrg_gateway *gateway = MRG_CONTAINER_OF(timer, struct mrg_gateway, expiry);
    mrg_sessions_expire(gateway->sessions, idle_time(gateway));
    /* Sessions go in other ways too: dropped by a verb, or to make room. */
    mrg_gateway_sweep_doors(gateway);
    prune_retired(gateway);
    plan_expiry(gateway);
}

struct mrg_gateway *mrg_gateway_new(struct mrg_stats *stats, struct mrg_watch *watch)
{
    struct mrg_gateway *gateway = mrg_zalloc(sizeof(*gateway));
    gateway->stats = stats;
    gateway->watch = watch;
    gateway->sessions = mrg_sessions_new();
    gateway->journal = mrg_journal_new(MRG_JOURNAL_ENTRIES, MRG_JOURNAL_BYTES);
    pthread_rwlock_init(&gateway->lock, NULL);
    pthread_mutex_init(&gateway->doors_lock, NULL);
    pthread_mutex_init(&gateway->idle_lock, NULL);
    mrg_cond_init_monotonic(&gateway->idle);
    if (watch) {
        gateway->expiry.fn = on_expiry;
        plan_expiry(gateway);
    }
    return gateway;
}

static void stop_expiry(struct mrg_gateway *gateway)
{
    if (gateway->watch)
        mrg_watch_timer_clear(gateway->watch, &gateway->expiry);
}

void mrg_gateway_free(struct mrg_gateway *gateway)
{
    if (!gateway)
        return;
    stop_expiry(gateway);
    MRG_ASSERT(atomic_load(&gateway->in_flight) == 0);
    mrg_gateway_forget_doors(gateway);
    mrg_sessions_free(gateway->sessions);
    mrg_journal_free(gateway->journal);
    unref_all(gateway->dependencies, gateway->dependency_count);
    unref_all(gateway->retired, gateway->retired_count);
    mrg_config_unref(gateway->config);
    pthread_cond_destroy(&gateway->idle);
    pthread_mutex_destroy(&gateway->idle_lock);
    pthread_mutex_destroy(&gateway->doors_lock);
    pthread_rwlock_destroy(&gateway->lock);
    free(gateway);
}

/* With the write lock held. */
static void retire(struct mrg_gateway *gateway)
{
    for (size_t i = 0; i < gateway->dependency_count; i++) {
        mrg_grow((void **)&gateway->retired, &gateway->retired_room, gateway->retired_count,
                 sizeof(*gateway->retired));
        gateway->retired[gateway->retired_count++] = gateway->dependencies[i];
    }
    free(gateway->dependencies);
}

void mrg_gateway_configure(struct mrg_gateway *gateway, struct mrg_config *config,
                           struct mrg_dependency **dependencies, size_t count)
{
    struct mrg_dependency **fresh = mrg_zalloc((count + 1) * sizeof(*fresh));
    for (size_t i = 0; i < count; i++)
        fresh[i] = mrg_dependency_ref(dependencies[i]);
    pthread_rwlock_wrlock(&gateway->lock);
    struct mrg_config *old = gateway->config;
    retire(gateway);
    gateway->config = mrg_config_ref(config);
    gateway->dependencies = fresh;
    gateway->dependency_count = count;
    pthread_rwlock_unlock(&gateway->lock);
    mrg_config_unref(old);
    mrg_sessions_limit(gateway->sessions, (unsigned)config->sessions_max);
    if (gateway->watch)
        plan_expiry(gateway);
    prune_retired(gateway);
}

void mrg_gateway_add_transport(struct mrg_gateway *gateway, struct mrg_transport *transport)
{
    MRG_ASSERT(gateway->transport_count < MRG_MAX_TRANSPORTS);
    gateway->transports[gateway->transport_count++] = transport;
}

struct mrg_sessions *mrg_gateway_sessions(struct mrg_gateway *gateway)
{
    return gateway->sessions;
}

struct mrg_journal *mrg_gateway_journal(struct mrg_gateway *gateway)
{
    return gateway->journal;
}

struct mrg_stats *mrg_gateway_stats(struct mrg_gateway *gateway)
{
    return gateway->stats;
}

struct mrg_config *mrg_gateway_config(struct mrg_gateway *gateway)
{
    pthread_rwlock_rdlock(&gateway->lock);
    struct mrg_config *config = mrg_config_ref(gateway->config);
    pthread_rwlock_unlock(&gateway->lock);
    return config;
}

struct mrg_dependency *mrg_gateway_dependency(struct mrg_gateway *gateway, const char *name)
{
    struct mrg_dependency *found = NULL;
    pthread_rwlock_rdlock(&gateway->lock);
    for (size_t i = 0; i < gateway->dependency_count && !found; i++) {
        if (strcmp(gateway->dependencies[i]->config->name, name) == 0)
            found = mrg_dependency_ref(gateway->dependencies[i]);
    }
    pthread_rwlock_unlock(&gateway->lock);
    return found;
}

struct mrg_dependency *mrg_gateway_find(struct mrg_gateway *gateway, mrg_dependency_fits_fn fits, void *ctx)
{
    struct mrg_dependency *found = NULL;
    pthread_rwlock_rdlock(&gateway->lock);
    for (size_t i = 0; i < gateway->dependency_count && !found; i++) {
        if (fits(ctx, gateway->dependencies[i]))
            found = mrg_dependency_ref(gateway->dependencies[i]);
    }
    pthread_rwlock_unlock(&gateway->lock);
    return found;
}

void mrg_gateway_enter(struct mrg_gateway *gateway)
{
    atomic_fetch_add(&gateway->in_flight, 1);
}

/*
 * The step to 0 is the last thing that touches the gateway: once drain has seen it, main may free the gateway
 * while this thread, an engine's perhaps, still runs. So it is either this one atomic step, while the server
 * runs, or made under drain's lock. One that saw the gateway open just before it was closed does not signal:
 * drain looks again soon.
 */
void mrg_gateway_leave(struct mrg_gateway *gateway)
{
    if (!atomic_load(&gateway->closed)) {
        atomic_fetch_sub(&gateway->in_flight, 1);
        return;
    }
    pthread_mutex_lock(&gateway->idle_lock);
    if (atomic_fetch_sub(&gateway->in_flight, 1) == 1)
        pthread_cond_broadcast(&gateway->idle);
    pthread_mutex_unlock(&gateway->idle_lock);
}

/* Monotonic milliseconds as pthread_cond_timedwait wants them. */
size_t mrg_gateway_drain(struct mrg_gateway *gateway, uint64_t timeout_ms)
{
    uint64_t now = mrg_clock_ms(), until = now + timeout_ms;
    size_t left;
    mrg_gateway_close(gateway);
    pthread_mutex_lock(&gateway->idle_lock);
    while ((left = atomic_load(&gateway->in_flight)) > 0 && now < until) {
        struct timespec next;
        mrg_clock_deadline(&next, until - now < DRAIN_LOOK_MS ? until - now : DRAIN_LOOK_MS);
        pthread_cond_timedwait(&gateway->idle, &gateway->idle_lock, &next);
        now = mrg_clock_ms();
    }
    pthread_mutex_unlock(&gateway->idle_lock);
    return left;
}

void mrg_gateway_close(struct mrg_gateway *gateway)
{
    atomic_store(&gateway->closed, true);
    /* It closes addresses, and the transports stop next. */
    stop_expiry(gateway);
}

bool mrg_gateway_is_closed(struct mrg_gateway *gateway)
{
    return atomic_load(&gateway->closed);
}

static void cancel_engines(const struct mrg_dependency *dependency)
{
    for (size_t k = 0; k < dependency->engine_count; k++) {
        struct mrg_engine *engine = dependency->engines[k];
        if (engine->ops->cancel)
            engine->ops->cancel(engine, NULL);
    }
}

void mrg_gateway_cancel_all(struct mrg_gateway *gateway)
{
    size_t count = 0;
    mrg_gateway_close(gateway);
    atomic_store(&gateway->cancelling, true);
    pthread_rwlock_rdlock(&gateway->lock);
    struct mrg_dependency **all =
        mrg_zalloc((gateway->dependency_count + gateway->retired_count + 1) * sizeof(*all));
    for (size_t i = 0; i < gateway->dependency_count; i++)
        all[count++] = mrg_dependency_ref(gateway->dependencies[i]);
    for (size_t i = 0; i < gateway->retired_count; i++)
        all[count++] = mrg_dependency_ref(gateway->retired[i]);
    pthread_rwlock_unlock(&gateway->lock);
    for (size_t i = 0; i < count; i++)
        cancel_engines(all[i]);
    unref_all(all, count);
}
