# SPDX-License-Identifier: Apache-2.0
"""A day of ordinary business: drives the real services and writes their traces.

    python3 workload.py                 writes traces/*.jsonl
    python3 workload.py --bodies FILE   writes requests and responses as well
    python3 workload.py --examples      writes examples/*.jsonl: one exchange an endpoint, as structure

Only journeys that go well. Everything is seeded: each run writes the same files.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tracing import IDS, Recorder, TracedClient, TracedService, flat_lines, otlp_lines

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "services"))

from common.http_client import HttpClient
from common.http_server import ServiceServer
from inventory.inventory import Inventory
from order.order import OrderService
from payment.payment import Payment
from shipping.shipping import Shipping

SEED = 20260101
OLD_NAMES = ("order",)
CARDS = ("4242424242424242", "5555555555554444", "4000056655665556", "2223003122003222")
ADDRESSES = (
    {"name": "Mara Lindqvist", "street": "5 Harbour Lane", "city": "Portland",
     "postal_code": "97201", "country": "US"},
    {"name": "Owen Pryce", "street": "41 Mill Street", "city": "Bristol",
     "postal_code": "BS1 4DJ", "country": "GB"},
    {"name": "Lena Vogt", "street": "Lindenweg 8", "city": "Leipzig",
     "postal_code": "04109", "country": "DE"},
    {"name": "Sjoerd Bakker", "street": "Kade 17", "city": "Utrecht", "country": "NL"},
    {"name": "Aiko Mori", "street": "3-14 Sakura-dori", "city": "Nagoya", "country": "JP"},
)
SERVICES = ("economy", "standard", "express")
ORDERED = ("item-002", "item-009", "item-012")
RESERVED = ("item-002", "item-009", "item-010", "item-012")


class Shop:
    """The customers and clerks; each method is one journey."""

    def __init__(self, clients: dict[str, HttpClient], rng: random.Random) -> None:
        self.clients, self.rng = clients, rng
        self.count = 0

    def call(self, service: str, method: str, path: str, body: Any = None,
             query: dict | None = None, headers: dict | None = None) -> dict:
        status, reply = self.clients[service].call(method, path, body, query, headers)
        if status >= 300:
            raise RuntimeError(f"{service}: {method} {path}: {status} {reply}")
        return reply

    def number(self) -> int:
        self.count += 1
        return self.count

    def card(self) -> dict:
        return {"number": self.rng.choice(CARDS), "exp_month": self.rng.randint(1, 12),
                "exp_year": self.rng.randint(2032, 2036)}

    def browse(self) -> None:
        query = {"limit": self.rng.choice((3, 4, 6))}
        if self.rng.random() < 0.4:
            query["in_stock"] = "true"
        page = self.call("inventory", "GET", "/items", query=query)
        if page["next_cursor"]:
            self.call("inventory", "GET", "/items", query=query | {"cursor": page["next_cursor"]})
        item = self.rng.choice(page["items"])
        self.call("inventory", "GET", f"/items/{item['id']}")

    def reserve(self) -> None:
        item = self.call("inventory", "GET", f"/items/{self.rng.choice(RESERVED)}")
        body = {"quantity": self.rng.randint(4, 8), "order_ref": f"desk-{self.number():04d}"}
        if self.rng.random() < 0.5:
            body["expected_version"] = item["version"]
        held = self.call("inventory", "POST", f"/items/{item['id']}/reserve", body)
        path = f"/reservations/{held['reservation_id']}"
        self.call("inventory", "GET", path)
        if self.rng.random() < 0.4:
            self.call("inventory", "POST", f"{path}/confirm", {"version": 1})
            self.restock(item["id"], body["quantity"])
        else:
            self.call("inventory", "POST", f"{path}/release")

    def restock(self, item_id: str, delta: int) -> None:
        item = self.call("inventory", "GET", f"/items/{item_id}")
        self.call("inventory", "PUT", f"/items/{item_id}/stock",
                  {"delta": delta, "expected_version": item["version"]})

    def charge(self, token: str) -> None:
        auth = {"Authorization": f"Bearer {token}"}
        number = self.number()
        amount = self.rng.randrange(2205, 60000, 20)
        body = {"amount_cents": amount, "card": self.card(),
                "currency": self.rng.choice(("USD", "USD", "EUR", "GBP")),
                "order_id": f"desk-{number:04d}", "capture": number % 3 > 0}
        charge = self.call("payment", "POST", "/v1/charges", body,
                           headers=auth | {"Idempotency-Key": f"desk-charge-{number}"})
        path = f"/v1/charges/{charge['charge_id']}"
        if charge["status"] == "authorized":
            self.call("payment", "POST", f"{path}/capture", {"amount_cents": amount - 200},
                      headers=auth)
        elif self.rng.random() < 0.4:
            self.call("payment", "POST", f"{path}/refund",
                      {"amount_cents": self.rng.randrange(505, 2000, 10)}, headers=auth)
        self.call("payment", "GET", path, headers=auth)

    def parcel(self) -> None:
        address, service = self.rng.choice(ADDRESSES), self.rng.choice(SERVICES)
        quantity, weight = self.rng.randint(1, 4), self.rng.randrange(650, 2600, 130)
        self.call("shipping", "GET", "/rates", query={
            "country": address["country"], "weight_g": quantity * weight, "service": service})
        item = {"item_id": self.rng.choice(RESERVED), "quantity": quantity, "weight_g": weight}
        shipment = self.call("shipping", "POST", "/shipments", {
            "order_id": f"desk-{self.number():04d}", "address": address, "items": [item],
            "service": service})
        path = f"/shipments/{shipment['shipment_id']}"
        if self.rng.random() < 0.1:
            self.call("shipping", "POST", f"{path}/cancel")
            return
        for _ in range(self.rng.randint(1, 6)):
            shipment = self.call("shipping", "GET", path)
            if shipment["status"] == "delivered":
                break

    def order(self) -> None:
        order = self.call("order", "POST", "/orders", {
            "item_id": self.rng.choice(ORDERED), "quantity": self.rng.randint(4, 7),
            "card": self.card(), "address": self.rng.choice(ADDRESSES),
            "service": self.rng.choice(SERVICES)})
        path = f"/orders/{order['order_id']}"
        self.call("order", "GET", path)
        fate = self.rng.random()
        if fate < 0.1:
            self.call("order", "POST", f"{path}/cancel")
        for _ in range(self.rng.randint(0, 2) if fate >= 0.1 else 0):
            self.call("order", "GET", f"{path}/status")


def open_for_business(shop: Shop) -> None:
    credentials = {"client_id": "order-svc", "client_secret": "order-secret-1"}
    token = shop.call("payment", "POST", "/v1/tokens", credentials)["access_token"]
    journeys = ([shop.order] * 42 + [shop.browse] * 34 + [shop.reserve] * 36
                + [lambda: shop.charge(token)] * 140 + [shop.parcel] * 62)
    shop.rng.shuffle(journeys)
    for journey in journeys:
        journey()


def record() -> Recorder:
    """Runs the workload over HTTP against services whose ids are seeded."""
    recorder = Recorder(SEED)
    with ExitStack() as stack:

        def serve(service: Any) -> HttpClient:
            traced = TracedService(service, recorder, service.name in OLD_NAMES)
            server = stack.enter_context(ServiceServer(traced))
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            stack.callback(server.shutdown)
            return HttpClient(server.url)

        clients = {service.name: serve(service) for service in (
            Inventory(random.Random(SEED + 1)), Payment(random.Random(SEED + 2)),
            Shipping(random.Random(SEED + 3)))}
        upstreams = [TracedClient(client, recorder, name) for name, client in clients.items()]
        clients["order"] = serve(OrderService(*upstreams, id_seed=SEED + 4))
        open_for_business(Shop(clients, random.Random(SEED + 5)))
    return recorder


def trace_files(recorder: Recorder) -> dict[str, str]:
    """The text of each trace file, by name."""
    lines = {name: otlp_lines(spans) if name == "shipping" else flat_lines(spans)
             for name, spans in recorder.spans.items()}
    return {f"{name}.jsonl": "".join(f"{line}\n" for line in found)
            for name, found in lines.items()}


def structure(value: Any) -> Any:
    """A value's structure: its keys and types, and nothing of what it says."""
    if isinstance(value, dict):
        return {key: structure(item) for key, item in value.items()}
    if isinstance(value, list):
        return [structure(item) for item in value[:1]]
    if isinstance(value, bool) or value is None:
        return value and False
    return type(value)() if isinstance(value, (int, float)) else "string"


