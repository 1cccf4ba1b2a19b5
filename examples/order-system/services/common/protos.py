"""A service's protobuf types, compiled by protoc when they are needed, and JSON both ways.

Member names are those of the proto. An `optional` field or a message that is not set is
absent in JSON; null in JSON stands for absent.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor

EXAMPLE = Path(__file__).resolve().parents[2]
ROOTS = (EXAMPLE / "proto", EXAMPLE.parents[1] / "proto")  # the second has google/api, google/rpc
ERROR_PROTOS = ("google/rpc/status.proto", "google/rpc/error_details.proto")

JSON_TYPES = {
    FieldDescriptor.CPPTYPE_BOOL: (bool, "a boolean"),
    FieldDescriptor.CPPTYPE_INT32: (int, "an integer"),
    FieldDescriptor.CPPTYPE_INT64: (int, "an integer"),
    FieldDescriptor.CPPTYPE_STRING: (str, "a string"),
    FieldDescriptor.CPPTYPE_MESSAGE: (dict, "an object"),
}


class Misfit(ValueError):
    """A JSON value that a message cannot hold; the text says where and why."""


@dataclass
class Rpc:
    """A method and the HTTP call that its google.api.http annotation says it is."""
    path: str       # "/inventory.v1.Inventory/Reserve"
    method: str     # "POST"
    template: str   # "/items/{item_id}/reserve"
    has_body: bool  # body: "*"
    request: type
    reply: type


class Protos:
    def __init__(self, service: str) -> None:
        command = ["protoc", *(f"--proto_path={root}" for root in ROOTS), "--include_imports",
                   "--descriptor_set_out=/dev/stdout", f"{service}/v1/{service}.proto",
                   *ERROR_PROTOS]
        compiled = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        files = descriptor_pb2.FileDescriptorSet.FromString(compiled).file
        pool = descriptor_pool.DescriptorPool()
        for file in files:
            pool.Add(file)
        factory = message_factory.MessageFactory(pool)
        self.messages = factory.GetMessages([file.name for file in files])
        self.annotation = pool.FindExtensionByName("google.api.http")
        found = pool.FindServiceByName(f"{service}.v1.{service.title()}")
        self.rpcs = [self._rpc(method) for method in found.methods]

    def _rpc(self, method: Any) -> Rpc:
        # Read again by this pool's own type, which knows the extension.
        options = self.messages["google.protobuf.MethodOptions"].FromString(
            method.GetOptions().SerializeToString())
        rule = options.Extensions[self.annotation]
        verb = rule.WhichOneof("pattern")
        return Rpc(f"/{method.containing_service.full_name}/{method.name}", verb.upper(),
                   getattr(rule, verb), rule.body == "*",
                   self.messages[method.input_type.full_name],
                   self.messages[method.output_type.full_name])


def to_json(message: Any) -> dict[str, Any]:
    value = {}
    for field in message.DESCRIPTOR.fields:
        item = getattr(message, field.name)
        is_message = field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE
        if field.label == FieldDescriptor.LABEL_REPEATED:
            value[field.name] = [to_json(one) if is_message else one for one in item]
        elif not field.has_presence or message.HasField(field.name):
            value[field.name] = to_json(item) if is_message else item
    return value


def fill(message: Any, value: dict[str, Any], place: str = "body") -> Any:
    """Sets a message's fields from a JSON object, strictly; returns the message."""
    fields = message.DESCRIPTOR.fields_by_name
    for name, item in value.items():
        here = f"{place}.{name}"
        if name not in fields:
            raise Misfit(f"{here} is no field of {message.DESCRIPTOR.full_name}")
        field = fields[name]
        if field.label != FieldDescriptor.LABEL_REPEATED:
            if item is not None:
                _set(message, field, item, here)
            continue
        if not isinstance(item, list):
            raise Misfit(f"{here} is not an array")
        for i, one in enumerate(item):
            place_of_one = f"{here}[{i}]"
            _check(field, one, place_of_one)
            fill(getattr(message, name).add(), one, place_of_one)
    return message


def _set(message: Any, field: FieldDescriptor, item: Any, place: str) -> None:
    _check(field, item, place)
    if isinstance(item, dict):
        child = getattr(message, field.name)
        child.SetInParent()
        fill(child, item, place)
        return
    try:
        setattr(message, field.name, item)
    except ValueError as error:
        raise Misfit(f"{place}: {error}") from error


def _check(field: FieldDescriptor, item: Any, place: str) -> None:
    kind, expected = JSON_TYPES[field.cpp_type]
    if type(item) is not kind:
        raise Misfit(f"{place} is not {expected}")
