# SPDX-License-Identifier: Apache-2.0
"""`mirage verify`: the example's real services against a second set of themselves and against their recordings, over three
wires; judges that are scripted; wrong use."""

import http.server
import json
import os
import pathlib
import re
import select
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import xml.etree.ElementTree as xml
from contextlib import ExitStack

HERE = pathlib.Path(__file__).resolve()
EXAMPLE = HERE.parents[2] / "examples" / "order-system"
sys.path[:0] = [str(HERE.parents[1] / "lib"), str(EXAMPLE), str(EXAMPLE / "services")]
import tap  # noqa: E402
from mirage import clean_environment, run_mirage  # noqa: E402
from processes import DEPENDENCIES, Processes  # noqa: E402
from provider import Provider  # noqa: E402
from sides import mirage_side, real_side  # noqa: E402

WIRES = ("http", "grpc", "zmq")
ONLY = [part for name in DEPENDENCIES for part in ("--only", name)]
# "2" for an int32 is ProtoJSON for 2: over gRPC another call than the one that was recorded over HTTP.
NOT_RECORDED = "inventory-05-missing-and-string-quantity"
SCENARIO = """
name: one
category: plain
dependency: shop
calls:
- {method: GET, path: /a}
"""


def targets(flag, side, wire):
    """Each dependency over that wire, and over HTTP for what the wire cannot express and for resets."""
    before = {"http": "", "grpc": "grpc://", "zmq": "zmq+"}[wire]
    found = []
    for name in DEPENDENCIES:
        found += [flag, f"{name}={before}{side.doors[name][wire]}"]
        if wire != "http":
            found += [flag, f"{name}={side.doors[name]['http']}"]
    return found


def protos():
    found = ["--proto-path", EXAMPLE / "proto", "--proto-path", HERE.parents[2] / "proto"]
    for name in DEPENDENCIES:
        found += ["--proto", EXAMPLE / "proto" / name / "v1" / f"{name}.proto"]
    return [str(part) for part in found]


class Stub:
    """A service whose replies a function of (method, path) makes: (status, body)."""

    def __init__(self, answer):
        seen = self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                seen.append((self.command, self.path, body, self.headers.get("mirage-session")))
                status, value = answer(self.command, self.path)
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # callers that hang up
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def verify(*args, timeout=120, **options):
    return run_mirage("verify", *map(str, args), timeout=timeout, **options)


