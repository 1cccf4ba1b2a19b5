# SPDX-License-Identifier: Apache-2.0
"""The services against their rules, and every scenario against what it probes."""

import json
import unittest

from support import play, world
import tap

import scenario

CARD = {"number": "4242424242424242", "exp_month": 6, "exp_year": 2031}
ADDRESS = {"name": "A", "street": "S 1", "city": "C", "postal_code": "1", "country": "US"}


class Case(unittest.TestCase):
    def setUp(self):
        self.clients = world()

    def expect(self, reply, code, /, **parts):
        self.assertEqual(reply[0], code, reply)
        for name, value in parts.items():
            self.assertEqual(reply[1][name], value, reply)
        return reply[1]


class Inventory(Case):
    def call(self, method, path, body=None, **query):
        return self.clients["inventory"].call(method, path, body, query)

    def reserve(self, item="item-001", **body):
        return self.call("POST", f"/items/{item}/reserve", body)

    def fails(self, reply, status, code, message=None, details=None):
        self.assertEqual(reply[0], status, reply)
        error = reply[1]["error"]
        self.assertEqual(set(error), {"code", "message", "details", "retryable"})
        self.assertEqual(error["code"], code)
        self.assertIs(error["retryable"], code == "VERSION_CONFLICT")
        if message is not None:
            self.assertEqual(error["message"], message)
        if details is not None:
            self.assertEqual(error["details"], details)

    def test_malformed_bodies(self):
        for data in (b"", b"\xff", b"[]", b"{", b'{"quantity": NaN}', b'{"quantity": 1e999}',
                     b"[" * 100000):
            status, _, reply = self.clients["inventory"].send(
                "POST", "/items/nope/reserve", {}, {}, data)
            self.fails((status, reply), 400, "MALFORMED_BODY",
                       "Request body must be a JSON object", {})

    def test_listing(self):
        page = self.expect(self.call("GET", "/items"), 200, count=5, next_cursor="azppdGVtLTAwNQ")
        self.assertEqual(page["items"][0], {"id": "item-001", "name": "Walnut Desk Lamp",
                                            "price_cents": 4599, "available": 10, "version": 1})
        self.expect(self.call("GET", "/items", limit=99), 200, count=12, next_cursor=None)
        self.expect(self.call("GET", "/items", limit=12), 200, count=12, next_cursor=None)
        for limit in ("0", "-1", "x", "", "1.5", "²"):
            self.fails(self.call("GET", "/items", limit=limit), 400, "INVALID_LIMIT")
        for cursor in ("", "azo", "a", "!!", "eDppdGVt", "azppdGVtLTAwNQ=="):
            self.fails(self.call("GET", "/items", cursor=cursor), 400, "INVALID_CURSOR")
        self.expect(self.call("GET", "/items", cursor="azp6"), 200, items=[], count=0)

    def test_in_stock(self):
        page = self.expect(self.call("GET", "/items", in_stock="true", limit=20), 200, count=10)
        self.assertFalse({"item-004", "item-006"} & {item["id"] for item in page["items"]})
        self.expect(self.call("GET", "/items", in_stock="yes", limit=20), 200, count=12)
        self.expect(self.call("GET", "/items", in_stock="true", limit=10), 200, next_cursor=None)

    def test_reserve_checks(self):
        for value in (True, 1.0, "1", None, [1]):
            self.fails(self.reserve(quantity=value), 422, "INVALID_QUANTITY",
                       "quantity must be an integer", {"field": "quantity", "value": value})
        self.fails(self.reserve(quantity=-1), 422, "INVALID_QUANTITY", "quantity must be positive")
        self.fails(self.reserve("item-006", quantity=99), 409, "ITEM_DISCONTINUED",
                   "Item 'item-006' is discontinued", {"item_id": "item-006"})
        self.fails(self.reserve("item-007", quantity=9, expected_version=1), 422,
                   "LOT_SIZE_VIOLATION", "quantity must be a multiple of 2",
                   {"lot_size": 2, "quantity": 9})
        self.fails(self.reserve("item-005", quantity=6, expected_version=1), 422,
                   "QUANTITY_LIMIT_EXCEEDED", "at most 5 per reservation",
                   {"max": 5, "quantity": 6})
        self.fails(self.reserve(quantity=99, expected_version="1"), 422, "INVALID_VERSION",
                   "expected_version must be an integer", {})
        self.fails(self.reserve(quantity=99, expected_version=2), 409, "VERSION_CONFLICT",
                   "expected version 2, current version is 1", {"expected": 2, "actual": 1})
        self.fails(self.reserve("item-004", quantity=1), 409, "INSUFFICIENT_STOCK",
                   "requested 1, available 0", {"requested": 1, "available": 0})
        self.expect(self.call("GET", "/items/item-001"), 200, version=1, reserved=0)

    def test_order_ref_of_an_ended_reservation_is_free(self):
        held = self.expect(self.reserve(quantity=1, order_ref="r"), 201, order_ref="r")
        self.expect(self.reserve("item-002", quantity=2, order_ref="r"), 201)
        self.call("POST", f"/reservations/{held['reservation_id']}/release")
        self.expect(self.reserve(quantity=2, order_ref="r"), 201)

    def test_confirm_and_snapshot(self):
        held = self.expect(self.reserve(quantity=4), 201, item_version=2)
        self.reserve(quantity=1)
        path = f"/reservations/{held['reservation_id']}"
        self.expect(self.call("GET", path), 200, item_version=2)
        self.fails(self.call("POST", f"{path}/confirm", {"version": True}), 409,
                   "VERSION_CONFLICT")
        self.expect(self.call("POST", f"{path}/confirm"), 200, remaining_available=5,
                    item_version=4, reservation_version=2, status="confirmed")
        self.assertNotIn("remaining_available", self.call("GET", path)[1])

    def test_stock(self):
        def change(item="item-001", **body):
            return self.call("PUT", f"/items/{item}/stock", body)
        self.fails(change("x", delta=1), 404, "ITEM_NOT_FOUND")
        self.fails(change(delta=0), 428, "VERSION_REQUIRED", "expected_version is required", {})
        for delta in (0, True, 1.5, None):
            self.fails(change(delta=delta, expected_version=9), 422, "INVALID_DELTA",
                       "delta must be a non-zero integer", {"value": delta})
        self.fails(change(delta=1, expected_version=9), 409, "VERSION_CONFLICT")
        self.reserve(quantity=4)
        self.fails(change(delta=-7, expected_version=2), 409, "STOCK_BELOW_RESERVED",
                   "on_hand would drop below reserved",
                   {"on_hand": 10, "reserved": 4, "delta": -7})
        self.expect(change(delta=-6, expected_version=2), 200, on_hand=4, available=0, version=3)

    def test_no_route(self):
        self.fails(self.call("DELETE", "/items"), 404, "ROUTE_NOT_FOUND", "no such route",
                   {"method": "DELETE", "path": "/items"})
        for name, client in self.clients.items():
            self.assertEqual(client.call("GET", "/health"),
                             (200, {"service": name, "status": "ok"}))


