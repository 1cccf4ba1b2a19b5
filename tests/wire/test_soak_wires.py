# SPDX-License-Identifier: Apache-2.0
"""Ten minutes (or MIRAGE_SOAK_SECONDS) of callers over HTTP, gRPC and ZeroMQ that cancel, vanish, send garbage and read
slowly, beside well-behaved ones: those lose nothing, get nothing wrong and do not wait; memory and descriptors stay flat.

In each of some rounds all of them come and go. In between, when nobody is connected, the server must hold the descriptors
that it held before the first, and its memory is measured: what is in use for requests under way does not blur it.
"""

import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

import grpc
import zmq
from echo_wires import (AVAILABLE, FILES, LISTEN, PAGE_TEXT, Number, Question, Quiet, anonymous_kb, ask, body, descriptors,
                        envelope, members, open_channel, page)
from wire import SANITIZED, SLOW, Case, cassette, get, metrics, post, shown, until, value

import tap
from provider import Reply

SECONDS = float(os.environ.get("MIRAGE_SOAK_SECONDS", "600"))
ROUNDS = 6
PATIENCE = 60 * SLOW
MAY_GROW_KB = 131072 if SANITIZED else 8192
RUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rude_wires.py")
# `kept` replays what it has recorded; the others ask the model, and when a caller leaves finish its work or drop it.
CONFIG = f"""\
control: {{listen: 127.0.0.1:0}}
model: {{provider: openai, base_url: %(base)s, name: m, concurrency: 64}}
limits: {{body: 1MiB}}
dependencies:
  - name: kept
    {LISTEN}
    protos: {{files: [echo.proto]}}
    cassette: {{mode: %(mode)s}}
  - name: dropped
    {LISTEN}
    protos: {{files: [echo.proto]}}
    engines: [llm]
    on_gone: drop
  - name: finished
    {LISTEN}
    protos: {{files: [echo.proto]}}
    engines: [llm]
    on_gone: finish
"""
STEPS = 3
QUESTION = body("kept", 0, "any")


class Http:
    def __init__(self, entry, session):
        self.url, self.fields = entry["http"], [("mirage-session", session)]

    def reset(self):
        post(self.url + "/__mock__/reset", None, self.fields, timeout=PATIENCE)

    def ask(self, question):
        reply = post(self.url + "/ask", question, self.fields, timeout=PATIENCE)
        return value(reply) if reply[0] == 200 else reply

    def page(self):
        return value(get(self.url + "/pages/1", self.fields, timeout=PATIENCE))["text"]

    def close(self):
        pass


class Grpc:
    def __init__(self, entry, session):
        self.channel, self.more = open_channel(entry["grpc"]), {"metadata": [("mirage-session", session)], "timeout": PATIENCE}

    def reset(self):
        self.channel.unary_unary("/mirage.v1.Control/Reset")(b"", **self.more)

    def ask(self, question):
        return members(ask(self.channel)(Question(**question), **self.more))

    def page(self):
        return page(self.channel)(Number(number="1"), **self.more).text

    def close(self):
        self.channel.close()


class Zmq:
    def __init__(self, entry, session):
        self.session, self.count = session, 0
        self.dealer = zmq.Context.instance().socket(zmq.DEALER)
        self.dealer.linger, self.dealer.rcvtimeo = 0, PATIENCE * 1000
        self.dealer.connect(entry["zmq"][0])

    def _call(self, path, method="GET", **more):
        self.count += 1
        self.dealer.send(envelope(path, method, id=self.count, session=self.session, **more))
        reply = json.loads(self.dealer.recv())
        if (reply["id"], reply["status"]) != (self.count, 200):
            raise AssertionError(f"for {self.count}: {reply}")
        return reply["body"]

    def reset(self):
        self._call("/__mock__/reset", "POST")

    def ask(self, question):
        return self._call("/ask", "POST", body=question)

    def page(self):
        return self._call("/pages/1")["text"]

    def close(self):
        self.dealer.close()


WIRES = {"HTTP": Http, "gRPC": Grpc, "ZeroMQ": Zmq}


class Polite:
    """Well-behaved callers and what they saw."""

    def __init__(self, m):
        self.entries = {d["name"]: d for d in m.ready["dependencies"]}
        self.stop, self.failures = threading.Event(), []
        self.took = collections.defaultdict(list)       # seconds, by what was done
        self.threads = []

    def timed(self, what, function, *args):
        begun = time.monotonic()
        result = function(*args)
        self.took[what].append(time.monotonic() - begun)
        return result

    def check(self, expected, got):
        if expected != got:
            raise AssertionError(f"expected {str(expected)[:300]}, got {str(got)[:300]}")

    def replayed(self, session, names):
        """Each answer is the recorded one of its place, by whichever wire it is asked for."""
        callers = [WIRES[name](self.entries["kept"], session) for name in names]
        first = callers[0]
        while not self.stop.is_set():
            first.reset()
            for n in range(STEPS):
                i = n % len(callers)
                said = self.timed(f"{names[i]} replay", callers[i].ask, QUESTION)
                self.check(body("kept", n, "any"), said)
            self.check(PAGE_TEXT, self.timed(f"{names[0]} page", first.page))
            self.stop.wait(0.03)
        for caller in callers:
            caller.close()

    def asked(self, session, name, dependency):
        """Each answer is what was asked, which nobody else asks."""
        chance, caller = random.Random(session), WIRES[name](self.entries[dependency], session)
        while not self.stop.is_set():
            question = body(session, chance.randrange(1 << 31), name, chance.randbytes(20).hex())
            self.check(question, self.timed(f"{name} model", caller.ask, question))
            self.stop.wait(0.02)
        caller.close()

    def run(self, function, *args):
        def guarded():
            try:
                function(*args)
            except Exception as error:      # told by the main thread
                self.failures.append(f"{function.__name__}{args}: {error!r}")
                self.stop.set()
        self.threads.append(threading.Thread(target=guarded))
        self.threads[-1].start()

    def start(self):
        self.stop.clear()
        for name in WIRES:
            self.run(self.replayed, f"polite-{name}", [name])
            self.run(self.asked, f"asks-{name}", name, "finished" if name == "gRPC" else "dropped")
        self.run(self.replayed, "polite-all", list(WIRES))

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        self.threads = []