def example_files(recorder: Recorder) -> dict[str, str]:
    """For each dependency the first exchange with each endpoint, values taken out."""
    files: dict[str, dict[tuple, str]] = {}
    for pair in recorder.pairs:
        path = IDS.sub("{id}", pair["path"])
        entry = {"method": pair["method"], "path": path}
        for name, kept in (("query", "query"), ("request_body", "body")):
            if pair[kept]:
                entry[name] = structure(pair[kept])
        entry |= {"status": pair["status"], "body": structure(pair["response"])}
        lines = files.setdefault(f"{pair['service']}.jsonl", {})
        lines.setdefault((pair["method"], path), json.dumps(entry))
    files.pop("order.jsonl", None)  # nobody's dependency
    return {name: "".join(f"{line}\n" for line in lines.values())
            for name, lines in files.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=Path, metavar="FILE",
                        help="write request and response pairs there")
    parser.add_argument("--examples", action="store_true",
                        help="write examples, one for each endpoint")
    args = parser.parse_args()
    recorder = record()
    folders = {"traces": trace_files(recorder)}
    if args.examples:
        folders["examples"] = example_files(recorder)
    for folder, files in folders.items():
        (HERE / folder).mkdir(exist_ok=True)
        for name, text in files.items():
            (HERE / folder / name).write_text(text, encoding="utf-8")
    if args.bodies:
        args.bodies.write_text("".join(f"{json.dumps(pair)}\n" for pair in recorder.pairs),
                               encoding="utf-8")
    for name, spans in recorder.spans.items():
        print(f"{name}: {len(spans)} spans")


if __name__ == "__main__":
    main()
