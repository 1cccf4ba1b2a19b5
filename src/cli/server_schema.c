// SPDX-License-Identifier: Apache-2.0
#include "cli/server.h"
#include "clients/client.h"
#include "wire/schema.h"

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
    }
    mrg_buf_done(&reflected);
    return code;
}
