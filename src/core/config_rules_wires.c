// SPDX-License-Identifier: Apache-2.0
/* What protos, routes and ZeroMQ formats need of each other. */
#include <string.h>
#include <unistd.h>

#include "core/config_check.h"

struct wires {
    struct mrg_config_load *load;
    const struct mrg_node *node;
    const struct mrg_dependency_config *dependency;
    const char *name; /* for messages */
};

static void complain(const struct wires *wires, const char *path, const char *what)
{
    mrg_problems_add(&wires->load->problems, mrg_node_mark_at(wires->node, path), "dependency %s: %s",
                     wires->name, what);
}

static bool is_there(const struct mrg_strings *roots, const char *file)
{
    for (size_t i = 0; i < roots->count; i++) {
        _cleanup_free_ char *path = mrg_asprintf("%s/%s", roots->items[i], file);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static void check_files(const struct wires *wires)
{
    const struct mrg_protos_config *protos = &wires->dependency->protos;
    for (size_t i = 0; i < protos->files.count; i++) {
        if (is_there(&protos->roots, protos->files.items[i]))
            continue;
        struct mrg_buf roots;
        mrg_buf_init(&roots, 4096);
        for (size_t k = 0; k < protos->roots.count; k++)
            mrg_buf_appendf(&roots, "%s%s", k ? ", " : "", protos->roots.items[k]);
        mrg_problems_add(
            &wires->load->problems, mrg_node_mark_at(wires->node, "protos.files"),
            "dependency %s: protos.files: %s is below none of protos.roots (%s); expected a path "
            "as an import would name it",
            wires->name, protos->files.items[i], roots.len ? roots.data : "there are none");
        mrg_buf_done(&roots);
    }
    if (protos->roots.count > 0 && !mrg_dependency_has_protos(wires->dependency) &&
        !mrg_node_find(wires->node, "protos.files"))
        complain(wires, "protos.roots", "protos.roots alone name no file; expected protos.files");
}

static void check_needs(const struct wires *wires)
{
    const struct mrg_dependency_config *dependency = wires->dependency;
    const struct mrg_node *protos = mrg_node_get(wires->node, "protos");
    /* What is wrong with protos that say something has been told. */
    if (mrg_dependency_has_protos(dependency) || (protos && protos->count > 0))
        return;
    if (dependency->listen_grpc)
        complain(wires, "listen.grpc",
                 "listen.grpc needs protos; expected protos: {roots: [folder], files: [name.proto]}, sets or "
                 "reflect");
    if (dependency->route_count > 0)
        complain(wires, "routes", "routes are of RPCs, which need protos; expected protos");
    if (dependency->zmq.rpc)
        complain(wires, "zmq.rpc", "zmq.rpc needs protos; expected protos");
}

static void check_routes(const struct wires *wires)
{
    const struct mrg_dependency_config *dependency = wires->dependency;
    for (size_t i = 0; i < dependency->route_count; i++) {
        const char *rpc = dependency->routes[i].rpc;
        for (size_t k = 0; rpc && k < i; k++) {
            const char *other = dependency->routes[k].rpc;
            if (!other || strcmp(other, rpc) != 0)
                continue;
            mrg_problems_add(&wires->load->problems, mrg_node_mark_at(wires->node, "routes"),
                             "dependency %s: routes[%zu] is a second one for %s; expected one for each RPC",
                             wires->name, i, rpc);
            break;
        }
    }
}

static void check_format(const struct wires *wires)
{
    const struct mrg_zmq_config *zmq = &wires->dependency->zmq;
    bool route = mrg_node_find(wires->node, "zmq.route"), rpc = mrg_node_find(wires->node, "zmq.rpc");
    if (zmq->format == MRG_ZMQ_BODY && !route)
        complain(wires, "zmq.format", "zmq.format body needs zmq.route; expected \"METHOD /path\" there");
    if (zmq->format == MRG_ZMQ_PROTOBUF && !rpc)
        complain(wires, "zmq.format", "zmq.format protobuf needs zmq.rpc; expected pkg.Service/Method there");
    if (zmq->format != MRG_ZMQ_BODY && route)
        complain(wires, "zmq.route", "zmq.route is for zmq.format body only; expected that format");
    if (zmq->format != MRG_ZMQ_PROTOBUF && rpc)
        complain(wires, "zmq.rpc", "zmq.rpc is for zmq.format protobuf only; expected that format");
}

void mrg_config_check_wires(struct mrg_config_load *load, size_t index, const char *name)
{
    const struct wires wires = {load, load->dependency_nodes[index], &load->config->dependencies[index],
                                name};
    check_files(&wires);
    check_needs(&wires);
    check_routes(&wires);
    check_format(&wires);
}
