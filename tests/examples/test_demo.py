# SPDX-License-Identifier: Apache-2.0
"""The demo with the real program on the recorded replies: nothing differs; and when something does, it says so."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import EXAMPLE
import tap

BINARY = os.environ.get("MIRAGE_BIN", "")


def run(folder, *args):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIRAGE_")}
    return subprocess.run([sys.executable, "-B", str(folder / "run.py"), "--mirage", BINARY, *args],
                          capture_output=True, text=True, timeout=240, env=environment)


@unittest.skipUnless(BINARY, "MIRAGE_BIN names no program")
class Demo(unittest.TestCase):
    def test_nothing_differs_and_no_model_is_asked(self):
        result = run(EXAMPLE)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("http: 13 scenarios, 41 calls, 0 differences\n", result.stdout)
        self.assertIn("grpc: 9 scenarios, 28 calls, 0 differences\n", result.stdout)
        self.assertIn("zmq:  9 scenarios, 28 calls, 0 differences\n", result.stdout)
        self.assertIn("model calls: 0", result.stdout)

    def test_every_scenario_is_recorded_and_replays_over_every_wire(self):
        result = run(EXAMPLE, "--all")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("http: 46 scenarios, 131 calls, 0 differences\n", result.stdout)
        self.assertIn("grpc: 38 scenarios, 109 calls, 0 differences, 1 left out\n", result.stdout)
        self.assertIn("zmq:  38 scenarios, 110 calls, 0 differences\n", result.stdout)
        self.assertIn("model calls: 0", result.stdout)

    def test_evidence_is_what_was_recorded_with(self):
        self.assertNotIn("evidence", run(EXAMPLE, "--only", "inventory-11-reserve-confirm-read").stderr)

    def test_a_wrong_value_in_a_recording_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "examples" / "order-system"
            shutil.copytree(EXAMPLE, copy)
            shutil.copytree(EXAMPLE.parents[1] / "proto", Path(folder) / "proto")
            path = copy / "cassettes" / "payment.jsonl"
            entries = [json.loads(line) for line in path.read_text().splitlines()]
            for entry in entries:
                if "fee_cents" in (entry["rep"].get("body") or {}):
                    entry["rep"]["body"]["fee_cents"] += 1
            path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
            result = run(copy)
            self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
            for wire in ("http", "grpc", "zmq"):
                self.assertIn(f"→ {wire}: body.fee_cents", result.stdout)


if __name__ == "__main__":
    tap.main()
