# SPDX-License-Identifier: Apache-2.0
"""`mirage call` and `mirage ls` against small real servers: http.server, grpcio, pyzmq. None of them is Mirage."""
import base64
import contextlib
import http.server
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent import futures

import grpc
import zmq
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory, struct_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import tap  # noqa: E402
from mirage import run_mirage  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTOS = ROOT / "proto"

PROTO = {
    "demo/v1/types.proto": """
        syntax = "proto3";
        package demo.v1;
        import "google/protobuf/timestamp.proto";
        enum Kind { KIND_UNSPECIFIED = 0; KIND_SMALL = 1; }
        message Item {
          string id = 1; int64 amount = 2; bytes seal = 3; Kind kind = 4; repeated string tags = 5; string item_name = 6;
          google.protobuf.Timestamp at = 7;
        }""",
    "demo/v1/items.proto": """
        syntax = "proto3";
        package demo.v1;
        import "demo/v1/types.proto";
        import "google/api/annotations.proto";
        import "google/protobuf/timestamp.proto";
        message GetRequest { string item_id = 1; int32 depth = 2; google.protobuf.Timestamp at = 3; }
        message Failure { int32 code = 1; string message = 2; }
        service Items {
          rpc Get(GetRequest) returns (Item) { option (google.api.http) = {get: "/items/{item_id}"}; }
          rpc Tags(GetRequest) returns (Item) { option (google.api.http) = {get: "/items/{item_id}/tags" response_body: "tags"}; }
          rpc Add(Item) returns (Item) { option (google.api.http) = {post: "/items" body: "*"}; }
          rpc Fail(Failure) returns (Item);
          rpc Silent(GetRequest) returns (Item);
          rpc Watch(GetRequest) returns (stream Item);
        }""",
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Types:
    """Descriptors and classes of .proto files, by protoc and without generated code."""

    def __init__(self, *names, roots):
        with tempfile.NamedTemporaryFile(suffix=".binpb") as out:
            subprocess.run(["protoc", *(f"-I{root}" for root in roots), "--include_imports",
                            f"--descriptor_set_out={out.name}", *names], check=True)
            self.set = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes())
        self.pool = descriptor_pool.DescriptorPool()
        for file in self.set.file:
            self.pool.Add(file)
        self.factory = message_factory.MessageFactory(self.pool)

    def __call__(self, name):
        return self.factory.GetPrototype(self.pool.FindMessageTypeByName(name))


class Reflector:
    """Server reflection in one version; like Go's, it leaves it to the client to ask for imports."""

    def __init__(self, types, version, services):
        self.types, self.services, self.asked = types, services, []
        self.path = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
        own = Types(f"grpc/reflection/{version}/reflection.proto", roots=[PROTOS])
        self.request = own(f"grpc.reflection.{version}.ServerReflectionRequest")
        self.response = own(f"grpc.reflection.{version}.ServerReflectionResponse")

    def answer(self, request):
        reply = self.response(original_request=request)
        which = request.WhichOneof("message_request")
        self.asked.append((which, getattr(request, which)))
        try:
            if which == "list_services":
                for name in self.services:
                    reply.list_services_response.service.add(name=name)
                return reply
            file = (self.types.pool.FindFileByName(request.file_by_filename) if which == "file_by_filename" else
                    self.types.pool.FindFileContainingSymbol(request.file_containing_symbol))
            reply.file_descriptor_response.file_descriptor_proto.append(file.serialized_pb)
        except KeyError:
            reply.error_response.error_code = 5
            reply.error_response.error_message = "not found"
        return reply

    def handler(self):
        return grpc.stream_stream_rpc_method_handler(
            lambda requests, context: (self.answer(r) for r in requests),
            request_deserializer=self.request.FromString, response_serializer=lambda m: m.SerializeToString())


class Exact:
    """A status code that grpcio has no name for."""
    value = (400, "four hundred")