class Payment(Case):
    def setUp(self):
        super().setUp()
        self.pay = self.clients["payment"]
        self.tokens = self.token()
        self.count = 0

    def token(self, name="order-svc", secret="order-secret-1"):
        return self.pay.call("POST", "/v1/tokens", {"client_id": name, "client_secret": secret})[1]

    def post(self, path, body=None, token=None, key=None):
        headers = {"Authorization": f"Bearer {token or self.tokens['access_token']}"}
        if key:
            headers["Idempotency-Key"] = key
        return self.pay.call("POST", path, body, headers=headers)

    def charge(self, amount=4599, currency="USD", number=CARD["number"], **more):
        self.count += 1
        card = CARD | {"number": number} | more.pop("card", {})
        return self.post("/v1/charges", {"amount_cents": amount, "currency": currency,
                                         "card": card} | more, key=f"k{self.count}")

    def fails(self, reply, status, kind, detail=None, /, **extras):
        self.assertEqual(reply[0], status, reply)
        problem = dict(reply[1])
        self.assertEqual((problem["type"], problem["status"]), (kind, status))
        self.assertTrue(problem["title"])
        if detail is not None:
            self.assertEqual(problem["detail"], detail)
        for name, value in extras.items():
            self.assertEqual(problem[name], value)

    def advance(self, seconds):
        return self.pay.call("POST", "/sandbox/clock/advance", {"seconds": seconds})

    def test_clock(self):
        for seconds in (0, 86401, True, "1", None):
            self.fails(self.advance(seconds), 422, "request/invalid_seconds",
                       "seconds must be between 1 and 86400")
        self.assertEqual(self.advance(86400), (200, {"now": 86400}))
        self.assertEqual(self.pay.call("GET", "/sandbox/clock"), (200, {"now": 86400}))

    def test_fees(self):
        amex, mastercard = "378282246310005", "5555555555554444"
        for amount, currency, number, fee, brand in (
                (4599, "USD", CARD["number"], 163, "visa"), (10000, "USD", mastercard, 320, "mastercard"),
                (12345, "EUR", CARD["number"], 511, "visa"), (12345, "EUR", amex, 635, "amex"),
                (2500, "GBP", "2223003122003222", 128, "mastercard"),
                (50, "USD", CARD["number"], 31, "visa"),
                (1000000, "USD", "6011111111111117", 29030, "unknown")):
            self.expect(self.charge(amount, currency, number), 201, fee_cents=fee,
                        net_cents=amount - fee, status="captured",
                        card={"brand": brand, "last4": number[-4:]})

    def test_charge_validation(self):
        for value in (None, True, 50.0, "50"):
            self.fails(self.charge(value), 422, "charge/invalid_amount")
        self.fails(self.charge(49), 422, "charge/amount_too_small", "minimum is 50")
        self.fails(self.charge(1000001), 422, "charge/amount_too_large", "maximum is 1000000")
        self.fails(self.charge(50, "usd"), 422, "charge/unsupported_currency",
                   "usd is not supported")
        for number in ("4242424242424241", "42", None, 4242424242424242, "4242x424242424242"):
            self.fails(self.charge(number=number), 422, "card/invalid_number")
        self.expect(self.charge(number="4242-4242 4242-4242"), 201)
        for card in ({"exp_month": 13}, {"exp_month": True}, {"exp_year": 1999}):
            self.fails(self.charge(card=card), 422, "card/invalid_expiry")
        self.fails(self.post("/v1/charges", {"amount_cents": 50, "currency": "USD"}, key="x"), 422,
                   "card/missing", "card is required")
        self.fails(self.post("/v1/charges", [], key="y"), 400, "request/malformed")

    def test_declines_and_lock(self):
        self.fails(self.charge(card={"exp_month": 5}), 402, "charge/declined",
                   "The card has expired.", decline_code="expired_card")
        self.fails(self.charge(1013, "EUR"), 402, "charge/declined",
                   decline_code="do_not_honor")
        self.expect(self.charge(1013), 201)
        for _ in range(3):
            declined = self.charge(number="4000000000000002")
            self.fails(declined, 402, "charge/declined", decline_code="generic_decline")
        found = self.pay.call("GET", f"/v1/charges/{declined[1]['charge_id']}", headers={
            "Authorization": f"Bearer {self.tokens['access_token']}"})
        self.fails(found, 404, "charge/not_found")
        self.advance(1)
        self.fails(self.charge(number="4000-0000-0000-0002"), 429, "charge/card_locked",
                   "card is locked after 3 declines", retry_after_s=599)

    def test_capture_and_refund(self):
        charge = self.expect(self.charge(8000, capture=False), 201, status="authorized",
                             captured_cents=0, fee_cents=0, net_cents=0)
        path = f"/v1/charges/{charge['charge_id']}"
        self.fails(self.post(f"{path}/refund"), 409, "charge/not_refundable")
        self.fails(self.post(f"{path}/capture", {"amount_cents": 0}), 422, "charge/invalid_amount")
        self.fails(self.post(f"{path}/capture", {"amount_cents": 8001}), 422,
                   "charge/capture_exceeds_authorization", "authorised 8000")
        self.expect(self.post(f"{path}/capture"), 200, captured_cents=8000, fee_cents=262)
        self.fails(self.post(f"{path}/capture"), 409, "charge/not_capturable",
                   "charge is captured")
        self.expect(self.post(f"{path}/refund", {"amount_cents": 1000}), 201,
                    remaining_cents=7000, status="succeeded")
        self.fails(self.post(f"{path}/capture"), 409, "charge/not_capturable",
                   "charge is partially_refunded")
        self.fails(self.post(f"{path}/refund", {"amount_cents": 7001}), 422,
                   "charge/refund_exceeds_remaining", "remaining 7000", remaining_cents=7000)
        self.expect(self.post(f"{path}/refund"), 201, remaining_cents=0)
        self.fails(self.post(f"{path}/refund"), 409, "charge/already_refunded")
        audit = {"Authorization": f"Bearer {self.token('audit-svc', 'audit-secret-1')['access_token']}"}
        self.expect(self.pay.call("GET", path, headers=audit), 200, status="refunded",
                    net_cents=-262)

    def test_bearer(self):
        for header, kind in (({}, "missing"), ({"Authorization": "Basic x"}, "malformed"),
                             ({"Authorization": "Bearer x"}, "unknown_token")):
            self.fails(self.pay.call("GET", "/v1/charges/x", headers=header), 401, f"auth/{kind}")
        self.advance(300)
        self.fails(self.charge(), 401, "auth/expired", "access token expired 0 s ago",
                   expired_for_s=0)

    def test_refresh_limits(self):
        def refresh(token):
            return self.pay.call("POST", "/v1/tokens/refresh", {"refresh_token": token})
        token, lifetimes = self.tokens["refresh_token"], []
        for _ in range(5):
            reply = self.expect(refresh(token), 200)
            lifetimes.append(reply["expires_in"])
            token = reply["refresh_token"]
        self.assertEqual(lifetimes, [240, 180, 120, 60, 60])
        self.fails(refresh(token), 401, "auth/refresh_exhausted", "refresh limit of 5 reached")
        self.fails(refresh("x"), 401, "auth/unknown_refresh_token")
        late = self.token()["refresh_token"]
        self.advance(1800)
        self.fails(refresh(late), 401, "auth/refresh_expired", "refresh window is over")

    def test_token_requests(self):
        for body, kind in (({}, "client_id"), ({"client_id": "a"}, "client_secret")):
            self.fails(self.pay.call("POST", "/v1/tokens", body), 400, "request/missing_field",
                       f"{kind} is required")
        self.fails(self.pay.call("POST", "/v1/tokens", {"client_id": [], "client_secret": {}}),
                   401, "auth/invalid_client")
        revoke = {"token": self.tokens["refresh_token"]}
        self.assertEqual(self.pay.call("POST", "/v1/tokens/revoke", revoke), (200, {"revoked": True}))
        self.assertEqual(self.pay.call("POST", "/v1/tokens/revoke", {"token": "x"})[1],
                         {"revoked": False})
        self.fails(self.charge(), 401, "auth/revoked")
        self.fails(self.pay.call("POST", "/v1/tokens/refresh",
                                 {"refresh_token": self.tokens["refresh_token"]}),
                   401, "auth/revoked", "token family is revoked")
        self.assertEqual(self.pay.call("POST", "/v1/tokens/introspect", {"token": "x"})[1],
                         {"active": False, "expires_in": 0, "scope": None})
        self.fails(self.pay.call("GET", "/nope"), 404, "request/no_route", "no such route")


