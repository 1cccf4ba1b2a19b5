#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Puts what is generated into docs/wires.md: the status tables, and the table of clients and features.

    tools/update-wires.py PROGRAM [RESULTS.json …] [--check]

RESULTS are what tests/wire/test_matrix.py writes: {"wire": "gRPC", "clients": {name: {feature: word}}}. A client that is
not among them keeps its column. With --check nothing is written, and the exit status is 1 when the page has drifted.
"""

import json
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "wires.md"
WORDS = {"ok": "✓"}
NONE = "–"      # the client has no such feature


def section(name):
    return re.compile(rf"(<!-- {name}: made by tools/update-wires.py -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def replaced(text, name, body):
    if not section(name).search(text):
        raise SystemExit(f"{PAGE}: there is no section <!-- {name}: made by tools/update-wires.py -->")
    return section(name).sub(lambda m: m[1] + body + m[3], text)


def read_table(text, wire):
    """{client: {feature: word as shown}} of the page's table."""
    body = section(f"clients {wire}").search(text)[2].strip().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body]
    if len(rows) < 2:
        return {}
    names = rows[0][1:]
    return {name: {row[0]: row[1 + i] for row in rows[2:]} for i, name in enumerate(names)}


def write_table(clients):
    features = list(dict.fromkeys(f for column in clients.values() for f in column))
    names = list(clients)
    lines = ["| feature | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    lines += [f"| {f} | " + " | ".join(clients[n].get(f, NONE) for n in names) + " |" for f in features]
    return "\n".join(lines) + "\n"


def with_results(text, wire, results):
    clients = read_table(text, wire)
    for name, column in results.items():
        clients[name] = {feature: WORDS.get(word, word) for feature, word in column.items()}
    return replaced(text, f"clients {wire}", write_table(clients))


def main(arguments):
    check = "--check" in arguments
    words = [a for a in arguments if a != "--check"]
    if not words:
        raise SystemExit(__doc__)
    old = PAGE.read_text(encoding="utf-8")
    new = replaced(old, "statuses", subprocess.run([words[0], "docs", "statuses"], check=True, capture_output=True,
                                                   text=True).stdout)
    for path in words[1:]:
        told = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        new = with_results(new, told["wire"], told["clients"])
    if check:
        return 0 if new == old else 1
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
