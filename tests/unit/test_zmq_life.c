// SPDX-License-Identifier: Apache-2.0
/* Addresses, late replies, deadlines, peers that leave or do not read, closing and stopping. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "zmq_stub.h"

#define A    "{\"method\":\"GET\",\"path\":\"/a\"}"
#define HOLD "{\"id\":1,\"method\":\"GET\",\"path\":\"/hold\"}"
#define OK   "\"status\":200"

static bool has_more(void *socket)
{
    zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
    return zmq_poll(&item, 1, 0) > 0;
}

static void set_limit(uint64_t deadline_ms)
{
    struct mrg_config config = stub_config;
    config.limits.deadline_ms = deadline_ms;
    mrg_transport_zmq.configure(stub.transport, &config);
}

/* ---- addresses ---- */

static void assert_refused(const char *address, enum mrg_err code, const char *why)
{
    struct mrg_error err = {0};
    struct mrg_door *door = mrg_door_new(MRG_DOOR_DEPENDENCY, "inventory", NULL);
    assert_int_equal(mrg_transport_zmq.open(stub.transport, address, door, &err), code);
    assert_int_equal(err.code, code);
    assert_has(err.message, address);
    assert_has(err.message, why);
    assert_null(door->address);
    assert_int_equal(mrg_transport_zmq.open(stub.transport, address, door, NULL), code);
    mrg_door_unref(door);
}

static void test_addresses(void **state)
{
    (void)state;
    static const char *const wrong[] = {"tcp://",
                                        "tcp://127.0.0.1",
                                        "tcp://127.0.0.1:x",
                                        "tcp://127.0.0.1:99999",
                                        "http://127.0.0.1:1",
                                        "inproc://x",
                                        "127.0.0.1:1",
                                        ""};
    static const char *const free_ports[] = {"tcp://127.0.0.1:*", "tcp://127.0.0.1:0", "tcp://localhost:*",
                                             "tcp://[::1]:*"};
    assert_refused(stub.door->address, MRG_ERR_CONFLICT, "in use");
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++)
        assert_refused(wrong[i], MRG_ERR_INVALID, "expected tcp://HOST:PORT or ipc://PATH");
    assert_refused("tcp://203.0.113.1:5555", MRG_ERR_INVALID, "this machine has no such address");
    assert_refused("tcp://no-such-name.invalid:5555", MRG_ERR_INVALID, "this machine has no such address");
    for (size_t i = 0; i < MRG_ARRAY_LEN(free_ports); i++) {
        struct mrg_door *door = open_at(MRG_DOOR_DEPENDENCY, "inventory", false, free_ports[i]);
        assert_null(strchr(door->address, '*'));
        assert_true(strtoul(strrchr(door->address, ':') + 1, NULL, 10) > 0);
        void *req = new_socket(ZMQ_REQ);
        const int on = 1;
        zmq_setsockopt(req, ZMQ_IPV6, &on, sizeof(on));
        assert_int_equal(zmq_connect(req, door->address), 0);
        assert_answer(req, A, OK);
        mrg_door_unref(door);
    }
}

static bool exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static void wait_gone(const char *path)
{
    for (int i = 0; i < STUB_PATIENCE_MS / 5 && exists(path); i++)
        zmq_poll(NULL, 0, 5);
    assert_false(exists(path));
}

