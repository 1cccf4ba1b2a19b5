// SPDX-License-Identifier: Apache-2.0
//
// A load generator for servers that remember: one thread, epoll, HTTP/1.1 keep-alive. Each connection plays
// a scenario (a few exchanges in order, each request only after the reply to the one before) under a session
// name of its own, then the next repetition under the next name, until all repetitions are done.
//
// A scenario file has one line for each part of an exchange, told by its first character:
//
//     # a comment
//     > POST /items?x=1          begins an exchange
//     : mirage-session: {session}    a header; {session} is replaced here, in the path and in the body
//     = {"quantity": 2}          the body, on one line
//     < 201                      the expected status; without it any 2xx
//     ? "quantity"               a piece that the body must contain
//
// The result is one JSON object on standard output. Exit status: 0, 1 when there were errors, 2 usage.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EXCHANGES_MAX 256
#define SESSION_MAX   64
#define READ_SIZE     65536
#define REPLY_MAX     (64u << 20)

struct exchange {
    char *start;   // "POST /path"
    char *headers; // lines with their ends
    char *body;    // NULL: none
    char *piece;   // what the reply's body must contain, or NULL
    int status;    // 0: any 2xx
    bool is_head;  // its reply has no body
};

struct conn {
    int fd;
    size_t at;        // the exchange that is under way
    long repetition;  // -1: idle
    uint64_t sent_at; // ns
    char *out;        // the request
    size_t out_size, out_sent;
    char *in; // the reply so far
    size_t in_size, in_room;
};

struct phase {
    const char *prefix; // of the session names
    long repetitions, begun, done;
    long requests, errors;
    uint64_t *latencies; // ns; NULL while warming up
};

static struct exchange exchanges[EXCHANGES_MAX];
static size_t exchange_count;
static char *host_text;
static struct addrinfo *server;
static int poller;
static bool check_pieces = true;
static struct phase *phase;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("load_http: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

static void *must(void *memory)
{
    if (!memory)
        die("out of memory");
    return memory;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// The scenario ----------------------------------------------------------------------------------------

static void add_header(struct exchange *x, const char *line)
{
    size_t old = x->headers ? strlen(x->headers) : 0;
    x->headers = must(realloc(x->headers, old + strlen(line) + 3));
    sprintf(x->headers + old, "%s\r\n", line);
}

static void read_scenario(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        die("%s: %s", path, strerror(errno));
    char *line = NULL;
    size_t room = 0;
    int number = 0;
    for (ssize_t n; (n = getline(&line, &room, file)) >= 0;) {
        number++;
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = '\0';
        if (!n || line[0] == '#')
            continue;
        const char *rest = line + 1 + (line[1] == ' ');
        if (line[0] == '>') {
            if (exchange_count == EXCHANGES_MAX)
                die("%s:%d: more than %d exchanges", path, number, EXCHANGES_MAX);
            exchanges[exchange_count].start = must(strdup(rest));
            exchanges[exchange_count++].is_head = !strncmp(rest, "HEAD ", 5);
            continue;
        }
        struct exchange *x = exchange_count ? &exchanges[exchange_count - 1] : NULL;
        if (!x || !strchr(":=<?", line[0]))
            die("%s:%d: expected a line with one of > : = < ?", path, number);
        switch (line[0]) {
        case ':':
            add_header(x, rest);
            break;
        case '=':
            free(x->body), x->body = must(strdup(rest));
            break;
        case '<':
            x->status = atoi(rest);
            break;
        case '?':
            free(x->piece), x->piece = must(strdup(rest));
            break;
        }
    }
    free(line);
    fclose(file);
    if (!exchange_count)
        die("%s: no exchange", path);
}

// A copy of the text with {session} replaced.
static char *fill(const char *text, const char *session)
{
    static const char mark[] = "{session}";
    size_t count = 0;
    for (const char *p = text; (p = strstr(p, mark)); p += sizeof mark - 1)
        count++;
    char *copy = must(malloc(strlen(text) + count * strlen(session) + 1)), *to = copy;
    for (const char *p; (p = strstr(text, mark)); text = p + sizeof mark - 1) {
        to = mempcpy(to, text, (size_t)(p - text));
        to = stpcpy(to, session);
    }
    strcpy(to, text);
    return copy;
}

// One connection --------------------------------------------------------------------------------------

static void want(struct conn *c, uint32_t events, int op)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (epoll_ctl(poller, op, c->fd, &event) < 0)
        die("epoll: %s", strerror(errno));
}

static void dial(struct conn *c)
{
    c->fd = socket(server->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, server->ai_addr, server->ai_addrlen) < 0)
        die("cannot connect to %s: %s", host_text, strerror(errno));
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    want(c, EPOLLIN, EPOLL_CTL_ADD);
    c->in_size = 0;
}

