// SPDX-License-Identifier: Apache-2.0
/* Addresses: none twice, a token off loopback, and a way in for each dependency. */
#include <string.h>

#include "core/config_check.h"
#include "core/config_text.h"

/* An address in use, for telling two of them apart. */
struct bound {
    char host[MRG_ADDRESS_HOST]; /* of an ipc:// endpoint "" */
    unsigned port;
    const char *endpoint; /* as written */
    struct mrg_mark mark;
};

struct rules {
    struct mrg_config_load *load;
    struct bound *bound;
    size_t bound_count;
    size_t bound_room;
};

/* `first` tells where the other one is, in a message about the second. */
static char *where(struct mrg_mark first)
{
    return first.origin ? mrg_asprintf("in %s", first.origin) : mrg_asprintf("on line %d", first.line);
}

static bool same_host(const char *a, const char *b)
{
    if (strcmp(a, "localhost") == 0)
        a = "127.0.0.1";
    if (strcmp(b, "localhost") == 0)
        b = "127.0.0.1";
    return strcmp(a, b) == 0 || mrg_host_is_any(a) || mrg_host_is_any(b);
}

static bool collides(const struct bound *one, const struct bound *other)
{
    if (one->host[0] == '\0' || other->host[0] == '\0')
        return one->host[0] == other->host[0] && strcmp(one->endpoint, other->endpoint) == 0;
    return one->port != 0 && one->port == other->port && same_host(one->host, other->host);
}

/* host:port of an address or of a tcp:// endpoint; a port that is free to choose is 0. */
static void read_bound(struct bound *bound, const char *address)
{
    bound->endpoint = address;
    if (strncmp(address, "ipc://", 6) == 0)
        return;
    if (strncmp(address, "tcp://", 6) == 0)
        address += 6;
    size_t len = strlen(address);
    bool any = len > 0 && address[len - 1] == '*';
    _cleanup_free_ char *plain = mrg_asprintf("%.*s%s", (int)(any ? len - 1 : len), address, any ? "0" : "");
    bound->port = mrg_address_split(plain, bound->host);
}

static void check_address(struct rules *rules, const char *address, struct mrg_mark mark, const char *place)
{
    struct mrg_problems *problems = &rules->load->problems;
    mrg_grow((void **)&rules->bound, &rules->bound_room, rules->bound_count, sizeof(*rules->bound));
    struct bound *own = &rules->bound[rules->bound_count++];
    *own = (struct bound){.mark = mark};
    read_bound(own, address);
    for (size_t i = 0; i + 1 < rules->bound_count; i++) {
        if (!collides(own, &rules->bound[i]))
            continue;
        _cleanup_free_ char *there = where(rules->bound[i].mark);
        mrg_problems_add(problems, mark, "%s: %s is taken %s already; expected an address of its own", place,
                         address, there);
        break;
    }
    if (own->host[0] && !mrg_host_is_loopback(own->host) &&
        !mrg_node_find(rules->load->root, "control.token_env"))
        mrg_problems_add(
            problems, mark,
            "%s: control verbs on %s, which is not loopback, need a token; expected control.token_env or "
            "127.0.0.1",
            place, address);
}

/* The address at `path` of node, if there is one, and a list's items. `before` stands before path in messages. */
static void check_one(struct rules *rules, const char *address, const struct mrg_node *node,
                      const char *before, const char *path)
{
    if (!address)
        return;
    _cleanup_free_ char *place = mrg_asprintf("%s%s", before, path);
    check_address(rules, address, mrg_node_mark_at(node, path), place);
}

static void check_list(struct rules *rules, const struct mrg_strings *endpoints, const struct mrg_node *node,
                       const char *before, const char *path)
{
    for (size_t i = 0; i < endpoints->count; i++)
        check_one(rules, endpoints->items[i], node, before, path);
}

static bool has_own_address(const struct mrg_node *node)
{
    return mrg_node_find(node, "listen.http") || mrg_node_find(node, "listen.grpc") ||
           mrg_node_find(node, "listen.zmq");
}

static void check_reachable(struct rules *rules, size_t index)
{
    const struct mrg_config_load *load = rules->load;
    const struct mrg_node *node = load->dependency_nodes[index], *root = load->root;
    const struct mrg_dependency_config *dependency = &load->config->dependencies[index];
    bool shared_http = mrg_node_find(root, "listen.http"), shared_grpc = mrg_node_find(root, "listen.grpc");
    if (has_own_address(node) || (shared_http && mrg_node_get(node, "prefix")) ||
        (shared_grpc && mrg_node_get(node, "protos")) || mrg_node_find(root, "listen.zmq"))
        return;
    _cleanup_free_ char *name =
        dependency->name ? mrg_strdup(dependency->name) : mrg_asprintf("number %zu", index + 1);
    mrg_problems_add(
        &rules->load->problems, node->mark,
        "dependency %s has no address; expected listen: {http: host:port}, or grpc or zmq there%s%s", name,
        shared_http ? ", or a prefix on the shared address" : ", or a prefix and a shared listen.http",
        shared_grpc ? ", or protos for the shared listen.grpc" : "");
}

static void check_dependency(struct rules *rules, size_t index)
{
    const struct mrg_config_load *load = rules->load;
    const struct mrg_node *node = load->dependency_nodes[index];
    const struct mrg_dependency_config *dependency = &load->config->dependencies[index];
    _cleanup_free_ char *before = dependency->name ? mrg_asprintf("dependencies.%s.", dependency->name)
                                                   : mrg_asprintf("dependencies[%zu].", index);
    check_one(rules, dependency->listen_http, node, before, "listen.http");
    check_one(rules, dependency->listen_grpc, node, before, "listen.grpc");
    check_list(rules, &dependency->listen_zmq, node, before, "listen.zmq");
    check_one(rules, dependency->zmq.control, node, before, "zmq.control");
    check_reachable(rules, index);
}

void mrg_config_check_listen(struct mrg_config_load *load)
{
    const struct mrg_config *config = load->config;
    struct rules rules = {.load = load};
    check_one(&rules, config->control_listen, load->root, "", "control.listen");
    check_one(&rules, config->listen_http, load->root, "", "listen.http");
    check_one(&rules, config->listen_grpc, load->root, "", "listen.grpc");
    check_list(&rules, &config->listen_zmq, load->root, "", "listen.zmq");
    for (size_t i = 0; i < config->dependency_count; i++)
        check_dependency(&rules, i);
    free(rules.bound);
}
