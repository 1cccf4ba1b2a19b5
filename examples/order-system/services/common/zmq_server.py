"""Puts a service behind a ZeroMQ ROUTER socket, for REQ and DEALER clients.

Request and reply are one frame each, JSON:
{"id"?, "method", "path": "/items?limit=5", "headers"?, "body"?} and
{"id"?, "status", "headers", "body"}. What is no request gets {"id"?, "status": 400, "error"}.
"""

from __future__ import annotations

import json
import threading
from typing import Any

import zmq

from common.front import Front


class ZmqServer:
    """One thread owns the socket; a request is answered before the next is read."""

    def __init__(self, front: Front, port: int) -> None:
        self.front = front
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.ROUTER)
        self.socket.linger = 0
        self.socket.bind(f"tcp://127.0.0.1:{port}")
        self.address = self.socket.last_endpoint.decode()
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> ZmqServer:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.context.term()  # wakes the thread, which closes the socket
        self.thread.join()

    def _serve(self) -> None:
        with self.socket:
            while True:
                try:
                    frames = self.socket.recv_multipart()
                except zmq.ContextTerminated:
                    return
                # The caller's address ends with an empty frame, or is the first frame alone.
                end = frames.index(b"") + 1 if b"" in frames else 1
                reply = self._reply(b"".join(frames[end:]))
                self.socket.send_multipart([*frames[:end], json.dumps(reply).encode()])

    def _reply(self, data: bytes) -> dict[str, Any]:
        request: Any = None
        try:
            request = json.loads(data)
            body = json.dumps(request["body"]) if "body" in request else ""
            headers = {name.lower(): str(value)
                       for name, value in request.get("headers", {}).items()}
            status, reply_headers, text = self.front.answer(
                str(request["method"]), str(request["path"]), headers, body.encode())
            reply = {"status": status, "headers": reply_headers, "body": json.loads(text)}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            reply = {"status": 400, "error": "expected an object with method and path"}
        known = isinstance(request, dict) and "id" in request
        return {"id": request["id"]} | reply if known else reply
