// SPDX-License-Identifier: Apache-2.0
//
// A load generator for envelopes over ZeroMQ: one thread, DEALER sockets, each with many requests outstanding. Each of
// SESSIONS_EACH sessions of a socket plays the scenario in order under a name of its own; replies are told apart by
// their "id".

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "load.h"

#define SESSIONS_EACH 8 // sessions that one socket plays at a time

struct player {
    size_t at;        // the step under way
    long repetition;  // -1: idle
    uint64_t sent_at; // ns
};

struct run {
    struct load *load;
    void **sockets;
    struct player *players;
    long begun, done, total;
    const char *prefix;
};

// The payload with {id} and {session} replaced.
static size_t fill(char *out, size_t room, const struct step *step, long id, const char *prefix,
                   long repetition)
{
    size_t len = 0;
    for (const char *at = step->payload; *at && len + 64 < room;) {
        if (strncmp(at, "{id}", 4) == 0) {
            len += (size_t)snprintf(out + len, room - len, "%ld", id);
            at += 4;
        } else if (strncmp(at, "{session}", 9) == 0) {
            len += (size_t)snprintf(out + len, room - len, "%s%ld", prefix, repetition);
            at += 9;
        } else {
            out[len++] = *at++;
        }
    }
    return len;
}

static void send_step(struct run *run, long id)
{
    struct player *player = &run->players[id];
    char text[65536];
    size_t len = fill(text, sizeof text, &run->load->steps[player->at], id, run->prefix, player->repetition);
    player->sent_at = load_now();
    void *socket = run->sockets[id / SESSIONS_EACH];
    if (zmq_send(socket, "", 0, ZMQ_SNDMORE) < 0 || zmq_send(socket, text, len, 0) < 0) {
        perror("zmq_send");
        exit(1);
    }
}

static void next_session(struct run *run, long id)
{
    struct player *player = &run->players[id];
    player->at = 0;
    player->repetition = run->begun < run->total ? run->begun++ : -1;
    if (player->repetition >= 0)
        send_step(run, id);
}

static void on_reply(struct run *run, const char *text, size_t size)
{
    const char *mark = memmem(text, size, "\"id\":", 5);
    long id = mark ? strtol(mark + 5, NULL, 10) : -1;
    if (id < 0 || id >= run->load->connections * SESSIONS_EACH) {
        fprintf(stderr, "a reply without its id: %.*s\n", (int)size, text);
        exit(1);
    }
    struct player *player = &run->players[id];
    const struct step *step = &run->load->steps[player->at];
    load_note(run->load, player->sent_at);
    if (!load_fits(run->load, step, text, size))
        load_wrong(run->load, step, text, size);
    if (++player->at < run->load->step_count) {
        send_step(run, id);
        return;
    }
    run->done++;
    next_session(run, id);
}

static void drain(struct run *run, void *socket)
{
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    while (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) >= 0) {
        if (!zmq_msg_more(&frame))
            on_reply(run, zmq_msg_data(&frame), zmq_msg_size(&frame));
    }
    zmq_msg_close(&frame);
}

static void play(struct run *run, long total, const char *prefix)
{
    long sockets = run->load->connections;
    zmq_pollitem_t *items = calloc((size_t)sockets, sizeof(*items));
    run->begun = run->done = 0;
    run->total = total;
    run->prefix = prefix;
    for (long i = 0; i < sockets; i++)
        items[i] = (zmq_pollitem_t){run->sockets[i], 0, ZMQ_POLLIN, 0};
    for (long id = 0; id < sockets * SESSIONS_EACH; id++)
        next_session(run, id);
    while (run->done < total) {
        if (zmq_poll(items, (int)sockets, 30000) <= 0) {
            fputs("no reply for 30 s\n", stderr);
            exit(1);
        }
        for (long i = 0; i < sockets; i++) {
            if (items[i].revents)
                drain(run, items[i].socket);
        }
    }
    free(items);
}

int main(int argc, char **argv)
{
    struct load load;
    load_init(&load, argc, argv, false);
    void *context = zmq_ctx_new();
    struct run run = {.load = &load};
    char prefix[64];
    run.sockets = calloc((size_t)load.connections, sizeof(*run.sockets));
    run.players = calloc((size_t)(load.connections * SESSIONS_EACH), sizeof(*run.players));
    for (long i = 0; i < load.connections; i++) {
        run.sockets[i] = zmq_socket(context, ZMQ_DEALER);
        if (zmq_connect(run.sockets[i], load.target) != 0) {
            perror(load.target);
            return 2;
        }
    }
    snprintf(prefix, sizeof prefix, "warm-%d-", (int)load.warmup);
    if (load.warmup > 0)
        play(&run, load.warmup, prefix);
    load_begin(&load);
    play(&run, load.repeat, "run-");
    int status = load_end(&load);
    for (long i = 0; i < load.connections; i++)
        zmq_close(run.sockets[i]);
    zmq_ctx_term(context);
    free(run.sockets);
    free(run.players);
    return status;
}
