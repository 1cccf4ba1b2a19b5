# SPDX-License-Identifier: Apache-2.0
"""Runs the same calls against the real services and against Mirage, side by side, over three wires.

    python3 run.py --mirage ../../build/src/mirage

Exits with 1 when any answer differs, or when something does not start.
"""

from __future__ import annotations

import argparse
import http.client
import re
import shutil
import signal
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent / "services"))

from compare import Comparison
from processes import DEPENDENCIES, HERE, Processes, StartError
from scenario import Reply, Request, Scenario, build, load, load_all, save
from sides import WIRES, Clients, Side, mirage_side, real_side

CLOSING = HERE / "three-wires.yaml"
MODEL_CALLS = "mirage_llm_calls_total"


@dataclass
class Call:
    """One call over one wire, made on both sides."""
    wire: str
    request: Request
    replies: list[Reply]
    differences: list[str]
    left_out: str = ""  # why that wire cannot express it

    @property
    def mark(self) -> str:
        return "–" if self.left_out else "✗" if self.differences else "✓"


@dataclass
class Totals:
    """What was done over one wire."""
    scenarios: int = 0
    calls: int = 0
    differences: int = 0
    left_out: list[str] = field(default_factory=list)

    def add(self, call: Call, scenario: Scenario) -> None:
        if call.left_out:
            request = call.request
            self.left_out.append(f"{scenario.name}: {request.method} {request.target}: "
                                 f"{call.left_out}")
        else:
            self.calls += 1
            self.differences += bool(call.differences)

    def __str__(self) -> str:
        counts = ((self.scenarios, "scenario"), (self.calls, "call"),
                  (self.differences, "difference"))
        text = ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)
        return text + (f", {len(self.left_out)} left out" if self.left_out else "")


def play(scenario: Scenario, sides: list[Side], clients: Clients, wire: str) -> list[Call]:
    """Makes a scenario's calls over that wire; those that name a wire, over theirs if it is used."""
    for side in sides:
        side.reset()
    comparison = Comparison(scenario.dynamic)
    names: list[dict] = [{} for _ in sides]
    made = []
    for call in scenario.calls:
        target = call.get("target", scenario.dependency)
        over = call["wire"] if call.get("wire") in clients.by_wire else wire
        requests = [build(call, known) for known in names]
        misfit = clients.misfit(over, target, requests[0])
        # What cannot be said over one wire is said over HTTP: what follows must find its effects.
        really = "http" if misfit else over
        replies = [clients.send(really, sides[0], target, requests[0]),
                   clients.attempt(really, sides[1], target, requests[1])]
        for reply, known in zip(replies, names):
            save(call, reply, known)
        differences = comparison.differences(*replies)
        if replies[0].failed:
            differences.insert(0, "the real service failed")
        made.append(Call(over, requests[0], replies, differences, misfit))
    return made


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[:max(width - 1, 0)] + "…"


def print_replies(call: Call, sides: list[Side], others: bool) -> None:
    width = shutil.get_terminal_size((100, 24)).columns
    for side, reply in zip(sides, call.replies):
        status = f"{reply.status} {reply.code}".strip()
        wire = f"{call.wire} " if others else ""
        head = f"      {side.name:7}{wire}{status:>4} "
        print(head + cut(" ".join(reply.text.split()), width - len(head)))


def print_calls(calls: tuple[Call, ...], sides: list[Side]) -> None:
    """The same call over each wire: what came back over the first, and over those that differ."""
    width = shutil.get_terminal_size((100, 24)).columns
    marks = " ".join(f"{call.mark} {call.wire}" for call in calls)
    print(cut(f"  {marks}  {calls[0].request.method} {calls[0].request.target}", width))
    for call in calls:
        wrong = call.differences and not call.left_out
        if call is calls[0] or wrong:
            print_replies(call, sides, call is not calls[0])
        if wrong:
            more = len(call.differences) - 1
            print(f"      → {call.wire}: {call.differences[0]}"
                  + (f"  (and {more} more)" if more else ""))


def run_scenario(scenario: Scenario, sides: list[Side], clients: Clients, wires: list[str],
                 totals: dict[str, Totals]) -> None:
    print(f"\n{scenario.name}  [{scenario.category}]")
    over = [play(scenario, sides, clients, wire) for wire in wires]
    for calls in zip(*over):
        print_calls(calls, sides)
        for call in calls:
            totals[call.wire].add(call, scenario)


def wires_of(scenario: Scenario, wires: list[str]) -> list[str]:
    """The order service, and with it a saga's other calls, is there over HTTP only."""
    return [wire for wire in wires if wire == "http" or scenario.dependency in DEPENDENCIES]


