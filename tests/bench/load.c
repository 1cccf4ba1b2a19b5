// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

uint64_t load_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_now(long pid)
{
    clockid_t clock;
    struct timespec t = {0};
    if (pid && clock_getcpuclockid((pid_t)pid, &clock) == 0)
        clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static char *unhex(const char *text, size_t *size)
{
    char *bytes = must(malloc(strlen(text) / 2 + 1));
    *size = 0;
    for (; text[0] && text[1]; text += 2) {
        char two[3] = {text[0], text[1], '\0'};
        bytes[(*size)++] = (char)strtoul(two, NULL, 16);
    }
    bytes[*size] = '\0';
    return bytes;
}

static char *bytes_of(const char *text, bool hex, size_t *size)
{
    if (hex)
        return unhex(text, size);
    *size = strlen(text);
    return must(strdup(text));
}

static void read_scenario(struct load *load, const char *path, bool hex)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *payload = strchr(line, '\t'), *piece = payload ? strchr(payload + 1, '\t') : NULL;
        if (!piece || load->step_count == STEPS_MAX) {
            fprintf(stderr, "%s: expected at most %d lines of three parts\n", path, STEPS_MAX);
            exit(2);
        }
        *payload++ = *piece++ = '\0';
        struct step *step = &load->steps[load->step_count++];
        step->method = must(strdup(line));
        step->payload = bytes_of(payload, hex, &step->payload_size);
        if (strcmp(piece, "-") != 0)
            step->piece = bytes_of(piece, hex, &step->piece_size);
    }
    free(line);
    fclose(file);
}

void load_init(struct load *load, int argc, char **argv, bool hex)
{
    static const struct option options[] = {
        {"connections", required_argument, NULL, 'c'}, {"repeat", required_argument, NULL, 'r'},
        {"warmup", required_argument, NULL, 'w'},      {"pid", required_argument, NULL, 'p'},
        {"no-pieces", no_argument, NULL, 'n'},         {0},
    };
    *load = (struct load){.connections = 16, .repeat = 100, .check_pieces = true};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'c')
            load->connections = atol(optarg);
        else if (c == 'r')
            load->repeat = atol(optarg);
        else if (c == 'w')
            load->warmup = atol(optarg);
        else if (c == 'p')
            load->pid = atol(optarg);
        else if (c == 'n')
            load->check_pieces = false;
        else
            exit(2);
    }
    if (argc - optind != 2 || load->connections < 1 || load->repeat < 1) {
        fprintf(stderr,
                "usage: %s [--connections N] [--repeat N] [--warmup N] [--pid P] [--no-pieces] TARGET FILE\n",
                argv[0]);
        exit(2);
    }
    load->target = argv[optind];
    read_scenario(load, argv[optind + 1], hex);
    load->latencies = must(malloc((size_t)load->repeat * load->step_count * sizeof(*load->latencies)));
}

void load_begin(struct load *load)
{
    load->warm = true;
    load->requests = 0;
    load->begun_ns = load_now();
    load->cpu_begun_ns = cpu_now(load->pid);
}

void load_note(struct load *load, uint64_t sent)
{
    if (load->warm)
        load->latencies[load->requests++] = load_now() - sent;
}

bool load_fits(const struct load *load, const struct step *step, const void *reply, size_t size)
{
    return !load->check_pieces || !step->piece || memmem(reply, size, step->piece, step->piece_size);
}

void load_wrong(struct load *load, const struct step *step, const void *reply, size_t size)
{
    if (load->errors++ < 5)
        fprintf(stderr, "wrong reply to %s %.200s: %.*s\n", step->method, step->payload,
                (int)(size < 500 ? size : 500), (const char *)reply);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static long rss_kb(long pid)
{
    char path[64], line[256];
    long kb = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *file = pid ? fopen(path, "re") : NULL;
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "VmRSS: %ld", &kb);
    if (file)
        fclose(file);
    return kb;
}

int load_end(struct load *load)
{
    uint64_t cpu = cpu_now(load->pid) - load->cpu_begun_ns;
    double seconds = (double)(load_now() - load->begun_ns) / 1e9;
    long n = load->requests;
    qsort(load->latencies, (size_t)n, sizeof(*load->latencies), by_value);
    double per = n ? (double)cpu / 1000.0 / (double)n : 0;
    printf("{\"requests\": %ld, \"errors\": %ld, \"seconds\": %.4f, \"requests_per_second\": %.1f, "
           "\"latency_us\": {\"median\": %.1f, \"p99\": %.1f}, \"server_cpu_us_per_request\": %.2f, "
           "\"server_cpu_fine_us_per_request\": %.2f, \"server_rss_kb\": %ld}\n",
           n, load->errors, seconds, seconds > 0 ? (double)n / seconds : 0,
           n ? (double)load->latencies[n / 2] / 1000.0 : 0,
           n ? (double)load->latencies[n * 99 / 100] / 1000.0 : 0, per, per, rss_kb(load->pid));
    return load->errors ? 1 : 0;
}
