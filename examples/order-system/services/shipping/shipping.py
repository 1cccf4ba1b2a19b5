"""The shipping service: rates and shipments, in memory.

A shipment moves when it is polled: its state depends on how often it was read.
"""

import random
import sys
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.payload import json_object
from shipping.validation import error_list, rate_issues, shipment_issues

# The state at poll 1, 2, …; the last one stays.
PLANS = {
    "economy": ("queued", "queued", "label_created", "in_transit", "in_transit", "delivered"),
    "standard": ("queued", "label_created", "in_transit", "delivered"),
    "express": ("label_created", "in_transit", "delivered"),
}
UNSERVICEABLE_PLAN = ("queued", "failed")

PROGRESS = {"queued": 0, "label_created": 25, "in_transit": 60, "delivered": 100}
POLL_AFTER_S = {"queued": 2, "label_created": 5, "in_transit": 30}
TERMINAL = ("delivered", "failed", "cancelled")
NOT_CANCELLABLE = {
    "in_transit": ("too_late", "shipment is in transit"),
    "delivered": ("already_delivered", "shipment was delivered"),
    "failed": ("not_cancellable", "shipment has failed"),
}

BASE_CENTS = {"US": 500, "GB": 900, "DE": 900, "NL": 900, "JP": 1400}
STEP_G = 500
STEP_CENTS = {"economy": 80, "standard": 120, "express": 300}
JP_EXPRESS_CENTS = 500
ETA_DAYS = {
    "US": {"economy": 7, "standard": 4, "express": 1},
    "GB": {"economy": 10, "standard": 6, "express": 2},
    "DE": {"economy": 10, "standard": 6, "express": 2},
    "NL": {"economy": 10, "standard": 6, "express": 2},
    "JP": {"economy": 14, "standard": 9, "express": 3},
}


class Problem(Exception):
    def __init__(self, status, error, message, **extras):
        self.status, self.body = status, {"error": error, "message": message} | extras


class Shipping:
    name = "shipping"

    def __init__(self, rng=None):
        self.rng = rng or random.SystemRandom()
        self.reset()

    def reset(self):
        self.shipments = {}
        self.polls = {}  # shipment id: (plan, country, polls so far)

    def handle(self, method, path, query, headers, body):
        try:
            return self.route(method, path, query, body)
        except Problem as problem:
            return problem.status, {}, problem.body

    def route(self, method, path, query, body):
        match (method, *map(unquote, path.split("/")[1:])):
            case "GET", "health":
                return 200, {}, {"service": self.name, "status": "ok"}
            case "GET", "rates":
                return self.rate(query)
            case "POST", "shipments":
                return self.create(json_object(body))
            case "GET", "shipments", id:
                shipment = self.poll(id)
                return 200 if shipment["status"] in TERMINAL else 202, {}, shipment
            case "POST", "shipments", id, "cancel":
                return 200, {}, self.cancel(id)
        raise Problem(404, "no_route", "no such route")

    def create(self, data):
        if data is None:
            raise Problem(400, "malformed_body", "JSON object expected")
        service = "standard" if data.get("service") is None else data["service"]
        errors = error_list(shipment_issues(data, service))
        if errors:
            return 422, {}, {"errors": errors}
        self.refuse_duplicate(data["order_id"])
        id = f"shp_{self.rng.getrandbits(48):012x}"
        shipment = self.shipments[id] = {
            "shipment_id": id, "order_id": data["order_id"], "service": service,
            "status": "queued", "progress": 0, "tracking_number": None,
            "poll_after_s": POLL_AFTER_S["queued"], "events": [{"seq": 1, "status": "queued"}]}
        po_box = "po box" in data["address"]["street"].lower()
        plan = UNSERVICEABLE_PLAN if service == "express" and po_box else PLANS[service]
        self.polls[id] = plan, data["address"]["country"], 0
        return 202, {"Location": f"/shipments/{id}"}, shipment

    def refuse_duplicate(self, order_id):
        for shipment in self.shipments.values():
            open_or_done = shipment["status"] not in ("cancelled", "failed")
            if shipment["order_id"] == order_id and open_or_done:
                raise Problem(409, "duplicate_order", "order already has a shipment",
                              shipment_id=shipment["shipment_id"])

    def find(self, id):
        if id not in self.shipments:
            raise Problem(404, "not_found", f"no shipment {id}")
        return self.shipments[id]

    def poll(self, id):
        shipment = self.find(id)
        plan, country, polls = self.polls[id]
        if shipment["status"] not in TERMINAL:
            self.polls[id] = plan, country, polls + 1
            status = plan[min(polls, len(plan) - 1)]
            if status != shipment["status"]:
                self.move(shipment, status, country)
        return shipment

    def move(self, shipment, status, country=None):
        shipment["status"] = status
        shipment["progress"] = PROGRESS.get(status, shipment["progress"])
        shipment["poll_after_s"] = POLL_AFTER_S.get(status)
        events = shipment["events"]
        events.append({"seq": len(events) + 1, "status": status})
        if status == "label_created":
            shipment["tracking_number"] = self.tracking_number(country)
        elif status == "failed":
            shipment["failure"] = {"code": "ADDRESS_UNSERVICEABLE",
                                   "message": "express cannot deliver to a PO box"}

    def tracking_number(self, country):
        digits = f"{self.rng.randrange(10**9):09d}"
        return f"ZX{country}{digits}{sum(map(int, digits)) % 7}"

    def cancel(self, id):
        shipment = self.find(id)
        status = shipment["status"]
        if status in NOT_CANCELLABLE:
            raise Problem(409, *NOT_CANCELLABLE[status])
        if status != "cancelled":
            shipment["label_voided"] = status == "label_created"
            self.move(shipment, "cancelled")
        return shipment

    def rate(self, query):
        errors = error_list(rate_issues(query))
        if errors:
            return 422, {}, {"errors": errors}
        country, service = query["country"], query["service"]
        steps = -(-int(query["weight_g"]) // STEP_G)
        amount = BASE_CENTS[country] + steps * STEP_CENTS[service]
        if (country, service) == ("JP", "express"):
            amount += JP_EXPRESS_CENTS
        return 200, {}, {"amount_cents": amount, "currency": "USD", "service": service,
                         "eta_days": ETA_DAYS[country][service]}


if __name__ == "__main__":
    from common.serving import arguments, serve

    serve(Shipping(), arguments(__doc__, 8003).parse_args())
