# SPDX-License-Identifier: Apache-2.0
"""Five minutes (or MIRAGE_TEST_SOAK seconds) of callers that behave and callers that do not: memory and descriptors stay flat,
and nobody who behaves loses an answer."""

import os
import random
import socket
import threading

from wire import Case, cassette, until, value

from mirage import http
import tap

SECONDS = float(os.environ.get("MIRAGE_TEST_SOAK", "300"))
SLICES = 10


def rude(address, stop, seed):
    """Callers that vanish, send garbage, send half, or read nothing."""
    chance = random.Random(seed)
    request = b"POST /items HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n{\"n\": 1}"
    while not stop.is_set():
        with socket.create_connection(address) as connection:
            kind = chance.randrange(4)
            if kind == 0:
                connection.sendall(request[:chance.randrange(1, len(request))])
            elif kind == 1:
                connection.sendall(bytes(chance.randrange(256) for _ in range(chance.randrange(1, 400))))
            elif kind == 2:
                connection.sendall(request * chance.randrange(1, 20))
            else:
                connection.sendall(request)
                connection.recv(10)


def polite(test, url, stop, name, done):
    """A session of its own, begun anew again and again: each answer is the recorded one of its place."""
    fields = [("mirage-session", name), ("content-type", "application/json")]
    while not stop.is_set():
        http("POST", url + "/__mock__/reset", None, fields)
        for n in range(3):
            reply = http("POST", url + "/items", b'{"n": 1}', fields)
            test.assertEqual((200, {"n": n + 1}), (reply[0], value(reply)))
        done.append(3)


class Soak(Case):
    def test_soak(self):
        m, _ = self.serve()
        for n in range(3):
            self.assertEqual(200, http("POST", m.url() + "/items", b'{"n": 1}', [("content-type", "application/json")])[0])
        until(lambda: len(cassette(m)) == 3, "three are recorded")
        recorded = m.read("cassettes/inventory.jsonl")
        m, provider = self.serve(args=["--mode", "replay", "-q"], files={"cassettes/inventory.jsonl": recorded})
        stop, done, failures = threading.Event(), [], []

        def run(function, *args):
            try:
                function(*args)
            except Exception as error:  # told by the main thread
                failures.append(error)
                stop.set()

        threads = [threading.Thread(target=run, args=(rude, m.address(), stop, seed)) for seed in range(2)]
        threads += [threading.Thread(target=run, args=(polite, self, m.url(), stop, f"s{n}", done)) for n in range(3)]
        for thread in threads:
            thread.start()
        memory = []
        for _ in range(SLICES):
            stop.wait(SECONDS / SLICES)
            memory.append((m.rss_kb, len(os.listdir(f"/proc/{m.pid}/fd"))))
        stop.set()
        for thread in threads:
            thread.join()
        print(f"{sum(done)} answers to polite callers; (KiB, descriptors) over time: {memory}")
        self.assertEqual([], failures)
        self.assertEqual([], provider.calls, "replays ask nobody")
        # The first slices fill the journal and the allocator's pools.
        self.assertLess(memory[-1][0] - memory[SLICES // 2][0], 8192, memory)
        # A caller that leaves in the middle of a request is noticed within a second.
        self.assertLess(max(descriptors for _, descriptors in memory), 2000, memory)
        self.assertGreater(sum(done), 100)


if __name__ == "__main__":
    tap.main()
