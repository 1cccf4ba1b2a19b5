# SPDX-License-Identifier: Apache-2.0
"""ZeroMQ, by pyzmq: sockets, formats, control verbs, limits, callers that leave, and one history with HTTP."""

import json
import os
import random
import signal
import socket
import threading

import zmq
from wire import SLOW, Case, cassette, get, metric, post, shown, until

import tap
from provider import Reply

OWN = 'listen: {http: "127.0.0.1:0", zmq: ["tcp://127.0.0.1:*"]}\n'
PROTO = """\
syntax = "proto3";
package shop.v1;
message Ask { string item = 1; int32 count = 2; }
message Told { int32 left = 1; }
service Shop { rpc Take(Ask) returns (Told); }
"""


def endpoint(m, name="inventory", n=0):
    return next(d for d in m.ready["dependencies"] if d["name"] == name)["zmq"][n]


def control(m, name="inventory"):
    return next(d for d in m.ready["dependencies"] if d["name"] == name)["zmq_control"]


def envelope(path, method="GET", **members):
    return json.dumps({"method": method, "path": path, **members}).encode()


class Wire(Case):
    def setUp(self):
        super().setUp()
        self.context = zmq.Context()
        self.addCleanup(self.context.destroy, linger=0)

    def socket(self, address=None, kind=zmq.REQ, **options):
        socket = self.context.socket(kind)
        socket.linger = 0
        socket.rcvtimeo = socket.sndtimeo = 20000 * SLOW
        for name, option in options.items():
            setattr(socket, name, option)
        if address:
            socket.connect(address)
        return socket

    def ask(self, address, *frames):
        """The frames that come back."""
        with self.socket(address) as socket:
            socket.send_multipart(frames)
            return socket.recv_multipart()

    def call(self, address, path, method="GET", **members):
        frames = self.ask(address, envelope(path, method, **members))
        self.assertEqual(1, len(frames))
        return json.loads(frames[0])


