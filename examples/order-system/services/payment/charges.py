"""A charge, its fee, and the rules for accepting one."""

import json
from dataclasses import dataclass

from common.payload import is_int
from payment.cards import card_digits, expired, valid_expiry
from payment.problems import Problem
from payment.tokens import Client

CURRENCIES = ("USD", "EUR", "GBP")
MIN_AMOUNT, MAX_AMOUNT = 50, 1_000_000


@dataclass
class Charge:
    id: str
    client: Client
    amount: int
    currency: str
    brand: str
    last4: str
    order_id: object
    created: int
    status: str = "authorized"
    captured: int = 0
    refunded: int = 0
    fee: int = 0

    def capture(self, amount):
        permille = (29 if self.currency == "USD" else 39) + (10 if self.brand == "amex" else 0)
        self.status, self.captured = "captured", amount
        self.fee = min(amount, (amount * permille + 500) // 1000 + 30)

    def view(self):
        return {
            "charge_id": self.id, "status": self.status, "amount_cents": self.amount,
            "captured_cents": self.captured, "refunded_cents": self.refunded,
            "fee_cents": self.fee, "net_cents": self.captured - self.fee - self.refunded,
            "currency": self.currency, "card": {"brand": self.brand, "last4": self.last4},
            "order_id": self.order_id, "created_at": self.created}


@dataclass
class Declines:
    count: int = 0
    last: int = 0


def check_charge(data):
    """Refuses an invalid charge; returns the digits of its card."""
    amount, currency, card = data.get("amount_cents"), data.get("currency"), data.get("card")
    if not is_int(amount):
        raise Problem(422, "charge/invalid_amount", "amount_cents must be an integer")
    if amount < MIN_AMOUNT:
        raise Problem(422, "charge/amount_too_small", f"minimum is {MIN_AMOUNT}")
    if amount > MAX_AMOUNT:
        raise Problem(422, "charge/amount_too_large", f"maximum is {MAX_AMOUNT}")
    if currency not in CURRENCIES:
        raise Problem(422, "charge/unsupported_currency", f"{currency} is not supported")
    if not isinstance(card, dict):
        raise Problem(422, "card/missing", "card is required")
    digits = card_digits(card.get("number"))
    if digits is None:
        raise Problem(422, "card/invalid_number", "card number is not valid")
    if not valid_expiry(card.get("exp_month"), card.get("exp_year")):
        raise Problem(422, "card/invalid_expiry", "expiry is not valid")
    return digits


def decline_reason(data, digits):
    amount, card = data["amount_cents"], data["card"]
    if expired(card["exp_month"], card["exp_year"]):
        return "expired_card", "The card has expired."
    if digits.endswith("0002"):
        return "generic_decline", "The card was declined."
    if digits.endswith("9995") and amount > 10_000:
        return "insufficient_funds", "The card has insufficient funds."
    if amount % 100 == 13 and data["currency"] != "USD":
        return "do_not_honor", "The issuer refused the charge."
    return None


def fingerprint(data):
    card = data.get("card")
    number = card.get("number") if isinstance(card, dict) else None
    capture = True if data.get("capture") is None else data["capture"]
    parts = [data.get("amount_cents"), data.get("currency"), number, data.get("order_id"), capture]
    return json.dumps(parts, sort_keys=True)


def requested_amount(data, default):
    amount = default if data.get("amount_cents") is None else data["amount_cents"]
    if not is_int(amount) or amount < 1:
        raise Problem(422, "charge/invalid_amount", "amount_cents must be an integer")
    return amount
