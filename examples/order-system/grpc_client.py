# SPDX-License-Identifier: Apache-2.0
"""Makes a scenario's calls over gRPC.

A reply is shown as a status number and JSON: the message, or an error's text and details.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import grpc
from google.protobuf import json_format, struct_pb2

from common.protos import Protos, Rpc, to_json
from scenario import TIMEOUT_S, Reply, Request
from transcode import rpc_call

DETAILS = "grpc-status-details-bin"


def headers_of(*metadata: Any) -> dict[str, str]:
    """What the service itself said there."""
    return {key: value for pairs in metadata for key, value in pairs or ()
            if isinstance(value, str) and not key.startswith("grpc-") and key != "content-type"}


class GrpcClient:
    def __init__(self) -> None:
        self.protos: dict[str, Protos] = {}
        self.channels: dict[str, grpc.Channel] = {}

    def close(self) -> None:
        for channel in self.channels.values():
            channel.close()

    def prepare(self, service: str, request: Request) -> tuple[Rpc, Any]:
        """What is sent; raises Misfit for a call that a message cannot express."""
        return rpc_call(self._protos(service).rpcs, request)

    def send(self, address: str, service: str, request: Request) -> Reply:
        rpc, message = self.prepare(service, request)
        if address not in self.channels:
            self.channels[address] = grpc.insecure_channel(address)
        call = self.channels[address].unary_unary(
            rpc.path, rpc.request.SerializeToString, rpc.reply.FromString)
        metadata = [item for item in request.headers.items() if item[0] != "content-type"]
        try:
            reply, done = call.with_call(message, timeout=TIMEOUT_S, metadata=metadata)
        except grpc.RpcError as error:
            return self._error(service, error)
        headers = headers_of(done.initial_metadata(), done.trailing_metadata())
        return Reply(0, headers, json.dumps(to_json(reply)), "OK")

    def _protos(self, service: str) -> Protos:
        if service not in self.protos:
            self.protos[service] = Protos(service)
        return self.protos[service]

    def _error(self, service: str, error: Any) -> Reply:
        trailing = error.trailing_metadata() or ()
        packed = next((value for key, value in trailing if key == DETAILS), b"")
        body = {"message": error.details()}
        if packed:
            body["details"] = self._details(service, packed, error)
        return Reply(error.code().value[0], headers_of(error.initial_metadata(), trailing),
                     json.dumps(body), error.code().name)

    def _details(self, service: str, packed: bytes, error: Any) -> Any:
        messages = self._protos(service).messages
        status = messages["google.rpc.Status"].FromString(packed)
        if (status.code, status.message) != (error.code().value[0], error.details()):
            return f"{DETAILS} says {status.code} {status.message}"
        return [detail_json(messages, detail) for detail in status.details]


def detail_json(messages: dict[str, type], detail: Any) -> dict[str, Any]:
    name = detail.type_url.rpartition("/")[2]
    if name == "google.protobuf.Struct":
        value = json_format.MessageToDict(struct_pb2.Struct.FromString(detail.value))
    elif name in messages:
        value = json_format.MessageToDict(messages[name].FromString(detail.value))
    else:
        value = base64.b64encode(detail.value).decode()
    return {"@type": name, "value": value}
