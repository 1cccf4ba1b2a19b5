#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the tables into docs/fidelity.md that the recorded runs of examples/order-system/results give.

    tools/update-fidelity.py PROGRAM [--check]

Each run (CONDITION-WIRE-REPEAT.json, or several CONDITION-WIRE-REPEAT-PART.json) is scored again by `PROGRAM verify --rescore`.
With --check nothing is written, and the exit status is 1 when the page has drifted.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "fidelity.md"
RESULTS = ROOT / "examples" / "order-system" / "results"
VERDICTS = RESULTS / "verdicts.yaml"
NAME = re.compile(r"(?P<condition>[a-z-]+)-(?P<wire>http|grpc|zmq)-(?P<repeat>\d+)(-(?P<part>\w+))?")
ORDER = ("white-box", "white-box-context", "white-box-no-comments", "source", "black-box-examples", "black-box", "caller",
         "traces", "paper")
PAIRS = ("inventory", "payment", "shipping")
CATEGORIES = ("basic_crud", "error_handling", "code_reasoning", "stateful_lifecycle", "auth_lifecycle", "async_lifecycle",
              "pagination", "stress_tests")
# Key-level / total pass of arXiv 2604.04806v3, tables III to V: white-box and black-box; by category over its 110 scenarios.
PAPER_PAIRS = {"inventory": ("100/95", "21/16"), "payment": ("85/69", "0/0"), "shipping": ("100/100", "33/0")}
PAPER_CATEGORIES = {
    "basic_crud": ("100/97", "43/24"), "error_handling": ("100/95", "32/11"), "code_reasoning": ("95/84", "39/21"),
    "stateful_lifecycle": ("100/100", "22/22"), "auth_lifecycle": ("100/75", "0/0"), "async_lifecycle": ("100/100", "0/0"),
    "pagination": ("100/67", "0/0"), "stress_tests": ("90/90", "20/10")}
PAPER_CONDITIONS = {"white-box": "98/92", "source": "97/75", "black-box": "33/18", "caller": "35/16", "traces": "18/7",
                    "black-box-examples": "77/40"}
# Per million tokens: input, input from the cache, output. List prices of claude-sonnet-4-5, US dollars, November 2026.
PRICES = (3.00, 0.30, 15.00)


