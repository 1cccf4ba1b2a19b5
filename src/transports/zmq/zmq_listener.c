// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "transports/zmq/zmq_int.h"

#define BATCH                64 /* messages of one socket before the next one has its turn */
#define HEARTBEAT_MS         10000
#define HEARTBEAT_TIMEOUT_MS 30000

size_t zm_frame_limit(const struct zm_transport *transport)
{
    return 2 * (atomic_load(&transport->max_body) + atomic_load(&transport->max_headers)) +
           MRG_ZMQ_FRAME_SPARE;
}

/* Messages at one peer: the more, the smaller the largest one is. */
static int high_water(const struct zm_transport *transport)
{
    size_t count = MRG_ZMQ_HWM_BYTES / zm_frame_limit(transport);
    if (count > MRG_ZMQ_HWM)
        count = MRG_ZMQ_HWM;
    return (int)(count < MRG_ZMQ_LEAST_HWM ? MRG_ZMQ_LEAST_HWM : count);
}

/* ---- endpoints ---- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The library binds to addresses and interfaces, and to no name of a host: not even to this one. */
static char *endpoint_of(const char *address)
{
    static const char name[] = "tcp://localhost:";
    if (starts_with(address, name))
        return mrg_asprintf("tcp://127.0.0.1:%s", address + sizeof(name) - 1);
    return mrg_strdup(address);
}

/* * or a number: the library would take one of 70000 for another. */
static bool has_port(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    size_t digits = strspn(colon + 1, "0123456789");
    if (strcmp(colon + 1, "*") == 0)
        return true;
    return digits > 0 && digits <= 5 && colon[1 + digits] == '\0' && strtoul(colon + 1, NULL, 10) <= 65535;
}

static bool answers(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    memcpy(to.sun_path, path, len);
    bool taken = connect(fd, (const struct sockaddr *)&to, (socklen_t)sizeof(to)) == 0 || errno == EAGAIN;
    close(fd);
    return taken;
}

/* The library removes whatever is at the path before it binds: somebody's file, or the socket of a server
 * that runs. */
static enum mrg_err check_path(const char *path, struct mrg_error *err)
{
    struct stat info;
    if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return mrg_error_set(err, MRG_ERR_INVALID, "the path is longer than %zu bytes",
                             sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
    if (*path == '@' || *path == '*' || lstat(path, &info) != 0)
        return MRG_ERR_OK;
    if (!S_ISSOCK(info.st_mode))
        return mrg_error_set(err, MRG_ERR_INVALID, "there is a file of that name, which is no socket");
    if (answers(path))
        return mrg_error_set(err, MRG_ERR_CONFLICT, "another server listens there");
    return MRG_ERR_OK;
}

static enum mrg_err check_endpoint(const char *endpoint, struct mrg_error *err)
{
    static const char ipc[] = "ipc://";
    if (strlen(endpoint) < MRG_ZMQ_MAX_ENDPOINT && starts_with(endpoint, "tcp://") && has_port(endpoint))
        return MRG_ERR_OK;
    if (strlen(endpoint) < MRG_ZMQ_MAX_ENDPOINT && starts_with(endpoint, ipc))
        return check_path(endpoint + sizeof(ipc) - 1, err);
    return mrg_error_set(err, MRG_ERR_INVALID, "expected tcp://HOST:PORT or ipc://PATH");
}

static enum mrg_err bind_failed(struct mrg_error *err)
{
    int failed = zmq_errno();
    switch (failed) {
    case EADDRINUSE:
        return mrg_error_set(err, MRG_ERR_CONFLICT, "the address is in use");
    case EADDRNOTAVAIL:
    case ENODEV:
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "this machine has no such address; expected one of its addresses or interfaces, "
                             "or * for all");
    case EINVAL:
    case EPROTONOSUPPORT:
        return mrg_error_set(err, MRG_ERR_INVALID, "expected tcp://HOST:PORT or ipc://PATH");
    default:
        return mrg_error_set(err, MRG_ERR_IO, "%s", zmq_strerror(failed));
    }
}

/* ---- the socket ---- */

