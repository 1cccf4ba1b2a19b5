"""Puts a service's logic behind HTTP/1.1.

A service is an object with `name`, `handle(method, path, query, headers, body)`
returning (status, headers, JSON value), and `reset()`.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

RESET = ("POST", "/__test__/reset")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one write

    def _serve(self) -> None:
        body = self._read_body()
        if body is None:
            self.close_connection = True
            self._reply(411, {}, {"error": "a Content-Length is required"})
            return
        path, _, raw_query = self.path.partition("?")
        query: dict[str, str] = {}
        for name, value in parse_qsl(raw_query, keep_blank_values=True):
            query.setdefault(name, value)  # the first of several counts
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.server.lock:
            self._reply(*self._answer(path, query, headers, body))

    def _read_body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            return None
        return self.rfile.read(int(length))

    def _answer(self, path: str, query: dict, headers: dict, body: bytes) -> tuple[int, dict, Any]:
        service = self.server.service
        if (self.command, path) == RESET:
            service.reset()
            return 200, {}, {"reset": True}
        try:
            return service.handle(self.command, path, query, headers, body)
        except Exception:
            traceback.print_exc()
            return 500, {}, {"error": "internal error"}

    def _reply(self, status: int, headers: dict[str, str], value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, content in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, content)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """No access log."""


class ServiceServer(ThreadingHTTPServer):
    """One service on one port; a lock serves its requests one at a time."""

    daemon_threads = True

    def __init__(self, service: Any, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.service = service
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


def arguments(description: str, default_port: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, default=default_port, help="0 takes a free one")
    return parser


def serve(service: Any, port: int) -> None:
    with ServiceServer(service, port) as server:
        print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.exit(130)
