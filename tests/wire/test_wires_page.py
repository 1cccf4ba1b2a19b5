# SPDX-License-Identifier: Apache-2.0
"""docs/wires.md against the program: what callers are told over gRPC and ZeroMQ when a limit is passed or a request is none,
and the commands that it shows."""

import json
import os
import pathlib
import re
import shlex
import signal

import grpc
import zmq
from test_grpc import FILES, Client
from wire import SLOW, Case, until, yaml

import tap
from mirage import run_mirage
from provider import Reply

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "wires.md"
EXAMPLE = PAGE.parents[1] / "examples" / "order-system" / "mirage.yaml"
SHOW, LEND = "loans.v1.Loans/Show", "loans.v1.Loans/Lend"
TOP = """listen: {grpc: "127.0.0.1:0", zmq: ["tcp://127.0.0.1:*"]}
limits: {body: 64KiB, headers: 4KiB}
"""
DEP = """listen: {http: "127.0.0.1:0", grpc: "127.0.0.1:0", zmq: ["tcp://127.0.0.1:*"]}
protos: {files: [loans/v1/loans.proto, deep/v1/deep.proto]}
"""
DEEP = """syntax = "proto3";
package deep.v1;
service Mine { rpc Dig(Deep) returns (Deep); }
message Deep { Deep deeper = 1; }
"""
# What goes wrong → (gRPC's status, ZeroMQ's); None: it cannot be said there, or nothing answers.
ROWS = {
    "a message or body larger than `limits.body`": ("RESOURCE_EXHAUSTED", 413),
    "metadata or headers larger than `limits.headers`": ("RESOURCE_EXHAUSTED", 431),
    "more than 200 metadata entries or headers": ("RESOURCE_EXHAUSTED", 413),
    "a path longer than 8,192 bytes": (None, "413; 414 in format `multipart`"),
    "messages, or arrays and objects, in each other more than 100 deep": ("INTERNAL", 413),
    "more than 64 frames": (None, 413),
    "more than 16 frames before the empty one": (None, 400),
    "several frames behind the empty one": (None, 400),
    "what is no envelope: no JSON, a member that is missing or unknown": (None, 400),
    "a body that is no JSON, to a control verb": (None, 415),
    "bytes that are no message of the type": ("INTERNAL", "INVALID_ARGUMENT, in format `protobuf`"),
    "a call without a message": ("INVALID_ARGUMENT", None),
    "a session name that is not allowed": ("INVALID_ARGUMENT", 400),
    "no such dependency or service": ("UNIMPLEMENTED", 404),
    "the dependency is not named, where several share the address": (None, 400),
    "another dependency than the address's": (None, 400),
    "no such method, or one that streams": ("UNIMPLEMENTED", None),
    "no reply within `limits.deadline`": ("DEADLINE_EXCEEDED", 504),
    "a new request while the server stops": ("UNAVAILABLE", 503),
    "still in flight after `limits.drain`": ("UNAVAILABLE", 503),
}


def nested(depth):
    """So many deep.v1.Deep in each other, below the outermost."""
    message = b""
    for _ in range(depth):
        message = b"\x0a" + varint(len(message)) + message
    return message


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def envelope(path="/a", method="GET", **members):
    return json.dumps({"method": method, "path": path, **members}).encode()


