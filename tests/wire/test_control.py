# SPDX-License-Identifier: Apache-2.0
"""The control verbs, who may use them, and the counts."""

import json
import tempfile

from wire import Case, get, header, http, metric, post, until, value, yaml

from mirage import raw, run_mirage
import tap

VERBS = [("GET", "/health"), ("POST", "/reset"), ("POST", "/scenario"), ("GET", "/state"), ("GET", "/log"),
         ("GET", "/sessions"), ("POST", "/sessions"), ("GET", "/sessions/default"), ("DELETE", "/sessions/default")]
SCENARIO = {"instruction": "x"}


class Verbs(Case):
    def setUp(self):
        self.m, self.p = self.serve({"/fail": {"status": 200, "headers": {"a b": "c"}}},
                                    names=("inventory", "payment"))
        self.at = self.m.url() + "/__mock__"

    def test_health(self):
        for url in (self.at, self.m.control + "/__mock__"):
            status, headers, body = get(url + "/health")
            self.assertEqual((200, "application/json"), (status, header(headers, "content-type")))
            self.assertEqual("serving", json.loads(body)["status"])
        self.assertEqual(["inventory"], value(get(self.at + "/health"))["dependencies"])
        self.assertEqual(["inventory", "payment"], value(get(self.m.control + "/__mock__/health"))["dependencies"])
        self.assertEqual(["payment"], value(get(self.m.control + "/__mock__/health?dependency=payment"))["dependencies"])
        status, _, body = http("HEAD", self.at + "/health")
        self.assertEqual((200, b""), (status, body))

    def test_state(self):
        self.assertEqual({}, value(get(self.at + "/state")))
        for method in ("PUT", "PATCH"):
            self.assertError(http(method, self.at + "/state", {}), 501, "later version")

    def test_unknown(self):
        self.assertError(get(self.at + "/nothing"), 404, "no such verb; the verbs are")
        self.assertError(get(self.at), 404, "no such verb")
        self.assertError(get(self.at + "/reset"), 405, "GET is not a method of this verb")
        self.assertError(post(self.at + "/health"), 405, "POST is not a method")
        self.assertEqual(("POST", "GET"), tuple(header(r[1], "allow") for r in (get(self.at + "/reset"),
                post(self.at + "/log"))))
        self.assertError(post(self.at + "/verify", {}), 501, "later version")
        self.assertError(post(self.at + "/sessions/x/fork", {}), 404, "there is no session x")
        self.assertError(get(self.m.control + "/__mock__/log?dependency=nope"), 404, "no dependency nope")
        self.assertError(get(self.m.control + "/items"), 404, "control address")
        self.assertEqual(200, get(self.m.url() + "/__mock__x")[0])      # the service's own path
        self.assertEqual(1, len(self.p.calls))

    def test_log(self):
        for i in range(3):
            post(self.m.url() + f"/{i}?q=1", {"i": i}, [("mirage-session", "a"), ("X-T", "t")])
        get(self.m.url("payment") + "/p")
        get(self.m.url() + "/fail", [("mirage-session", "b")])
        log = value(get(self.m.control + "/__mock__/log"))
        self.assertEqual((["/0", "/1", "/2", "/p", "/fail"], 0),
                         ([e["request"]["path"] for e in log["entries"]], log["evicted"]))
        one = log["entries"][0]
        self.assertEqual(("inventory", "a", "llm", 200),
                         tuple(one[k] for k in ("dependency", "session", "source", "status")))
        self.assertEqual({"method": "POST", "path": "/0", "query": {"q": "1"}, "headers": {"x-t": "t"},
                          "body": {"i": 0}},
                         one["request"])
        self.assertEqual({"status": 200, "body": {"n": 1}}, one["reply"])
        self.assertRegex(one["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(("mirage", 500), tuple(log["entries"][4][k] for k in ("source", "status")))

        def some(query, at=self.m.control):
            return [e["request"]["path"] for e in value(get(at + "/__mock__/log" + query))["entries"]]
        self.assertEqual(["/p"], some("?dependency=payment"))
        self.assertEqual(["/p"], some("", self.m.url("payment")))
        self.assertEqual(["/0", "/1", "/2"], some("?session=a"))
        self.assertEqual(["/fail"], some(f"?after={log['entries'][3]['seq']}"))
        self.assertEqual(2, len(some("?limit=2")))
        self.assertEqual([], some(f"?after={log['last']}"))

    def test_sessions(self):
        get(self.m.url() + "/a", [("mirage-session", "one")])
        post(self.m.url() + "/a", None, [("mirage-session", "one")])
        listed = value(get(self.at + "/sessions"))
        self.assertIn("one", json.dumps(listed))
        one = value(get(self.at + "/sessions/one"))
        self.assertEqual(("one", [("inventory", 2)]),
                         (one["name"], [(s["dependency"], s["exchanges"]) for s in one["states"]]))
        self.assertEqual(201, post(self.at + "/sessions", {"name": "two"})[0])
        self.assertEqual("two", value(get(self.at + "/sessions/two"))["name"])
        made = value(post(self.at + "/sessions"))["session"]
        self.assertEqual(200, get(self.at + "/sessions/" + made)[0])
        self.assertEqual(200, http("DELETE", self.at + "/sessions/one")[0])
        self.assertError(get(self.at + "/sessions/one"), 404, "no session one")
        self.assertError(http("DELETE", self.at + "/sessions/one"), 404, "no session one")
        self.assertEqual({"n": 3}, value(get(self.m.url() + "/b", [("mirage-session", "one")])))
        self.assertEqual(1, len(self.p.calls[-1].messages))
        for body in ({"name": ""}, {"name": "a b"}, {"name": 1}, {"listen": "yes"}, []):
            self.assertError(post(self.at + "/sessions", body), 400, "expected")

    def test_too_many_addresses(self):
        for _ in range(32):
            self.assertEqual(201, post(self.at + "/sessions", {"listen": True})[0])
        self.assertError(post(self.at + "/sessions", {"listen": True}), 429, "at most 64")

    def test_metrics(self):
        for i in range(3):
            post(self.m.url() + f"/{i}")
        post(self.m.url() + "/__mock__/reset")
        post(self.m.url() + "/0")
        get(self.m.url() + "/fail")
        status, headers, body = get(self.m.control + "/metrics")
        self.assertEqual(200, status)
        self.assertTrue(header(headers, "content-type").startswith("text/plain; version=0.0.4"))
        seen = set()
        for line in body.decode().splitlines():
            if line.startswith("# TYPE "):
                self.assertNotIn(line, seen)      # one block for each series
                seen.add(line)
            self.assertRegex(line, r'^(# (HELP|TYPE) mirage_\w+ .+|mirage_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+]+)$')
        by = {s: metric(self.m, "mirage_requests_total", source=s) for s in ("llm", "cassette", "mirage", "other")}
        self.assertEqual({"llm": 3, "cassette": 1, "mirage": 1, "other": 0}, by)
        self.assertEqual((5, 5, 1), tuple(metric(self.m, f"mirage_{n}_total") for n in
                                             ("exchanges", "llm_calls", "llm_repairs")))
        until(lambda: metric(self.m, "mirage_cassette_recorded_total") == 3, "three are recorded")
        until(lambda: metric(self.m, "mirage_cassette_waiting") == 0, "nothing is on its way")
        self.assertEqual(get(self.m.control + "/metrics")[2], get(self.m.control + "/__mock__/metrics")[2])
        self.assertEqual(200, get(self.m.url() + "/metrics")[0])   # the service's own path there
        self.assertEqual("/metrics", json.loads(self.p.calls[-1].last)["path"])
        status, refused, _ = post(self.m.control + "/metrics")
        self.assertEqual((405, "GET"), (status, header(refused, "allow")))
        self.assertIsNone(header(headers, "allow"))


class Guards(Case):
    def ask(self, m, method, path, *fields, body=b""):
        data = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{f}\r\n" for f in fields)
        if body:
            data += f"Content-Length: {len(body)}\r\n"
        return raw(m.address(), data.encode() + b"\r\n" + body, 1, [method])[0]

    def test_hosts(self):
        m, _ = self.serve()
        port = m.address()[1]
        for host in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", "127.1.2.3", "[::1]", f"[::1]:{port}",
                     "LOCALHOST"):
            self.assertEqual(200, self.ask(m, "GET", "/__mock__/health", f"Host: {host}").status, host)
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example",
                     "mirage.test",
                     "1.2.3.4", "", "localhost@evil.example", "127.0.0.1:80@evil.example", "[::1].evil"):
            for method, verb in VERBS:
                reply = self.ask(m, method, "/__mock__" + verb, f"Host: {host}")
                self.assertEqual(403, reply.status, (host, verb))
                self.assertRegex(reply.header("mirage-error"), "refuse the Host")
        self.assertEqual(200, self.ask(m, "GET", "/items",
                                       "Host: inventory.example").status)   # a service's own traffic

    def test_allowed_hosts(self):
        p = self.provider()
        text = yaml(p).replace("control: {listen: 127.0.0.1:0}",
                               "control: {listen: 127.0.0.1:0, hosts: [mirage.test]}")
        m = self.mirage(text)
        self.assertEqual(200, self.ask(m, "GET", "/__mock__/health", "Host: mirage.test:1").status)
        self.assertEqual(200, self.ask(m, "GET", "/__mock__/health", "Host: Mirage.Test").status)
        self.assertEqual(403, self.ask(m, "GET", "/__mock__/health", "Host: x.mirage.test").status)

    def test_origins(self):
        m, _ = self.serve()
        host = "%s:%d" % m.address()
        for origin in ("http://evil.example", "null", "http://localhost:1", "https://evil.example",
                       f"http://{host}.evil.example",
                       f"ftp://{host}", "", "file://"):
            for method, verb in VERBS + [("GET", "/nothing")]:
                reply = self.ask(m, method, "/__mock__" + verb, f"Host: {host}", f"Origin: {origin}")
                self.assertEqual(403, reply.status, (origin, verb))
        self.assertEqual(200, self.ask(m, "POST", "/__mock__/reset", f"Host: {host}",
                                       f"Origin: http://{host}").status)
        self.assertEqual(403, self.ask(m, "OPTIONS", "/__mock__/reset", f"Host: {host}",
                                       "Origin: http://evil.example",
                                       "Access-Control-Request-Method: POST").status)
        # Which origin a service's own callers have is the service's business.
        self.assertEqual(200, self.ask(m, "GET", "/x", f"Host: {host}", "Origin: http://evil.example").status)
        control = m.control.removeprefix("http://")
        reply, = raw(m.control, f"GET /metrics HTTP/1.1\r\nHost: {control}\r\nOrigin: http://evil\r\n\r\n".encode(),
                     1)
        self.assertEqual(403, reply.status)

    def test_content_type(self):
        m, _ = self.serve()
        at = m.url() + "/__mock__/scenario"
        body = json.dumps(SCENARIO)
        self.assertEqual(200, post(at, body, [("Content-Type", "application/json; charset=utf-8")])[0])
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            self.assertError(post(at, body, [("Content-Type", kind)]), 415, "not JSON")
        self.assertError(post(at, "{oops", [("Content-Type", "application/json")]), 400, "the body is not JSON: .+")
        self.assertError(post(m.url() + "/__mock__/reset", "x=1", [("Content-Type", "text/plain")]), 415, "not JSON")

    def test_token(self):
        p = self.provider()
        text = yaml(p).replace("control: {listen: 127.0.0.1:0}", "control: {listen: 127.0.0.1:0, token_env: T_TOKEN}")
        m = self.mirage(text, env={"T_TOKEN": "tok-0123456789"})
        for fields in ([], [("Authorization", "Bearer wrong")], [("Authorization", "Bearer tok-012345678")],
                       [("Authorization", "Bearer tok-01234567890")], [("Authorization", "Basic tok-0123456789")],
                       [("Authorization", "tok-0123456789")], [("Authorization", "Bearer ")]):
            self.assertError(post(m.url() + "/__mock__/reset", None, fields), 401, "token")
            status, headers, _ = get(m.control + "/__mock__/log", fields)
            self.assertEqual((401, True), (status, header(headers, "www-authenticate").startswith("Bearer")))
        right = [("Authorization", "bearer tok-0123456789")]
        self.assertEqual(200, post(m.url() + "/__mock__/reset", None, right)[0])
        self.assertEqual(200, get(m.url() + "/__mock__/health")[0])
        self.assertEqual([401, 200], [get(m.control + "/metrics", fields)[0] for fields in ([], right)])
        self.assertEqual(200, get(m.url() + "/x")[0])
        self.assertNotIn("tok-0123456789", m.stderr_text())

    def test_off_loopback(self):
        """An address that others can reach needs a token."""
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/m.yaml"
            with open(path, "w") as f:
                f.write("control: {listen: 0.0.0.0:0}\nmodel: {base_url: http://127.0.0.1:1, name: m}\n"
                        "dependencies:\n  - {name: a, listen: {http: 127.0.0.1:0}}\n")
            code, _, err = run_mirage("check", "-c", path)
            self.assertEqual(2, code)
            self.assertRegex(err, r"m\.yaml:1:\d+: .*token_env")
            with open(path, "w") as f:
                f.write("model: {base_url: http://127.0.0.1:1, name: m}\ndependencies:\n  - {name: a, listen: {http: 0.0.0.0:0}}\n")
            code, _, err = run_mirage("check", "-c", path)
            self.assertEqual(2, code, "control verbs answer on a dependency's own port too")


if __name__ == "__main__":
    tap.main()
