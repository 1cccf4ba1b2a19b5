# SPDX-License-Identifier: Apache-2.0
"""Runs the same calls against the real services and against Mirage, side by side.

    python3 run.py --mirage ../../build/mirage

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
from dataclasses import dataclass
from pathlib import Path

import yaml

from compare import Comparison
from processes import DEPENDENCIES, HERE, Processes, StartError
from scenario import Reply, Request, Scenario, build, load_all, save, send

ORDER_ID_SEED = "order-system"
TEST_RESET, MOCK_RESET = "/__test__/reset", "/__mock__/reset"
MODEL_CALLS = "mirage_llm_calls_total"


@dataclass
class Side:
    """One set of four addresses, and how its dependencies are put back to their start."""
    name: str
    urls: dict[str, str]
    dependency_reset: str = TEST_RESET

    def reset(self) -> None:
        for name, url in self.urls.items():
            path = self.dependency_reset if name in DEPENDENCIES else TEST_RESET
            reply = send(url, Request("POST", path, {}, {}, b""))
            if reply.status >= 300:
                raise StartError(f"{self.name} {name}: reset answered {reply.status} {reply.text}")


@dataclass
class Totals:
    scenarios: int = 0
    calls: int = 0
    differences: int = 0

    def __str__(self) -> str:
        counts = ((self.scenarios, "scenario"), (self.calls, "call"),
                  (self.differences, "difference"))
        return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)


def with_order(processes: Processes, urls: dict[str, str]) -> dict[str, str]:
    """The addresses of three dependencies and of an order service that calls them."""
    flags = [part for name in DEPENDENCIES for part in (f"--{name}", urls[name])]
    order = processes.service("order", *flags, ORDER_ID_SEED=ORDER_ID_SEED)
    return {name: urls[name] for name in DEPENDENCIES} | {"order": order}


def real_side(processes: Processes, name: str = "real") -> Side:
    urls = {dependency: processes.service(dependency) for dependency in DEPENDENCIES}
    return Side(name, with_order(processes, urls))


def mirage_side(processes: Processes, ready: dict) -> Side:
    urls = {entry["name"]: entry["http"] for entry in ready["dependencies"]}
    absent = [name for name in DEPENDENCIES if name not in urls]
    if absent:
        raise StartError(f"mirage does not serve {', '.join(absent)}")
    return Side("mirage", with_order(processes, urls), MOCK_RESET)


def attempt(url: str, request: Request) -> Reply:
    """A call which may go unanswered; the status is 0 then."""
    try:
        return send(url, request)
    except (OSError, http.client.HTTPException) as error:
        return Reply(0, {}, f"no answer: {error}")


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[:max(width - 1, 0)] + "…"


def print_call(request: Request, replies: list[Reply], sides: list[Side],
               differences: list[str]) -> None:
    width = shutil.get_terminal_size((100, 24)).columns
    print(cut(f"  {'✗' if differences else '✓'} {request.method} {request.target}", width))
    for side, reply in zip(sides, replies):
        head = f"      {side.name:7}{reply.status:4} "
        print(head + cut(" ".join(reply.text.split()), width - len(head)))
    if differences:
        more = f"  (and {len(differences) - 1} more)" if len(differences) > 1 else ""
        print(f"      → {differences[0]}{more}")


def run_scenario(scenario: Scenario, sides: list[Side], totals: Totals) -> None:
    print(f"\n{scenario.name}  [{scenario.category}]")
    for side in sides:
        side.reset()
    comparison = Comparison(scenario.dynamic)
    names: list[dict] = [{} for _ in sides]
    for call in scenario.calls:
        target = call.get("target", scenario.dependency)
        requests = [build(call, known) for known in names]
        replies = [send(sides[0].urls[target], requests[0]),
                   attempt(sides[1].urls[target], requests[1])]
        for reply, known in zip(replies, names):
            save(call, reply, known)
        differences = comparison.differences(*replies)
        if replies[0].status >= 500:
            differences.insert(0, "the real service failed")
        print_call(requests[0], replies, sides, differences)
        totals.calls += 1
        totals.differences += bool(differences)
    totals.scenarios += 1


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


def keep_serving(processes: Processes, sides: list[Side]) -> None:
    print("\nStill serving; Ctrl-C ends it.")
    for side in sides:
        for name, url in side.urls.items():
            print(f"  {side.name:7} {name:10} {url}")
    print("\nTry the same call on both:")
    for side in sides:
        print(f"  curl -i {side.urls['inventory']}/items/item-001")
        print(f"  curl -i -X POST -H 'content-type: application/json' -d '{{\"quantity\": 2}}' "
              f"{side.urls['inventory']}/items/item-001/reserve")
    sys.stdout.flush()
    raise StartError(f"{processes.wait()} ended by itself")


def run(args: argparse.Namespace) -> int:
    groups = chosen_groups(args.only, args.all)
    with Processes() as processes:
        real = real_side(processes)
        ready: dict = {}
        if args.real_as_sim:
            simulated = real_side(processes, "second")
        else:
            ready = processes.mirage(args.mirage, args.live)
            simulated = mirage_side(processes, ready)
        sides, totals = [real, simulated], Totals()
        for title, scenarios in groups:
            print(f"\n== {title} ==")
            for scenario in scenarios:
                run_scenario(scenario, sides, totals)
        print(f"\n{totals}")
        calls = model_calls(ready["control"]) if ready.get("control") else None
        if calls is not None:
            print(f"model calls: {calls}")
        if args.serve:
            keep_serving(processes, sides)
    return 1 if totals.differences else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirage", metavar="BINARY", help="the mirage program")
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