class Sockets(Wire):
    def test_every_kind(self):
        m, p = self.serve(dep=OWN)
        address, text = endpoint(m), envelope("/a?x=%20", id=[1, "x"])
        with self.socket(address) as req, self.socket(address, zmq.DEALER) as dealer, \
                self.socket(address, req_correlate=1, req_relaxed=1) as correlate:
            for socket, frames, before in ((req, [text], []), (correlate, [text], []), (dealer, [text], []),
                                           (dealer, [b"", text], [b""])):
                socket.send_multipart(frames)
                *route, reply = socket.recv_multipart()
                self.assertEqual(before, route)
                self.assertEqual([[1, "x"], 200], [json.loads(reply)[k] for k in ("id", "status")])
        self.assertEqual([{"method": "GET", "path": "/a", "query": {"x": " "}}], [shown(c) for c in p.calls][:1])

    def test_through_a_proxy(self):
        m, _ = self.serve(dep=OWN)
        front, back = self.socket(kind=zmq.ROUTER), self.socket(endpoint(m), zmq.DEALER)
        front.bind("inproc://front")
        stop = self.socket(kind=zmq.PAIR)
        stop.bind("inproc://stop")
        proxy = threading.Thread(target=zmq.proxy_steerable, args=(front, back, None, stop))
        steer = self.socket("inproc://stop", zmq.PAIR)
        proxy.start()
        try:
            self.assertEqual(200, self.call("inproc://front", "/a")["status"])
            with self.socket("inproc://front", zmq.DEALER) as bare, self.socket("inproc://front", zmq.DEALER) as other:
                bare.send(envelope("/b", id=1))
                other.send_multipart([b"", envelope("/c", id=2)])
                self.assertEqual(1, json.loads(bare.recv())["id"])
                self.assertEqual(2, json.loads(other.recv_multipart()[1])["id"])
        finally:
            steer.send(b"TERMINATE")
            proxy.join()

    def test_many_outstanding_in_many_sessions(self):
        """Each is answered once and with its own, and within a session the history is in order."""
        def echo(call):
            request = shown(call)
            return Reply.json({"status": 200, "body": request["body"]}).after(0.01)
        m, p = self.serve(echo, dep=OWN, args=("--mode", "off"), model="concurrency: 32")
        sessions, rounds = 20, 10
        with self.socket(endpoint(m), zmq.DEALER) as one, self.socket(endpoint(m), zmq.DEALER) as two:
            for n in range(rounds):
                for s in range(sessions):
                    socket = two if s % 2 else one
                    socket.send(envelope("/n", "POST", id=f"{s}/{n}", session=f"s{s}", body={"s": s, "n": n}))
            got = {}
            for socket, odd in ((one, 0), (two, 1)):
                for _ in range(sessions * rounds // 2):
                    reply = json.loads(socket.recv())
                    s, n = map(int, reply["id"].split("/"))
                    self.assertEqual((odd, {"s": s, "n": n}), (s % 2, reply["body"]))
                    got.setdefault(s, []).append(n)
                self.assertEqual(0, socket.poll(0))
        self.assertEqual({s: list(range(rounds)) for s in range(sessions)}, got)
        self.assertEqual(sessions * rounds, len(p.calls))

    def test_ipc(self):
        m, _ = self.serve(dep='listen: {zmq: ["ipc:///tmp/mirage-test-%d"]}' % os.getpid())
        path = endpoint(m).removeprefix("ipc://")
        self.assertTrue(os.path.exists(path))
        self.assertEqual(200, self.call(endpoint(m), "/a")["status"])
        m.stop()
        self.assertFalse(os.path.exists(path))


class Histories(Wire):
    def test_one_with_http(self):
        m, p = self.serve(dep=OWN, args=("--mode", "off"))
        self.call(endpoint(m), "/items", "POST", body={"n": 1})
        post(m.url() + "/items", {"n": 2})
        self.call(endpoint(m), "/items", session="other")
        self.call(endpoint(m), "/__s/third/items")
        histories = [[t for r, t in c.messages if r == "user"] for c in p.calls]
        self.assertEqual([1, 2, 1, 1], [len(h) for h in histories])
        self.assertIn('"n":1', histories[1][0])
        self.assertEqual(200, get(m.url() + "/items", [("mirage-session", "other")])[0])
        self.assertEqual(2, len([1 for r, _ in p.calls[-1].messages if r == "user"]))

    def test_cassette_of_http_replays(self):
        m, _ = self.serve({"/items": {"status": 201, "headers": {"X-A": ["1", "2"]}, "body": {"id": 7.50}}}, dep=OWN)
        post(m.url() + "/items?b=1", {"name": "x", "n": 1.0}, [("x-key", "k")])
        cassette(m, n=1)
        m.stop()
        again = self.mirage(open(m.config_path).read(), ("--mode", "replay"), folder=m.folder)
        reply = self.call(endpoint(again), "/items?b=1", "POST", headers={"X-Key": "k"}, body={"n": 1.0, "name": "x"})
        self.assertEqual(201, reply["status"])
        self.assertEqual({"id": 7.5}, reply["body"])
        self.assertEqual(["1", "2"], reply["headers"]["x-a"])
        self.assertEqual("cassette", reply["headers"]["mirage-source"])
        miss = self.call(endpoint(again), "/other", "POST")
        self.assertEqual({"status", "error"}, set(miss))
        self.assertEqual(500, miss["status"] // 100 * 100)


class Formats(Wire):
    def test_body(self):
        m, p = self.serve({"/orders/1": {"status": 409, "body": {"detail": "no"}}},
                          dep='listen: {zmq: ["tcp://127.0.0.1:*"]}\n'
                              'zmq: {format: body, route: "POST /orders/1", control: "tcp://127.0.0.1:*"}')
        self.assertEqual([b'{"detail":"no"}'], self.ask(endpoint(m), b'{"a": 1.0}'))
        self.assertEqual({"method": "POST", "path": "/orders/1", "body": {"a": 1.0}}, shown(p.calls[-1]))
        self.ask(endpoint(m), b"plain")
        self.assertEqual("plain", shown(p.calls[-1])["body_text"])
        self.ask(endpoint(m), b"")
        self.assertNotIn("body", shown(p.calls[-1]))
        self.assertRegex(self.ask(endpoint(m), b"a", b"b")[0], rb'^\{"error":"2 frames behind the empty one')
        self.assertEqual({"status": "serving"}, {k: v for k, v in self.call(control(m), "/__mock__/health")["body"].items()
                                                 if k == "status"})
        self.assertEqual(200, self.call(control(m), "/__mock__/reset", "POST")["status"])

    def test_multipart(self):
        m, p = self.serve({"/a": {"status": 404, "headers": {"x-b": "1"}, "body": "none"}},
                          dep='listen: {zmq: ["tcp://127.0.0.1:*"]}\nzmq: {format: multipart}')
        status, headers, body = self.ask(endpoint(m), b"PUT /a?q=1", b'{"X-Key":["1",2]}', b'{"n":1}')
        self.assertEqual((b"404", b'"none"'), (status, body))
        self.assertEqual({"mirage-source": "llm", "mirage-session": "default", "x-b": "1",
                          "content-type": "application/json"}, json.loads(headers))
        self.assertEqual({"method": "PUT", "path": "/a", "query": {"q": "1"}, "headers": {"x-key": ["1", "2"]},
                          "body": {"n": 1}}, shown(p.calls[-1]))
        with self.socket(endpoint(m), zmq.DEALER) as dealer:
            dealer.send_multipart([b"GET /a", b"", b""])
            self.assertEqual(b"404", dealer.recv_multipart()[0])
            dealer.send_multipart([b"hello", b"", b""])
            self.assertEqual(b"400", dealer.recv_multipart()[-3])
        # Control verbs have a place here: path, session and body.
        status, _, body = self.ask(endpoint(m), b"POST /__mock__/scenario", b'{"mirage-session":"s1"}', b'{"instruction":"x"}')
        self.assertEqual((b"200", {"status": "announced", "session": "s1", "dependency": "inventory"}),
                         (status, json.loads(body)))
        status, _, body = self.ask(endpoint(m), b"POST /__s/s2/__mock__/reset")
        self.assertEqual((b"200", "s2"), (status, json.loads(body)["session"]))
        status, _, body = self.ask(endpoint(m), b"GET /__mock__/health")
        self.assertEqual((b"200", "serving"), (status, json.loads(body)["status"]))

    def test_protobuf(self):
        replies = iter([{"status": 200, "body": {"left": 5}}, {"status": 409, "body": {"detail": "none left"}},
                        {"status": 200, "body": {"left": "many"}}, {"status": 200, "body": {"left": 6}}])
        m, p = self.serve(lambda call: Reply.json(next(replies)), files={"p/shop.proto": PROTO},
                          dep='listen: {zmq: ["tcp://127.0.0.1:*"]}\nprotos: {roots: [p], files: [shop.proto]}\n'
                              'zmq: {format: protobuf, rpc: shop.v1.Shop/Take}')
        ask = b"\x0a\x01a\x10\x02"
        self.assertEqual([b"\x08\x05"], self.ask(endpoint(m), ask))
        self.assertEqual({"method": "POST", "path": "/shop.v1.Shop/Take", "body": {"item": "a", "count": 2}},
                         shown(p.calls[-1]))
        status, word = self.ask(endpoint(m), ask)
        self.assertEqual(b"status", word)
        self.assertEqual(b"\x08\x0a\x12\x09none left", status[:13])     # 10 is ABORTED
        self.assertEqual([b"\x08\x06"], self.ask(endpoint(m), ask))     # mended by the model
        self.assertEqual(4, len(p.calls))
        self.assertIn("left", p.calls[-1].messages[-1][1])

    def test_protobuf_that_grows(self):
        """A few bytes may stand for many fields with their defaults."""
        fields = "".join(f"string a_rather_long_name_{i} = {i + 1};" for i in range(40))
        proto = PROTO.replace("string item = 1;", "string item = 1; repeated Wide wide = 3;") + f"message Wide {{ {fields} }}\n"
        m, p = self.serve(files={"p/shop.proto": proto}, top="limits: {body: 64KiB}",
                          dep='listen: {zmq: ["tcp://127.0.0.1:*"]}\nprotos: {roots: [p], files: [shop.proto]}\n'
                              'zmq: {format: protobuf, rpc: shop.v1.Shop/Take}')
        status, word = self.ask(endpoint(m), b"\x1a\0" * 20000)
        self.assertEqual((b"status", b"\x08\x09"), (word, status[:2]))   # 413 is FAILED_PRECONDITION
        self.assertIn(b"expected at most 262144 bytes as JSON", status)
        self.assertEqual([], p.calls)
        status, word = self.ask(endpoint(m), b"\x0a\x09a")
        self.assertEqual((b"\x08\x03", b"status"), (status[:2], word))  # INVALID_ARGUMENT


class Addresses(Wire):
    def test_shared(self):
        m, p = self.serve(names=("inventory", "payment"), top='listen: {zmq: ["tcp://127.0.0.1:*"]}',
                          dep="listen: {http: 127.0.0.1:0}", args=("--mode", "off"))
        address = endpoint(m)
        self.assertEqual(address, endpoint(m, "payment"))
        self.assertEqual(200, self.call(address, "/a", dependency="payment")["status"])
        self.assertEqual(200, get(m.url("payment") + "/b")[0])
        self.assertEqual(2, len([1 for r, _ in p.calls[-1].messages if r == "user"]))
        missing, unknown = self.call(address, "/a"), self.call(address, "/a", dependency="stock")
        self.assertEqual((400, 404), (missing["status"], unknown["status"]))
        for reply in (missing, unknown):
            self.assertIn("expected one of inventory, payment", reply["error"])
        health = self.call(address, "/__mock__/health")
        self.assertEqual(["inventory", "payment"], health["body"]["dependencies"])
        self.assertEqual(200, self.call(address, "/__mock__/reset", "POST", dependency="payment")["status"])

    def test_own_of_another(self):
        m, _ = self.serve(dep=OWN)
        self.assertRegex(self.call(endpoint(m), "/a", dependency="payment")["error"], "this is the address of inventory")

    def test_sessions_own(self):
        m, p = self.serve(dep=OWN, args=("--mode", "off"))
        made = self.call(endpoint(m), "/__mock__/sessions", "POST", body={"name": "s1", "listen": True})
        own = made["body"]["dependencies"][0]["zmq"][0]
        self.assertEqual("s1", self.call(own, "/a")["headers"]["mirage-session"])
        self.assertEqual(200, get(m.url() + "/b", [("mirage-session", "s1")])[0])
        self.assertEqual(2, len([1 for r, _ in p.calls[-1].messages if r == "user"]))
        self.assertEqual(200, self.call(endpoint(m), "/__mock__/sessions/s1", "DELETE")["status"])
        with self.socket(own, rcvtimeo=200) as late, self.assertRaises(zmq.Again):
            late.send(envelope("/a"))
            late.recv()

    def test_reload(self):
        m, p = self.serve(dep='listen: {http: "127.0.0.1:0", zmq: ["tcp://127.0.0.1:*", "tcp://localhost:*"]}')
        first, second = endpoint(m), endpoint(m, n=1)
        self.assertEqual(200, self.call(second, "/a")["status"])
        text = open(m.config_path).read()
        m.write("mirage.yaml", text.replace(', "tcp://localhost:*"', "") +
                '    zmq: {format: body, route: "POST /b"}\n')
        m.hup()
        # The format of the address that stays has changed, for the very next message.
        until(lambda: self.ask(first, b"x")[0].startswith(b'{"n":'), "the new configuration")
        self.assertEqual("/b", shown(p.calls[-1])["path"])
        def closed():
            with self.socket(second, rcvtimeo=100) as late:
                late.send(envelope("/a"))
                try:
                    return b"closed" in late.recv()
                except zmq.Again:
                    return True
        until(closed, "the address closed")


class Limits(Wire):
    def test_body_and_frames(self):
        m, p = self.serve(dep=OWN, top="limits: {body: 64KiB, headers: 4KiB}")
        with self.socket(endpoint(m), zmq.DEALER) as dealer:
            for frames, status in (([envelope("/a", body="x" * 70000)], 413), ([b"", b"x" * 40000, b"x" * 40000], 413),
                                   ([b"x"] * 1000, 413), ([b"x"] * 20 + [b"", envelope("/a")], 400),
                                   ([envelope("/a", headers={"a": "x" * 5000})], 431),
                                   ([envelope("/" + "x" * 9000)], 4)):
                dealer.send_multipart(frames)
                got = json.loads(dealer.recv_multipart()[-1])["status"]
                self.assertTrue(str(got).startswith(str(status)), (got, status))
            dealer.send(envelope("/a"))
            self.assertEqual(200, json.loads(dealer.recv())["status"])
        self.assertEqual(1, len(p.calls))

    def test_a_frame_past_the_librarys_limit(self):
        """Up to twice the limit there is an answer; then the library hangs up on such a peer, and others do not notice."""
        m, _ = self.serve(dep=OWN, top="limits: {body: 64KiB, headers: 4KiB}")
        self.assertEqual(413, json.loads(self.ask(endpoint(m), b"x" * (2 * 68 * 1024))[0])["status"])
        with self.socket(endpoint(m), zmq.DEALER, rcvtimeo=300) as dealer:
            dealer.send(b"x" * 1000000)
            with self.assertRaises(zmq.Again):
                dealer.recv()
        self.assertEqual(200, self.call(endpoint(m), "/a")["status"])

    def test_deadline(self):
        provider = self.provider(lambda call: Reply.json({"status": 200}).hold())
        m = self.mirage(f"model: {{provider: openai, base_url: {provider.base_url}, name: m}}\n"
                        "limits: {deadline: 300ms}\ndependencies:\n  - name: inventory\n    on_gone: drop\n    " + OWN)
        reply = self.call(endpoint(m), "/a", id=3)
        self.assertEqual({"id": 3, "status": 504, "error": "no reply within 300 ms (limits.deadline)"}, reply)

    def test_garbage(self):
        """Whatever comes, each message gets one answer. MIRAGE_SEED repeats a run."""
        seed = int(os.environ.get("MIRAGE_SEED", random.randrange(1 << 30)))
        print("seed", seed)
        rng = random.Random(seed)
        m, _ = self.serve(dep=OWN)
        pieces = [b"", b"{}", b"[]", b"null", b'{"id":1}', b'{"method":"GET"}', b'{"method":"GET","path":"a"}',
                  b'{"method":"GET","path":"/a","path":"/b"}', b'{"method":"G T","path":"/a"}', b"\xff\xfe",
                  b'{"id":{"a":[1]},"method":7}', b'{"method":"GET","path":"/\\u0000"}', b"[" * 500, b"GET /a",
                  b'{"method":"GET","path":"/a","headers":{"a":null}}', b'{"method":"GET","path":"/a","what":1}']
        with self.socket(endpoint(m), zmq.DEALER) as dealer:
            for _ in range(500):
                frames = [rng.choice(pieces) if rng.random() < 0.8 else rng.randbytes(rng.randrange(40))
                          for _ in range(rng.choice((1, 1, 1, 2, 3, 5, 70)))]
                dealer.send_multipart(frames)
                reply = json.loads(dealer.recv_multipart()[-1])
                self.assertIn(reply["status"], (400, 413, 431), (seed, frames))
                self.assertIsInstance(reply["error"], str)
            self.assertEqual(0, dealer.poll(50))
        self.assertEqual(200, self.call(endpoint(m), "/a")["status"])


class Ends(Wire):
    def test_a_caller_that_leaves(self):
        """Its work is finished and recorded; that nobody was there is counted."""
        m, p = self.serve(dep=OWN)
        p.hold()
        for n in range(5):
            with self.socket(endpoint(m), zmq.DEALER) as dealer:
                dealer.send(envelope(f"/gone/{n}", "POST", session=f"s{n}"))
                until(lambda: len(p.calls) > n, "the model is asked")
        self.assertEqual(200, self.call(endpoint(m), "/__mock__/health")["status"])
        p.release()
        self.assertEqual(5, len(cassette(m, n=5)))
        until(lambda: metric(m, "mirage_zmq_unreachable_total") == 5, "all are counted")
        self.assertEqual((0, 0), (metric(m, "mirage_callers_gone_total"), metric(m, "mirage_zmq_dropped_total")))

    def test_a_late_answer_to_an_address_that_is_gone(self):
        """The caller has its 504, the address is closed and freed; then the model answers."""
        m, p = self.serve(dep='listen: {http: "127.0.0.1:0", zmq: ["tcp://127.0.0.1:*", "tcp://localhost:*"]}\n'
                              "on_gone: finish", top="limits: {deadline: 300ms}")
        p.hold()
        second = endpoint(m, n=1)
        self.assertEqual(504, self.call(second, "/late", "POST")["status"])
        text = open(m.config_path).read()
        m.write("mirage.yaml", text.replace(', "tcp://localhost:*"', ""))
        m.hup()

        def free():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", int(second.rpartition(":")[2]))) != 0
        until(free, "the address is closed")
        p.release()
        self.assertEqual("/late", cassette(m, n=1)[0]["req"]["path"])
        self.assertEqual(200, self.call(endpoint(m), "/__mock__/health")["status"])

    def test_stop_answers_what_is_in_flight(self):
        m, p = self.serve(dep=OWN)
        p.hold()
        with self.socket(endpoint(m)) as req, self.socket(endpoint(m)) as other:
            req.send(envelope("/a"))
            until(lambda: len(p.calls) == 1, "the model is asked")
            os.kill(m.pid, signal.SIGTERM)
            # Whoever comes now is told, and does not wait in vain.
            def refused():
                other.send(envelope("/__mock__/health"))
                reply = json.loads(other.recv())
                return reply["body"]["status"] != "serving"
            until(refused, "the server is stopping")
            other.send(envelope("/b"))
            self.assertEqual(503, json.loads(other.recv())["status"])
            p.release()
            self.assertEqual(200, json.loads(req.recv())["status"])
        m.join()

    def test_taken(self):
        with self.socket(kind=zmq.REP) as other:
            port = other.bind_to_random_port("tcp://127.0.0.1")
            with self.assertRaises(AssertionError) as caught:
                self.serve(dep=f'listen: {{zmq: ["tcp://127.0.0.1:{port}"]}}')
            self.assertIn(f"listening on tcp://127.0.0.1:{port}: the address is in use", str(caught.exception))


if __name__ == "__main__":
    tap.main()