class Shipping(Case):
    def call(self, method, path, body=None, **query):
        return self.clients["shipping"].call(method, path, body, query)

    def create(self, **changes):
        body = {"order_id": "o", "address": ADDRESS,
                "items": [{"item_id": "i", "quantity": 1, "weight_g": 1}]}
        return self.call("POST", "/shipments", body | changes)

    def issues(self, reply):
        self.assertEqual(reply[0], 422, reply)
        return [(error["field"], error["issue"]) for error in reply[1]["errors"]]

    def test_rates(self):
        for country, weight, service, cents, days in (
                ("US", 500, "standard", 620, 4), ("US", 501, "standard", 740, 4),
                ("DE", 1200, "economy", 1140, 10), ("NL", 2500, "standard", 1500, 6),
                ("JP", 30000, "express", 19900, 3)):
            reply = self.call("GET", "/rates", country=country, weight_g=weight, service=service)
            self.assertEqual(reply, (200, {"amount_cents": cents, "currency": "USD",
                                           "service": service, "eta_days": days}))
        self.assertEqual(self.issues(self.call("GET", "/rates")), [
            ("country", "required"), ("weight_g", "required"), ("service", "required")])
        self.assertEqual(self.issues(self.call(
            "GET", "/rates", country="FR", weight_g="30001", service="fast")), [
            ("country", "unsupported"), ("weight_g", "overweight"), ("service", "unsupported")])
        self.assertEqual(self.issues(self.call(
            "GET", "/rates", country="US", weight_g="0", service="express")),
            [("weight_g", "invalid")])

    def test_validation(self):
        self.assertEqual(self.create(), (202, self.clients["shipping"].service.shipments.popitem()[1]))
        self.assertEqual(self.issues(self.call("POST", "/shipments", {"service": "x"})), [
            ("order_id", "required"), ("service", "unsupported"), ("address", "required"),
            ("items", "required")])
        self.assertEqual(self.issues(self.create(address={}, items=[{}, 3])), [
            ("address.name", "required"), ("address.street", "required"),
            ("address.city", "required"), ("address.country", "required"),
            ("items[0].quantity", "invalid"), ("items[0].weight_g", "invalid"),
            ("items[1].quantity", "invalid"), ("items[1].weight_g", "invalid")])
        self.assertEqual(self.issues(self.create(address=ADDRESS | {"postal_code": " "})),
                         [("address.postal_code", "required")])
        heavy = {"item_id": "i", "quantity": 3, "weight_g": 10000}
        self.assertEqual(self.create(items=[heavy], order_id="h")[0], 202)
        self.assertEqual(self.issues(self.create(items=[heavy, heavy | {"weight_g": 1}])),
                         [("items", "overweight")])
        self.assertEqual(self.call("POST", "/shipments", []), (400, {
            "error": "malformed_body", "message": "JSON object expected"}))

    def test_plans(self):
        for service, street, states in (
                ("standard", "x", "queued label_created in_transit delivered delivered"),
                ("express", "x", "label_created in_transit delivered delivered"),
                ("economy", "x", "queued queued label_created in_transit in_transit delivered"),
                ("express", "my Po BoX 1", "queued failed failed"),
                ("standard", "PO Box 1", "queued label_created")):
            created = self.create(order_id=f"{service} {street}", service=service,
                                  address=ADDRESS | {"street": street})[1]
            for state in states.split():
                status, reply = self.call("GET", f"/shipments/{created['shipment_id']}")
                self.assertEqual(reply["status"], state)
                self.assertEqual(status, 200 if state in ("delivered", "failed") else 202)
            self.assertEqual("failure" in reply, state == "failed")

    def test_cancel(self):
        id = self.create(service="express")[1]["shipment_id"]
        duplicate = self.create()
        self.assertEqual(duplicate, (409, {
            "error": "duplicate_order", "message": "order already has a shipment",
            "shipment_id": id}))
        number = self.call("GET", f"/shipments/{id}")[1]["tracking_number"]
        self.assertRegex(number, r"^ZXUS\d{10}$")
        self.assertEqual(int(number[-1]), sum(map(int, number[4:13])) % 7)
        self.expect(self.call("POST", f"/shipments/{id}/cancel"), 200, label_voided=True,
                    progress=25, poll_after_s=None, tracking_number=number)
        self.assertEqual(self.call("GET", f"/shipments/{id}")[0], 200)
        id = self.create(service="express")[1]["shipment_id"]
        for error, message in ((None, None), ("too_late", "shipment is in transit"),
                               ("already_delivered", "shipment was delivered")):
            self.call("GET", f"/shipments/{id}")
            if error:
                self.assertEqual(self.call("POST", f"/shipments/{id}/cancel"),
                                 (409, {"error": error, "message": message}))
        self.assertEqual(self.call("GET", "/shipments/x"), (404, {
            "error": "not_found", "message": "no shipment x"}))


