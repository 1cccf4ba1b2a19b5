# SPDX-License-Identifier: Apache-2.0
"""The mapping of protobuf messages to JSON and back, against google.protobuf.json_format: random types, random messages
of them both ways, JSON texts and bytes with faults.

A difference is a failure unless it is one of those below, which are there with their reasons. MIRAGE_JSON_MESSAGES says how
many messages, MIRAGE_TEST_SEED from which seed; MIRAGE_JSON_BATCH repeats one batch of such a run.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import tap  # noqa: E402

try:
    from google.protobuf import json_format, message_factory
    from google.protobuf.descriptor import FieldDescriptor
    from google.protobuf.message import Message
    from google.protobuf.internal import api_implementation
    import google.protobuf
    import proto_random
except ImportError:
    json_format = None
# Its releases differ in what they take; the differences below are those of Debian 12's.
RELEASE = "4.21."
USABLE = json_format and google.protobuf.__version__.startswith(RELEASE)

DRIVER = os.environ.get("MIRAGE_PROTO_DRIVER", "")
MESSAGES = int(os.environ.get("MIRAGE_JSON_MESSAGES") or os.environ.get("MIRAGE_JSON_LONG") or 20000)
SEED = os.environ.get("MIRAGE_TEST_SEED", "20250131")
BATCH = 250    # messages of one descriptor set
JOBS = min(2, os.cpu_count() or 1)
SHOWN = 12     # mismatches in full

# Where the two differ and why. Each is counted; what no function here knows is a mismatch.

MINUS_ZERO = re.compile(r"(?:(?<=[\[ ])|\A)-0(?=[,\]}]|\Z)")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
NULL = "google.protobuf.NullValue"
OPEN_ENUM = "ours takes an enum for open when its own file is proto3; python goes by the field's file"


def printing_differs(ours, theirs):
    """`ours` and `theirs` are the errors; None: it printed."""
    if ours and "NaN or an infinity" in ours:
        return "ours refuses NaN and infinities in a google.protobuf.Value, as its definition does"
    if ours and "required field" in ours and theirs is None:
        return "ours refuses a missing required field in an Any too; python does not look into it"
    return None


def parsing_differs(ours, theirs, text):
    if ours is None:
        return python_refuses(theirs, text)
    if 'expected only "@type" and "value"' in ours:
        return "ours refuses members beside an Any's value; python passes over them"
    found = re.search(r"expected (.*); got (.*)\Z", ours, re.S)
    return python_is_lenient(*found.groups()) if found else None


def python_is_lenient(expected, got):
    """`got`: the JSON value that ours does not take for what is expected."""
    key = expected.startswith("a key that is ")
    expected = expected.removeprefix("a key that is ")
    content = got.strip('"') if key or got.startswith('"') else None
    if content is not None and re.match("an integer|a number|a value of|null", expected):
        if content.lower() in ("nan", "inf", "-inf", "-nan", "+infinity"):
            return "ours takes only the spellings NaN, Infinity and -Infinity"
        if key and content == "-0":
            return "ours refuses -0 for a map's key, so that no key has two spellings"
        if not NUMBER.match(content):
            return "ours takes numbers in texts as JSON spells numbers; python takes 01, +1, 1_0, 1., spaces, other digits too"
    if expected.startswith(("a value of ", "null")) and (got in ("true", "false") or NUMBER.match(content or got)):
        if got in ("true", "false") or -2**31 <= float(content or got) < 2**31:
            return "ours refuses booleans and fractions for an enum; python rounds them"
        return "ours refuses an enum's number beyond 32 bits; python cuts it to that"
    if expected.startswith("an integer") and re.match("-?[0-9.]+e-", got):
        return "ours refuses an integer's fraction that is too small for a double; python reads numbers as doubles"
    if expected.startswith(("a time such as", "a duration such as")) and content is not None:
        return "ours wants a time's digits as RFC 3339 has them; python takes fewer, and a point without digits"
    if expected.startswith("bytes as a base64") and content is not None:
        return "ours refuses what is not base64; python passes over characters and cut groups"
    if expected.startswith("a number within"):
        if got in ("true", "false"):
            return "ours refuses booleans for numbers; python makes them 1 and 0"
        if abs(float(content or got)) > 3.4e38:
            return "ours refuses whole numbers and texts beyond the float's range; python makes infinities of them"
    if expected.startswith(("an object (", "an empty object")) and got[0] in '["':
        return "ours refuses a list or text for a message; python takes one that has no members, or unknown ones only"
    return None


def python_refuses(theirs, text):
    literal = re.search(r"invalid literal for int\(\) with base 10: '(.*)'", theirs)
    if literal and NUMBER.match(literal.group(1)):
        return "ours takes 1.0 and 1e2 as texts for integers too, as the mapping says of numbers"
    if "AttributeError" in theirs or ("TypeError" in theirs and "repeated" in theirs):
        return "ours takes null for an absent list of Values; python fails"
    if "null is not allowed" in theirs or "NoneType" in theirs:
        return "ours takes null for google.protobuf.NullValue in lists and maps, which python prints but does not read"
    if "Invalid enum value" in theirs and NULL in theirs:
        return OPEN_ENUM
    if "Float value too" in theirs:
        return "ours takes numbers that round to the largest float, which python prints but does not read"
    if "does not have extensions" in theirs:
        return "ours passes over a name in [] like any other that is unknown, when it is to; python looks for an extension"
    if 'no field named "value"' in theirs and "google.protobuf.Empty" in text:
        return "ours takes an Empty's \"value\" in an Any, as others print it"
    return None


def bytes_differ(ours, theirs):
    """For bytes with faults, that only one side refuses."""
    if ours is None:
        return OPEN_ENUM if theirs.endswith(NULL) else None
    if "expected wire type" in ours:
        return "ours refuses a known field of another wire type; python takes it for an unknown field"
    if "expected a field number" in ours:
        return "ours refuses field numbers beyond 29 bits; python cuts the tag to 32 bits"
    if "no group" in ours:
        return "ours refuses groups; python passes over unknown ones"
    if "UTF-8" in ours:
        return "ours wants UTF-8 in proto2's strings too"
    return None


class Normal(json_format._Printer if json_format else object):
    """The normal form, on python's printer."""

    def __init__(self, pool):
        super().__init__(preserving_proto_field_name=True, descriptor_pool=pool)

    def _FieldToJsonObject(self, field, value):
        if field.cpp_type in json_format._INT64_TYPES:
            return value
        return super()._FieldToJsonObject(field, value)

    def _RegularMessageToJsonObject(self, message, js):
        super()._RegularMessageToJsonObject(message, js)
        for field in message.DESCRIPTOR.fields:
            if field.name in js:
                continue
            if json_format._IsMapEntry(field):
                js[field.name] = {}
            elif field.label == FieldDescriptor.LABEL_REPEATED:
                js[field.name] = []
            elif (field.cpp_type != FieldDescriptor.CPPTYPE_MESSAGE and not field.containing_oneof
                  and field.file.syntax == "proto3"):
                js[field.name] = self._FieldToJsonObject(field, field.default_value)
        return js