class Told(Case):
    def setUp(self):
        self.context = zmq.Context()
        self.addCleanup(self.context.destroy, linger=0)

    def start(self, top=TOP, dep=DEP, more="", **options):
        p = self.provider(lambda call: Reply.json({"status": 200, "body": {}}))
        m = self.mirage(yaml(p, dep=dep, top=top) + more, files=FILES | {"deep/v1/deep.proto": DEEP}, **options)
        self.client = Client(m.dependency()["grpc"])
        self.addCleanup(self.client.close)
        return m, p

    def dealer(self, address):
        socket = self.context.socket(zmq.DEALER)
        socket.linger, socket.rcvtimeo = 0, 20000 * SLOW
        socket.connect(address)
        return socket

    def ask(self, address, *frames):
        """The status that comes back in an envelope."""
        with self.dealer(address) as dealer:
            dealer.send_multipart(frames)
            reply = json.loads(dealer.recv_multipart()[-1])
            self.assertIsInstance(reply.get("error", reply.get("body", {}).get("error")), str, reply)
            return reply["status"]

    def status(self, call, *args, **options):
        with self.assertRaises(grpc.RpcError) as caught:
            call(*args, **options)
        return caught.exception.code().name

    def check(self, seen):
        page = PAGE.read_text()
        for what, (over_grpc, over_zmq) in seen.items():
            with self.subTest(what):
                self.assertEqual(ROWS[what], (over_grpc, over_zmq))
                self.assertIn(f"| {what} | {over_grpc or '–'} | {over_zmq or '–'} |\n", page)

    def test_what_is_too_large_or_wrong(self):
        m, p = self.start(more="""  - name: parts
    listen: {zmq: ["tcp://127.0.0.1:*"]}
    zmq: {format: multipart}
  - name: messages
    listen: {zmq: ["tcp://127.0.0.1:*"]}
    protos: {files: [deep/v1/deep.proto]}
    zmq: {format: protobuf, rpc: deep.v1.Mine/Dig}
""")
        client, own, parts = self.client, m.dependency()["zmq"][0], m.dependency("parts")["zmq"][0]
        large = b"\x0a" + varint(70000) + b"x" * 70000
        self.check({
            "a message or body larger than `limits.body`":
                (self.status(client.raw, "/" + LEND, large), self.ask(own, envelope(body="x" * 67000))),
            "metadata or headers larger than `limits.headers`":
                (self.status(client.call, SHOW, {}, [("x-long", "x" * 4096)]), self.ask(own, envelope(headers={"a": "x" * 4096}))),
            "more than 200 metadata entries or headers":
                (self.status(client.call, SHOW, {}, [("x", "")] * 201), self.ask(own, envelope(headers={f"x{n}": "" for n in range(201)}))),
            "a path longer than 8,192 bytes": (None, f"{self.ask(own, envelope('/' + 'x' * 8192))}; {self.long_line(parts)} in format `multipart`"),
            "messages, or arrays and objects, in each other more than 100 deep":
                (self.status(client.raw, "/deep.v1.Mine/Dig", nested(101)), self.ask(own, b'{"method":"GET","path":"/a","body":' + b"[" * 101 + b"]" * 101 + b"}")),
            "more than 64 frames": (None, self.ask(own, *[b"x"] * 64)),
            "more than 16 frames before the empty one": (None, self.ask(own, *[b"x"] * 17, b"", envelope())),
            "several frames behind the empty one": (None, self.ask(own, b"", envelope(), envelope())),
        })
        for frame in (b"", b"GET /a", b"[]", b'{"method":"GET"}', b'{"path":"/a"}', envelope(what=1), envelope("a"), envelope(method="G T"),
                      envelope(headers=[]), b'{"method":"GET","path":"/a"} x', b"\xff"):
            self.check({"what is no envelope: no JSON, a member that is missing or unknown": (None, self.ask(own, frame))})
        self.check({
            "a body that is no JSON, to a control verb":
                (None, self.ask(own, envelope("/__mock__/scenario", "POST", body_text="x", headers={"content-type": "text/plain"}))),
            "a call without a message": (self.empty(), None),
            "a session name that is not allowed":
                (self.status(client.call, SHOW, {}, [("mirage-session", "a/b")]), self.ask(own, envelope(session="a/b"))),
            "another dependency than the address's": (None, self.ask(own, envelope(dependency="payment"))),
        })
        self.assertEqual([], p.calls)

        self.check({"bytes that are no message of the type":
                    (self.status(client.raw, "/deep.v1.Mine/Dig", b"\x0a\x05x"), self.wrong(m.dependency("messages")["zmq"][0]))})

    def test_who_is_asked(self):
        m, p = self.start(more="""  - name: payment
    listen: {http: "127.0.0.1:0"}
""")
        shared = m.dependency("payment")["zmq"][0]      # it has none of its own
        self.check({
            "no such dependency or service": (self.status(self.client.raw, "/loans.v2.Loans/Lend"), self.ask(shared, envelope(dependency="stock"))),
            "the dependency is not named, where several share the address": (None, self.ask(shared, envelope())),
        })
        for method in ("Sell", "Follow", "Bring"):
            self.check({"no such method, or one that streams": (self.status(self.client.raw, "/loans.v1.Loans/" + method), None)})
        self.assertEqual([], p.calls)

    def test_deadline(self):
        m, p = self.start(TOP.replace("body: 64KiB", "deadline: 300ms"))
        p.hold()
        self.check({"no reply within `limits.deadline`":
                    (self.status(self.client.call, SHOW, {"id": "1"}), self.ask(m.dependency()["zmq"][0], envelope()))})
        p.release()

    def test_stop(self):
        m, p = self.start(TOP.replace("body: 64KiB", "drain: 2s"))
        own = m.dependency()["zmq"][0]
        p.hold()
        with self.dealer(own) as held, self.dealer(own) as late:
            held.send(envelope("/held", session="held"))
            over_grpc = self.client.future(SHOW, {"id": "1"}, timeout=30)
            until(lambda: len(p.calls) == 2, "both are with the model")
            os.kill(m.pid, signal.SIGTERM)
            m.wait_stderr("Stopping")
            late.send(envelope("/late"))
            later = self.status(self.client.call, SHOW, {"id": "2"}, timeout=5)
            self.check({"a new request while the server stops": (later, json.loads(late.recv())["status"])})
            self.check({"still in flight after `limits.drain`": (over_grpc.exception().code().name, json.loads(held.recv())["status"])})
        p.release()
        m.join()

    def long_line(self, address):
        with self.dealer(address) as dealer:
            dealer.send_multipart([b"GET /" + b"x" * 8192])
            return int(dealer.recv_multipart()[-3])

    def wrong(self, address):
        """The name of the code in a google.rpc.Status."""
        with self.dealer(address) as dealer:
            dealer.send(b"\x0a\x05x")
            status, word = dealer.recv_multipart()
        self.assertEqual((b"status", 8), (word, status[0]))
        return {c.value[0]: c.name for c in grpc.StatusCode}[status[1]] + ", in format `protobuf`"

    def empty(self):
        call = self.client.channel.stream_unary("/" + SHOW)
        return self.status(call, iter(()), timeout=20 * SLOW)


