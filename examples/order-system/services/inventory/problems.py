"""The refusals of the inventory service."""

import re

from common.payload import is_int

MAX_LIMIT = 20


class Problem(Exception):
    def __init__(self, status, code, message, /, **details):
        self.status = status
        retryable = code == "VERSION_CONFLICT"
        self.body = {"error": {
            "code": code, "message": message, "details": details, "retryable": retryable}}


def parse_limit(text):
    if not re.fullmatch("0*[1-9][0-9]*", text):
        raise Problem(400, "INVALID_LIMIT", "limit must be a positive integer", limit=text)
    return min(int(text.lstrip("0")[:3]), MAX_LIMIT)


def checked(data):
    if data is None:
        raise Problem(400, "MALFORMED_BODY", "Request body must be a JSON object")
    return data


def check_version(expected, actual):
    if not is_int(expected) or expected != actual:
        message = f"expected version {expected}, current version is {actual}"
        raise Problem(409, "VERSION_CONFLICT", message, expected=expected, actual=actual)
