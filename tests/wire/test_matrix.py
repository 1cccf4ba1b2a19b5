# SPDX-License-Identifier: Apache-2.0
"""Clients that nobody here wrote, and what of each wire they can do: the table of docs/wires.md.

Each client program of tests/clients prints one line a feature. A client that this machine does not have is skipped and
keeps its column in the page; one whose results differ from its column fails. With MIRAGE_RESULTS set the results go to
that folder, for tools/update-wires.py.
"""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from wire import SLOW, Mirage, Provider, shown

import tap
from provider import Reply

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = HERE.parent / "clients"
ROOT = HERE.parents[1]
LIMIT = 64 << 10

spec = importlib.util.spec_from_file_location("update_wires", ROOT / "tools" / "update-wires.py")
update_wires = importlib.util.module_from_spec(spec)
spec.loader.exec_module(update_wires)

CONFIG = """\
model: {{provider: openai, base_url: {base}, name: m}}
limits: {{body: {limit}B}}
dependencies:
  - name: matrix
    listen: {{http: "127.0.0.1:0", grpc: "127.0.0.1:0", zmq: ["tcp://127.0.0.1:*"]}}
    protos: {{roots: [{clients}], files: [matrix.proto]}}
    engines: [llm]
    on_gone: drop
  - name: by-body
    listen: {{zmq: ["tcp://127.0.0.1:*"]}}
    zmq: {{format: body, route: POST /echo, control: "tcp://127.0.0.1:*"}}
    engines: [llm]
  - name: by-parts
    listen: {{zmq: ["tcp://127.0.0.1:*"]}}
    zmq: {{format: multipart}}
    engines: [llm]
  - name: by-message
    listen: {{zmq: ["tcp://127.0.0.1:*"]}}
    protos: {{roots: [{clients}], files: [matrix.proto]}}
    zmq: {{format: protobuf, rpc: matrix.v1.Matrix/Echo}}
    engines: [llm]
"""

FAILURES = {
    "/fail/conflict": {"status": 409, "body": {"error": {"code": "VERSION_CONFLICT", "message": "expected version 1"}}},
    "/fail/exact": {"grpc_status": "OUT_OF_RANGE", "grpc_message": "past the end", "grpc_details": [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "END", "domain": "matrix"}]},
    "/fail/number": {"grpc_status": 400, "grpc_message": "odd"},
}


def answer(call):
    request = shown(call)
    if request["path"] in FAILURES:
        return Reply.json(FAILURES[request["path"]])
    reply = Reply.json({"status": 200, "headers": {"x-kind": "echo"}, "trailers": {"x-tail": "end"},
                        "body": request.get("body", {})})
    if request["path"] == "/slow":
        reply.hold()    # for good: its callers do not wait
    return reply


def node(script):
    modules = os.environ.get("MIRAGE_TEST_NODE", "")
    if not shutil.which("node") or not os.path.isdir(os.path.join(modules, "node_modules", "zeromq")):
        return None
    return ["env", f"NODE_PATH={modules}/node_modules", "node", str(CLIENTS / script)]


def grpcurl():
    path = os.environ.get("MIRAGE_TEST_GRPCURL", "")
    return ["env", f"GRPCURL={path}", sys.executable, str(CLIENTS / "client_grpcurl.py")] if os.path.exists(path) else None


class Matrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.provider = Provider(answer)
        cls.provider.__enter__()
        cls.mirage = Mirage(CONFIG.format(base=cls.provider.base_url, limit=LIMIT, clients=CLIENTS))
        cls.mirage.start()
        entry = {name: cls.mirage.dependency(name) for name in cls.mirage.names}
        cls.given = {
            "roots": [str(CLIENTS), str(ROOT / "proto"), "/usr/include"], "limit": LIMIT,
            "grpc": entry["matrix"]["grpc"], "zmq": entry["matrix"]["zmq"][0],
            "zmq_control": entry["by-body"]["zmq_control"], "zmq_body": entry["by-body"]["zmq"][0],
            "zmq_multipart": entry["by-parts"]["zmq"][0], "zmq_protobuf": entry["by-message"]["zmq"][0],
        }

    @classmethod
    def tearDownClass(cls):
        cls.mirage.close()
        cls.provider.__exit__(None, None, None)

    def check(self, wire, name, command, arguments=None):
        if not command:
            self.skipTest(f"{name} is not on this machine")
        done = subprocess.run([*command, *(arguments or [json.dumps(self.given)])], capture_output=True, text=True,
                              timeout=120 * SLOW)
        rows = dict(line.split("\t", 1) for line in done.stdout.splitlines())
        failed = {feature: word for feature, word in rows.items() if word.startswith("fail")}
        self.assertEqual({}, failed, done.stderr[-3000:])
        self.assertEqual(0, done.returncode, done.stderr[-3000:])
        folder = os.environ.get("MIRAGE_RESULTS")
        if folder:
            path = pathlib.Path(folder) / f"{name.replace('/', '-')}.json"
            path.write_text(json.dumps({"wire": wire, "clients": {name: rows}}), encoding="utf-8")
            return
        page = update_wires.PAGE.read_text(encoding="utf-8")
        self.assertEqual({f: update_wires.WORDS.get(w, w) for f, w in rows.items()},
                         {f: w for f, w in update_wires.read_table(page, wire).get(name, {}).items()
                          if w != update_wires.NONE},
                         "docs/wires.md has drifted: run tools/update-wires.py with the results")

    def test_grpcio(self):
        self.check("gRPC", "Python grpcio", [sys.executable, str(CLIENTS / "client_grpcio.py")])

    def test_grpc_js(self):
        self.check("gRPC", "Node @grpc/grpc-js", node("client_grpc_js.js"))

    def test_grpcurl(self):
        self.check("gRPC", "grpcurl", grpcurl())

    def test_pyzmq(self):
        self.check("ZeroMQ", "Python pyzmq", [sys.executable, str(CLIENTS / "client_pyzmq.py")])

    def test_zeromq_js(self):
        self.check("ZeroMQ", "Node zeromq", node("client_zeromq_js.js"))

    def test_czmq(self):
        path = os.environ.get("MIRAGE_TEST_CZMQ", "")
        self.check("ZeroMQ", "czmq", [path] if os.path.exists(path) else None,
                   [self.given["zmq"], self.given["zmq_control"]])

    def test_statuses_in_the_page(self):
        program = self.mirage.binary[0]
        told = subprocess.run([program, "docs", "statuses"], capture_output=True, text=True, check=True).stdout
        page = update_wires.PAGE.read_text(encoding="utf-8")
        self.assertEqual(told, update_wires.section("statuses").search(page)[2])


if __name__ == "__main__":
    tap.main()
