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
        self.assertIn("46 scenarios, 129 calls, 0 differences", result.stdout)

    def test_a_server_that_does_not_start_is_reported(self):
        result = run("--mirage", "/nonexistent/mirage")
        self.assertEqual(result.returncode, 1)
        self.assertIn("mirage did not start", result.stderr)

    def test_unknown_scenario(self):
        self.assertEqual(run("--real-as-sim", "--only", "nope").returncode, 1)


if __name__ == "__main__":
    tap.main()
