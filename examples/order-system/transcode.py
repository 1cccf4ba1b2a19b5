# SPDX-License-Identifier: Apache-2.0
"""An HTTP call as the RPC that it stands for, by the google.api.http annotations.

The way back of what `services/common/grpc_server.py` does with a message.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

from google.protobuf.descriptor import FieldDescriptor

from common.protos import Misfit, Rpc, fill
from scenario import Request


def find(rpcs: list[Rpc], method: str, path: str) -> tuple[Rpc, dict[str, str]]:
    """The RPC with that route, and what its path binds."""
    for rpc in rpcs:
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(rpc.template))
        match = re.fullmatch(pattern, path)
        if rpc.method == method and match:
            return rpc, {name: unquote(text) for name, text in match.groupdict().items()}
    raise Misfit(f"no RPC has the route {method} {path}")


def query_value(field: FieldDescriptor | None, name: str, text: str) -> Any:
    if field is None:
        raise Misfit(f"query.{name} is no field of the request")
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return text
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if text in ("true", "false"):
            return text == "true"
    elif re.fullmatch("0|-?[1-9][0-9]*", text):
        return int(text)
    raise Misfit(f"query.{name} is {json.dumps(text)}, which its field cannot hold")


def body_value(rpc: Rpc, body: bytes) -> dict[str, Any]:
    if not rpc.has_body:
        if body:
            raise Misfit("there is a body; the RPC has none")
        return {}
    if not body:
        raise Misfit("there is no body; the RPC always has one")
    try:
        value = json.loads(body)
    except ValueError as error:
        raise Misfit("the body is not JSON") from error
    if not isinstance(value, dict):
        raise Misfit("the body is no object")
    return value


def refuse_null(value: Any, place: str = "body") -> None:
    """A message has no null: it is as absent."""
    if value is None:
        raise Misfit(f"{place} is null")
    if isinstance(value, dict):
        for name, item in value.items():
            refuse_null(item, f"{place}.{name}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            refuse_null(item, f"{place}[{i}]")


def rpc_call(rpcs: list[Rpc], request: Request) -> tuple[Rpc, Any]:
    """The RPC and its message; Misfit says what a message cannot express."""
    rpc, bound = find(rpcs, request.method, request.path)
    body = body_value(rpc, request.body)
    refuse_null(body)
    fields = rpc.request.DESCRIPTOR.fields_by_name
    query = {name: query_value(fields.get(name), name, text)
             for name, text in request.query.items()}
    twice = (body.keys() | query.keys()) & bound.keys()
    if twice:
        raise Misfit(f"{', '.join(sorted(twice))} is in the path already")
    message = fill(rpc.request(), body)
    fill(message, query, "query")
    return rpc, fill(message, bound, "path")
