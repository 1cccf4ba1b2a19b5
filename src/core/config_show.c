// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/config_scope.h"
#include "core/config_value.h"
#include "util/json.h"

#define ROW "  %-9s "

static void append_list(struct mrg_buf *buf, const struct mrg_strings *strings, const char *between)
{
    for (size_t i = 0; i < strings->count; i++)
        mrg_buf_appendf(buf, "%s%s", i ? between : "", strings->items[i]);
}

static void append_row(struct mrg_buf *buf, const char *name, const struct mrg_strings *strings)
{
    if (strings->count == 0)
        return;
    mrg_buf_appendf(buf, ROW, name);
    append_list(buf, strings, ", ");
    mrg_buf_append_char(buf, '\n');
}

static const char *word(enum mrg_option_scope scope, const char *path, unsigned value,
                        char ret_word[MRG_WORD])
{
    return mrg_option_word_text(mrg_option_find(scope, path), value, ret_word);
}

static void append_evidence(struct mrg_buf *buf, const struct mrg_evidence_config *evidence)
{
    const struct {
        const char *name;
        const struct mrg_strings *paths;
    } rows[] = {
        {"source", &evidence->source}, {"caller", &evidence->caller},     {"traces", &evidence->traces},
        {"schema", &evidence->schema}, {"examples", &evidence->examples},
    };
    const char *title = "evidence";
    for (size_t i = 0; i < MRG_ARRAY_LEN(rows); i++) {
        for (size_t j = 0; j < rows[i].paths->count; j++) {
            mrg_buf_appendf(buf, ROW "%-8s  %s\n", title, j == 0 ? rows[i].name : "",
                            rows[i].paths->items[j]);
            title = "";
        }
    }
    if (title[0]) {
        mrg_buf_appendf(buf, ROW "none: the model would know no more than the name\n", title);
        return;
    }
    char use[MRG_WORD];
    mrg_buf_appendf(buf, ROW "%-8s  %s, up to %d tokens\n", "", "use",
                    word(MRG_SCOPE_DEPENDENCY, "evidence.use", evidence->use, use), evidence->budget);
}

static void append_model(struct mrg_buf *buf, const struct mrg_model_config *model)
{
    char provider[MRG_WORD], timeout[MRG_UNIT_TEXT];
    if (!model->name) {
        mrg_buf_appendf(buf, ROW "none is named, and none is needed: nobody is asked\n", "model");
        return;
    }
    mrg_buf_appendf(buf, ROW "%s (%s), ", "model", model->name,
                    word(MRG_SCOPE_MODEL, "provider", model->provider, provider));
    if (model->has_temperature)
        mrg_buf_appendf(buf, "temperature %g, ", model->temperature);
    mrg_buf_appendf(buf, "up to %d tokens, timeout %s, %d retries, %u at once\n", model->max_tokens,
                    mrg_duration_text(model->timeout_ms, timeout), model->retries, model->concurrency);
}

/* Which signals go out with every question: those that `use` lets pass are chosen later, so all are named. */
static void append_sent(struct mrg_buf *buf, const struct mrg_dependency_config *dependency)
{
    const struct mrg_model_config *model = &dependency->model;
    bool asks = mrg_dependency_has_engine(dependency, "llm");
    bool replays = dependency->cassette.mode == MRG_CASSETTE_REPLAY;
    if (!asks || replays) {
        mrg_buf_appendf(buf, ROW "nothing to anybody%s\n", "sends", replays ? ": replay never asks" : "");
        return;
    }
    mrg_buf_appendf(
        buf, ROW "evidence, and requests%s, to %s%s\n", "sends",
        dependency->redact.count ? " with redacted placeholders" : " as they come (nothing is redacted)",
        model->base_url, mrg_dependency_records(dependency) ? "; requests also into the cassette" : "");
    if (!model->key_env) {
        mrg_buf_appendf(buf, ROW "none is sent\n", "key");
        return;
    }
    const char *key = getenv(model->key_env);
    mrg_buf_appendf(buf, ROW "from %s%s\n", "key", model->key_env,
                    key && key[0] ? "" : ", which is not set: nothing can be asked before it is");
}

