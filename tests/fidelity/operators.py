# SPDX-License-Identifier: Apache-2.0
"""Wrong simulations, made from a right one: every leaf of every real reply is changed in each way that a checker must see.

A result (what `verify --json` writes) is taken for its real side alone: the simulated side becomes a copy of it, and each
mutant differs from that copy in one place.
"""

import copy
import json
import re
from pathlib import Path
import sys

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "order-system"
sys.path.insert(0, str(EXAMPLE))
from compare import Rule  # noqa: E402

NOT_COUNTED = {"content-length", "date", "server", "connection", "keep-alive", "transfer-encoding"}
CODES = ("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
         "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
         "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED", 17)
STATUSES = (200, 201, 202, 400, 401, 402, 404, 409, 410, 422, 428, 429, 500)


def mirrored(trial):
    """The trial with a simulation that answers what the real service did."""
    trial = copy.deepcopy(trial)
    for call in trial["calls"]:
        call["simulated"] = copy.deepcopy(call["real"])
    return trial


def leaves(value, at=()):
    """(location, value) of all that is no container; empty containers too."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, at + (key,))
    elif isinstance(value, list) and value:
        for i, item in enumerate(value):
            yield from leaves(item, at + (i,))
    else:
        yield at, value


def containers(value, at=()):
    if isinstance(value, (dict, list)):
        yield at, value
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from containers(item, at + (key,))


def put(root, at, value):
    for key in at[:-1]:
        root = root[key]
    root[at[-1]] = value


def get(root, at):
    for key in at:
        root = root[key]
    return root


class Mutants:
    """The mutants of one trial: (operator, where, trial)."""

    def __init__(self, trial):
        self.trial = mirrored(trial)
        self.rules = [Rule.parse(rule) for rule in trial.get("dynamic", [])]

    def rule(self, at):
        return next((rule for rule in self.rules if rule.covers(at)), None)

    def issued(self):
        """Dynamic values in the order of the calls: (call, location in the reply, value)."""
        for i, call in enumerate(self.trial["calls"]):
            for at, value in leaves(call["real"].get("reply", {}).get("body", {})):
                if isinstance(value, str) and self.rule(("body",) + at):
                    yield i, ("body",) + at, value

    def each(self):
        issued = list(self.issued())
        for i, call in enumerate(self.trial["calls"]):
            if "left_out" in call or "reply" not in call["real"]:
                continue
            reply = call["real"]["reply"]
            changes = [*self.of_status(reply), *self.of_headers(reply), *self.of_body(reply)]
            changes += [*self.of_grpc(reply), *self.of_ids(i, issued)]
            for operator, at, change in changes:
                mutant = copy.deepcopy(self.trial)
                change(mutant["calls"][i]["simulated"]["reply"])
                yield operator, f"{self.trial['name']}: call {i + 1}: {at}", mutant

    def of_status(self, reply):
        name = "grpc_status" if "grpc_status" in reply else "status"
        others = CODES if name == "grpc_status" else STATUSES
        return [("status changed", name, lambda r, other=other: r.update({name: other}))
                for other in others if other != reply[name]]

    def of_headers(self, reply):
        for part in ("headers", "trailers"):
            for name in reply.get(part, {}):
                if name not in NOT_COUNTED and not name.startswith("mirage-"):
                    yield "header dropped", name, lambda r, n=name, p=part: r[p].pop(n)
                    yield "header changed", name, lambda r, n=name, p=part: r[p].update({n: "other"})
        yield "header added", "x-other", lambda r: r.setdefault("headers", {}).update({"x-other": "1"})

    def of_grpc(self, reply):
        if reply.get("grpc_message"):
            for text in changed_texts(reply["grpc_message"]):
                yield "message word changed", "grpc_message", lambda r, t=text: r.update(grpc_message=t)
        for at, value in leaves(reply.get("grpc_details", [])):
            if at and not self.in_details(at):
                yield from self.of_leaf(("grpc_details",) + at, value)

    def in_details(self, at):
        return any(rule.location[-1] == at[-1] for rule in self.rules)

    def of_body(self, reply):
        if "body_text" in reply:
            yield "value changed", "body_text", lambda r: r.update(body_text=r["body_text"] + "x")
        if "body" not in reply:
            return
        for at, value in containers(reply, ()):
            if at[:1] == ("body",):
                yield from self.of_container(at, value)
        for at, value in leaves(reply["body"]):
            at = ("body",) + at
            rule = self.rule(at)
            if rule and value is not None:
                yield from self.of_kind(at, value)
            else:
                yield from self.of_leaf(at, value)

    def of_container(self, at, value):
        if isinstance(value, dict):
            for key in value:
                yield "key dropped", at + (key,), lambda r, a=at, k=key: get(r, a).pop(k)
            yield "key added", at, lambda r, a=at: get(r, a).update({"another": 1})
            return
        for i, pair in enumerate(zip(value, value[1:])):
            if pair[0] != pair[1] and not self.only_ids_differ(*pair):
                yield "array swapped", at + (i,), lambda r, a=at, i=i: swap(get(r, a), i)
        if value:
            yield "item dropped", at, lambda r, a=at: get(r, a).pop()
            yield "item added", at, lambda r, a=at: get(r, a).append(get(r, a)[-1])

    def only_ids_differ(self, a, b):
        return False

    def of_leaf(self, at, value):
        def to(operator, other):
            return operator, at, lambda r: put(r, at, other)
        if isinstance(value, bool):
            yield to("value changed", not value)
            yield to("type changed", "true" if value else "false")
        elif isinstance(value, (int, float)):
            yield to("number +1", value + 1)
            yield to("number -1", value - 1)
            yield to("type changed", str(value))
            yield to("type changed", value + 0.5 if isinstance(value, int) else int(value))
            yield to("type changed", None)
        elif isinstance(value, str):
            operator = "message word changed" if " " in value else "value changed"
            for text in changed_texts(value):
                yield to(operator, text)
            if at[-1] != "@type":  # a result has none that is no text
                yield to("type changed", 1)
                yield to("type changed", None)
        elif value is None:
            yield to("type changed", "null")
            yield to("type changed", 0)
        else:
            yield to("type changed", None)

    def of_kind(self, at, value):
        """A dynamic leaf that is not what it should be."""
        def to(other):
            return "kind changed", at, lambda r: put(r, at, other)
        yield to(None)
        yield to("")
        yield to(1)
        if isinstance(value, str):
            yield to(value[:-1])
            yield to(value + "0")
            yield to("x" + value[1:])
            yield to(re.sub("[0-9]", "g", value) if re.search("[0-9]", value) else value + "-")

    def of_ids(self, i, issued):
        """Ids that are of the right kind and the wrong thing."""
        for call, at, value in issued:
            if call != i:
                continue
            before = [v for c, a, v in issued if c <= i and v != value and (c, a) != (call, at)]
            alike = {v for v in before if re.sub("[0-9a-f]", "", v) == re.sub("[0-9a-f]", "", value)}
            for other in sorted(alike)[:2]:
                yield "id of another step", at, lambda r, a=at, o=other: put(r, a, o)
            if any(v == value and (c, a) != (call, at) for c, a, v in issued):
                yield "id not kept", at, lambda r, a=at, o=other_id(value): put(r, a, o)


def swap(items, i):
    items[i], items[i + 1] = items[i + 1], items[i]


def other_id(value):
    """Of the same form: the last digit is another."""
    return value[:-1] + ("0" if value[-1] != "0" else "1")


def changed_texts(text):
    """One word or character of a text changed."""
    words = text.split(" ")
    if len(words) == 1:
        return [text + "x", text[:-1] if len(text) > 1 else text + text, text.swapcase() if text.swapcase() != text else text + "_"]
    found = []
    for i, word in enumerate(words):
        other = str(int(word) + 1) if word.isdigit() else "not" if word != "not" else "now"
        found.append(" ".join(words[:i] + [other] + words[i + 1:]))
    return found


def of_result(result):
    for trial in result["scenarios"]:
        if "error" not in trial:
            yield from Mutants(trial).each()


def load(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))
