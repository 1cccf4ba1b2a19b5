// SPDX-License-Identifier: Apache-2.0
#include "transports/http/http_int.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/log.h"

#define BACKLOG      4096 /* the kernel cuts it to net.core.somaxconn */
#define POOL_THREADS 2u   /* of an address that callers under test use */
/* Bytes of a connection's memory pool beside limits.headers; the whole pool is resident once it is kept
 * alive. */
#define POOL_ROOM  (8u << 10)
#define LEAST_POOL (16u << 10)

/* ---- the address ---- */

struct address {
    char host[MRG_MAX_HOST + 1]; /* without brackets */
    const char *port;            /* within the text */
    bool bracketed;
};

static enum mrg_err parse(const char *text, struct address *ret_address, struct mrg_error *err)
{
    const char *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    bool bracketed = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    if (bracketed) {
        text++;
        len -= 2;
    }
    if (!colon || len == 0 || len > MRG_MAX_HOST || colon[1] == '\0' ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5 ||
        strtol(colon + 1, NULL, 10) > 65535 || (!bracketed && memchr(text, ':', len)))
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "expected host:port, such as 127.0.0.1:8001 or [::1]:8001");
    memcpy(ret_address->host, text, len);
    ret_address->host[len] = '\0';
    ret_address->port = colon + 1;
    ret_address->bracketed = bracketed;
    return MRG_ERR_OK;
}

/* One socket an address: a name that stands for several is taken by its first IPv4 address, which clients
 * that try IPv6 first fall back to. */
static const struct addrinfo *choose(const struct addrinfo *found)
{
    for (const struct addrinfo *info = found; info; info = info->ai_next) {
        if (info->ai_family == AF_INET)
            return info;
    }
    return found;
}

static enum mrg_err listen_on(const struct addrinfo *info, int *ret_fd, struct mrg_error *err)
{
    const int on = 1;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* SO_REUSEADDR: past connections that linger are no reason to refuse; another listener is. */
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) {
        *ret_fd = fd;
        return MRG_ERR_OK;
    }
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (why == EADDRINUSE)
        return mrg_error_set(err, MRG_ERR_CONFLICT, "the address is in use by another process or listener");
    return mrg_error_set(err, MRG_ERR_IO, "%s", strerror(why));
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage name;
    socklen_t len = sizeof(name);
    char port[NI_MAXSERV];
    if (getsockname(fd, (struct sockaddr *)&name, &len) != 0 ||
        getnameinfo((struct sockaddr *)&name, len, NULL, 0, port, sizeof(port), NI_NUMERICSERV) != 0)
        return 0;
    return (unsigned)strtoul(port, NULL, 10);
}

static enum mrg_err open_socket(const char *text, int *ret_fd, char **ret_address, struct mrg_error *err)
{
    struct address address = {0};
    enum mrg_err code = parse(text, &address, err);
    if (code != MRG_ERR_OK)
        return code;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(address.host, address.port, &hints, &found);
    if (failed != 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "\"%s\" is no address of this machine: %s", address.host,
                             gai_strerror(failed));
    code = listen_on(choose(found), ret_fd, err);
    freeaddrinfo(found);
    if (code == MRG_ERR_OK)
        *ret_address = mrg_asprintf(address.bracketed ? "[%s]:%u" : "%s:%u", address.host, port_of(*ret_fd));
    return code;
}

/* ---- the library's callbacks ---- */

static void on_log(void *ctx, const char *format, va_list args) __attribute__((__format__(__printf__, 2, 0)));

static void on_log(void *ctx, const char *format, va_list args)
{
    (void)ctx;
    if (!mrg_log_enabled(MRG_LOG_DEBUG))
        return;
    char line[512];
    vsnprintf(line, sizeof(line), format, args);
    line[strcspn(line, "\n")] = '\0';
    mrg_log(MRG_LOG_DEBUG, "HTTP: %s", line);
}

/*
 * What this returns becomes *con_cls of the request's other callbacks. `target` is the library's own buffer,
 * and next it would take the query apart into its memory pool; some hundred pairs fill that, and then it
 * answers nothing and says nothing. The raw target is copied by now, so the query ends here for the library.
 */