/* One row an address, the word before the first only. */
static void append_url(struct mrg_buf *buf, const char **title, const char *scheme, const char *address,
                       const char *rest)
{
    if (!address)
        return;
    mrg_buf_appendf(buf, ROW "%s%s%s\n", *title, scheme, address, rest);
    *title = "";
}

static void append_addresses(struct mrg_buf *buf, const struct mrg_config *config,
                             const struct mrg_dependency_config *dependency)
{
    const char *title = "address";
    bool protos = mrg_dependency_has_protos(dependency);
    append_url(buf, &title, "http://", dependency->listen_http, "");
    if (dependency->prefix)
        append_url(buf, &title, "http://", config->listen_http, dependency->prefix);
    append_url(buf, &title, "grpc://", dependency->listen_grpc, "");
    if (protos && !dependency->listen_grpc)
        append_url(buf, &title, "grpc://", config->listen_grpc, ", by service");
    for (size_t i = 0; i < dependency->listen_zmq.count; i++)
        append_url(buf, &title, "", dependency->listen_zmq.items[i], "");
    for (size_t i = 0; dependency->listen_zmq.count == 0 && i < config->listen_zmq.count; i++)
        append_url(buf, &title, "", config->listen_zmq.items[i], ", by \"dependency\"");
}

static void append_zmq(struct mrg_buf *buf, const struct mrg_dependency_config *dependency)
{
    const struct mrg_zmq_config *zmq = &dependency->zmq;
    char format[MRG_WORD];
    if (dependency->listen_zmq.count == 0 && !zmq->control)
        return;
    mrg_buf_appendf(buf, ROW "format %s", "zmq",
                    word(MRG_SCOPE_DEPENDENCY, "zmq.format", zmq->format, format));
    if (zmq->route || zmq->rpc)
        mrg_buf_appendf(buf, " of %s", zmq->route ? zmq->route : zmq->rpc);
    if (zmq->control)
        mrg_buf_appendf(buf, "; control verbs at %s", zmq->control);
    else if (zmq->format == MRG_ZMQ_BODY || zmq->format == MRG_ZMQ_PROTOBUF)
        mrg_buf_append_str(buf, "; it cannot carry control verbs, and there is no zmq.control");
    mrg_buf_append_char(buf, '\n');
}

static void append_protos(struct mrg_buf *buf, const struct mrg_dependency_config *dependency)
{
    const struct mrg_protos_config *protos = &dependency->protos;
    append_row(buf, "protos", &protos->files);
    append_row(buf, protos->files.count ? "" : "protos", &protos->sets);
    if (protos->reflect)
        mrg_buf_appendf(buf, ROW "by reflection from %s\n",
                        protos->files.count + protos->sets.count ? "" : "protos", protos->reflect);
    for (size_t i = 0; i < dependency->route_count; i++)
        mrg_buf_appendf(buf, ROW "%s is %s\n", i ? "" : "routes", dependency->routes[i].rpc,
                        dependency->routes[i].http);
    append_zmq(buf, dependency);
}

static void append_dependency(struct mrg_buf *buf, const struct mrg_config *config,
                              const struct mrg_dependency_config *dependency)
{
    char mode[MRG_WORD], stale[MRG_WORD], preset[MRG_WORD];
    mrg_buf_appendf(buf, "\n%s\n", dependency->name);
    append_addresses(buf, config, dependency);
    append_protos(buf, dependency);
    mrg_buf_appendf(buf, ROW, "engines");
    append_list(buf, &dependency->engines, ", then ");
    mrg_buf_append_char(buf, '\n');
    append_evidence(buf, &dependency->evidence);
    mrg_buf_appendf(buf, ROW "%s", "cassette",
                    word(MRG_SCOPE_DEPENDENCY, "cassette.mode", dependency->cassette.mode, mode));
    if (dependency->cassette.mode != MRG_CASSETTE_OFF)
        mrg_buf_appendf(
            buf, ", in %s; recorded with other evidence: %s", dependency->cassette.dir,
            word(MRG_SCOPE_DEPENDENCY, "cassette.on_stale", dependency->cassette.on_stale, stale));
    mrg_buf_append_char(buf, '\n');
    append_row(buf, "ignore", &dependency->cassette.ignore);
    append_row(buf, "reads", &dependency->reads);
    append_row(buf, "writes", &dependency->writes);
    mrg_buf_appendf(buf, ROW "the last %u exchanges\n", "memory", dependency->window);
    if (dependency->preset != MRG_PRESET_NONE)
        mrg_buf_appendf(buf, ROW "%s\n", "preset",
                        word(MRG_SCOPE_DEPENDENCY, "preset", dependency->preset, preset));
    append_row(buf, "hide", &dependency->hide);
    append_row(buf, "redact", &dependency->redact);
    if (mrg_dependency_has_engine(dependency, "llm"))
        append_model(buf, &dependency->model);
    append_sent(buf, dependency);
}