class Soak(Case):
    def setUp(self):
        super().setUp()
        if not AVAILABLE:
            self.skipTest("protoc is not installed")
        self.random = random.Random(5)
        self.done, self.memory, self.most, self.busy = collections.Counter(), [], 0, []

    def answer(self, call):
        request = shown(call)
        if request["path"] == "/pages/1":
            return Reply.json({"status": 200, "body": {"text": PAGE_TEXT}})
        said = request["body"]
        if said["session"] == "kept":       # the reply of its place
            said = body("kept", sum(role == "assistant" for role, _ in call.messages), "any")
        return Reply.json({"status": 200, "body": said}).after(self.random.uniform(0.01, 0.06))

    def start(self):
        p = self.provider(self.answer, keep=100)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        config = {"base": p.base_url, "mode": "auto"}
        first = self.mirage(CONFIG % config, files=FILES, folder=folder)
        kept = Http(first.dependency("kept"), "kept")
        self.assertEqual([body("kept", n, "any") for n in range(STEPS)], [kept.ask(QUESTION) for _ in range(STEPS)])
        self.assertEqual(PAGE_TEXT, kept.page())
        kept.reset()
        self.assertEqual(PAGE_TEXT, kept.page())
        cassette(first, "kept", STEPS + 2)
        first.stop()
        # A sanitizer keeps what was freed for a while, which is not to be taken for growth.
        env = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "detect_leaks=1") + ":quarantine_size_mb=16"}
        return self.mirage(CONFIG % dict(config, mode="replay"), ["-q"], env, folder=folder), p

    def round(self, m, number, seconds):
        """All kinds of callers for a while; returns when they have left."""
        polite = self.polite
        rude = subprocess.Popen([sys.executable, RUDE, json.dumps(polite.entries), str(1000 * number)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        try:
            polite.start()
            end = time.monotonic() + seconds
            while time.monotonic() < end and not polite.stop.wait(1) and rude.poll() is None:
                self.busy.append(anonymous_kb(m.pid))
                self.most = max(self.most, len(descriptors(m.pid)))
            polite.end()
            said = json.loads(rude.communicate(timeout=PATIENCE)[0])
        finally:
            polite.end()
            rude.kill()
            rude.wait()
        self.done.update(said["done"])
        self.assertEqual([], said["wrong"], "\n".join(said["wrong"]))
        self.assertEqual([], polite.failures)

    def test_soak(self):
        m, p = self.start()
        self.polite = Polite(m)
        quiet = Quiet(m, p, m.address("dropped"))
        self.memory.append(anonymous_kb(m.pid))
        for number in range(ROUNDS):
            self.round(m, number, SECONDS / ROUNDS)
            quiet.wait()
            self.memory.append(anonymous_kb(m.pid))
        self.tell(m, quiet)
        self.check(m)
        self.assertEqual(0, m.stop())

    def tell(self, m, quiet):
        busy = [max(self.busy[i * len(self.busy) // ROUNDS:(i + 1) * len(self.busy) // ROUNDS]) for i in range(ROUNDS)]
        for kind, count in sorted(self.done.items()):
            print(f"# {count:7} {kind}")
        for what, took in sorted(self.polite.took.items()):
            took.sort()
            print(f"# {len(took):7} polite {what}: median {took[len(took) // 2] * 1000:.1f} ms, "
                  f"99 % {took[len(took) * 99 // 100] * 1000:.1f} ms, longest {took[-1] * 1000:.0f} ms")
        print(f"# memory when nobody is connected, KiB: {self.memory[0]} before, {self.memory[1]} after the first round, "
              f"{self.memory[(ROUNDS + 1) // 2]} in the middle, {self.memory[-1]} at the end; all: {self.memory}")
        print(f"# the most in each round: {busy} KiB; {quiet.count} descriptors at rest, {self.most} at most", flush=True)

    def check(self, m):
        series = metrics(m)
        self.assertGreater(sum(v for k, v in series.items() if k.startswith("mirage_callers_gone_total")), 0)
        for what, took in self.polite.took.items():
            self.assertGreater(len(took), SECONDS / SLOW, what)
            self.assertLess(took[len(took) * 99 // 100], 0.5 * SLOW, what)
            self.assertLess(took[-1], 5 * SLOW, what)
        # The first round fills the journal, the histories and the allocator's pools.
        self.assertLess(self.memory[-1] - self.memory[1], MAY_GROW_KB, self.memory)
        self.assertLess(self.most, 1000)


if __name__ == "__main__":
    tap.main()
