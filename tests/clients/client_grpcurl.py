# SPDX-License-Identifier: Apache-2.0
"""The features of the gRPC wire, by grpcurl: everything it knows of the service comes by reflection."""

import json
import os
import subprocess
import threading

from common import BIG, run, want

GRPCURL = os.environ.get("GRPCURL", "grpcurl")


def grpcurl(given, *words, flags=(), data=None, timeout=60):
    command = [GRPCURL, "-plaintext", *flags]
    if data is not None:
        command += ["-d", json.dumps(data)]
    return subprocess.run([*command, given["grpc"], *words], capture_output=True, text=True, timeout=timeout)


def good(done):
    want((done.returncode, done.stderr), (0, ""))
    return json.loads(done.stdout)


def unary(given):
    reply = good(grpcurl(given, "matrix.v1.Matrix/Echo", data={"text": "ä€😀", "number": BIG, "data": "AP8="}))
    want(reply, {"text": "ä€😀", "number": str(BIG), "data": "AP8="})


def metadata(given):
    done = grpcurl(given, "matrix.v1.Matrix/Echo", flags=["-v", "-H", "x-sent: 1"], data={"text": "x"})
    want([part in done.stdout for part in ("x-kind: echo", "mirage-source: llm", "x-tail: end")], [True] * 3)


def fail(given, kind):
    return grpcurl(given, "matrix.v1.Matrix/Fail", data={"kind": kind})


def error(given):
    done = fail(given, "conflict")
    want([part in done.stderr for part in ("Aborted", "expected version 1")], [True] * 2)


def details(given):
    done = fail(given, "conflict")
    want([part in done.stderr for part in ("google.rpc.ErrorInfo", "google.protobuf.Struct", "VERSION_CONFLICT")],
         [True] * 3)


def exact(given):
    want([part in fail(given, "exact").stderr for part in ("OutOfRange", "past the end", "END")], [True] * 3)


def number(given):
    done = fail(given, "number")
    want("odd" in done.stderr, True)
    return "shown as 400" if "400" in done.stderr else "shown as 2"


def deadline(given):
    done = grpcurl(given, "matrix.v1.Matrix/Slow", flags=["-max-time", "0.5"], data={"text": "x"})
    want("DeadlineExceeded" in done.stderr or "deadline" in done.stderr, True)


def cancel(given):
    process = subprocess.Popen([GRPCURL, "-plaintext", "-d", '{"text":"x"}', given["grpc"], "matrix.v1.Matrix/Slow"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    timer = threading.Timer(0.5, process.kill)
    timer.start()
    want(process.wait(20) != 0, True)
    unary(given)


def unimplemented(given):
    done = grpcurl(given, "matrix.v1.Matrix/Nothing", data={})
    want(done.returncode != 0, True)


def streaming(given):
    done = grpcurl(given, "matrix.v1.Matrix/Feed", data={"text": "x"})
    want("Unimplemented" in done.stderr and "stream" in done.stderr, True)


def large(given):
    done = subprocess.run([GRPCURL, "-plaintext", "-d", "@", given["grpc"], "matrix.v1.Matrix/Echo"],
                          input=json.dumps({"text": "x" * (given["limit"] + 1000)}), capture_output=True, text=True)
    want("ResourceExhausted" in done.stderr, True)


def reflection(given):
    listed = grpcurl(given, "list").stdout.split()
    want({"matrix.v1.Matrix", "grpc.health.v1.Health", "mirage.v1.Control"} <= set(listed), True)
    described = grpcurl(given, "describe", "matrix.v1.Matrix.Echo").stdout
    want("rpc Echo ( .matrix.v1.EchoMessage )" in described, True)


def health(given):
    want(good(grpcurl(given, "grpc.health.v1.Health/Check", data={"service": "matrix.v1.Matrix"})), {"status": "SERVING"})
    want("NotFound" in grpcurl(given, "grpc.health.v1.Health/Check", data={"service": "no.such"}).stderr, True)


def health_watch(given):
    done = grpcurl(given, "grpc.health.v1.Health/Watch", flags=["-max-time", "1"], data={"service": ""})
    want("SERVING" in done.stdout, True)


def control(given):
    done = grpcurl(given, "mirage.v1.Control/Reset", flags=["-H", "mirage-session: other"], data={})
    want("other" in done.stdout, True)


if __name__ == "__main__":
    run({f.__name__.replace("_", " "): f for f in (
        unary, metadata, error, details, exact, number, deadline, cancel, unimplemented, streaming, large, reflection,
        health, health_watch, control)})
