# SPDX-License-Identifier: Apache-2.0
"""The real services over gRPC and ZeroMQ, and what the demo sees of a difference on each wire."""

import json
import threading
import unittest
from contextlib import ExitStack

import support
import tap

import grpc
import zmq

from common.front import Front
from common.grpc_server import TEST_RESET, GrpcServer
from common.http_server import ServiceServer
from common.protos import Misfit, Protos, fill, to_json
from common.zmq_server import ZmqServer
from inventory.inventory import Inventory
from payment.payment import Payment
from shipping.shipping import Shipping
import run
import scenario
from sides import WIRES, Clients, Side
from transcode import rpc_call

CARD = {"number": "4111111111111111", "exp_month": 12, "exp_year": 2040}


class Damaged:
    """A service of which one value in every reply is wrong."""

    def __init__(self, service, damage):
        self.service, self.damage, self.name = service, damage, service.name

    def reset(self):
        self.service.reset()

    def handle(self, method, path, query, headers, body):
        status, reply_headers, reply = self.service.handle(method, path, query, headers, body)
        return self.damage(status, reply_headers, json.loads(json.dumps(reply)))


def serve(stack, service):
    """The service on all three wires; its doors."""
    http = stack.enter_context(ServiceServer(service))
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    stack.callback(http.shutdown)
    return {"http": http.url, "grpc": stack.enter_context(GrpcServer(http.front, 0)).address,
            "zmq": stack.enter_context(ZmqServer(http.front, 0)).address}


def call(method, path, body=None, query=None, headers=None):
    return scenario.build({"method": method, "path": path, "query": query or {}, "headers": headers or {}}
                          | ({} if body is None else {"body": body}), {})


class Case(unittest.TestCase):
    def setUp(self):
        self.stack = ExitStack()
        self.addCleanup(self.stack.close)
        self.clients = self.stack.enter_context(Clients(WIRES))

    def open(self, *services, name="real"):
        return Side(name, {service.name: serve(self.stack, service) for service in services})