void mrg_config_append_summary(struct mrg_buf *buf, const struct mrg_config *config)
{
    const struct mrg_limits_config *limits = &config->limits;
    char body[MRG_UNIT_TEXT], headers[MRG_UNIT_TEXT], deadline[MRG_UNIT_TEXT], drain[MRG_UNIT_TEXT];
    mrg_buf_appendf(buf, "%s: %zu %s\n", config->path, config->dependency_count,
                    config->dependency_count == 1 ? "dependency" : "dependencies");
    if (config->control_listen)
        mrg_buf_appendf(buf, ROW "http://%s%s%s\n", "control", config->control_listen,
                        config->control_token_env ? ", token from " : "",
                        config->control_token_env ? config->control_token_env : "");
    if (config->listen_http)
        mrg_buf_appendf(buf, ROW "http://%s, by prefix\n", "shared", config->listen_http);
    if (config->listen_grpc)
        mrg_buf_appendf(buf, ROW "grpc://%s, by service\n", config->listen_http ? "" : "shared",
                        config->listen_grpc);
    append_row(buf, config->listen_http || config->listen_grpc ? "" : "shared", &config->listen_zmq);
    mrg_buf_appendf(buf, ROW "body %s, headers %s, deadline %s, drain %s\n", "limits",
                    mrg_size_text(limits->body, body), mrg_size_text(limits->headers, headers),
                    mrg_duration_text(limits->deadline_ms, deadline),
                    mrg_duration_text(limits->drain_ms, drain));
    for (size_t i = 0; i < config->dependency_count; i++)
        append_dependency(buf, config, &config->dependencies[i]);
}

static struct json_object *model_json(const struct mrg_model_config *model)
{
    struct json_object *object = json_object_new_object();
    mrg_scope_add_json(MRG_SCOPE_MODEL, model, object);
    return object;
}

static struct json_object *routes_json(const struct mrg_dependency_config *dependency)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < dependency->route_count; i++) {
        struct json_object *object = json_object_new_object();
        mrg_scope_add_json(MRG_SCOPE_ROUTE, &dependency->routes[i], object);
        json_object_array_add(list, object);
    }
    return list;
}

struct json_object *mrg_config_json(const struct mrg_config *config)
{
    struct json_object *root = json_object_new_object();
    json_object_object_add(root, "file", json_object_new_string(config->path));
    mrg_scope_add_json(MRG_SCOPE_ROOT, config, root);
    json_object_object_add(root, "model", model_json(&config->model));
    struct json_object *judges = json_object_new_array();
    for (size_t i = 0; i < config->judge_count; i++)
        json_object_array_add(judges, model_json(&config->judges[i]));
    if (config->judge_count > 0)
        json_object_object_add(root, "judges", judges);
    else
        json_object_put(judges);
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < config->dependency_count; i++) {
        struct json_object *object = json_object_new_object();
        mrg_scope_add_json(MRG_SCOPE_DEPENDENCY, &config->dependencies[i], object);
        json_object_object_add(object, "model", model_json(&config->dependencies[i].model));
        if (config->dependencies[i].route_count > 0)
            json_object_object_add(object, "routes", routes_json(&config->dependencies[i]));
        json_object_array_add(list, object);
    }
    json_object_object_add(root, "dependencies", list);
    return root;
}

void mrg_config_append_json(struct mrg_buf *buf, const struct mrg_config *config)
{
    struct json_object *root = mrg_config_json(config);
    mrg_json_append_tree(buf, root);
    json_object_put(root);
}
