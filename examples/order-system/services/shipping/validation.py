"""What can be wrong with a shipment or a rate request: (field, issue) pairs."""

import re

from common.payload import is_int

MAX_WEIGHT_G = 30000
COUNTRIES = ("US", "GB", "DE", "NL", "JP")
POSTAL_CODE_COUNTRIES = ("US", "GB", "DE")
SERVICES = ("economy", "standard", "express")


def filled(value):
    return isinstance(value, str) and value.strip() != ""


def choice_issue(value, choices):
    """What is wrong with a text that must be one of the choices, if anything."""
    if not filled(value):
        return "required"
    return None if value in choices else "unsupported"


def address_issues(address):
    if not isinstance(address, dict):
        yield "address", "required"
        return
    for part in ("name", "street", "city"):
        if not filled(address.get(part)):
            yield f"address.{part}", "required"
    country = address.get("country")
    yield "address.country", choice_issue(country, COUNTRIES)
    if country in POSTAL_CODE_COUNTRIES and not filled(address.get("postal_code")):
        yield "address.postal_code", "required"


def item_issues(items):
    if not isinstance(items, list) or not items:
        yield "items", "required"
        return
    valid, total = True, 0
    for i, item in enumerate(items):
        values = item if isinstance(item, dict) else {}
        for key in ("quantity", "weight_g"):
            if not is_int(values.get(key)) or values[key] < 1:
                valid = False
                yield f"items[{i}].{key}", "invalid"
        if valid:
            total += values["quantity"] * values["weight_g"]
    if valid and total > MAX_WEIGHT_G:
        yield "items", "overweight"


def shipment_issues(data, service):
    if not filled(data.get("order_id")):
        yield "order_id", "required"
    yield "service", None if service in SERVICES else "unsupported"
    yield from address_issues(data.get("address"))
    yield from item_issues(data.get("items"))


def weight_issue(text):
    if text == "":
        return "required"
    if not re.fullmatch("0*[1-9][0-9]*", text):
        return "invalid"
    digits = text.lstrip("0")
    return "overweight" if len(digits) > 5 or int(digits) > MAX_WEIGHT_G else None


def error_list(issues):
    return [{"field": field, "issue": issue} for field, issue in issues if issue]


def rate_issues(query):
    yield "country", choice_issue(query.get("country"), COUNTRIES)
    yield "weight_g", weight_issue(query.get("weight_g", ""))
    yield "service", choice_issue(query.get("service"), SERVICES)
