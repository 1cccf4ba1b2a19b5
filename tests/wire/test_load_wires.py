# SPDX-License-Identifier: Apache-2.0
"""200 concurrent requests in 50 sessions over HTTP, gRPC and ZeroMQ, with a slow provider: none lost, none crossed, the
order kept in each session whatever wire a request came by; and nothing is left behind, the second time as the first."""

import json
import random

import zmq
from echo_wires import AVAILABLE, DEP, FILES, Question, Quiet, ask, body, envelope, members, open_channel
from wire import SANITIZED, SLOW, Case, cassette, get, metric, post, request_bytes, shown, until, value

import tap
from mirage import Raw
from provider import Reply, request_in

SESSIONS, EACH, CHANNELS, DEALERS = 50, 4, 8, 5
PATIENCE = 60 * SLOW
# The wires of a session's four. What is asked over ZeroMQ has arrived when a verb that was sent after it on the same
# socket is answered, and the first has when the provider is asked: so the order of arrival is certain.
ROUTES = (("http", "zmq", "zmq", "grpc"), ("grpc", "zmq", "zmq", "http"))


class Callers:
    """All connections of one round. A request is (number of its session, session, at, wire)."""

    def __init__(self, m, context):
        entry = m.dependency()
        self.address = m.address()
        self.channels = [open_channel(entry["grpc"]) for _ in range(CHANNELS)]
        self.dealers = [context.socket(zmq.DEALER) for _ in range(DEALERS)]
        for dealer in self.dealers:
            dealer.linger, dealer.rcvtimeo = 0, PATIENCE * 1000
            dealer.connect(entry["zmq"][0])
        self.http, self.grpc = {}, {}       # what has been asked, by (session, at): the connection; the future
        self.owed = [set() for _ in range(DEALERS)]
        self.said = {}                      # by (session, at)

    def send(self, number, session, at, wire):
        question, key = body(session, at, wire), (session, at)
        if wire == "http":
            fields = [("mirage-session", session), ("Content-Type", "application/json")]
            self.http[key] = Raw(self.address, timeout=PATIENCE)
            self.http[key].send(request_bytes("/ask", body=json.dumps(question).encode(), headers=fields))
        elif wire == "grpc":
            method = ask(self.channels[number % CHANNELS])
            self.grpc[key] = method.future(Question(**question), timeout=PATIENCE, metadata=[("mirage-session", session)])
        else:
            self.owed[number % DEALERS].add(key)
            self.dealers[number % DEALERS].send(envelope("/ask", "POST", id=key, session=session, body=question))

    def _take(self, n):
        """One message of a dealer; True when it is the answer to its verb."""
        reply = json.loads(self.dealers[n].recv())
        if reply["id"] == "settled":
            return True
        self.owed[n].remove(tuple(reply["id"]))     # fails for what it has not asked, and for a second answer
        self.said[tuple(reply["id"])] = reply["body"] if reply["status"] == 200 else reply
        return False

    def settle(self):
        """Until the server has taken in all that was sent over ZeroMQ."""
        for dealer in self.dealers:
            dealer.send(envelope("/__mock__/health", id="settled"))
        for n in range(DEALERS):
            while not self._take(n):
                pass

    def replies(self):
        """Waits for all that was asked; {(session, at): what was said} since the beginning."""
        for n in range(DEALERS):
            while self.owed[n]:
                self._take(n)
            if self.dealers[n].poll(0):
                raise AssertionError(f"one message too many: {self.dealers[n].recv()}")
        for key, future in self.grpc.items():
            self.said[key] = members(future.result())
        for key, connection in self.http.items():
            reply = connection.response("POST")
            self.said[key] = reply.json() if reply and reply.status == 200 else reply
            connection.close()
        self.grpc, self.http = {}, {}
        return self.said

    def close(self):
        for connection in self.http.values():
            connection.close()
        for channel in self.channels:
            channel.close()
        for dealer in self.dealers:
            dealer.close()


