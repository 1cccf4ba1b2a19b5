"""A service's logic behind all its wires: one request at a time, one state.

A service is an object with `name`, `handle(method, path, query, headers, body)`
returning (status, headers, JSON value), and `reset()`.
"""

from __future__ import annotations

import json
import threading
import traceback
from typing import Any
from urllib.parse import parse_qsl

RESET = ("POST", "/__test__/reset")


class Front:
    def __init__(self, service: Any) -> None:
        self.service = service
        self.lock = threading.Lock()

    def answer(self, method: str, target: str, headers: dict[str, str],
               body: bytes) -> tuple[int, dict[str, str], str]:
        """The reply's status, headers and JSON text; header names of requests in lower case."""
        path, _, raw_query = target.partition("?")
        query: dict[str, str] = {}
        for name, value in parse_qsl(raw_query, keep_blank_values=True):
            query.setdefault(name, value)  # the first of several counts
        with self.lock:
            status, reply_headers, reply = self._handle(method, path, query, headers, body)
            return status, reply_headers, json.dumps(reply)

    def _handle(self, method: str, path: str, query: dict, headers: dict,
                body: bytes) -> tuple[int, dict, Any]:
        if (method, path) == RESET:
            self.service.reset()
            return 200, {}, {"reset": True}
        try:
            return self.service.handle(method, path, query, headers, body)
        except Exception:
            traceback.print_exc()
            return 500, {}, {"error": "internal error"}
