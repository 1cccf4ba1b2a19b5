"""Card numbers and expiry dates."""

import re
from typing import Any

from common.payload import is_int

BUSINESS_MONTH = (2031, 6)


def luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(map(int, reversed(digits))):
        doubled = digit * 2 if place % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def card_digits(number: Any) -> str | None:
    """The digits of a valid card number, or None."""
    if not isinstance(number, str):
        return None
    digits = re.sub("[ -]", "", number)
    return digits if re.fullmatch("[0-9]{13,19}", digits) and luhn(digits) else None


def brand_of(digits: str) -> str:
    if digits.startswith("4"):
        return "visa"
    if 51 <= int(digits[:2]) <= 55 or 2221 <= int(digits[:4]) <= 2720:
        return "mastercard"
    return "amex" if digits[:2] in ("34", "37") else "unknown"


def valid_expiry(month: Any, year: Any) -> bool:
    return is_int(month) and is_int(year) and 1 <= month <= 12 and year >= 2000


def expired(month: int, year: int) -> bool:
    return (year, month) < BUSINESS_MONTH
