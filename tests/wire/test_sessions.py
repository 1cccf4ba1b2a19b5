# SPDX-License-Identifier: Apache-2.0
"""Sessions: how they are named, what they keep apart, the order in them, scenarios, and the window of the prompt."""

import os
import threading

from wire import SLOW, Case, cassette, get, header, http, post, request_bytes, shown, source, value

from mirage import Raw
from provider import request_in
import tap


def paths(call):
    """The requests that the model was shown, the one to answer last."""
    return [request_in(text)["path"] for role, text in call.messages if role == "user"]


class Names(Case):
    def test_ways_to_name_one(self):
        m, p = self.serve(args=("--mode", "off"))
        for url, fields, name in [
                ("/a", [("mirage-session", "one")], "one"), ("/a", [("Mirage-Session", " one ")], "one"),
                ("/a", [("baggage", "k=v,mirage-session=two")], "two"),
                ("/a", [("baggage", "k=v"), ("baggage", " mirage-session = tw%6F ;p=1, z=1")], "two"),
                ("/__s/three/a", [], "three"), ("/__s/a%3Ab/a", [], "a:b"), ("/a", [], "default"),
                ("/a", [("baggage", "other=1")], "default"),
                ("/__s/three/a", [("mirage-session", "one"), ("baggage", "mirage-session=two")], "three"),
                ("/a", [("mirage-session", "one"), ("baggage", "mirage-session=two")], "one")]:
            with self.subTest(url=url, fields=fields):
                status, headers, _ = get(m.url() + url, fields)
                # Who has named it in the header is told nothing new.
                told = None if name in [v.strip() for k, v in fields if k.lower() == "mirage-session"] else name
                self.assertEqual((200, told), (status, header(headers, "mirage-session")))
                # The model sees neither the prefix nor the header: the real service would not.
                self.assertEqual({"method": "GET", "path": "/a"}, shown(p.calls[-1]))
        self.assertEqual([0, 1, 0, 1, 0, 0, 0, 1, 1, 2], [len(paths(c)) - 1 for c in p.calls])

    def test_prefix_alone(self):
        m, p = self.serve()
        for url, path in (("/__s/x", "/"), ("/__s/x/", "/"), ("/__s/x/?q=1", "/"), ("/__s/x//y", "//y")):
            self.assertEqual(200, get(m.url() + url)[0])
            self.assertEqual(path, shown(p.calls[-1])["path"])

    def test_bad_names(self):
        m, p = self.serve()
        for url, fields in [("/a", [("mirage-session", "a b")]), ("/a", [("mirage-session", "x" * 129)]),
                            ("/__s//a", []), ("/__s/a%2Fb/a", []), ("/a", [("baggage", "mirage-session=%22")]),
                            ("/__s/%00/a", [])]:
            with self.subTest(url=url, fields=fields):
                self.assertError(get(m.url() + url, fields), 400, "session's name")
        self.assertEqual([], p.calls)

    def test_own_address(self):
        m, p = self.serve(names=("inventory", "payment"))
        status, _, body = http("POST", m.control + "/__mock__/sessions", {"listen": True})
        self.assertEqual(201, status)
        made = value((0, 0, body))
        urls = {d["name"]: d["http"] for d in made["dependencies"]}
        self.assertEqual({"inventory", "payment"}, set(urls))
        for name in urls:
            reply = get(urls[name] + "/a", [("mirage-session", "other")])
            self.assertEqual((200, made["session"]), (reply[0], header(reply[1], "mirage-session")))
        self.assertEqual(200, post(urls["inventory"] + "/__mock__/reset")[0])
        named = value(http("POST", m.url() + "/__mock__/sessions", {"name": "mine", "listen": True}))
        self.assertEqual("mine", named["session"])
        self.assertEqual("mine", header(get(named["dependencies"][0]["http"] + "/a")[1], "mirage-session"))
        again = http("POST", m.url() + "/__mock__/sessions", {"name": "mine", "listen": True})
        self.assertError(again, 409, "session mine has addresses already; delete it first")
        self.assertEqual(200, http("DELETE", m.control + "/__mock__/sessions/mine")[0])
        with self.assertRaises(OSError):
            get(named["dependencies"][0]["http"] + "/a", timeout=2)
        self.assertEqual(200, get(urls["payment"] + "/b")[0])

    def test_shared_address(self):
        m, p = self.serve(top="listen: {http: 127.0.0.1:0}", dep="prefix: /inv", names=("inventory",))
        root = m.url().removesuffix("/inv")
        for path, seen in (("/inv/a%2Fb", "/a%2Fb"), ("/inv", "/"), ("/inv/", "/"), ("/__s/x/inv/a", "/a")):
            self.assertEqual(200, get(root + path)[0])
            self.assertEqual(seen, shown(p.calls[-1])["path"])
        self.assertError(get(root + "/invoices"), 404, "no dependency has this path; the prefixes are /inv")


