// SPDX-License-Identifier: Apache-2.0
#include "cli/server.h"

#include <string.h>

#include "engines/cassette_shelf.h"
#include "engines/cassette_writer.h"
#include "evidence/evidence.h"
#include "llm/llm.h"
#include "transports/grpc/grpc.h"
#include "transports/http/http.h"
#include "transports/zmq/zmq.h"
#include "util/log.h"
#include "wire/schema.h"

#define TOLD_DROPPED   5u    /* things left out of a prompt that are named at the start */
#define CANCEL_WAIT_MS 5000u /* for cancelled work to come back */

static const struct mrg_transport_ops *const wires[MRG_SERVER_WIRES] = {
    &mrg_transport_http,
    &mrg_transport_grpc,
    &mrg_transport_zmq,
};

/* The first ones by name, the rest as a number: `mirage check` and `mirage prompt` list all. */
static void tell_dropped(const struct mrg_dependency_config *config, const struct mrg_evidence *evidence)
{
    size_t count;
    const struct mrg_dropped *dropped = mrg_evidence_dropped(evidence, &count);
    if (config->cassette.mode == MRG_CASSETTE_REPLAY)
        return; /* nobody is shown the prompt */
    for (size_t i = 0; i < count && i < TOLD_DROPPED; i++)
        mrg_log(MRG_LOG_WARN, "%s: left out of the prompt: %s (%s)", config->name, dropped[i].what,
                dropped[i].why);
    if (count > TOLD_DROPPED)
        mrg_log(MRG_LOG_WARN, "%s: left out of the prompt: %zu more; mirage check lists them", config->name,
                count - TOLD_DROPPED);
}

static enum mrg_err make_dependency(struct mrg_server *server, struct mrg_config *config, size_t i,
                                    struct mrg_dependency **ret_dependency, struct mrg_error *err)
{
    const struct mrg_dependency_config *one = &config->dependencies[i];
    struct mrg_evidence *evidence = NULL;
    struct mrg_schema *schema = NULL;
    enum mrg_err code = mrg_server_schema(one, &schema, err);
    if (!code)
        code = mrg_evidence_load(one, &evidence, err);
    if (code) {
        mrg_schema_free(schema);
        return mrg_error_wrap(err, "%s:%d: dependency %s", config->path, one->line, one->name);
    }
    tell_dropped(one, evidence);
    return mrg_dependency_new(config, one, evidence, mrg_evidence_free, mrg_schema_shape(schema),
                              &server->services, server->stats, ret_dependency, err);
}

static void unref_all(struct mrg_dependency **dependencies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mrg_dependency_unref(dependencies[i]);
    free(dependencies);
}

static enum mrg_err check_shared(const struct mrg_config *config, struct mrg_dependency *const *dependencies,
                                 struct mrg_error *err)
{
    const struct mrg_schema **schemas = mrg_zalloc((config->dependency_count + 1) * sizeof(*schemas));
    for (size_t i = 0; i < config->dependency_count; i++)
        schemas[i] = mrg_schema_of(dependencies[i]->shape);
    enum mrg_err code = mrg_server_check_shared(config, schemas, err);
    free(schemas);
    return code;
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
    enum mrg_err code = check_shared(config, dependencies, err);
    if (code)
        unref_all(dependencies, config->dependency_count);
    else
        *ret_dependencies = dependencies;
    return code;
}

static void configure_wires(struct mrg_server *server, const struct mrg_config *config)
{
    for (size_t i = 0; i < MRG_SERVER_WIRES; i++)
        server->wires[i]->ops->configure(server->wires[i], config);
}

/*
 * New addresses open first, because that may fail; then the gateway changes over; then what is no longer
 * wanted closes. For the moment between, a caller of a new address gets 503, and at the start nobody knows
 * the addresses yet.
 */
static enum mrg_err configure(struct mrg_server *server, struct mrg_config *config, struct mrg_error *err)
{
    struct mrg_dependency **dependencies = NULL;
    enum mrg_err code = make_dependencies(server, config, &dependencies, err);
    if (code)
        return code;
    struct mrg_config *old = server->config;
    configure_wires(server, config);
    code = mrg_server_open_doors(server, config, err);
    if (code && old) {
        configure_wires(server, old);
    } else if (!code) {
        mrg_gateway_configure(server->gateway, config, dependencies, config->dependency_count);
        server->config = mrg_config_ref(config);
        mrg_config_unref(old);
        mrg_server_close_doors(server);
    }
    unref_all(dependencies, config->dependency_count);
    return code;
}

static enum mrg_err start_services(struct mrg_server *server, struct mrg_config *config,
                                   struct mrg_error *err)
{
    /* The client first: curl's global start comes before any thread. */
    enum mrg_err code = mrg_llm_client_new(&server->services.llm, err);
    if (!code)
        code = mrg_watch_new(&server->watch, err);
    if (!code)
        code = mrg_cassette_writer_new(&server->services.writer, err);
    if (code)
        return code;
    server->services.shelf = mrg_cassette_shelf_new();
    server->gateway = mrg_gateway_new(server->stats, server->watch);
    const struct mrg_transport_env env = {server->gateway, server->watch, config};
    for (size_t i = 0; i < MRG_SERVER_WIRES && !code; i++) {
        code = wires[i]->start(&env, &server->wires[i], err);
        if (!code)
            mrg_gateway_add_transport(server->gateway, server->wires[i]);
    }
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
        mrg_server_drain(server);
        mrg_server_free(server);
        mrg_server_done(server);
    }
    return code;
}

enum mrg_err mrg_server_reload(struct mrg_server *server, struct mrg_config *config, struct mrg_error *err)
{
    return configure(server, config, err);
}

void mrg_server_drain(struct mrg_server *server)
{
    if (!server->gateway)
        return;
    for (size_t i = 0; i < MRG_SERVER_WIRES; i++) {
        if (server->wires[i])
            server->wires[i]->ops->quiesce(server->wires[i]);
    }
    size_t left = mrg_gateway_drain(server->gateway, server->config ? server->config->limits.drain_ms : 0);
    if (left > 0) {
        mrg_log(MRG_LOG_WARN, "Cancelling %zu requests that did not end within limits.drain", left);
        mrg_gateway_cancel_all(server->gateway);
    }
    /* Each comes back when its engine has let go; whoever has no patience sends a second signal. */
    while (left > 0 && (left = mrg_gateway_drain(server->gateway, CANCEL_WAIT_MS)) > 0)
        mrg_log(MRG_LOG_WARN, "Still waiting for %zu cancelled requests", left);
}

void mrg_server_free(struct mrg_server *server)
{
    for (size_t i = 0; i < MRG_SERVER_WIRES; i++) {
        if (server->wires[i])
            server->wires[i]->ops->stop(server->wires[i]);
        server->wires[i] = NULL;
    }
    mrg_server_forget_doors(server);
    /* The client's thread may still be leaving the gateway: it is joined first. Engines end with the gateway and
     * call no service then; the writer ends after the engines that record. */
    mrg_llm_client_free(server->services.llm);
    mrg_gateway_free(server->gateway);
    mrg_cassette_shelf_free(server->services.shelf);
    mrg_cassette_writer_free(server->services.writer);
    mrg_watch_free(server->watch);
    server->gateway = NULL;
}

void mrg_server_done(struct mrg_server *server)
{
    mrg_config_unref(server->config);
    mrg_stats_free(server->stats);
    server->config = NULL;
    server->stats = NULL;
}
