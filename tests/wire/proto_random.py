# SPDX-License-Identifier: Apache-2.0
"""Random protobuf types and messages of them as they may stand on the wire; JSON texts for them are in proto_texts.

A `World` is a descriptor set of three files (proto3, proto2, and one that imports both) with well-known types, made
from a random.Random alone. What it knows of its types is kept in the classes below; python's own descriptors serve
the other side of a comparison. Bytes are written here by hand, so that they may be as odd as the encoding allows:
fields in any order and more than once, messages in parts, lists packed or not, varints longer than needed, and
fields that the type does not have.
"""

import struct

from google.protobuf import (any_pb2, descriptor_pb2, descriptor_pool, duration_pb2, empty_pb2, field_mask_pb2,
                             struct_pb2, timestamp_pb2, wrappers_pb2)

import proto_texts
from proto_texts import BITS, WRAPPERS, camel

KNOWN_FILES = [m.DESCRIPTOR for m in (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2,
                                      wrappers_pb2)]
KINDS = ("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes", "uint32",
         "sfixed32", "sfixed64", "sint32", "sint64")
TYPE = {k: getattr(descriptor_pb2.FieldDescriptorProto, "TYPE_" + k.upper()) for k in KINDS + ("enum", "message")}
KEYS = ("int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool",
        "string")
SIGNED = {"int32", "sint32", "sfixed32", "int64", "sint64", "sfixed64"}
WORDS = ("item", "id", "price", "count", "user", "name", "state", "at", "list", "x", "y2", "data", "sub_total", "Kind",
         "_odd", "odd_", "two__under", "camelCase", "i18n", "n_3d")
DOUBLES = (0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e15, 1e16, 1e17,
           123456789012345680.0, 9007199254740991.0, 9007199254740993.0, 1e21, 1e-7, 17.32, float("inf"),
           float("-inf"), float("nan"), 1e22, 4503599627370497.5)
FLOATS = (0.0, -0.0, 1.0, 0.1, 17.32, 1e-45, 1.1754943508222875e-38, 3.4028232635611926e38,
          16777216.0, 16777217.0, 1e10, 1e20, 1e-7, float("inf"), float("-inf"), float("nan"), 8388608.5, 123456.79)
TEXTS = ("", "a", "caf\u00e9", "\u20ac", "\U0001F600", "\U0010FFFF", "\0", "a\0b", '"quoted"', "back\\slash", "\n\t\r\b\f",
         "\x7f", "\u2028", "/", "</script>", "null", "NaN", "1", " ", "\ufffd", "x" * 300, "\u00e9" * 40, "\x01\x1f")


class Enum:
    def __init__(self, full_name, values, closed):
        self.full_name, self.values, self.closed = full_name, values, closed    # [(name, number)]
        self.null = full_name == "google.protobuf.NullValue"
        self.numbers = [n for _, n in values]


class Field:
    def __init__(self, name, number, kind, *, label="one", ref=None, key=None, optional=False, required=False,
                 oneof=None, packed=None, json_name=None):
        self.name, self.number, self.kind, self.label = name, number, kind, label    # label: one, list or map
        self.ref, self.key, self.optional, self.required = ref, key, optional, required
        self.oneof, self.packed, self.json_name = oneof, packed, json_name
        self.in_map = False


class Message:
    def __init__(self, full_name, syntax, known=None):
        self.full_name, self.syntax, self.known = full_name, syntax, known
        self.fields = []

    def add(self, *args, **more):
        self.fields.append(Field(*args, **more))
        return self


NULL = Enum("google.protobuf.NullValue", [("NULL_VALUE", 0)], False)


def known_messages():
    g = "google.protobuf."
    made = {n: Message(g + n, "proto3", n) for n in
            ("Any", "Duration", "Empty", "FieldMask", "Struct", "Value", "ListValue", "Timestamp")}
    for name, kind in WRAPPERS.items():
        made[name] = Message(g + name, "proto3", name).add("value", 1, kind)
    made["Any"].add("type_url", 1, "string").add("value", 2, "bytes")
    for name in ("Duration", "Timestamp"):
        made[name].add("seconds", 1, "int64").add("nanos", 2, "int32")
    made["FieldMask"].add("paths", 1, "string", label="list")
    made["Struct"].add("fields", 1, "message", label="map", key="string", ref=made["Value"])
    made["ListValue"].add("values", 1, "message", label="list", ref=made["Value"])
    value = made["Value"]
    value.add("null_value", 1, "enum", ref=NULL, oneof=0).add("number_value", 2, "double", oneof=0)
    value.add("string_value", 3, "string", oneof=0).add("bool_value", 4, "bool", oneof=0)
    value.add("struct_value", 5, "message", ref=made["Struct"], oneof=0)
    value.add("list_value", 6, "message", ref=made["ListValue"], oneof=0)
    return made


