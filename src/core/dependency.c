// SPDX-License-Identifier: Apache-2.0
#include "core/dependency.h"

#include <string.h>

#include "util/text.h"

static const struct mrg_engine_ops *find_engine(const char *name)
{
    for (size_t i = 0; mrg_engines[i]; i++) {
        if (strcmp(mrg_engines[i]->name, name) == 0)
            return mrg_engines[i];
    }
    return NULL;
}

static enum mrg_err make_engines(struct mrg_dependency *dependency, struct mrg_services *services,
                                 struct mrg_error *err)
{
    const struct mrg_strings *names = &dependency->config->engines;
    const struct mrg_engine_env env = {
        .config = dependency->config,
        .match = dependency->match,
        .stats = dependency->stats,
        .evidence = dependency->evidence,
        .services = services,
    };
    dependency->engines = mrg_zalloc((names->count + 1) * sizeof(*dependency->engines));
    for (size_t i = 0; i < names->count; i++) {
        const struct mrg_engine_ops *ops = find_engine(names->items[i]);
        if (!ops)
            return mrg_error_set(err, MRG_ERR_UNSUPPORTED, "there is no engine %s", names->items[i]);
        enum mrg_err code = ops->create(&env, &dependency->engines[i], err);
        if (code)
            return code;
        dependency->engine_count++;
    }
    return MRG_ERR_OK;
}

enum mrg_err mrg_dependency_new(struct mrg_config *owner, const struct mrg_dependency_config *config,
                                struct mrg_evidence *evidence,
                                void (*free_evidence)(struct mrg_evidence *evidence), struct mrg_shape *shape,
                                struct mrg_services *services, struct mrg_stats *stats,
                                struct mrg_dependency **ret_dependency, struct mrg_error *err)
{
    struct mrg_dependency *dependency = mrg_zalloc(sizeof(*dependency));
    atomic_init(&dependency->refs, 1);
    dependency->owner = mrg_config_ref(owner);
    dependency->config = config;
    dependency->name = mrg_text_new(config->name, strlen(config->name));
    dependency->evidence = evidence;
    dependency->free_evidence = free_evidence;
    dependency->shape = shape;
    dependency->stats = mrg_stats_dependency(stats, config->name);

    enum mrg_err code = mrg_match_new(config, &dependency->match, err);
    if (!code && shape)
        mrg_match_use_shape(dependency->match, shape);
    if (!code)
        code = make_engines(dependency, services, err);
    if (code) {
        mrg_error_wrap(err, "dependency %s", config->name);
        mrg_dependency_unref(dependency);
        return code;
    }
    *ret_dependency = dependency;
    return MRG_ERR_OK;
}

struct mrg_dependency *mrg_dependency_ref(struct mrg_dependency *dependency)
{
    atomic_fetch_add_explicit(&dependency->refs, 1, memory_order_relaxed);
    return dependency;
}

void mrg_dependency_unref(struct mrg_dependency *dependency)
{
    if (!dependency || atomic_fetch_sub_explicit(&dependency->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = dependency->engine_count; i-- > 0;)
        dependency->engines[i]->ops->destroy(dependency->engines[i]);
    free(dependency->engines);
    mrg_match_free(dependency->match);
    if (dependency->evidence && dependency->free_evidence)
        dependency->free_evidence(dependency->evidence);
    if (dependency->shape)
        dependency->shape->ops->free(dependency->shape);
    mrg_text_unref(dependency->name);
    mrg_config_unref(dependency->owner);
    free(dependency);
}
