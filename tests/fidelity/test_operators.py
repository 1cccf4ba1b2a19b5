# SPDX-License-Identifier: Apache-2.0
"""The checker of `mirage verify`, tested by operators over every recorded run: at least 99.5 % of the wrong simulations are
refused, the right ones accepted."""

import collections
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import operators  # noqa: E402
import tap  # noqa: E402

MIRAGE = os.environ["MIRAGE_BIN"]
RESULTS = sorted(operators.EXAMPLE.glob("results/*.json")) + sorted(operators.EXAMPLE.glob("results/order/*.json"))
LEAST = 0.995
BATCH = 4000  # trials of one document


NEXT = dict(zip("0123456789abcdef", "1234567890bcdefa"))


def score(trials):
    """What verify says of each trial: its entry in the score."""
    for n, trial in enumerate(trials):
        trial["repeat"] = n + 1
    with tempfile.TemporaryDirectory() as folder:
        document, scored = Path(folder) / "in.json", Path(folder) / "out.json"
        document.write_text(json.dumps({"format": "mirage-verify/1", "scenarios": trials}), encoding="utf-8")
        done = subprocess.run([MIRAGE, "verify", "--rescore", document, "--json", scored, "-q"],
                              capture_output=True, text=True, timeout=1200)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(scored.read_text(encoding="utf-8"))["score"]["scenarios"]


def over_other_wires(folder):
    """The same scenarios over gRPC and ZeroMQ; what counts is how the real services answer."""
    for wire in ("grpc", "zmq"):
        out = Path(folder) / f"{wire}.json"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MIRAGE_")}
        done = subprocess.run([sys.executable, operators.EXAMPLE / "measure.py", "--mirage", MIRAGE, "--wire", wire, "--recorded",
                               "--cassettes", operators.EXAMPLE / "results" / "cassettes" / "white-box-http-1", "--out", out],
                              env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode in (0, 1), done.stderr
        yield out


def real_trials(paths):
    """Each run's trials, those that could be run."""
    for path in paths:
        for trial in operators.load(path)["scenarios"]:
            if "error" not in trial and all("reply" in call["real"] for call in trial["calls"] if "left_out" not in call):
                yield trial


def plain(trial, side="real"):
    """What a trial's replies say, but for ids."""
    replies = [call[side].get("reply") for call in trial["calls"]]
    return re.sub(r'_[0-9a-f]{12,24}\b|ZX[A-Z]{2}\d{10}|"date": "[^"]*"', "", json.dumps(replies, sort_keys=True))


def unique(trials):
    """Repeats whose real side says the same but for ids would only be tested twice."""
    seen = set()
    for trial in trials:
        key = trial["name"] + plain(trial)
        if key not in seen:
            seen.add(key)
            yield trial


def renamed(trial):
    """Other ids on the simulated side, everywhere."""
    trial = operators.mirrored(trial)
    ids = {value for _, _, value in operators.Mutants(trial).issued()}
    for call in trial["calls"]:
        text = json.dumps(call["simulated"])
        for value in sorted(ids):
            text = text.replace(value, value[:-3] + "".join(NEXT.get(c, c) for c in value[-3:]))
        call["simulated"] = json.loads(text)
    return trial


def reordered(trial):
    """Members and headers in the opposite order."""
    def turn(value):
        if isinstance(value, dict):
            return {key: turn(value[key]) for key in reversed(value)}
        return [turn(item) for item in value] if isinstance(value, list) else value
    trial = operators.mirrored(trial)
    for call in trial["calls"]:
        call["simulated"] = turn(call["simulated"])
    return trial


class Checker(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.trials = list(unique(real_trials([*RESULTS, *over_other_wires(folder)])))

    def test_there_are_runs(self):
        self.assertGreaterEqual(len(self.trials), 38)

    def test_the_real_side_passes_against_itself(self):
        for change in (operators.mirrored, renamed, reordered):
            for entry in score([change(trial) for trial in self.trials]):
                self.assertTrue(entry["passed"], (change.__name__, entry))

    def test_one_scenario_is_not_another(self):
        by_name = {trial["name"]: trial for trial in self.trials}
        mixed = []
        for name, trial in by_name.items():
            for other in by_name.values():
                if other["name"] == name:
                    continue
                mixture = copy.deepcopy(trial)
                mixture["calls"] = mixture["calls"][:len(other["calls"])]
                for call, theirs in zip(mixture["calls"], other["calls"]):
                    call["simulated"] = copy.deepcopy(theirs["real"]) | {"request": call["real"]["request"]}
                # Some begin with the same calls, and get the same replies.
                if plain(mixture) != plain(mixture, "simulated"):
                    mixture["name"] += f" answered as {other['name']}"
                    mixed.append(mixture)
        self.assertGreater(len(mixed), 1000)
        self.assertEqual([entry["name"] for entry in score(mixed) if entry["passed"]], [])

    def test_wrong_simulations_are_refused(self):
        counts, survivors = collections.Counter(), []
        batch = []

        def flush():
            for entry, (operator, where, _) in zip(score([mutant for _, _, mutant in batch]), batch):
                counts[operator] += 1
                if entry["passed"]:
                    survivors.append(f"{operator}: {where}")
            batch.clear()

        for trial in self.trials:
            for mutant in operators.Mutants(trial).each():
                batch.append(mutant)
                if len(batch) == BATCH:
                    flush()
        flush()
        total = sum(counts.values())
        print(f"{total - len(survivors)} of {total} refused")
        for operator, count in sorted(counts.items()):
            print(f"  {operator}: {count}")
        for line in survivors[:40]:
            print(f"  survived: {line}")
        self.assertGreaterEqual(total, 3000)
        self.assertGreaterEqual((total - len(survivors)) / total, LEAST, survivors[:20])


if __name__ == "__main__":
    tap.main()