class Items(grpc.GenericRpcHandler):
    def __init__(self, types, reflector=None):
        self.types, self.reflector, self.seen = types, reflector, []
        self.done = threading.Event()

    def service(self, details):
        if self.reflector and details.method == self.reflector.path:
            return self.reflector.handler()
        if not details.method.startswith("/demo.v1.Items/"):
            return None
        name = details.method.rsplit("/", 1)[1]
        given = {"Get": "GetRequest", "Add": "Item", "Fail": "Failure", "Silent": "GetRequest", "Tags": "GetRequest"}.get(name)
        if not given:
            return None
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: getattr(self, name)(request, context),
            request_deserializer=self.types(f"demo.v1.{given}").FromString,
            response_serializer=lambda m: m.SerializeToString())

    def Get(self, request, context):
        self.seen.append((request, context.invocation_metadata(), context.time_remaining()))
        context.send_initial_metadata((("x-begin", "one"), ("x-raw-bin", b"\x00\xff")))
        context.set_trailing_metadata((("x-end", "two"),))
        return self.types("demo.v1.Item")(id=request.item_id, amount=9007199254740993, seal=b"\x00\x01", kind=1)

    def Add(self, request, context):
        self.seen.append((request, context.invocation_metadata(), context.time_remaining()))
        return request

    def Tags(self, request, context):
        return self.types("demo.v1.Item")(id=request.item_id, tags=["a", "b"])

    def Fail(self, request, context):
        codes = {code.value[0]: code for code in grpc.StatusCode} | {400: Exact}
        if request.code == 9:
            context.set_trailing_metadata((("grpc-status-details-bin", details(request.message)), ("x-end", "two")))
        context.set_code(codes[request.code])
        context.set_details(request.message)
        return self.types("demo.v1.Item")()

    def Silent(self, request, context):
        self.done.wait(30)
        return self.types("demo.v1.Item")()


def details(message):
    types = Types("google/rpc/status.proto", "google/rpc/error_details.proto", roots=[PROTOS, "/usr/include"])
    status = types("google.rpc.Status")(code=9, message=message)
    for value in (types("google.rpc.ErrorInfo")(reason="SOLD_OUT", domain="demo"), struct_pb2.Struct()):
        if isinstance(value, struct_pb2.Struct):
            value["left"] = 3
        packed = any_pb2.Any()
        packed.type_url = "type.googleapis.com/" + value.DESCRIPTOR.full_name
        packed.value = value.SerializeToString()
        status.details.add().ParseFromString(packed.SerializeToString())
    status.details.add(type_url="example.com/demo.Unknown", value=b"\x08\x01")
    return status.SerializeToString()


class Case(unittest.TestCase):
    maxDiff = None

    def call(self, *args, status=0, json_output=True, command="call", **options):
        """The document that the program prints, or its text; `status` is the exit status that is expected."""
        code, out, err = run_mirage(command, *args, *(["--json"] if json_output else []), **options)
        self.assertEqual(status, code, out + err)
        if status >= 2:
            self.assertEqual("", out)
            self.assertTrue(err.startswith("mirage: ") and err.count("\n") == 1, err)
            return err
        self.assertEqual("", err)
        return json.loads(out) if json_output else out

    def folder(self):
        return self.enterContext(tempfile.TemporaryDirectory())

    def enterContext(self, context):
        result = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return result


# HTTP ------------------------------------------------------------------------------------------------------


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.seen.append((self.command, self.path, list(self.headers.items()), body))
        status, headers, out = self.server.answer(self.path, body)
        if status is None:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(out)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = reply