def difference(a, b, path=""):
    """Where two JSON values are not alike, "" when they are: numbers by value, everything else by kind too."""
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return f"{path}: only one has {sorted(a.keys() ^ b.keys())}"
        return next(filter(None, (difference(v, b[k], f"{path}.{k}") for k, v in a.items())), "")
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{path}: {len(a)} and {len(b)} items"
        return next(filter(None, (difference(*pair, f"{path}[{i}]") for i, pair in enumerate(zip(a, b)))), "")
    number = isinstance(a, (int, float)) and isinstance(b, (int, float))
    alike = number and not isinstance(a, bool) and not isinstance(b, bool) or type(a) is type(b)
    return "" if alike and a == b else f"{path}: {a!r} and {b!r}"


def in_order(js):
    """With members by name: python's maps are in another order in each process, and what is random must not be."""
    if isinstance(js, dict):
        return {k: in_order(js[k]) for k in sorted(js)}
    return [in_order(v) for v in js] if isinstance(js, list) else js


def why(error):
    return f"{type(error).__name__}: {error}"


class Batch:
    """One descriptor set, its messages, and what both sides make of them."""

    def __init__(self, seed, index, count):
        self.seed, self.index, self.count = seed, index, count
        self.rng = random.Random(f"{seed}/{index}")
        self.world = proto_random.World(self.rng, str(index))
        self.factory = message_factory.MessageFactory(self.world.pool)
        self.types = self.world.messages * 3 + list(self.world.known.values())
        self.commands, self.checks = [], []
        self.mismatches, self.differences = [], collections.Counter()

    def new(self, message):
        return self.factory.GetPrototype(self.world.pool.FindMessageTypeByName(message.full_name))()

    def ask(self, command, message, value, check, *more):
        self.commands.append(f"{command} {message.full_name} {value}")
        self.checks.append((check, message, more))

    def run(self, driver):
        for _ in range(self.count):
            message = self.rng.choice(self.types)
            data = self.world.message(message)
            if self.rng.random() < 0.1:
                self.with_faults(message, self.world.damage(data))
            else:
                self.both_ways(message, data)
        with tempfile.NamedTemporaryFile(prefix="mirage-json-") as set_file:
            set_file.write(self.world.bytes)
            set_file.flush()
            done = subprocess.run([driver, set_file.name], input="\n".join(self.commands) + "\n", capture_output=True,
                                  text=True, encoding="utf-8", timeout=300)
        if done.returncode or done.stderr:
            self.mismatches.append(f"batch {self.index}: the driver ended with {done.returncode}: {done.stderr[-3000:]}")
        for line, command, (check, message, more) in zip(done.stdout.split("\n"), self.commands, self.checks):
            verdict, _, value = line.partition(" ")
            ours = None if verdict == "ok" else value
            wrong = check(ours, value, message, *more)
            if wrong:
                self.mismatches.append(f"batch {self.index}, {command[:3000]}\n    ours:   {line[:1500]}\n    {wrong[:3000]}")
        return self.count, self.mismatches, self.differences

    def either(self, reason, wrong):
        """None and one more known difference, or a mismatch."""
        if reason is None:
            return wrong
        self.differences[reason] += 1
        return None

    # What is asked

    def with_faults(self, message, data):
        theirs = None
        try:
            made = self.new(message)
            made.ParseFromString(data)
            if not self.is_whole(made):
                theirs = missing(made)
        except Exception as error:
            theirs = why(error)
        self.ask("check", message, data.hex(), self.same_verdict, theirs)

    def both_ways(self, message, data):
        made = self.new(message)
        made.ParseFromString(data)
        if not self.is_whole(made):
            self.ask("check", message, data.hex(), self.same_verdict, missing(made))
            return
        js, theirs = None, None
        try:
            js = in_order(json_format.MessageToDict(made, descriptor_pool=self.world.pool))
        except Exception as error:
            theirs = why(error)
        self.ask("check", message, data.hex(), self.accepted)
        self.ask("json", message, data.hex(), self.same_json, js, theirs)
        normal = None if theirs else Normal(self.world.pool)._MessageToJsonObject(made)
        self.ask("normal", message, data.hex(), self.same_json, normal, theirs)
        if theirs:
            return
        text = json.dumps(js, ensure_ascii=False)
        again, theirs = self.parse(message, text)
        for form in ("json", "normal"):
            self.ask("round-" + form, message, data.hex(), self.same_message, again, theirs, text)
        self.ask_parse(message, self.world.json_text(self.world.respell(message, js), self.rng.random() < 0.5))
        self.ask_parse(message, self.world.json_text(self.world.mutate(js), True), self.rng.random() < 0.1)

    def ask_parse(self, message, text, lenient=False):
        again, theirs = self.parse(message, text, lenient)
        self.ask("lenient" if lenient else "parse", message, text, self.same_message, again, theirs, text)

    def parse(self, message, text, lenient=False):
        made = self.new(message)
        text, zeros = MINUS_ZERO.subn("-0.0", text)
        self.differences["ours takes -0 for the negative zero that it is among JSON's numbers; python makes an integer of it"] += zeros
        try:
            json_format.Parse(text, made, ignore_unknown_fields=lenient, descriptor_pool=self.world.pool)
            made.SerializeToString()    # which is where python misses required fields
            return made, None
        except RecursionError:
            raise
        except Exception as error:
            return None, why(error)

    def is_whole(self, made):
        """Whether no required field is missing."""
        if made.IsInitialized():
            return True
        look_into(made)
        if not made.IsInitialized():
            return False
        self.differences["ours asks for no required fields in a map's entry that a later one replaces; "
                         "python does until somebody looks into the map"] += 1
        return True

    # How the answers are judged: None, or what is wrong

    def accepted(self, ours, value, message):
        return ours and "python accepts these bytes"

    def same_verdict(self, ours, value, message, theirs):
        if (ours is None) == (theirs is None):
            return None
        return self.either(bytes_differ(ours, theirs), f"python: {theirs or 'accepts'}")

    def same_json(self, ours, value, message, js, theirs):
        if ours or theirs:
            if ours and theirs:
                return None
            return self.either(printing_differs(ours, theirs), f"python: {theirs or json.dumps(js)}")
        found = difference(json.loads(value), js)
        return found and f"differs at {found}\n    python: {json.dumps(js, ensure_ascii=False)}"

    def same_message(self, ours, value, message, again, theirs, text):
        if ours or theirs:
            if ours and theirs:
                return None
            reason = parsing_differs(ours, theirs, text) or printing_differs(ours, theirs)
            return self.either(reason, f"python: {theirs or again.SerializeToString(deterministic=True).hex()}")
        made = self.new(message)
        made.ParseFromString(bytes.fromhex(value))
        if made.SerializeToString(deterministic=True) == again.SerializeToString(deterministic=True):
            return None
        self.order(made)
        self.order(again)
        mine, others = (m.SerializeToString(deterministic=True) for m in (made, again))
        return None if mine == others else f"python: {others.hex()}\n    parsed: {mine.hex()}"

    def order(self, made):
        """The bytes in each Any in python's order."""
        if made.DESCRIPTOR.full_name == "google.protobuf.Any":
            if made.value:
                name = made.type_url.rsplit("/", 1)[-1]
                inner = self.factory.GetPrototype(self.world.pool.FindMessageTypeByName(name))()
                inner.ParseFromString(made.value)
                self.order(inner)
                made.value = inner.SerializeToString(deterministic=True)
            return
        for field, value in made.ListFields():
            if field.cpp_type != FieldDescriptor.CPPTYPE_MESSAGE:
                continue
            if json_format._IsMapEntry(field):
                if field.message_type.fields_by_name["value"].cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
                    for key in value:
                        self.order(value[key])
            elif field.label == FieldDescriptor.LABEL_REPEATED:
                for item in value:
                    self.order(item)
            else:
                self.order(value)