class Order(Case):
    def order(self, **changes):
        body = {"item_id": "item-001", "quantity": 1, "card": CARD, "address": ADDRESS}
        return self.clients["order"].call("POST", "/orders", body | changes)

    def refuse(self, service, suffix, status, body, times=99):
        """Makes a dependency answer some calls with an error."""
        logic, left = self.clients[service].service, [times]
        handle = logic.handle

        def refusing(method, path, *rest):
            if path.endswith(suffix) and left[0]:
                left[0] -= 1
                return status, {}, body
            return handle(method, path, *rest)
        logic.handle = refusing

    def item(self, name="item-001"):
        return self.clients["inventory"].call("GET", f"/items/{name}")[1]

    def test_presence(self):
        self.assertEqual(self.clients["order"].call("POST", "/orders", {"quantity": 0}), (400, {
            "status": "invalid", "missing": ["item_id", "card", "address"]}))

    def test_unknown_item_and_order(self):
        self.expect(self.order(item_id="a/b"), 404, status="rejected", failed_step="price",
                    reason="ITEM_NOT_FOUND", steps=[], compensations=[])
        for path in ("/orders/x", "/orders/x/status"):
            self.assertEqual(self.clients["order"].call("GET", path)[0], 404)

    def test_version_conflicts(self):
        conflict = {"error": {"code": "VERSION_CONFLICT"}}
        self.refuse("inventory", "/reserve", 409, conflict, times=2)
        self.expect(self.order(), 201, status="placed")
        self.refuse("inventory", "/reserve", 409, conflict, times=3)
        self.expect(self.order(), 409, status="rejected", reason="VERSION_CONFLICT")

    def test_ship_failure(self):
        reply = self.expect(self.order(address={"country": "US"}), 422, status="compensated",
                            failed_step="ship", reason="address.name required")
        self.assertEqual(reply["compensations"], [{"action": "refund", "ok": True},
                                                  {"action": "release", "ok": True}])

    def test_confirm_failures(self):
        self.refuse("inventory", "/confirm", 409, {"error": {"code": "INVALID_STATE"}}, times=1)
        self.refuse("payment", "/refund", 500, {}, times=1)
        reply = self.expect(self.order(), 409, failed_step="confirm", status="compensated")
        self.assertEqual(reply["compensations"], [
            {"action": "cancel_shipment", "ok": True}, {"action": "refund", "ok": False},
            {"action": "release", "ok": True}])
        self.refuse("inventory", "/confirm", 410, {"error": {"code": "RESERVATION_GONE"}})
        reply = self.expect(self.order(), 409, reason="RESERVATION_GONE")
        self.assertEqual([entry["action"] for entry in reply["compensations"]],
                         ["cancel_shipment", "refund"])

    def test_failed_refresh_gets_a_new_token(self):
        self.order()
        self.clients["payment"].call("POST", "/sandbox/clock/advance", {"seconds": 1800})
        self.expect(self.order(), 201)
        paths = [request[1] for request in self.clients["payment"].requests]
        self.assertEqual(paths[-4:], ["/v1/charges", "/v1/tokens/refresh", "/v1/tokens",
                                      "/v1/charges"])

    def test_status_and_late_cancel(self):
        id = self.order()[1]["order_id"]
        order = self.clients["order"]
        states = [order.call("GET", f"/orders/{id}/status")[1]["status"] for _ in range(3)]
        self.assertEqual(states, ["preparing", "preparing", "shipped"])
        self.expect(order.call("POST", f"/orders/{id}/cancel"), 409, error="too_late")
        self.expect(order.call("GET", f"/orders/{id}/status"), 200, status="completed")
        self.expect(order.call("GET", f"/orders/{id}"), 200, compensations=[], status="placed")

    def test_headers_are_passed_on_and_ids_repeat(self):
        order = self.clients["order"]
        body = {"item_id": "x", "quantity": 1, "card": CARD, "address": ADDRESS}
        first = order.call("POST", "/orders", body, headers={"Baggage": "mirage-session=s1"})[1]
        self.assertEqual(self.clients["inventory"].requests[-1][3],
                         {"baggage": "mirage-session=s1"})
        order.service.reset()
        self.assertEqual(self.order()[1]["order_id"], first["order_id"])


