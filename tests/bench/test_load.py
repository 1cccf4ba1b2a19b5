# SPDX-License-Identifier: Apache-2.0
"""The load generator and the bare server: `LOAD_HTTP` and `BARE_HTTP` are their programs."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import mirage as mirage_lib                # noqa: E402
import run_http                            # noqa: E402
import tap                                 # noqa: E402
from provider import Provider, Reply       # noqa: E402

LOAD, BARE = os.environ.get("LOAD_HTTP"), os.environ.get("BARE_HTTP")
BODY = '{"model": "m", "messages": [{"role": "user", "content": "{session}"}]}'
ASK = f"> POST /v1/chat/completions\n: Content-Type: application/json\n: X-S: {{session}}\n= {BODY}\n"


@unittest.skipUnless(LOAD, "LOAD_HTTP is not set")
class Load(unittest.TestCase):
    def run_load(self, port, scenario, *args):
        """(exit status, report or None, stderr)"""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write(scenario)
            f.flush()
            done = subprocess.run([LOAD, *args, f"127.0.0.1:{port}", f.name], capture_output=True, text=True,
                                  timeout=60)
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    def against(self, answer, scenario, *args):
        with Provider(answer) as p:
            return *self.run_load(p.port, scenario, *args), p.calls

    def test_order_and_sessions(self):
        code, report, err, calls = self.against("fine", ASK + "? fine\n" + ASK + "< 200\n", "--connections", "3",
                                                "--repeat", "7", "--warmup", "2", "--session-prefix", "s")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual((report["requests"], report["errors"], report["repetitions"]), (14, 0, 7))
        self.assertEqual(len(calls), 18)
        named = sorted(c.headers["x-s"] for c in calls)
        self.assertEqual(named, sorted([f"s{n}" for n in range(7)] * 2 + ["swarm-0", "swarm-1"] * 2))
        for call in calls:
            self.assertEqual(call.last, call.headers["x-s"])
            self.assertIsNone(call.problem)
        self.assertLessEqual(len({c.connection for c in calls}), 3)
        latency = report["latency_us"]
        self.assertTrue(0 < latency["median"] <= latency["p99"] <= latency["max"])

    def test_forms_of_reply(self):
        for name, reply in [("chunked", Reply("fine").chunked()), ("closing", Reply("fine").closing()),
                            ("drip", Reply("fine").drip(9, 0)), ("drip chunked", Reply("fine").chunked().drip(5, 0)),
                            ("large", Reply("x" * 3_000_000 + "fine"))]:
            with self.subTest(name):
                code, report, err, calls = self.against(reply, ASK + "? fine\n" + ASK, "--repeat", "3")
                self.assertEqual((code, err, report["requests"], len(calls)), (0, "", 6, 6))

    def test_errors_are_counted(self):
        for name, reply, requests, errors, text in [
                ("status", Reply.error(503), 4, 4, "unexpected status"),
                ("piece", Reply("other"), 4, 2, "expected piece"),
                ("nothing", Reply.cut("nothing"), 0, 2, "ended before"),
                ("reset", Reply.cut("headers", reset=True), 0, 2, ""),
                ("body", Reply.cut("body"), 0, 2, "ended before"),
                ("framing", Reply("x", headers={"Content-Length": "5"}), 0, 2, "not a well-formed")]:
            with self.subTest(name):
                code, report, err, _ = self.against(reply, ASK + "? fine\n" + ASK, "--repeat", "2")
                self.assertEqual((code, report["requests"], report["errors"]), (1, requests, errors))
                self.assertIn(text, err)

    def test_no_pieces(self):
        code, report, _, _ = self.against("other", ASK + "? fine\n", "--no-pieces")
        self.assertEqual((code, report["errors"]), (0, 0))

    def test_large_request(self):
        body = '{"model": "m", "messages": [{"role": "user", "content": "' + "y" * 8_000_000 + '"}]}'
        scenario = f"> POST /v1/chat/completions\n: Content-Type: application/json\n= {body}\n"
        code, report, err, calls = self.against("ok", scenario, "--repeat", "2")
        self.assertEqual((code, err, report["requests"]), (0, "", 2))
        self.assertEqual({len(c.last) for c in calls}, {8_000_000})

    def test_silence(self):
        code, report, err, _ = self.against(Reply("x").hold(), ASK, "--timeout", "1")
        self.assertEqual((code, report), (2, None))
        self.assertIn("no reply for 1 s", err)

    def test_usage(self):
        self.assertEqual(self.run_load(1, ASK, "--repeat", "none")[0], 2)
        self.assertEqual(self.run_load(1, "x\n")[0], 2)
        self.assertIn("cannot connect", self.run_load(1, ASK)[2])

    @unittest.skipUnless(BARE, "BARE_HTTP is not set")
    def test_bare_server(self):
        for threads in (1, 2):
            with self.subTest(threads=threads), run_http.bare_server(BARE, threads=threads, size=500) as server:
                status, headers, body = mirage_lib.http("POST", server.url + "/a", {"x": "y" * 100_000})
                self.assertEqual((status, len(body)), (200, 500))
                self.assertEqual(mirage_lib.header(headers, "content-type"), "application/json")
                json.loads(body)
                port = mirage_lib.address_of(server.url)[1]
                code, report, err = self.run_load(port, run_http.scenario_text(run_http.SCENARIO), "--no-pieces",
                                                  "--connections", "8", "--repeat", "300", "--pid", str(server.pid))
                self.assertEqual((code, err, report["requests"], report["errors"]), (0, "", 3000, 0))
                self.assertGreater(report["server_rss_kb"], 0)
                # The two clocks differ by at most a few ticks of 10 ms over the whole run.
                apart = report["server_cpu_us_per_request"] - report["server_cpu_fine_us_per_request"]
                self.assertLess(abs(apart) * report["requests"], 40_000)

    @unittest.skipUnless(BARE, "BARE_HTTP is not set")
    def test_comparison(self):
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "r.json")
            done = subprocess.run([sys.executable, os.path.join(HERE, "run_http.py"), "--bare", BARE, "--load", LOAD,
                                   "--rounds", "2", "--repeat", "50", "--warmup", "5", "--json", result, "--command",
                                   f"{BARE} --port {{port}}"], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("requests per second", done.stdout)
            with open(result, encoding="utf-8") as f:
                document = json.load(f)
            self.assertEqual(len(document["rounds"]), 2)
            self.assertGreater(document["summary"]["requests_per_second"]["ratio"], 0)

    @unittest.skipUnless(BARE, "BARE_HTTP is not set")
    def test_recorded_and_replayed(self):
        standin = f"{sys.executable} {os.path.join(HERE, '..', 'lib', 'standin.py')}"
        done = subprocess.run([sys.executable, os.path.join(HERE, "run_http.py"), "--bare", BARE, "--load", LOAD,
                               "--rounds", "1", "--repeat", "20", "--warmup", "2", "--connections", "2", "--pin",
                               "--mirage", standin], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("recorded 10 exchanges with 10 model calls", done.stderr)
        self.assertIn("mirage", done.stdout)


if __name__ == "__main__":
    tap.main()