class Servers(Case):
    def send(self, wire, service, *args, **kwargs):
        return self.clients.send(wire, self.side, service, call(*args, **kwargs))

    def test_what_is_written_over_one_wire_is_read_over_another(self):
        self.side = self.open(Inventory())
        held = self.send("grpc", "inventory", "POST", "/items/item-001/reserve", {"quantity": 3}).json()
        path = f"/reservations/{held['reservation_id']}"
        self.assertEqual(self.send("http", "inventory", "GET", path).json(), held | {"order_ref": None})
        self.assertEqual(self.send("zmq", "inventory", "POST", f"{path}/confirm", {}).json()["status"], "confirmed")
        again = self.send("grpc", "inventory", "POST", f"{path}/confirm", {})
        self.assertEqual((again.status, again.code), (10, "ABORTED"))

    def test_errors_over_grpc(self):
        self.side = self.open(Inventory(), Payment(), Shipping())
        reply = self.send("grpc", "inventory", "POST", "/items/item-001/reserve", {"quantity": 0})
        self.assertEqual((reply.status, reply.code), (3, "INVALID_ARGUMENT"))
        self.assertEqual(reply.json(), {"message": "quantity must be positive", "details": [
            {"@type": "google.rpc.ErrorInfo", "value": {"reason": "INVALID_QUANTITY", "domain": "inventory"}},
            {"@type": "google.protobuf.Struct", "value": {"error": {
                "code": "INVALID_QUANTITY", "message": "quantity must be positive",
                "details": {"field": "quantity", "value": 0}, "retryable": False}}}]})
        reply = self.send("grpc", "payment", "POST", "/v1/charges", {"amount_cents": 1, "card": CARD})
        self.assertEqual((reply.status, reply.json()["message"]), (16, "Authorization header is required"))
        self.assertEqual([detail["@type"] for detail in reply.json()["details"]], ["google.protobuf.Struct"])
        reply = self.send("grpc", "shipping", "GET", "/shipments/none")
        self.assertEqual(reply.status, 5)
        self.assertEqual(reply.json()["details"][0]["value"], {"reason": "NOT_FOUND", "domain": "shipping"})
        reply = self.send("grpc", "shipping", "GET", "/rates", query={"country": "FR"})
        self.assertEqual((reply.status, reply.json()["message"]), (3, "HTTP 422"))

    def test_headers_are_metadata(self):
        self.side = self.open(Payment(), Shipping())
        token = self.send("grpc", "payment", "POST", "/v1/tokens",
                          {"client_id": "order-svc", "client_secret": "order-secret-1"}).json()["access_token"]
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "k"}
        charge = {"amount_cents": 4599, "currency": "USD", "card": CARD}
        for wire in ("grpc", "zmq", "grpc"):
            reply = self.send(wire, "payment", "POST", "/v1/charges", charge, headers=headers)
            self.assertEqual(reply.json()["net_cents"], 4436)
        self.assertEqual(reply.headers, {"idempotent-replayed": "true"})
        address = {"name": "A", "street": "S 1", "city": "C", "country": "NL"}
        items = [{"item_id": "item-001", "quantity": 1, "weight_g": 1}]
        reply = self.send("grpc", "shipping", "POST", "/shipments",
                          {"order_id": "o", "address": address, "items": items})
        self.assertEqual(reply.headers, {"location": f"/shipments/{reply.json()['shipment_id']}"})

    def test_reset_over_grpc_and_unknown_methods(self):
        self.side = self.open(Inventory())
        self.send("http", "inventory", "POST", "/items/item-001/reserve", {"quantity": 3})
        with grpc.insecure_channel(self.side.doors["inventory"]["grpc"]) as channel:
            channel.unary_unary(TEST_RESET)(b"", timeout=10)
            with self.assertRaises(grpc.RpcError) as raised:
                channel.unary_unary("/inventory.v1.Inventory/Nope")(b"", timeout=10)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        self.assertEqual(self.send("zmq", "inventory", "GET", "/items/item-001").json()["available"], 10)

    def test_a_taken_port_is_refused(self):
        self.side = self.open(Inventory())
        taken = int(self.side.doors["inventory"]["grpc"].rpartition(":")[2])
        with self.assertRaises((OSError, RuntimeError)):
            GrpcServer(Front(Inventory()), taken)

    def test_zeromq_clients(self):
        side = self.open(Inventory())
        request = {"id": {"any": 1}, "method": "GET", "path": "/items?limit=1&limit=2"}
        with zmq.Context() as context:
            for kind, prefix in ((zmq.DEALER, []), (zmq.DEALER, [b""]), (zmq.REQ, [])):
                with context.socket(kind) as socket:
                    socket.linger, socket.rcvtimeo = 0, 10000
                    socket.connect(side.doors["inventory"]["zmq"])
                    for _ in range(2 if kind == zmq.DEALER else 1):
                        socket.send_multipart([*prefix, json.dumps(request).encode()])
                    frames = socket.recv_multipart()
                    reply = json.loads(frames[-1])
                    self.assertEqual(frames[:-1], prefix)
                    self.assertEqual((reply["id"], reply["status"], reply["body"]["count"]), ({"any": 1}, 200, 1))
                    for garbage in (b"", b"\xff", b"[1]", b"{}", b'{"id": 4, "method": "GET", "path": 1}'):
                        if kind == zmq.REQ:
                            socket.send(garbage)
                            self.assertIn(json.loads(socket.recv())["status"], (400, 404))


