# SPDX-License-Identifier: Apache-2.0
"""gRPC by grpcio, without stubs: messages, statuses, metadata, deadlines, health, reflection, control verbs, and one history
with HTTP."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from wire import SLOW, Case, Table, cassette, get, metric, post, shown, until, value

import tap
from provider import Reply

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWN = "listen: {http: 127.0.0.1:0, grpc: 127.0.0.1:0}\nprotos: {files: [loans/v1/loans.proto]}\n"
LOANS = """\
syntax = "proto3";
package loans.v1;
import "google/api/annotations.proto";
import "loans/v1/copy.proto";
service Loans {
  rpc Lend(LendRequest) returns (Loan) { option (google.api.http) = {post: "/copies/{copy_id}/loans" body: "*"}; }
  rpc Show(ShowRequest) returns (Loan) { option (google.api.http) = {get: "/loans/{id}"}; }
  rpc Plain(LendRequest) returns (Loan);
  rpc Follow(ShowRequest) returns (stream Loan);
  rpc Bring(stream ShowRequest) returns (Loan);
}
message LendRequest { string copy_id = 1; string reader = 2; int64 days = 3; optional bool long = 4; }
message ShowRequest { string id = 1; bool brief = 2; }
message Loan { int64 id = 1; Copy copy = 2; State state = 3; bytes seal = 4; repeated string notes = 5; }
enum State { STATE_UNSPECIFIED = 0; LENT = 1; BACK = 2; }
"""
COPY = """\
syntax = "proto3";
package loans.v1;
message Copy { string id = 1; }
"""
DESK = """\
syntax = "proto3";
package desk.v1;
service Desk { rpc Ask(Question) returns (Question); }
message Question { string text = 1; }
"""
FILES = {"loans/v1/loans.proto": LOANS, "loans/v1/copy.proto": COPY, "desk/v1/desk.proto": DESK}
BUILT_IN = ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
            "mirage.v1.Control"]


def compile_protos():
    """A pool with the types above and those that Mirage serves itself."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        out = pathlib.Path(folder, "all.binpb")
        subprocess.run(["protoc", f"-I{folder}", f"-I{ROOT / 'proto'}", "-I/usr/include", "--include_imports",
                        f"--descriptor_set_out={out}", *FILES, "mirage/v1/control.proto", "google/rpc/error_details.proto",
                        "google/rpc/status.proto", "grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto",
                        "grpc/reflection/v1alpha/reflection.proto"], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


POOL = compile_protos() if shutil.which("protoc") else None


def message(name, pool=None):
    """The class of a message."""
    return message_factory.MessageFactory(pool or POOL).GetPrototype((pool or POOL).FindMessageTypeByName(name))


class Client:
    """A channel of its own; methods by name, messages as keywords or dicts."""

    def __init__(self, address, pool=None):
        self.channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self.pool = pool or POOL

    def method(self, path):
        service, name = path.split("/")
        return self.pool.FindServiceByName(service).methods_by_name[name]

    def types(self, path):
        method = self.method(path)
        return message(method.input_type.full_name, self.pool), message(method.output_type.full_name, self.pool)

    def _unary(self, path, fields):
        asks, gives = self.types(path)
        call = self.channel.unary_unary("/" + path, request_serializer=asks.SerializeToString,
                                        response_deserializer=gives.FromString)
        return call, json_format.ParseDict(fields, asks())

    def future(self, path, fields=None, metadata=(), timeout=30):
        call, asked = self._unary(path, fields or {})
        return call.future(asked, metadata=metadata, timeout=timeout * SLOW)

    def full(self, path, fields=None, metadata=(), timeout=30):
        """(reply, call)"""
        call, asked = self._unary(path, fields or {})
        return call.with_call(asked, metadata=metadata, timeout=timeout * SLOW)

    def call(self, path, fields=None, metadata=(), timeout=30):
        return self.full(path, fields, metadata, timeout)[0]

    def raw(self, path, payload=b"", metadata=(), timeout=30):
        return self.channel.unary_unary(path)(payload, metadata=metadata, timeout=timeout * SLOW)

    def stream(self, path, requests, timeout=None):
        """Requests as dicts (an iterator stays open as long as it does); yields the replies."""
        asks, gives = self.types(path)
        call = self.channel.stream_stream("/" + path, request_serializer=asks.SerializeToString, response_deserializer=gives.FromString)
        return call((json_format.ParseDict(r, asks()) for r in requests), timeout=timeout and timeout * SLOW)

    def watch(self, service=""):
        asks, gives = self.types("grpc.health.v1.Health/Watch")
        call = self.channel.unary_stream("/grpc.health.v1.Health/Watch", request_serializer=asks.SerializeToString,
                                         response_deserializer=gives.FromString)
        return call(asks(service=service))

    def close(self):
        self.channel.close()


def pairs(metadata):
    """{key: value} of metadata without the client's own."""
    return {k: v for k, v in metadata or () if k not in ("user-agent", "accept-encoding", "grpc-accept-encoding")}


class Wire(Case):
    def setUp(self):
        super().setUp()
        if POOL is None:
            self.skipTest("protoc is not installed")

    def serve_loans(self, answer=None, *, dep="", top="", files=None, **options):
        if not callable(answer):
            answer = Table(answer, default={"status": 200, "body": {}})
        return self.serve(answer, dep=OWN + dep, top=top, files=dict(FILES, **(files or {})), **options)

    def client(self, m, name="inventory", pool=None):
        client = Client(m.dependency(name)["grpc"], pool)
        self.addCleanup(client.close)
        return client

    def assertFails(self, code, pattern, fn, *args, **options):
        """The call fails with that status and a message that fits; returns the error."""
        with self.assertRaises(grpc.RpcError) as caught:
            fn(*args, **options)
        error = caught.exception
        self.assertEqual(code, error.code(), error.details())
        self.assertRegex(error.details(), pattern)
        return error


class Messages(Wire):
    def test_a_call_is_what_its_annotation_says(self):
        m, p = self.serve_loans({"/copies/c%201/loans": {"status": 201, "body": {"id": 7, "copy": {"id": "c 1"}, "state": "LENT"}}})
        client = self.client(m)
        loan, call = client.full("loans.v1.Loans/Lend", {"copy_id": "c 1", "reader": "ada", "days": "9007199254740993"},
                                 [("x-request", "r1"), ("x-raw-bin", b"\x00\xff")])
        self.assertEqual((7, "c 1", 1), (loan.id, loan.copy.id, loan.state))
        self.assertEqual({"mirage-source": "llm", "mirage-session": "default"}, pairs(call.initial_metadata()))
        self.assertEqual({"mirage-http-status": "201"}, pairs(call.trailing_metadata()))
        asked = shown(p.calls[0])
        self.assertEqual(("POST", "/copies/c%201/loans"), (asked["method"], asked["path"]))
        self.assertEqual({"reader": "ada", "days": 9007199254740993}, asked["body"])
        self.assertEqual({"x-request": "r1", "x-raw-bin": "AP8"}, asked["headers"])

    def test_without_an_annotation_it_is_a_post_to_the_method(self):
        m, p = self.serve_loans({"/loans.v1.Loans/Plain": {"status": 200, "body": {"notes": ["a", "b"], "seal": "AAE="}}})
        loan = self.client(m).call("loans.v1.Loans/Plain", {"long": False})
        self.assertEqual((["a", "b"], b"\0\1"), (list(loan.notes), loan.seal))
        asked = shown(p.calls[0])
        self.assertEqual(("POST", "/loans.v1.Loans/Plain"), (asked["method"], asked["path"]))
        self.assertEqual({"copy_id": "", "reader": "", "days": 0, "long": False}, asked["body"])

    def test_one_history_with_http(self):
        m, p = self.serve_loans({"/copies/c1/loans": {"status": 201, "body": {"id": 1, "state": "LENT"}},
                                 "/loans/1": {"status": 200, "body": {"id": 1, "state": "LENT"}}})
        client = self.client(m)
        client.call("loans.v1.Loans/Lend", {"copy_id": "c1", "reader": "ada"}, [("mirage-session", "s1")])
        got = get(m.url() + "/loans/1", [("mirage-session", "s1")])
        self.assertEqual({"id": 1, "state": "LENT"}, value(got))
        paths = [json.loads(line)["req"]["path"] for line in m.read("cassettes/inventory.jsonl").splitlines()] \
            if until(lambda: len(cassette(m, n=2) or ()) == 2, "both are recorded") else []
        self.assertEqual(["/copies/c1/loans", "/loans/1"], paths)
        # What HTTP has recorded answers gRPC, without the model.
        loan, call = client.full("loans.v1.Loans/Show", {"id": "1"}, [("mirage-session", "s2")])
        self.assertEqual("llm", pairs(call.initial_metadata())["mirage-source"])
        client.call("loans.v1.Loans/Lend", {"copy_id": "c1", "reader": "ada"}, [("mirage-session", "s3")])
        loan, call = client.full("loans.v1.Loans/Show", {"id": "1"}, [("mirage-session", "s3")])
        self.assertEqual((1, "cassette"), (loan.id, pairs(call.initial_metadata())["mirage-source"]))
        self.assertEqual(3, len(p.calls))

    def test_a_replayed_message_is_the_same_each_time(self):
        m, p = self.serve_loans({"/loans/1": {"status": 200, "body": {"id": 1, "notes": ["n"]}}})
        client = self.client(m)
        loans = [client.call("loans.v1.Loans/Show", {"id": "1"}, [("mirage-session", f"s{i}")]) for i in range(20)]
        self.assertEqual([loans[0]] * 20, loans)
        self.assertEqual(1, len(p.calls))

    def test_a_reply_that_does_not_fit_goes_back_once(self):
        wrong = Reply.json({"status": 200, "body": {"id": 1, "copy": {"name": "x"}}})
        right = Reply.json({"status": 200, "body": {"id": 1, "copy": {"id": "x"}}})
        m, p = self.serve_loans(lambda call: right if call.number > 1 else wrong)
        loan = self.client(m).call("loans.v1.Loans/Show", {"id": "1"})
        self.assertEqual("x", loan.copy.id)
        self.assertEqual(2, len(p.calls))
        self.assertIn("copy.name", p.calls[1].messages[-1][1])
        self.assertIn("loans.v1.Loan", p.calls[1].messages[-1][1])

    def test_twice_wrong_is_a_failure(self):
        m, p = self.serve_loans(lambda call: Reply.json({"status": 200, "body": {"id": "x"}}))
        error = self.assertFails(grpc.StatusCode.INTERNAL, "id", self.client(m).call, "loans.v1.Loans/Show", {"id": "1"})
        self.assertIn("mirage-error", pairs(error.initial_metadata()))
        self.assertEqual(2, len(p.calls))

    def test_bytes_that_are_no_message(self):
        m, p = self.serve_loans()
        client = self.client(m)
        for payload, pattern in ((b"\x0a\x02\xff\xfe", "loans.v1.LendRequest: copy_id"), (b"\x0a\x7f", "LendRequest"),
                                 (b"\x08\x01", "copy_id"), (b"\xff" * 20, "LendRequest")):
            self.assertFails(grpc.StatusCode.INTERNAL, pattern, client.raw, "/loans.v1.Loans/Lend", payload)
        self.assertEqual([], p.calls)

    def test_replies_are_read_generously_and_written_in_either_spelling(self):
        bodies = {"/loans/1": {"id": "1", "state": 1}, "/loans/2": {"id": 2.0, "state": "BACK", "seal": "_-8"}}
        m, _ = self.serve_loans({path: {"status": 200, "body": body} for path, body in bodies.items()})
        client = self.client(m)
        one, two = (client.call("loans.v1.Loans/Show", {"id": n}) for n in "12")
        self.assertEqual((1, 1), (one.id, one.state))
        self.assertEqual((2, 2, b"\xff\xef"), (two.id, two.state, two.seal))


class Errors(Wire):
    def details(self, error):
        status = message("google.rpc.Status").FromString(pairs(error.trailing_metadata())["grpc-status-details-bin"])
        return status, [any_.type_url.split("/")[1] for any_ in status.details]

    def test_an_http_error_as_a_real_server_would_send_it(self):
        body = {"error": {"code": "already_lent", "message": "copy c1 is lent"}, "until": "2026-02-01"}
        m, _ = self.serve_loans({"/copies/c1/loans": {"status": 409, "headers": {"retry-after": "60"}, "body": body}})
        error = self.assertFails(grpc.StatusCode.ABORTED, "^copy c1 is lent$", self.client(m).call, "loans.v1.Loans/Lend",
                                 {"copy_id": "c1"})
        self.assertEqual("60", pairs(error.initial_metadata())["retry-after"])
        self.assertEqual("409", pairs(error.trailing_metadata())["mirage-http-status"])
        status, types = self.details(error)
        self.assertEqual((10, "copy c1 is lent"), (status.code, status.message))
        self.assertEqual(["google.rpc.ErrorInfo", "google.protobuf.Struct"], types)
        info = message("google.rpc.ErrorInfo").FromString(status.details[0].value)
        self.assertEqual(("ALREADY_LENT", "inventory"), (info.reason, info.domain))
        struct = message("google.protobuf.Struct").FromString(status.details[1].value)
        self.assertEqual(body, json_format.MessageToDict(struct))

    def test_the_table_of_statuses(self):
        expected = {400: 3, 401: 16, 402: 9, 403: 7, 404: 5, 409: 10, 410: 5, 412: 9, 418: 9, 422: 3, 428: 9, 429: 8, 499: 1,
                    500: 13, 501: 12, 502: 13, 503: 14, 504: 4, 301: 2, 600: 2, 999: 2}
        m, _ = self.serve_loans({f"/loans/{n}": {"status": n, "body": {"detail": "why"}} for n in expected})
        client = self.client(m)
        for http, code in expected.items():
            with self.subTest(http=http):
                with self.assertRaises(grpc.RpcError) as caught:
                    client.call("loans.v1.Loans/Show", {"id": str(http)})
                self.assertEqual(code, caught.exception.code().value[0])
                self.assertEqual(str(http), pairs(caught.exception.trailing_metadata())["mirage-http-status"])
                self.assertEqual(f"why (HTTP {http})" if code == 2 else "why", caught.exception.details())

    def test_exact_status_message_details_and_trailers(self):
        reply = {"status": 400, "grpc_status": "OUT_OF_RANGE", "grpc_message": "zu viel: 5 €\n(9)", "trailers": {"x-cost": 3, "x-b-bin": "AAE="},
                 "grpc_details": [{"@type": "type.googleapis.com/google.rpc.BadRequest",
                                   "field_violations": [{"field": "days", "description": "too many"}]}]}
        m, _ = self.serve_loans({"/loans/1": reply})
        error = self.assertFails(grpc.StatusCode.OUT_OF_RANGE, r"^zu viel: 5 €\n\(9\)$", self.client(m).call,
                                 "loans.v1.Loans/Show", {"id": "1"})
        trailing = pairs(error.trailing_metadata())
        self.assertEqual(("3", b"\0\1"), (trailing["x-cost"], trailing["x-b-bin"]))
        status, types = self.details(error)
        self.assertEqual((11, ["google.rpc.BadRequest"]), (status.code, types))

    def test_details_larger_than_metadata_are_left_out(self):
        m, _ = self.serve_loans({"/loans/1": {"status": 404, "body": {"code": "NONE", "message": "no", "more": "x" * 7000}},
                                 "/loans/2": {"status": 404, "body": {"message": "é" * 5000}}})
        client = self.client(m)
        error = self.assertFails(grpc.StatusCode.NOT_FOUND, "^no$", client.call, "loans.v1.Loans/Show", {"id": "1"})
        self.assertEqual(["google.rpc.ErrorInfo"], self.details(error)[1])
        error = self.assertFails(grpc.StatusCode.NOT_FOUND, "^é{1024}$", client.call, "loans.v1.Loans/Show", {"id": "2"})
        self.assertNotIn("grpc-status-details-bin", pairs(error.trailing_metadata()))

    def test_one_block_of_metadata_has_room_for_the_status(self):
        """An error's metadata share a block: past 8 KiB clients drop the whole reply."""
        m, _ = self.serve_loans({
            "/loans/1": {"status": 409, "trailers": {"x-a": "y" * 3500}, "body": {"message": "é" * 2000}},
            "/loans/2": {"status": 409, "headers": {"x-a": "y" * 8000}, "body": {"message": "no"}},
            "/loans/3": {"status": 200, "grpc_status": "OK", "grpc_message": "m" * 20000, "body": {"id": 7}}})
        client = self.client(m)
        aborted = grpc.StatusCode.ABORTED
        self.assertFails(aborted, "^é{1024}$", client.call, "loans.v1.Loans/Show", {"id": "1"})
        error = self.assertFails(aborted, "^no$", client.call, "loans.v1.Loans/Show", {"id": "2"})
        self.assertNotIn("x-a", pairs(error.initial_metadata()))
        self.assertEqual(["google.protobuf.Struct"], self.details(error)[1])
        self.assertEqual(7, client.call("loans.v1.Loans/Show", {"id": "3"}).id)

    def test_an_exact_status_without_a_message_has_none(self):
        m, _ = self.serve_loans({"/loans/1": {"grpc_status": 5}, "/loans/2": {"status": 503, "body_text": "upstream went away\n"}})
        client = self.client(m)
        self.assertFails(grpc.StatusCode.NOT_FOUND, "^$", client.call, "loans.v1.Loans/Show", {"id": "1"})
        self.assertFails(grpc.StatusCode.UNAVAILABLE, "^upstream went away$", client.call, "loans.v1.Loans/Show", {"id": "2"})

    def test_compressed_messages(self):
        """What is inflated has the limits of what is sent."""
        m, p = self.serve_loans(top="limits: {body: 64KiB}")
        asks, gives = self.client(m).types("loans.v1.Loans/Lend")
        for algorithm in (grpc.Compression.Gzip, grpc.Compression.Deflate):
            with grpc.insecure_channel(m.dependency()["grpc"], compression=algorithm) as channel:
                call = channel.unary_unary("/loans.v1.Loans/Lend", request_serializer=asks.SerializeToString,
                                           response_deserializer=gives.FromString)
                call(asks(copy_id="c", reader="r" * 5000))
                self.assertEqual("r" * 5000, shown(p.calls[-1])["body"]["reader"])
                self.assertFails(grpc.StatusCode.RESOURCE_EXHAUSTED, "inflated the message is larger than 65536 bytes", call,
                                 asks(reader="r" * 5000000))

    def test_reply_headers_off(self):
        m, _ = self.serve_loans({"/loans/1": {"status": 200, "body": {}}, "/loans/2": {"status": 404}}, top="reply_headers: false")
        client = self.client(m)
        _, call = client.full("loans.v1.Loans/Show", {"id": "1"})
        self.assertEqual(({}, {}), (pairs(call.initial_metadata()), pairs(call.trailing_metadata())))
        error = self.assertFails(grpc.StatusCode.NOT_FOUND, "HTTP 404", client.call, "loans.v1.Loans/Show", {"id": "2"})
        self.assertEqual(({}, {}), (pairs(error.initial_metadata()), pairs(error.trailing_metadata())))

    def test_what_is_not_served(self):
        m, p = self.serve_loans()
        client = self.client(m)
        unimplemented = grpc.StatusCode.UNIMPLEMENTED
        self.assertFails(unimplemented, "loans.v1.Loans has no method Sell; it has Lend, Show, Plain, Follow, Bring",
                         client.raw, "/loans.v1.Loans/Sell")
        self.assertFails(unimplemented, "no service loans.v2.Loans is served at this address; the services are loans.v1.Loans, grpc",
                         client.raw, "/loans.v2.Loans/Lend")
        self.assertFails(unimplemented, "no service  is served", client.raw, "/nonsense")
        self.assertFails(unimplemented, "Follow is streaming; this version answers unary calls", client.raw, "/loans.v1.Loans/Follow")
        self.assertFails(unimplemented, "Bring is streaming", client.raw, "/loans.v1.Loans/Bring")
        self.assertEqual([], p.calls)

    def test_limits(self):
        m, p = self.serve_loans(top="limits: {body: 64KiB, headers: 4KiB}")
        client = self.client(m)
        exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
        self.assertFails(exhausted, ".", client.raw, "/loans.v1.Loans/Lend", b"\x0a" + b"\x80\x80\x08" + b"x" * 131072)
        self.assertFails(exhausted, r"limits\.headers", client.call, "loans.v1.Loans/Show", {}, [("x-long", "x" * 4096)])
        self.assertFails(exhausted, "more than 200 metadata entries", client.call, "loans.v1.Loans/Show", {}, [("x", "")] * 201)
        self.assertFails(exhausted, "path and query of the message have 9", client.call, "loans.v1.Loans/Show", {"id": "x" * 9000})
        # Far beyond, the library gives up the connection.
        with self.assertRaises(grpc.RpcError):
            self.client(m).call("loans.v1.Loans/Show", {}, [("x-long", "x" * 60000)])
        self.assertEqual([], p.calls)
        client.call("loans.v1.Loans/Show", {"id": "1"})

    def test_bad_session_names(self):
        m, _ = self.serve_loans()
        self.assertFails(grpc.StatusCode.INVALID_ARGUMENT, "the session's name is not one", self.client(m).call,
                         "loans.v1.Loans/Show", {}, [("mirage-session", "a/b")])


class Ends(Wire):
    def test_deadline_cancels_the_model(self):
        m, p = self.serve_loans(dep="on_gone: drop")
        client = self.client(m)
        p.hold()
        self.assertFails(grpc.StatusCode.DEADLINE_EXCEEDED, ".", client.call, "loans.v1.Loans/Show", {"id": "1"}, timeout=1)
        p.wait_for_cancelled(1, 10 * SLOW)
        p.release()
        self.assertEqual([], cassette(m))
        client.call("loans.v1.Loans/Show", {"id": "2"})

    def test_cancelling(self):
        m, p = self.serve_loans(dep="on_gone: drop")
        client = self.client(m)
        p.hold()
        future = client.future("loans.v1.Loans/Show", {"id": "1"})
        p.wait_for_calls(1, 10 * SLOW)
        future.cancel()
        p.wait_for_cancelled(1, 10 * SLOW)
        p.release()

    def test_finish_records_what_nobody_waits_for(self):
        m, p = self.serve_loans(dep="on_gone: finish", args=("--verbose",))
        client = self.client(m)
        p.hold()
        self.assertFails(grpc.StatusCode.DEADLINE_EXCEEDED, ".", client.call, "loans.v1.Loans/Show", {"id": "1"}, timeout=1)
        m.wait_stderr("a caller of /loans.v1.Loans/Show has gone")
        p.release()
        until(lambda: cassette(m), "the answer is in the cassette")
        _, call = client.full("loans.v1.Loans/Show", {"id": "1"})
        self.assertEqual("cassette", pairs(call.initial_metadata())["mirage-source"])
        self.assertEqual(1, metric(m, "mirage_callers_gone_total"))

    def test_limits_deadline(self):
        m, p = self.serve_loans(top="limits: {deadline: 300ms}", dep="on_gone: drop")
        p.hold()
        error = self.assertFails(grpc.StatusCode.DEADLINE_EXCEEDED, r"no reply within 300 ms \(limits.deadline\)",
                                 self.client(m).call, "loans.v1.Loans/Show", {"id": "1"})
        self.assertRegex(pairs(error.initial_metadata())["mirage-error"], "limits.deadline")
        p.wait_for_cancelled(1, 10 * SLOW)
        p.release()

    def test_stop_finishes_what_is_in_flight(self):
        m, p = self.serve_loans({"/loans/1": {"status": 200, "body": {"id": 1}}})
        client = self.client(m)
        p.hold()
        future = client.future("loans.v1.Loans/Show", {"id": "1"})
        p.wait_for_calls(1, 10 * SLOW)
        watch = client.watch()
        self.assertEqual(1, next(watch).status)
        threading.Thread(target=lambda: (m.wait_stderr("Stopping"), p.release())).start()
        self.assertEqual(0, m.stop())
        self.assertEqual(1, future.result().id)
        self.assertEqual(2, next(watch).status)
        self.assertFails(grpc.StatusCode.UNAVAILABLE, "closing", next, watch)
        self.assertFails(grpc.StatusCode.UNAVAILABLE, ".", client.call, "loans.v1.Loans/Show", {"id": "1"})

    def test_a_taken_port_is_an_error(self):
        m, _ = self.serve_loans()
        address = m.dependency()["grpc"]
        with self.assertRaisesRegex(AssertionError, f"grpc://{address}: the address is in use by another process"):
            self.serve(dep=f"listen: {{grpc: \"{address}\"}}\nprotos: {{files: [loans/v1/loans.proto]}}\n", files=FILES, status=None)

    def test_many_at_once(self):
        m, p = self.serve_loans(lambda call: Reply.json({"status": 200, "body": {"id": int(shown(call)["path"].split("/")[2])}}))
        clients = [self.client(m) for _ in range(4)]

        def ask(i):
            return clients[i % 4].call("loans.v1.Loans/Show", {"id": str(i)}, [("mirage-session", f"s{i % 25}")], timeout=60).id
        with ThreadPoolExecutor(50) as pool:
            self.assertEqual(list(range(300)), list(pool.map(ask, range(300))))
        self.assertEqual(300, len(p.calls))


class Served(Wire):
    def test_health(self):
        m, _ = self.serve_loans()
        client = self.client(m)
        for service in ["", "loans.v1.Loans", *BUILT_IN]:
            self.assertEqual(1, client.call("grpc.health.v1.Health/Check", {"service": service}).status)
        self.assertFails(grpc.StatusCode.NOT_FOUND, "no such service", client.call, "grpc.health.v1.Health/Check", {"service": "desk.v1.Desk"})
        watch = client.watch("desk.v1.Desk")
        self.assertEqual(3, next(watch).status)
        watch.cancel()

    def test_a_watcher_sees_a_reload(self):
        m, _ = self.serve_loans()
        client = self.client(m)
        watch = client.watch("desk.v1.Desk")
        self.assertEqual(3, next(watch).status)
        m.write("mirage.yaml", m.read("mirage.yaml").replace("[loans/v1/loans.proto]", "[loans/v1/loans.proto, desk/v1/desk.proto]"))
        m.hup()
        self.assertEqual(1, next(watch).status)
        watch.cancel()
        client.call("desk.v1.Desk/Ask", {"text": "hello"})

    def reflect(self, client, version, *requests):
        return list(client.stream(f"grpc.reflection.{version}.ServerReflection/ServerReflectionInfo", requests, timeout=30))

    def test_reflection(self):
        m, _ = self.serve_loans()
        client = self.client(m)
        for version in ("v1", "v1alpha"):
            with self.subTest(version=version):
                listed, by_symbol, by_method, by_name, unknown, numbers, nothing = self.reflect(
                    client, version, {"list_services": "", "host": "h"}, {"file_containing_symbol": "loans.v1.Loans"},
                    {"file_containing_symbol": "loans.v1.Loans.Lend"}, {"file_by_filename": "loans/v1/copy.proto"},
                    {"file_containing_symbol": "no.Such"}, {"all_extension_numbers_of_type": "google.protobuf.MethodOptions"}, {})
                self.assertEqual("h", listed.valid_host)
                self.assertEqual("h", listed.original_request.host)
                self.assertEqual(["loans.v1.Loans", *BUILT_IN], [s.name for s in listed.list_services_response.service])
                files = [descriptor_pb2.FileDescriptorProto.FromString(f)
                         for f in by_symbol.file_descriptor_response.file_descriptor_proto]
                self.assertEqual("loans/v1/loans.proto", files[0].name)
                self.assertEqual({"loans/v1/loans.proto", "loans/v1/copy.proto", "google/api/annotations.proto", "google/api/http.proto",
                                  "google/protobuf/descriptor.proto"}, {f.name for f in files})
                self.assertEqual(by_symbol.file_descriptor_response, by_method.file_descriptor_response)
                self.assertEqual(1, len(by_name.file_descriptor_response.file_descriptor_proto))
                self.assertEqual(5, unknown.error_response.error_code)
                self.assertEqual([72295728], list(numbers.all_extension_numbers_response.extension_number))
                self.assertEqual(3, nothing.error_response.error_code)

    def test_a_client_that_knows_only_reflection(self):
        m, _ = self.serve_loans({"/loans/1": {"status": 200, "body": {"id": 5}}})
        pool = descriptor_pool.DescriptorPool()
        known = set()
        for symbol in ("loans.v1.Loans", "mirage.v1.Control"):
            answer, = self.reflect(self.client(m), "v1", {"file_containing_symbol": symbol})
            for data in reversed(answer.file_descriptor_response.file_descriptor_proto):
                file = descriptor_pb2.FileDescriptorProto.FromString(data)
                if file.name not in known:
                    known.add(file.name)
                    pool.Add(file)
        client = self.client(m, pool=pool)
        self.assertEqual(5, client.call("loans.v1.Loans/Show", {"id": "1"}).id)
        self.assertEqual("serving", client.call("mirage.v1.Control/Health").status)

    def test_a_shared_address(self):
        m, p = self.shared()
        client = self.client(m, "loans")
        client.call("loans.v1.Loans/Show", {"id": "1"})
        client.call("desk.v1.Desk/Ask", {"text": "x"})
        self.assertEqual(["/loans/1", "/desk.v1.Desk/Ask"], [shown(call)["path"] for call in p.calls])
        listed, = self.reflect(client, "v1", {"list_services": ""})
        self.assertEqual(["loans.v1.Loans", "desk.v1.Desk", *BUILT_IN], [s.name for s in listed.list_services_response.service])
        self.assertEqual(["loans", "desk"], list(client.call("mirage.v1.Control/Health").dependencies))
        self.assertEqual(["desk"], list(client.call("mirage.v1.Control/Health", {"dependency": "desk"}).dependencies))

    def shared(self):
        p = self.provider(lambda call: Reply.json({"status": 200, "body": {}}))
        text = f"""\
listen: {{grpc: 127.0.0.1:0}}
model: {{provider: openai, base_url: {p.base_url}, name: m}}
dependencies:
  - name: loans
    protos: {{files: [loans/v1/loans.proto]}}
  - name: desk
    protos: {{files: [desk/v1/desk.proto]}}
"""
        return self.mirage(text, files=FILES), p


class Control(Wire):
    def test_each_verb_says_what_http_says(self):
        m, _ = self.serve_loans({"/loans/1": {"status": 200, "body": {"id": 1}}})
        client = self.client(m)
        verbs = [
            ("Health", {}, "GET", "/health", None),
            ("Announce", {"scenario": {"name": "n", "calls": [{"method": "GET", "path": "/loans/1"}]}, "session": "s1"}, "POST",
             "/scenario?session=s1", {"name": "n", "calls": [{"method": "GET", "path": "/loans/1"}]}),
            ("GetSession", {"id": "s1"}, "GET", "/sessions/s1", None),
            ("Announce", {"scenario": {"instruction": "be slow"}}, "POST", "/scenario", {"instruction": "be slow"}),
            ("GetLog", {"session": "s1", "limit": "1"}, "GET", "/log?session=s1&limit=1", None),
            ("Reset", {"session": "s1"}, "POST", "/reset?session=s1", None),
            ("GetState", {"session": "s1"}, "GET", "/state?session=s1", None),
            ("ListSessions", {}, "GET", "/sessions", None),
        ]
        client.call("loans.v1.Loans/Show", {"id": "1"}, [("mirage-session", "s1")])
        for name, fields, method, path, body in verbs:
            with self.subTest(name=name):
                from_grpc = json_format.MessageToDict(client.call("mirage.v1.Control/" + name, fields), preserving_proto_field_name=True)
                reply = post(m.url() + "/__mock__" + path, body) if method == "POST" else get(m.url() + "/__mock__" + path)
                from_http = {"state": value(reply)} if name == "GetState" else value(reply)
                self.assertEqual(self.plain(from_http), self.plain(from_grpc))

    def plain(self, node):
        """Without what is a default, 64-bit integers as numbers, and times as they are at another moment."""
        if isinstance(node, dict):
            items = {k: self.plain(v) for k, v in node.items() if k not in ("idle_ms",)}
            return {k: v for k, v in items.items() if v not in ("", 0, [], {}, False)}
        if isinstance(node, list):
            return [self.plain(v) for v in node]
        return int(node) if isinstance(node, str) and node.isdigit() and len(node) < 16 else node

    def test_sessions(self):
        m, _ = self.serve_loans()
        client = self.client(m)
        made = client.call("mirage.v1.Control/CreateSession", {"name": "own", "listen": True})
        self.assertEqual(("own", "inventory"), (made.session, made.dependencies[0].name))
        self.assertRegex(made.dependencies[0].http, "^http://127.0.0.1:")
        own = Client(made.dependencies[0].grpc)
        self.addCleanup(own.close)
        _, call = own.full("loans.v1.Loans/Show", {"id": "1"})
        self.assertEqual("own", pairs(call.initial_metadata())["mirage-session"])
        self.assertRegex(client.call("mirage.v1.Control/CreateSession").session, "^s-[0-9a-f]{16}$")
        self.assertEqual("deleted", client.call("mirage.v1.Control/DeleteSession", {"id": "own"}).status)
        self.assertFails(grpc.StatusCode.UNAVAILABLE, ".", own.call, "loans.v1.Loans/Show", {"id": "1"})
        self.assertFails(grpc.StatusCode.NOT_FOUND, "there is no session own", client.call, "mirage.v1.Control/GetSession", {"id": "own"})

    def test_metrics(self):
        m, _ = self.serve_loans({"/loans/1": {"status": 200, "body": {"id": 1}}})
        client = self.client(m)
        client.call("loans.v1.Loans/Show", {"id": "1"})
        until(lambda: metric(m, "mirage_cassette_recorded_total") == 1 and metric(m, "mirage_cassette_waiting") == 0, "it is recorded")
        text = client.call("mirage.v1.Control/GetMetrics", {"dependency": "inventory"}).text
        self.assertIn('mirage_exchanges_total{dependency="inventory"} 1\n', text)
        self.assertEqual(get(m.control + "/metrics")[2].decode(), text)
        self.assertFails(grpc.StatusCode.INVALID_ARGUMENT, "address of inventory, not of payment", client.call,
                         "mirage.v1.Control/GetMetrics", {"dependency": "payment"})

    def test_refusals(self):
        m, p = self.serve_loans(top="")
        client = self.client(m)
        for name in ("PutState", "PatchState", "Verify"):
            self.assertFails(grpc.StatusCode.UNIMPLEMENTED, "later version", client.call, "mirage.v1.Control/" + name)
        for name in ("SnapshotSession", "ForkSession", "RestoreSession"):
            self.assertFails(grpc.StatusCode.NOT_FOUND, "there is no session x", client.call, "mirage.v1.Control/" + name, {"id": "x"})
        self.assertFails(grpc.StatusCode.INVALID_ARGUMENT, "address of inventory, not of payment", client.call, "mirage.v1.Control/Reset",
                         {"dependency": "payment"})
        self.assertFails(grpc.StatusCode.INVALID_ARGUMENT, "no name for a session", client.call, "mirage.v1.Control/CreateSession", {"name": "a b"})
        for name in ("GetSession", "DeleteSession", "ForkSession"):
            self.assertFails(grpc.StatusCode.INVALID_ARGUMENT, "the id is empty", client.call, "mirage.v1.Control/" + name)
        self.assertEqual([], p.calls)

    def test_a_token(self):
        p = self.provider(lambda call: Reply.json({"status": 200, "body": {}}))
        text = (f"control: {{listen: 127.0.0.1:0, token_env: CONTROL_TOKEN}}\nmodel: {{base_url: {p.base_url}, name: m}}\n"
                "dependencies:\n  - name: inventory\n    listen: {grpc: 127.0.0.1:0}\n    protos: {files: [loans/v1/loans.proto]}\n")
        m = self.mirage(text, files=FILES, env={"CONTROL_TOKEN": "t0k"})
        client = self.client(m)
        self.assertFails(grpc.StatusCode.UNAUTHENTICATED, "token_env", client.call, "mirage.v1.Control/Reset")
        self.assertEqual("reset", client.call("mirage.v1.Control/Reset", {}, [("authorization", "Bearer t0k")]).status)


if __name__ == "__main__":
    tap.main()