static void test_ipc(void **state)
{
    (void)state;
    char folder[] = "/tmp/mrg-zmq-XXXXXX";
    assert_non_null(mkdtemp(folder));
    _cleanup_free_ char *path = mrg_asprintf("%s/s", folder);
    _cleanup_free_ char *address = mrg_asprintf("ipc://%s", path);
    struct mrg_door *door = open_at(MRG_DOOR_DEPENDENCY, "inventory", false, address);
    assert_string_equal(door->address, address);
    void *req = connect_to(ZMQ_REQ, address);
    assert_answer(req, A, OK);
    assert_refused(address, MRG_ERR_CONFLICT, "another server listens there");
    assert_answer(req, A, OK);
    mrg_transport_zmq.close(stub.transport, door);
    wait_gone(path);
    mrg_door_unref(door);
    /* A file is nobody's to remove; a socket that is left over is. */
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_refused(address, MRG_ERR_INVALID, "no socket");
    assert_true(exists(path));
    assert_int_equal(unlink(path), 0);
    struct sockaddr_un {
        sa_family_t family;
        char path[108];
    } at = {.family = AF_UNIX};
    memcpy(at.path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    close(fd);
    door = open_at(MRG_DOOR_DEPENDENCY, "inventory", false, address);
    assert_answer(connect_to(ZMQ_REQ, address), A, OK);
    mrg_door_unref(door);
    mrg_transport_zmq.stop(MRG_TAKE(stub.transport));
    assert_false(exists(path));
    assert_int_equal(rmdir(folder), 0);
}

static unsigned threads(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void test_nothing_runs_before_the_first_address(void **state)
{
    (void)state;
    struct mrg_transport *transport;
    struct mrg_error err;
    const struct mrg_transport_env env = {.gateway = NULL, .watch = NULL, .config = &stub_config};
    unsigned before = threads();
    assert_int_equal(mrg_transport_zmq.start(&env, &transport, &err), MRG_ERR_OK);
    mrg_transport_zmq.configure(transport, &stub_config);
    assert_int_equal(threads(), before);
    mrg_transport_zmq.quiesce(transport);
    struct mrg_door *door = mrg_door_new(MRG_DOOR_SHARED, NULL, NULL);
    assert_int_equal(mrg_transport_zmq.open(transport, "tcp://127.0.0.1:*", door, &err), MRG_ERR_UNAVAILABLE);
    assert_int_equal(threads(), before);
    mrg_door_unref(door);
    mrg_transport_zmq.stop(transport);
}

/* ---- replies that come later ---- */

static void test_many_outstanding(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    void *callers[] = {caller(ZMQ_DEALER), caller(ZMQ_DEALER)};
    bool seen[2][COUNT] = {{false}};
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 2; k++) {
            char text[100];
            snprintf(text, sizeof(text), "{\"id\":%d,\"method\":\"GET\",\"path\":\"/%s/%d/%d\"}", i,
                     i % 3 ? "later" : "now", k, i);
            PUT(callers[k], text);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 2; k++) {
            char want[40];
            _cleanup_free_ char *text = get(callers[k]);
            assert_memory_equal(text, "{\"id\":", 6);
            unsigned long id = strtoul(text + 6, NULL, 10);
            assert_true(id < COUNT && !seen[k][id]);
            seen[k][id] = true;
            snprintf(want, sizeof(want), "/%d/%lu ?", k, id);
            assert_has(text, want);
        }
    }
    assert_false(has_more(callers[0]));
}

static void test_deadline(void **state)
{
    (void)state;
    set_limit(30);
    void *req = caller(ZMQ_REQ);
    assert_answer(req, HOLD,
                  "{\"id\":1,\"status\":504,\"error\":\"no reply within 30 ms (limits.deadline)\"}|");
    stub_await(&stub.gone, 1);
    stub_release(); /* too late, and told to nobody */
    assert_answer(req, A, OK);
    assert_false(has_more(req));
}

static void test_reply_before_the_deadline(void **state)
{
    (void)state;
    set_limit(60);
    void *req = caller(ZMQ_REQ);
    for (int i = 0; i < 20; i++)
        assert_answer(req, "{\"method\":\"GET\",\"path\":\"/later\"}", OK);
    zmq_poll(NULL, 0, 100); /* the timers of all of these would have run */
    assert_int_equal(stub_count(&stub.gone), 0);
    assert_false(has_more(req));
}

static void test_caller_that_has_gone(void **state)
{
    (void)state;
    void *dealer = caller(ZMQ_DEALER), *other = caller(ZMQ_REQ);
    PUT(dealer, HOLD);
    PUT(dealer, HOLD);
    stub_await(&stub.submitted, 2);
    hang_up(dealer);
    /* The library learns of it on its own thread. */
    for (int i = 0; i < STUB_PATIENCE_MS / 10; i++) {
        stub_release();
        assert_answer(other, A, OK);
        if (atomic_load(&stub_stats[0].unreachable) == 2)
            break;
        zmq_poll(NULL, 0, 10);
        if (atomic_load(&stub_stats[0].unreachable) == 2)
            break;
        /* It may have left as if the caller were there: ask again, as a caller that leaves. */
        dealer = caller(ZMQ_DEALER);
        unsigned before = stub_count(&stub.submitted);
        PUT(dealer, HOLD);
        stub_await(&stub.submitted, before + 1);
        hang_up(dealer);
    }
    assert_true(atomic_load(&stub_stats[0].unreachable) > 0);
    assert_int_equal(stub_count(&stub.gone), 0); /* its work is finished all the same */
}