class Shown(Case):
    """Each `$ mirage call` and `$ mirage ls` of the page, with what it prints and `$ echo $?` behind it, on the recordings of
    examples/order-system."""

    def commands(self):
        """[(command line, what it prints)]"""
        blocks = re.findall(r"```\n(\$ mirage (?:call|ls) .*?)```", PAGE.read_text(), re.S)
        return [(command, text) for block in blocks for command, text in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]

    def test_commands(self):
        m = self.mirage(str(EXAMPLE), args=["--mode", "replay"])
        addresses = m.dependency("inventory")
        own = {"127.0.0.1:8001": addresses["http"].removeprefix("http://"), "127.0.0.1:9001": addresses["grpc"],
               "127.0.0.1:5001": addresses["zmq"][0].removeprefix("tcp://")}
        code, count = None, 0
        for command, text in self.commands():
            if command == "echo $?":
                self.assertEqual(text, f"{code}\n")
                continue
            words = [re.sub(r"127\.0\.0\.1:\d+", lambda found: own.get(found[0], found[0]), word) for word in shlex.split(command)]
            with self.subTest(command):
                code, out, err = run_mirage(*words[1:])
                self.assertEqual(self.steady(text), self.steady(err + out))
            count += 1
        self.assertGreaterEqual(count, 6)

    def steady(self, text):
        """Without what is another one in each run, or with each release of gRPC's library."""
        for pattern, instead in ((r'"ms":[\d.]+', '"ms":N'), (r'"date":"[^"]+"', '"date":"D"'), (r"(?m)^(mirage: \S+:1: ).*", r"\1W")):
            text = re.sub(pattern, instead, text)
        return text


if __name__ == "__main__":
    tap.main()
