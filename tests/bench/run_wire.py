# SPDX-License-Identifier: Apache-2.0
"""Compares Mirage over gRPC or ZeroMQ with a bare server on the same library, in turn and several times.

    run_wire.py --wire grpc --bare build/tests/bench/bare_grpc --load build/tests/bench/load_grpc

The scenario is run_http.py's, recorded over HTTP and replayed over the wire; what is compared, and how, is said
there.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import run_http
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from run_http import SCENARIO, Server, mirage_lib

HERE = os.path.dirname(os.path.abspath(__file__))
LISTEN = 'listen: {http: "127.0.0.1:0", grpc: "127.0.0.1:0", zmq: ["tcp://127.0.0.1:*"]}'
PROTOS = "\n    protos: {roots: [protos], files: [stock.proto]}"

# RPC and message of each exchange of the scenario.
CALLS = [
    ("Add", {"sku": "item-001", "quantity": 40}),
    ("Get", {"sku": "item-001"}),
    ("Reserve", {"sku": "item-001", "quantity": 2, "order": "o-1"}),
    ("Get", {"sku": "item-001", "view": "stock"}),
    ("Reserve", {"sku": "item-001", "quantity": 3, "order": "o-2"}),
    ("List", {"order": "o-1"}),
    ("Release", {"order": "o-1", "reason": "cancelled"}),
    ("Get", {"sku": "item-001", "view": "stock"}),
    ("Ship", {"sku": "item-001", "order": "o-2", "carrier": "post"}),
    ("Get", {"sku": "item-001"}),
]


def with_wires(text, doubled):
    """A configuration of run_http.py, listening on all wires."""
    old = 'listen: {{http: "127.0.0.1:0"}}' if doubled else 'listen: {http: "127.0.0.1:0"}'
    new = LISTEN + PROTOS
    if old not in text:
        raise AssertionError("run_http.py's configuration has another form")
    return text.replace(old, new.replace("{", "{{").replace("}", "}}") if doubled else new)


def messages(folder):
    """The classes of stock.proto's messages, by method."""
    binary = os.path.join(folder, "stock.binpb")
    subprocess.run(["protoc", f"--proto_path={HERE}", f"--proto_path={HERE}/../../proto", "--include_imports",
                    f"--descriptor_set_out={binary}", "stock.proto"], check=True)
    pool = descriptor_pool.DescriptorPool()
    with open(binary, "rb") as f:
        for one in descriptor_pb2.FileDescriptorSet.FromString(f.read()).file:
            pool.Add(one)
    factory = message_factory.MessageFactory(pool)
    service = pool.FindServiceByName("bench.v1.Stock")
    return {m.name: factory.GetPrototype(m.input_type) for m in service.methods}


def grpc_scenario(folder):
    classes = messages(folder)
    lines = []
    for exchange, (rpc, fields) in zip(SCENARIO, CALLS):
        piece = exchange.piece.replace('"', "").split(":")[-1]
        lines.append(f"/bench.v1.Stock/{rpc}\t{classes[rpc](**fields).SerializeToString().hex()}\t"
                     f"{piece.encode().hex()}")
    return "\n".join(lines) + "\n"


def zmq_scenario(_):
    lines = []
    for x in SCENARIO:
        body = f',"body":{json.dumps(x.body)}' if x.body is not None else ""
        lines.append(f'-\t{{"id":{{id}},"session":"{{session}}","method":"{x.method}","path":"{x.path}"{body}}}\t'
                     f"{x.piece or '-'}")
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def mirage_server(folder, wire, binary):
    with mirage_lib.Mirage(os.path.join(folder, "replay.yaml"), ["--mode", "replay"], folder=folder,
                           binary=binary) as m:
        told = m.ready["dependencies"][0][wire]
        yield Server(m.command, told[0] if wire == "zmq" else told, m.pid, m.start_seconds, True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wire", choices=["grpc", "zmq"], required=True)
    parser.add_argument("--bare", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--mirage")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=1000, help="sessions, each of ten exchanges")
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--size", type=int, default=64, help="bytes of the bare server's replies")
    parser.add_argument("--json", metavar="FILE")
    parser.set_defaults(pin=False)
    return parser.parse_args()


def main():
    options = parse_arguments()
    folder = tempfile.mkdtemp(prefix="mirage-bench-")
    try:
        os.mkdir(os.path.join(folder, "protos"))
        shutil.copy(os.path.join(HERE, "stock.proto"), os.path.join(folder, "protos"))
        scenario = os.path.join(folder, "scenario.txt")
        with open(scenario, "w", encoding="utf-8") as f:
            f.write((grpc_scenario if options.wire == "grpc" else zmq_scenario)(folder))
        run_http.record_cassette(folder, SCENARIO, options.mirage, record=with_wires(run_http.RECORD, True),
                                 replay=with_wires(run_http.REPLAY, False))
        scheme = "tcp://" if options.wire == "zmq" else ""
        rounds = []
        for number in range(options.rounds):
            pair = (run_http.measure(lambda: run_http.bare_server(options.bare, 2, options.size, scheme), options.load,
                                     scenario, options),
                    run_http.measure(lambda: mirage_server(folder, options.wire, options.mirage), options.load, scenario,
                                     options))
            rounds.append(pair)
            print(f"round {number + 1}: " + ", ".join(
                f"{key} {pair[1][key] / pair[0][key]:.2f}" for key, _ in run_http.ROWS[:4] if pair[0][key]),
                file=sys.stderr)
        summary = run_http.compare(rounds)
        print(run_http.table(summary, "mirage"))
        if options.json:
            with open(options.json, "w", encoding="utf-8") as f:
                json.dump({"wire": options.wire, "cpus": os.cpu_count(), "summary": summary,
                           "rounds": [{"bare": a, "other": b} for a, b in rounds]}, f, indent=1)
                f.write("\n")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
