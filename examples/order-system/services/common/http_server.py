"""Puts a service behind HTTP/1.1."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from common.front import Front


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one write

    def _serve(self) -> None:
        body = self._read_body()
        if body is None:
            self.close_connection = True
            self._reply(411, {}, '{"error": "a Content-Length is required"}')
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._reply(*self.server.front.answer(self.command, self.path, headers, body))

    def _read_body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            return None
        return self.rfile.read(int(length))

    def _reply(self, status: int, headers: dict[str, str], text: str) -> None:
        data = text.encode()
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
    """One service on one port; `front` is where other wires may join."""

    daemon_threads = True

    def __init__(self, service: Any, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.front = Front(service)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"
