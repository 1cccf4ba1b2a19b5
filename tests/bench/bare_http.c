// SPDX-License-Identifier: Apache-2.0
//
// The least that a libmicrohttpd server can do: read the whole body, answer with a fixed JSON text. What
// a real server on the same library costs beyond this is its own doing; run_http.py puts the two in relation.

#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#define BODY_MAX (16u << 20)

struct upload {
    char *data;
    size_t size;
};

static char *reply_text;
static size_t reply_size = 64;

static enum MHD_Result answer(struct MHD_Connection *connection)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply_size, reply_text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    enum MHD_Result result = MHD_add_response_header(response, "Content-Type", "application/json");
    if (result == MHD_YES)
        result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *size,
                                  void **request)
{
    (void)ctx, (void)url, (void)method, (void)version;
    struct upload *upload = *request;
    if (!upload) {
        *request = calloc(1, sizeof *upload);
        return *request ? MHD_YES : MHD_NO;
    }
    if (*size == 0)
        return answer(connection);
    if (upload->size + *size > BODY_MAX)
        return MHD_NO;
    char *grown = realloc(upload->data, upload->size + *size);
    if (!grown)
        return MHD_NO;
    memcpy(grown + upload->size, data, *size);
    upload->data = grown;
    upload->size += *size;
    *size = 0;
    return MHD_YES;
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
    (void)ctx, (void)connection, (void)code;
    struct upload *upload = *request;
    if (upload)
        free(upload->data);
    free(upload);
    *request = NULL;
}

// A JSON object of exactly `size` bytes: {"x":"…"}.
static char *make_reply(size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return NULL;
    memset(text, 'x', size);
    memcpy(text, "{\"x\":\"", 6);
    memcpy(text + size - 2, "\"}", 3);
    return text;
}

static int usage(void)
{
    fputs("usage: bare_http [--port P] [--threads N] [--size BYTES]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},
        {"threads", required_argument, NULL, 't'},
        {"size", required_argument, NULL, 's'},
        {0},
    };
    unsigned port = 0, threads = 2;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'p':
            port = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 't':
            threads = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 's':
            reply_size = strtoul(optarg, NULL, 10);
            break;
        default:
            return usage();
        }
    }
    if (port > 65535 || threads < 1 || reply_size < 8 || reply_size > BODY_MAX || optind != argc)
        return usage();
    reply_text = make_reply(reply_size);
    if (!reply_text)
        return 1;

    // Blocked before the pool starts, so that its threads inherit the mask and sigwait gets the signal.
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    pthread_sigmask(SIG_BLOCK, &stop, NULL);

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // The library refuses a pool of one: it is the same as none.
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, (uint16_t)port, NULL, NULL, on_request, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_CONNECTION_LIMIT, 16384u, threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END,
        threads, MHD_OPTION_END);
    if (!daemon) {
        fprintf(stderr, "bare_http: cannot listen on port %u\n", port);
        return 1;
    }
    printf("listening on %u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);

    int got;
    sigwait(&stop, &got);
    MHD_stop_daemon(daemon);
    free(reply_text);
    return 0;
}
