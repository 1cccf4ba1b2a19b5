"""Puts a service behind gRPC: each RPC is the HTTP call that its annotation says.

Metadata are headers. An error is a status by its HTTP one; its details are a
google.rpc.ErrorInfo, where the body has a code, and the body as google.protobuf.Struct.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import grpc
from google.protobuf import json_format, struct_pb2

from common.front import RESET, Front
from common.protos import Protos, Rpc, fill, to_json

TEST_RESET = "/test.Control/Reset"  # empty messages; outside the service's own API
CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT, 401: grpc.StatusCode.UNAUTHENTICATED,
    402: grpc.StatusCode.FAILED_PRECONDITION, 403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND, 409: grpc.StatusCode.ABORTED, 410: grpc.StatusCode.NOT_FOUND,
    412: grpc.StatusCode.FAILED_PRECONDITION, 422: grpc.StatusCode.INVALID_ARGUMENT,
    428: grpc.StatusCode.FAILED_PRECONDITION, 429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    501: grpc.StatusCode.UNIMPLEMENTED, 503: grpc.StatusCode.UNAVAILABLE}


def http_call(rpc: Rpc, message: Any) -> tuple[str, str, bytes]:
    """The method, target and body that a request message stands for."""
    value = to_json(message)
    path = re.sub(r"\{(\w+)\}", lambda match: quote(value.pop(match[1]), safe=""), rpc.template)
    if rpc.has_body:
        return rpc.method, path, json.dumps(value).encode()
    query = {name: str(item).lower() if isinstance(item, bool) else item
             for name, item in value.items()}
    return rpc.method, path + ("?" + urlencode(query) if query else ""), b""


def error_text(body: Any, status: int) -> str:
    error = body.get("error")
    inner = error.get("message") if isinstance(error, dict) else None
    texts = (inner, body.get("message"), body.get("detail"), body.get("title"), error)
    return next((text for text in texts if isinstance(text, str)), f"HTTP {status}")


def error_reason(body: Any) -> str | None:
    """The error's code as ErrorInfo spells it, UPPER_CASE; None when it has none that fits."""
    error = body.get("error")
    inner = error.get("code") if isinstance(error, dict) else None
    for code in (inner, body.get("code"), error, body.get("type")):
        if isinstance(code, str) and re.fullmatch(r"[A-Za-z][\w.-]{0,62}", code, re.ASCII):
            return code.upper().replace("-", "_").replace(".", "_")
    return None


class GrpcServer(grpc.GenericRpcHandler):
    def __init__(self, front: Front, port: int) -> None:
        self.front = front
        self.protos = Protos(front.service.name)
        self.rpcs = {rpc.path: rpc for rpc in self.protos.rpcs}
        self.server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
        self.server.add_generic_rpc_handlers([self])
        bound = self.server.add_insecure_port(f"127.0.0.1:{port}")
        if bound == 0:
            raise OSError(f"port {port} is taken")
        self.address = f"127.0.0.1:{bound}"

    def __enter__(self) -> GrpcServer:
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop(None).wait()

    def service(self, details: Any) -> grpc.RpcMethodHandler | None:
        if details.method == TEST_RESET:
            return grpc.unary_unary_rpc_method_handler(self._reset)
        rpc = self.rpcs.get(details.method)
        return rpc and grpc.unary_unary_rpc_method_handler(
            partial(self._call, rpc), rpc.request.FromString, rpc.reply.SerializeToString)

    def _reset(self, _: bytes, context: grpc.ServicerContext) -> bytes:
        self.front.answer(*RESET, {}, b"")
        return b""

    def _call(self, rpc: Rpc, message: Any, context: grpc.ServicerContext) -> Any:
        method, target, body = http_call(rpc, message)
        sent = {name: value for name, value in context.invocation_metadata()
                if isinstance(value, str)}
        status, headers, text = self.front.answer(method, target, sent, body)
        context.send_initial_metadata([(name.lower(), value) for name, value in headers.items()])
        if status >= 300:
            self._refuse(context, status, json.loads(text))
        return fill(rpc.reply(), json.loads(text))

    def _refuse(self, context: grpc.ServicerContext, status: int, body: Any) -> None:
        fallback = "FAILED_PRECONDITION" if status < 500 else "INTERNAL"
        code = CODES.get(status, grpc.StatusCode[fallback])
        text, reason = error_text(body, status), error_reason(body)
        full = self.protos.messages["google.rpc.Status"](code=code.value[0], message=text)
        if reason:
            info = self.protos.messages["google.rpc.ErrorInfo"](
                reason=reason, domain=self.front.service.name)
            add_detail(full, info)
        add_detail(full, json_format.ParseDict(body, struct_pb2.Struct()))
        context.set_trailing_metadata(
            [("grpc-status-details-bin", full.SerializeToString())])
        context.abort(code, text)


def add_detail(status: Any, message: Any) -> None:
    status.details.add(type_url=f"type.googleapis.com/{message.DESCRIPTOR.full_name}",
                       value=message.SerializeToString())