def answer(path, body):
    if path.startswith("/status/"):
        return int(path.split("/")[2]), [("Location", "/elsewhere")], b""
    if path == "/binary":
        return 200, [("Content-Type", "application/octet-stream")], b"\x00\xff"
    if path == "/text":
        return 200, [("Content-Type", "text/plain"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")], "h\u00e9".encode()
    if path == "/gone":
        return None, [], b""
    return 200, [("Content-Type", "application/json")], body or b'{"a": 1.50}'


class Http(Case):
    def setUp(self):
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.seen, self.server.answer = [], answer
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def seen(self):
        command, path, headers, body = self.server.seen[-1]
        return command, path, {name.lower(): value for name, value in headers}, body

    def test_get(self):
        reply = self.call(self.url + "/a%2Fb/../c?x=1&y", "-H", "X-One: 1 ", "-H", "x-two:2", "--session", "blue")
        command, path, headers, body = self.seen()
        self.assertEqual(("GET", "/a%2Fb/../c?x=1&y", b""), (command, path, body))
        self.assertEqual(("1", "2", "blue"), (headers["x-one"], headers["x-two"], headers["mirage-session"]))
        self.assertNotIn("content-type", headers)
        self.assertEqual((200, {"a": 1.5}), (reply["status"], reply["body"]))
        self.assertEqual("application/json", reply["headers"]["content-type"])
        self.assertGreater(reply["ms"], 0)

    def test_without_a_path(self):
        self.call(self.url)
        self.assertEqual("/", self.seen()[1])
        self.call(self.url + "?q=1")
        self.assertEqual("/?q=1", self.seen()[1])

    def test_body(self):
        text = '{"n": 1.50, "big": 12345678901234567890}'
        out = self.call(self.url + "/echo", "-d", text, json_output=False)
        self.assertEqual(f"200 OK\n\n{text}\n", out)
        command, _, headers, body = self.seen()
        self.assertEqual(("POST", "application/json", text.encode()), (command, headers["content-type"], body))

    def test_body_from_file_and_standard_input(self):
        file = pathlib.Path(self.folder()) / "body"
        file.write_text("plain text")
        self.call(self.url + "/echo", "-X", "PUT", "-d", f"@{file}")
        command, _, headers, body = self.seen()
        self.assertEqual(("PUT", b"plain text"), (command, body))
        self.assertNotIn("content-type", headers)
        self.call(self.url + "/echo", "-d", "@-", "-H", "Content-Type: text/csv", stdin="a,b\n")
        self.assertEqual(("text/csv", b"a,b\n"), (self.seen()[2]["content-type"], self.seen()[3]))
        self.assertIn("-d @nowhere: No such file", self.call(self.url, "-d", "@nowhere", status=2))

    def test_other_methods(self):
        for method in ("DELETE", "OPTIONS", "PATCH", "HEAD"):
            self.call(self.url + "/x", "-X", method)
            self.assertEqual(method, self.seen()[0])
        self.assertEqual("0", dict(self.server.seen[-2][2])["Content-Length"], "of PATCH")

    def test_statuses(self):
        for code, status in ((204, 0), (302, 1), (404, 1), (503, 1)):
            self.assertEqual(code, self.call(self.url + f"/status/{code}", status=status)["status"])
        self.assertEqual("404 Not Found\n", self.call(self.url + "/status/404", status=1, json_output=False))
        self.assertEqual("299\n", self.call(self.url + "/status/299", json_output=False))
        self.assertEqual(6, len(self.server.seen), "no redirect is followed")

    def test_text_binary_and_repeated_headers(self):
        reply = self.call(self.url + "/text")
        self.assertEqual(("h\u00e9", ["a=1", "b=2"]), (reply["body_text"], reply["headers"]["set-cookie"]))
        self.assertEqual("AP8=", self.call(self.url + "/binary")["body_base64"])
        shown = self.call(self.url + "/text", "-v", json_output=False)
        self.assertRegex(shown, "(?s)^200 OK\n.*content-type: text/plain\nset-cookie: a=1\nset-cookie: b=2\n.*\n\nh\u00e9\n$")

    def test_failures(self):
        self.assertRegex(self.call(f"http://127.0.0.1:{free_port()}/x", status=3), "127.0.0.1:.*[Cc]onnect")
        self.assertRegex(self.call("http://no-such-host.invalid/", status=3), "no-such-host.invalid: .*resolve")
        self.assertRegex(self.call(self.url + "/gone", status=3), "Empty reply")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            self.assertRegex(self.call(url, "--timeout", "200ms", status=3), "timed out")

    def test_usage(self):
        for args, message in (
                (("ftp://x/",), "expected http://"), (("127.0.0.1:80",), "expected http://"),
                (("http:///x",), r"expected http://host\[:port\]/path"), (("http://a:0/",), "expected http://host"),
                (("http://a:99999/",), "expected http://host"), (("http://a/b c",), "percent-encoded"),
                ((self.url, "-H", "nocolon"), "-H nocolon: expected NAME:VALUE"),
                ((self.url, "-H", "a b: c"), "expected NAME:VALUE"), ((self.url, "-X", "G T"), "expected a method"),
                ((self.url, "--timeout", "5"), "expected a duration"), ((self.url, "--timeout", "0s"), "duration"),
                ((self.url, "--session", ""), "expected a name"), ((self.url, "-X", "HEAD", "-d", "1"), "HEAD has no body"),
                ((self.url, "--proto", "nowhere.proto"), "--proto nowhere.proto: No such file"),
                ((), "call needs URL")):
            with self.subTest(args=args):
                self.assertRegex(self.call(*args, status=2), message)
        self.assertEqual([], self.server.seen)

    def test_proxy_of_the_environment_is_not_for_loopback(self):
        proxy = f"http://127.0.0.1:{free_port()}"
        self.call(self.url, env={"http_proxy": proxy})
        self.call("http://nowhere.invalid/x", env={"http_proxy": self.url})
        self.assertEqual("http://nowhere.invalid/x", self.seen()[1])

    def test_ls_of_what_is_no_mirage(self):
        code, out, err = run_mirage("ls", self.url)
        self.assertEqual((1, ""), (code, out))
        self.assertIn("is no Mirage server", err)

    def test_ls_of_a_mirage(self):
        self.server.answer = lambda path, body: (200, [], b'{"status":"serving","dependencies":["inventory","pay\\u006dent"]}')
        self.assertEqual("inventory\npayment\n", self.call(self.url, command="ls", json_output=False))
        self.assertEqual("/__mock__/health", self.seen()[1])
        self.assertEqual(["inventory", "payment"], self.call(self.url, command="ls")["dependencies"])


# gRPC ------------------------------------------------------------------------------------------------------


class Grpc(Case):
    @classmethod
    def setUpClass(cls):
        cls.files = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.files.cleanup)
        for name, text in PROTO.items():
            path = pathlib.Path(cls.files.name) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        cls.types = Types("demo/v1/items.proto", roots=[cls.files.name, PROTOS, "/usr/include"])
        cls.by_file = ("--proto", "demo/v1/items.proto", "--proto-path", cls.files.name)
        grpc._common.STATUS_CODE_TO_CYGRPC_STATUS_CODE[Exact] = 400

    def serve(self, reflection=None, credentials=None):
        reflector = Reflector(self.types, reflection, ["demo.v1.Items", "demo.v1.Hidden"]) if reflection else None
        self.items = Items(self.types, reflector)
        server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[self.items])
        port = (server.add_secure_port("127.0.0.1:0", credentials) if credentials else
                server.add_insecure_port("127.0.0.1:0"))
        server.start()

        def stop():
            self.items.done.set()
            server.stop(None).wait()
        self.addCleanup(stop)
        return f"grpc{'s' if credentials else ''}://127.0.0.1:{port}"

    def test_by_reflection(self):
        for version in ("v1", "v1alpha"):
            with self.subTest(version=version):
                url = self.serve(version)
                reply = self.call(url + "/demo.v1.Items/Get", "-d", '{"itemId": "i-1", "depth": "3"}')
                self.assertEqual((0, "OK"), (reply["grpc_status"], reply["grpc_name"]))
                self.assertNotIn("status", reply)
                self.assertEqual({"id": "i-1", "amount": 9007199254740993, "seal": "AAE=", "kind": "KIND_SMALL", "tags": [],
                                  "item_name": ""}, reply["body"])
                self.assertEqual(("one", "AP8="), (reply["headers"]["x-begin"], reply["headers"]["x-raw-bin"]))
                self.assertEqual({"x-end": "two"}, reply["trailers"])
                request, _, left = self.items.seen[0]
                self.assertEqual(("i-1", 3), (request.item_id, request.depth))
                self.assertTrue(20 < left <= 30, left)
                asked = self.items.reflector.asked
                self.assertIn(("file_by_filename", "demo/v1/types.proto"), asked)
                self.assertEqual(len(asked), len(set(asked)), "nothing is asked twice")

    def test_without_reflection(self):
        url = self.serve()
        reply = self.call(url + "/demo.v1.Items/Get", "-d", '{"item_id": "i-1"}', *self.by_file)
        self.assertEqual("i-1", reply["body"]["id"])
        self.assertRegex(self.call(url + "/demo.v1.Items/Get", "-d", '{"item_id": "i-1"}', status=2), "has no reflection")
        # An empty message needs no types, and what comes back is shown as it is.
        reply = self.call(url + "/demo.v1.Items/Get")
        item = self.types("demo.v1.Item").FromString(base64.b64decode(reply["body_base64"]))
        self.assertEqual(("", 9007199254740993), (item.id, item.amount))

    def test_descriptor_set(self):
        url = self.serve()
        path = pathlib.Path(self.folder()) / "set.binpb"
        path.write_bytes(self.types.set.SerializeToString())
        reply = self.call(url + "/demo.v1.Items/Get", "-d", '{"item_id": "i-1"}', "--descriptor-set", str(path))
        self.assertEqual("i-1", reply["body"]["id"])

    def test_proto_paths(self):
        url = self.serve()
        for args, cwd in ((("--proto", f"{self.files.name}/demo/v1/items.proto", "--proto-path", self.files.name), None),
                          (("--proto", "demo/v1/items.proto"), self.files.name),
                          (("--proto", "v1/items.proto", "--proto-path", ".."), self.files.name + "/demo")):
            with self.subTest(args=args):
                self.assertEqual("i", self.call(url + "/items/i", *args, cwd=cwd)["body"]["id"])
        self.assertRegex(self.call(url + "/items/i", "--proto", "x.proto", "--proto-path", self.files.name, status=2),
                         "no such file in any --proto-path")

    def test_by_route(self):
        url = self.serve()
        self.assertEqual("a b", self.call(url + "/items/a%20b?depth=4", *self.by_file)["body"]["id"])
        self.assertEqual(4, self.items.seen[-1][0].depth)
        reply = self.call(url + "/items", "-d", '{"id": "i-2", "amount": 7, "item_name": "x"}', *self.by_file)
        self.assertEqual((7, "x"), (reply["body"]["amount"], reply["body"]["item_name"]))
        self.assertEqual(["a", "b"], self.call(url + "/items/i/tags", *self.by_file)["body"])
        self.assertEqual("i", self.call(url + "/demo.v1.Items/Tags", "-d", '{"item_id": "i"}', *self.by_file)["body"]["id"])
        self.assertRegex(self.call(url + "/nowhere", *self.by_file, status=2), "no method of .* is GET /nowhere")

    def test_metadata(self):
        url = self.serve()
        self.call(url + "/items/i", *self.by_file, "-H", "X-One: 1", "-H", "x-bin: AP8", "--session", "blue", "-H", "x-one: 2",
                  "-H", "content-type: application/json", "-H", "host: elsewhere", "-H", "grpc-timeout: 1S")
        seen = [(m.key, m.value) for m in self.items.seen[0][1]]
        for pair in (("x-one", "1"), ("x-one", "2"), ("x-bin", b"\x00\xff"), ("mirage-session", "blue")):
            self.assertIn(pair, seen)
        self.assertRegex(dict(seen)["user-agent"], "^mirage/")
        self.assertGreater(self.items.seen[0][2], 20)
        for header, expected in (("x: \u00e9", "printable ASCII"), ("x-bin: !", "base64"), ("a!b: c", "a name of")):
            self.assertRegex(self.call(url + "/items/i", *self.by_file, "-H", header, status=2), expected)

    def test_statuses(self):
        url = self.serve()
        for code, name in ((5, "NOT_FOUND"), (10, "ABORTED"), (14, "UNAVAILABLE"), (4, "DEADLINE_EXCEEDED"), (1, "CANCELLED")):
            with self.subTest(name=name):
                data = json.dumps({"code": code, "message": "caf\u00e9\nempty"})
                reply = self.call(url + "/demo.v1.Items/Fail", "-d", data, *self.by_file, status=1)
                self.assertEqual((code, name, "caf\u00e9\nempty"), (reply["grpc_status"], reply["grpc_name"], reply["grpc_message"]))
                self.assertNotIn("body", reply)
        reply = self.call(url + "/demo.v1.Items/Fail", "-d", '{"code": 400, "message": "no"}', *self.by_file, status=1)
        self.assertEqual((400, "no"), (reply["grpc_status"], reply["grpc_message"]))
        self.assertNotIn("grpc_name", reply)
        out = self.call(url + "/demo.v1.Items/Fail", "-d", '{"code": 400, "message": "no"}', *self.by_file, status=1,
                        json_output=False)
        self.assertEqual("400: no\n", out)
        out = self.call(url + "/demo.v1.Items/Fail", "-d", '{"code": 10, "message": "no"}', *self.by_file, status=1,
                        json_output=False)
        self.assertEqual("ABORTED (10): no\n", out)

    def test_details(self):
        url = self.serve()
        reply = self.call(url + "/demo.v1.Items/Fail", "-d", '{"code": 9, "message": "sold out"}', *self.by_file, status=1)
        self.assertEqual([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SOLD_OUT", "domain": "demo",
                           "metadata": {}},
                          {"@type": "type.googleapis.com/google.protobuf.Struct", "value": {"left": 3}},
                          {"@type": "example.com/demo.Unknown", "value": "CAE="}], reply["grpc_details"])
        self.assertEqual({"x-end": "two"}, reply["trailers"])

    def test_unknown_methods(self):
        url = self.serve("v1")
        reply = self.call(url + "/demo.v1.Items/Nope", status=1)
        self.assertEqual(12, reply["grpc_status"])
        self.assertRegex(self.call(url + "/demo.v1.Items/Nope", "-d", '{"a": 1}', status=2), "no method of .* is POST")
        self.assertRegex(self.call(url + "/demo.v1.Items/Watch", *self.by_file, status=2), "streams")

    def test_requests_that_do_not_fit(self):
        url = self.serve()
        for data, message in (('{"itemid": 1}', "itemid"), ('{"depth": "x"}', "depth"), ("{", "no JSON"), ("[]", "object")):
            with self.subTest(data=data):
                self.assertRegex(self.call(url + "/demo.v1.Items/Get", "-d", data, *self.by_file, status=2), message)
        self.assertEqual([], self.items.seen)

    def test_time_and_reach(self):
        url = self.serve()
        self.assertRegex(self.call(url + "/demo.v1.Items/Silent", *self.by_file, "--timeout", "300ms", status=3), "in time")
        begun = time.monotonic()
        self.assertRegex(self.call(f"grpc://127.0.0.1:{free_port()}/items/i", *self.by_file, status=3), "[Rr]efused")
        self.assertRegex(self.call(f"grpc://127.0.0.1:{free_port()}/a.B/C", status=3), "[Rr]efused")
        self.assertLess(time.monotonic() - begun, 20)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.call(f"grpc://127.0.0.1:{silent.getsockname()[1]}/items/i", *self.by_file, "--timeout", "300ms", status=3)

    def test_tls(self):
        folder = pathlib.Path(self.folder())
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", folder / "key.pem",
                        "-out", folder / "cert.pem"], check=True, capture_output=True)
        key, cert = (folder / "key.pem").read_bytes(), (folder / "cert.pem").read_bytes()
        url = self.serve("v1", grpc.ssl_server_credentials([(key, cert)]))
        trust = ("--cacert", str(folder / "cert.pem"))
        self.assertEqual("i", self.call(url + "/items/i", *trust)["body"]["id"])
        self.assertIn("demo.v1.Items", self.call(url, *trust, command="ls", json_output=False))
        self.assertIn("certificate verify failed", self.call(url + "/items/i", status=3))
        self.assertIn("nowhere.pem", self.call(url + "/items/i", "--cacert", "nowhere.pem", status=2))

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.seen, server.answer, server.daemon_threads = [], answer, True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        https = f"https://127.0.0.1:{server.server_address[1]}/"
        self.assertEqual(200, self.call(https, *trust)["status"])
        self.assertIn("certificate", self.call(https, status=3))

    def test_ls(self):
        url = self.serve("v1alpha")
        expected = """demo.v1.Items
  Get     demo.v1.GetRequest -> demo.v1.Item         GET /items/{item_id}
  Tags    demo.v1.GetRequest -> demo.v1.Item         GET /items/{item_id}/tags
  Add     demo.v1.Item       -> demo.v1.Item         POST /items
  Fail    demo.v1.Failure    -> demo.v1.Item
  Silent  demo.v1.GetRequest -> demo.v1.Item
  Watch   demo.v1.GetRequest -> stream demo.v1.Item
"""
        self.assertEqual(expected, self.call(url, command="ls", json_output=False))
        self.assertEqual(expected, self.call("grpc://127.0.0.1:1", *self.by_file, command="ls", json_output=False))
        methods = self.call(url, command="ls")["services"][0]["methods"]
        self.assertEqual({"name": "Watch", "path": "/demo.v1.Items/Watch", "input": "demo.v1.GetRequest",
                          "output": "demo.v1.Item", "client_streams": False, "server_streams": True, "routes": []}, methods[5])
        self.assertRegex(self.call(self.serve(), command="ls", status=2), "has no reflection")
        self.assertRegex(self.call(f"grpc://127.0.0.1:{free_port()}", command="ls", status=3), "[Rr]efused")


