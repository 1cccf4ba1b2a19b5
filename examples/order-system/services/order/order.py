"""The order service: places orders at inventory, shipping and payment.

An order is a saga. Every step that took effect leaves an action behind that
undoes it; when a later step fails, these run, the latest first.
"""

import os
import random
import sys
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.http_client import HttpClient, UpstreamError
from common.payload import json_object
from order.purchase import Purchase, StepFailed, reason_of
from order.steps import Steps

REQUIRED = ("item_id", "quantity", "card", "address")
PROPAGATED_HEADERS = ("baggage", "mirage-session")
PROGRESS = {"queued": "preparing", "label_created": "preparing", "in_transit": "shipped",
            "delivered": "completed", "failed": "problem"}


class OrderService:
    name = "order"

    def __init__(self, inventory, payment, shipping, id_seed=None):
        self.upstreams = inventory, payment, shipping
        self.shipping = shipping
        self.id_seed = id_seed
        self.reset()

    def reset(self):
        self.rng = random.Random(self.id_seed)
        self.orders = {}
        self.steps = Steps(self.send, *self.upstreams)
        self.context = {}

    def handle(self, method, path, query, headers, body):
        self.context = {name: headers[name] for name in PROPAGATED_HEADERS if name in headers}
        status, reply = self.route(method, path, body)
        return status, {}, reply

    def route(self, method, path, body):
        match (method, *map(unquote, path.split("/")[1:])):
            case "GET", "health":
                return 200, {"service": self.name, "status": "ok"}
            case "POST", "orders":
                return self.place(json_object(body) or {})
            case ("GET", "orders", id) | (_, "orders", id, _) if id not in self.orders:
                return 404, {"error": "order_not_found", "order_id": id}
            case "GET", "orders", id:
                return 200, self.orders[id].record()
            case "GET", "orders", id, "status":
                return self.follow(self.orders[id])
            case "POST", "orders", id, "cancel":
                return self.cancel(self.orders[id])
        return 404, {"error": "no_route"}

    def send(self, client, method, path, body=None, query=None, headers=None):
        return client.call(method, path, body, query, self.context | (headers or {}))

    def place(self, request):
        missing = [name for name in REQUIRED if request.get(name) is None]
        if missing:
            return 400, {"status": "invalid", "missing": missing}
        purchase = Purchase(f"ord_{self.rng.getrandbits(48):012x}", request)
        self.orders[purchase.order_id] = purchase
        for step in self.steps.in_order():
            try:
                step(purchase)
            except StepFailed as failure:
                return self.give_up(purchase, step.__name__, failure.status, failure.reason)
            except (UpstreamError, KeyError, TypeError):
                return self.give_up(purchase, step.__name__, 502, "bad_upstream")
            purchase.steps.append(step.__name__)
        return 201, purchase.record()

    def give_up(self, purchase, step, status, reason):
        before_reserved = step in ("price", "reserve")
        purchase.status = "rejected" if before_reserved else "compensated"
        purchase.failed_step, purchase.reason = step, reason
        for action in reversed(purchase.undo):
            self.compensate(purchase, action)
        return status, purchase.record()

    def compensate(self, purchase, action):
        try:
            status, _ = purchase.undo[action]()
        except UpstreamError:
            status = 502
        purchase.compensations.append({"action": action, "ok": status < 300})
        return status

    def follow(self, purchase):
        reply = {"order_id": purchase.order_id, "status": purchase.status}
        if purchase.status != "placed":
            return 200, reply
        path = f"/shipments/{purchase.receipt['shipment_id']}"
        try:
            status, shipment = self.send(self.shipping, "GET", path)
        except UpstreamError:
            return 502, {"error": "bad_upstream"}
        if status not in (200, 202):
            return 502, {"error": reason_of(shipment)}
        state = shipment.get("status")
        return 200, reply | {"status": PROGRESS.get(state, state), "shipment_status": state}

    def cancel(self, purchase):
        if purchase.status != "placed":
            return 409, {"error": "not_placed", "order_id": purchase.order_id,
                         "status": purchase.status}
        for action in reversed(purchase.undo):
            if self.compensate(purchase, action) == 409 and action == "cancel_shipment":
                purchase.compensations.clear()
                return 409, {"error": "too_late", "order_id": purchase.order_id}
        purchase.status = "cancelled"
        return 200, purchase.record()


def main():
    from common.serving import arguments, serve

    parser = arguments(__doc__, 8000)
    for name, port in (("inventory", 8001), ("payment", 8002), ("shipping", 8003)):
        parser.add_argument(f"--{name}", default=f"http://127.0.0.1:{port}", metavar="URL")
    parser.add_argument("--id-seed", default=os.environ.get("ORDER_ID_SEED"))
    args = parser.parse_args()
    urls = (args.inventory, args.payment, args.shipping)
    serve(OrderService(*map(HttpClient, urls), args.id_seed), args)


if __name__ == "__main__":
    main()
