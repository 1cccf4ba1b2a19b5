// SPDX-License-Identifier: Apache-2.0
//
// The least that a ROUTER which speaks the envelope can do: parse each message with json-c, answer with the same id and a
// body of fixed size, built with json-c too. What a real server on the same library costs beyond this is its own
// doing.

#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define FRAMES_MAX 16

static char *filler;

static struct json_object *reply_to(struct json_object *request)
{
    struct json_object *reply = json_object_new_object(), *body = json_object_new_object(), *id;
    if (json_object_object_get_ex(request, "id", &id))
        json_object_object_add(reply, "id", json_object_get(id));
    json_object_object_add(reply, "status", json_object_new_int(200));
    json_object_object_add(body, "x", json_object_new_string(filler));
    json_object_object_add(reply, "body", body);
    return reply;
}

static void answer(void *router, zmq_msg_t *frames, int count)
{
    zmq_msg_t *last = &frames[count - 1];
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *request = json_tokener_parse_ex(tokener, zmq_msg_data(last), (int)zmq_msg_size(last));
    struct json_object *reply = reply_to(request);
    size_t size;
    const char *text = json_object_to_json_string_length(reply, JSON_C_TO_STRING_PLAIN, &size);
    for (int i = 0; i + 1 < count; i++)
        zmq_msg_send(&frames[i], router, ZMQ_SNDMORE);
    zmq_send(router, text, size, 0);
    json_object_put(reply);
    json_object_put(request);
    json_tokener_free(tokener);
}

static void serve(void *router)
{
    zmq_msg_t frames[FRAMES_MAX];
    for (;;) {
        int count = 0;
        do {
            if (count == FRAMES_MAX)
                return;
            zmq_msg_init(&frames[count]);
            if (zmq_msg_recv(&frames[count], router, 0) < 0)
                return;
        } while (zmq_msg_more(&frames[count++]));
        answer(router, frames, count);
        for (int i = 0; i < count; i++)
            zmq_msg_close(&frames[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"size", required_argument, NULL, 's'}, {"threads", required_argument, NULL, 't'}, {0}};
    size_t size = 64, len;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 's')
            size = strtoul(optarg, NULL, 10);
        else if (c != 't') // one thread owns a ROUTER; the option is there for the runner
            return 2;
    }
    filler = malloc(size);
    if (!filler || size < 8)
        return 2;
    memset(filler, 'x', size - 8);
    filler[size - 8] = '\0';
    void *context = zmq_ctx_new(), *router = zmq_socket(context, ZMQ_ROUTER);
    char endpoint[128];
    len = sizeof endpoint;
    if (zmq_bind(router, "tcp://127.0.0.1:*") != 0 ||
        zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, endpoint, &len) != 0)
        return 1;
    printf("listening on %s\n", strrchr(endpoint, ':') + 1);
    fflush(stdout);
    serve(router);
    return 0;
}
