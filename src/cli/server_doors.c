// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "cli/server.h"

/* A door that is open and the address that the configuration asked for (port 0 may have become another). */
struct mrg_listening {
    struct mrg_transport *transport;
    struct mrg_door *door; /* a reference */
    char *wanted;
    bool keep; /* while listening anew: the new configuration wants it too */
};

/* One address that a configuration wants. */
struct wish {
    struct mrg_transport *transport;
    enum mrg_door_kind kind;
    const char *dependency;
    const char *address;
    bool control;
};

struct wishes {
    struct wish *items;
    size_t count;
    size_t room;
};

static void wish_for(struct wishes *wishes, struct wish wish)
{
    if (!wish.address)
        return;
    mrg_grow((void **)&wishes->items, &wishes->room, wishes->count, sizeof(*wishes->items));
    wishes->items[wishes->count++] = wish;
}

static void wish_for_all(struct wishes *wishes, const struct mrg_strings *addresses, struct wish wish)
{
    for (size_t i = 0; i < addresses->count; i++) {
        wish.address = addresses->items[i];
        wish_for(wishes, wish);
    }
}

static void collect(const struct mrg_server *server, const struct mrg_config *config, struct wishes *wishes)
{
    struct mrg_transport *http = server->wires[0], *grpc = server->wires[1], *zmq = server->wires[2];
    wish_for(wishes, (struct wish){http, MRG_DOOR_CONTROL, NULL, config->control_listen, false});
    wish_for(wishes, (struct wish){http, MRG_DOOR_SHARED, NULL, config->listen_http, false});
    wish_for(wishes, (struct wish){grpc, MRG_DOOR_SHARED, NULL, config->listen_grpc, false});
    wish_for_all(wishes, &config->listen_zmq, (struct wish){zmq, MRG_DOOR_SHARED, NULL, NULL, false});
    for (size_t i = 0; i < config->dependency_count; i++) {
        const struct mrg_dependency_config *one = &config->dependencies[i];
        struct wish own = {http, MRG_DOOR_DEPENDENCY, one->name, one->listen_http, false};
        wish_for(wishes, own);
        own.transport = grpc;
        own.address = one->listen_grpc;
        wish_for(wishes, own);
        own.transport = zmq;
        wish_for_all(wishes, &one->listen_zmq, own);
        own.address = one->zmq.control;
        own.control = true;
        wish_for(wishes, own);
    }
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static struct mrg_listening *find(struct mrg_server *server, const struct wish *wish)
{
    for (size_t i = 0; i < server->door_count; i++) {
        struct mrg_listening *one = &server->doors[i];
        if (one->transport == wish->transport && one->door->kind == wish->kind &&
            one->door->control == wish->control && same(one->door->dependency, wish->dependency) &&
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

static void close_one(struct mrg_listening *one)
{
    one->transport->ops->close(one->transport, one->door);
    forget(one);
}

static enum mrg_err open_one(struct mrg_server *server, const struct wish *wish, struct mrg_error *err)
{
    struct mrg_door *door = mrg_door_new(wish->kind, wish->dependency, NULL);
    door->control = wish->control;
    enum mrg_err code = wish->transport->ops->open(wish->transport, wish->address, door, err);
    if (code) {
        mrg_door_unref(door);
        return mrg_error_wrap(err, "%s",
                              wish->dependency                 ? wish->dependency
                              : wish->kind == MRG_DOOR_CONTROL ? "control"
                                                               : "listen");
    }
    server->doors[server->door_count++] =
        (struct mrg_listening){wish->transport, door, mrg_strdup(wish->address), true};
    return MRG_ERR_OK;
}

static enum mrg_err open_missing(struct mrg_server *server, const struct wishes *wishes,
                                 struct mrg_error *err)
{
    for (size_t i = 0; i < wishes->count; i++) {
        struct mrg_listening *open = find(server, &wishes->items[i]);
        enum mrg_err code = MRG_ERR_OK;
        if (open)
            open->keep = true;
        else
            code = open_one(server, &wishes->items[i], err);
        if (code)
            return code;
    }
    return MRG_ERR_OK;
}

enum mrg_err mrg_server_open_doors(struct mrg_server *server, struct mrg_config *config,
                                   struct mrg_error *err)
{
    struct wishes wishes = {NULL, 0, 0};
    collect(server, config, &wishes);
    size_t before = server->door_count;
    server->doors = mrg_realloc(server->doors, (before + wishes.count + 1) * sizeof(*server->doors));
    for (size_t i = 0; i < before; i++)
        server->doors[i].keep = false;
    enum mrg_err code = open_missing(server, &wishes, err);
    while (code && server->door_count > before)
        close_one(&server->doors[--server->door_count]);
    free(wishes.items);
    return code;
}

void mrg_server_close_doors(struct mrg_server *server)
{
    size_t kept = 0;
    for (size_t i = 0; i < server->door_count; i++) {
        if (server->doors[i].keep)
            server->doors[kept++] = server->doors[i];
        else
            close_one(&server->doors[i]);
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

const char *mrg_server_address(const struct mrg_server *server, const struct mrg_server_door *door, size_t n)
{
    for (size_t i = 0; i < server->door_count; i++) {
        const struct mrg_listening *one = &server->doors[i];
        if (one->door->kind == door->kind && one->door->control == door->control &&
            strcmp(one->transport->ops->name, door->wire) == 0 &&
            same(one->door->dependency, door->dependency) && n-- == 0)
            return one->door->address;
    }
    return NULL;
}
