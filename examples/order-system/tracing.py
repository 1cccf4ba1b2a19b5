# SPDX-License-Identifier: Apache-2.0
"""Records what the services do as spans, and writes these as exporters do.

Requests come one after another, so one recorder with a stack of open spans and
a clock of its own serves all services.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

START_NS = 1_767_229_200_000_000_000
BATCH = 16
IDS = re.compile(r"(?<=/)(item-\d+|(?:rsv|ch|re|shp|ord)_[0-9a-f]+)(?=/|$)")
OTLP_KINDS = {"SERVER": 2, "CLIENT": 3}


class Recorder:
    """Spans by service, and the request and response bodies of all calls."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = START_NS
        self.open: list[dict] = []
        self.spans: dict[str, list[dict]] = {}
        self.pairs: list[dict] = []

    def begin(self, service: str, kind: str, name: str, attributes: dict) -> dict:
        parent = self.open[-1] if self.open else None
        trace_id = parent["traceId"] if parent else f"{self.rng.getrandbits(128):032x}"
        if parent is None:
            self.pass_time(200_000_000, 3_000_000_000)
        self.pass_time(50_000, 900_000)
        span = {"traceId": trace_id, "spanId": f"{self.rng.getrandbits(64):016x}",
                "parentSpanId": parent["spanId"] if parent else "", "name": name, "kind": kind,
                "startTimeUnixNano": self.now, "endTimeUnixNano": 0, "attributes": attributes,
                "resource": {"attributes": {"service.name": service}},
                "status": {"code": "UNSET"}}
        self.spans.setdefault(service, []).append(span)
        self.open.append(span)
        return span

    def end(self, span: dict, status_attribute: str, status: int) -> None:
        self.pass_time(300_000, 4_000_000)
        span["attributes"][status_attribute] = status
        span["endTimeUnixNano"] = self.now
        self.open.remove(span)

    def pass_time(self, least_ns: int, most_ns: int) -> None:
        self.now += self.rng.randint(least_ns, most_ns)


def route_of(path: str) -> str:
    return IDS.sub("{id}", path)


class TracedService:
    """A service around which every request makes a server span."""

    def __init__(self, service: Any, recorder: Recorder, old_names: bool) -> None:
        self.service, self.recorder, self.old_names = service, recorder, old_names
        self.name = service.name

    def handle(self, method: str, path: str, query: dict, headers: dict, body: bytes) -> tuple:
        raw_query = urlencode(query)
        if self.old_names:
            target = path + (f"?{raw_query}" if query else "")
            attributes = {"http.method": method, "http.target": target, "http.scheme": "http"}
        else:
            attributes = {"http.request.method": method, "url.path": path, "url.scheme": "http"}
            if query:
                attributes["url.query"] = raw_query
        attributes["http.route"] = route_of(path)
        name = f"{method} {route_of(path)}"
        span = self.recorder.begin(self.name, "SERVER", name, attributes)
        status, reply_headers, reply = self.service.handle(method, path, query, headers, body)
        code = "http.status_code" if self.old_names else "http.response.status_code"
        self.recorder.end(span, code, status)
        self._keep(method, path, query, headers, body, status, reply)
        return status, reply_headers, reply

    def _keep(self, method: str, path: str, query: dict, headers: dict, body: bytes,
              status: int, reply: Any) -> None:
        kept = {name: headers[name] for name in ("authorization", "idempotency-key")
                if name in headers}
        # Through JSON and back: the service may change the object later.
        self.recorder.pairs.append({
            "service": self.name, "method": method, "path": path, "query": query,
            "headers": kept, "body": json.loads(body) if body else None, "status": status,
            "response": json.loads(json.dumps(reply))})


class TracedClient:
    """The order service's client for one dependency; every call makes a client span."""

    def __init__(self, client: Any, recorder: Recorder, peer: str) -> None:
        self.client, self.recorder, self.peer = client, recorder, peer

    def call(self, method: str, path: str, body: Any = None, query: dict | None = None,
             headers: dict | None = None) -> tuple:
        target = path + (f"?{urlencode(query)}" if query else "")
        attributes = {"http.method": method, "http.target": target, "net.peer.name": self.peer}
        span = self.recorder.begin("order", "CLIENT", f"HTTP {method}", attributes)
        status, reply = self.client.call(method, path, body, query, headers)
        self.recorder.end(span, "http.status_code", status)
        return status, reply


def flat_lines(spans: Iterable[dict]) -> Iterable[str]:
    """One span a line, its attributes an object."""
    return (json.dumps(span) for span in spans)


def otlp_attributes(attributes: dict[str, Any]) -> list[dict]:
    return [{"key": key, "value": {"intValue": str(value)} if isinstance(value, int)
             else {"stringValue": value}} for key, value in attributes.items()]


def otlp_span(span: dict) -> dict:
    times = {key: str(span[key]) for key in ("startTimeUnixNano", "endTimeUnixNano")}
    kept = {key: span[key] for key in ("traceId", "spanId", "parentSpanId", "name")}
    return kept | times | {"kind": OTLP_KINDS[span["kind"]], "status": {},
                           "attributes": otlp_attributes(span["attributes"])}


def otlp_lines(spans: list[dict]) -> Iterable[str]:
    """One OTLP/JSON export of a batch of spans a line."""
    for start in range(0, len(spans), BATCH):
        batch = spans[start:start + BATCH]
        resource = {"attributes": otlp_attributes(batch[0]["resource"]["attributes"])}
        scope = {"scope": {"name": "http.server"}, "spans": [otlp_span(span) for span in batch]}
        yield json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]})