class Worlds(Case):
    def test_apart(self):
        m, p = self.serve(names=("inventory", "payment"), args=("--mode", "off"))
        for name, session in [("inventory", "a"), ("inventory", "b"), ("payment", "a"), ("inventory", "a")]:
            get(m.url(name) + f"/{name}/{session}", [("mirage-session", session)])
        self.assertEqual([["/inventory/a"], ["/inventory/b"], ["/payment/a"], ["/inventory/a", "/inventory/a"]],
                         [paths(c) for c in p.calls])

    def test_same_recording_in_every_session(self):
        m, p = self.serve()
        for session in ("a", "b", "c"):
            replies = [post(m.url() + f"/{i}", {}, [("mirage-session", session)]) for i in range(3)]
            self.assertEqual([1, 2, 3], [value(r)["n"] for r in replies])
        self.assertEqual((3, 3), (len(p.calls), len(cassette(m, n=3))))

    def test_order_in_a_state(self):
        m, p = self.serve(args=("--mode", "off"))
        p.hold()
        clients = []
        for i in range(8):
            clients.append(Raw(m.address(), timeout=20 * SLOW).send(request_bytes(f"/{i}")))
            p.wait_for_calls(1, 10 * SLOW) if i == 0 else clients[-1].wait_read(5)
        for i, client in enumerate(clients):
            self.assertEqual([f"/{k}" for k in range(i + 1)], paths(p.wait_for_calls(i + 1, 10 * SLOW)[i]))
            self.assertEqual(i + 1, len(p.calls))    # one at a time
            p.release(1)
            self.assertEqual({"n": i + 1}, client.response("POST").json())
            client.close()

    def test_side_by_side(self):
        m, p = self.serve(names=("inventory", "payment"))
        p.hold()
        got = []
        ask = [(name, s) for name in m.names for s in ("a", "b", "c")]
        threads = [threading.Thread(target=lambda n=n,
                                    s=s: got.append(get(m.url(n) + "/x", [("mirage-session", s)])[0]))
                   for n, s in ask]
        for t in threads:
            t.start()
        p.wait_for_calls(6, 10 * SLOW)
        p.release()
        for t in threads:
            t.join()
        self.assertEqual([200] * 6, got)

    def test_control_waits_for_nobody(self):
        m, p = self.serve()
        p.hold()
        c = Raw(m.address()).send(request_bytes("/slow"))
        p.wait_for_calls(1, 10 * SLOW)
        for path in ("/__mock__/health", "/__mock__/log", "/__mock__/sessions", "/__mock__/state"):
            self.assertEqual(200, get(m.url() + path)[0])
        p.release()
        self.assertEqual(200, c.response("POST").status)
        c.close()

    def test_reset(self):
        m, p = self.serve(names=("inventory", "payment"), args=("--mode", "off"))
        a, b = [("mirage-session", "a")], [("mirage-session", "b")]
        for name in m.names:
            for s in (a, b):
                post(m.url(name) + "/1", None, s)
        self.assertEqual("reset", value(post(m.url("inventory") + "/__mock__/reset", None, a))["status"])
        p.clear()
        for name in m.names:
            for s in (a, b):
                post(m.url(name) + "/2", None, s)
        self.assertEqual([1, 2, 2, 2], [len(paths(c)) for c in p.calls])
        post(m.control + "/__mock__/reset", None, b)                     # all dependencies of session b
        post(m.control + "/__mock__/reset?dependency=payment", None, a)  # one of session a
        p.clear()
        for name in m.names:
            for s in (a, b):
                post(m.url(name) + "/3", None, s)
        self.assertEqual([2, 1, 1, 1], [len(paths(c)) for c in p.calls])

    def test_reset_while_a_request_runs(self):
        m, p = self.serve(args=("--mode", "off"))
        post(m.url() + "/1")
        p.hold()
        c = Raw(m.address()).send(request_bytes("/2"))
        p.wait_for_calls(2, 10 * SLOW)
        self.assertEqual(200, post(m.url() + "/__mock__/reset")[0])
        p.release()
        self.assertEqual(200, c.response("POST").status)
        c.close()
        post(m.url() + "/3")
        self.assertEqual(["/3"], paths(p.calls[-1]))     # the old world's exchange is not in the new one

    def test_replay_begins_anew_at_reset(self):
        m, p = self.serve()
        for _ in range(3):
            self.assertEqual([1, 2], [value(post(m.url() + "/same"))["n"] for _ in range(2)])
            post(m.url() + "/__mock__/reset")
        self.assertEqual(2, len(p.calls))


