# SPDX-License-Identifier: Apache-2.0
"""How the server ends, and that it leaves nothing behind while it lives."""

import os
import signal
import time

from wire import SLOW, Case, cassette, get, http, post, request_bytes, until, yaml

from mirage import Raw
import tap


class Stop(Case):
    def begin(self, n=1, **options):
        m, p = self.serve(**options)
        p.hold()
        clients = [Raw(m.address(), timeout=20 * SLOW).send(request_bytes("/x",
                headers=[("mirage-session", f"s{i}")]))
                   for i in range(n)]
        p.wait_for_calls(n, 10 * SLOW)
        return m, p, clients

    def test_idle(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            m, _ = self.serve()
            idle = Raw(m.address())
            get(m.url() + "/x")
            begun = time.monotonic()
            self.assertEqual(0, m.stop(number))
            self.assertLess(time.monotonic() - begun, 4 * SLOW)
            idle.close()

    def test_drains(self):
        m, p, clients = self.begin(3)
        m.process.send_signal(signal.SIGTERM)
        m.wait_stderr("Stopping")
        until(lambda: refused(m), "no new connections")
        p.release()
        self.assertEqual([200] * 3, [c.response("POST").status for c in clients])
        self.assertEqual(0, m.join())
        self.assertEqual(3, len(cassette(m)))
        self.assertIn("3 requests; 0 from the cassette, 3 from the model", m.stderr_text())

    def test_cancels_the_rest(self):
        m, p, clients = self.begin(3, top="limits: {drain: 300ms}")
        late = Raw(m.address(), timeout=20 * SLOW).send(request_bytes("/late", headers=[("mirage-session", "s0")]))
        late.wait_read()
        begun = time.monotonic()
        m.process.send_signal(signal.SIGTERM)
        for c in [*clients, late]:
            reply = c.response("POST")
            self.assertEqual(503, reply.status)
            self.assertRegex(reply.header("mirage-error"), "cancelled|stopping")
        self.assertEqual(0, m.join())
        self.assertTrue(0.3 <= time.monotonic() - begun < 5 * SLOW)
        p.wait_for_cancelled(3)
        self.assertEqual(3, len(p.calls))
        self.assertEqual([], cassette(m))
        self.assertIn("Cancelling 4 requests", m.stderr_text())

    def test_no_drain(self):
        m, p, clients = self.begin(1, top="limits: {drain: 0s}")
        m.process.send_signal(signal.SIGTERM)
        self.assertEqual(503, clients[0].response("POST").status)
        self.assertEqual(0, m.join())

    def test_second_signal(self):
        m, p, clients = self.begin(1, top="limits: {drain: 1h}", status=1)
        m.process.send_signal(signal.SIGTERM)
        m.wait_stderr("Stopping")
        begun = time.monotonic()
        until(lambda: refused(m), "no new connections")
        m.process.send_signal(signal.SIGTERM)
        self.assertEqual(1, m.join())
        self.assertLess(time.monotonic() - begun, 3 * SLOW)

    def test_slow_reader_does_not_hold_it_up(self):
        m, p = self.serve({"/big": {"status": 200, "body_text": "y" * 6_000_000}}, top="limits: {drain: 500ms}")
        c = Raw(m.address()).send(request_bytes("/big"))
        p.wait_for_replies(1, 20 * SLOW)
        begun = time.monotonic()
        self.assertEqual(0, m.stop(timeout=30 * SLOW))
        self.assertLess(time.monotonic() - begun, 10 * SLOW)
        c.close()

    def test_half_a_request(self):
        m, p = self.serve(top="limits: {drain: 500ms}")
        c = Raw(m.address()).send(request_bytes("/x", body=b"abc")[:-2])
        c.wait_read()
        begun = time.monotonic()
        self.assertEqual(0, m.stop())
        self.assertLess(time.monotonic() - begun, 5 * SLOW)
        c.close()


def refused(m):
    try:
        Raw(m.address()).close()
    except OSError:
        return True
    return False


def held(m):
    """(descriptors, threads)"""
    return len(os.listdir(f"/proc/{m.pid}/fd")), len(os.listdir(f"/proc/{m.pid}/task"))


class Leaks(Case):
    def round(self, m, p, names, i):
        after = len(m.stderr_text())
        m.write("mirage.yaml", yaml(p, names=names, dep="cassette: {mode: %s}" % ("auto", "'off'", "replay")[i % 3]))
        m.hup()
        m.wait_stderr("Control verbs", after=after)
        for k in range(10):
            self.assertIn(post(m.url() + f"/{k}", {"i": i}, [("mirage-session", f"s{k}")])[0], (200, 500))

    def test_reloads(self):
        m, p = self.serve(names=("a", "b"))
        self.round(m, p, ("a", "b"), 0)
        before = held(m)
        for i in range(20):
            self.round(m, p, ("a", "c") if i % 2 == 0 else ("a", "b"), i)
        until(lambda: held(m)[1] <= before[1], f"no thread is left behind: {before} {held(m)}")
        until(lambda: held(m)[0] <= before[0] + 1, f"no descriptor is left behind: {before} {held(m)}")

    def test_own_addresses(self):
        m, p = self.serve()
        get(m.url() + "/x")
        before = held(m)
        for i in range(30):
            self.assertEqual(201, post(m.url() + "/__mock__/sessions", {"name": f"n{i}", "listen": True})[0])
            self.assertEqual(200, http("DELETE", m.url() + f"/__mock__/sessions/n{i}")[0])
        until(lambda: held(m)[0] <= before[0] + 1 and held(m)[1] <= before[1], "nothing is left behind")


if __name__ == "__main__":
    tap.main()
