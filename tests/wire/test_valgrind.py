# SPDX-License-Identifier: Apache-2.0
"""A bit of everything in one run, to be made under valgrind: MIRAGE_WRAP says how. Ends well without it too."""

from wire import Case, Table, get, http, post, request_bytes, source, until, value, cassette

from mirage import Raw
from provider import Reply
import tap


class Tour(Case):
    def test_tour(self):
        m, p = self.serve(Table({"/bad": "no JSON", "/unsure": {"unsure": "why"}}), names=("a", "b"),
                          model="retries: 1", dep="redact: [header.authorization]",
                          top="limits: {body: 1000B, drain: 500ms}")
        for session in ("one", "two"):
            fields = [("mirage-session", session), ("Authorization", "Bearer x")]
            self.assertEqual(200, post(m.url("a") + "/__mock__/scenario", {"instruction": "Be kind."}, fields)[0])
            self.assertEqual([200] * 3, [post(m.url("a") + f"/{i}?x=1&x=2", {"i": [i, "s"]},
                                              fields)[0] for i in range(3)])
        post(m.url("a") + "/__mock__/scenario", {"instruction": "Be kind."}, fields)
        self.assertEqual("cassette", source(post(m.url("a") + "/0?x=1&x=2", {"i": [0, "s"]}, fields)))
        self.assertEqual([500, 500], [get(m.url("b") + path)[0] for path in ("/bad", "/unsure")])
        p.queue(Reply.cut("body"), Reply('{"status": 200, "bo', finish="length"))
        self.assertEqual(200, get(m.url("b") + "/retried")[0])
        self.assertEqual(413, post(m.url("b") + "/big", b"x" * 1001)[0])
        made = value(post(m.url("a") + "/__mock__/sessions", {"listen": True}))
        self.assertEqual(200, get(made["dependencies"][0]["http"] + "/own")[0])
        for path in ("/__mock__/log", "/__mock__/sessions", "/__mock__/health", "/metrics"):
            self.assertEqual(200, get(m.control + path)[0])
        self.assertEqual(200, http("DELETE", m.control + "/__mock__/sessions/one")[0])
        after = len(m.stderr_text())
        m.hup()
        m.wait_stderr("Control verbs", after=after)
        p.hold()
        left, late = Raw(m.address("a")), Raw(m.address("b"), timeout=60)
        left.send(request_bytes("/left"))
        late.send(request_bytes("/late"))
        p.wait_for_calls(2, 60)
        recorded = len(cassette(m, "a"))
        left.close()
        p.release(1)
        until(lambda: p.in_flight <= 1, "one has its answer", 60)
        self.assertEqual(0, m.stop())
        late.close()
        self.assertGreaterEqual(len(cassette(m, "a")), recorded)


if __name__ == "__main__":
    tap.main()