# What each scenario probes: the statuses, then for some calls paths and values.
PROBES = {
    "inventory-01": ([200], {0: {"available": 10, "on_hand": 10, "limits.lot_size": 1}}),
    "inventory-02": ([201], {0: {"reservation_version": 1, "item_version": 2, "status": "held"}}),
    "inventory-03": ([404], {0: {"error.message": "Item 'item-999' does not exist"}}),
    "inventory-04": ([422], {0: {"error.message": "quantity must be positive"}}),
    "inventory-05": ([422, 422], {0: {"error.details.value": None},
                                  1: {"error.details.value": "2"}}),
    "inventory-06": ([404], {0: {"error.code": "RESERVATION_NOT_FOUND"}}),
    "inventory-07": ([428], {0: {"error.code": "VERSION_REQUIRED"}}),
    "inventory-08": ([409], {0: {"error.details": {"expected": 1, "actual": 3}}}),
    "inventory-09": ([422, 201], {1: {"item_version": 3}}),
    "inventory-10": ([201, 200, 409], {2: {"error.code": "DUPLICATE_ORDER_REF"}}),
    "inventory-11": ([201, 200, 200], {2: {"on_hand": 7, "reserved": 0, "version": 3}}),
    "inventory-12": ([201, 200, 200], {1: {"noop": False}, 2: {"available": 10, "version": 3}}),
    "inventory-13": ([201, 200, 409], {2: {"error.details": {"status": "confirmed",
                                                             "action": "confirm"}}}),
    "inventory-14": ([201, 409, 200], {1: {"error.code": "VERSION_CONFLICT"},
                                       2: {"reservation_version": 2}}),
    "inventory-15": ([409, 201, 200, 409], {0: {"error.code": "ITEM_DISCONTINUED"},
                                            3: {"error.details.action": "release"}}),
    "inventory-16": ([201, 200, 410, 200], {3: {"noop": True, "item_version": 3}}),
    "inventory-17": ([200] * 3, {0: {"count": 5}, 1: {"count": 5},
                                 2: {"count": 2, "next_cursor": None}}),
    "inventory-18": ([201, 409, 201, 409], {
        1: {"error.details": {"requested": 2, "available": 1}},
        3: {"error.details.available": 0}}),
    "inventory-19": ([201, 201, 422, 200, 200, 200], {5: {"version": 11, "on_hand": 35,
                                                          "reserved": 0}}),
    "payment-20": ([201, 201], {1: {"fee_cents": 163, "net_cents": 4436, "status": "captured"}}),
    "payment-21": ([401], {0: {"type": "auth/invalid_client"}}),
    "payment-22": ([201, 400], {1: {"type": "request/idempotency_key_required"}}),
    "payment-23": ([201, 402], {1: {"decline_code": "generic_decline"}}),
    "payment-24": ([201, 201, 402], {2: {"decline_code": "insufficient_funds"}}),
    "payment-25": ([201, 201], {1: {"fee_cents": 635, "net_cents": 11710}}),
    "payment-26": ([201, 201, 201, 409], {3: {"type": "request/idempotency_conflict"}}),
    "payment-27": ([201, 201, 200, 422, 201], {
        2: {"amount_cents": 8000, "captured_cents": 5000, "fee_cents": 175},
        3: {"remaining_cents": 5000}, 4: {"remaining_cents": 0}}),
    "payment-28": ([201, 200, 200, 200, 401], {2: {"active": True, "expires_in": 1},
                                               4: {"expired_for_s": 0}}),
    "payment-29": ([201, 200, 401, 201], {1: {"expires_in": 240}, 2: {"type": "auth/revoked"}}),
    "payment-30": ([201, 200, 401, 401], {2: {"type": "auth/refresh_reused"},
                                          3: {"type": "auth/revoked"}}),
    "payment-31": ([201, 403, 200], {0: {"expires_in": 120}, 2: {"active": True,
                                                                 "scope": "read"}}),
    "payment-32": ([201, 402, 402, 402, 429, 200, 201, 402], {4: {"retry_after_s": 600}}),
    "shipping-33": ([200], {0: {"amount_cents": 1140, "eta_days": 10}}),
    "shipping-34": ([422], {0: {"errors": [
        {"field": "order_id", "issue": "required"}, {"field": "address.name", "issue": "required"},
        {"field": "address.street", "issue": "required"},
        {"field": "address.city", "issue": "required"},
        {"field": "address.country", "issue": "unsupported"},
        {"field": "items", "issue": "required"}]}}),
    "shipping-35": ([200, 200], {0: {"amount_cents": 620}, 1: {"amount_cents": 740}}),
    "shipping-36": ([202, 200, 200, 202], {1: {"label_voided": False}}),
    "shipping-37": ([202, 202, 202, 202, 200], {
        1: {"status": "queued", "progress": 0}, 2: {"progress": 25, "poll_after_s": 5},
        3: {"progress": 60, "poll_after_s": 30}, 4: {"status": "delivered", "progress": 100}}),
    "shipping-38": ([202, 202, 200, 409], {2: {"failure.code": "ADDRESS_UNSERVICEABLE"},
                                           3: {"error": "not_cancellable"}}),
    "saga-1": ([201, 200, 200], {0: {"status": "placed", "total_cents": 5219},
                                 2: {"status": "preparing"}}),
    "saga-2": ([201, 201], {1: {"status": "placed"}}),
    "saga-3": ([422], {0: {"status": "rejected", "reason": "INVALID_QUANTITY"}}),
    "saga-4": ([409, 200], {0: {"reason": "INSUFFICIENT_STOCK"}, 1: {"available": 3}}),
    "saga-5": ([402, 200], {0: {"reason": "generic_decline", "status": "compensated"},
                            1: {"available": 10, "on_hand": 10}}),
    "saga-6": ([201, 200, 200], {2: {"status": "problem"}}),
    "saga-7": ([422, 200], {0: {"failed_step": "rate"}, 1: {"available": 10}}),
    "saga-8": ([201, 200, 201, 200, 200], {3: {"status": "cancelled"}, 4: {"on_hand": 10}}),
}