static void redial(struct conn *c)
{
    close(c->fd);
    dial(c);
}

static void note_error(const char *what, const struct conn *c)
{
    if (phase->errors++ < 5)
        fprintf(stderr, "load_http: %s: %s, repetition %ld; the reply so far: %.*s\n", exchanges[c->at].start,
                what, c->repetition, (int)(c->in_size < 400 ? c->in_size : 400), c->in_size ? c->in : "");
}

// Sends what is left; false when the connection is broken.
static bool push(struct conn *c)
{
    while (c->out_sent < c->out_size) {
        ssize_t n = send(c->fd, c->out + c->out_sent, c->out_size - c->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            want(c, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
            return true;
        }
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            c->out_sent += (size_t)n;
    }
    return true;
}

static bool send_request(struct conn *c)
{
    const struct exchange *x = &exchanges[c->at];
    char session[SESSION_MAX], length[48] = "";
    snprintf(session, sizeof session, "%s%ld", phase->prefix, c->repetition);
    char *start = fill(x->start, session), *headers = fill(x->headers ? x->headers : "", session);
    char *body = fill(x->body ? x->body : "", session);
    if (x->body)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(body));
    free(c->out);
    int size =
        asprintf(&c->out, "%s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n%s", start, host_text, headers, length, body);
    if (size < 0)
        die("out of memory");
    free(start), free(headers), free(body);
    c->out_size = (size_t)size;
    c->out_sent = 0;
    c->in_size = 0;
    c->sent_at = now();
    return push(c);
}

// Begins the next repetition, if one is left. A connection that breaks at once is dialled anew.
static void begin(struct conn *c)
{
    c->repetition = -1;
    while (phase->begun < phase->repetitions) {
        c->repetition = phase->begun++;
        c->at = 0;
        if (send_request(c))
            return;
        note_error("cannot send", c);
        phase->done++;
        c->repetition = -1;
        redial(c);
    }
}

static void abandon(struct conn *c, const char *why)
{
    note_error(why, c);
    phase->done++;
    redial(c);
    begin(c);
}

// The value of a header in the head that ends at `end`; NULL if it is not there.
static const char *header_value(const char *head, const char *end, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = memchr(head, '\n', (size_t)(end - head)); p && p + n + 1 < end;
         p = memchr(p + 1, '\n', (size_t)(end - p - 1))) {
        if (!strncasecmp(p + 1, name, n) && p[1 + n] == ':') {
            p += n + 2;
            while (*p == ' ' || *p == '\t')
                p++;
            return p;
        }
    }
    return NULL;
}

// Puts the data of a chunked body together in place. Returns the end of the message, NULL when it is not
// whole yet; a wrong size sets *bad.
static char *join_chunks(char *body, char *end, size_t *size, bool *bad)
{
    // A first walk only looks, since an unfinished body will be walked again.
    for (int moving = 0; moving < 2; moving++) {
        char *p = body;
        *size = 0;
        for (;;) {
            char *line = memmem(p, (size_t)(end - p), "\r\n", 2), *stop;
            if (!line)
                return NULL;
            unsigned long n = strtoul(p, &stop, 16);
            if (stop == p || n > REPLY_MAX) {
                *bad = true;
                return NULL;
            }
            line += 2;
            if (n == 0) {
                char *last = memmem(line - 2, (size_t)(end - line + 2), "\r\n\r\n", 4);
                if (!last)
                    return NULL;
                if (moving)
                    return last + 4;
                break;
            }
            if ((size_t)(end - line) < n + 2)
                return NULL;
            if (moving)
                memmove(body + *size, line, n);
            *size += n;
            p = line + n + 2;
        }
    }
    return NULL;
}

enum progress { MORE, WHOLE, WRONG };

struct reply {
    int status;
    const char *body;
    size_t size;
    bool close; // the server will close after it
};

// Looks whether a whole reply is there. The buffer ends with a NUL that is not counted.
static enum progress parse(struct conn *c, struct reply *r)
{
    char *end = c->in + c->in_size, *head_end;
    for (char *head = c->in;; head = head_end + 4) {
        head_end = memmem(head, (size_t)(end - head), "\r\n\r\n", 4);
        if (!head_end)
            return MORE;
        if (strncmp(head, "HTTP/1.1 ", 9) || !isdigit((unsigned char)head[9]))
            return WRONG;
        r->status = atoi(head + 9);
        if (r->status < 200)
            continue;
        const char *value = header_value(head, head_end + 2, "connection");
        r->close = value && !strncasecmp(value, "close", 5);
        char *body = head_end + 4, *stop = body;
        r->body = body;
        r->size = 0;
        if (r->status == 204 || r->status == 304 || exchanges[c->at].is_head) {
            // no body whatever the head says
        } else if ((value = header_value(head, head_end + 2, "transfer-encoding"))) {
            bool bad = strncasecmp(value, "chunked", 7) != 0;
            stop = bad ? NULL : join_chunks(body, end, &r->size, &bad);
            if (!stop)
                return bad ? WRONG : MORE;
        } else if ((value = header_value(head, head_end + 2, "content-length"))) {
            r->size = strtoul(value, NULL, 10);
            if (r->size > REPLY_MAX)
                return WRONG;
            if ((size_t)(end - body) < r->size)
                return MORE;
            stop = body + r->size;
        } else {
            return WRONG;
        }
        return stop == end ? WHOLE : WRONG;
    }
}

