"""The inventory service: items, stock and reservations, in memory."""

import random
import sys
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.payload import is_int, json_object, optional_object
from inventory.catalogue import decode_cursor, encode_cursor, seeds
from inventory.problems import Problem, check_version, checked, parse_limit

DEFAULT_LIMIT = 5


class Inventory:
    name = "inventory"

    def __init__(self, rng=None):
        self.rng = rng or random.SystemRandom()
        self.reset()

    def reset(self):
        self.items = {item.id: item for item in seeds()}
        self.reservations = {}

    def handle(self, method, path, query, headers, body):
        try:
            status, reply = self.route(method, path, query, body)
        except Problem as error:
            status, reply = error.status, error.body
        return status, {}, reply

    def route(self, method, path, query, body):
        match (method, *map(unquote, path.split("/")[1:])):
            case "GET", "health":
                return 200, {"service": self.name, "status": "ok"}
            case "GET", "items":
                return 200, self.list_items(query)
            case "GET", "items", id:
                return 200, self.item(id).detail()
            case "POST", "items", id, "reserve":
                return self.reserve(id, checked(json_object(body)))
            case "PUT", "items", id, "stock":
                return 200, self.change_stock(id, checked(json_object(body)))
            case "GET", "reservations", id:
                return 200, self.reservation(id)
            case "POST", "reservations", id, "confirm":
                return 200, self.confirm(id, checked(optional_object(body)))
            case "POST", "reservations", id, "release":
                return 200, self.release(id)
        raise Problem(404, "ROUTE_NOT_FOUND", "no such route", method=method, path=path)

    def item(self, id):
        if id not in self.items:
            raise Problem(404, "ITEM_NOT_FOUND", f"Item '{id}' does not exist", item_id=id)
        return self.items[id]

    def reservation(self, id):
        if id not in self.reservations:
            raise Problem(404, "RESERVATION_NOT_FOUND", f"Reservation '{id}' does not exist",
                          reservation_id=id)
        return self.reservations[id]

    def list_items(self, query):
        limit = parse_limit(query["limit"]) if "limit" in query else DEFAULT_LIMIT
        after = decode_cursor(query["cursor"]) if "cursor" in query else ""
        if after is None:
            raise Problem(400, "INVALID_CURSOR", "cursor is not valid", cursor=query["cursor"])
        rows = [item for _, item in sorted(self.items.items()) if item.id > after]
        if query.get("in_stock") == "true":
            rows = [item for item in rows if item.status == "active" and item.available > 0]
        page = rows[:limit]
        cursor = encode_cursor(page[-1].id) if len(rows) > limit else None
        return {"items": [i.summary() for i in page], "count": len(page), "next_cursor": cursor}

    def reserve(self, id, data):
        item = self.item(id)
        quantity, ref = data.get("quantity"), data.get("order_ref")
        if not is_int(quantity) or quantity <= 0:
            kind = "positive" if is_int(quantity) else "an integer"
            raise Problem(422, "INVALID_QUANTITY", f"quantity must be {kind}",
                          field="quantity", value=quantity)
        for held in self.reservations.values() if ref is not None else ():
            if (held["item_id"], held["order_ref"], held["status"]) == (id, ref, "held"):
                if held["quantity"] == quantity:
                    return 200, held
                message = f"order_ref '{ref}' already holds {held['quantity']}"
                raise Problem(409, "DUPLICATE_ORDER_REF", message,
                              reservation_id=held["reservation_id"], quantity=held["quantity"])
        self.check_reservable(item, quantity, data.get("expected_version"))
        item.reserved += quantity
        item.version += 1
        reservation = {
            "reservation_id": f"rsv_{self.rng.getrandbits(48):012x}", "item_id": id,
            "quantity": quantity, "status": "held", "order_ref": ref,
            "reservation_version": 1, "item_version": item.version}
        self.reservations[reservation["reservation_id"]] = reservation
        return 201, reservation

    def check_reservable(self, item, quantity, version):
        if item.status == "discontinued":
            message = f"Item '{item.id}' is discontinued"
            raise Problem(409, "ITEM_DISCONTINUED", message, item_id=item.id)
        if quantity % item.lot:
            message = f"quantity must be a multiple of {item.lot}"
            raise Problem(422, "LOT_SIZE_VIOLATION", message, lot_size=item.lot, quantity=quantity)
        if item.most is not None and quantity > item.most:
            message = f"at most {item.most} per reservation"
            raise Problem(422, "QUANTITY_LIMIT_EXCEEDED", message, max=item.most, quantity=quantity)
        if version is not None:
            if not is_int(version):
                raise Problem(422, "INVALID_VERSION", "expected_version must be an integer")
            check_version(version, item.version)
        if quantity > item.available:
            message = f"requested {quantity}, available {item.available}"
            raise Problem(409, "INSUFFICIENT_STOCK", message,
                          requested=quantity, available=item.available)

    def confirm(self, id, data):
        reservation = self.reservation(id)
        self.refuse_confirmed(reservation, "confirm")
        if reservation["status"] == "released":
            raise Problem(410, "RESERVATION_GONE", "reservation was released", reservation_id=id)
        if data.get("version") is not None:
            check_version(data["version"], reservation["reservation_version"])
        item = self.settle(reservation, "confirmed")
        item.on_hand -= reservation["quantity"]
        return reservation | {"remaining_available": item.available}

    def release(self, id):
        reservation = self.reservation(id)
        self.refuse_confirmed(reservation, "release")
        noop = reservation["status"] == "released"
        if not noop:
            self.settle(reservation, "released")
        return reservation | {"noop": noop}

    def refuse_confirmed(self, reservation, action):
        if reservation["status"] == "confirmed":
            raise Problem(409, "INVALID_STATE", f"cannot {action} a confirmed reservation",
                          status="confirmed", action=action)

    def settle(self, reservation, status):
        """Ends a reservation."""
        item = self.items[reservation["item_id"]]
        item.reserved -= reservation["quantity"]
        item.version += 1
        reservation.update(status=status, item_version=item.version)
        reservation["reservation_version"] += 1
        return item

    def change_stock(self, id, data):
        item = self.item(id)
        expected, delta = data.get("expected_version"), data.get("delta")
        if expected is None:
            raise Problem(428, "VERSION_REQUIRED", "expected_version is required")
        if not is_int(delta) or delta == 0:
            raise Problem(422, "INVALID_DELTA", "delta must be a non-zero integer", value=delta)
        check_version(expected, item.version)
        if item.on_hand + delta < item.reserved:
            raise Problem(409, "STOCK_BELOW_RESERVED", "on_hand would drop below reserved",
                          on_hand=item.on_hand, reserved=item.reserved, delta=delta)
        item.on_hand += delta
        item.version += 1
        return item.detail()


if __name__ == "__main__":
    from common.serving import arguments, serve

    serve(Inventory(), arguments(__doc__, 8001).parse_args())
