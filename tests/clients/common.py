# SPDX-License-Identifier: Apache-2.0
"""What the client programs in Python share.

A client program is given one JSON object (the addresses) and prints one line for each feature: its name, a tab, and
"ok", a word for the table, or "fail: why".
"""

import json
import sys
import traceback

BIG = 2 ** 53 + 1      # no double holds it


def run(features, given=None):
    """Calls each function by name; what it returns (None: ok) is the word for the table."""
    given = given if given is not None else json.loads(sys.argv[1])
    for name, function in features.items():
        try:
            said = function(given) or "ok"
        except Exception as error:      # told, whatever it is
            traceback.print_exc()
            said = "fail: " + " ".join(f"{type(error).__name__}: {error}".split())[:300]
        print(f"{name}\t{said}", flush=True)


def want(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r}; expected {expected!r}")
