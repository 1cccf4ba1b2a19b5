// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "cli/server.h"

/* A door that is open and the address that the configuration asked for (port 0 may have become another). */
struct mrg_listening {
    struct mrg_door *door; /* a reference */
    char *wanted;
    bool keep; /* while listening anew: the new configuration wants it too */
};

/* One address that a configuration wants. */
struct wish {
    enum mrg_door_kind kind;
    const char *dependency;
    const char *address;
};

static size_t collect(const struct mrg_config *config, struct wish *wishes)
{
    size_t n = 0;
    if (config->control_listen)
        wishes[n++] = (struct wish){MRG_DOOR_CONTROL, NULL, config->control_listen};
    if (config->listen_http)
        wishes[n++] = (struct wish){MRG_DOOR_SHARED, NULL, config->listen_http};
    for (size_t i = 0; i < config->dependency_count; i++) {
        const struct mrg_dependency_config *one = &config->dependencies[i];
        if (one->listen_http)
            wishes[n++] = (struct wish){MRG_DOOR_DEPENDENCY, one->name, one->listen_http};
    }
    return n;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static struct mrg_listening *find(struct mrg_server *server, const struct wish *wish)
{
    for (size_t i = 0; i < server->door_count; i++) {
        struct mrg_listening *one = &server->doors[i];
        if (one->door->kind == wish->kind && same(one->door->dependency, wish->dependency) &&
            same(one->wanted, wish->address))
            return one;
    }
    return NULL;
}

static void forget(struct mrg_listening *one)
{
    mrg_door_unref(one->door);
    free(one->wanted);
}

static void close_one(struct mrg_server *server, struct mrg_listening *one)
{
    server->http->ops->close(server->http, one->door);
    forget(one);
}

static enum mrg_err open_one(struct mrg_server *server, const struct wish *wish, struct mrg_error *err)
{
    struct mrg_door *door = mrg_door_new(wish->kind, wish->dependency, NULL);
    enum mrg_err code = server->http->ops->open(server->http, wish->address, door, err);
    if (code) {
        mrg_door_unref(door);
        return mrg_error_wrap(err, "%s",
                              wish->dependency                 ? wish->dependency
                              : wish->kind == MRG_DOOR_CONTROL ? "control"
                                                               : "listen");
    }
    server->doors[server->door_count++] = (struct mrg_listening){door, mrg_strdup(wish->address), true};
    return MRG_ERR_OK;
}

enum mrg_err mrg_server_open_doors(struct mrg_server *server, struct mrg_config *config,
                                   struct mrg_error *err)
{
    _cleanup_free_ struct wish *wishes = mrg_zalloc((config->dependency_count + 2) * sizeof(*wishes));
    size_t count = collect(config, wishes);
    size_t before = server->door_count;
    server->doors = mrg_realloc(server->doors, (before + count + 1) * sizeof(*server->doors));
    for (size_t i = 0; i < before; i++)
        server->doors[i].keep = false;
    for (size_t i = 0; i < count; i++) {
        struct mrg_listening *open = find(server, &wishes[i]);
        if (open) {
            open->keep = true;
            continue;
        }
        enum mrg_err code = open_one(server, &wishes[i], err);
        if (code) {
            while (server->door_count > before)
                close_one(server, &server->doors[--server->door_count]);
            return code;
        }
    }
    return MRG_ERR_OK;
}

void mrg_server_close_doors(struct mrg_server *server)
{
    size_t kept = 0;
    for (size_t i = 0; i < server->door_count; i++) {
        if (server->doors[i].keep)
            server->doors[kept++] = server->doors[i];
        else
            close_one(server, &server->doors[i]);
    }
    server->door_count = kept;
}

void mrg_server_forget_doors(struct mrg_server *server)
{
    for (size_t i = 0; i < server->door_count; i++)
        forget(&server->doors[i]);
    free(server->doors);
    server->doors = NULL;
    server->door_count = 0;
}

const char *mrg_server_address(const struct mrg_server *server, enum mrg_door_kind kind,
                               const char *dependency)
{
    for (size_t i = 0; i < server->door_count; i++) {
        const struct mrg_door *door = server->doors[i].door;
        if (door->kind == kind && same(door->dependency, dependency))
            return door->address;
    }
    return NULL;
}