class Load(Case):
    def setUp(self):
        super().setUp()
        if not AVAILABLE:
            self.skipTest("protoc is not installed")
        self.random = random.Random(4)
        self.context = zmq.Context()
        self.addCleanup(self.context.destroy, linger=0)

    def answer(self, call):
        """What was asked, after a while that differs, so that whatever can overtake does."""
        return Reply.json({"status": 200, "body": shown(call)["body"]}).after(self.random.uniform(0.005, 0.08))

    # What is asked ---------------------------------------------------------------------------------------

    def waves(self, prefix):
        """A request of each session, then the next of each, and so on; each time in another order."""
        for at in range(EACH):
            wave = [(n, f"{prefix}-{n}", at, ROUTES[n % 2][at]) for n in range(SESSIONS)]
            self.random.shuffle(wave)
            yield wave

    def expected(self, prefix):
        return {(s, at): body(s, at, wire) for wave in self.waves(prefix) for _, s, at, wire in wave}

    def ask_all(self, m, p, prefix):
        """All 200 are under way before the first is answered."""
        callers = Callers(m, self.context)
        p.hold()
        try:
            for n, wave in enumerate(self.waves(prefix)):
                for one in wave:
                    callers.send(*one)
                if n == 0:
                    p.wait_for_calls(SESSIONS, PATIENCE)
                callers.settle()
            # One of each session is with the provider, and none but the first.
            self.assertEqual((SESSIONS, SESSIONS), (len(p.calls), p.in_flight))
            p.release()
            self.assertEqual(self.expected(prefix), callers.replies())
        finally:
            p.release()
            callers.close()

    def replay_all(self, m, prefix):
        """The same in each session, begun anew, wave by wave: 50 at a time."""
        callers = Callers(m, self.context)
        try:
            for n in range(SESSIONS):
                post(m.url() + "/__mock__/reset", None, [("mirage-session", f"{prefix}-{n}")])
            for wave in self.waves(prefix):
                for one in wave:
                    callers.send(*one)
                callers.replies()
            self.assertEqual(self.expected(prefix), callers.said)
        finally:
            callers.close()

    # What is checked -------------------------------------------------------------------------------------

    def check_calls(self, p):
        """One at a time in each session, in order, with the whole history of this session and of no other."""
        self.assertEqual((SESSIONS * EACH, SESSIONS), (len(p.calls), p.max_in_flight))
        last = {}
        for call in p.calls:
            history = [request_in(text)["body"] for role, text in call.messages if role == "user"]
            told = [json.loads(text)["body"] for role, text in call.messages if role == "assistant"]
            session = history[-1]["session"]
            before = last.get(session)
            route = ROUTES[int(session.split("-")[1]) % 2]
            self.assertEqual([body(session, at, route[at]) for at in range(len(history))], history)
            self.assertEqual(history[:-1], told)
            self.assertEqual(len(before.messages) + 2 if before else 1, len(call.messages))
            if before:
                self.assertLessEqual(before.ended, call.time, f"two of {session} at once")
            last[session] = call

    def check_journal(self, m, prefix, source):
        """The order in which the server says that it answered, of all sessions together and of each alone."""
        url = f"{m.url()}/__mock__/log"
        entries = value(get(f"{url}?limit={SESSIONS * EACH}"))["entries"]
        together = {}
        for e in entries:
            asked = e["request"]["body"]
            self.assertEqual((source, asked["session"], asked), (e["source"], e["session"], e["reply"]["body"]))
            together.setdefault(e["session"], []).append(asked["at"])
        alone = {s: [e["request"]["body"]["at"] for e in value(get(f"{url}?session={s}&limit={EACH}"))["entries"]]
                 for s in together}
        want = {s: list(range(EACH)) for s, _ in self.expected(prefix)}
        self.assertEqual((want, want), (together, alone))

    def warm(self, m, p):
        """Each wire has served somebody, who has left."""
        callers = Callers(m, self.context)
        for at, wire in enumerate(("http", "grpc", "zmq")):
            callers.send(0, f"warm-{wire}", at, wire)
        callers.replies()
        callers.close()
        return Quiet(m, p, m.address())

    def test_200_in_50_over_three_wires(self):
        m, p = self.serve(self.answer, dep=DEP, files=FILES, model=f"concurrency: {SESSIONS + 14}")
        quiet = self.warm(m, p)
        memory = []
        for prefix in ("first", "second"):
            p.clear()
            p.max_in_flight = 0
            self.ask_all(m, p, prefix)
            self.check_calls(p)
            self.check_journal(m, prefix, "llm")
            quiet.wait()
            memory.append(m.rss_kb)
        print(f"# {quiet.count} descriptors at rest; {memory} KiB after each round", flush=True)
        # Sessions and cassette have grown by some hundred KiB; a sanitizer keeps what was freed.
        self.assertLess(memory[1] - memory[0], 65536 if SANITIZED else 4096)
        until(lambda: len(cassette(m)) == 2 * SESSIONS * EACH + quiet.asked + 3, "all is recorded")
        p.clear()
        self.replay_all(m, "first")
        self.assertEqual([], p.calls)
        self.check_journal(m, "first", "cassette")
        quiet.wait()
        self.assertEqual(SESSIONS * EACH, metric(m, "mirage_requests_total", source="cassette"))
        self.assertEqual(0, metric(m, "mirage_callers_gone_total"))
        self.assertEqual(0, m.stop())


if __name__ == "__main__":
    tap.main()