# ZeroMQ ----------------------------------------------------------------------------------------------------


class Zmq(Case):
    def setUp(self):
        self.context, self.threads = zmq.Context(), []

        def stop():
            self.context.term()     # the threads' sockets then fail, and the threads close them
            for thread in self.threads:
                thread.join()
        self.addCleanup(stop)

    def serve(self, handle, kind=zmq.REP, address="tcp://127.0.0.1:0", leave=False):
        """handle: frames to frames, to None for no answer, or to False to leave; `leave`: after the first answer."""
        server = self.context.socket(kind)
        server.linger = 2000 if leave else 0
        server.bind(address)
        self.seen = []

        def run():
            with server, contextlib.suppress(zmq.ContextTerminated):
                while True:
                    self.seen.append(server.recv_multipart())
                    frames = handle(self.seen[-1])
                    if frames is False:
                        return
                    if frames is not None:
                        server.send_multipart(frames)
                    if leave:
                        return
        thread = threading.Thread(target=run)
        thread.start()
        self.threads.append(thread)
        return "zmq+" + server.getsockopt_string(zmq.LAST_ENDPOINT)

    def test_request_and_reply(self):
        url = self.serve(lambda frames: [b'{"status": 201, "headers": {"Location": "/a"}, "body": {"n": 1.50}}'])
        reply = self.call(url + "/items?x=1", "-d", '{"quantity": 2}', "-H", "X-One: 1", "--session", "blue",
                          "--dependency", "inventory")
        self.assertEqual({"dependency": "inventory", "session": "blue", "method": "POST", "path": "/items?x=1",
                          "headers": {"x-one": "1"}, "body": {"quantity": 2}}, json.loads(self.seen[0][0]))
        self.assertEqual((201, {"location": "/a"}, {"n": 1.5}), (reply["status"], reply["headers"], reply["body"]))
        self.assertEqual('201 Created\n\n{"n":1.50}\n', self.call(url + "/items", json_output=False))
        self.assertEqual({"method": "GET", "path": "/items"}, json.loads(self.seen[-1][0]))

    def test_router_sees_what_a_req_sends(self):
        url = self.serve(lambda frames: [frames[0], b"", b'{"status": 409, "body": {"detail": "no"}}'], zmq.ROUTER)
        self.assertEqual(409, self.call(url + "/x", status=1)["status"])
        self.assertEqual((3, b""), (len(self.seen[0]), self.seen[0][1]))

    def test_failure_of_the_servers_own(self):
        url = self.serve(lambda frames: [b'{"status": 503, "error": "no model"}'])
        reply = self.call(url + "/x", status=1)
        self.assertEqual((503, "no model"), (reply["status"], reply["error"]))
        self.assertIn("no model", self.call(url + "/x", status=1, json_output=False))

    def test_exact_status(self):
        url = self.serve(lambda frames: [b'{"status": 409, "grpc_status": "ABORTED", "grpc_message": "m"}'])
        reply = self.call(url + "/x", status=1)
        self.assertEqual((409, 10, "m"), (reply["status"], reply["grpc_status"], reply["grpc_message"]))

    def test_ipc(self):
        path = self.folder() + "/s.sock"
        url = self.serve(lambda frames: [b'{"status": 200}'], address="ipc://" + path)
        self.call(url + ":/items/1")
        self.assertEqual("/items/1", json.loads(self.seen[-1][0])["path"])
        self.call(url)
        self.assertEqual("/", json.loads(self.seen[-1][0])["path"])

    def test_no_reply(self):
        url = self.serve(lambda frames: None, zmq.ROUTER)
        self.assertRegex(self.call(url + "/x", "--timeout", "300ms", status=3), "no reply in time")

    def test_nobody(self):
        begun = time.monotonic()
        self.assertRegex(self.call(f"zmq+tcp://127.0.0.1:{free_port()}/x", status=3), "nobody is there")
        self.assertRegex(self.call("zmq+tcp://no-such-host.invalid:1/x", status=3), "no-such-host")
        self.assertLess(time.monotonic() - begun, 20)

    def test_peer_that_is_no_zeromq(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            url = f"zmq+tcp://127.0.0.1:{other.getsockname()[1]}/x"
            self.assertRegex(self.call(url, "--timeout", "300ms", status=3), "does not speak ZeroMQ")

            def refuse():
                peer, _ = other.accept()
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                peer.close()
            thread = threading.Thread(target=refuse)
            thread.start()
            self.assertRegex(self.call(url, status=3), "does not speak ZeroMQ")
            thread.join()

    def test_peer_that_leaves(self):
        url = self.serve(lambda frames: False, zmq.ROUTER)
        self.assertRegex(self.call(url + "/x", status=3), "closed the connection")

    def test_peer_that_replies_and_leaves(self):
        for _ in range(5):
            self.assertEqual(200, self.call(self.serve(lambda frames: [b'{"status": 200}'], leave=True) + "/x")["status"])

    def test_replies_that_are_none(self):
        for frames, message in (([b"{"], "no envelope"), ([b'{"n": 1}'], "no envelope"), ([b"{}", b"{}"], "has 2 frames"),
                                ([b""], "no envelope")):
            with self.subTest(frames=frames):
                self.assertRegex(self.call(self.serve(lambda _, f=frames: f) + "/x", status=3), message)

    def test_usage(self):
        for url in ("zmq+tcp://127.0.0.1/x", "zmq+ipc://", "zmq+tcp://:5/x"):
            self.assertRegex(self.call(url, status=2), "expected zmq")


if __name__ == "__main__":
    tap.main()