static void check(const struct conn *c, const struct reply *r)
{
    const struct exchange *x = &exchanges[c->at];
    if (x->status ? r->status != x->status : r->status / 100 != 2)
        note_error("unexpected status", c);
    else if (check_pieces && x->piece && !memmem(r->body, r->size, x->piece, strlen(x->piece)))
        note_error("the expected piece is not in the body", c);
}

static void advance(struct conn *c, bool dial_anew)
{
    if (dial_anew)
        redial(c);
    if (++c->at < exchange_count) {
        if (!send_request(c))
            abandon(c, "cannot send");
        return;
    }
    phase->done++;
    begin(c);
}

static void on_readable(struct conn *c)
{
    if (c->in_room - c->in_size < READ_SIZE + 1) {
        if (c->in_room > REPLY_MAX + READ_SIZE)
            die("a reply of more than %u bytes", REPLY_MAX);
        c->in_room = c->in_room * 2 + READ_SIZE + 1;
        c->in = must(realloc(c->in, c->in_room));
    }
    ssize_t n = recv(c->fd, c->in + c->in_size, READ_SIZE, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        if (c->repetition >= 0)
            abandon(c, n ? strerror(errno) : "the connection ended before the reply");
        else
            redial(c); // idle between two phases, and the server would not wait
        return;
    }
    uint64_t received = now();
    c->in_size += (size_t)n;
    c->in[c->in_size] = '\0';
    struct reply reply = {0};
    enum progress progress = c->repetition < 0 ? WRONG : parse(c, &reply);
    if (progress == WRONG) {
        if (c->repetition >= 0)
            abandon(c, "not a well-formed reply");
        else
            die("bytes that nobody asked for: %.200s", c->in);
    } else if (progress == WHOLE) {
        if (phase->latencies)
            phase->latencies[phase->requests] = received - c->sent_at;
        phase->requests++;
        check(c, &reply);
        advance(c, reply.close);
    }
}

static void run(struct phase *p, struct conn *conns, size_t count, int patience)
{
    phase = p;
    for (size_t i = 0; i < count; i++)
        begin(&conns[i]);
    while (p->done < p->repetitions) {
        struct epoll_event events[256];
        int n = epoll_wait(poller, events, 256, patience * 1000);
        if (n < 0 && errno != EINTR)
            die("epoll: %s", strerror(errno));
        if (n == 0)
            die("no reply for %d s; %ld of %ld repetitions done", patience, p->done, p->repetitions);
        for (int i = 0; i < n; i++) {
            struct conn *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT) {
                want(c, EPOLLIN, EPOLL_CTL_MOD);
                if (!push(c)) {
                    abandon(c, "cannot send");
                    continue;
                }
            }
            if (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP))
                on_readable(c);
        }
    }
}

// What the server used --------------------------------------------------------------------------------

// utime + stime of a process in seconds; the name in parentheses may hold anything, so count from its end.
static double cpu_of(long pid)
{
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[n] = '\0';
    unsigned long user, sys;
    const char *p = strrchr(text, ')');
    if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys) != 2)
        die("cannot read %s", path);
    return (double)(user + sys) / (double)sysconf(_SC_CLK_TCK);
}

// The same from the process's CPU clock, which is finer than the 10 ms ticks above. 0: not to be had.
static double fine_cpu_of(long pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &t) < 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long rss_of(long pid)
{
    char path[64], line[256];
    long kb = -1;
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb;
}

static double own_cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double percentile(const struct phase *p, double share)
{
    if (!p->requests)
        return 0;
    return (double)p->latencies[(size_t)(share * (double)(p->requests - 1) + 0.5)] / 1000.0;
}

struct usage {
    double seconds, client, server, server_fine;
};

static struct usage usage_now(long pid)
{
    struct usage u = {.client = own_cpu()};
    if (pid) {
        u.server = cpu_of(pid);
        u.server_fine = fine_cpu_of(pid);
    }
    u.seconds = (double)now() / 1e9;
    return u;
}