def look_into(made):
    """Python keeps the entries of a map as they came until the map is asked for something."""
    for field, value in made.ListFields():
        if json_format._IsMapEntry(field):
            value = list(getattr(made, field.name).values())
        elif field.label != FieldDescriptor.LABEL_REPEATED:
            value = [value]
        for item in value:
            if isinstance(item, Message):
                look_into(item)


def missing(made):
    """That required fields are; of which type, when all of them are nulls with a number that is not null's."""
    kinds = set()
    for path in made.FindInitializationErrors():
        descriptor = made.DESCRIPTOR
        for name in re.sub(r"\[[^]]*\]", "", path).split("."):
            field = descriptor.fields_by_name[name]
            descriptor = field.message_type
        kinds.add(field.enum_type.full_name if field.enum_type else field.name)
    return "required fields are missing" + (f" of {NULL}" if kinds == {NULL} else "")


def be_quiet():
    """Python's protobuf tells of each text that is not UTF-8 on standard error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def run_batch(seed, index, count):
    warnings.simplefilter("error", RuntimeWarning)    # python only warns when bytes end early
    try:
        return Batch(seed, index, count).run(DRIVER)
    except Exception as error:
        return count, [f"batch {index}: {why(error)}"], collections.Counter()


@unittest.skipUnless(USABLE, f"python's protobuf {RELEASE}x is not installed")
class JsonFormat(unittest.TestCase):
    def test_random_messages(self):
        one = os.environ.get("MIRAGE_JSON_BATCH")
        indices = [int(one)] if one else range((MESSAGES + BATCH - 1) // BATCH)
        counts = [BATCH if one else min(BATCH, MESSAGES - i * BATCH) for i in indices]
        begun, messages, mismatches, differences = time.monotonic(), 0, [], collections.Counter()
        with concurrent.futures.ProcessPoolExecutor(JOBS, initializer=be_quiet) as pool:
            for count, wrong, known in pool.map(run_batch, [SEED] * len(indices), indices, counts):
                messages += count
                mismatches += wrong
                differences += known
        for reason, count in sorted(differences.items()):
            self.tell(f"{count} times: {reason}")
        self.tell(f"seed {SEED}, {messages} messages in {time.monotonic() - begun:.0f} s, "
                  f"{len(mismatches)} mismatches ({api_implementation.Type()} protobuf)")
        self.assertEqual(0, len(mismatches), "\n".join([""] + mismatches[:SHOWN]))

    @staticmethod
    def tell(line):
        summary.append(f"# {line}\n")


summary = []    # diagnostics, for the end of the test's own output


if __name__ == "__main__":
    output = os.dup(1)    # tap.main keeps the other one for itself
    try:
        tap.main()
    finally:
        os.write(output, "".join(summary).encode())