class Scenarios(unittest.TestCase):
    def test_probes(self):
        seen = set()
        for item in scenario.load_all():
            with self.subTest(item.name):
                key = "-".join(item.name.split("-")[:2])
                seen.add(key)
                statuses, values = PROBES[key]
                replies = play(item, world())
                self.assertEqual([reply[0] for reply in replies], statuses)
                for number, expected in values.items():
                    reply = scenario.Reply(0, {}, json.dumps(replies[number][2]))
                    for path, value in expected.items():
                        self.assertEqual(scenario.extract(f"body.{path}", reply), value, path)
        self.assertEqual(seen, set(PROBES))

    def scenario(self, start):
        clients = world()
        item = next(s for s in scenario.load_all() if s.name.startswith(start))
        return clients, play(item, clients)

    def test_replays_and_idempotence(self):
        _, replies = self.scenario("inventory-10")
        self.assertEqual(replies[0][2], replies[1][2])
        _, replies = self.scenario("payment-26")
        self.assertEqual(replies[1][2], replies[2][2])
        self.assertEqual(replies[2][1], {"idempotent-replayed": "true"})
        _, replies = self.scenario("shipping-36")
        self.assertEqual(replies[1][2], replies[2][2])
        self.assertEqual(replies[0][1]["location"], f"/shipments/{replies[0][2]['shipment_id']}")

    def test_tokens_of_the_saga(self):
        for start, path, count in (("saga-2", "/v1/tokens", 1), ("saga-8", "/v1/tokens", 1),
                                   ("saga-8", "/v1/tokens/refresh", 1),
                                   ("saga-4", "/v1/charges", 0)):
            clients, _ = self.scenario(start)
            paths = [request[1] for request in clients["payment"].requests]
            self.assertEqual(paths.count(path), count, start)


if __name__ == "__main__":
    tap.main()