def chosen_groups(only: list[str], everything: bool) -> list[tuple[str, list[Scenario]]]:
    """The scenarios to run, by title: all, those named, or the demo's list."""
    scenarios = load_all()
    if only:
        unknown = [name for name in only if not any(s.name.startswith(name) for s in scenarios)]
        if unknown:
            raise StartError(f"no scenario is called {', '.join(unknown)}")
        return [("Chosen scenarios",
                 [s for s in scenarios if any(s.name.startswith(name) for name in only)])]
    if everything:
        return [(f"All of {group}", [s for s in scenarios if s.dependency == group])
                for group in (*DEPENDENCIES, "order")]
    by_name = {scenario.name: scenario for scenario in scenarios}
    demo = yaml.safe_load((HERE / "demo.yaml").read_text(encoding="utf-8"))
    return [(group["title"], [by_name[name] for name in group["scenarios"]])
            for group in demo["groups"]]


def model_calls(control: str) -> int | None:
    """How often Mirage asked the model, or None where it does not say."""
    try:
        with urllib.request.urlopen(f"{control}/metrics", timeout=5) as response:
            text = response.read().decode("utf-8", "replace")
    except OSError:
        return None
    counts = re.findall(rf"^{MODEL_CALLS}(?:\{{.*\}})? ([0-9.eE+]+)", text, re.MULTILINE)
    return int(sum(map(float, counts))) if counts else None


def print_totals(totals: dict[str, Totals], ready: dict) -> None:
    print()
    for wire, total in totals.items():
        print(f"{wire + ':':6}{total}")
        for line in total.left_out:
            print(f"        {line}")
    calls = model_calls(ready["control"]) if ready.get("control") else None
    if calls is not None:
        print(f"model calls: {calls}")


def print_other_wires(side: Side) -> None:
    """In sessions of their own: a recording answers a call as often as it was recorded."""
    door = side.doors["inventory"]
    if door.get("grpc"):
        types = " --proto examples/order-system/proto/inventory/v1/inventory.proto"
        print(f"  mirage call grpc://{door['grpc']}/items/item-001 --session two"
              + (types if side.name != "mirage" else ""))  # which has reflection
    if door.get("zmq"):
        print(f"  mirage call zmq+{door['zmq']}/items/item-001 --session three")


def keep_serving(processes: Processes, sides: list[Side]) -> None:
    print("\nStill serving; Ctrl-C ends it.")
    for side in sides:
        side.reset()
        for name, door in side.doors.items():
            print(f"  {side.name:7} {name:10} {'  '.join(filter(None, door.values()))}")
    print("\nTry the same call on both:")
    for side in sides:
        url = side.doors["inventory"]["http"]
        print(f"  curl -i {url}/items/item-001")
        print(f"  curl -i -X POST -H 'content-type: application/json' -d '{{\"quantity\": 2}}' "
              f"{url}/items/item-001/reserve")
        print_other_wires(side)
    sys.stdout.flush()
    raise StartError(f"{processes.wait()} ended by itself")


def run_all(args: argparse.Namespace, groups: list[tuple[str, list[Scenario]]], sides: list[Side],
            clients: Clients) -> dict[str, Totals]:
    totals = {wire: Totals() for wire in args.wire}
    for title, scenarios in groups:
        runnable = [scenario for scenario in scenarios if wires_of(scenario, args.wire)]
        if runnable:
            print(f"\n== {title} ==")
        for scenario in runnable:
            wires = wires_of(scenario, args.wire)
            run_scenario(scenario, sides, clients, wires, totals)
            for wire in wires:
                totals[wire].scenarios += 1
    if not args.only:
        print("\n== Written over one wire, read over another ==")
        run_scenario(load(CLOSING), sides, clients, args.wire[:1], totals)
    return totals


def run(args: argparse.Namespace) -> int:
    groups = chosen_groups(args.only, args.all)
    with Processes() as processes, Clients(args.wire) as clients:
        real = real_side(processes, args.wire)
        ready: dict = {}
        if args.real_as_sim:
            simulated = real_side(processes, args.wire, "second")
        else:
            ready = processes.mirage(args.mirage, args.live)
            simulated = mirage_side(processes, args.wire, ready)
        sides = [real, simulated]
        totals = run_all(args, groups, sides, clients)
        print_totals(totals, ready)
        if args.serve:
            keep_serving(processes, sides)
    return 1 if any(total.differences for total in totals.values()) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirage", metavar="BINARY", help="the mirage program")
    parser.add_argument("--wire", action="append", choices=WIRES,
                        help="over this wire only; may be given more than once")
    parser.add_argument("--live", action="store_true", help="let Mirage ask the model")
    parser.add_argument("--serve", action="store_true", help="keep everything up after the run")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="these scenarios, by name or how it begins")
    parser.add_argument("--all", action="store_true", help="every scenario, not just the demo's")
    parser.add_argument("--real-as-sim", action="store_true",
                        help="a second set of the real services in Mirage's place")
    args = parser.parse_args()
    if not args.mirage and not args.real_as_sim:
        parser.error("--mirage BINARY is needed")
    args.wire = [wire for wire in WIRES if not args.wire or wire in args.wire]
    return args


def main() -> int:
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run(args)
    except (StartError, OSError, http.client.HTTPException) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
