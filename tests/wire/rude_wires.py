# SPDX-License-Identifier: Apache-2.0
"""Callers that cancel, vanish, send garbage or read slowly, over three wires: a program of the soak test.

    rude_wires.py '{"kept": …, "dropped": …, "finished": …}' SEED

The first argument has the ready file's entries of three dependencies: `kept` replays a question and a page, the others
ask a model, and drop or finish the work of callers that leave. It runs until its standard input ends, then writes
{"done": {kind: how often}, "wrong": [what was not as it should be]}. With a third argument it is one of those that are
killed in the middle of their work.
"""

import collections
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import traceback

import grpc
import zmq
from echo_wires import ASK, PAGE, PAGE_TEXT, Number, Question, Text, ask, body, envelope, open_channel, page
from wire import SLOW, request_bytes

from mirage import address_of, http

PATIENCE = 30 * SLOW
SESSIONS = 20


class Kinds:
    """What all have: addresses, chance, and what was done."""

    def __init__(self, entries, seed, done, stop):
        self.entries, self.chance, self.done, self.stop = entries, random.Random(seed), done, stop

    def kinds(self):
        return [getattr(self, name) for name in dir(self) if name.startswith("do_")]

    def run(self):
        """One kind after the other, by chance."""
        kinds = self.kinds()
        while not self.stop.is_set():
            kind = self.chance.choice(kinds)
            try:
                kind()
            except OSError:         # it was hung up on, which is what it deserves
                pass
            self.done[f"{type(self).__name__} {kind.__name__[3:].replace('_', ' ')}"] += 1
            self.stop.wait(self.chance.uniform(0.0, self.pace))

    def model(self):
        """A dependency whose model takes its time."""
        return self.entries[self.chance.choice(("dropped", "finished"))]

    def session(self):
        return f"rude-{self.chance.randrange(SESSIONS)}"

    def fresh(self):
        """A session of `kept` that has asked for nothing yet, of this kind alone."""
        name = f"rude-{type(self).__name__}"
        http("POST", self.entries["kept"]["http"] + "/__mock__/reset", None, [("mirage-session", name)], timeout=PATIENCE)
        return name

    def connect(self, entry, wire, small=False):
        """A plain connection; `small`: one that the kernel reads little ahead for."""
        address = entry[wire][0] if wire == "zmq" else entry[wire]
        connection = socket.socket()
        if small:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        connection.connect(address_of(address))
        return connection

    @staticmethod
    def reset(connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    def leave(self, connection):
        """In one of two ways, at once or after a moment."""
        if self.chance.randrange(2):
            self.stop.wait(self.chance.uniform(0, 0.05))
        if self.chance.randrange(2):
            self.reset(connection)
        else:
            connection.close()

    def bytes(self, most):
        return self.chance.randbytes(self.chance.randrange(1, most))

    def expect(self, condition, what):
        if not condition:
            raise AssertionError(what)


class HTTP(Kinds):
    pace = 0.04

    def question(self):
        fields = [("mirage-session", self.session()), ("Content-Type", "application/json")]
        return request_bytes("/ask", body=json.dumps(body("rude", 1, "http")).encode(), headers=fields)

    def do_close_in_head_or_body(self):
        connection, text = self.connect(self.model(), "http"), self.question()
        connection.sendall(text[:self.chance.randrange(1, len(text))])
        self.leave(connection)

    def do_close_while_asked(self):
        connection = self.connect(self.model(), "http")
        connection.sendall(self.question())
        self.leave(connection)

    def do_pipeline_and_close(self):
        connection = self.connect(self.model(), "http")
        connection.sendall(self.question() * self.chance.randrange(2, 6))
        self.leave(connection)

    def do_garbage(self):
        connection = self.connect(self.model(), "http")
        connection.sendall(self.bytes(400) + b"\r\n\r\n")
        self.leave(connection)

    def do_too_large(self):
        connection = self.connect(self.model(), "http")
        connection.sendall(b"POST /ask HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
        self.expect(connection.recv(12) in (b"", b"HTTP/1.1 413"), "no 413")
        self.leave(connection)


class SlowHTTP(Kinds):
    pace = 0.5

    def do_read_bytewise(self):
        """Byte by byte for a while; then the rest, which must be whole, or away."""
        session, connection = self.fresh(), self.connect(self.entries["kept"], "http", small=True)
        connection.sendall(request_bytes("/pages/1", "GET", headers=[("mirage-session", session), ("Connection", "close")]))
        text, count = b"", self.chance.randrange(50, 400)
        while len(text) < count and not self.stop.is_set():
            text += connection.recv(1)
            self.stop.wait(0.01)
        if self.chance.randrange(2):
            self.leave(connection)
            return
        while piece := connection.recv(65536):
            text += piece
        self.expect(json.loads(text.partition(b"\r\n\r\n")[2]) == {"text": PAGE_TEXT}, "a page read slowly is not whole")
        connection.close()


class GRPC(Kinds):
    """By grpcio."""
    pace = 0.04

    def __init__(self, *args):
        super().__init__(*args)
        self.channels = {name: open_channel(self.entries[name]["grpc"]) for name in ("kept", "dropped", "finished")}

    def future(self, channel=None, timeout=PATIENCE):
        channel = channel or self.channels[self.chance.choice(("dropped", "finished"))]
        return ask(channel).future(Question(**body("rude", 1, "grpc")), timeout=timeout,
                                   metadata=[("mirage-session", self.session())])

    def raw(self, path, payload):
        """The status of a call with these bytes."""
        try:
            self.channels["dropped"].unary_unary(path)(payload, timeout=PATIENCE)
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    def do_cancel(self):
        future = self.future()
        self.stop.wait(self.chance.uniform(0, 0.05))
        future.cancel()

    def do_deadline(self):
        self.future(timeout=self.chance.uniform(0.001, 0.02)).exception()

    def do_close_channel(self):
        channel = open_channel(self.model()["grpc"])
        futures = [self.future(channel) for _ in range(5)]
        self.stop.wait(self.chance.uniform(0, 0.05))
        channel.close()
        self.expect(all(f.done() or f.exception() for f in futures), "a call outlives its channel")

    def do_malformed_message(self):
        payload = self.chance.choice((b"\x0a\x7f", b"\xff" * 20, b"\x0a\x02\xff\xfe", b"\x12\x01a", b"\x0f" + self.bytes(60)))
        self.expect(self.raw(ASK, payload) == grpc.StatusCode.INTERNAL, f"{payload!r} is taken for a message")

    def do_unknown_method(self):
        path = self.chance.choice(("/echo.v1.Echo/Tell", "/echo.v2.Echo/Ask", "/nonsense"))
        self.expect(self.raw(path, b"") == grpc.StatusCode.UNIMPLEMENTED, f"{path} is served")

    def do_too_large(self):
        self.expect(self.raw(ASK, b"\x22\x80\x80\x80\x01" + b"x" * (2 << 20)) == grpc.StatusCode.RESOURCE_EXHAUSTED, "2 MiB are taken")


class H2(Kinds):
    """HTTP/2 by hand."""
    pace = 0.04
    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    DATA, HEADERS, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9

    @staticmethod
    def frame(kind, flags=0, stream=0, payload=b""):
        return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload

    def hello(self, window=65535):
        return self.PREFACE + self.frame(self.SETTINGS, 0, 0, struct.pack(">HI", 4, window))

    def call(self, stream, path, message, session):
        """Its frames: headers that are literal, then the message."""
        fields = ((b":method", b"POST"), (b":scheme", b"http"), (b":path", path.encode()), (b":authority", b"x"),
                  (b"te", b"trailers"), (b"content-type", b"application/grpc"), (b"mirage-session", session.encode()))
        block = b"".join(b"\0" + bytes((len(k),)) + k + bytes((len(v),)) + v for k, v in fields)
        data = b"\0" + struct.pack(">I", len(message)) + message
        return self.frame(self.HEADERS, 4, stream, block) + self.frame(self.DATA, 1, stream, data)

    def question(self, stream=1):
        return self.call(stream, ASK, Question(**body("rude", 1, "grpc")).SerializeToString(), self.session())

    def send_and_leave(self, *parts):
        connection = self.connect(self.model(), "grpc")
        for part in parts:
            connection.sendall(part)
        self.leave(connection)

    def do_garbage(self):
        self.send_and_leave(self.bytes(400))

    def do_http1(self):
        self.send_and_leave(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

    def do_preface_and_junk(self):
        self.send_and_leave(self.PREFACE, self.bytes(400))

    def do_odd_frames(self):
        """Well framed, wrong in kind, stream, length or order."""
        frames = [self.frame(self.chance.randrange(12), self.chance.randrange(256), self.chance.choice((0, 1, 2, 3, 1 << 30)),
                             self.chance.randbytes(self.chance.choice((0, 1, 4, 5, 8, 30)))) for _ in range(self.chance.randrange(1, 20))]
        self.send_and_leave(self.hello(), *frames)

    def do_half_a_call(self):
        text = self.question()
        self.send_and_leave(self.hello() + text[:self.chance.randrange(1, len(text))])

    def do_vanish_while_asked(self):
        self.send_and_leave(self.hello() + b"".join(self.question(2 * i + 1) for i in range(self.chance.randrange(1, 8))))

    def do_reset_streams(self):
        """Calls that are given up as soon as they are made, and then many pings."""
        calls = [self.question(2 * i + 1) + self.frame(self.RST, 0, 2 * i + 1, struct.pack(">I", 8)) for i in range(20)]
        self.send_and_leave(self.hello() + b"".join(calls), self.frame(self.PING, 0, 0, b"12345678") * 20)

    def do_say_nothing(self):
        connection = self.connect(self.model(), "grpc")
        self.stop.wait(0.2)
        self.leave(connection)


class SlowH2(H2):
    pace = 0.5

    def kinds(self):
        return [self.do_pause]

    def frames(self, connection):
        """Those that come: (kind, flags, stream, payload)."""
        stream = connection.makefile("rb")
        while len(head := stream.read(9)) == 9:
            yield head[3], head[4], struct.unpack(">I", head[5:])[0], stream.read(int.from_bytes(head[:3], "big"))

    def do_pause(self):
        """Takes a page a little at a time, by the windows of HTTP/2; after a while the rest, or away."""
        session, taken, whole = self.fresh(), b"", False
        connection = self.connect(self.entries["kept"], "grpc", small=True)
        window = self.chance.choice((1, 100, 5000))
        connection.sendall(self.hello(window) + self.call(1, PAGE, Number(number="1").SerializeToString(), session))
        pauses, patient = self.chance.randrange(20, 100), self.chance.randrange(2)
        for kind, flags, stream, payload in self.frames(connection):
            if kind == self.SETTINGS and not flags & 1:
                connection.sendall(self.frame(self.SETTINGS, 1))
            elif kind == self.PING and not flags & 1:
                connection.sendall(self.frame(self.PING, 1, 0, payload))
            elif kind == self.DATA and payload:
                taken += payload
                pauses -= 1
                if pauses <= 0 and not patient:
                    break
                self.stop.wait(0.03 if pauses > 0 else 0)
                more = struct.pack(">I", window if pauses > 0 else 1 << 20)
                connection.sendall(self.frame(self.WINDOW, 0, 1, more) + self.frame(self.WINDOW, 0, 0, more))
            elif kind in (self.HEADERS, self.RST) and flags & 1 or kind == self.GOAWAY:
                whole = kind == self.HEADERS
                break
        self.leave(connection)
        if whole:
            self.expect(Text.FromString(taken[5:]).text == PAGE_TEXT, "a page taken slowly is not whole")
        self.expect(whole or not patient, "a page taken slowly does not end")


class ZMQ(Kinds):
    """By pyzmq and by hand."""
    pace = 0.04
    GREETING = b"\xff" + b"\0" * 8 + b"\x7f\3\0NULL" + b"\0" * 16 + b"\0" + b"\0" * 31
    READY = b"\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0"

    def __init__(self, *args):
        super().__init__(*args)
        self.context = zmq.Context.instance()

    def dealer(self, entry, **options):
        dealer = self.context.socket(zmq.DEALER)
        dealer.linger, dealer.rcvtimeo, dealer.sndtimeo = 0, PATIENCE * 1000, PATIENCE * 1000
        for name, value in options.items():
            setattr(dealer, name, value)
        dealer.connect(entry["zmq"][0])
        return dealer

    def question(self):
        return envelope("/ask", "POST", session=self.session(), body=body("rude", 1, "zmq"))

    def do_close_while_asked(self):
        with self.dealer(self.model()) as dealer:
            for _ in range(self.chance.randrange(1, 20)):
                dealer.send(self.question())
            if self.chance.randrange(2):        # else it may not even have connected
                dealer.send(b"{}")
                dealer.recv()
            self.stop.wait(self.chance.uniform(0, 0.05))

    def do_garbage_messages(self):
        """Each gets its answer."""
        pieces = (b"", b"{}", b"[]", b"null", b'{"method":"GET"}', b'{"method":"GET","path":"a"}', b"\xff\xfe", b"[" * 500,
                  b'{"id":{"a":[1]},"method":7}', b'{"method":"GET","path":"/a","what":1}', self.bytes(60))
        with self.dealer(self.model()) as dealer:
            count = self.chance.randrange(1, 20)
            for _ in range(count):
                dealer.send_multipart([self.chance.choice(pieces) for _ in range(self.chance.choice((1, 1, 2, 5)))])
            for _ in range(count):
                status = json.loads(dealer.recv_multipart()[-1])["status"]
                self.expect(status in (400, 413, 431), f"garbage gets {status}")

    def do_too_many_frames(self):
        with self.dealer(self.model()) as dealer:
            dealer.send_multipart([b"x"] * self.chance.choice((65, 300, 2000)))
            status = json.loads(dealer.recv_multipart()[-1])["status"]
            self.expect(status == 413, f"too many frames get {status}")

    def do_too_large_frame(self):
        """Hung up on, and connected anew, as the library does."""
        with self.dealer(self.model(), immediate=1) as dealer:
            dealer.send(b"x" * (1 << 21))
            dealer.poll(20)

    def do_bytes(self):
        connection = self.connect(self.model(), "zmq")
        connection.sendall(self.bytes(400))
        self.leave(connection)

    def do_greeting_and_junk(self):
        connection = self.connect(self.model(), "zmq")
        connection.sendall(self.GREETING)
        connection.sendall(self.chance.choice((self.bytes(200), b"\4" + bytes((len(self.READY),)) + self.READY + self.bytes(200))))
        self.leave(connection)

    def do_half_a_message(self):
        """A real peer up to the middle of a message, or of the work on it."""
        connection, text = self.connect(self.model(), "zmq"), self.question()
        message = b"\2" + struct.pack(">Q", len(text)) + text
        connection.sendall(self.GREETING + b"\4" + bytes((len(self.READY),)) + self.READY)
        connection.sendall(message[:self.chance.randrange(1, len(message) + 1)])
        self.leave(connection)


class SlowZMQ(ZMQ):
    pace = 0.5

    def kinds(self):
        return [self.do_never_take_pages, self.do_never_take_many]

    def do_never_take_many(self):
        """More replies than a peer may have waiting, of some KiB each."""
        with self.dealer(self.model(), rcvhwm=1, rcvbuf=4096) as dealer:
            for _ in range(2500):
                dealer.send(envelope("/__mock__/log?limit=20"))
            self.stop.wait(self.chance.uniform(0.5, 7))

    def do_never_take_pages(self):
        """More pages than the kernel has room for."""
        session = self.fresh()
        with self.dealer(self.entries["kept"], rcvhwm=1, rcvbuf=4096) as dealer:
            for _ in range(60):
                dealer.send(envelope("/pages/1", session=session))
                dealer.send(envelope("/__mock__/reset", "POST", session=session))
            self.stop.wait(self.chance.uniform(0.5, 3))


class Killed(Kinds):
    """Programs that are killed."""
    pace = 2.0

    def do_kill(self):
        child = subprocess.Popen([sys.executable, __file__, json.dumps(self.entries), str(self.chance.randrange(1 << 30)), "victim"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            self.expect(child.stdout.readline() == b"busy\n", "the program that was to be killed ended by itself")
            self.stop.wait(self.chance.uniform(0, 1))
            self.expect(child.poll() is None, "the program that was to be killed ended by itself")
        finally:
            child.kill()
            child.stdout.close()
            child.wait()


def victim(entries, seed):
    """Has work outstanding over every wire until it is killed."""
    args = (entries, seed, collections.Counter(), threading.Event())
    web, rpc, zeromq = HTTP(*args), GRPC(*args), ZMQ(*args)
    held = []
    while True:
        model = web.model()
        connection = web.connect(model, "http")
        connection.sendall(web.question())
        reader = web.connect(entries["kept"], "http", small=True)
        reader.sendall(request_bytes("/pages/1", "GET", headers=[("mirage-session", web.fresh())]))
        dealer = zeromq.dealer(model)
        for _ in range(5):
            dealer.send(zeromq.question())
        dealer.send(b"{}")
        dealer.recv()
        futures = [rpc.future() for _ in range(3)]
        metadata = [("mirage-session", rpc.fresh())]
        futures.append(page(rpc.channels["kept"]).future(Number(number="1"), metadata=metadata))
        held = held[-20:] + [(connection, reader, dealer, futures)]
        os.write(1, b"busy\n")
        select.select([], [], [], 0.02)


def main():
    entries, seed = json.loads(sys.argv[1]), int(sys.argv[2])
    if len(sys.argv) > 3:
        victim(entries, seed)
    done, wrong, stop = collections.Counter(), [], threading.Event()

    def run(one):
        try:
            one.run()
        except Exception:       # told by the test
            wrong.append(traceback.format_exc())
            stop.set()
    threads = [threading.Thread(target=run, args=(kind(entries, seed + i, done, stop),))
               for i, kind in enumerate((HTTP, SlowHTTP, GRPC, H2, SlowH2, ZMQ, SlowZMQ, Killed))]
    for thread in threads:
        thread.start()
    while not stop.is_set() and not select.select([0], [], [], 0.5)[0]:
        pass
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"done": done, "wrong": wrong}), flush=True)
    zmq.Context.instance().destroy(linger=0)


if __name__ == "__main__":
    main()
