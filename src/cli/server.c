// SPDX-License-Identifier: Apache-2.0
#include "cli/server.h"

#include <string.h>

#include "engines/cassette_writer.h"
#include "evidence/evidence.h"
#include "llm/llm.h"
#include "transports/http/http.h"
#include "util/log.h"

#define CANCEL_WAIT_MS 5000u /* for cancelled work to come back */

static void tell_dropped(const char *name, const struct mrg_evidence *evidence)
{
    size_t count;
    const struct mrg_dropped *dropped = mrg_evidence_dropped(evidence, &count);
    for (size_t i = 0; i < count; i++)
        mrg_log(MRG_LOG_WARN, "%s: left out of the prompt: %s (%s)", name, dropped[i].what, dropped[i].why);
}

static enum mrg_err make_dependency(struct mrg_server *server, struct mrg_config *config, size_t i,
                                    struct mrg_dependency **ret_dependency, struct mrg_error *err)
{
    const struct mrg_dependency_config *one = &config->dependencies[i];
    struct mrg_evidence *evidence = NULL;
    enum mrg_err code = mrg_evidence_load(one, &evidence, err);
    if (code)
        return mrg_error_wrap(err, "%s:%d: dependency %s", config->path, one->line, one->name);
    tell_dropped(one->name, evidence);
    return mrg_dependency_new(config, one, evidence, mrg_evidence_free, &server->services, server->stats,
                              ret_dependency, err);
}

static void unref_all(struct mrg_dependency **dependencies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mrg_dependency_unref(dependencies[i]);
    free(dependencies);
}

static enum mrg_err make_dependencies(struct mrg_server *server, struct mrg_config *config,
                                      struct mrg_dependency ***ret_dependencies, struct mrg_error *err)
{
    struct mrg_dependency **dependencies = mrg_zalloc((config->dependency_count + 1) * sizeof(*dependencies));
    for (size_t i = 0; i < config->dependency_count; i++) {
        enum mrg_err code = make_dependency(server, config, i, &dependencies[i], err);
        if (code) {
            unref_all(dependencies, i);
            return code;
        }
    }
    *ret_dependencies = dependencies;
    return MRG_ERR_OK;
}

static enum mrg_err configure(struct mrg_server *server, struct mrg_config *config, struct mrg_error *err)
{
    struct mrg_dependency **dependencies = NULL;
    enum mrg_err code = make_dependencies(server, config, &dependencies, err);
    if (code)
        return code;
    /* The gateway knows a new dependency before its door opens; a door that is to close may find its dependency gone: 503. */
    struct mrg_config *old = server->config;
    if (!old)
        mrg_gateway_configure(server->gateway, config, dependencies, config->dependency_count);
    code = mrg_server_listen(server, config, err);
    if (!code) {
        if (old)
            mrg_gateway_configure(server->gateway, config, dependencies, config->dependency_count);
        server->config = mrg_config_ref(config);
        mrg_config_unref(old);
    }
    unref_all(dependencies, config->dependency_count);
    return code;
}

static enum mrg_err start_services(struct mrg_server *server, struct mrg_config *config,
                                   struct mrg_error *err)
{
    enum mrg_err code = mrg_watch_new(&server->watch, err);
    if (!code)
        code = mrg_llm_client_new(&server->services.llm, err);
    if (!code)
        code = mrg_cassette_writer_new(&server->services.writer, err);
    if (code)
        return code;
    server->gateway = mrg_gateway_new(server->stats, server->watch);
    const struct mrg_transport_env env = {server->gateway, server->watch, config};
    code = mrg_transport_http.start(&env, &server->http, err);
    if (!code)
        mrg_gateway_add_transport(server->gateway, server->http);
    return code;
}

enum mrg_err mrg_server_start(struct mrg_server *server, struct mrg_config *config, struct mrg_error *err)
{
    memset(server, 0, sizeof(*server));
    server->stats = mrg_stats_new();
    enum mrg_err code = start_services(server, config, err);
    if (!code)
        code = configure(server, config, err);
    if (code) {
        mrg_server_stop(server);
        mrg_stats_free(server->stats);
        server->stats = NULL;
    }
    return code;
}

enum mrg_err mrg_server_reload(struct mrg_server *server, struct mrg_config *config, struct mrg_error *err)
{
    return configure(server, config, err);
}

static void drain(struct mrg_server *server)
{
    uint64_t limit = server->config ? server->config->limits.drain_ms : 0;
    mrg_gateway_close(server->gateway);
    size_t left = mrg_gateway_drain(server->gateway, limit);
    if (left == 0)
        return;
    mrg_log(MRG_LOG_WARN, "Cancelling %zu requests that did not end within the drain time", left);
    mrg_gateway_cancel_all(server->gateway);
    left = mrg_gateway_drain(server->gateway, CANCEL_WAIT_MS);
    MRG_ASSERT(left == 0);
}

void mrg_server_stop(struct mrg_server *server)
{
    if (server->http)
        server->http->ops->quiesce(server->http);
    if (server->gateway)
        drain(server);
    if (server->http)
        server->http->ops->stop(server->http);
    mrg_server_forget_doors(server);
    /* Engines end before the services that they use: their last references are the gateway's. */
    mrg_gateway_free(server->gateway);
    mrg_llm_client_free(server->services.llm);
    mrg_cassette_writer_free(server->services.writer);
    mrg_watch_free(server->watch);
    mrg_config_unref(server->config);
    server->http = NULL;
    server->gateway = NULL;
    server->config = NULL;
}
