// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <grpc/grpc_security.h>
#include <string.h>
#include <unistd.h>

#include "clients/grpc_core_int.h"
#include "core/limits.h"

#define RECONNECT_MS 200 /* after a failure; the library's own is a second and more */

static enum mrg_err read_certificates(const char *path, struct mrg_buf *pem, struct mrg_error *err)
{
    char piece[8192];
    ssize_t got;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return mrg_error_set(err, MRG_ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    while ((got = read(file, piece, sizeof(piece))) > 0)
        mrg_buf_append(pem, piece, (size_t)got);
    int number = got < 0 ? errno : mrg_buf_failed(pem) ? EFBIG : 0;
    close(file);
    if (!number && pem->len == 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "%s: empty; expected certificates in PEM", path);
    if (number)
        return mrg_error_set(err, MRG_ERR_NOT_FOUND, "%s: %s", path, strerror(number));
    return MRG_ERR_OK;
}

static enum mrg_err make_credentials(bool secure, const char *ca_file, grpc_channel_credentials **ret_creds,
                                     struct mrg_error *err)
{
    if (!secure) {
        *ret_creds = grpc_insecure_credentials_create();
        return MRG_ERR_OK;
    }
    struct mrg_buf pem;
    mrg_buf_init(&pem, MRG_MAX_CA_FILE);
    enum mrg_err code = ca_file ? read_certificates(ca_file, &pem, err) : MRG_ERR_OK;
    if (!code)
        *ret_creds = grpc_ssl_credentials_create(ca_file ? pem.data : NULL, NULL, NULL, NULL);
    mrg_buf_done(&pem);
    return code;
}

static grpc_arg int_arg(const char *key, int value)
{
    union {
        const char *in;
        char *out;
    } name = {.in = key};
    return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = name.out, .value.integer = value};
}

static grpc_channel *make_channel(const struct mrg_target *target, const char *address,
                                  grpc_channel_credentials *creds)
{
    _cleanup_free_ char *name = mrg_asprintf("dns:///%s", address);
    char agent_key[] = GRPC_ARG_PRIMARY_USER_AGENT_STRING;
    char agent[] = "mirage/" MRG_VERSION;
    grpc_arg args[] = {
        {.type = GRPC_ARG_STRING, .key = agent_key, .value.string = agent},
        int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MRG_MAX_REPLY_BODY),
        int_arg(GRPC_ARG_MAX_METADATA_SIZE, MRG_MAX_METADATA),
        int_arg(GRPC_ARG_ENABLE_RETRIES, 0),
        int_arg(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
        int_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
        int_arg(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, RECONNECT_MS),
        /* In effect how long an attempt may take: the handshakes with a server far away need several round trips. */
        int_arg(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, (int)MRG_CALL_TIMEOUT_MS),
        int_arg(GRPC_ARG_ENABLE_HTTP_PROXY, !target->loopback),
    };
    grpc_channel_args all = {MRG_ARRAY_LEN(args), args};
    return grpc_channel_create(name, creds, &all);
}

enum mrg_err mrg_grpc_dial(const struct mrg_target *target, const char *ca_file,
                           struct mrg_grpc_channel **ret_channel, struct mrg_error *err)
{
    grpc_channel_credentials *creds = NULL;
    grpc_init();
    enum mrg_err code = make_credentials(target->secure, ca_file, &creds, err);
    if (code) {
        grpc_shutdown();
        return code;
    }
    struct mrg_grpc_channel *channel = mrg_zalloc(sizeof(*channel));
    channel->address = mrg_strndup(target->address.ptr, target->address.len);
    channel->channel = make_channel(target, channel->address, creds);
    channel->queue = grpc_completion_queue_create_for_pluck(NULL);
    grpc_channel_credentials_release(creds);
    *ret_channel = channel;
    return MRG_ERR_OK;
}

void mrg_grpc_hang_up(struct mrg_grpc_channel *channel)
{
    if (!channel)
        return;
    grpc_channel_destroy(channel->channel);
    grpc_completion_queue_shutdown(channel->queue);
    grpc_completion_queue_destroy(channel->queue);
    free(channel->address);
    free(channel);
    grpc_shutdown();
}

const char *mrg_grpc_address(const struct mrg_grpc_channel *channel)
{
    return channel->address;
}

gpr_timespec mrg_grpc_at(uint64_t until_ms)
{
    uint64_t left = mrg_client_left(until_ms);
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_millis(left < INT32_MAX ? (int64_t)left : INT32_MAX, GPR_TIMESPAN));
}

bool mrg_grpc_pluck(struct mrg_grpc_channel *channel, void *tag)
{
    grpc_event event =
        grpc_completion_queue_pluck(channel->queue, tag, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    return event.type == GRPC_OP_COMPLETE && event.success;
}

enum mrg_err mrg_grpc_connect(struct mrg_grpc_channel *channel, uint64_t until_ms, struct mrg_error *err)
{
    for (;;) {
        grpc_connectivity_state state = grpc_channel_check_connectivity_state(channel->channel, 1);
        if (state != GRPC_CHANNEL_IDLE && state != GRPC_CHANNEL_CONNECTING)
            return MRG_ERR_OK;
        grpc_channel_watch_connectivity_state(channel->channel, state, mrg_grpc_at(until_ms), channel->queue,
                                              &state);
        if (!mrg_grpc_pluck(channel, &state))
            return mrg_error_set(err, MRG_ERR_UNAVAILABLE, "%s: no connection in time", channel->address);
    }
}