class Example(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = ExitStack()
        cls.addClassCleanup(cls.stack.close)
        processes = cls.stack.enter_context(Processes())
        cls.folder = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory()))
        cls.real = real_side(processes, list(WIRES))
        cls.second = real_side(processes, list(WIRES), "second")
        binary = os.environ["MIRAGE_BIN"]
        with unittest.mock.patch.dict(os.environ, clean_environment(), clear=True):
            cls.mirage = mirage_side(processes, list(WIRES), processes.mirage(binary, False))

    def run_pair(self, wire, side, *args):
        reset = side.dependency_reset
        out = self.folder / "result.json"
        status, text, err = verify(EXAMPLE / "scenarios", *ONLY, *targets("--real", self.real, wire),
                                   *targets("--sim", side, wire), "--real-reset", "/__test__/reset", "--sim-reset", reset,
                                   *(protos() if wire == "grpc" else []), "-q", "--json", out, *args)
        self.assertEqual(err, "")
        return status, text, json.loads(out.read_text(encoding="utf-8"))

    def test_the_real_services_against_themselves(self):
        for wire in WIRES:
            with self.subTest(wire):
                status, text, result = self.run_pair(wire, self.second)
                self.assertEqual((status, result["score"]["all"]["passed"]), (0, 38), text)
                self.assertEqual(result["wire"], wire)
                self.assertEqual(result["score"]["calls"] + result["score"]["left_out"], 109)

    def test_the_recordings(self):
        for wire in WIRES:
            with self.subTest(wire):
                status, text, result = self.run_pair(wire, self.mirage)
                failed = [entry["name"] for entry in result["score"]["scenarios"] if not entry["passed"]]
                self.assertEqual(failed, [NOT_RECORDED] if wire == "grpc" else [], text)
                self.assertEqual(status, 1 if failed else 0)

    def test_a_run_is_scored_again(self):
        _, text, result = self.run_pair("grpc", self.mirage)
        first, second = self.folder / "result.json", self.folder / "again.json"
        status, again, err = verify("--rescore", first, "--json", second)
        self.assertEqual((status, again, err), (1, text, ""))
        self.assertEqual(second.read_text(encoding="utf-8"), first.read_text(encoding="utf-8"))
        self.assertEqual(verify("--rescore", first, "--json", "-")[1], first.read_text(encoding="utf-8"))

    def test_one_run_against_another(self):
        _, _, result = self.run_pair("grpc", self.mirage)
        grpc = self.folder / "grpc.json"
        (self.folder / "result.json").rename(grpc)
        self.run_pair("http", self.mirage, "--label", "over http")
        status, text, err = verify("--rescore", grpc, "--against", self.folder / "result.json", "--json", self.folder / "x.json")
        self.assertEqual((status, err), (1, ""))
        self.assertRegex(text, r"against over http: 38 scenarios in both, 0 passed only here, 1 only there; difference -2\.6 points "
                               r"\(95 % interval -[0-9.]+ to \+[0-9.]+\)\n")
        against = json.loads((self.folder / "x.json").read_text())["score"]["against"]
        self.assertEqual((against["pairs"], against["only_here"], against["only_there"]), (38, 0, 1))

    def test_resets_over_grpc_alone(self):
        """The types that were given know nothing of mirage.v1.Control."""
        doors = [f"grpc://{side.doors['inventory']['grpc']}" for side in (self.real, self.mirage)]
        status, text, err = verify(EXAMPLE / "scenarios", "--only", "inventory-01", "--real", doors[0], "--sim", doors[1], "-q",
                                   "--inject", *protos())
        # The recording was made without an announcement, and is not found once one has arrived.
        self.assertEqual((status, err), (1, ""), text)
        self.assertIn("call 1: status: 0 became 13", text)
        status, text, err = verify(EXAMPLE / "scenarios", "--only", "inventory-01", "--real", doors[0], "--sim", doors[1], "-q",
                                   *protos())
        self.assertEqual((status, err), (0, ""), text)

    def test_repeats(self):
        _, text, result = self.run_pair("http", self.second, "--repeat", "3", "--only", "payment-20")
        self.assertEqual(result["score"]["all"]["scored"], 114)
        self.assertIn("38 of 38 scenarios came out the same each time", text)

    def test_a_fresh_real_side_for_each_scenario(self):
        script = EXAMPLE / "services" / "inventory" / "inventory.py"
        command = f"exec {sys.executable} {script} --port 0"
        status, text, err = verify(EXAMPLE / "scenarios", "--only", "inventory-1", "--real-cmd", command, "--sim",
                                   self.mirage.doors["inventory"]["http"], "--jobs", "3", "-q")
        self.assertEqual((status, err), (0, ""), text)
        self.assertIn("10 of 10 scenarios passed", text)

    def test_reports(self):
        out = {kind: self.folder / f"report.{kind}" for kind in ("junit", "markdown", "html")}
        _, text, _ = self.run_pair("grpc", self.mirage, *(part for kind, file in out.items() for part in (f"--{kind}", file)))
        suites = xml.parse(out["junit"]).getroot()
        self.assertEqual((suites.get("tests"), suites.get("failures"), suites.get("errors")), ("38", "1", "0"))
        self.assertEqual([suite.get("tests") for suite in suites], ["19", "13", "6"])
        failure = suites.find(".//failure")
        self.assertIn("call 2: status:", failure.get("message"))
        markdown = out["markdown"].read_text(encoding="utf-8")
        self.assertIn("| inventory | 19 |", markdown)
        self.assertIn(f"| {NOT_RECORDED} | gate | call 2: status", markdown)
        page = out["html"].read_text(encoding="utf-8")
        self.assertNotRegex(page, r"<script|(src|href)=")
        self.assertEqual(page.count("<details"), 38)
        self.assertEqual(page.count(" open><summary>"), 1)
        marked = re.findall("<mark>(.*?)</mark>", page, re.S)
        self.assertEqual(marked, ["gRPC status 0", "gRPC status 13"])