def is_dev(name):
    """The half that prompts may be bettered with: an even first byte of the name's SHA-256."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


class Run:
    """One condition over one wire, once: all of its parts, in one file that is scored."""

    def __init__(self, name, condition, wire, repeat, folder):
        self.name, self.condition, self.wire, self.repeat = name, condition, wire, int(repeat)
        self.file = folder / f"{name}.json"
        self.trials = []

    def score(self, program, against=None):
        """What verify says of the run."""
        self.file.write_text(json.dumps({"format": "mirage-verify/1", "label": self.name, "scenarios": self.trials}),
                             encoding="utf-8")
        other = ["--against", against.file] if against else []
        done = subprocess.run([program, "verify", "--rescore", self.file, "--verdicts", VERDICTS, "--json", "-", *other],
                              capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{self.name}: {done.stderr}")
        return json.loads(done.stdout)["score"]

    def load(self, program):
        self.about = {trial["name"]: trial for trial in self.trials}
        self.whole = self.score(program)
        self.entries = self.whole["scenarios"]

    def select(self, **wanted):
        return [entry for entry in self.entries if "error" not in entry
                and all(self.about[entry["name"]][key] == value for key, value in wanted.items())]

    def passed(self):
        return {entry["name"]: entry["passed"] for entry in self.select()}


def load(program, results, folder):
    runs = {}
    for path in sorted(results.glob("*.json")):
        match = NAME.fullmatch(path.stem)
        if not match:
            raise SystemExit(f"{path}: expected CONDITION-WIRE-REPEAT.json, or with -PART")
        name = f"{match['condition']}-{match['wire']}-{match['repeat']}"
        run = runs.setdefault(name, Run(name, match["condition"], match["wire"], match["repeat"], folder))
        run.trials += json.loads(path.read_text(encoding="utf-8"))["scenarios"]
    for run in runs.values():
        run.load(program)
    wires = ("http", "grpc", "zmq")
    return sorted(runs.values(), key=lambda run: (ORDER.index(run.condition), wires.index(run.wire), run.repeat))


def percent(part, whole):
    return f"{100 * part / whole:.1f}" if whole else "–"


def rows(head, lines):
    return "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
                      *("| " + " | ".join(map(str, line)) + " |" for line in lines)]) + "\n"


def shown(run):
    return f"{run.condition}, {run.wire}, {run.repeat}"


def half(run, dev):
    chosen = [entry for entry in run.select() if is_dev(entry["name"]) == dev]
    return f"{sum(entry['passed'] for entry in chosen)} of {len(chosen)}"


def table_runs(runs, _):
    lines = []
    for run in runs:
        whole = run.whole
        count, (low, high) = whole["all"], whole["interval"]
        lines.append((shown(run), count["scored"], percent(count["key_level"], count["scored"]),
                      f"{count['passed']} ({percent(count['passed'], count['scored'])})", f"{100 * low:.1f} to {100 * high:.1f}",
                      f"{100 * whole['mean']:.1f}", count["passed_alone"], half(run, True), half(run, False),
                      percent(whole["status_same"], whole["calls"]), percent(whole["shape_same"], whole["calls"])))
    return rows(("run", "N", "key-level %", "total pass (%)", "95 % interval", "mean of pairs %", "without judges", "dev", "test",
                 "status %", "status and shape %"), lines)


def table_decided(runs, _):
    names = ("gate", "oracle", "judges", "person", "nobody")
    return rows(("run", *names, "calls", "left out"),
                [(shown(run), *(run.whole["decided"][name] for name in names), run.whole["calls"], run.whole["left_out"])
                 for run in runs])


def rate(chosen):
    """Key-level / total pass in per cent, as the paper prints them."""
    n = len(chosen)
    return f"{100 * sum(e['key_level'] for e in chosen) / n:.0f}/{100 * sum(e['passed'] for e in chosen) / n:.0f}" if n else "–"


def grouped(runs, key, values, paper):
    """Rates by group, the repeats of a condition over a wire together; the paper's two first."""
    columns = {}
    for run in runs:
        columns.setdefault((run.condition, run.wire), []).append(run)
    lines = []
    for value in values:
        first = next((run for run in runs if run.select(**{key: value})), None)
        cells = []
        for several in columns.values():
            chosen = [entry for run in several for entry in run.select(**{key: value})]
            cells.append(rate(chosen))
        lines.append((value, len(first.select(**{key: value})) if first else 0, *paper[value], *cells))
    heads = [f"{condition}, {wire}" + (f" × {len(several)}" if len(several) > 1 else "")
             for (condition, wire), several in columns.items()]
    return rows((key, "N", "paper, white-box", "paper, black-box", *heads), lines)


def table_pairs(runs, _):
    return grouped(runs, "dependency", PAIRS, PAPER_PAIRS)


def table_categories(runs, _):
    return grouped(runs, "category", CATEGORIES, PAPER_CATEGORIES)


def table_conditions(runs, _):
    """The paper's table V: what each kind of evidence is worth, over HTTP."""
    lines = []
    for condition in ORDER:
        chosen = [entry for run in runs if run.condition == condition and run.wire == "http" for entry in run.select()]
        if chosen:
            lines.append((condition, PAPER_CONDITIONS.get(condition, "–"), rate(chosen)))
    return rows(("condition", "paper, 110 scenarios", "here"), lines)


def table_differences(runs, _):
    lines = []
    for base_name in ("white-box-http-1", "paper-http-1"):
        base = next((run for run in runs if run.name == base_name), None)
        for run in runs if base else ():
            if run is base or not run.passed().keys() & base.passed().keys():
                continue
            found = run.score(PROGRAM, base)["against"]
            low, high = found["interval"]
            lines.append((shown(run), shown(base), found["pairs"], found["only_here"], found["only_there"],
                          f"{100 * found['difference']:+.1f}", f"{100 * low:+.1f} to {100 * high:+.1f}"))
    return rows(("run", "against", "pairs", "passed only here", "only there", "difference, points", "95 % interval"), lines)


