# SPDX-License-Identifier: Apache-2.0
"""Measures how faithful the simulation is under one condition, with `mirage verify`.

    python3 measure.py --mirage ../../build/src/mirage --condition white-box --wire http --repeat 1

Asks the provider that mirage.yaml names (or the MIRAGE_MODEL_ variables) and leaves the result in results/ and the replies
in results/cassettes/. With --recorded nothing is asked: the replies come from there.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent / "services"))

from bare_source import copy_bare
from processes import DEPENDENCIES, HERE, Processes
from sides import MOCK_RESET, TEST_RESET, WIRES, Side, mirage_side, real_side

RESULTS = HERE / "results"
# What the model is told, as `evidence.use` has it. Without source, the protos would tell what the condition leaves out.
USES = {"source": "source", "caller": "caller", "traces": "traces",
        "black-box": "black-box", "black-box-examples": "black-box"}
CONDITIONS = ("white-box", "white-box-context", "white-box-no-comments", *USES, "paper")
EVIDENCE = ("services", "traces", "proto", "examples", "mirage.yaml")
PROVIDER_TIMEOUT = "1500s"


def configure(condition: str, folder: Path, cassettes: Path) -> Path:
    """A copy of the evidence in that folder, and a configuration of the condition."""
    for name in EVIDENCE:
        copy = shutil.copytree if (HERE / name).is_dir() else shutil.copy
        copy(HERE / name, folder / name)
    config = yaml.safe_load((folder / "mirage.yaml").read_text(encoding="utf-8"))
    config["limits"] = {"deadline": PROVIDER_TIMEOUT}
    config["model"] |= {"timeout": PROVIDER_TIMEOUT, "retries": 0}
    if condition == "white-box-no-comments":
        copy_bare(folder / "services", folder / "bare")
    for dependency in config["dependencies"]:
        adapt(dependency, condition)
        dependency["cassette"] = {"dir": str(cassettes)}
    path = folder / "mirage.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def adapt(dependency: dict, condition: str) -> None:
    evidence = dependency["evidence"]
    if condition in USES or condition == "paper":
        del dependency["protos"]
        dependency["listen"] = {"http": dependency["listen"]["http"]}
    if condition in USES:
        evidence["use"] = USES[condition]
    if condition == "black-box-examples":
        evidence["examples"] = [f"examples/{dependency['name']}.jsonl"]
    if condition == "white-box-no-comments":
        evidence["source"] = [path.replace("services/", "bare/") for path in evidence["source"]]
    if condition == "paper":
        dependency["preset"] = "paper"


def targets(flag: str, side: Side, names: tuple[str, ...], wire: str) -> list[str]:
    """Each over that wire, and over HTTP for what the wire cannot express and for resets."""
    before = {"http": "", "grpc": "grpc://", "zmq": "zmq+"}[wire]
    words = []
    for name in names:
        doors = side.doors[name]
        if wire != "http" and doors.get(wire):
            words += [flag, f"{name}={before}{doors[wire]}"]
        words += [flag, f"{name}={doors['http']}"]
    return words


def command(args: argparse.Namespace, real: Side, simulated: Side, result: Path) -> list[str]:
    names = (*DEPENDENCIES, "order") if args.group == "order" else DEPENDENCIES
    words = [args.mirage, "verify", str(HERE / "scenarios"), "--json", str(result), "--label", args.name,
             "--timeout", PROVIDER_TIMEOUT, "--real-reset", TEST_RESET, "--sim-reset", MOCK_RESET,
             "--sim-reset", f"order={TEST_RESET}"]
    words += targets("--real", real, names, args.wire) + targets("--sim", simulated, names, args.wire)
    for name in args.only or (("saga",) if args.group == "order" else DEPENDENCIES):
        words += ["--only", name]
    if args.wire == "grpc":  # the real servers have no reflection
        words += ["--proto-path", str(HERE / "proto"), "--proto-path", str(HERE.parents[1] / "proto")]
        for name in DEPENDENCIES:
            words += ["--proto", str(HERE / "proto" / name / "v1" / f"{name}.proto")]
    if args.condition == "white-box-context":
        words.append("--inject")
    return words


def measure(args: argparse.Namespace) -> int:
    cassettes = args.cassettes or RESULTS / "cassettes" / args.name
    cassettes.mkdir(parents=True, exist_ok=True)
    result = args.out or RESULTS / f"{args.name}.json"
    with Processes() as processes, tempfile.TemporaryDirectory() as folder:
        config = configure(args.condition, Path(folder), cassettes)
        wires = ["http"] if args.wire == "http" else ["http", args.wire]
        real = real_side(processes, wires)
        ready = processes.mirage(args.mirage, not args.recorded, config)
        simulated = mirage_side(processes, wires, ready)
        return subprocess.run(command(args, real, simulated, result), check=False).returncode


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirage", required=True, metavar="BINARY", help="the mirage program")
    parser.add_argument("--condition", choices=CONDITIONS, default="white-box")
    parser.add_argument("--wire", choices=WIRES, default="http")
    parser.add_argument("--repeat", type=int, default=1, help="number of the repeat, for the name")
    parser.add_argument("--part", default="", help="name of a part of the scenarios, for the name")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="these scenarios, by how their names begin")
    parser.add_argument("--group", choices=("dependencies", "order"), default="dependencies",
                        help="order: the order service end to end, in front of the simulation")
    parser.add_argument("--recorded", action="store_true", help="replay what was recorded")
    parser.add_argument("--cassettes", type=lambda text: Path(text).resolve(), metavar="FOLDER",
                        help="where the replies are kept, in place of the run's own folder")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the result goes")
    args = parser.parse_args()
    args.mirage = str(Path(args.mirage).resolve())
    args.name = f"{args.condition}-{args.wire}-{args.repeat}" + (f"-{args.part}" if args.part else "")
    return args


if __name__ == "__main__":
    sys.exit(measure(arguments()))
