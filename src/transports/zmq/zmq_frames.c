// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "transports/zmq/zmq_int.h"

/* The parts of a message arrive together, so that none after the first is waited for. */
static bool receive_frame(void *socket, zmq_msg_t *frame)
{
    zmq_msg_init(frame);
    while (zmq_msg_recv(frame, socket, ZMQ_DONTWAIT) < 0) {
        if (zmq_errno() == EINTR)
            continue;
        zmq_msg_close(frame);
        return false;
    }
    return true;
}

bool zm_receive(void *socket, struct zm_message *ret_message)
{
    ret_message->count = ret_message->received = 0;
    ret_message->bytes = 0;
    for (bool more = true; more;) {
        zmq_msg_t surplus;
        bool keep = ret_message->count < MRG_ZMQ_MAX_FRAMES;
        zmq_msg_t *frame = keep ? &ret_message->frames[ret_message->count] : &surplus;
        if (!receive_frame(socket, frame))
            break;
        ret_message->received++;
        ret_message->bytes += zmq_msg_size(frame);
        more = zmq_msg_more(frame) != 0;
        if (keep)
            ret_message->count++;
        else
            zmq_msg_close(frame);
    }
    return ret_message->received > 0;
}

void zm_message_done(struct zm_message *message)
{
    while (message->count > 0)
        zmq_msg_close(&message->frames[--message->count]);
}

struct mrg_slice zm_frame(struct zm_message *message, unsigned at)
{
    zmq_msg_t *frame = &message->frames[at];
    return (struct mrg_slice){zmq_msg_data(frame), zmq_msg_size(frame)};
}

bool zm_is_line(struct mrg_slice frame)
{
    size_t at = 0;
    while (at < frame.len && mrg_token_lower[(unsigned char)frame.ptr[at]])
        at++;
    return at > 0 && at + 1 < frame.len && frame.ptr[at] == ' ' && frame.ptr[at + 1] == '/';
}

unsigned zm_route_len(struct zm_message *message, enum mrg_zmq_format format)
{
    for (unsigned i = 1; i < message->count; i++) {
        struct mrg_slice frame = zm_frame(message, i);
        if (frame.len == 0)
            return i + 1;
        if (format == MRG_ZMQ_MULTIPART && zm_is_line(frame))
            return i;
    }
    if (format == MRG_ZMQ_MULTIPART || message->received > MRG_ZMQ_MAX_ROUTE || message->count < 3)
        return 1;
    return message->count - 1;
}