class Small(unittest.TestCase):
    """Against small servers: what is sent, and what is told."""

    def setUp(self):
        self.stack = ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.addCleanup(self.stack.close)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def stub(self, answer):
        return self.stack.enter_context(Stub(answer))

    def test_progress_and_announcement(self):
        real, sim = self.stub(lambda m, p: (200, {"a": 1})), self.stub(lambda m, p: (200, {"a": 1}))
        status, text, err = verify(self.file("one.yaml", SCENARIO), "--real", real.url + "/base", "--sim", sim.url, "--inject",
                                   "--real-reset", "/reset")
        self.assertEqual(status, 0, text + err)
        self.assertIn("1 of 1, one", err)
        self.assertEqual([seen[:2] for seen in real.seen], [("POST", "/base/reset"), ("GET", "/base/a")])
        self.assertEqual([seen[:2] for seen in sim.seen],
                         [("POST", "/__mock__/reset"), ("POST", "/__mock__/scenario"), ("GET", "/a")])
        self.assertEqual(json.loads(sim.seen[1][2]), {"name": "one", "calls": [{"method": "GET", "path": "/a"}]})
        self.assertEqual({seen[3] for seen in sim.seen}, {None})
        status, _, err = verify(self.folder / "one.yaml", "--real", real.url, "--sim", sim.url, "--jobs", "2", "-q")
        self.assertEqual(status, 0)
        self.assertIn("--jobs 2: one at a time, since a real service at a URL has one state", err)

    def test_references(self):
        text = """
name: two
dependency: shop
calls:
- {method: POST, path: /a, body: {n: 1, s: "2", list: [true, null, 1.50]}, save: {ID: "body.items[0].id", NO: body.x}}
- {method: GET, path: "/a/${ID}/é", query: {q: "${ID} &", r: [1, 2]}, headers: {X-Id: "v ${ID}"}, text: "t ${NO}"}
- {method: PUT, path: /a, body: {id: "${ID}"}}
dynamic: [{path: body.$..id, kind: id}]
"""
        sides = [self.stub(lambda m, p, n=n: (200, {"items": [{"id": f'q"{n}'}]})) for n in (1, 2)]
        for stub in sides:
            stub.server.RequestHandlerClass.do_PUT = stub.server.RequestHandlerClass.do_GET
        status, out, err = verify(self.file("two.yaml", text), "--real", sides[0].url, "--sim", sides[1].url, "--sim-reset",
                                  "none")
        self.assertEqual(status, 0, out + err)
        for n, stub in enumerate(sides, 1):
            first, second, third = stub.seen
            self.assertEqual(json.loads(first[2]), {"n": 1, "s": "2", "list": [True, None, 1.5]})
            self.assertIn(b"1.50", first[2])
            self.assertEqual(second[1], f"/a/q%22{n}/%C3%A9?q=q%22{n}%20%26&r=1&r=2")
            self.assertEqual(second[2], b"t missing-no")
            self.assertEqual(json.loads(third[2]), {"id": f'q"{n}'})

    def test_what_is_refused(self):
        url = self.stub(lambda m, p: (200, 1)).url
        good = self.file("good.yaml", SCENARIO)
        bad = {
            "name: a\ncals: []\n": r'bad.yaml:2:1: unknown key "cals" in a scenario; expected one of .*; did you mean calls\?',
            "name: a\ncalls: []\n": r"bad.yaml:2:\d+: calls: expected a list of 1 to 1000 calls",
            SCENARIO + "dynamic: [{path: body.$.a, kind: uid}]": r"bad.yaml:7:\d+: kind: expected one of id, token, time",
            SCENARIO + "dynamic: [{path: query.a, kind: id}]": r"bad.yaml:\d+.*dynamic: \"query.a\": expected body",
            SCENARIO.replace("/a", "a"): r"bad.yaml:6:.*path: expected it to begin with /",
            SCENARIO.replace("/a", "/a?b=1"): r"bad.yaml:6:.*path: expected no \?",
            SCENARIO.replace("path: /a", 'path: "/${ID}"'): r"bad.yaml:6:.*\$\{ID\} is saved by no earlier call",
            "- a": r"expected a scenario as a mapping; got a list",
            "a: [": r"bad.yaml:\d+",
        }
        for text, told in bad.items():
            status, _, err = verify(self.file("bad.yaml", text), "--real", url, "--sim", url)
            self.assertEqual(status, 2, text)
            self.assertRegex(err, told)
        for args, told in {
            (): "expected SCENARIOS",
            (good,): "expected --real URL or --real-cmd COMMAND",
            (good, "--real", url): "expected --sim URL",
            (good, "--real", "ftp://x", "--sim", url): "--real ftp://x",
            (good, "--real", url, "--sim", url, "--jobs", "65"): "--jobs 65: expected a number from 1 to 64",
            (good, "--real", url, "--sim", url, "--repeat", "0"): "--repeat 0: expected a number from 1 to 1000",
            (good, "--real", url, "--sim", url, "--only", "two"): "--only two: no scenario's name begins so",
            (good, "--real", url, "--sim", url, "--real-reset", "x"): "--real-reset x: expected a path",
            (good, "--real", f"other={url}", "--sim", url): "good.yaml: call 1 goes to \"shop\", and no target of the real side is called so; expected shop=URL",
            (good, "--real", url, "--sim", url, "--html", "/none/such.html"): "--html /none/such.html: No such file",
            (self.folder / "none.yaml", "--real", url, "--sim", url): "none.yaml: No such file",
            (good, good, "--real", url, "--sim", url): 'the scenario "one" is in',
            ("--rescore", good): "good.yaml: line 2, column 1: expected",
            ("--rescore", self.file("r.json", '{"format": "x"}')): "format: expected \"mirage-verify/1\"",
            ("--rescore", self.file("s.json", '{"format": "mirage-verify/1", "scenarios": [{"name": "a", "calls": [{}]}]}')):
                "scenarios[0]: calls[0]: real: expected an object; it is missing",
        }.items():
            status, _, err = verify(*args)
            self.assertEqual(status, 2, (args, err))
            self.assertIn(told, err)

    def test_what_is_not_there(self):
        with Stub(lambda m, p: (200, 1)) as gone:
            dead = gone.url
        url = self.stub(lambda m, p: (200, 1)).url
        good = self.file("good.yaml", SCENARIO)
        for args, told in ((("--real", dead, "--sim", url), "the real side"), (("--real", url, "--sim", dead), "the simulated side")):
            status, _, err = verify(good, *args)
            self.assertEqual(status, 3, err)
            self.assertIn(told, err)
        status, text, err = verify(good, "--real-cmd", "echo nothing here", "--sim", url)
        self.assertEqual(status, 3, err)
        self.assertIn('its first line is "nothing here"; expected URL or NAME=URL', text)
        status, text, _ = verify(good, "--real", url, "--real-reset", "/r", "--sim", url)
        self.assertEqual(status, 0, text)
        broken = self.stub(lambda m, p: (500 if p == "/r" else 200, 1)).url
        status, text, _ = verify(good, "--real", broken, "--real-reset", "/r", "--sim", url)
        self.assertEqual(status, 3)
        self.assertIn("POST /r to the real side's", text)
        self.assertIn("it answered 500", text)

    def test_odd_replies(self):
        """A reply that no result can hold costs its scenario, not the run; bytes, invalid JSON and empty bodies are compared."""
        def serve(reply):
            return self.raw(b"HTTP/1.1 " + reply)
        odd = {
            "bytes": b"200 OK\r\nContent-Length: 3\r\n\r\n\xff\x00\xfe",
            "no_json": b"200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{x",
            "nothing": b"204 No Content\r\n\r\n",
            "twice": b"200 OK\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 1\r\n\r\n1",
            "latin": b"200 OK\r\nX-A: caf\xe9\r\nContent-Length: 1\r\n\r\n1",
        }
        for name, reply in odd.items():
            with self.subTest(name):
                status, out, err = verify(self.file("s.yaml", SCENARIO), "--real", serve(reply), "--sim", serve(reply),
                                          "--sim-reset", "none")
                self.assertEqual(status, 0, out + err)
                other = serve(reply.replace(b"\xfe", b"\xfd").replace(b"{x", b"{y").replace(b"204", b"205").replace(b"X-A: 2", b"X-A: 3")
                              .replace(b"\xe9", b"\xe8"))
                status, out, err = verify(self.file("s.yaml", SCENARIO), "--real", serve(reply), "--sim", other, "--sim-reset", "none")
                self.assertEqual(status, 1, out + err)
        large = b"200 OK\r\nX-Large: " + b"x" * 9000 + b"\r\nContent-Length: 1\r\n\r\n1"
        good = SCENARIO.replace("name: one", "name: two")
        two = self.stub(lambda m, p: (200, 1))
        text = good.replace("dependency: shop", "dependency: other")
        status, out, err = verify(self.file("a.yaml", SCENARIO), self.file("b.yaml", text), "--real", "shop=" + serve(large),
                                  "--sim", "shop=" + serve(large), "--real", "other=" + two.url, "--sim", "other=" + two.url,
                                  "--sim-reset", "none")
        self.assertEqual(status, 1, out + err)
        self.assertIn("a reply cannot be kept: scenarios[0]: calls[0]: real: ", out)
        self.assertIn("1 of 1 scenarios passed", out)

    def raw(self, reply):
        """A server of one reply for every connection."""
        server = socket.create_server(("127.0.0.1", 0))
        stop = threading.Event()

        def serve():
            while not stop.is_set():
                if not select.select([server], [], [], 0.05)[0]:
                    continue
                connection, _ = server.accept()
                with connection:
                    data = b""
                    while b"\r\n\r\n" not in data and (piece := connection.recv(65536)):
                        data += piece
                    connection.sendall(reply.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
                    connection.shutdown(socket.SHUT_WR)
        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(lambda: (stop.set(), thread.join(), server.close()))
        return f"http://127.0.0.1:{server.getsockname()[1]}"

    def test_a_simulation_that_stops_answering(self):
        text = SCENARIO + "- {method: GET, path: /b}\n"
        real = self.stub(lambda m, p: (200, 1))

        def answer(method, path):
            if path == "/b":
                raise ConnectionResetError
            return 200, 1
        sim = self.stub(answer)
        status, out, _ = verify(self.file("s.yaml", text), "--real", real.url, "--sim", sim.url)
        self.assertEqual(status, 1)
        self.assertIn("call 2: status: no answer: ", out)


    def test_real_sides_do_not_outlive_the_program(self):
        go = threading.Event()
        self.addCleanup(go.set)
        asked = threading.Event()

        def answer(method, path):
            asked.set()
            go.wait(60)
            return 200, 1
        sim = self.stub(answer)
        real = self.stub(lambda m, p: (200, 1))
        command = f"echo $$ > {self.folder}/pid; echo {real.url}; exec tail -f /dev/null"
        program = [*shlex.split(os.environ.get("MIRAGE_WRAP", "")), os.environ["MIRAGE_BIN"], "verify",
                   self.file("one.yaml", SCENARIO), "--real-cmd", command, "--sim", sim.url, "-q"]
        process = subprocess.Popen(program, env=clean_environment())
        self.addCleanup(process.wait)
        self.assertTrue(asked.wait(60))
        child = os.pidfd_open(int((self.folder / "pid").read_text()))
        self.addCleanup(os.close, child)
        process.terminate()
        self.assertEqual(process.wait(30), -15)
        self.assertTrue(select.select([child], [], [], 30)[0])


class Judges(unittest.TestCase):
    """What the checker cannot decide."""

    def run_judged(self, answers, *args):
        """verify against a simulation whose message has other words; `answers` by judge's name."""
        with ExitStack() as stack:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            real = stack.enter_context(Stub(lambda m, p: (404, {"id": "x_1234ab", "message": "Item x_1234ab does not exist"})))
            sim = stack.enter_context(Stub(lambda m, p: (404, {"id": "x_99ffee", "message": "No item x_99ffee here"})))
            provider = stack.enter_context(Provider(lambda call: answers[call.model].pop(0)))
            (folder / "s.yaml").write_text(SCENARIO + "dynamic: [{path: body.$.id, kind: id}]\n")
            (folder / "mirage.yaml").write_text(f"""
model: {{provider: openai, base_url: "{provider.base_url}", name: m, retries: 0}}
judges: [{{name: one}}, {{name: two}}]
dependencies: [{{name: shop, listen: {{http: "127.0.0.1:0"}}, evidence: {{source: [s.yaml]}}}}]
""")
            done = verify("s.yaml", "--real", real.url, "--sim", sim.url, "--sim-reset", "none", "--judge", "-q", "--json", "r.json", *args, cwd=folder)
            return done, json.loads((folder / "r.json").read_text())["score"], provider.calls

    def test_both_must_agree(self):
        yes, no = '{"same": true, "why": "the words alone"}', '{"same": false, "why": "another cause"}'
        for one, two, passed, decided in ((yes, yes, True, "judges"), (no, no, False, "judges"), (yes, no, False, "nobody"),
                                          (no, yes, False, "nobody")):
            (status, text, err), score, calls = self.run_judged({"one": [one], "two": [two]})
            self.assertEqual((status, score["all"]["passed"], score["decided"][decided]), (0 if passed else 1, int(passed), 1), err)
            self.assertEqual(score["all"]["passed_alone"], 0)
            self.assertEqual(len(calls), 2)
            if not passed:
                self.assertIn("another cause", text)

    def test_what_they_see(self):
        yes = '{"same": true, "why": "w"}'
        _, _, calls = self.run_judged({"one": [yes], "two": [yes]})
        question = calls[0].last
        self.assertEqual(question, calls[1].last)
        for word in ("real", "simulat", "mirage", "x_1234ab", "x_99ffee"):
            self.assertNotIn(word, question.lower())
        self.assertIn("A: ", question)
        self.assertIn("Item <id 1> does not exist", question)
        self.assertIn("No item <id 1> here", question)
        self.assertIn('"same"', calls[0].system)

    def test_an_answer_that_is_none(self):
        yes = '{"same": true, "why": "w"}'
        (status, _, _), score, calls = self.run_judged({"one": ["yes", yes], "two": [yes]})
        self.assertEqual((status, score["decided"]["judges"]), (0, 1))
        repair = [call for call in calls if call.model == "one"][1]
        self.assertIn("Your answer cannot be used: expected {\"same\"", repair.last)
        (status, text, err), score, _ = self.run_judged({"one": ["yes", "yes"], "two": [yes]})
        self.assertEqual((status, score["decided"]["nobody"]), (1, 1))
        self.assertIn("a judge gave no answer", text)
        self.assertIn("1 without an answer", err)

    def test_a_person_decides(self):
        yes, no = '{"same": true, "why": "w"}', '{"same": false, "why": "n"}'
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "verdicts.yaml"
            (status, _, err), _, _ = self.run_judged({"one": [yes], "two": [no]}, "--verdicts", file)
            self.assertEqual(status, 1)
            entry = err[err.index("- scenario"):]
            self.assertIn('scenario: "one"', entry)
            for verdict, expected in (("same", 0), ("different", 1)):
                file.write_text(re.sub(r"verdict: .*", f"verdict: {verdict}", entry))
                (status, _, err), score, calls = self.run_judged({"one": [], "two": []}, "--verdicts", file)
                self.assertEqual((status, score["decided"]["person"], len(calls)), (expected, 1, 0), err)
            file.write_text(entry)
            (status, _, err), _, calls = self.run_judged({"one": [yes], "two": [no]}, "--verdicts", file)
            self.assertEqual((status, len(calls)), (1, 2))
            for text, told in (("a: 1", "expected a list of verdicts; got a mapping"),
                               ("- {scenario: a, pair: b, verdict: maybe}", "verdict: expected same or different"),
                               ("- {scenario: a}", "expected a mapping with scenario, pair and verdict")):
                file.write_text(text)
                status, _, err = verify("--rescore", EXAMPLE / "results" / "white-box-http-1.json", "--verdicts", file)
                self.assertEqual(status, 2)
                self.assertRegex(err, rf"verdicts.yaml:1:\d+: {told}")

    def test_there_are_two(self):
        with tempfile.TemporaryDirectory() as folder, Stub(lambda m, p: (200, 1)) as stub:
            path = pathlib.Path(folder)
            (path / "s.yaml").write_text(SCENARIO)
            base = 'dependencies: [{name: a, listen: {http: "127.0.0.1:0"}, evidence: {source: [s.yaml]}}]\nmodel: {name: m}\n'
            for judges, told in (("", "no judges; expected two models under `judges`"),
                                 ("judges: [{name: a}]", "judges: expected a list of two models; got a list of another length"),
                                 ("judges: {name: a}", "judges: expected a list of two models; got a mapping")):
                (path / "mirage.yaml").write_text(base + judges)
                status, _, err = verify("s.yaml", "--real", stub.url, "--sim", stub.url, "--judge", cwd=path)
                self.assertEqual(status, 2)
                self.assertIn(told, err)


if __name__ == "__main__":
    tap.main()
