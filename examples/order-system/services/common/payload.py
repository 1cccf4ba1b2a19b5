"""Reading request bodies, the same way in every service."""

from __future__ import annotations

import json
import math
from typing import Any


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("number out of range")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def json_object(body: bytes) -> dict[str, Any] | None:
    """The JSON object in a body, or None when the body is anything else."""
    try:
        value = json.loads(body.decode("utf-8"), parse_float=_finite, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def optional_object(body: bytes) -> dict[str, Any] | None:
    """Like json_object, but an empty body counts as an empty object."""
    return json_object(body) if body.strip() else {}


def is_int(value: Any) -> bool:
    """True for JSON integers only; in Python a bool is an int too."""
    return isinstance(value, int) and not isinstance(value, bool)