class Transcode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rpcs = {name: Protos(name).rpcs for name in ("inventory", "payment", "shipping")}

    def message(self, service, *args, **kwargs):
        rpc, message = rpc_call(self.rpcs[service], call(*args, **kwargs))
        return rpc.path.rpartition("/")[2], to_json(message)

    def test_calls(self):
        self.assertEqual(self.message("inventory", "POST", "/items/a b/reserve", {"quantity": 0}),
                         ("Reserve", {"item_id": "a b", "quantity": 0}))
        self.assertEqual(self.message("inventory", "GET", "/items", query={"limit": 5, "in_stock": "true"}),
                         ("ListItems", {"limit": 5, "in_stock": True}))
        self.assertEqual(self.message("shipping", "POST", "/shipments", {"address": {"country": "FR"}, "items": []}),
                         ("CreateShipment", {"address": {"country": "FR"}, "items": []}))
        self.assertEqual(self.message("payment", "POST", "/v1/charges", {"card": {}, "capture": False}),
                         ("CreateCharge", {"card": {}, "capture": False}))

    def test_misfits(self):
        reserve = ("inventory", "POST", "/items/x/reserve")
        for args, kwargs, reason in (
                ((*reserve, {"quantity": "2"}), {}, "body.quantity is not an integer"),
                ((*reserve, {"quantity": True}), {}, "body.quantity is not an integer"),
                ((*reserve, {"quantity": 1.0}), {}, "body.quantity is not an integer"),
                ((*reserve, {"quantity": None}), {}, "body.quantity is null"),
                ((*reserve, {"quantity": 2 ** 31}), {}, "body.quantity: Value out of range"),
                ((*reserve, {"item_id": "y"}), {}, "item_id is in the path already"),
                ((*reserve, {"color": 1}), {}, "body.color is no field of inventory.v1.ReserveRequest"),
                ((*reserve, [1]), {}, "the body is no object"),
                (reserve, {}, "there is no body"),
                (("inventory", "POST", "/reservations/x/release", {}), {}, "there is a body"),
                (("inventory", "GET", "/items"), {"query": {"limit": "x"}}, 'query.limit is "x"'),
                (("inventory", "GET", "/items"), {"query": {"limit": "05"}}, 'query.limit is "05"'),
                (("inventory", "GET", "/items"), {"query": {"in_stock": "yes"}}, 'query.in_stock is "yes"'),
                (("inventory", "GET", "/items"), {"query": {"color": "x"}}, "query.color is no field"),
                (("inventory", "GET", "/nope"), {}, "no RPC has the route GET /nope"),
                (("shipping", "POST", "/shipments", {"items": [{}, {"quantity": "1"}]}), {},
                 "body.items[1].quantity is not an integer"),
                (("shipping", "POST", "/shipments", {"items": {}}), {}, "body.items is not an array"),
                (("shipping", "POST", "/shipments", {"address": "x"}), {}, "body.address is not an object")):
            with self.subTest(reason), self.assertRaises(Misfit) as raised:
                self.message(*args, **kwargs)
            self.assertTrue(str(raised.exception).startswith(reason), raised.exception)

    def test_replies_of_the_scenarios_fit_the_protos(self):
        """Every member of every good reply has its field: `fill` refuses what has none."""
        for item in scenario.load_all():
            if item.dependency == "order":
                continue
            clients = support.world()
            replies = support.play(item, clients)
            for sent, (status, _, body) in zip(clients[item.dependency].requests, replies):
                if status < 300:
                    method, path = sent[:2]
                    rpc = next(r for r in self.rpcs[item.dependency] if r.method == method and
                               len(r.template.split("/")) == len(path.split("/")) and
                               all(a == b or a[:1] == "{" for a, b in zip(r.template.split("/"), path.split("/"))))
                    without_null = {name: value for name, value in body.items() if value is not None}
                    shown = to_json(fill(rpc.reply(), body))
                    shown = shown | ({"limits": body["limits"]} if "limits" in body else {})
                    self.assertEqual(shown, without_null)


class Differences(Case):
    ITEM = scenario.Scenario("x", "x", "inventory", [{"method": "GET", "path": "/items/item-005"}])
    MISSING = scenario.Scenario("x", "x", "inventory", [{"method": "GET", "path": "/items/none"}])
    SHIP = next(s for s in scenario.load_all() if s.name.startswith("shipping-37"))

    def check(self, item, service, damage, expected):
        """`damage` in the second service gives that difference on each wire, and none without it."""
        real = self.open(service())
        self.assertEqual([], [d for wire in WIRES for made in
                              run.play(item, [real, self.open(service())], self.clients, wire)
                              for d in made.differences])
        damaged = self.open(Damaged(service(), damage), name="damaged")
        for wire, place in zip(WIRES, expected):
            made = run.play(item, [real, damaged], self.clients, wire)[0]
            found = [difference.partition(":")[0] for difference in made.differences]
            self.assertEqual(sorted(found), sorted(place), (wire, made.differences))

    def test_a_value(self):
        def damage(status, headers, reply):
            reply["limits"]["max_per_reservation"] += 1
            return status, headers, reply
        self.check(self.ITEM, Inventory, damage, [["body.limits.max_per_reservation"]] * 3)

    def test_null(self):
        def damage(status, headers, reply):
            reply["limits"]["max_per_reservation"] = None
            return status, headers, reply
        self.check(self.ITEM, Inventory, damage, [["body.limits.max_per_reservation"]] * 3)

    def test_a_status(self):
        self.check(self.MISSING, Inventory, lambda status, headers, reply: (409, headers, reply), [["status"]] * 3)

    def test_an_errors_details(self):
        def damage(status, headers, reply):
            reply["error"]["details"]["item_id"] = "other"
            return status, headers, reply
        self.check(self.MISSING, Inventory, damage, [
            ["body.error.details.item_id"], ["body.details[1].value.error.details.item_id"],
            ["body.error.details.item_id"]])

    def test_an_errors_text_and_code(self):
        def damage(status, headers, reply):
            reply["error"] |= {"message": "no", "code": "NO"}
            return status, headers, reply
        in_body = ["body.error.code", "body.error.message"]
        self.check(self.MISSING, Inventory, damage, [
            in_body, ["body.message", "body.details[0].value.reason", "body.details[1].value.error.code",
                      "body.details[1].value.error.message"], in_body])

    def test_a_header(self):
        self.check(self.SHIP, Shipping, lambda status, headers, reply: (status, {}, reply), [
            ["header.location"]] * 3)


if __name__ == "__main__":
    tap.main()