def table_repeats(runs, _):
    lines, groups = [], {}
    for run in runs:
        groups.setdefault((run.condition, run.wire), []).append(run.passed())
    for (condition, wire), several in groups.items():
        if len(several) > 1:
            names = set.intersection(*(set(one) for one in several))
            same = sum(len({one[name] for one in several}) == 1 for name in names)
            always = sum(all(one[name] for one in several) for name in names)
            lines.append((f"{condition}, {wire}", len(several), len(names), same, always))
    return rows(("condition", "repeats", "scenarios", "the same each time", "passed each time"), lines)


def table_cost(runs, usage):
    lines = []
    for name in [run.name for run in runs if run.name in usage] + [n for n in usage if n not in {run.name for run in runs}]:
        used = usage[name]
        fresh = used["tokens_in"] - used["tokens_cached"]
        money = (fresh * PRICES[0] + used["tokens_cached"] * PRICES[1] + used["tokens_out"] * PRICES[2]) / 1e6
        lines.append((name, used["requests"], f"{used['tokens_in']:,}", percent(used["tokens_cached"], used["tokens_in"]),
                      f"{used['tokens_out']:,}", f"{money:.2f}"))
    return rows(("run", "model calls", "tokens in", "of these cached %", "tokens out", "US $ at list prices"), lines)


def table_failures(runs, _):
    lines = [(shown(run), entry["name"], entry.get("decided", "not run"), entry.get("why", "").replace("|", "\\|"))
             for run in runs for entry in run.entries if not entry["passed"]]
    return rows(("run", "scenario", "decided by", "first difference"), lines)


def table_halves(runs, _):
    names = sorted({entry["name"] for run in runs for entry in run.entries})
    return rows(("half", "N", "scenarios"), [(half, len(chosen), ", ".join(chosen)) for half, chosen in (
        ("dev", [name for name in names if is_dev(name)]), ("test", [name for name in names if not is_dev(name)]))])


TABLES = {"runs": table_runs, "decided": table_decided, "pairs": table_pairs, "categories": table_categories,
          "conditions": table_conditions, "differences": table_differences, "repeats": table_repeats, "cost": table_cost,
          "failures": table_failures, "halves": table_halves}


def table_end_to_end(runs):
    """The caller's own tests: the order service in front of the real dependencies and of the simulated ones."""
    lines = []
    for run in runs:
        for entry in run.entries:
            trial = run.about[entry["name"]]
            lines.append((shown(run), entry["name"], len(trial["calls"]), "the same" if entry["passed"] else entry["why"]))
    return rows(("run", "test", "calls", "in front of the simulation"), lines)


def with_table(text, name, body):
    section = re.compile(rf"(<!-- table {name}: made by tools/update-fidelity.py -->\n)(.*?)(<!-- end -->)", re.DOTALL)
    if not section.search(text):
        raise SystemExit(f"{PAGE}: there is no section <!-- table {name}: made by tools/update-fidelity.py -->")
    return section.sub(lambda m: m[1] + body + m[3], text)


def main(arguments):
    global PROGRAM
    check = "--check" in arguments
    words = [word for word in arguments if word != "--check"]
    if len(words) != 1:
        raise SystemExit(__doc__)
    PROGRAM = words[0]
    usage = json.loads((RESULTS / "usage" / "usage.json").read_text(encoding="utf-8"))
    old = text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        runs = load(PROGRAM, RESULTS, pathlib.Path(folder))
        for name, make in TABLES.items():
            text = with_table(text, name, make(runs, usage))
        text = with_table(text, "end to end", table_end_to_end(load(PROGRAM, RESULTS / "order", pathlib.Path(folder))))
    if check:
        if text != old:
            raise SystemExit(f"{PAGE}: the tables are not what the recorded runs give; run tools/update-fidelity.py {PROGRAM}")
    elif text != old:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