/* The library leaves the file of an ipc endpoint behind. */
static void note_file(struct zm_listener *listener)
{
    static const char ipc[] = "ipc:///";
    struct stat info;
    const char *path = listener->door->address + sizeof(ipc) - 2;
    if (!starts_with(listener->door->address, ipc) || lstat(path, &info) != 0)
        return;
    listener->file = mrg_strdup(path);
    listener->inode = info.st_ino;
}

static void remove_file(struct zm_listener *listener)
{
    struct stat info;
    if (listener->file && lstat(listener->file, &info) == 0 && info.st_ino == listener->inode)
        unlink(listener->file);
    free(listener->file);
}

static void set_int(void *socket, int option, int value)
{
    MRG_ASSERT(zmq_setsockopt(socket, option, &value, sizeof(value)) == 0);
}

static void set_options(const struct zm_transport *transport, void *socket, const char *endpoint)
{
    int64_t frame = (int64_t)zm_frame_limit(transport);
    set_int(socket, ZMQ_ROUTER_MANDATORY, 1);
    set_int(socket, ZMQ_ROUTER_HANDOVER, 0);
    set_int(socket, ZMQ_LINGER, ZM_LINGER_MS);
    set_int(socket, ZMQ_SNDHWM, high_water(transport));
    set_int(socket, ZMQ_RCVHWM, high_water(transport));
    set_int(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS);
    set_int(socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS);
    set_int(socket, ZMQ_HEARTBEAT_TTL, HEARTBEAT_TIMEOUT_MS);
    set_int(socket, ZMQ_IPV6, strchr(endpoint, '[') != NULL);
    MRG_ASSERT(zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &frame, sizeof(frame)) == 0);
}

static enum mrg_err open_socket(struct zm_listener *listener, const char *endpoint, struct mrg_error *err)
{
    char bound[MRG_ZMQ_MAX_ENDPOINT + 64];
    size_t len = sizeof(bound);
    struct zm_transport *transport = listener->transport;
    listener->socket = zmq_socket(transport->context, ZMQ_ROUTER);
    if (!listener->socket)
        return mrg_error_set(err, MRG_ERR_IO, "%s", zmq_strerror(zmq_errno()));
    set_options(transport, listener->socket, endpoint);
    if (zmq_bind(listener->socket, endpoint) != 0)
        return bind_failed(err);
    MRG_ASSERT(zmq_getsockopt(listener->socket, ZMQ_LAST_ENDPOINT, bound, &len) == 0);
    free(listener->door->address);
    listener->door->address = mrg_strdup(bound);
    note_file(listener);
    return MRG_ERR_OK;
}

enum mrg_err zm_listener_new(struct zm_transport *transport, const char *address, struct mrg_door *door,
                             struct zm_listener **ret_listener, struct mrg_error *err)
{
    _cleanup_free_ char *endpoint = endpoint_of(address);
    enum mrg_err code = check_endpoint(endpoint, err);
    if (code)
        return code;
    struct zm_listener *listener = mrg_zalloc(sizeof(*listener));
    listener->transport = transport;
    listener->door = mrg_door_ref(door);
    code = open_socket(listener, endpoint, err);
    if (code) {
        zm_listener_free(listener);
        return code;
    }
    pthread_mutex_lock(&transport->lock);
    if (transport->frame_limit == 0)
        transport->frame_limit = zm_frame_limit(transport);
    pthread_mutex_unlock(&transport->lock);
    *ret_listener = listener;
    return MRG_ERR_OK;
}

void zm_listener_free(struct zm_listener *listener)
{
    zm_send_done(listener);
    if (listener->socket)
        zmq_close(listener->socket);
    remove_file(listener);
    mrg_door_unref(listener->door);
    free(listener);
}

void zm_listener_read(struct zm_listener *listener)
{
    struct zm_message message;
    for (int i = 0; i < BATCH && listener->in_flight < MRG_ZMQ_IN_FLIGHT; i++) {
        if (!zm_receive(listener->socket, &message))
            return;
        zm_take(listener, &message);
        zm_message_done(&message);
    }
}