/* ---- callers that do not read ---- */

static void make_large(struct mrg_exchange *exchange)
{
    size_t len = begins(exchange->request.path, "/large") ? 32u << 10 : 1;
    char *text = mrg_arena_alloc(exchange->arena, len + 1);
    memset(text, 'x', len);
    text[len] = '\0';
    exchange->reply.status = 200;
    exchange->reply.body = (struct mrg_body){MRG_BODY_TEXT, {text, len}};
}

#define LARGE "{\"id\":%d,\"method\":\"GET\",\"path\":\"/large\"}"

static void ask_large(void *dealer, int from, int to)
{
    for (int i = from; i < to; i++) {
        char text[80];
        snprintf(text, sizeof(text), LARGE, i);
        PUT(dealer, text);
    }
    stub_await(&stub.submitted, (unsigned)to);
}

static void assert_reply(void *dealer, int id)
{
    char want[40];
    _cleanup_free_ char *text = get(dealer);
    int len = snprintf(want, sizeof(want), "{\"id\":%d,", id);
    assert_memory_equal(text, want, (size_t)len);
}

static void test_replies_wait_for_room(void **state)
{
    (void)state;
    enum { COUNT = 1600, MORE = 800 }; /* more than the queues and the connection hold, less than may wait */
    stub.hook = make_large;
    void *dealer = new_socket(ZMQ_DEALER);
    const int few = 1;
    zmq_setsockopt(dealer, ZMQ_RCVHWM, &few, sizeof(few));
    assert_int_equal(zmq_connect(dealer, stub.door->address), 0);
    ask_large(dealer, 0, COUNT);
    /* What comes while there is room again stays behind what waits. */
    for (int i = 0; i < MORE; i++) {
        assert_reply(dealer, i);
        ask_large(dealer, COUNT + i, COUNT + i + 1);
    }
    for (int i = MORE; i < COUNT + MORE; i++)
        assert_reply(dealer, i);
    assert_false(has_more(dealer));
}

static void test_caller_that_does_not_read(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    stub.hook = make_large;
    void *dealer = new_socket(ZMQ_DEALER);
    const int few = 1;
    zmq_setsockopt(dealer, ZMQ_RCVHWM, &few, sizeof(few));
    assert_int_equal(zmq_connect(dealer, stub.door->address), 0);
    void *other = caller(ZMQ_REQ);
    ask_large(dealer, 0, COUNT);
    assert_answer(other, A, OK); /* nobody else suffers */
    int got = 0;
    for (; got < COUNT; got++) {
        zmq_pollitem_t item = {.socket = dealer, .events = ZMQ_POLLIN};
        if (zmq_poll(&item, 1, 500) == 0)
            break;
        assert_reply(dealer, got); /* what is dropped is the end */
    }
    assert_true(got >= 2000 && got < COUNT);
    assert_int_equal(atomic_load(&stub_stats[0].dropped), COUNT - got);
    assert_int_equal(atomic_load(&stub_stats[0].unreachable), 0);
}

/* ---- closing ---- */

static unsigned short port_of(const struct mrg_door *door)
{
    return (unsigned short)strtoul(strrchr(door->address, ':') + 1, NULL, 10);
}

static bool accepts(unsigned short port)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool taken = connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
    close(fd);
    return taken;
}

static void wait_refused(unsigned short port)
{
    for (int i = 0; i < STUB_PATIENCE_MS / 5 && accepts(port); i++)
        zmq_poll(NULL, 0, 5);
    assert_false(accepts(port));
}