static void *on_request_line(void *ctx, const char *target, struct MHD_Connection *connection)
{
    struct http_request *request = http_request_new(ctx, connection, target);
    char *query = target ? strchr(target, '?') : NULL;
    if (query)
        query[1] = '\0';
    return request;
}

static enum MHD_Result on_access(void *ctx, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *piece,
                                 size_t *piece_len, void **con_cls)
{
    (void)ctx;
    (void)connection;
    if (!*con_cls)
        return MHD_NO;
    const struct http_line line = {method, url, version};
    return http_request_step(*con_cls, &line, piece, piece_len);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode how)
{
    (void)ctx;
    (void)connection;
    (void)how;
    if (*con_cls)
        http_request_completed(*con_cls);
    *con_cls = NULL;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_listener *listener = ctx;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context = info ? http_conn_new(listener->transport, info->connect_fd) : NULL;
    } else if (*socket_context) {
        struct http_conn *conn = *socket_context;
        /* The library does not complete every request that it has told the first line of. */
        if (conn->request)
            http_request_completed(conn->request);
        http_conn_free(listener->transport, conn);
        *socket_context = NULL;
    }
}

/* ---- the daemon ---- */

/* Sessions' own addresses are many and quiet. */
static unsigned threads_of(const struct mrg_door *door)
{
    return door->kind == MRG_DOOR_CONTROL || door->session ? 1 : POOL_THREADS;
}

static struct MHD_Daemon *start_daemon(struct http_listener *listener)
{
    struct http_transport *transport = listener->transport;
    unsigned threads = threads_of(listener->door);
    const struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)on_log,
         listener}, /* first, so that what goes wrong with the others is heard of */
        {MHD_OPTION_LISTEN_SOCKET, listener->fd, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)transport->max_connections, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)listener->pool_size, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)MRG_IDLE_TIMEOUT_S, NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_request_line, listener},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, listener},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, listener},
        {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    return MHD_start_daemon(flags, 0, NULL, NULL, on_access, listener, MHD_OPTION_ARRAY, options,
                            MHD_OPTION_END);
}

enum mrg_err http_listener_start(struct http_listener *listener, const char *address, struct mrg_error *err)
{
    _cleanup_free_ char *actual = NULL;
    listener->max_headers = atomic_load_explicit(&listener->transport->max_headers, memory_order_relaxed);
    listener->pool_size =
        listener->max_headers + POOL_ROOM > LEAST_POOL ? listener->max_headers + POOL_ROOM : LEAST_POOL;
    enum mrg_err code = open_socket(address, &listener->fd, &actual, err);
    if (code != MRG_ERR_OK)
        return code;
    /* Before the first request can come in. */
    free(listener->door->address);
    listener->door->address = MRG_TAKE(actual);
    listener->daemon = start_daemon(listener);
    if (!listener->daemon) /* which has closed the socket */
        return mrg_error_set(err, MRG_ERR_IO,
                             "the HTTP library did not start; the log at level debug says why");
    return MRG_ERR_OK;
}

/* A socket that can be accepted from and to which nobody can connect: of a name that the kernel makes up.
 * -1: none. */
static int silent_socket(void)
{
    const struct sockaddr_un nameless = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&nameless, sizeof(nameless.sun_family)) == 0 &&
        listen(fd, 1) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/*
 * Callers are refused from now on, and the address may be used again. The library's own way,
 * MHD_quiesce_daemon, takes the socket out of the daemon's epoll set at the same time as the daemon's threads
 * do, and whoever comes second ends the process. So the descriptor stays, and another socket takes its place
 * behind it.
 */
void http_listener_hush(struct http_listener *listener)
{
    if (atomic_exchange(&listener->closing, true))
        return;
    int silent = silent_socket();
    if (silent < 0 || dup3(silent, listener->fd, O_CLOEXEC) < 0)
        shutdown(listener->fd, SHUT_RDWR); /* the daemon's threads will be busy with it until they end */
    if (silent >= 0)
        close(silent);
}

void http_listener_stop(struct http_listener *listener)
{
    MHD_stop_daemon(listener->daemon); /* which closes the socket */
    listener->daemon = NULL;
}
