// SPDX-License-Identifier: Apache-2.0
//
// A load generator for unary gRPC calls on the C core: one thread, one completion queue, CONNECTIONS channels with some
// sessions each. A session plays the scenario in order under a name of its own (metadata mirage-session).

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define SESSIONS_EACH 4 // sessions that one channel plays at a time

struct player {
    struct run *run;
    grpc_channel *channel;
    size_t at;
    long repetition; // -1: idle
    uint64_t sent_at;
    // the call under way
    grpc_call *call;
    char session[64];
    grpc_metadata session_metadata;
    grpc_metadata_array initial, trailing;
    grpc_byte_buffer *message, *reply;
    grpc_status_code status;
    grpc_slice details;
};

struct run {
    struct load *load;
    grpc_completion_queue *queue;
    struct player *players;
    size_t player_count;
    long begun, done, total;
    const char *prefix;
};

static void send_step(struct player *player)
{
    const struct step *step = &player->run->load->steps[player->at];
    grpc_slice method = grpc_slice_from_static_string(step->method);
    player->call = grpc_channel_create_call(player->channel, NULL, 0, player->run->queue, method, NULL,
                                            gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    grpc_slice payload = grpc_slice_from_static_buffer(step->payload, step->payload_size);
    player->message = grpc_raw_byte_buffer_create(&payload, 1);
    player->reply = NULL;
    grpc_metadata_array_init(&player->initial);
    grpc_metadata_array_init(&player->trailing);
    player->session_metadata = (grpc_metadata){.key = grpc_slice_from_static_string("mirage-session"),
                                               .value = grpc_slice_from_static_string(player->session)};
    grpc_op ops[6];
    memset(ops, 0, sizeof ops);
    ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    ops[0].data.send_initial_metadata.metadata = &player->session_metadata;
    ops[0].data.send_initial_metadata.count = 1;
    ops[1].op = GRPC_OP_SEND_MESSAGE;
    ops[1].data.send_message.send_message = player->message;
    ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
    ops[3].data.recv_initial_metadata.recv_initial_metadata = &player->initial;
    ops[4].op = GRPC_OP_RECV_MESSAGE;
    ops[4].data.recv_message.recv_message = &player->reply;
    ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
    ops[5].data.recv_status_on_client.trailing_metadata = &player->trailing;
    ops[5].data.recv_status_on_client.status = &player->status;
    ops[5].data.recv_status_on_client.status_details = &player->details;
    player->sent_at = load_now();
    if (grpc_call_start_batch(player->call, ops, 6, player, NULL) != GRPC_CALL_OK)
        abort();
}

static void next_session(struct player *player)
{
    struct run *run = player->run;
    player->at = 0;
    player->repetition = run->begun < run->total ? run->begun++ : -1;
    if (player->repetition < 0)
        return;
    snprintf(player->session, sizeof player->session, "%s%ld", run->prefix, player->repetition);
    send_step(player);
}

static void judge(struct player *player)
{
    struct load *load = player->run->load;
    const struct step *step = &load->steps[player->at];
    if (player->status != GRPC_STATUS_OK || !player->reply) {
        load_wrong(load, step, GRPC_SLICE_START_PTR(player->details), GRPC_SLICE_LENGTH(player->details));
        return;
    }
    grpc_byte_buffer_reader reader;
    grpc_byte_buffer_reader_init(&reader, player->reply);
    grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
    if (!load_fits(load, step, GRPC_SLICE_START_PTR(all), GRPC_SLICE_LENGTH(all)))
        load_wrong(load, step, GRPC_SLICE_START_PTR(all), GRPC_SLICE_LENGTH(all));
    grpc_slice_unref(all);
    grpc_byte_buffer_reader_destroy(&reader);
}

static void on_reply(struct player *player)
{
    load_note(player->run->load, player->sent_at);
    judge(player);
    grpc_byte_buffer_destroy(player->message);
    grpc_byte_buffer_destroy(player->reply);
    grpc_metadata_array_destroy(&player->initial);
    grpc_metadata_array_destroy(&player->trailing);
    grpc_slice_unref(player->details);
    grpc_call_unref(player->call);
    if (++player->at < player->run->load->step_count) {
        send_step(player);
        return;
    }
    player->run->done++;
    next_session(player);
}

static void play(struct run *run, long total, const char *prefix)
{
    run->begun = run->done = 0;
    run->total = total;
    run->prefix = prefix;
    for (size_t i = 0; i < run->player_count; i++)
        next_session(&run->players[i]);
    while (run->done < total) {
        gpr_timespec limit =
            gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(30, GPR_TIMESPAN));
        grpc_event event = grpc_completion_queue_next(run->queue, limit, NULL);
        if (event.type != GRPC_OP_COMPLETE) {
            fputs("no reply for 30 s\n", stderr);
            exit(1);
        }
        on_reply(event.tag);
    }
}

static void open_channels(struct run *run, grpc_channel **channels)
{
    grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
    for (long i = 0; i < run->load->connections; i++) {
        grpc_arg own = {
            .type = GRPC_ARG_INTEGER, .key = "grpc.use_local_subchannel_pool", .value.integer = 1};
        const grpc_channel_args args = {1, &own};
        channels[i] = grpc_channel_create(run->load->target, credentials, &args);
        for (size_t k = 0; k < SESSIONS_EACH; k++) {
            struct player *player = &run->players[(size_t)i * SESSIONS_EACH + k];
            player->run = run;
            player->channel = channels[i];
        }
    }
    grpc_channel_credentials_release(credentials);
}

int main(int argc, char **argv)
{
    struct load load;
    load_init(&load, argc, argv, true);
    grpc_init();
    struct run run = {.load = &load, .player_count = (size_t)load.connections * SESSIONS_EACH};
    run.queue = grpc_completion_queue_create_for_next(NULL);
    run.players = calloc(run.player_count, sizeof(*run.players));
    grpc_channel **channels = calloc((size_t)load.connections, sizeof(grpc_channel *));
    open_channels(&run, channels);
    if (load.warmup > 0)
        play(&run, load.warmup, "warm-");
    load_begin(&load);
    play(&run, load.repeat, "run-");
    int status = load_end(&load);
    for (long i = 0; i < load.connections; i++)
        grpc_channel_destroy(channels[i]);
    grpc_completion_queue_shutdown(run.queue);
    grpc_completion_queue_destroy(run.queue);
    free(channels);
    free(run.players);
    return status;
}
