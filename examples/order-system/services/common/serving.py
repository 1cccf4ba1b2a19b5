"""Starts a service on the wires that the command line asks for."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import Any

from common.http_server import ServiceServer


def arguments(description: str, default_port: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, default=default_port,
                        help="for HTTP; 0 takes a free one, here and below")
    parser.add_argument("--grpc-port", type=int, help="for gRPC, which needs python3-grpcio")
    parser.add_argument("--zmq-port", type=int, help="for ZeroMQ, which needs python3-zmq")
    return parser


def serve(service: Any, args: argparse.Namespace) -> None:
    with ExitStack() as wires:
        http = wires.enter_context(ServiceServer(service, args.port))
        addresses = [f"http={http.url}"]
        if args.grpc_port is not None:
            from common.grpc_server import GrpcServer

            grpc = wires.enter_context(GrpcServer(http.front, args.grpc_port))
            addresses.append(f"grpc={grpc.address}")
        if args.zmq_port is not None:
            from common.zmq_server import ZmqServer

            zmq = wires.enter_context(ZmqServer(http.front, args.zmq_port))
            addresses.append(f"zmq={zmq.address}")
        try:
            print("listening on", *addresses, flush=True)
            http.serve_forever()
        except KeyboardInterrupt:
            sys.exit(130)
