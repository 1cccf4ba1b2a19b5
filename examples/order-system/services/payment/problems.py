"""The refusals of the payment service."""

TITLES = {
    400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden",
    404: "Not Found", 409: "Conflict", 422: "Unprocessable Entity", 429: "Too Many Requests"}


class Problem(Exception):
    def __init__(self, status, type, detail, **extras):
        self.status = status
        self.body = {"type": type, "title": TITLES[status], "status": status,
                     "detail": detail} | extras


def checked(data):
    if data is None:
        raise Problem(400, "request/malformed", "body must be a JSON object")
    return data


def required(data, name):
    if data.get(name) is None:
        raise Problem(400, "request/missing_field", f"{name} is required")
    value = data[name]
    return value if isinstance(value, str) else ""  # never a known credential
