# SPDX-License-Identifier: Apache-2.0
"""The features of the gRPC wire, by Python's grpcio, without stubs."""

import subprocess
import tempfile
import threading

import grpc
from common import BIG, run, want
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

pool = descriptor_pool.DescriptorPool()


def load(roots):
    with tempfile.NamedTemporaryFile(suffix=".binpb") as out:
        subprocess.run(["protoc", *(f"--proto_path={r}" for r in roots), "--include_imports", "matrix.proto",
                        "google/rpc/status.proto", "google/rpc/error_details.proto", "mirage/v1/control.proto",
                        "grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto",
                        f"--descriptor_set_out={out.name}"], check=True)
        for one in descriptor_pb2.FileDescriptorSet.FromString(out.read()).file:
            pool.Add(one)


def message(name, **fields):
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName(name))(**fields)


def read(name, data):
    return type(message(name)).FromString(data)


def raw(data):
    return data


class Client:
    def __init__(self, given):
        if not pool_ready:
            load(given["roots"])
            pool_ready.append(True)
        self.channel = grpc.insecure_channel(given["grpc"])

    def call(self, method, data, **options):
        return self.channel.unary_unary(method, raw, raw).with_call(data, **options)

    def fails(self, method, data, **options):
        try:
            self.call(method, data, timeout=options.pop("timeout", 20), **options)
        except grpc.RpcError as error:
            return error
        raise AssertionError("it did not fail")


pool_ready = []
ECHO = "/matrix.v1.Matrix/Echo"


def echo(**fields):
    return message("matrix.v1.EchoMessage", **fields).SerializeToString()


def unary(given):
    client = Client(given)
    data, _ = client.call(ECHO, echo(text="ä€😀", number=BIG, data=b"\0\xff"))
    reply = read("matrix.v1.EchoMessage", data)
    want((reply.text, reply.number, reply.data), ("ä€😀", BIG, b"\0\xff"))


def metadata(given):
    client = Client(given)
    _, call = client.call(ECHO, echo(text="x"), metadata=[("x-sent", "1")])
    first, last = dict(call.initial_metadata()), dict(call.trailing_metadata())
    want((first.get("x-kind"), last.get("x-tail")), ("echo", "end"))
    want(first.get("mirage-source"), "llm")


def fail(client, kind):
    return client.fails("/matrix.v1.Matrix/Fail", message("matrix.v1.FailRequest", kind=kind).SerializeToString())


def error(given):
    got = fail(Client(given), "conflict")
    want((got.code(), got.details()), (grpc.StatusCode.ABORTED, "expected version 1"))


def status_of(got):
    return read("google.rpc.Status", dict(got.trailing_metadata())["grpc-status-details-bin"])


def details(given):
    got = status_of(fail(Client(given), "conflict"))
    names = [one.type_url.split("/")[-1] for one in got.details]
    want(names, ["google.rpc.ErrorInfo", "google.protobuf.Struct"])
    want(read("google.rpc.ErrorInfo", got.details[0].value).reason, "VERSION_CONFLICT")
    want(read("google.protobuf.Struct", got.details[1].value).fields["error"].struct_value.fields["code"].string_value,
         "VERSION_CONFLICT")


def exact(given):
    got = fail(Client(given), "exact")
    want((got.code(), got.details()), (grpc.StatusCode.OUT_OF_RANGE, "past the end"))
    want(read("google.rpc.ErrorInfo", status_of(got).details[0].value).reason, "END")


def number(given):
    got = fail(Client(given), "number")
    want("odd" in got.details(), True)
    return f"shown as {got.code().value[0]}"


def deadline(given):
    client = Client(given)
    got = client.fails("/matrix.v1.Matrix/Slow", echo(text="x"), timeout=0.3)
    want(got.code(), grpc.StatusCode.DEADLINE_EXCEEDED)


def cancel(given):
    client = Client(given)
    call = client.channel.unary_unary("/matrix.v1.Matrix/Slow", raw, raw).future(echo(text="x"), timeout=20)
    threading.Timer(0.2, call.cancel).start()
    try:
        call.result()
    except grpc.FutureCancelledError:
        return
    raise AssertionError("it was not cancelled")


def unimplemented(given):
    client = Client(given)
    for method in ("/matrix.v1.Matrix/Nothing", "/no.such.Service/Method"):
        want(client.fails(method, b"").code(), grpc.StatusCode.UNIMPLEMENTED)


def streaming(given):
    client = Client(given)
    stream = client.channel.unary_stream("/matrix.v1.Matrix/Feed", raw, raw)(echo(text="x"), timeout=20)
    try:
        list(stream)
    except grpc.RpcError as got:
        want(got.code(), grpc.StatusCode.UNIMPLEMENTED)
        want("stream" in got.details(), True)
        return
    raise AssertionError("it did not fail")


def large(given):
    client = Client(given)
    got = client.fails(ECHO, echo(text="x" * (given["limit"] + 1000)))
    want(got.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)


def malformed(given):
    got = Client(given).fails(ECHO, b"\x0a\x02\xff\xff")
    want(got.code(), grpc.StatusCode.INTERNAL)
    want("text" in got.details(), True)


def reflection(given):
    client = Client(given)
    request = message("grpc.reflection.v1.ServerReflectionRequest", list_services="")
    found = []
    for version in ("v1", "v1alpha"):
        method = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
        replies = client.channel.stream_stream(method, raw, raw)(iter([request.SerializeToString()]), timeout=20)
        reply = read("grpc.reflection.v1.ServerReflectionResponse", next(replies))
        found.append({one.name for one in reply.list_services_response.service})
    want(found[0], found[1])
    want({"matrix.v1.Matrix", "grpc.health.v1.Health", "mirage.v1.Control"} <= found[0], True)


def health(given):
    client = Client(given)
    for service, status in (("", 1), ("matrix.v1.Matrix", 1)):
        request = message("grpc.health.v1.HealthCheckRequest", service=service).SerializeToString()
        data, _ = client.call("/grpc.health.v1.Health/Check", request)
        want(read("grpc.health.v1.HealthCheckResponse", data).status, status)
    request = message("grpc.health.v1.HealthCheckRequest", service="no.such").SerializeToString()
    want(client.fails("/grpc.health.v1.Health/Check", request).code(), grpc.StatusCode.NOT_FOUND)


def health_watch(given):
    client = Client(given)
    for service, status in (("", 1), ("no.such", 3)):
        request = message("grpc.health.v1.HealthCheckRequest", service=service).SerializeToString()
        stream = client.channel.unary_stream("/grpc.health.v1.Health/Watch", raw, raw)(request, timeout=20)
        want(read("grpc.health.v1.HealthCheckResponse", next(stream)).status, status)
        stream.cancel()


def control(given):
    client = Client(given)
    data, _ = client.call("/mirage.v1.Control/Reset", b"", metadata=[("mirage-session", "other")])
    text = str(type(message("mirage.v1.DoneResponse")).FromString(data))
    want("other" in text, True)


def outstanding(given):
    client = Client(given)
    calls = [(i, client.channel.unary_unary(ECHO, raw, raw).future(echo(number=i), timeout=60,
                                                                  metadata=[("mirage-session", f"s{i % 10}")]))
             for i in range(100)]
    for i, call in calls:
        want(read("matrix.v1.EchoMessage", call.result()).number, i)


if __name__ == "__main__":
    run({f.__name__.replace("_", " "): f for f in (
        unary, metadata, error, details, exact, number, deadline, cancel, unimplemented, streaming, large, malformed,
        reflection, health, health_watch, control, outstanding)})
