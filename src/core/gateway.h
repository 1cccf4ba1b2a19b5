// SPDX-License-Identifier: Apache-2.0
/*
 * Gateway: from an exchange to its dependency, session, turn and reply.
 *
 * Transports submit; deliver comes once for each, whatever happens. Nothing here knows a wire's library.
 * Thread: any, but for the functions that say main.
 */
#pragma once

#include "core/config.h"
#include "core/dependency.h"
#include "core/exchange.h"
#include "core/journal.h"
#include "core/session.h"
#include "core/stats.h"
#include "core/transport.h"
#include "core/watch.h"

struct mrg_gateway;

/* `stats` and `watch` outlive it. */
struct mrg_gateway *mrg_gateway_new(struct mrg_stats *stats, struct mrg_watch *watch);
void mrg_gateway_free(struct mrg_gateway *gateway);

/* Main: takes over a configuration and its dependencies (a reference of each), at the start and at a
 * reload. States stay. */
void mrg_gateway_configure(struct mrg_gateway *gateway, struct mrg_config *config,
                           struct mrg_dependency **dependencies, size_t count);
/* Main: transports by which sessions may open addresses of their own. */
void mrg_gateway_add_transport(struct mrg_gateway *gateway, struct mrg_transport *transport);

/* The exchange is complete (request, door, received_us); the gateway takes a reference of its own. */
void mrg_gateway_submit(struct mrg_gateway *gateway, struct mrg_exchange *exchange);
/* The caller has hung up, or was answered 504 by the adapter: `on_gone` decides about the work. Deliver
 * still comes. */
void mrg_gateway_gone(struct mrg_gateway *gateway, struct mrg_exchange *exchange);

/* Main, stopping: closes the gateway and waits until nothing is in flight, at most timeout_ms; the number
 * still in flight. */
size_t mrg_gateway_drain(struct mrg_gateway *gateway, uint64_t timeout_ms);
/* Main, stopping: cancels what is in flight; each is delivered a 503. New submissions get 503 at once. */
void mrg_gateway_cancel_all(struct mrg_gateway *gateway);
/* Main, stopping: from now on new submissions get 503; what is in flight goes on. */
void mrg_gateway_close(struct mrg_gateway *gateway);

/* Whether it refuses new exchanges because the server stops. */
bool mrg_gateway_is_closed(struct mrg_gateway *gateway);

/* For control verbs and main. Borrowed. */
struct mrg_sessions *mrg_gateway_sessions(struct mrg_gateway *gateway);
struct mrg_journal *mrg_gateway_journal(struct mrg_gateway *gateway);
struct mrg_stats *mrg_gateway_stats(struct mrg_gateway *gateway);
/* The current configuration, a reference; the dependency of that name, a reference or NULL. */
struct mrg_config *mrg_gateway_config(struct mrg_gateway *gateway);
struct mrg_dependency *mrg_gateway_dependency(struct mrg_gateway *gateway, const char *name);
/*
 * The first dependency, in the configuration's order, for which `fits` returns true, a reference; NULL. For
 * adapters that tell dependencies apart by more than a name. `fits` runs under the gateway's read lock: it
 * may take references, and calls nothing else of the gateway.
 */
typedef bool (*mrg_dependency_fits_fn)(void *ctx, struct mrg_dependency *dependency);
struct mrg_dependency *mrg_gateway_find(struct mrg_gateway *gateway, mrg_dependency_fits_fn fits, void *ctx);
/* Whether a session has addresses of its own. */
bool mrg_gateway_session_listens(struct mrg_gateway *gateway, const char *session);
/* Opens one address for each wire and dependency, in that session: appends [{"name","http":…}] to buf. TOO_LARGE: there are
 * too many in all. */
enum mrg_err mrg_gateway_open_session(struct mrg_gateway *gateway, const char *session, struct mrg_buf *buf,
                                      struct mrg_error *err);
/* Closes the addresses of that session, if it has any. */
void mrg_gateway_close_session(struct mrg_gateway *gateway, const char *session);
