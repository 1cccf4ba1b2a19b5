# SPDX-License-Identifier: Apache-2.0
"""Callers that leave while their request waits for the model."""

from wire import SLOW, Case, cassette, get, metric, post, request_bytes, shown, sockets, source, until, value

from mirage import Raw
import tap


class Gone(Case):
    def leave(self, m, p, path="/a", reset=False, calls=1, **request):
        """Asks, waits until the model is asked, leaves, and waits until the server has let go of the connection."""
        before = sockets(m)
        c = Raw(m.address())
        c.send(request_bytes(path, **request))
        p.wait_for_calls(calls, 10 * SLOW)
        held = sockets(m)
        c.reset() if reset else c.close()
        until(lambda: sockets(m) < held or sockets(m) <= before, "the caller's leaving is noticed")

    def test_finish_lets_the_retry_hit(self):
        for dep in ("", "on_gone: finish"):
            for reset in (False, True):
                with self.subTest(dep=dep, reset=reset):
                    m, p = self.serve(dep=dep)
                    p.hold()
                    self.leave(m, p, reset=reset)
                    self.assertEqual([], cassette(m))
                    p.release()
                    p.wait_for_replies(1)
                    until(lambda: cassette(m), "the answer is in the cassette")
                    reply = post(m.url() + "/a")
                    self.assertEqual((200, "cassette", {"n": 1}), (reply[0], source(reply), value(reply)))
                    self.assertEqual(1, len(p.calls))
                    self.assertEqual((1, 1), (metric(m, "mirage_callers_gone_total"), len(cassette(m))))

    def test_finished_without_its_caller_is_not_history(self):
        m, p = self.serve()
        p.hold()
        self.leave(m, p)
        p.release()
        until(lambda: cassette(m), "the answer is in the cassette")
        get(m.url() + "/b")
        self.assertEqual(1, len(p.calls[1].messages))
        self.assertEqual("cassette", source(post(m.url() + "/a")))
        get(m.url() + "/c")
        self.assertEqual(["/b", "/a", "/c"], [shown_path(text) for role,
                                              text in p.calls[2].messages if role == "user"])

    def test_drop_cancels(self):
        for dep, args in (("on_gone: drop", ()), ("", ("--mode", "off"))):
            with self.subTest(dep=dep):
                m, p = self.serve(dep=dep, args=args)
                p.hold()
                self.leave(m, p)
                p.wait_for_cancelled(1, 10 * SLOW)
                p.release()
                self.assertEqual([], cassette(m))
                reply = get(m.url() + "/b")
                self.assertEqual((200, "llm"), (reply[0], source(reply)))
                self.assertEqual(1, len(p.calls[-1].messages))
                self.assertEqual(0, metric(m, "mirage_requests_total", source="mirage"))

    def test_one_that_waits_for_its_turn(self):
        for dep, asked in (("on_gone: drop", ["/first", "/third"]),
                           ("on_gone: finish", ["/first", "/second", "/third"])):
            with self.subTest(dep):
                m, p = self.serve(dep=dep)
                p.hold()
                first, second, third = (Raw(m.address()) for _ in range(3))
                first.send(request_bytes("/first"))
                p.wait_for_calls(1, 10 * SLOW)
                second.send(request_bytes("/second")).wait_read()
                third.send(request_bytes("/third")).wait_read()
                held = sockets(m)
                second.close()
                until(lambda: sockets(m) < held, "the caller's leaving is noticed")
                p.release()
                self.assertEqual(200, first.response("POST").status)
                self.assertEqual(200, third.response("POST").status)
                self.assertEqual(asked, [shown(c)["path"] for c in p.calls])
                first.close()
                third.close()

    def test_deadline_is_like_leaving(self):
        m, p = self.serve(top="limits: {deadline: 500ms}")
        p.hold()
        self.assertError(post(m.url() + "/a"), 504, "limits.deadline")
        p.release()
        until(lambda: cassette(m), "the answer is in the cassette")
        self.assertEqual("cassette", source(post(m.url() + "/a")))
        self.assertEqual(1, len(p.calls))

    def test_many_leave(self):
        m, p = self.serve(dep="on_gone: drop", model="concurrency: 64")
        p.hold()
        before = sockets(m)
        all_ = [Raw(m.address()).send(request_bytes("/x", headers=[("mirage-session", f"s{i}")])) for i in range(40)]
        p.wait_for_calls(40, 20 * SLOW)
        for c in all_:
            c.reset()
        p.wait_for_cancelled(40, 20 * SLOW)
        p.release()
        until(lambda: sockets(m) <= before + 2, "all connections are closed")
        self.assertEqual(200, get(m.url() + "/x")[0])


def shown_path(text):
    from provider import request_in
    return request_in(text)["path"]


if __name__ == "__main__":
    tap.main()
