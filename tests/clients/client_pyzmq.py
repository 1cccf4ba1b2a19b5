# SPDX-License-Identifier: Apache-2.0
"""The features of the ZeroMQ wire, by pyzmq."""

import json
import threading

import zmq
from common import BIG, run, want

context = zmq.Context.instance()
BODY = {"text": "ä€😀", "number": BIG}


def socket(kind, endpoint, **options):
    made = context.socket(kind)
    made.linger = 0
    made.rcvtimeo = made.sndtimeo = 30000
    for name, value in options.items():
        setattr(made, name, value)
    made.connect(endpoint)
    return made


def ask(kind, endpoint, request, frames=(), **options):
    with socket(kind, endpoint, **options) as s:
        s.send_multipart([*frames, json.dumps(request).encode()])
        got = s.recv_multipart()
        want(got[:-1], list(frames))
        return json.loads(got[-1])


def echo(**more):
    return {"method": "POST", "path": "/echo", "body": BODY, **more}


def good(reply):
    want((reply["status"], reply["body"]), (200, BODY))


def req(given):
    good(ask(zmq.REQ, given["zmq"], echo()))


def correlate(given):
    good(ask(zmq.REQ, given["zmq"], echo(), req_correlate=True, req_relaxed=True))


def dealer(given):
    good(ask(zmq.DEALER, given["zmq"], echo()))


def dealer_with_delimiter(given):
    good(ask(zmq.DEALER, given["zmq"], echo(), frames=[b""]))


def outstanding(given):
    with socket(zmq.DEALER, given["zmq"]) as s:
        for i in range(100):
            s.send_json(echo(id=i, session=f"s{i % 10}", body={"number": i}))
        for i in range(100):
            reply = s.recv_json()
            want(reply["body"]["number"], reply["id"])


def proxy(given):
    front, back = context.socket(zmq.ROUTER), socket(zmq.DEALER, given["zmq"])
    stop_in, stop_out = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    front.linger = 0
    port = front.bind_to_random_port("tcp://127.0.0.1")
    stop_in.bind("inproc://stop")
    stop_out.connect("inproc://stop")
    thread = threading.Thread(target=zmq.proxy_steerable, args=(front, back, None, stop_in))
    thread.start()
    try:
        good(ask(zmq.REQ, f"tcp://127.0.0.1:{port}", echo()))
        good(ask(zmq.DEALER, f"tcp://127.0.0.1:{port}", echo(), frames=[b""]))
    finally:
        stop_out.send(b"TERMINATE")
        thread.join(20)
        for one in (front, back, stop_in, stop_out):
            one.close()


def error(given):
    reply = ask(zmq.REQ, given["zmq"], {"method": "GET", "path": "/fail/conflict"})
    want((reply["status"], reply["body"]["error"]["code"]), (409, "VERSION_CONFLICT"))


def exact(given):
    reply = ask(zmq.REQ, given["zmq"], {"method": "GET", "path": "/fail/exact"})
    want((reply["grpc_status"], reply["grpc_message"]), ("OUT_OF_RANGE", "past the end"))


def headers(given):
    want(ask(zmq.REQ, given["zmq"], echo(headers={"x-sent": "1"}))["headers"]["x-kind"], "echo")


def garbage(given):
    with socket(zmq.REQ, given["zmq"]) as s:
        for bad in (b"", b"{", b"[]", b'{"id": 7, "method": 1}', b"\xff\xfe"):
            s.send(bad)
            reply = s.recv_json()
            want((reply["status"], isinstance(reply["error"], str)), (400, True))
        s.send_json({"id": {"x": 1}, "method": "GET"})
        want(s.recv_json()["id"], {"x": 1})


def many_frames(given):
    with socket(zmq.DEALER, given["zmq"]) as s:
        s.send_multipart([b""] + [b"x"] * 1000)
        want(json.loads(s.recv_multipart()[-1])["status"] >= 400, True)
        s.send_multipart([b"", json.dumps(echo()).encode()])
        good(json.loads(s.recv_multipart()[-1]))


def control(given):
    reply = ask(zmq.REQ, given["zmq"], {"method": "POST", "path": "/__mock__/reset", "session": "other"})
    want((reply["status"], reply["body"]["session"]), (200, "other"))


def control_endpoint(given):
    reply = ask(zmq.REQ, given["zmq_control"], {"method": "POST", "path": "/__mock__/reset", "session": "other"})
    want((reply["status"], reply["body"]["session"]), (200, "other"))


def body_format(given):
    with socket(zmq.REQ, given["zmq_body"]) as s:
        s.send_json(BODY)
        want(s.recv_json(), BODY)


def multipart_format(given):
    with socket(zmq.REQ, given["zmq_multipart"]) as s:
        s.send_multipart([b"POST /echo", b'{"x-sent":"1"}', json.dumps(BODY).encode()])
        status, head, body = s.recv_multipart()
        want((int(status), json.loads(head)["x-kind"], json.loads(body)), (200, "echo", BODY))


def protobuf_format(given):
    message = b"\x0a\x01x\x10\x07"
    with socket(zmq.REQ, given["zmq_protobuf"]) as s:
        s.send(message)
        want(s.recv_multipart(), [message])
        s.send(b"\x0a\xff")
        want(len(s.recv_multipart()), 2)


if __name__ == "__main__":
    run({f.__name__.replace("_", " "): f for f in (
        req, correlate, dealer, dealer_with_delimiter, outstanding, proxy, error, exact, headers, garbage, many_frames,
        control, control_endpoint, body_format, multipart_format, protobuf_format)})
    context.destroy(0)