static void report(const struct phase *p, size_t connections, long pid, const struct usage *a,
                   const struct usage *b)
{
    double requests = (double)(p->requests ? p->requests : 1), seconds = b->seconds - a->seconds;
    qsort(p->latencies, (size_t)p->requests, sizeof *p->latencies, by_value);
    printf(
        "{\"connections\": %zu, \"repetitions\": %ld, \"requests\": %ld, \"errors\": %ld, \"seconds\": %.6f, "
        "\"requests_per_second\": %.1f, \"latency_us\": {\"median\": %.1f, \"p90\": %.1f, \"p99\": %.1f, "
        "\"max\": %.1f}, \"client_cpu_us_per_request\": %.2f",
        connections, p->repetitions, p->requests, p->errors, seconds, (double)p->requests / seconds,
        percentile(p, 0.5), percentile(p, 0.9), percentile(p, 0.99), percentile(p, 1.0),
        (b->client - a->client) * 1e6 / requests);
    if (pid)
        printf(", \"server_cpu_seconds\": %.3f, \"server_cpu_us_per_request\": %.2f, "
               "\"server_cpu_fine_us_per_request\": %.3f, "
               "\"server_rss_kb\": %ld",
               b->server - a->server, (b->server - a->server) * 1e6 / requests,
               (b->server_fine - a->server_fine) * 1e6 / requests, rss_of(pid));
    puts("}");
}

static void resolve(char *address)
{
    host_text = must(strdup(address));
    char *colon = strrchr(address, ':');
    if (!colon)
        die("%s: expected HOST:PORT", address);
    *colon = '\0';
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int wrong = getaddrinfo(address, colon + 1, &hints, &server);
    if (wrong)
        die("%s: %s", host_text, gai_strerror(wrong));
}

static void clean_up(struct conn *conns, long count)
{
    for (long i = 0; i < count; i++) {
        close(conns[i].fd);
        free(conns[i].out);
        free(conns[i].in);
    }
    for (size_t i = 0; i < exchange_count; i++) {
        free(exchanges[i].start);
        free(exchanges[i].headers);
        free(exchanges[i].body);
        free(exchanges[i].piece);
    }
    free(conns);
    freeaddrinfo(server);
    free(host_text);
    close(poller);
}

static long number(const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        die("%s: expected a number from %ld to %ld", text, least, most);
    return value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"connections", required_argument, NULL, 'c'}, {"repeat", required_argument, NULL, 'r'},
        {"warmup", required_argument, NULL, 'w'},      {"session-prefix", required_argument, NULL, 's'},
        {"timeout", required_argument, NULL, 't'},     {"pid", required_argument, NULL, 'p'},
        {"no-pieces", no_argument, NULL, 'n'},         {0},
    };
    long connections = 1, repeat = 1, warmup = 0, patience = 60, pid = 0;
    const char *prefix = "load-";
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'c':
            connections = number(optarg, 1, 60000);
            break;
        case 'r':
            repeat = number(optarg, 1, 100000000);
            break;
        case 'w':
            warmup = number(optarg, 0, 100000000);
            break;
        case 's':
            prefix = optarg;
            break;
        case 't':
            patience = number(optarg, 1, 3600);
            break;
        case 'p':
            pid = number(optarg, 1, 1L << 30);
            break;
        case 'n':
            check_pieces = false;
            break;
        default:
            optind = argc + 1;
        }
    }
    if (optind != argc - 2)
        die("usage: load_http [--connections C] [--repeat R] [--warmup W] [--session-prefix S] [--timeout "
            "SECONDS] "
            "[--pid PID] [--no-pieces] HOST:PORT SCENARIO");
    resolve(argv[optind]);
    read_scenario(argv[optind + 1]);

    poller = epoll_create1(EPOLL_CLOEXEC);
    struct conn *conns = must(calloc((size_t)connections, sizeof *conns));
    for (long i = 0; i < connections; i++)
        dial(&conns[i]);
    char warm_prefix[SESSION_MAX];
    snprintf(warm_prefix, sizeof warm_prefix, "%.40swarm-", prefix);
    struct phase warm = {.prefix = warm_prefix, .repetitions = warmup};
    run(&warm, conns, (size_t)connections, (int)patience);

    struct phase real = {.prefix = prefix, .repetitions = repeat};
    real.latencies = must(calloc((size_t)repeat * exchange_count, sizeof *real.latencies));
    struct usage before = usage_now(pid);
    run(&real, conns, (size_t)connections, (int)patience);
    struct usage after = usage_now(pid);
    real.errors += warm.errors;
    report(&real, (size_t)connections, pid, &before, &after);
    free(real.latencies);
    clean_up(conns, connections);
    return real.errors ? 1 : 0;
}
