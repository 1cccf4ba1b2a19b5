# SPDX-License-Identifier: Apache-2.0
"""JSON texts for the messages of proto_random: other spellings of what python made of a message, and texts with faults."""

import json
import re

BITS = {"int32": 32, "sint32": 32, "sfixed32": 32, "uint32": 32, "fixed32": 32,
        "int64": 64, "sint64": 64, "sfixed64": 64, "uint64": 64, "fixed64": 64}
WRAPPERS = {"DoubleValue": "double", "FloatValue": "float", "Int64Value": "int64", "UInt64Value": "uint64",
            "Int32Value": "int32", "UInt32Value": "uint32", "BoolValue": "bool", "StringValue": "string",
            "BytesValue": "bytes"}


def camel(name):
    out, up = "", False
    for c in name:
        if c == "_":
            up = True
        else:
            out += c.upper() if up else c
            up = False
    return out


class Texts:
    """The part of a World that spells; self.rng, self.messages and self.known are its own."""

    def respell(self, message, js):
        """Another spelling of the same message."""
        rng = self.rng
        if message.known == "Any" and js:
            inner = self.named(js.get("@type", ""))
            if inner and not inner.known:
                rest = {k: v for k, v in js.items() if k != "@type"}
                return self.shuffled({"@type": js["@type"], **self.respell(inner, rest)})
            return js
        if message.known in WRAPPERS:
            return self.respell_one(message.fields[0], js)
        if message.known:
            return js
        out = {}
        for field in message.fields:
            json_name = field.json_name or camel(field.name)
            if json_name not in js:
                null = field.ref is None or (field.ref.full_name not in ("google.protobuf.NullValue", "google.protobuf.Value"))
                if null and not field.required and rng.random() < 0.05:
                    out[rng.choice((field.name, json_name))] = None
                continue
            value = js[json_name]
            if field.label == "list":
                value = [self.respell_one(field, v) for v in value]
            elif field.label == "map":
                value = {k: self.respell_one(field, v) for k, v in value.items()}
            else:
                value = self.respell_one(field, value)
            out[rng.choice((field.name, json_name))] = value
        return self.shuffled(out)

    def named(self, url):
        name = url.rsplit("/", 1)[-1]
        return next((m for m in self.messages + list(self.known.values()) if m.full_name == name), None)

    def shuffled(self, js):
        if self.rng.random() < 0.7:
            return js
        items = list(js.items())
        self.rng.shuffle(items)
        return dict(items)

    def respell_one(self, field, value):
        rng, kind = self.rng, field.kind
        if kind == "message":
            return value if value is None else self.respell(field.ref, value)
        if rng.random() < 0.5:
            return value
        if kind in BITS:
            number = int(value)
            if abs(number) < 2**53 and rng.random() < 0.3:
                tens = (f"{number // 10}e1", f"{number // 10}.0E+01") if number % 10 == 0 else ()
                return rng.choice((float(number), f"@raw {number}.0", f"@raw {number}0e-1",
                                   *(f"@raw {t}" for t in tens)))
            return rng.choice((number, str(number)))
        if kind in ("float", "double") and not isinstance(value, str):
            if value == int(value) and abs(value) < 2**53 and rng.random() < 0.5:
                return int(value)
            return repr(value)
        if kind == "enum" and isinstance(value, str):
            return dict(reversed(field.ref.values))[value]
        if kind == "bytes":
            return rng.choice((value.rstrip("="), value.replace("+", "-").replace("/", "_"),
                               value.replace("+", "-").replace("/", "_").rstrip("=")))
        return value

    # Numbers as json.dumps does not write them; text() takes their mark away.
    RAW = tuple("@raw " + n for n in (
        "1E2", "1e+2", "100e-2", "15e-1", "1.50e1", "0.10e1", "1.0", "0e5", "-0", "-0.0", "0.0000", "1e400", "-1e400", "1e-400",
        "1e39", "3.4028235e38", "3.4028236e38", "1.7976931348623159e308", "2147483647.0", "2147483648.0", "2.147483648e9",
        "4294967295e0", "18446744073709551616", "18446744073709551615", "-9223372036854775808", "-9223372036854775809",
        "123456789012345678901234567890", "1e18", "1e19", "1e20", "0.1", "1e-1"))
    WRONG = RAW + (
        None, True, False, "", "a", "abc", "!", 0, 1, -1, 1.5, -0.0, 2**31, -2**31 - 1, 2**32, 2**63, 2**64, -2**63 - 1, 1e39,
        1e300, [], {}, [None], [1], {"a": 1}, {"": None}, "1", "-1", "1.0", "1e2", "1e0", "1.5", "01", "-01", "+1", " 1", "1 ",
        "1_0", "0x10", "-0", "-", ".5", "1.", "1e", "1e400", "-1e400", "1e-400", "\u0661", "NaN", "nan", "-NaN", "Infinity",
        "-Infinity", "+Infinity", "inf", "true", "null", "2147483648", "9223372036854775808", "E0_V0", "E0_V1", "e0_v1", "e0v1",
        "2020-01-01T00:00:00Z", "2020-13-01T00:00:00Z", "2020-02-30T00:00:00Z", "2020-02-29T23:59:59.123456789+01:30",
        "2020-01-01T00:00:00", "2020-01-01t00:00:00z", "2020-01-01T24:00:00Z", "2016-12-31T23:59:60Z", "2020-01-01T00:00:00.Z",
        "2020-01-01T00:00:00.1234567890Z", "2020-01-01T00:00:00-08:00", "2020-01-01T00:00:00+24:00", "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2020-1-1T0:0:0Z", "1s", "-1.5s", "1", "1.5", "-0s", "-0.5s",
        "+1s", "1.s", ".5s", "-.5s", "1 s", "1.1234567890s", "0.000000001s", "315576000000.9s", "315576000001s", "1e1s",
        "a.bC,d", "a_b", "a,,b", ",", "aB_c", "a,B", "\u00e9A", "AAAA", "AA==", "AA=", "AA", "A", "A===", "=", "AA=A", "AA==AA==",
        "AB==", "_-8=", "+/8=", "+_8", "A A=", "YQ==\n",
        {"@type": "x"}, {"@type": 5}, {"@type": ""}, {"@type": "a/google.protobuf.Duration"},
        {"@type": "a/google.protobuf.Duration", "value": "1s"}, {"@type": "a/google.protobuf.Empty"},
        {"@type": "a/google.protobuf.Int32Value", "value": 5}, {"@type": "a/google.protobuf.Struct", "value": {}},
        {"@type": "google.protobuf.Value", "value": None}, {"@type": "/google.protobuf.Any", "value": {}})
    KEYS = ("no_such", "1", "0", "-1", "01", "+1", "-0", " 1", "1_0", "1.0", "1e0", "0x1", "2147483648", "-2147483649",
            "18446744073709551616", "true", "false", "True", "@type", "value", "[a.b]", "", "a", "\u00e9")

    def json_text(self, js, ascii_only):
        return re.sub(r'"@raw ([^"]*)"', r"\1", json.dumps(js, ensure_ascii=ascii_only))

    def mutate(self, js):
        """Something else at one place."""
        rng = self.rng
        if isinstance(js, dict) and js and rng.random() < 0.85:
            out = dict(js)
            key = rng.choice(list(js))
            what = rng.random()
            if what < 0.8:
                out[key] = self.mutate(js[key])
            elif what < 0.9:
                del out[key]
            else:
                out[rng.choice((key + "x", key.upper(), *self.KEYS))] = js[key]
            return out
        if isinstance(js, list) and js and rng.random() < 0.85:
            out = list(js)
            at = rng.randrange(len(out))
            if rng.random() < 0.8:
                out[at] = self.mutate(out[at])
            else:
                out.insert(at, rng.choice(self.WRONG))
            return out
        return rng.choice(self.WRONG)
