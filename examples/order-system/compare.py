# SPDX-License-Identifier: Apache-2.0
"""Compares a simulated reply with the real one.

Everything must be equal except values a scenario declares dynamic. Those are
compared by role: both sides issue one of the right form, and through a scenario
each real id stands for one simulated id and the other way round.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from scenario import Reply

TRANSPORT_HEADERS = {"server", "date", "content-length", "connection", "keep-alive",
                     "transfer-encoding"}

Location = tuple[str | int, ...]


@dataclass
class Rule:
    """One dynamic value: where it is found and what it looks like."""
    location: Location
    anywhere: bool
    kind: str
    pattern: str | None

    @classmethod
    def parse(cls, entry: dict) -> Rule:
        path, anywhere = re.subn(r"^body\.\$\.\.", "body.", entry["path"])
        path = re.sub(r"^body\.\$\.", "body.", path)
        parts = re.findall(r"[^.\[\]]+", path)
        location = tuple(int(part) if part.isdigit() else part for part in parts)
        return cls(location, bool(anywhere), entry["kind"], entry.get("pattern"))

    def covers(self, location: Location) -> bool:
        if self.anywhere:
            tail = self.location[1:]
            return location[0] == "body" and location[-len(tail):] == tail
        return location == self.location

    def problem(self, value: Any) -> str | None:
        if self.kind in ("id", "token") and not (isinstance(value, str) and value):
            return f"{shown(value)} is no {self.kind}"
        if self.pattern and not re.fullmatch(self.pattern, str(value)):
            return f"{shown(value)} does not match {self.pattern}"
        return None


def shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def json_kind(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array",
             dict: "object", type(None): "null"}
    return kinds[type(value)]


def name_of(location: Location) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".")


def media_type(headers: dict[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class Comparison:
    """The comparison of one scenario, which remembers the ids seen so far."""

    def __init__(self, dynamic: list[dict]) -> None:
        self.rules = [Rule.parse(entry) for entry in dynamic]
        self.to_simulated: dict[str, str] = {}
        self.to_real: dict[str, str] = {}

    def differences(self, real: Reply, simulated: Reply) -> list[str]:
        found = []
        if real.status != simulated.status:
            found.append(f"status: {real.status} became {simulated.status}")
        found += self._bodies(real, simulated)
        return found + self._headers(real.headers, simulated.headers)

    def _bodies(self, real: Reply, simulated: Reply) -> list[str]:
        try:
            real_value = real.json()
        except ValueError:
            return self._values(("body",), real.text, simulated.text)
        try:
            simulated_value = simulated.json()
        except ValueError:
            return [f"body: not JSON: {shown(simulated.text[:80])}"]
        return self._values(("body",), real_value, simulated_value)

    def _headers(self, real: dict[str, str], simulated: dict[str, str]) -> list[str]:
        found = []
        if media_type(real) != media_type(simulated):
            found.append(f"header.content-type: {media_type(real)} became "
                         f"{media_type(simulated) or 'absent'}")
        for name in sorted(real.keys() - TRANSPORT_HEADERS - {"content-type"}):
            if name in simulated:
                found += self._values(("header", name), real[name], simulated[name])
            else:
                found.append(f"header.{name}: missing")
        found += [f"header.{name}: not expected" for name in sorted(simulated.keys() - real.keys())
                  if name not in TRANSPORT_HEADERS and not name.startswith("mirage-")]
        return found

    def _values(self, location: Location, real: Any, simulated: Any) -> list[str]:
        if json_kind(real) != json_kind(simulated):
            return [f"{name_of(location)}: {shown(real)} ({json_kind(real)}) became "
                    f"{shown(simulated)} ({json_kind(simulated)})"]
        rule = next((rule for rule in self.rules if rule.covers(location)), None)
        if rule and real is not None:
            return self._dynamic(rule, location, real, simulated)
        if isinstance(real, dict):
            return self._objects(location, real, simulated)
        if isinstance(real, list):
            return self._arrays(location, real, simulated)
        if isinstance(real, str):
            real = self._translate(real)
        if real != simulated:
            return [f"{name_of(location)}: {shown(real)} became {shown(simulated)}"]
        return []

    def _objects(self, location: Location, real: dict, simulated: dict) -> list[str]:
        found = [f"{name_of(location + (key,))}: missing" for key in real if key not in simulated]
        found += [f"{name_of(location + (key,))}: not expected"
                  for key in simulated if key not in real]
        for key in real:
            if key in simulated:
                found += self._values(location + (key,), real[key], simulated[key])
        return found

    def _arrays(self, location: Location, real: list, simulated: list) -> list[str]:
        found = []
        if len(real) != len(simulated):
            found.append(f"{name_of(location)}: {len(real)} entries became {len(simulated)}")
        for i, pair in enumerate(zip(real, simulated)):
            found += self._values(location + (i,), *pair)
        return found

    def _dynamic(self, rule: Rule, location: Location, real: Any, simulated: Any) -> list[str]:
        for side, value in (("real", real), ("simulated", simulated)):
            problem = rule.problem(value)
            if problem:
                return [f"{name_of(location)}: {side}: {problem}"]
        if rule.kind == "time":
            return []
        expected = self.to_simulated.setdefault(real, simulated)
        if expected != simulated:
            return [f"{name_of(location)}: {shown(expected)} became {shown(simulated)}"]
        if self.to_real.setdefault(simulated, real) != real:
            return [f"{name_of(location)}: {shown(simulated)} was issued before"]
        return []

    def _translate(self, text: str) -> str:
        """A real text with the real ids in it replaced by the simulated ones."""
        if not self.to_simulated:
            return text
        known = sorted(self.to_simulated, key=len, reverse=True)
        pattern = "|".join(map(re.escape, known))
        return re.sub(pattern, lambda match: self.to_simulated[match[0]], text)
