"""The payment service: tokens, charges, captures and refunds, in memory.

Time is a logical clock, in seconds, which only the sandbox call moves.
"""

import random
import sys
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.payload import is_int, json_object, optional_object
from payment.cards import brand_of
from payment.charges import (
    Charge, Declines, check_charge, decline_reason, fingerprint, requested_amount)
from payment.problems import Problem, checked
from payment.tokens import Clock, TokenStore, new_id

MAX_DECLINES, LOCK_S = 3, 600


class Payment:
    name = "payment"

    def __init__(self, rng=None):
        self.rng = rng or random.SystemRandom()
        self.reset()

    def reset(self):
        self.clock = Clock()
        self.tokens = TokenStore(self.rng, self.clock)
        self.charges = {}
        self.replies = {}  # (client id, idempotency key): fingerprint, status, body
        self.declines = {}  # (client id, card digits): Declines

    def handle(self, method, path, query, headers, body):
        try:
            return self.route(method, path, headers, body)
        except Problem as problem:
            return problem.status, {}, problem.body

    def route(self, method, path, headers, body):
        match (method, *map(unquote, path.split("/")[1:])):
            case "GET", "health":
                return 200, {}, {"service": self.name, "status": "ok"}
            case "GET", "sandbox", "clock":
                return 200, {}, {"now": self.clock.now}
            case "POST", "sandbox", "clock", "advance":
                return 200, {}, self.advance(checked(json_object(body)))
            case "POST", "v1", "tokens":
                return 201, {}, self.tokens.exchange(checked(json_object(body)))
            case "POST", "v1", "tokens", "refresh":
                return 200, {}, self.tokens.renew(checked(json_object(body)))
            case "POST", "v1", "tokens", "revoke":
                return 200, {}, self.tokens.revoke(checked(json_object(body)))
            case "POST", "v1", "tokens", "introspect":
                return 200, {}, self.tokens.introspect(checked(json_object(body)))
            case "POST", "v1", "charges":
                return self.charge(self.tokens.bearer(headers, "charge"), headers, body)
            case "GET", "v1", "charges", id:
                return 200, {}, self.find(self.tokens.bearer(headers, "charge", "read"), id).view()
            case "POST", "v1", "charges", id, "capture":
                client = self.tokens.bearer(headers, "charge")
                data = checked(optional_object(body))
                return 200, {}, self.capture(self.find(client, id), data)
            case "POST", "v1", "charges", id, "refund":
                client = self.tokens.bearer(headers, "refund")
                data = checked(optional_object(body))
                return 201, {}, self.refund(self.find(client, id), data)
        raise Problem(404, "request/no_route", "no such route")

    def advance(self, data):
        seconds = data.get("seconds")
        if not is_int(seconds) or not 1 <= seconds <= 86400:
            raise Problem(422, "request/invalid_seconds", "seconds must be between 1 and 86400")
        self.clock.now += seconds
        return {"now": self.clock.now}

    def charge(self, client, headers, body):
        key = headers.get("idempotency-key", "")
        if not key.strip():
            detail = "Idempotency-Key header is required"
            raise Problem(400, "request/idempotency_key_required", detail)
        data = checked(json_object(body))
        mark = fingerprint(data)
        if (client.id, key) in self.replies:
            stored, status, reply = self.replies[client.id, key]
            if stored != mark:
                detail = "key was used with a different request"
                raise Problem(409, "request/idempotency_conflict", detail)
            return status, {"Idempotent-Replayed": "true"}, reply
        status, reply = self.attempt(client, data)
        self.replies[client.id, key] = mark, status, reply
        return status, {}, reply

    def attempt(self, client, data):
        """Charges the card: a 201 or a decline, 402; anything else is raised."""
        digits = check_charge(data)
        declines = self.declines.setdefault((client.id, digits), Declines())
        self.check_lock(declines)
        charge_id = new_id(self.rng, "ch", 16)
        reason = decline_reason(data, digits)
        if reason:
            declines.count, declines.last = declines.count + 1, self.clock.now
            problem = Problem(402, "charge/declined", reason[1],
                              decline_code=reason[0], charge_id=charge_id)
            return 402, problem.body
        declines.count = 0
        charge = self.charges[charge_id] = Charge(
            charge_id, client, data["amount_cents"], data["currency"], brand_of(digits),
            digits[-4:], data.get("order_id"), self.clock.now)
        if data.get("capture") is not False:
            charge.capture(charge.amount)
        return 201, charge.view()

    def check_lock(self, declines):
        if declines.count < MAX_DECLINES:
            return
        left = LOCK_S - (self.clock.now - declines.last)
        if left > 0:
            detail = f"card is locked after {MAX_DECLINES} declines"
            raise Problem(429, "charge/card_locked", detail, retry_after_s=left)
        declines.count = 0

    def find(self, client, id):
        charge = self.charges.get(id)
        if charge is None or (charge.client is not client and "read" not in client.scope.split()):
            raise Problem(404, "charge/not_found", f"no charge {id}")
        return charge

    def capture(self, charge, data):
        if charge.status != "authorized":
            raise Problem(409, "charge/not_capturable", f"charge is {charge.status}")
        amount = requested_amount(data, charge.amount)
        if amount > charge.amount:
            detail = f"authorised {charge.amount}"
            raise Problem(422, "charge/capture_exceeds_authorization", detail)
        charge.capture(amount)
        return charge.view()

    def refund(self, charge, data):
        if charge.status == "refunded":
            raise Problem(409, "charge/already_refunded", "nothing left to refund")
        if charge.status == "authorized":
            raise Problem(409, "charge/not_refundable", "charge is authorized")
        remaining = charge.captured - charge.refunded
        amount = requested_amount(data, remaining)
        if amount > remaining:
            raise Problem(422, "charge/refund_exceeds_remaining", f"remaining {remaining}",
                          remaining_cents=remaining)
        charge.refunded += amount
        remaining -= amount
        charge.status = "partially_refunded" if remaining else "refunded"
        return {"refund_id": new_id(self.rng, "re", 16), "charge_id": charge.id,
                "amount_cents": amount, "remaining_cents": remaining, "status": "succeeded"}


if __name__ == "__main__":
    from common.serving import arguments, serve

    serve(Payment(), arguments(__doc__, 8002).parse_args())
