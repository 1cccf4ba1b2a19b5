// SPDX-License-Identifier: Apache-2.0
//
// What the load generators of gRPC and ZeroMQ share: a scenario's steps, latencies, the server's CPU time, and the
// result as one JSON object, with the names that load_http prints.
//
// A scenario file has one line a step: method (gRPC: /pkg.Service/Method; ZeroMQ: -), payload (gRPC: hex of the
// message; ZeroMQ: the envelope with {id} and {session} in it), and a piece that the reply must contain (hex for
// gRPC; - for none), apart by tabs.

#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEPS_MAX 64

struct step {
    char *method;
    char *payload; // bytes, a NUL behind
    size_t payload_size;
    char *piece; // NULL: none
    size_t piece_size;
};

struct load {
    struct step steps[STEPS_MAX];
    size_t step_count;
    const char *target;
    long pid;    // of the server; 0: not measured
    long repeat; // sessions in the measurement
    long warmup; // sessions before it
    long connections;
    bool check_pieces;
    // measurement
    bool warm;
    long requests, errors;
    uint64_t *latencies;
    uint64_t begun_ns, cpu_begun_ns;
};

uint64_t load_now(void);
// Options, scenario; exits with 2 and a sentence when something is wrong.
void load_init(struct load *load, int argc, char **argv, bool hex);
void load_begin(struct load *load);               // the measurement begins
void load_note(struct load *load, uint64_t sent); // one good reply
void load_wrong(struct load *load, const struct step *step, const void *reply, size_t size);
bool load_fits(const struct load *load, const struct step *step, const void *reply, size_t size);
int load_end(struct load *load); // prints; the exit status

#endif
