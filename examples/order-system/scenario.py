# SPDX-License-Identifier: Apache-2.0
"""Scenario files: reading them, chaining ids through their calls, sending a call."""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import yaml

DIRECTORY = Path(__file__).resolve().parent / "scenarios"
TIMEOUT_S = 600
BROKEN = ("UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")


@dataclass
class Scenario:
    name: str
    category: str
    dependency: str
    calls: list[dict]
    dynamic: list[dict] = field(default_factory=list)


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def target(self) -> str:
        return self.path + ("?" + urlencode(self.query) if self.query else "")


@dataclass
class Reply:
    status: int  # HTTP's, or gRPC's number; 0 over HTTP: there was no answer
    headers: dict[str, str]
    text: str
    code: str = ""  # name of a gRPC status

    @property
    def failed(self) -> bool:
        """Whether this is the answer of a server that is broken, not of one that refuses."""
        return self.status >= 500 or self.code in BROKEN

    def json(self) -> Any:
        return json.loads(self.text)


def load(path: Path) -> Scenario:
    return Scenario(**yaml.safe_load(path.read_text(encoding="utf-8")))


def load_all(directory: Path = DIRECTORY) -> list[Scenario]:
    return [load(path) for path in sorted(directory.glob("*.yaml"))]


def substitute(value: Any, names: dict[str, Any]) -> Any:
    """Puts saved values in for ${NAME} wherever a string holds it."""
    if isinstance(value, dict):
        return {key: substitute(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, names) for item in value]
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+)\}", lambda match: str(names[match[1]]), value)
    return value


def build(call: dict, names: dict[str, Any]) -> Request:
    """The request a scenario's call makes, its references filled in."""
    call = substitute(call, names)
    headers = {name.lower(): str(value) for name, value in call.get("headers", {}).items()}
    body = call.get("text", "").encode()
    if "body" in call:
        body = json.dumps(call["body"]).encode()
        headers.setdefault("content-type", "application/json")
    query = {name: str(value) for name, value in call.get("query", {}).items()}
    return Request(call["method"], quote(call["path"]), query, headers, body)


def extract(path: str, reply: Reply) -> Any:
    """The value at body.a.b[0] or header.name of a reply."""
    kind, _, rest = path.partition(".")
    if kind == "header":
        return reply.headers[rest.lower()]
    value = reply.json()
    for part in re.findall(r"[^.\[\]]+", rest):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def save(call: dict, reply: Reply, names: dict[str, Any]) -> None:
    """Keeps what a later call refers to; a reply without it leaves a mark instead."""
    for name, path in call.get("save", {}).items():
        try:
            names[name] = extract(path, reply)
        except (KeyError, IndexError, TypeError, ValueError):
            names[name] = f"missing-{name.lower()}"


def send(base_url: str, request: Request) -> Reply:
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=TIMEOUT_S)
    try:
        connection.request(request.method, request.target, request.body or None, request.headers)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, headers, text)
    finally:
        connection.close()
