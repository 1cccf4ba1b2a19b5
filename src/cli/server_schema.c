// SPDX-License-Identifier: Apache-2.0
#include "cli/server.h"
#include "clients/client.h"
#include "wire/schema.h"

/* What the configuration wants of the protos, and only they can tell. */
static enum mrg_err check_use(const struct mrg_dependency_config *config, const struct mrg_schema *schema,
                              struct mrg_error *err)
{
    size_t services;
    mrg_schema_services(schema, &services);
    if (config->listen_grpc && services == 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "listen.grpc: the protos have no service; expected one");
    if (config->zmq.rpc && !mrg_schema_method(schema, mrg_slice_of(config->zmq.rpc)))
        return mrg_error_set(err, MRG_ERR_INVALID, "zmq.rpc: the protos have no RPC %s", config->zmq.rpc);
    return MRG_ERR_OK;
}

/* A service of `one` that `other` has too; NULL. Mirage's own are in none of them. */
static const char *common_service(const struct mrg_schema *one, const struct mrg_schema *other)
{
    size_t count, others;
    const struct mrg_service *const *services = mrg_schema_services(one, &count);
    const struct mrg_service *const *their = mrg_schema_services(other, &others);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < others; k++) {
            if (mrg_slice_eq(services[i]->full_name, their[k]->full_name))
                return services[i]->full_name.ptr;
        }
    }
    return NULL;
}

enum mrg_err mrg_server_check_shared(const struct mrg_config *config, const struct mrg_schema *const *schemas,
                                     struct mrg_error *err)
{
    for (size_t i = 0; config->listen_grpc && i < config->dependency_count; i++) {
        const struct mrg_dependency_config *one = &config->dependencies[i];
        for (size_t k = 0; k < i && schemas[i] && !one->listen_grpc; k++) {
            const struct mrg_dependency_config *other = &config->dependencies[k];
            const char *name =
                schemas[k] && !other->listen_grpc ? common_service(schemas[i], schemas[k]) : NULL;
            if (name)
                return mrg_error_set(
                    err, MRG_ERR_INVALID,
                    "%s:%d: dependency %s: %s is a service of %s too, and the shared listen.grpc "
                    "tells dependencies apart by their services; expected listen.grpc of its own",
                    config->path, one->line, one->name, name, other->name);
        }
    }
    return MRG_ERR_OK;
}

enum mrg_err mrg_server_schema(const struct mrg_dependency_config *config, struct mrg_schema **ret_schema,
                               struct mrg_error *err)
{
    struct mrg_buf reflected;
    enum mrg_err code = MRG_ERR_OK;
    *ret_schema = NULL;
    if (!mrg_dependency_has_protos(config))
        return MRG_ERR_OK;
    mrg_buf_init(&reflected, MRG_MAX_DESCRIPTORS);
    if (config->protos.reflect) {
        const struct mrg_client_options options = {0};
        code = mrg_client_reflect(config->protos.reflect, &options, &reflected, err);
        if (code)
            mrg_error_wrap(err, "protos.reflect: %s", config->protos.reflect);
    }
    if (!code) {
        const struct mrg_schema_source source = {
            .protos = &config->protos,
            .routes = config->routes,
            .route_count = config->route_count,
            .reflected = mrg_buf_slice(&reflected),
        };
        code = mrg_schema_load(&source, ret_schema, err);
        if (!code && (code = check_use(config, *ret_schema, err))) {
            mrg_schema_free(*ret_schema);
            *ret_schema = NULL;
        }
    }
    mrg_buf_done(&reflected);
    return code;
}
