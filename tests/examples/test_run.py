# SPDX-License-Identifier: Apache-2.0
"""The demo's driver, with a second set of the real services in Mirage's place."""

import subprocess
import sys
import unittest

from support import EXAMPLE
import tap


def run(*args):
    return subprocess.run([sys.executable, "-B", str(EXAMPLE / "run.py"), *args],
                          capture_output=True, text=True, timeout=120)


class Run(unittest.TestCase):
    def test_real_services_do_not_differ_from_themselves(self):
        result = run("--real-as-sim", "--all")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("http: 46 scenarios, 131 calls, 0 differences\n", result.stdout)
        self.assertIn("grpc: 38 scenarios, 109 calls, 0 differences, 1 left out\n", result.stdout)
        self.assertIn("inventory-05-missing-and-string-quantity: POST /items/item-001/reserve: "
                      "body.quantity is not an integer\n", result.stdout)
        self.assertIn("zmq:  38 scenarios, 110 calls, 0 differences\n", result.stdout)

    def test_wires_are_chosen(self):
        result = run("--real-as-sim", "--wire", "zmq", "--wire", "http", "--only", "inventory-01")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("  ✓ http ✓ zmq  GET /items/item-001\n", result.stdout)
        self.assertNotIn("grpc", result.stdout)

    def test_a_saga_is_there_over_http_only(self):
        result = run("--real-as-sim", "--wire", "grpc", "--only", "saga-1")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("grpc: 0 scenarios, 0 calls", result.stdout)

    def test_a_server_that_does_not_start_is_reported(self):
        result = run("--mirage", "/nonexistent/mirage")
        self.assertEqual(result.returncode, 1)
        self.assertIn("mirage did not start", result.stderr)

    def test_unknown_scenario(self):
        self.assertEqual(run("--real-as-sim", "--only", "nope").returncode, 1)


if __name__ == "__main__":
    tap.main()
