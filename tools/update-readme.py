#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the table of configuration keys, as `MIRAGE docs options` prints it, into README.md. With --check: only says whether it is there."""
import pathlib
import re
import subprocess
import sys

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"
PLACE = re.compile(r"(<!-- options: [^\n]*-->\n).*?(<!-- end of options -->)", re.S)


def main(binary, check):
    options = subprocess.run([binary, "docs", "options"], check=True, capture_output=True, text=True).stdout
    before = README.read_text()
    after = PLACE.sub(lambda m: m[1] + "\n" + options + "\n" + m[2], before)
    if check and before != after:
        print("README.md does not have the options that the program has; run tools/update-readme.py BUILD/src/mirage", file=sys.stderr)
        return 1
    if not check:
        README.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--check" in sys.argv))