class Scenarios(Case):
    CALLS = {"name": "stock out", "calls": [{"method": "GET", "path": "/items/1"}, {"method": "POST", "path": "/r"}]}
    WORDS = {"instruction": "The item item-001 is out of stock."}

    def test_both_forms_reach_only_the_last_message(self):
        for wire in ("openai", "anthropic"):
            with self.subTest(wire):
                m, p = self.serve(wire=wire, args=("--mode", "off"))
                bodies = {}
                for key, scenario in (("none", None), ("calls", self.CALLS), ("words", self.WORDS)):
                    p.clear()
                    if scenario:
                        self.assertEqual("announced", value(post(m.url() + "/__mock__/scenario", scenario))["status"])
                    else:
                        post(m.url() + "/__mock__/reset")
                    for i in range(3):
                        post(m.url() + f"/{i}", {"i": i})
                    bodies[key] = p.calls
                for i in range(3):
                    plain = bodies["none"][i]
                    for key, words in (("calls", ["stock out", "/items/1", "/r"]),
                                       ("words", [self.WORDS["instruction"]])):
                        call = bodies[key][i]
                        self.assertEqual(plain.system, call.system)
                        self.assertEqual([f"/{k}" for k in range(i + 1)], paths(call))
                        self.assertEqual([t for r, t in plain.messages[:-1] if r == "user"],
                                         [t for r, t in call.messages[:-1] if r == "user"])
                        self.assertTrue(call.last.endswith(plain.last), call.last)
                        for word in words:
                            self.assertIn(word, call.last)
                        self.assertNotIn("n\":0", call.last)

    def test_expectations_do_not_slip_in(self):
        m, p = self.serve()
        post(m.url() + "/__mock__/scenario", {"name": "n", "calls": [
            {"method": "GET", "path": "/x", "expect": {"status": 418, "body": "secret answer"}}],
            "expect": "secret answer"})
        get(m.url() + "/x")
        self.assertNotIn("secret answer", p.calls[0].raw.decode())

    def test_it_resets_and_ends(self):
        m, p = self.serve(args=("--mode", "off"))
        get(m.url() + "/1")
        post(m.url() + "/__mock__/scenario", self.WORDS)
        get(m.url() + "/2")
        post(m.url() + "/__mock__/reset")
        get(m.url() + "/3")
        self.assertEqual([["/1"], ["/2"], ["/3"]], [paths(c) for c in p.calls])
        self.assertIn("out of stock", p.calls[1].last)
        self.assertNotIn("out of stock", p.calls[2].last)

    def test_recordings_of_scenarios_are_apart(self):
        m, p = self.serve()
        for _ in range(2):
            for scenario in (self.CALLS, self.WORDS):
                post(m.url() + "/__mock__/scenario", scenario)
                get(m.url() + "/x")
        self.assertEqual(2, len(p.calls))

    def test_wrong_ones(self):
        m, _ = self.serve()
        for body, pattern in [({}, "neither form"), ({"name": "x"}, '"calls"'),
                              ({"name": "x", "calls": [{"path": "/"}]}, r"calls\[0\]"),
                              ([], "neither form"), ({"instruction": 1}, "neither form"),
                              ({"instruction": "x" * 70_000}, "larger")]:
            with self.subTest(str(body)[:50]):
                self.assertRegex(value(post(m.url() + "/__mock__/scenario", body))["error"], pattern)


class Window(Case):
    def sizes(self, dep, wire="openai", n=45):
        m, p = self.serve(wire=wire, args=("--mode", "off"), dep=dep)
        for i in range(n):
            post(m.url() + f"/{i}", {"i": i})
        return p.calls, [len(paths(c)) - 1 for c in p.calls]

    def test_twenty_to_thirty(self):
        for wire in ("openai", "anthropic"):
            with self.subTest(wire):
                calls, sizes = self.sizes("", wire)
                self.assertEqual([*range(30), *range(20, 30), *range(20, 25)], sizes)
                for i, call in enumerate(calls):
                    self.assertEqual([f"/{k}" for k in range(i - sizes[i], i + 1)], paths(call))
                for before, after, size in zip(calls, calls[1:], sizes[1:]):
                    self.assertEqual(before.system, after.system)
                    grown = size != 20 or before is calls[19]
                    if grown:       # all but the last message, which may have said what changes with time
                        self.assertEqual(before.messages[:-1], after.messages[:len(before.messages) - 1])
                    if grown and before.last.startswith("{"):
                        self.assertEqual(before.messages[-1], after.messages[len(before.messages) - 1])
                    if grown and wire == "openai":      # and to the byte
                        shared = os.path.commonprefix([before.raw, after.raw])
                        self.assertGreaterEqual(len(shared), before.raw.rindex(b'{"role":"user"'))

    def test_of_another_size(self):
        _, sizes = self.sizes("memory: {window: 3}", n=20)
        self.assertEqual(3, min(sizes[3:]))
        self.assertEqual([*range(13), *range(3, 10)], sizes)

    def test_paper(self):
        _, sizes = self.sizes("preset: paper", n=30)
        self.assertEqual([*range(20)] + [20] * 10, sizes)


if __name__ == "__main__":
    tap.main()
