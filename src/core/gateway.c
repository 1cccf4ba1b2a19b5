// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <time.h>

#include "core/control.h"
#include "core/gateway_int.h"
#include "util/clock.h"
#include "util/text.h"

#define EXPIRY_EVERY_MS 30000u /* how often idle sessions are looked for */

static void on_expiry(struct mrg_timer *timer)
{
    struct mrg_gateway *gateway = MRG_CONTAINER_OF(timer, struct mrg_gateway, expiry);
    if (mrg_sessions_expire(gateway->sessions, MRG_SESSION_IDLE_MS) > 0)
        mrg_gateway_sweep_doors(gateway);
    mrg_watch_timer_set(gateway->watch, timer, mrg_clock_ms() + EXPIRY_EVERY_MS);
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
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&gateway->idle, &attr);
    pthread_condattr_destroy(&attr);
    if (watch) {
        gateway->expiry.fn = on_expiry;
        mrg_watch_timer_set(watch, &gateway->expiry, mrg_clock_ms() + EXPIRY_EVERY_MS);
    }
    return gateway;
}

static void unref_all(struct mrg_dependency **dependencies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mrg_dependency_unref(dependencies[i]);
    free(dependencies);
}

/* Twice, because the first may have waited for a run that set the timer again. */
static void stop_expiry(struct mrg_gateway *gateway)
{
    for (int i = 0; i < 2 && gateway->watch; i++)
        mrg_watch_timer_clear(gateway->watch, &gateway->expiry);
}

void mrg_gateway_free(struct mrg_gateway *gateway)
{
    if (!gateway)
        return;
    stop_expiry(gateway);
    MRG_ASSERT(gateway->in_flight == 0);
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

/* With the write lock held: keeps the old dependencies until their last exchange ends, and lets earlier
 * ones go. */
static void retire(struct mrg_gateway *gateway, struct mrg_dependency **old, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < gateway->retired_count; i++) {
        if (atomic_load(&gateway->retired[i]->refs) > 1)
            gateway->retired[kept++] = gateway->retired[i];
        else
            mrg_dependency_unref(gateway->retired[i]);
    }
    gateway->retired_count = kept;
    for (size_t i = 0; i < count; i++) {
        mrg_grow((void **)&gateway->retired, &gateway->retired_room, gateway->retired_count,
                 sizeof(*gateway->retired));
        gateway->retired[gateway->retired_count++] = old[i];
    }
    free(old);
}

void mrg_gateway_configure(struct mrg_gateway *gateway, struct mrg_config *config,
                           struct mrg_dependency **dependencies, size_t count)
{
    struct mrg_dependency **fresh = mrg_zalloc((count + 1) * sizeof(*fresh));
    for (size_t i = 0; i < count; i++)
        fresh[i] = mrg_dependency_ref(dependencies[i]);
    pthread_rwlock_wrlock(&gateway->lock);
    struct mrg_config *old = gateway->config;
    retire(gateway, gateway->dependencies, gateway->dependency_count);
    gateway->config = mrg_config_ref(config);
    gateway->dependencies = fresh;
    gateway->dependency_count = count;
    pthread_rwlock_unlock(&gateway->lock);
    mrg_config_unref(old);
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

void mrg_gateway_enter(struct mrg_gateway *gateway)
{
    pthread_mutex_lock(&gateway->idle_lock);
    gateway->in_flight++;
    pthread_mutex_unlock(&gateway->idle_lock);
}

void mrg_gateway_leave(struct mrg_gateway *gateway)
{
    /* Under the lock, so that drain cannot return, and the gateway be freed, before this thread is done with it. */
    pthread_mutex_lock(&gateway->idle_lock);
    if (--gateway->in_flight == 0)
        pthread_cond_broadcast(&gateway->idle);
    pthread_mutex_unlock(&gateway->idle_lock);
}

size_t mrg_gateway_drain(struct mrg_gateway *gateway, uint64_t timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&gateway->idle_lock);
    int late = 0;
    while (gateway->in_flight > 0 && late == 0)
        late = pthread_cond_timedwait(&gateway->idle, &gateway->idle_lock, &until);
    size_t left = gateway->in_flight;
    pthread_mutex_unlock(&gateway->idle_lock);
    return left;
}

void mrg_gateway_close(struct mrg_gateway *gateway)
{
    atomic_store(&gateway->closed, true);
    /* It closes addresses, and the transports stop next. */
    stop_expiry(gateway);
}

static void cancel_engines(struct mrg_dependency **dependencies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < dependencies[i]->engine_count; k++) {
            struct mrg_engine *engine = dependencies[i]->engines[k];
            if (engine->ops->cancel)
                engine->ops->cancel(engine, NULL);
        }
    }
}

void mrg_gateway_cancel_all(struct mrg_gateway *gateway)
{
    atomic_store(&gateway->closed, true);
    atomic_store(&gateway->cancelling, true);
    pthread_rwlock_rdlock(&gateway->lock);
    cancel_engines(gateway->dependencies, gateway->dependency_count);
    cancel_engines(gateway->retired, gateway->retired_count);
    pthread_rwlock_unlock(&gateway->lock);
}
