#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the cases of JUnit files; the last line is `N passed, N failed, N skipped`. A file that is missing counts as a failure."""
import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    """(passed, failed, skipped) of one file, and the names of what failed."""
    passed = failed = skipped = 0
    names = []
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                names.append(f"{suite.get('name')}: {case.get('name')}")
            elif case.find("skipped") is not None:
                skipped += 1
            else:
                passed += 1
    return passed, failed, skipped, names


def main(paths):
    total = [0, 0, 0]
    for path in paths:
        try:
            *numbers, names = count(path)
        except (OSError, ElementTree.ParseError) as error:
            numbers, names = [0, 1, 0], [f"{path}: no results: {error}"]
        print(f"{path}: {numbers[0]} passed, {numbers[1]} failed, {numbers[2]} skipped")
        for name in names:
            print(f"  failed: {name}")
        total = [a + b for a, b in zip(total, numbers)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
