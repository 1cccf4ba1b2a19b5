// SPDX-License-Identifier: Apache-2.0
/*
 * Sessions' own addresses, for callers that can name a session in no other way.
 */
#include <string.h>

#include "core/gateway_int.h"
#include "util/json.h"
#include "util/text.h"

/* Takes the doors out for which `matches` says so; the caller closes them outside the lock. */
static struct mrg_session_door *take_doors(struct mrg_gateway *gateway, const char *session)
{
    struct mrg_session_door *out = NULL;
    pthread_mutex_lock(&gateway->doors_lock);
    for (struct mrg_session_door **link = &gateway->session_doors; *link;) {
        struct mrg_session_door *one = *link;
        const char *name = one->door->session;
        struct mrg_session *alive = session ? NULL : mrg_sessions_find(gateway->sessions, mrg_slice_of(name));
        bool take = session ? strcmp(name, session) == 0 : alive == NULL;
        mrg_session_unref(alive);
        if (!take) {
            link = &one->next;
            continue;
        }
        *link = one->next;
        one->next = out;
        out = one;
        gateway->session_door_count--;
    }
    pthread_mutex_unlock(&gateway->doors_lock);
    return out;
}

static void close_doors(struct mrg_session_door *doors)
{
    while (doors) {
        struct mrg_session_door *next = doors->next;
        doors->transport->ops->close(doors->transport, doors->door);
        mrg_door_unref(doors->door);
        free(doors);
        doors = next;
    }
}

void mrg_gateway_close_session(struct mrg_gateway *gateway, const char *session)
{
    close_doors(take_doors(gateway, session));
}

void mrg_gateway_sweep_doors(struct mrg_gateway *gateway)
{
    close_doors(take_doors(gateway, NULL));
}

void mrg_gateway_forget_doors(struct mrg_gateway *gateway)
{
    while (gateway->session_doors) {
        struct mrg_session_door *one = gateway->session_doors;
        gateway->session_doors = one->next;
        mrg_door_unref(one->door);
        free(one);
    }
}

/* Whether the dependency is reached over that wire at all: a session's own addresses are of the same wires. */
static bool is_served(const struct mrg_config *config, const struct mrg_dependency_config *one,
                      const struct mrg_transport *transport)
{
    const char *wire = transport->ops->name;
    if (strcmp(wire, "http") == 0)
        return one->listen_http || (config->listen_http && one->prefix);
    if (strcmp(wire, "grpc") == 0)
        return one->listen_grpc || (config->listen_grpc && mrg_dependency_has_protos(one));
    return one->listen_zmq.count > 0 || config->listen_zmq.count > 0;
}

/* Opens one and puts it before *doors. */
static enum mrg_err open_door(struct mrg_transport *transport, const char *dependency, const char *session,
                              struct mrg_session_door **doors, struct mrg_buf *buf, struct mrg_error *err)
{
    struct mrg_door *door = mrg_door_new(MRG_DOOR_DEPENDENCY, dependency, session);
    enum mrg_err code = transport->ops->open(transport, transport->ops->session, door, err);
    if (code) {
        mrg_door_unref(door);
        return code;
    }
    bool many = transport->ops->many;
    mrg_buf_appendf(buf, ",\"%s\":%s\"%s%s\"%s", transport->ops->name, many ? "[" : "",
                    transport->ops->scheme, door->address, many ? "]" : "");
    struct mrg_session_door *one = mrg_zalloc(sizeof(*one));
    one->transport = transport;
    one->door = door;
    one->next = *doors;
    *doors = one;
    return MRG_ERR_OK;
}

static void keep_doors(struct mrg_gateway *gateway, struct mrg_session_door *doors)
{
    pthread_mutex_lock(&gateway->doors_lock);
    while (doors) {
        struct mrg_session_door *next = doors->next;
        doors->next = gateway->session_doors;
        gateway->session_doors = doors;
        gateway->session_door_count++;
        doors = next;
    }
    pthread_mutex_unlock(&gateway->doors_lock);
}

/* Counted before any is opened: two at the same time may together pass the limit by one session's
 * addresses, no more. */
static enum mrg_err check_room(struct mrg_gateway *gateway, size_t wanted, struct mrg_error *err)
{
    pthread_mutex_lock(&gateway->doors_lock);
    size_t held = gateway->session_door_count;
    pthread_mutex_unlock(&gateway->doors_lock);
    if (held + wanted > MRG_MAX_SESSION_LISTENERS)
        return mrg_error_set(
            err, MRG_ERR_TOO_LARGE,
            "sessions hold %zu addresses of their own and at most %u are allowed; delete one", held,
            MRG_MAX_SESSION_LISTENERS);
    return MRG_ERR_OK;
}

bool mrg_gateway_session_listens(struct mrg_gateway *gateway, const char *session)
{
    bool found = false;
    pthread_mutex_lock(&gateway->doors_lock);
    for (struct mrg_session_door *one = gateway->session_doors; one && !found; one = one->next)
        found = strcmp(one->door->session, session) == 0;
    pthread_mutex_unlock(&gateway->doors_lock);
    return found;
}

enum mrg_err mrg_gateway_open_session(struct mrg_gateway *gateway, const char *session, struct mrg_buf *buf,
                                      struct mrg_error *err)
{
    struct mrg_config *config = mrg_gateway_config(gateway);
    struct mrg_session_door *doors = NULL;
    size_t wanted = 0;
    for (size_t i = 0; i < config->dependency_count; i++) {
        for (size_t k = 0; k < gateway->transport_count; k++)
            wanted += is_served(config, &config->dependencies[i], gateway->transports[k]);
    }
    enum mrg_err code = check_room(gateway, wanted, err);
    mrg_buf_append_char(buf, '[');
    for (size_t i = 0; i < config->dependency_count && !code; i++) {
        const char *name = config->dependencies[i].name;
        mrg_buf_append_str(buf, i ? ",{\"name\":" : "{\"name\":");
        mrg_json_append_string(buf, mrg_slice_of(name));
        for (size_t k = 0; k < gateway->transport_count && !code; k++) {
            if (is_served(config, &config->dependencies[i], gateway->transports[k]))
                code = open_door(gateway->transports[k], name, session, &doors, buf, err);
        }
        mrg_buf_append_char(buf, '}');
    }
    mrg_buf_append_char(buf, ']');
    mrg_config_unref(config);
    if (code)
        close_doors(doors);
    else
        keep_doors(gateway, doors);
    return code;
}
