# SPDX-License-Identifier: Apache-2.0
"""Cassettes through the whole program: modes, what counts in the comparison, stale and edited lines, what is never written."""

import json
import os
import pathlib
import shutil
import tempfile

from wire import Case, Table, cassette, get, header, http, metric, post, source, until, value, yaml

from mirage import Mirage
from provider import request_in
import tap


class Shelf(Case):
    """Servers one after the other over one folder."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mirage-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.p = self.provider()

    def start(self, mode="auto", dep="", files=None, args=(), **options):
        return self.mirage(yaml(self.p, dep=dep), ["--mode", mode, *args], folder=self.folder, files=files, **options)

    def run_one(self, *requests, mode="auto", dep="", files=None, args=()):
        """Starts, asks each (method, path, body, headers), stops; the replies."""
        m = self.start(mode, dep, files, args)
        replies = [http(r[0], m.url() + r[1], *r[2:]) for r in requests]
        m.close()
        self.stderr = m.last_stderr
        return replies

    @property
    def file(self):
        return pathlib.Path(self.folder, "cassettes", "inventory.jsonl")

    def lines(self):
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []


A, B, C = ("POST", "/a", {"q": 1}), ("POST", "/b", {"q": 2}), ("GET", "/c")


class Modes(Shelf):
    def test_auto(self):
        first = self.run_one(A, B, C)
        again = self.run_one(A, B, C)
        self.assertEqual(["llm"] * 3 + ["cassette"] * 3, [source(r) for r in first + again])
        self.assertEqual([r[2] for r in first], [r[2] for r in again])
        self.assertEqual((3, 3), (len(self.p.calls), len(self.lines())))

    def test_replay_asks_nobody(self):
        self.run_one(A, B)
        replies = self.run_one(A, B, C, mode="replay")
        self.assertEqual(["cassette", "cassette", None], [source(r) for r in replies])
        self.assertError(replies[2], 500, "nothing is recorded for GET /c.*nearest recorded")
        self.assertEqual((2, 2), (len(self.p.calls), len(self.lines())))

    def test_replay_needs_no_provider(self):
        self.run_one(A)
        self.p.close()
        self.assertEqual("cassette", source(self.run_one(A, mode="replay")[0]))

    def test_replay_without_a_cassette(self):
        replies = self.run_one(A, mode="replay")
        self.assertError(replies[0], 500, "nothing is recorded for POST /a; .*holds nothing; record it with --mode auto")
        self.assertIn("no such cassette", self.stderr)
        self.assertFalse(self.file.exists())

    def test_record_asks_and_replaces(self):
        self.run_one(A, B)
        self.p.answer = Table(default={"status": 200, "body": "new"})
        replies = self.run_one(A, mode="record")
        self.assertEqual((200, "llm"), (replies[0][0], source(replies[0])))
        replies = self.run_one(A, B, mode="replay")
        self.assertEqual([(200, "new"), (200, {"n": 2})], [(r[0], value(r)) for r in replies])

    def test_off(self):
        self.run_one(A)
        before = self.file.read_bytes()
        self.assertEqual("llm", source(self.run_one(A, mode="off")[0]))
        self.assertEqual(before, self.file.read_bytes())

    def test_only_what_a_model_said(self):
        self.p.answer = Table({"/bad": "no JSON", "/unsure": {"unsure": "no ground"}})
        self.run_one(("GET", "/bad"), ("GET", "/unsure"), A)
        self.run_one(A)
        self.assertEqual(["/a"], [line["req"]["path"] for line in self.lines()])

    def test_line(self):
        self.p.answer = Table(default={"status": 201, "headers": {"X": ["a", "b"]}, "body": {"t": 1}})
        self.run_one(("POST", "/a?x=1&x=2", '{"q": 1.50}', [("Content-Type", "application/json"), ("X-T", "t")]))
        (line,) = self.lines()
        self.assertEqual(["at", "nth", "dep", "req", "rep", "by", "clock"], list(line))
        self.assertRegex(line["at"], "^[0-9a-f]{16}$")
        self.assertIn('"body":{"q":1.50}', self.file.read_text())
        self.assertEqual({"method": "POST", "path": "/a", "query": {"x": ["1", "2"]}, "headers": {"x-t": "t"},
                          "body": {"q": 1.5}},
                         line["req"])
        self.assertEqual({"status": 201, "headers": {"x": ["a", "b"]}, "body": {"t": 1}}, line["rep"])
        by = line["by"]
        self.assertEqual({"model", "prompt", "evidence", "tokens", "ms", "id", "text"}, set(by))
        self.assertEqual(("m", "chatcmpl-1", 3), (by["model"], by["id"], len(by["tokens"])))
        for name in ("prompt", "evidence", "text"):
            self.assertRegex(by[name], "^[0-9a-f]{64}$")
        self.assertRegex(line["clock"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_replayed_exchanges_enter_the_history(self):
        self.run_one(A, B, C)
        self.p.clear()
        self.run_one(A, B, C, ("GET", "/new"))
        (call,) = self.p.calls
        asked = [request_in(text)["path"] for role, text in call.messages if role == "user"]
        self.assertEqual(["/a", "/b", "/c", "/new"], asked)
        self.assertEqual([{"status": 200, "body": {"n": i}} for i in (1, 2, 3)],
                         [json.loads(text) for role, text in call.messages if role == "assistant"])

    def test_nth(self):
        same = ("GET", "/poll")
        self.run_one(same, same, same)
        self.assertEqual([1, 2, 3], [line["nth"] for line in self.lines()])
        replies = self.run_one(same, same, same, same, mode="replay")
        self.assertEqual([1, 2, 3], [value(r)["n"] for r in replies[:3]])
        self.assertError(replies[3], 500, "the 4th time at place .*recorded 3 times")

    def test_strict(self):
        self.run_one(A)
        for requests, status in (([A], 0), ([A, C], 1)):
            self.run_one_status(requests, status)

    def run_one_status(self, requests, status):
        m = self.start("replay", args=("--strict",), status=status)
        for r in requests:
            http(r[0], m.url() + r[1], *r[2:])
        m.close()


class Comparison(Shelf):
    def test_reads_and_writes(self):
        search, order, ship = ("POST", "/search", {"q": 1}), ("POST", "/order", {}), ("GET", "/shipments/7")
        dep = 'reads: ["POST /search"]\nwrites: ["GET /shipments/{id}"]'
        self.run_one(search, order, ship, ship, ("GET", "/end"), dep=dep)
        self.assertEqual([1] * 5, [line["nth"] for line in self.lines()])       # each poll is a place of its own
        replies = self.run_one(order, search, ship, ship, ("GET", "/end"), mode="replay", dep=dep)
        self.assertEqual(["cassette", None, "cassette", "cassette", "cassette"], [source(r) for r in replies])
        replies = self.run_one(order, ship, ("GET", "/end"), mode="replay", dep=dep)
        self.assertError(replies[2], 500, "nothing is recorded for GET /end at place")

    def test_an_added_read_invalidates_nothing(self):
        self.run_one(A, C, B)
        replies = self.run_one(C, A, B, C, mode="replay")
        self.assertEqual([None, "cassette", "cassette", None], [source(r) for r in replies])

    def test_ignore(self):
        dep = "cassette: {ignore: [header.x-request-id, body.$..created_at, query.nonce]}"

        def ask(n, q=1):
            return ("POST", f"/a?k=1&nonce={n}", {"q": q, "in": [{"created_at": n}]}, [("X-Request-Id", f"r{n}")])
        self.run_one(ask(1), dep=dep)
        self.assertEqual("cassette", source(self.run_one(ask(2), mode="replay", dep=dep)[0]))
        self.assertError(self.run_one(ask(2, q=2), mode="replay", dep=dep)[0], 500, r"first difference: .*q")
        self.assertError(self.run_one(ask(2), mode="replay")[0], 500, "first difference")

    def test_what_counts(self):
        def ask(path="/a?x=1&y=2", body='{"a": 1, "b": [1, 2]}', **headers):
            fields = [("Content-Type", "application/json"), *((k.replace("_", "-"), v) for k, v in headers.items())]
            return ("POST", path, body, fields)
        self.run_one(ask(X_Tenant="t"))
        for same in (ask(X_Tenant="t", User_Agent="other"), ask(X_Tenant="t", traceparent="00-a"), ask(x_tenant="t"),
                     ask(body='{"b":[1,2],"a":1}', X_Tenant="t")):
            self.assertEqual("cassette", source(self.run_one(same, mode="replay")[0]), same)
        for other, words in [(ask(X_Tenant="u"), "x-tenant"), (ask(), "x-tenant"),
                             (ask(X_Tenant="t", X_More="1"), "x-more"),
                             (ask(path="/a?x=1&y=3", X_Tenant="t"), "y"), (ask(path="/a?x=1", X_Tenant="t"), "y"),
                             (ask(body='{"a": 1, "b": [2, 1]}', X_Tenant="t"), r"b"),
                             (ask(body='{"a": "1", "b": [1, 2]}', X_Tenant="t"), "a"),
                             (ask(path="/a/?x=1&y=2", X_Tenant="t"), "path")]:
            with self.subTest(str(other)):
                self.assertError(self.run_one(other, mode="replay")[0], 500,
                                 "the nearest recorded there is POST /a, first difference: .*" + words)

    def test_hidden_headers_do_not_count(self):
        dep = "headers: {hide: [x-b3-*, x-trace]}"
        self.run_one(("GET", "/a", None, [("X-B3-TraceId", "1"), ("X-Trace", "2")]), dep=dep)
        self.assertNotIn("x-b3", self.p.calls[0].last)
        self.assertEqual("cassette", source(self.run_one(("GET", "/a"), mode="replay", dep=dep)[0]))


class Lines(Shelf):
    def test_edited_reply(self):
        self.run_one(A, B, C)
        lines = self.lines()
        lines[0]["rep"] = {"status": 200, "headers": {"X-Hand": "1"}, "body": {"n": "edited"}}
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        replies = self.run_one(A, B, C, mode="replay")
        self.assertEqual((200, {"n": "edited"}, "1"),
                         (replies[0][0], value(replies[0]), header(replies[0][1], "x-hand")))
        self.assertEqual(["cassette"] * 3, [source(r) for r in replies])

    def test_written_by_hand(self):
        """No provenance at all: the least that a person would write."""
        self.run_one(A)
        line = self.lines()[0]
        self.file.write_text(json.dumps({k: line[k] for k in ("at", "nth", "dep", "req", "rep")}) + "\n")
        self.assertEqual("cassette", source(self.run_one(A, mode="replay")[0]))

    def test_wrong_line(self):
        self.run_one(A)
        good = self.file.read_text()
        for bad, pattern in [("{oops\n", r"inventory\.jsonl:1"), ('{"at":"x"}\n', r"inventory\.jsonl:1.*at"),
                             (good.replace('"status":200', '"status":"x"'), r"inventory\.jsonl:1.*status")]:
            self.file.write_text(bad + good)
            m = Mirage(yaml(self.p), folder=self.folder)
            with self.assertRaises(AssertionError) as told:
                m.start()
            self.assertRegex(str(told.exception), pattern)
            self.assertEqual(2, m.exit_code)

    def test_cut_anywhere(self):
        self.run_one(A, B, C)
        whole = self.file.read_bytes()
        ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
        m = self.start("replay")
        said = 0
        for cut in range(ends[0], len(whole) + 1):
            self.file.write_bytes(whole[:cut])
            m.hup()
            m.wait_stderr("Reloaded", after=said)
            log = m.stderr_text()[said:]
            said += len(log)
            left = sum(cut >= end - 1 for end in ends)
            self.assertEqual(cut not in ends and cut + 1 not in ends, "The last line is cut" in log, (cut, log))
            self.assertNotIn("rong", log)
            if cut % 16 == 0 or cut in ends or cut + 1 in ends:
                post(m.url() + "/__mock__/reset")
                replies = [post(m.url() + "/a", {"q": 1}), post(m.url() + "/b", {"q": 2}), get(m.url() + "/c")]
                self.assertEqual([200] * left + [500] * (3 - left), [r[0] for r in replies], cut)

    def test_appending_to_a_cut_file(self):
        self.run_one(A, B)
        whole = self.file.read_bytes()
        first = whole.index(b"\n") + 1
        for cut in (first + 1, first + 50, len(whole) - 2, len(whole) - 1):
            self.file.write_bytes(whole[:cut])
            self.run_one(A, B, C)
            replies = self.run_one(A, B, C, mode="replay")
            self.assertEqual(["cassette"] * 3, [source(r) for r in replies], cut)
            self.lines()        # every line is whole

    def test_two_servers_one_folder(self):
        """A second server that records into the same file does not tear its lines."""
        one, two = self.start(), self.start()
        for i in range(20):
            for m in (one, two):
                post(m.url() + f"/{m is one}/{i}", {}, [("mirage-session", f"{m is one}{i}")])
        one.close()
        two.close()
        self.assertEqual(40, len(self.lines()))


class Stale(Shelf):
    FILES = {"src/app.py": "# version 1\n"}
    DEP = "evidence: {source: [src]}\ncassette: {on_stale: %s}"

    def after_change(self, on_stale, mode):
        self.run_one(A, dep=self.DEP % "warn", files=self.FILES)
        self.p.clear()
        return self.run_one(A, ("GET", "/c"), mode=mode, dep=self.DEP % on_stale,
                            files={"src/app.py": "# version 2\n"})

    def test_use(self):
        self.assertEqual("cassette", source(self.after_change("use", "replay")[0]))
        self.assertNotIn("other evidence", self.stderr)

    def test_warn(self):
        self.assertEqual("cassette", source(self.after_change("warn", "auto")[0]))
        self.assertIn("recorded with other evidence", self.stderr)

    def test_refuse(self):
        for mode in ("replay", "auto"):
            with self.subTest(mode):
                replies = self.after_change("refuse", mode)
                self.assertError(replies[0], 500, "POST /a is stale: the evidence has changed since")
                self.assertEqual(0 if mode == "replay" else 1,
                                 len(self.p.calls))     # of GET /c, which is not recorded

    def test_refresh(self):
        replies = self.after_change("refresh", "auto")
        self.assertEqual("llm", source(replies[0]))
        again = self.run_one(A, mode="replay", dep=self.DEP % "refuse")
        self.assertEqual(("cassette", replies[0][2]), (source(again[0]), again[0][2]))

    def test_refresh_in_replay(self):
        self.assertEqual("cassette", source(self.after_change("refresh", "replay")[0]))


class Redact(Shelf):
    SECRETS = ("hunter2-secret", "tok-4711-secret", "key-0815-secret", "ck-99-secret")
    DEP = "redact: [header.authorization, body.$..password, query.api_key, header.cookie]\non_gone: finish"

    def ask(self, password="hunter2-secret", token="tok-4711-secret"):
        return ("POST", "/login?api_key=key-0815-secret&x=1",
                {"user": "u", "password": password, "deep": [{"password": password}]},
                [("Authorization", "Bearer " + token), ("Cookie", "sid=ck-99-secret")])

    def test_nowhere(self):
        m = self.start(dep=self.DEP, args=("-v",))
        method, path, body, fields = self.ask()
        replies = [http(method, m.url() + path, body, fields)]
        replies.append(get(m.url() + "/__mock__/log"))
        replies.append(get(m.control + "/__mock__/log"))
        replies.append(get(m.control + "/metrics"))
        replies.append(get(m.url() + "/__mock__/sessions/default"))
        self.p.answer = "no JSON"
        replies.append(http(method, m.url() + path.replace("login", "fail"), body, fields))
        m.close()
        replay = self.run_one(("POST", "/login?api_key=other-secret&x=2", {"user": "v", "password": "new-secret"},
                               [("Cookie", "c-secret")]),
                              self.ask(), mode="replay", dep=self.DEP, args=("-v",))
        replies += replay
        self.assertEqual("cassette", source(replay[1]))
        for call in self.p.calls:
            self.assertNotIn(b"secret", call.raw)
        for status, headers, content in replies:
            self.assertNotIn(b"secret", content)
            self.assertNotIn("secret", str(headers))
        self.assertNotIn("secret", m.last_stderr + self.stderr)
        for path in pathlib.Path(self.folder).rglob("*"):
            if path.is_file():
                self.assertNotIn(b"secret", path.read_bytes(), path)

    def test_placeholders_are_stable(self):
        self.run_one(self.ask(), self.ask(password="other"), self.ask(token="t2"), dep=self.DEP)
        shown = [json.loads(call.last) for call in self.p.calls]
        words = [s["body"]["password"] for s in shown]
        self.assertEqual(words[0], shown[0]["body"]["deep"][0]["password"])
        self.assertEqual(words[0], words[2])
        self.assertNotEqual(words[0], words[1])
        self.assertNotEqual(shown[0]["headers"]["authorization"], shown[2]["headers"]["authorization"])
        again = self.run_one(self.ask(), self.ask(password="other"), mode="replay",
                             dep=self.DEP)    # in another process
        self.assertEqual(["cassette"] * 2, [source(r) for r in again])
        self.assertError(self.run_one(self.ask(password="third"), mode="replay", dep=self.DEP)[0], 500, "password")

    def test_in_forms_and_text(self):
        m = self.start(dep="redact: [body.$.password, body.$..password]")
        post(m.url() + "/form", "user=u&password=hunter2-secret",
             [("Content-Type", "application/x-www-form-urlencoded")])
        self.assertNotIn(b"secret", self.p.calls[-1].raw)
        self.assertIn("user=u", self.p.calls[-1].last)
        part = '--XX\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
        for kind, body in (("text/plain", '{"password":"hunter2-secret"}'),
                           ("application/json", '{"password":"hunter2-secret"'),
                           ("application/json", '{"password":"a","password":"hunter2-secret"}'),
                           ("application/json", '\ufeff{"password":"hunter2-secret"}'),
                           ("application/json", '{"a":"{\\"password\\":\\"hunter2-secret\\"}"}'),
                           ("application/x-www-form-urlencoded", '{"password":"hunter2-secret"}'),
                           ("multipart/form-data; boundary=XX", part % ("u", "u") + part % ("password", "hunter2-secret"))):
            post(m.url() + "/other", body.encode(), [("Content-Type", kind)])
            self.assertNotIn(b"secret", self.p.calls[-1].raw)
            self.assertIn("[redacted ", self.p.calls[-1].last)
        until(lambda: metric(m, "mirage_cassette_recorded_total") == 8, "all are recorded")
        self.assertNotIn("secret", pathlib.Path(self.folder, "cassettes/inventory.jsonl").read_text())

    def test_with_a_key(self):
        dep = self.DEP + "\nredact_key_env: MIRAGE_REDACT_KEY"
        words = []
        for key in ("k1", "k2", None):
            m = self.start(dep=dep, mode="record", env={"MIRAGE_REDACT_KEY": key} if key else {})
            method, path, body, fields = self.ask()
            http(method, m.url() + path, body, fields)
            m.close()
            words.append(json.loads(self.p.calls[-1].last)["body"]["password"])
            self.assertEqual(key is None, "MIRAGE_REDACT_KEY" in m.last_stderr)
        self.assertEqual(3, len(set(words)))


class Writing(Shelf):
    def test_a_reply_is_on_disk_soon(self):
        m = self.start()
        post(m.url() + "/a")
        until(lambda: cassette(m), "the line is written")
        until(lambda: metric(m, "mirage_cassette_recorded_total") == 1, "and counted")
        m.kill()        # nothing is lost by a kill
        m.exit_code, m.status = 0, None
        self.assertEqual("cassette", source(self.run_one(("POST", "/a"), mode="replay")[0]))

    def test_folder_that_cannot_be_written(self):
        pathlib.Path(self.folder, "cassettes").write_text("a file")
        m = Mirage(yaml(self.p), folder=self.folder)
        with self.assertRaises(AssertionError) as told:
            m.start()
        self.assertIn("cassettes", str(told.exception))
        self.assertEqual(2, m.exit_code)

    def test_folder_of_its_own(self):
        m = self.start(dep="cassette: {dir: tapes/deep}")
        post(m.url() + "/a")
        m.close()
        self.assertTrue(os.path.exists(os.path.join(self.folder, "tapes/deep/inventory.jsonl")))


if __name__ == "__main__":
    tap.main()
