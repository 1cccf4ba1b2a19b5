"""A caller's view of another service over HTTP."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlencode, urlsplit

TIMEOUT_S = 300


class UpstreamError(Exception):
    """The other service could not be reached or did not answer in JSON."""


class HttpClient:
    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        self.netloc = parts.netloc
        self.prefix = parts.path.rstrip("/")

    def call(self, method: str, path: str, body: Any = None, query: dict[str, Any] | None = None,
             headers: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
        target = self.prefix + path + ("?" + urlencode(query) if query else "")
        sent = dict(headers or {})
        if body is not None:
            sent["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection(self.netloc, timeout=TIMEOUT_S)
        try:
            connection.request(method, target, None if body is None else json.dumps(body), sent)
            response = connection.getresponse()
            reply = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UpstreamError(f"{method} {target}: {error}") from error
        finally:
            connection.close()
        if not isinstance(reply, dict):
            raise UpstreamError(f"{method} {target}: not a JSON object")
        return response.status, reply
