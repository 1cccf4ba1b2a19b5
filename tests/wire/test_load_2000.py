# SPDX-License-Identifier: Apache-2.0
"""2,000 requests in flight at once on a provider that takes 10 s: all answered; what one that waits costs."""

import os
import resource
import selectors
import socket
import time

from wire import SANITIZED, SLOW, Case, Table, get, request_bytes, until

import tap

COUNT = 2000
SECONDS = 10
BOUND_KB = 50
SOURCE = "def reserve(item, n):\n    # %05d\n    return stock[item] - n\n"


class Load(Case):
    def test_2000_in_flight(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        if hard < 3 * COUNT:
            self.skipTest(f"only {hard} descriptors are allowed")
        # A prompt of some size, which all requests share.
        files = {"src/big.py": "".join(SOURCE % i for i in range(1500))}
        m, p = self.serve(Table(), model=f"concurrency: {COUNT}, timeout: 5m", dep="evidence: {source: [src]}",
                          top="limits: {deadline: 10m}", files=files, args=("--mode", "off"), keys={"keep": 10},
                          timeout=60)
        self.assertEqual(200, get(m.url() + "/warm")[0])
        p.delay = SECONDS
        before = m.rss_kb
        begun = time.monotonic()
        clients = []
        for i in range(COUNT):
            c = socket.create_connection(m.address(), timeout=120 * SLOW)
            c.sendall(request_bytes(f"/__s/s{i}/{i}", body=b"x" * 100, headers=[("Connection", "close")]))
            clients.append(c)
        until(lambda: p.in_flight == COUNT or p.count > COUNT and time.monotonic() - begun > SECONDS,
              "all are asked", 60)
        flying, peak = p.max_in_flight, m.rss_kb
        replies = self.collect(clients)
        took = time.monotonic() - begun
        each = (peak - before) / COUNT
        print(f"# {flying} in flight; {before} KiB before, {peak} KiB at the peak: {each:.1f} KiB for one that waits; "
              f"{took:.1f} s in all", flush=True)
        self.assertEqual(COUNT, len(replies))
        for i, text in replies.items():
            self.assertTrue(text.startswith(b"HTTP/1.1 200 "), text[:200])
            self.assertIn(b'{"n":', text)
            self.assertIn(f"mirage-session: s{i}\r\n".encode(), text)
        self.assertEqual(COUNT, len({text.rpartition(b"\r\n")[2] for text in replies.values()}))   # nobody got another's
        self.assertEqual(COUNT, flying)
        self.assertGreaterEqual(took, SECONDS)
        if not SANITIZED and not os.environ.get("MIRAGE_WRAP"):
            self.assertLess(each, BOUND_KB)

    def collect(self, clients):
        replies, selector = {}, selectors.DefaultSelector()
        texts = [b""] * len(clients)
        for i, c in enumerate(clients):
            c.setblocking(False)
            selector.register(c, selectors.EVENT_READ, i)
        deadline = time.monotonic() + 120 * SLOW
        while len(replies) < len(clients) and time.monotonic() < deadline:
            for key, _ in selector.select(1):
                data = key.fileobj.recv(65536)
                texts[key.data] += data
                if not data:
                    replies[key.data] = texts[key.data]
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
        return replies


if __name__ == "__main__":
    tap.main()
