"""The steps of an order, each a call or more to one of the other services."""

from urllib.parse import quote

from order.payment_client import PaymentClient
from order.purchase import StepFailed, reason_of

PIECE_WEIGHT_G = 500
MAX_RESERVE_RETRIES = 2


class Steps:
    def __init__(self, send, inventory, payment, shipping):
        self.send, self.inventory, self.shipping = send, inventory, shipping
        self.paying = PaymentClient(send, payment)

    def in_order(self):
        return self.price, self.reserve, self.rate, self.pay, self.ship, self.confirm

    def price(self, purchase):
        status, item = self.read_item(purchase)
        if status != 200:
            raise StepFailed(404 if status == 404 else 502, item)
        purchase.item = item

    def read_item(self, purchase):
        item_id = quote(str(purchase.request["item_id"]), safe="")
        return self.send(self.inventory, "GET", f"/items/{item_id}")

    def reserve(self, purchase):
        for retries_left in range(MAX_RESERVE_RETRIES, -1, -1):
            status, reply = self.send(
                self.inventory, "POST", f"/items/{purchase.item['id']}/reserve",
                {"quantity": purchase.request["quantity"],
                 "expected_version": purchase.item["version"], "order_ref": purchase.order_id})
            if status < 300:
                break
            if reason_of(reply) != "VERSION_CONFLICT" or not retries_left:
                raise StepFailed(status, reply)
            self.price(purchase)
        id = purchase.receipt["reservation_id"] = reply["reservation_id"]
        purchase.undo["release"] = lambda: self.send(
            self.inventory, "POST", f"/reservations/{id}/release")

    def rate(self, purchase):
        address = purchase.request["address"]
        country = address.get("country") if isinstance(address, dict) else None
        query = {"country": country or "", "service": purchase.service,
                 "weight_g": PIECE_WEIGHT_G * purchase.request["quantity"]}
        status, reply = self.send(self.shipping, "GET", "/rates", query=query)
        if status != 200:
            raise StepFailed(422 if status == 422 else 502, reply)
        purchase.rate_cents = reply["amount_cents"]

    def pay(self, purchase):
        request = purchase.request
        total = purchase.item["price_cents"] * request["quantity"] + purchase.rate_cents
        charge = {"amount_cents": total, "currency": request.get("currency") or "USD",
                  "card": request["card"], "order_id": purchase.order_id}
        status, reply = self.paying.post("/v1/charges", charge, purchase.order_id)
        if status != 201:
            raise StepFailed(status if status in (402, 422, 429) else 502, reply)
        id = reply["charge_id"]
        purchase.receipt |= {"total_cents": total, "charge_id": id}
        purchase.undo["refund"] = lambda: self.paying.post(f"/v1/charges/{id}/refund")

    def ship(self, purchase):
        request = purchase.request
        item = {"item_id": request["item_id"], "quantity": request["quantity"],
                "weight_g": PIECE_WEIGHT_G}
        status, reply = self.send(self.shipping, "POST", "/shipments", {
            "order_id": purchase.order_id, "address": request["address"], "items": [item],
            "service": purchase.service})
        if status != 202:
            raise StepFailed(422 if 400 <= status < 500 else 502, reply)
        id = purchase.receipt["shipment_id"] = reply["shipment_id"]
        purchase.undo["cancel_shipment"] = lambda: self.send(
            self.shipping, "POST", f"/shipments/{id}/cancel")

    def confirm(self, purchase):
        path = f"/reservations/{purchase.receipt['reservation_id']}/confirm"
        status, reply = self.send(self.inventory, "POST", path, {"version": 1})
        if status != 200:
            if status == 410:
                del purchase.undo["release"]
            raise StepFailed(409, reply)
        del purchase.undo["release"]
        purchase.undo = {"restock": lambda: self.restock(purchase)} | purchase.undo

    def restock(self, purchase):
        status, item = self.read_item(purchase)
        if status != 200:
            return status, item
        return self.send(self.inventory, "PUT", f"/items/{item['id']}/stock", {
            "delta": purchase.request["quantity"], "expected_version": item["version"]})
