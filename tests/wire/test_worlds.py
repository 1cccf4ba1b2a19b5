# SPDX-License-Identifier: Apache-2.0
"""Sessions as worlds: snapshot, restore and fork, over HTTP, gRPC and ZeroMQ, alone and while others write."""

import json
import threading

from wire import SLOW, Case, get, http, post, request_bytes, source, until, value

from mirage import Raw, run_mirage
from provider import request_in
import tap

PROTO = """
syntax = "proto3";
package a.v1;
message Q { string id = 1; }
service A { rpc Get(Q) returns (Q); }
"""


def paths(call):
    """The requests that the model was shown, the one to answer last."""
    return [request_in(text)["path"] for role, text in call.messages if role == "user"]


def states(world):
    return {state["dependency"]: state["exchanges"] for state in world["states"]}


class Worlds(Case):
    def verb(self, m, session, verb, body=None, status=None):
        reply = post(f"{m.control}/__mock__/sessions/{session}/{verb}", body)
        self.assertEqual(status or (200 if verb == "restore" else 201), reply[0], reply)
        return value(reply)

    def ask(self, m, path, session="a", name="inventory"):
        reply = post(m.url(name) + path, {}, [("mirage-session", session)])
        self.assertEqual(200, reply[0], reply)
        return reply

    def test_a_fork_goes_its_own_way(self):
        m, p = self.serve(args=("--mode", "off"))
        self.ask(m, "/1")
        made = self.verb(m, "a", "fork", {"name": "b"})
        self.assertEqual(("b", {"inventory": 1}), (made["name"], states(made)))
        for path, session in (("/2", "a"), ("/x", "b"), ("/3", "a"), ("/y", "b")):
            self.ask(m, path, session)
        self.assertEqual([["/1"], ["/1", "/2"], ["/1", "/x"], ["/1", "/2", "/3"], ["/1", "/x", "/y"]], [paths(c) for c in p.calls])
        self.assertRegex(self.verb(m, "a", "fork")["name"], "^s-[0-9a-f]{16}$")
        self.assertEqual(200, http("DELETE", m.control + "/__mock__/sessions/a")[0])
        self.ask(m, "/z", "b")
        self.assertEqual(["/1", "/x", "/y", "/z"], paths(p.calls[-1]))

    def test_restore(self):
        m, p = self.serve(names=("inventory", "payment"), args=("--mode", "off"))
        self.ask(m, "/1")
        self.ask(m, "/p", name="payment")
        self.assertEqual(["one"], self.verb(m, "a", "snapshot", {"snapshot": "one"})["snapshots"])
        self.ask(m, "/2")
        self.ask(m, "/q", name="payment")
        self.assertEqual(["latest", "one"], self.verb(m, "a", "snapshot")["snapshots"])
        back = self.verb(m, "a", "restore", {"snapshot": "one"})
        self.assertEqual({"inventory": 1, "payment": 1}, states(back))
        self.ask(m, "/3")
        self.ask(m, "/r", name="payment")
        self.assertEqual([["/1", "/3"], ["/p", "/r"]], [paths(c) for c in p.calls[-2:]])
        # What was restored has not changed the snapshot; the newest is meant where none is named; a reset keeps all.
        self.assertEqual({"inventory": 2, "payment": 2}, states(self.verb(m, "a", "restore")))
        self.assertEqual(200, post(m.control + "/__mock__/reset?session=a")[0])
        self.assertEqual({"inventory": 1, "payment": 1}, states(self.verb(m, "a", "restore", {"snapshot": "one"})))
        self.assertEqual(["one", "latest"], self.verb(m, "a", "snapshot", {"snapshot": "one"})["snapshots"])
        self.ask(m, "/4")
        self.assertEqual({"inventory": 1, "payment": 1}, states(self.verb(m, "a", "fork", {"name": "c", "snapshot": "one"})))
        self.ask(m, "/5", "c")
        self.assertEqual(["/1", "/5"], paths(p.calls[-1]))

    def test_a_scenario_comes_along(self):
        m, p = self.serve(args=("--mode", "off"))
        self.assertEqual(200, post(m.url() + "/__mock__/scenario?session=a", {"instruction": "closed"})[0])
        self.verb(m, "a", "snapshot")
        self.assertEqual(200, post(m.url() + "/__mock__/reset?session=a")[0])
        self.ask(m, "/1")
        self.assertNotIn("closed", p.calls[-1].last)
        self.verb(m, "a", "restore")
        self.verb(m, "a", "fork", {"name": "b"})
        for session in ("a", "b"):
            self.ask(m, "/2", session)
            self.assertIn('"closed"', p.calls[-1].last)

    def test_what_is_in_flight_has_not_happened(self):
        m, p = self.serve(args=("--mode", "off"))
        self.ask(m, "/1")
        p.hold()
        slow = Raw(m.address(), timeout=20 * SLOW).send(request_bytes("/2", headers=[("mirage-session", "a")]))
        p.wait_for_calls(2, 10 * SLOW)
        self.assertEqual({"inventory": 1}, states(self.verb(m, "a", "snapshot")))
        p.release(1)
        self.assertEqual({"n": 2}, slow.response("POST").json())
        slow.close()
        slow = Raw(m.address(), timeout=20 * SLOW).send(request_bytes("/3", headers=[("mirage-session", "a")]))
        self.assertEqual(["/1", "/2", "/3"], paths(p.wait_for_calls(3, 10 * SLOW)[2]))
        self.verb(m, "a", "restore")
        p.release()
        self.assertEqual({"n": 3}, slow.response("POST").json())
        slow.close()
        self.ask(m, "/4")
        self.assertEqual(["/1", "/4"], paths(p.calls[-1]))

    def test_places_in_the_cassette(self):
        m, p = self.serve()
        for path in ("/1", "/2"):
            self.assertEqual("llm", source(self.ask(m, path)))
        self.assertEqual("cassette", source(self.ask(m, "/1", "b")))
        self.verb(m, "b", "snapshot")
        self.verb(m, "b", "fork", {"name": "c"})
        for session in ("b", "c"):
            self.assertEqual("cassette", source(self.ask(m, "/2", session)))
        self.verb(m, "b", "restore")
        self.assertEqual("cassette", source(self.ask(m, "/2", "b")))
        self.assertEqual(2, len(p.calls))
        # Equal requests at one place are counted, and the counts are copied.
        numbers = [value(get(m.url() + "/r", [("mirage-session", "a")]))["n"] for _ in range(2)]
        self.assertEqual(numbers, [3, 4])
        get(m.url() + "/r", [("mirage-session", "b")])
        self.verb(m, "b", "fork", {"name": "d"})
        self.assertEqual([4, 4], [value(get(m.url() + "/r", [("mirage-session", s)]))["n"] for s in ("b", "d")])

    def test_what_is_refused(self):
        m, p = self.serve()
        self.ask(m, "/1")
        at = m.control + "/__mock__/sessions/"
        self.assertError(post(at + "none/snapshot"), 404, "there is no session none")
        self.assertError(post(at + "a/restore"), 404, "session a has no snapshot")
        self.assertError(post(at + "a/restore", {"snapshot": "x"}), 404, 'session a has no snapshot "x"')
        self.assertError(post(at + "a/fork", {"snapshot": "x"}), 404, 'session a has no snapshot "x"')
        self.assertError(post(at + "a/fork", {"name": "a"}), 409, "there is a session a already; expected a new name")
        for verb, body, told in (("snapshot", {"snapshot": "a b"}, '"snapshot" is no name; expected 1 to 128'),
                                 ("snapshot", {"name": "x"}, 'there is no member "name"; expected "snapshot"'),
                                 ("fork", {"names": "x"}, 'there is no member "names"; expected "name" or "snapshot"'),
                                 ("fork", {"name": 1}, '"name" is no name'), ("restore", [], "the body is no object")):
            self.assertError(post(f"{at}a/{verb}", body), 400, told)
        for i in range(100):
            self.verb(m, "a", "snapshot", {"snapshot": f"s{i}"})
        self.assertError(post(at + "a/snapshot"), 429, "the session has 100 snapshots")
        self.verb(m, "a", "snapshot", {"snapshot": "s5"})

    def test_idle_sessions_go(self):
        m, p = self.serve(top="sessions: {idle: 1s, max: 3}", args=("--mode", "off"))
        names = lambda: [s["name"] for s in value(get(m.control + "/__mock__/sessions"))["sessions"]]  # noqa: E731
        for session in ("default", "a", "b", "c"):
            self.ask(m, "/1", session)
        self.assertEqual(["b", "c", "default"], sorted(names()))
        until(lambda: names() == ["default"], "the others have gone")
        self.ask(m, "/2", "a")
        self.assertEqual(["/2"], paths(p.calls[-1]))

    def test_over_the_other_wires(self):
        m, p = self.serve(args=("--mode", "off"), files={"a.proto": PROTO}, names=("inventory",),
                          dep='listen: {http: "127.0.0.1:0", grpc: "127.0.0.1:0", zmq: ["tcp://127.0.0.1:*"]}\nprotos: {files: [a.proto]}')
        entry = m.ready["dependencies"][0]
        self.ask(m, "/1")

        def call(url, body, *more):
            status, out, err = run_mirage("call", url, "-d", json.dumps(body), *more)
            self.assertEqual(0, status, out + err)
            return json.loads(out.split("\n\n", 1)[1])

        rpc = f"grpc://{entry['grpc']}/mirage.v1.Control/"
        self.assertEqual(["one"], call(rpc + "SnapshotSession", {"id": "a", "snapshot": "one"})["snapshots"])
        self.ask(m, "/2")
        self.assertEqual({"inventory": 1}, states(call(rpc + "RestoreSession", {"id": "a"})))
        self.assertEqual("g", call(rpc + "ForkSession", {"id": "a", "name": "g"})["name"])
        frame = f"zmq+{entry['zmq'][0]}/__mock__/sessions/a/"
        self.assertEqual(["two", "one"], call(frame + "snapshot", {"snapshot": "two"})["snapshots"])
        self.ask(m, "/3")
        self.assertEqual({"inventory": 1}, states(call(frame + "restore", {})))
        self.assertEqual("z", call(frame + "fork", {"name": "z"})["name"])
        for session in ("g", "z", "a"):
            self.ask(m, "/4", session)
            self.assertEqual(["/1", "/4"], paths(p.calls[-1]))

    def test_one_moment_for_all_dependencies(self):
        """One writer goes back and forth between two dependencies: no copy may have seen the second without the first."""
        m, p = self.serve(names=("inventory", "payment"))
        done, wrong, copies = threading.Event(), [], []
        for i in range(150):  # recorded, so that writes come as fast as copies
            for name in ("inventory", "payment"):
                self.ask(m, f"/{i}", "recording", name)
        self.ask(m, "/first", name="payment")
        self.ask(m, "/first")
        post(m.control + "/__mock__/reset?session=a")

        def write():
            for i in range(150):
                self.ask(m, f"/{i}")
                self.ask(m, f"/{i}", name="payment")
            done.set()

        def copy(n):
            i = 0
            while not done.is_set():
                i += 1
                reply = post(m.control + "/__mock__/sessions/a/fork", {"name": f"f{n}-{i}"})
                post(m.control + "/__mock__/sessions/a/snapshot", {"snapshot": f"t{n}"})
                made = {"inventory": 0, "payment": 0} | states(value(reply))
                copies.append(made)
                if made["inventory"] - made["payment"] not in (0, 1):
                    wrong.append(made)
                http("DELETE", m.control + f"/__mock__/sessions/f{n}-{i}")

        def scribble(name):
            """Without order, beside copies of the same session: what they are is not known, but they must be whole."""
            i = 0
            while not done.is_set():
                self.ask(m, f"/{i % 150}", "b", name)
                i += 1
                if i % 5 == 0:
                    post(m.control + "/__mock__/sessions/b/snapshot")
                if i % 75 == 0:
                    post(m.control + "/__mock__/reset?session=b")
        threads = [threading.Thread(target=write)] + [threading.Thread(target=copy, args=(n,)) for n in range(3)]
        threads += [threading.Thread(target=scribble, args=(name,)) for name in ("inventory", "payment") * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], wrong)
        self.assertGreater(len({made["inventory"] for made in copies}), 3)
        self.assertEqual({"inventory": 150, "payment": 150}, states(value(get(m.control + "/__mock__/sessions/a"))))


if __name__ == "__main__":
    tap.main()
