# SPDX-License-Identifier: Apache-2.0
"""What the example's tests share: its modules on the path, and services without sockets."""

import json
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "order-system"
sys.dont_write_bytecode = True
sys.path[:0] = [str(EXAMPLE), str(EXAMPLE / "services"), str(Path(__file__).resolve().parents[1] / "lib")]

import scenario
from inventory.inventory import Inventory
from order.order import OrderService
from payment.payment import Payment
from shipping.shipping import Shipping


class Local:
    """Calls a service's logic the way a client calls it over HTTP, and keeps the requests."""

    def __init__(self, service):
        self.service = service
        self.requests = []

    def call(self, method, path, body=None, query=None, headers=None):
        status, _, reply = self.raw(method, path, body, query, headers)
        return status, reply

    def raw(self, method, path, body=None, query=None, headers=None):
        data = b"" if body is None else json.dumps(body).encode()
        return self.send(method, path, query or {}, headers or {}, data)

    def send(self, method, path, query, headers, data):
        query = {name: str(value) for name, value in query.items()}
        headers = {name.lower(): value for name, value in headers.items()}
        self.requests.append((method, path, query, headers, data))
        status, reply_headers, reply = self.service.handle(method, path, query, headers, data)
        return status, reply_headers, json.loads(json.dumps(reply))


def world():
    clients = {s.name: Local(s) for s in (Inventory(), Payment(), Shipping())}
    clients["order"] = Local(OrderService(*clients.values(), id_seed="test"))
    return clients


def play(item, clients):
    """Runs a scenario; returns its replies as (status, headers, body)."""
    names, replies = {}, []
    for call in item.calls:
        request = scenario.build(call, names)
        client = clients[call.get("target", item.dependency)]
        status, headers, body = client.send(request.method, request.path, request.query,
                                            request.headers, request.body)
        headers = {name.lower(): value for name, value in headers.items()}
        scenario.save(call, scenario.Reply(status, headers, json.dumps(body)), names)
        replies.append((status, headers, body))
    return replies