class World(proto_texts.Texts):
    """Types, their descriptor set (`bytes`), python's pool of them."""

    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        self.known = known_messages()
        self.enums, self.messages = {"proto2": [], "proto3": []}, []
        files = [self._file("three", "proto3", []), self._file("two", "proto2", []),
                 self._file("both", "proto3", ["three", "two"])]
        known = [descriptor_pb2.FileDescriptorProto.FromString(f.serialized_pb) for f in KNOWN_FILES]
        self.pool = descriptor_pool.DescriptorPool()
        for f in known + files:
            self.pool.AddSerializedFile(f.SerializeToString())
        # Half of the sets leave the well-known types to whoever reads them, as some makers of sets do.
        self.bytes = descriptor_pb2.FileDescriptorSet(
            file=(known if rng.random() < 0.5 else []) + files).SerializeToString()

    # Types

    def _file(self, name, syntax, imports):
        rng = self.rng
        package = f"t{self.name}.{name}"
        file = descriptor_pb2.FileDescriptorProto(
            name=f"t{self.name}/{name}.proto", package=package, syntax=syntax if syntax == "proto3" else "",
            dependency=[f.name for f in KNOWN_FILES] + [f"t{self.name}/{i}.proto" for i in imports])
        for i in range(rng.randint(1, 2)):
            self._enum(file.enum_type, package, f"E{i}", syntax)
        made = []
        for i in range(rng.randint(2, 4)):
            made.append(self._message(file.message_type.add(), package, f"M{i}", syntax, 0))
        flat = [x for pair in made for x in self._flat(*pair)]
        # References, also to itself and to what comes later, once all are there.
        own = [m for m, _ in flat]
        usable = own + (self.messages if imports else [])
        for message, proto in flat:
            self._fields(message, proto, usable, syntax, f".{package}")
        self.messages += own
        return file

    @staticmethod
    def _flat(message, proto):
        yield message, proto
        for inner, inner_proto in message.nested:
            yield from World._flat(inner, inner_proto)

    def _enum(self, where, scope, name, syntax):
        rng = self.rng
        proto = where.add(name=name)
        numbers = [0] if syntax == "proto3" else [rng.choice([0, 1, -5, 7])]
        for _ in range(rng.randint(0, 5)):
            numbers.append(rng.choice([rng.randint(-10, 10), 2147483647, -2147483648, rng.randint(-2**31, 2**31 - 1)]))
        values = [(f"{name}_V{i}" if rng.random() < 0.8 else f"{name.lower()}v{i}", n) for i, n in enumerate(numbers)]
        if len(set(numbers)) < len(numbers):
            proto.options.allow_alias = True
        for value, number in values:
            proto.value.add(name=value, number=number)
        made = Enum(f"{scope}.{name}", values, syntax == "proto2")
        self.enums[syntax].append(made)

    def _message(self, proto, scope, name, syntax, depth):
        rng = self.rng
        proto.name = name
        message = Message(f"{scope}.{name}", syntax)
        message.nested = []
        if depth < 2 and rng.random() < 0.4:
            message.nested.append(self._message(proto.nested_type.add(), message.full_name, "N", syntax, depth + 1))
        if rng.random() < 0.3:
            self._enum(proto.enum_type, message.full_name, "E", syntax)
        return message, proto

    def _fields(self, message, proto, usable, syntax, scope):
        rng = self.rng
        count = rng.choice([0, 1, 3, 6, 10, 16])
        oneofs = rng.randint(1, 2) if count > 2 and rng.random() < 0.5 else 0
        names, camels, numbers = set(), set(), set()
        plan = []
        for i in range(count):
            name = rng.choice(WORDS) if rng.random() < 0.6 else f"f{i}"
            if name in names or camel(name).lower() in camels:
                name = f"f{i}"
            names.add(name)
            camels.add(camel(name).lower())
            number = rng.choice([i + 1, i + 1, i + 1, rng.randint(1, 100), rng.choice([15, 16, 2047, 2048, 536870911])])
            while number in numbers or 19000 <= number <= 19999:
                number += 1
                if number > 536870911:
                    number = 1
            numbers.add(number)
            plan.append((name, number))
        for i, (name, number) in enumerate(plan):
            self._field(message, proto, name, number, usable, syntax, oneofs if i >= 1 else 0)
        # A oneof's members stand together, and a oneof without members may not be declared.
        pairs = sorted(zip(message.fields, proto.field), key=lambda pair: -1 if pair[0].oneof is None else pair[0].oneof)
        message.fields = [field for field, _ in pairs]
        copies = [descriptor_pb2.FieldDescriptorProto.FromString(p.SerializeToString()) for _, p in pairs]
        del proto.field[:]
        proto.field.extend(copies)
        used = {f.oneof for f in message.fields if f.oneof is not None}
        order = {old: new for new, old in enumerate(sorted(used))}
        for field, field_proto in zip(message.fields, proto.field):
            if field.oneof is not None:
                field.oneof = field_proto.oneof_index = order[field.oneof]
        for i in range(len(order)):
            proto.oneof_decl.add(name=f"choice_{i}")
        for field, field_proto in zip(message.fields, proto.field):
            if field.optional:
                field_proto.oneof_index = len(proto.oneof_decl)
                proto.oneof_decl.add(name="_" + field.name)

    def _field(self, message, proto, name, number, usable, syntax, oneofs):
        rng = self.rng
        F = descriptor_pb2.FieldDescriptorProto
        made = proto.field.add(name=name, number=number, label=F.LABEL_OPTIONAL)
        kind = rng.choice(KINDS + ("enum", "enum", "message", "message", "message", "message"))
        label = rng.choice(("one", "one", "one", "list", "map"))
        ref = None
        if kind == "message":
            ref = rng.choice(usable) if rng.random() < 0.5 else rng.choice(list(self.known.values()))
        elif kind == "enum":
            # The first value of a map's enum must be 0. Proto3 has no closed enums.
            ref = rng.choice([e for e in self.enums[syntax] if label != "map" or e.numbers[0] == 0] or [NULL])
            # Python reads no lists and maps of nulls, so that messages with them tell less.
            if rng.random() < (0.1 if label == "one" else 0.02):
                ref = NULL
        field = Field(name, number, kind, label=label, ref=ref)
        if rng.random() < 0.1:
            made.json_name = field.json_name = rng.choice(("renamed", "re named", 'q"uoted', "\u00e9")) + str(number)
        elif rng.random() < 0.5:
            made.json_name = camel(name)
        if label == "map":
            field.key = rng.choice(KEYS)
            entry = proto.nested_type.add(name=self._entry_name(name))
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, type=TYPE[field.key], label=F.LABEL_OPTIONAL)
            self._typed(entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL), kind, ref)
            made.label, made.type = F.LABEL_REPEATED, TYPE["message"]
            made.type_name = f".{message.full_name}.{entry.name}"
            message.fields.append(field)
            return
        self._typed(made, kind, ref)
        if label == "list":
            made.label = F.LABEL_REPEATED
            if kind not in ("string", "bytes", "message") and rng.random() < 0.5:
                field.packed = made.options.packed = rng.random() < 0.5
        elif oneofs and rng.random() < 0.5:
            field.oneof = made.oneof_index = rng.randrange(oneofs)
        elif syntax == "proto3" and rng.random() < 0.3:
            field.optional = made.proto3_optional = True
        elif syntax == "proto2":
            if rng.random() < 0.15 and not (kind == "message" and ref not in self.known.values()):
                field.required = True
                made.label = F.LABEL_REQUIRED
            elif rng.random() < 0.3:
                default = {"string": "d\u00e9fault", "bool": "true", "double": "2.5", "float": "nan", "int32": "-7",
                           "uint64": "7", "bytes": "\\001x"}.get(kind)
                if kind == "enum":
                    default = rng.choice(ref.values)[0]
                if default:
                    made.default_value = default
        message.fields.append(field)

    @staticmethod
    def _entry_name(name):
        """As protoc makes it; the pool checks that."""
        out, up = "", True
        for c in name:
            if c == "_":
                up = True
            else:
                out += c.upper() if up else c
                up = False
        return out + "Entry"

    @staticmethod
    def _typed(proto, kind, ref):
        proto.type = TYPE[kind]
        if ref:
            proto.type_name = "." + ref.full_name

    # Bytes

    def varint(self, value, odd=True):
        value &= 2**64 - 1
        out = bytearray()
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
        if odd and len(out) < 9 and self.rng.random() < 0.02:    # longer than needed
            out[-1] |= 0x80
            out.append(0)
        return bytes(out)

    def tag(self, number, wire):
        return self.varint(number << 3 | wire, odd=number < 1000)

    def integer(self, kind):
        rng, bits = self.rng, BITS[kind]
        top = 2**(bits - 1) - 1 if kind in SIGNED else 2**bits - 1
        low = -top - 1 if kind in SIGNED else 0
        return rng.choice((0, 1, low, top, max(low, -1), rng.randint(0, 127), rng.randint(0, 300), rng.randint(low, top),
                           top // 2, min(top, 2**53 + 1), min(top, 2**32)))

    def scalar(self, kind, ref, known=False):
        """(wire type, bytes without a length); `known`: of an enum, only its own values"""
        rng = self.rng
        if kind in ("string", "bytes"):
            data = self.text().encode() if kind == "string" or rng.random() < 0.5 else rng.randbytes(rng.randint(0, 9))
            return 2, data
        if kind == "double":
            value = rng.choice(DOUBLES) if rng.random() < 0.6 else struct.unpack("<d", rng.randbytes(8))[0]
            return 1, struct.pack("<d", value)
        if kind == "float":
            if rng.random() < 0.002:    # the largest, which python prints but does not read
                return 5, struct.pack("<f", rng.choice((3.4028234663852886e38, -3.4028234663852886e38)))
            return 5, struct.pack("<f", rng.choice(FLOATS)) if rng.random() < 0.6 else rng.randbytes(4)
        if kind == "bool":
            return 0, self.varint(rng.choice((0, 1, 1, 1, 2, 2**63)))
        if kind == "enum":
            number = rng.choice(ref.numbers)
            if not known and ref is not NULL and rng.random() < 0.15:
                number = rng.choice((3, -1, 99, 2**31 - 1, -2**31))
            return 0, self.varint(number)
        value = self.integer(kind)
        if kind in ("fixed32", "sfixed32"):
            return 5, struct.pack("<I", value & 0xFFFFFFFF)
        if kind in ("fixed64", "sfixed64"):
            return 1, struct.pack("<Q", value & 2**64 - 1)
        if kind in ("sint32", "sint64"):
            return 0, self.varint(value << 1 ^ (value >> (BITS[kind] - 1)))
        if kind == "int32" and rng.random() < 0.05:
            value = rng.randint(-2**63, 2**63 - 1)    # cut to its lower half
        return 0, self.varint(value)

    def text(self):
        rng = self.rng
        if rng.random() < 0.7:
            return rng.choice(TEXTS)
        return "".join(chr(rng.choice((rng.randint(32, 126), rng.randint(0, 0xD7FF), rng.randint(0xE000, 0x10FFFF))))
                       for _ in range(rng.randint(0, 12)))

    def field(self, field, budget):
        """One occurrence of a field, its tag before it."""
        if field.label == "map":
            key = self.lengthed(field.number, self.entry(field, budget))
            return key
        if field.kind == "message":
            return self.lengthed(field.number, self.message(field.ref, budget))
        wire, data = self.scalar(field.kind, field.ref, known=field.in_map)
        if field.label == "list" and wire != 2 and self.rng.random() < 0.6:
            run = data + b"".join(self.scalar(field.kind, field.ref)[1] for _ in range(self.rng.randint(0, 4)))
            return self.lengthed(field.number, run if self.rng.random() < 0.95 else b"")
        return self.lengthed(field.number, data) if wire == 2 else self.tag(field.number, wire) + data

    def lengthed(self, number, data):
        return self.tag(number, 2) + self.varint(len(data)) + data

    def entry(self, field, budget):
        rng = self.rng
        parts = []
        if rng.random() < 0.95:
            wire, data = self.scalar(field.key, None)
            if field.key == "string" and rng.random() < 0.5:
                data = rng.choice((b"a", b"b", b"c"))    # so that some come twice
            parts.append(self.lengthed(1, data) if wire == 2 else self.tag(1, wire) + data)
        value = Field("value", 2, field.kind, ref=field.ref)
        # An entry whose closed enum does not have its value is an unknown field, as protobuf's own tests say; types
        # that are made at run time, as here, get the default instead. The unit tests have that case.
        value.in_map = field.kind == "enum" and field.ref.closed
        # A message that is absent from its entry is one without fields; python does not miss the required ones of it.
        times = rng.choice((1, 1, 1, 1, 1, 1, 0, 2))
        for _ in range(times or (field.kind == "message" and any(f.required for f in field.ref.fields))):
            parts.append(self.field(value, budget))
        if rng.random() < 0.1:
            rng.shuffle(parts)
        if rng.random() < 0.03:
            parts.append(self.unknown())
        return b"".join(parts)

    def unknown(self):
        number = self.rng.choice((18000, 500000000, 77777))
        wire = self.rng.choice((0, 1, 2, 5))
        if wire == 2:
            return self.lengthed(number, self.rng.randbytes(self.rng.randint(0, 8)))
        return self.tag(number, wire) + (self.varint(self.rng.randint(0, 2**64 - 1)) if wire == 0
                                         else self.rng.randbytes(8 if wire == 1 else 4))

    def message(self, message, budget=24):
        """Bytes of a message; `budget` bounds how much is in it."""
        rng = self.rng
        if message.known and message.known not in WRAPPERS:
            return self.known_message(message, budget)
        parts = []
        for field in message.fields:
            if field.required:
                parts.append(self.field(field, 2))
        for field in message.fields if budget > 0 else ():
            if rng.random() < 0.35:
                continue
            inner = budget // 3 if field.kind == "message" else budget
            if field.kind == "message" and inner == 0:
                continue
            times = 1 if field.label == "one" else rng.choice((1, 2, 3))
            if field.label == "map" and field.kind != "message" and rng.random() < 0.02:
                times = 40
            if field.label == "one" and rng.random() < 0.06:
                times = 2    # the last wins; messages are one together
            parts += [self.field(field, inner) for _ in range(times)]
        if rng.random() < 0.1:
            parts.append(self.unknown())
        if rng.random() < 0.2:
            rng.shuffle(parts)
        return b"".join(parts)

    def known_message(self, message, budget):
        rng, name = self.rng, message.known
        if name in ("Timestamp", "Duration"):
            seconds, nanos = self.time(name == "Duration")
            out = self.tag(1, 0) + self.varint(seconds) if seconds or rng.random() < 0.1 else b""
            return out + (self.tag(2, 0) + self.varint(nanos) if nanos else b"")
        if name == "FieldMask":
            paths = [rng.choice(("a", "a_b", "user.display_name", "x1", "", "a_b_c.d_e", "f1.f2"))
                     for _ in range(rng.randint(0, 3))]
            if rng.random() < 0.02:
                paths.append(rng.choice(("camelCase", "a__b", "a_", "a_1")))
            return b"".join(self.lengthed(1, p.encode()) for p in paths)
        if name == "Any":
            if rng.random() < 0.1:
                return b""
            inner = rng.choice(self.messages) if rng.random() < 0.6 else rng.choice(list(self.known.values()))
            if budget < 2 and inner.known not in WRAPPERS:
                inner = self.known["Duration"]
            url = rng.choice(("type.googleapis.com/", "example.com/a/", "")) + inner.full_name
            if rng.random() < 0.01:
                url = "type.googleapis.com/no.such.Type"
            return self.lengthed(1, url.encode()) + self.lengthed(2, self.message(inner, budget // 3))
        if name == "Value":
            return self.value(message, budget)
        if name in ("Struct", "ListValue") and budget > 0:
            field = message.fields[0]
            return b"".join(self.field(field, budget // 2) for _ in range(rng.randint(0, 3)))
        return b""

    def value(self, message, budget):
        rng = self.rng
        if rng.random() < 0.02:
            return b""
        field = rng.choice(message.fields[:4] if budget <= 1 else message.fields)
        if field.kind == "double" and rng.random() < 0.97:
            number = rng.choice([d for d in DOUBLES if d - d == 0] + [float(rng.randint(-2**53, 2**53)), 2.5])
            return self.tag(2, 1) + struct.pack("<d", number)
        out = self.field(field, budget // 2)
        return out if rng.random() < 0.97 else self.field(rng.choice(message.fields[:4]), 0) + out

    def time(self, duration):
        rng = self.rng
        nanos = rng.choice((0, 0, 1, 999999999, 500000000, 120000000, 1000, 123456000, rng.randint(0, 999999999)))
        if duration:
            seconds = rng.choice((0, 1, 59, 315576000000, rng.randint(0, 315576000000), rng.randint(0, 10000)))
            sign = rng.choice((1, 1, -1))
            seconds, nanos = seconds * sign, nanos * sign
            return (seconds, nanos) if rng.random() < 0.98 else (rng.choice((315576000001, seconds, -1)), 5)
        seconds = rng.choice((0, -1, 1, -62135596800, 253402300799, 951782400, 1709164800, 86399, -86400,
                              rng.randint(-62135596800, 253402300799)))
        return (seconds, nanos) if rng.random() < 0.98 else (rng.choice((253402300800, -62135596801, 2**62)), 0)

    def damage(self, data):
        """Bytes with a fault."""
        rng = self.rng
        out = bytearray(data)
        what = rng.random()
        if what < 0.4 and out:
            del out[rng.randrange(len(out)):]
        elif what < 0.8 and out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
        else:
            at = rng.randint(0, len(out))
            out[at:at] = rng.randbytes(rng.randint(1, 3))
        return bytes(out)
