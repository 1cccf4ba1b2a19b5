# SPDX-License-Identifier: Apache-2.0
"""A service that says back what it was asked, over three wires: its proto, its provider's side, its callers, and what
the server's process holds. For the tests of load."""

import json
import os
import re
import shutil
import subprocess
import tempfile

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from wire import SLOW, request_bytes, until

from mirage import Raw

PROTO = """\
syntax = "proto3";
package echo.v1;
import "google/api/annotations.proto";
service Echo {
  rpc Ask(Question) returns (Question) { option (google.api.http) = {post: "/ask" body: "*"}; }
  rpc Page(Number) returns (Text) { option (google.api.http) = {get: "/pages/{number}"}; }
}
message Question { string session = 1; int32 at = 2; string wire = 3; string note = 4; }
message Number { string number = 1; }
message Text { string text = 1; }
"""
LISTEN = 'listen: {http: "127.0.0.1:0", grpc: "127.0.0.1:0", zmq: ["tcp://127.0.0.1:*"]}'
DEP = LISTEN + "\nprotos: {files: [echo.proto]}\n"
FILES = {"echo.proto": PROTO}
ASK, PAGE = "/echo.v1.Echo/Ask", "/echo.v1.Echo/Page"
PAGE_TEXT = "".join(f"line {i} of a page that takes a while to read\n" for i in range(5500))    # some 256 KiB


def _types():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "echo.proto"), "w", encoding="ascii") as f:
            f.write(PROTO)
        out = os.path.join(folder, "echo.binpb")
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto")
        subprocess.run(["protoc", f"-I{folder}", f"-I{root}", "-I/usr/include", "--include_imports",
                        f"--descriptor_set_out={out}", "echo.proto"], check=True)
        with open(out, "rb") as f:
            files = descriptor_pb2.FileDescriptorSet.FromString(f.read()).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return [factory.GetPrototype(pool.FindMessageTypeByName(f"echo.v1.{name}")) for name in ("Question", "Number", "Text")]


PATIENCE = 30 * SLOW
AVAILABLE = shutil.which("protoc") is not None
Question, Number, Text = _types() if AVAILABLE else (None, None, None)


# Callers ---------------------------------------------------------------------------------------------------

def body(session, at, wire, note=""):
    """The question as HTTP and ZeroMQ ask it; gRPC's has the same members."""
    return {"session": session, "at": at, "wire": wire, "note": note}


def members(question):
    """A Question as such an object."""
    return body(question.session, question.at, question.wire, question.note)


def open_channel(address, *options):
    """Of its own: grpcio's channels else share their connections."""
    return grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1), *options])


def ask(channel):
    """The method, whose call takes and gives a Question."""
    return channel.unary_unary(ASK, request_serializer=Question.SerializeToString, response_deserializer=Question.FromString)


def page(channel):
    return channel.unary_unary(PAGE, request_serializer=Number.SerializeToString, response_deserializer=Text.FromString)


def envelope(path, method="GET", **more):
    return json.dumps({"method": method, "path": path, **more}).encode()


# The server's process --------------------------------------------------------------------------------------

def descriptors(pid):
    """What each of the process's descriptors is, by its number."""
    folder, found = f"/proc/{pid}/fd", {}
    for name in os.listdir(folder):
        try:
            found[int(name)] = os.readlink(f"{folder}/{name}")
        except FileNotFoundError:
            pass
    return found


def tcp():
    """Ports and state of all TCP sockets of this machine, by what descriptors() has for them."""
    with open("/proc/net/tcp", encoding="ascii") as f:
        rows = [line.split() for line in f.readlines()[1:]]
    return {f"socket:[{row[9]}]": f"TCP port {int(row[1][-4:], 16)} to {int(row[2][-4:], 16)}, state {int(row[3], 16)}" for row in rows}


def anonymous_kb(pid):
    """Resident memory that is no file's, in KiB: what the process itself has made dirty. Pages of libraries and of
    cassettes, which the kernel brings and takes as it likes, are left out."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"RssAnon:\s+(\d+)", f.read())[1])


class Quiet:
    """Waits until the server holds no descriptor more or less than when nobody had connected but one caller.

    Its connections to the provider it keeps for later calls; here the provider closes them, which the server sees
    when it makes another call. So each look begins with a call to `address`, of a dependency that asks the model.
    """

    def __init__(self, m, p, address):
        self.m, self.p, self.address, self.asked = m, p, address, 0
        counts = []
        with Raw(address, timeout=PATIENCE) as caller:
            def steady():
                counts.append(len(self.look(caller)))
                return len(counts) > 20 and min(counts[-10:]) == min(counts)
            until(steady, "the descriptors are steady", 30)
        self.count = min(counts)

    def unplug(self):
        if self.p.in_flight == 0:       # else what is under way would be asked again
            self.p.drop_connections()
        return not self.p.open_connections

    def look(self, caller):
        until(self.unplug, "nobody asks the provider, and nobody is connected to it", 30)
        self.asked += 1
        question = json.dumps(body("quiet", self.asked, "http")).encode()
        fields = [("mirage-session", "quiet"), ("Content-Type", "application/json")]
        reply = caller.send(request_bytes("/ask", body=question, headers=fields)).response("POST")
        if not reply or reply.status != 200:
            raise AssertionError(reply)
        return descriptors(self.m.pid)

    def wait(self):
        held = {}
        with Raw(self.address, timeout=PATIENCE) as caller:
            def back():
                held.update(now=self.look(caller))
                return len(held["now"]) == self.count
            try:
                until(back, f"{self.count} descriptors again", 30)
            except AssertionError as error:
                told = tcp()
                text = "\n".join(f"{n}: {told.get(what, what)}" for n, what in sorted(held.get("now", {}).items()))
                raise AssertionError(f"{error}; there are:\n{text}") from None
