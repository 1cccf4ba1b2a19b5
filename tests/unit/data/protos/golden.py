#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes golden.txt anew: messages as Python's protobuf writes them, "full.Type hex" a line. Needs protoc and python3-protobuf.

No map value is a default one: Python writes these and protobuf-c leaves them out, which means the same.
"""
import pathlib
import subprocess
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ["corner/v1/all.proto", "corner/v1/two.proto", "corner/v1/words.proto", "corner/v1/top.proto", "shop/v1/cart.proto",
         "shop/v1/catalog.proto", "shop/v1/checkout.proto"]

SCALARS = {"aDouble": -1.5e300, "aFloat": 0.1, "anInt32": -2147483648, "anInt64": str(-2**63), "aUint32": 2**32 - 1,
           "aUint64": str(2**64 - 1), "aSint32": -2**31, "aSint64": str(-2**63), "aFixed32": 2**32 - 1, "aFixed64": str(2**64 - 1),
           "anSfixed32": -1, "anSfixed64": "-1", "aBool": True, "aString": "g\u00e4 \U0001f600\n", "someBytes": "AP/+", "aColor": -5,
           "within": {"anInt32": 1, "within": {"aString": "deep"}}}
TREE = {"label": "a", "children": [{"label": "b", "children": [{}, {"label": "c"}]}], "named": {"x": {"label": "d"}, "y": {"leaf": {"tree": {"label": "e"}}}}}

CASES = [
    ("corner.v1.Scalars", {}),
    ("corner.v1.Scalars", SCALARS),
    ("corner.v1.Scalars", {"aDouble": "NaN", "aFloat": "-Infinity", "aColor": "COLOR_AZURE"}),
    ("corner.v1.Optionals", {}),
    ("corner.v1.Optionals", {"anInt32": 0, "aString": "", "someBytes": "", "aBool": False, "aDouble": 0, "aColor": 0, "scalars": {}, "first": 0}),
    ("corner.v1.Optionals", {"anInt32": 5, "aString": "s", "someBytes": "AAAA", "aBool": True, "aDouble": 1, "aColor": 2, "second": SCALARS}),
    ("corner.v1.Lists", {
        "doubles": [0, 1.5, "Infinity"], "floats": [0, -1], "int32s": [0, -1, 2147483647], "int64s": ["0", str(-2**63)],
        "uint32s": [0, 2**32 - 1], "uint64s": ["0", str(2**64 - 1)], "sint32s": [0, -1, 1], "sint64s": ["0", "-1", str(2**63 - 1)],
        "fixed32s": [0, 1], "fixed64s": ["0", "1"], "sfixed32s": [0, -1], "sfixed64s": ["0", "-1"], "bools": [True, False, True],
        "strings": ["", "a", "\u20ac"], "bytess": ["", "AA=="], "colors": [0, 1, -5, 77], "messages": [{}, SCALARS, {}],
        "looseInt32s": [0, -1, 5], "looseColors": [0, 2, -5], "looseDoubles": [0, 1]}),
    ("corner.v1.Lists", {"int32s": list(range(3000))}),
    ("corner.v1.Maps", {
        "byInt32": {"-1": "a"}, "byInt64": {str(-2**63): "a"}, "byUint32": {str(2**32 - 1): "a"}, "byUint64": {str(2**64 - 1): "a"},
        "bySint32": {"-7": "a"}, "bySint64": {"-7": "a"}, "byFixed32": {"7": "a"}, "byFixed64": {"7": "a"}, "bySfixed32": {"-7": "a"},
        "bySfixed64": {"-7": "a"}, "byBool": {"true": "yes"}, "byString": {"k": "v"}, "toMessage": {"k": SCALARS}, "toColor": {"k": 1},
        "toBytes": {"k": "AAE="}, "toDouble": {"k": 0.5}}),
    ("corner.v1.Oneofs", {"number": 0, "a": ""}),
    ("corner.v1.Oneofs", {"text": "t", "b": "x", "beside": "y"}),
    ("corner.v1.Oneofs", {"data": "AA==", "beside": "y"}),
    ("corner.v1.Oneofs", {"flag": False}),
    ("corner.v1.Oneofs", {"message": SCALARS}),
    ("corner.v1.Oneofs", {"color": "COLOR_RED"}),
    ("corner.v1.Oneofs", {"real": 2.5}),
    ("corner.v1.Known", {
        "any": {"@type": "type.googleapis.com/shop.v1.Cart", "userId": "u"}, "timestamp": "2026-01-31T09:15:00.123Z", "duration": "-1.5s", "struct": {"a": [1, "b", True, {"c": "d"}]}, "value": "v",
        "list": [1, "x"], "mask": "a.b,c", "empty": {}, "aDouble": 0, "aFloat": 1, "anInt64": "-1", "aUint64": "1", "anInt32": 0,
        "aUint32": 1, "aBool": False, "aString": "", "someBytes": "AA==", "timestamps": ["1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
        "values": {"k": 1}}),
    ("corner.v1.Tree", TREE),
    ("corner.v1.Outer", {"middle": {"inner": {"depth": 1, "kind": "KIND_SOME"}, "other": {"text": "o"}}, "inner": {"text": "i"}}),
    ("corner.v1.Numbers", {"first": "1", "seventh": "7", "thousandth": "1000", "behindReserved": "20000", "last": "z"}),
    ("corner.v1.Nothing", {}),
    ("corner.v1.Names", {"snakeCaseName": 1, "camelCase": 2, "@other": 3, "Leading": 4, "trailing": 5, "doubleUnderscore": 6, "number1": 7, "UPPERCASE": 8}),
    ("corner.two.v1.Defaults", {}),
    ("corner.two.v1.Defaults", {
        "aDouble": -1.5, "aFloat": 0, "anInt32": 0, "anInt64": "0", "aUint32": 0, "aUint64": "0", "aSint32": 0, "aSint64": "0",
        "aFixed32": 0, "aFixed64": "0", "anSfixed32": 0, "anSfixed64": "0", "aBool": False, "aString": "", "someBytes": "",
        "aLevel": "LEVEL_HIGH", "firstLevel": "LEVEL_NONE", "infinite": 0, "nan": 0, "none": "x"}),
    ("corner.two.v1.Required", {"id": 0, "name": "", "part": {"data": ""}, "level": "LEVEL_NONE"}),
    ("corner.two.v1.Lists", {"loose": [1, 2, 3], "dense": [1, 2, 3], "levels": ["LEVEL_LOW", "LEVEL_HIGH"]}),
    ("corner.two.v1.Two", {
        "lists": {"loose": [5]}, "text": "t", "listsByNumber": {"1": {"dense": [1]}}, "[corner.two.v1.note]": "n",
        "[corner.two.v1.Two.inner_note]": "i"}),
    ("corner.two.v1.Two", {"number": 5}),
    ("corner.int.v1.struct", {"int": 1, "default": "d", "class": True, "union": {"null": 1, "true": True}, "base": ["a", "b"], "message": "m", "nBase": 1}),
    ("corner.v1.TopRequest", {"middle": {"base": {"id": "a"}, "other": {"text": "b"}}, "base": {"id": "c"}, "scalars": SCALARS}),
    ("shop.v1.Cart", {"userId": "u", "items": [{"productId": "p1", "quantity": 2}, {"productId": "p2", "quantity": -1}]}),
    ("shop.v1.Product", {"id": "OLJ", "name": "Sunglasses", "priceUsd": {"currencyCode": "USD", "units": "19", "nanos": 990000000}, "categories": ["accessories"]}),
    ("shop.v1.PlaceOrderResponse", {"order": {
        "orderId": "o", "shippingCost": {"currencyCode": "USD", "units": "-1", "nanos": -500000000},
        "shippingAddress": {"city": "Ulm", "zipCode": 89073}, "items": [{"item": {"productId": "p", "quantity": 1}, "cost": {"units": "5"}}]}}),
]


def main():
    with tempfile.NamedTemporaryFile() as made:
        subprocess.run(["protoc", f"-I{HERE}", f"-I{HERE.parent / 'protos_more'}", "--include_imports", f"--descriptor_set_out={made.name}", *NAMES],
                       check=True, cwd="/")
        files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(made.name).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    for file in files.file:
        for extension in pool.FindFileByName(file.name).extensions_by_name.values():
            factory.GetPrototype(extension.containing_type).RegisterExtension(extension)
    two = factory.GetPrototype(pool.FindMessageTypeByName("corner.two.v1.Two"))
    two.RegisterExtension(pool.FindExtensionByName("corner.two.v1.Two.inner_note"))
    lines = []
    for name, value in CASES:
        message = factory.GetPrototype(pool.FindMessageTypeByName(name))()
        json_format.ParseDict(value, message, descriptor_pool=pool)
        lines.append(f"{name} {message.SerializeToString(deterministic=True).hex()}\n")
    (HERE / "golden.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
