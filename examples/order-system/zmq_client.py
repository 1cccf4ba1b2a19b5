# SPDX-License-Identifier: Apache-2.0
"""Makes a scenario's calls over ZeroMQ, as envelopes: one JSON object each way."""

from __future__ import annotations

import json
from typing import Any

import zmq

from scenario import TIMEOUT_S, Reply, Request


class ZmqClient:
    def __init__(self) -> None:
        self.context = zmq.Context()
        self.count = 0

    def close(self) -> None:
        self.context.destroy(linger=0)

    def send(self, address: str, service: str, request: Request) -> Reply:
        self.count += 1
        with self.context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.rcvtimeo = TIMEOUT_S * 1000
            socket.connect(address)
            socket.send_json(self._envelope(request))
            try:
                reply = socket.recv_json()
            except zmq.Again:
                return Reply(0, {}, "no answer")
        if reply.get("id") != self.count:
            return Reply(0, {}, f"the answer to another request: {json.dumps(reply)}")
        return reply_of(reply)

    def _envelope(self, request: Request) -> dict[str, Any]:
        headers = {name: value for name, value in request.headers.items()
                   if (name, value) != ("content-type", "application/json")}
        envelope = {"id": self.count, "method": request.method, "path": request.target}
        if headers:
            envelope["headers"] = headers
        if request.body:
            try:
                envelope["body"] = json.loads(request.body)
            except ValueError:
                envelope["body_text"] = request.body.decode()
        return envelope


def reply_of(envelope: dict[str, Any]) -> Reply:
    """An envelope's reply; a body's content type is JSON's where it says none."""
    if "error" in envelope:
        return Reply(envelope["status"], {}, json.dumps({"error": envelope["error"]}))
    headers = {name.lower(): value for name, value in envelope.get("headers", {}).items()}
    if "body_text" in envelope:
        return Reply(envelope["status"], headers, envelope["body_text"])
    if "body" not in envelope:
        return Reply(envelope["status"], headers, "")
    headers.setdefault("content-type", "application/json")
    return Reply(envelope["status"], headers, json.dumps(envelope["body"]))
