// SPDX-License-Identifier: Apache-2.0
//
// The features of the ZeroMQ wire, by czmq. Arguments: the envelope's endpoint, the control endpoint. Output as
// common.py says.

#include <czmq.h>

static const char *const echo = "{\"method\":\"POST\",\"path\":\"/echo\",\"body\":{\"number\":7}}";

static zsock_t *open_socket(int type, const char *endpoint)
{
    zsock_t *socket = zsock_new(type);
    zsock_set_rcvtimeo(socket, 30000);
    if (!socket || zsock_connect(socket, "%s", endpoint) != 0)
        exit(2);
    return socket;
}

static void tell(const char *feature, bool good, const char *reply)
{
    if (good)
        printf("%s\tok\n", feature);
    else
        printf("%s\tfail: %.300s\n", feature, reply ? reply : "no reply");
    fflush(stdout);
}

// The last frame of the reply to a text sent behind `empty` delimiters; the caller frees it.
static char *ask(zsock_t *socket, const char *text, bool empty)
{
    zmsg_t *message = zmsg_new();
    if (empty)
        zmsg_addstr(message, "");
    zmsg_addstr(message, text);
    zmsg_send(&message, socket);
    zmsg_t *reply = zmsg_recv(socket);
    if (!reply)
        return NULL;
    char *last = zframe_strdup(zmsg_last(reply));
    zmsg_destroy(&reply);
    return last;
}

static void try_one(const char *feature, int type, const char *endpoint, const char *text, bool empty,
                    const char *piece)
{
    zsock_t *socket = open_socket(type, endpoint);
    char *reply = ask(socket, text, empty);
    tell(feature, reply && strstr(reply, piece), reply);
    zstr_free(&reply);
    zsock_destroy(&socket);
}

static void outstanding(const char *endpoint)
{
    zsock_t *socket = open_socket(ZMQ_DEALER, endpoint);
    bool good = true;
    for (int i = 0; i < 100; i++)
        zstr_sendf(
            socket,
            "{\"id\":%d,\"session\":\"s%d\",\"method\":\"POST\",\"path\":\"/echo\",\"body\":{\"number\":%d}}",
            i, i % 10, i);
    for (int i = 0; i < 100 && good; i++) {
        char *reply = zstr_recv(socket);
        int id = -1, number = -2;
        const char *at = reply ? strstr(reply, "\"number\":") : NULL;
        good = at && sscanf(reply, "{\"id\":%d", &id) == 1 && sscanf(at, "\"number\":%d", &number) == 1 &&
               id == number;
        if (!good)
            tell("outstanding", false, reply);
        zstr_free(&reply);
    }
    if (good)
        tell("outstanding", true, NULL);
    zsock_destroy(&socket);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    zsys_handler_set(NULL);
    try_one("req", ZMQ_REQ, argv[1], echo, false, "\"status\":200");
    try_one("dealer", ZMQ_DEALER, argv[1], echo, false, "\"status\":200");
    try_one("dealer with delimiter", ZMQ_DEALER, argv[1], echo, true, "\"status\":200");
    outstanding(argv[1]);
    try_one("error", ZMQ_REQ, argv[1], "{\"method\":\"GET\",\"path\":\"/fail/conflict\"}", false,
            "\"status\":409");
    try_one("exact", ZMQ_REQ, argv[1], "{\"method\":\"GET\",\"path\":\"/fail/exact\"}", false,
            "\"OUT_OF_RANGE\"");
    try_one("headers", ZMQ_REQ, argv[1], echo, false, "\"x-kind\":\"echo\"");
    try_one("garbage", ZMQ_REQ, argv[1], "{", false, "\"status\":400");
    try_one("control", ZMQ_REQ, argv[1],
            "{\"method\":\"POST\",\"path\":\"/__mock__/reset\",\"session\":\"other\"}", false,
            "\"session\":\"other\"");
    try_one("control endpoint", ZMQ_REQ, argv[2],
            "{\"method\":\"POST\",\"path\":\"/__mock__/reset\",\"session\":\"other\"}", false,
            "\"session\":\"other\"");
    return 0;
}
