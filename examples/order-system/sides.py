# SPDX-License-Identifier: Apache-2.0
"""The two sides that are compared, and clients for the wires that lead to them."""

from __future__ import annotations

import http.client
from dataclasses import dataclass
from typing import Any

from processes import DEPENDENCIES, Processes, StartError
from scenario import Reply, Request, send

WIRES = ("http", "grpc", "zmq")
ORDER_ID_SEED = "order-system"
TEST_RESET, MOCK_RESET = "/__test__/reset", "/__mock__/reset"


@dataclass
class Side:
    """One set of four services, and how its dependencies are put back to their start."""
    name: str
    doors: dict[str, dict[str, str]]  # by service and wire: an address
    dependency_reset: str = TEST_RESET

    def reset(self) -> None:
        """Over HTTP; what a service keeps is the same behind all its wires."""
        for name, door in self.doors.items():
            path = self.dependency_reset if name in DEPENDENCIES else TEST_RESET
            reply = send(door["http"], Request("POST", path, {}, {}, b""))
            if reply.status >= 300:
                raise StartError(f"{self.name} {name}: reset answered {reply.status} {reply.text}")


def with_order(processes: Processes, doors: dict[str, dict]) -> dict[str, dict]:
    """The doors of three dependencies and of an order service that calls them over HTTP."""
    flags = [part for name in DEPENDENCIES for part in (f"--{name}", doors[name]["http"])]
    return doors | {"order": processes.service("order", *flags, ORDER_ID_SEED=ORDER_ID_SEED)}


def real_side(processes: Processes, wires: list[str], name: str = "real") -> Side:
    flags = [part for wire in wires if wire != "http" for part in (f"--{wire}-port", "0")]
    doors = {dependency: processes.service(dependency, *flags) for dependency in DEPENDENCIES}
    return Side(name, with_order(processes, doors))


def mirage_side(processes: Processes, wires: list[str], ready: dict) -> Side:
    served = {entry["name"]: entry for entry in ready["dependencies"]}
    doors = {}
    for name in DEPENDENCIES:
        entry = served.get(name, {})
        zmq = entry.get("zmq") or [None]
        doors[name] = {"http": entry.get("http"), "grpc": entry.get("grpc"), "zmq": zmq[0]}
        absent = [wire for wire in ("http", *wires) if not doors[name][wire]]
        if absent:
            raise StartError(f"mirage does not serve {name} over {', '.join(absent)}")
    return Side("mirage", with_order(processes, doors), MOCK_RESET)


class HttpClient:
    def send(self, address: str, service: str, request: Request) -> Reply:
        return send(address, request)

    def close(self) -> None:
        """Each call has a connection of its own."""


class Clients:
    """A client for each wire; only those asked for need their library."""

    def __init__(self, wires: list[str]) -> None:
        self.by_wire: dict[str, Any] = {"http": HttpClient()}
        if "grpc" in wires:
            from grpc_client import GrpcClient
            self.by_wire["grpc"] = GrpcClient()
        if "zmq" in wires:
            from zmq_client import ZmqClient
            self.by_wire["zmq"] = ZmqClient()

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.by_wire.values():
            client.close()

    def misfit(self, wire: str, service: str, request: Request) -> str:
        """Why a call cannot be made over that wire, or nothing."""
        if wire != "grpc":
            return ""
        from common.protos import Misfit
        try:
            self.by_wire[wire].prepare(service, request)
        except Misfit as misfit:
            return str(misfit)
        return ""

    def send(self, wire: str, side: Side, service: str, request: Request) -> Reply:
        return self.by_wire[wire].send(side.doors[service][wire], service, request)

    def attempt(self, wire: str, side: Side, service: str, request: Request) -> Reply:
        """A call which may go unanswered; the status is 0 then."""
        try:
            return self.send(wire, side, service, request)
        except (OSError, http.client.HTTPException) as error:
            return Reply(0, {}, f"no answer: {error}")