static void test_close_finishes_what_is_in_flight(void **state)
{
    (void)state;
    struct mrg_door *door = open_at(MRG_DOOR_DEPENDENCY, "inventory", false, "tcp://127.0.0.1:*");
    void *req = connect_to(ZMQ_REQ, door->address), *other = caller(ZMQ_REQ);
    PUT(req, HOLD);
    stub_await(&stub.submitted, 1);
    mrg_transport_zmq.close(stub.transport, door);
    void *late = connect_to(ZMQ_REQ, door->address);
    assert_answer(late, A, "\"status\":503,\"error\":\"this address is closed\"");
    assert_answer(other, A, OK);
    stub_release();
    assert_next(req, OK);
    wait_refused(port_of(door));
    /* Free again. */
    struct mrg_door *again = open_at(MRG_DOOR_DEPENDENCY, "inventory", false, door->address);
    assert_string_equal(again->address, door->address);
    assert_answer(connect_to(ZMQ_REQ, again->address), A, OK);
    mrg_door_unref(again);
    mrg_door_unref(door);
}

static struct mrg_door *_Atomic within;

/* What a control verb does that opens and closes a session's addresses. */
static void open_within(struct mrg_exchange *exchange)
{
    echo(exchange);
    if (begins(exchange->request.path, "/open")) {
        atomic_store(&within, open_at(MRG_DOOR_DEPENDENCY, "payment", false, mrg_transport_zmq.session));
    } else if (begins(exchange->request.path, "/close")) {
        mrg_transport_zmq.close(stub.transport, atomic_load(&within));
        mrg_door_unref(atomic_load(&within));
    }
}

static void test_open_and_close_from_the_sockets_own_thread(void **state)
{
    (void)state;
    void *req = caller(ZMQ_REQ);
    stub.hook = open_within;
    assert_answer(req, "{\"method\":\"POST\",\"path\":\"/open\"}", OK);
    struct mrg_door *door = mrg_door_ref(atomic_load(&within));
    assert_answer(connect_to(ZMQ_REQ, door->address), A, OK);
    assert_answer(req, "{\"method\":\"POST\",\"path\":\"/close\"}", OK);
    wait_refused(port_of(door));
    mrg_door_unref(door);
    assert_answer(req, A, OK);
}

static void test_quiesce(void **state)
{
    (void)state;
    struct mrg_error err;
    void *req = caller(ZMQ_REQ), *other = caller(ZMQ_REQ);
    assert_answer(other, A, OK);
    PUT(req, HOLD);
    stub_await(&stub.submitted, 2);
    mrg_transport_zmq.quiesce(stub.transport);
    assert_answer(other, A, OK); /* the gateway decides about what comes now */
    stub_release();
    assert_next(req, OK);
    struct mrg_door *door = mrg_door_new(MRG_DOOR_SHARED, NULL, NULL);
    assert_int_equal(mrg_transport_zmq.open(stub.transport, "tcp://127.0.0.1:*", door, &err),
                     MRG_ERR_UNAVAILABLE);
    mrg_door_unref(door);
}

static void test_stop_sends_what_is_left(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    void *dealer = caller(ZMQ_DEALER);
    for (int i = 0; i < COUNT; i++)
        PUT(dealer, HOLD);
    stub_await(&stub.submitted, COUNT);
    stub_release();
    mrg_transport_zmq.stop(MRG_TAKE(stub.transport));
    for (int i = 0; i < COUNT; i++)
        assert_next(dealer, OK);
    assert_false(has_more(dealer));
}

static void *stop_it(void *data)
{
    (void)data;
    mrg_transport_zmq.stop(stub.transport);
    return NULL;
}

static void test_stop_waits_for_what_is_not_delivered(void **state)
{
    (void)state;
    pthread_t thread;
    void *req = caller(ZMQ_REQ);
    PUT(req, HOLD);
    stub_await(&stub.submitted, 1);
    assert_int_equal(pthread_create(&thread, NULL, stop_it, NULL), 0);
    zmq_poll(NULL, 0, 50);
    stub_release();
    assert_int_equal(pthread_join(thread, NULL), 0);
    stub.transport = NULL;
    assert_next(req, OK);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(test_addresses),
        WITH(test_ipc),
        WITH(test_nothing_runs_before_the_first_address),
        WITH(test_many_outstanding),
        WITH(test_deadline),
        WITH(test_reply_before_the_deadline),
        WITH(test_caller_that_has_gone),
        WITH(test_replies_wait_for_room),
        WITH(test_caller_that_does_not_read),
        WITH(test_close_finishes_what_is_in_flight),
        WITH(test_open_and_close_from_the_sockets_own_thread),
        WITH(test_quiesce),
        WITH(test_stop_sends_what_is_left),
        WITH(test_stop_waits_for_what_is_not_delivered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
