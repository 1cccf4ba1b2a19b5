# SPDX-License-Identifier: Apache-2.0
"""The TAP runner, run as a program on small test files."""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

import tap

HERE = os.path.dirname(os.path.abspath(__file__))


def run(source, *args):
    """(exit status, lines of stdout, stderr) of a test file with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write("import os, sys, unittest\nimport tap\n" + textwrap.dedent(source)
                    + "\nif __name__ == '__main__':\n    tap.main()\n")
        done = subprocess.run([sys.executable, path, *args], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": HERE})
        return done.returncode, done.stdout.splitlines(), done.stderr


def points(lines):
    return [line for line in lines if re.match(r"(not )?ok ", line)]


class Tap(unittest.TestCase):
    def test_passes(self):
        code, lines, _ = run("""
            class A(unittest.TestCase):
                def test_one(self): pass
                def test_two(self): pass
        """)
        self.assertEqual(code, 0)
        self.assertEqual(lines, ["TAP version 13", "ok 1 - A.test_one", "ok 2 - A.test_two", "1..2"])

    def test_failure_and_error(self):
        code, lines, _ = run("""
            class A(unittest.TestCase):
                def test_a(self): self.assertEqual("x", "y\\nz")
                def test_b(self): raise RuntimeError("went # wrong")
                def test_c(self): pass
        """)
        self.assertEqual(code, 1)
        self.assertEqual(points(lines), ["not ok 1 - A.test_a", "not ok 2 - A.test_b", "ok 3 - A.test_c"])
        self.assertIn("  failure: |", lines)
        self.assertIn("  error: |", lines)
        self.assertIn("    RuntimeError: went # wrong", lines)
        self.assertEqual(lines.count("  ---"), 2)
        self.assertEqual(lines.count("  ..."), 2)
        self.assertNotIn(os.sep + "unittest" + os.sep, "\n".join(lines))
        for line in lines[1:]:
            self.assertRegex(line, r"^(ok |not ok |  |1\.\.|# )")

    def test_skip(self):
        code, lines, _ = run("""
            class A(unittest.TestCase):
                @unittest.skip("no #1 network")
                def test_a(self): pass
                def test_b(self): self.skipTest("later")
            @unittest.skip("whole")
            class B(unittest.TestCase):
                def test_c(self): pass
            class C(unittest.TestCase):
                @classmethod
                def setUpClass(cls): raise unittest.SkipTest("not here")
                def test_d(self): pass
        """)
        self.assertEqual(code, 0)
        self.assertEqual(points(lines)[:3], [
            "ok 1 - A.test_a # SKIP no \\#1 network", "ok 2 - A.test_b # SKIP later",
            "ok 3 - B.test_c # SKIP whole"])
        self.assertRegex(points(lines)[3], r"^ok 4 - setUpClass .*C.* # SKIP not here$")
        self.assertEqual(lines[-1], "1..4")

    def test_prints_go_to_stderr(self):
        code, lines, err = run("""
            class A(unittest.TestCase):
                def test_a(self):
                    print("ok 7 - liar")
                    os.write(1, b"ok 8 - from below\\n")
                    os.system("echo ok 9 - from a child")
        """)
        self.assertEqual(code, 0)
        self.assertEqual(lines, ["TAP version 13", "ok 1 - A.test_a", "1..1"])
        for text in ("liar", "from below", "from a child"):
            self.assertIn(text, err)

    def test_filter(self):
        source = """
            class A(unittest.TestCase):
                def test_one(self): pass
                def test_two(self): pass
            class B(unittest.TestCase):
                def test_two(self): pass
        """
        self.assertEqual(points(run(source, "two")[1]), ["ok 1 - A.test_two", "ok 2 - B.test_two"])
        self.assertEqual(points(run(source, "A.test_two")[1]), ["ok 1 - A.test_two"])
        self.assertEqual(points(run(source, "B.*", "one")[1]), ["ok 1 - A.test_one", "ok 2 - B.test_two"])
        self.assertEqual(run(source, "none")[1][1:], ["1..0 # SKIP no test of that name"])
        self.assertEqual(run(source, "-l", "A")[1], ["A.test_one", "A.test_two"])

    def test_fixture_fails(self):
        code, lines, _ = run("""
            class A(unittest.TestCase):
                @classmethod
                def setUpClass(cls): raise OSError("no binary")
                def test_a(self): pass
                def test_b(self): pass
            class B(unittest.TestCase):
                def test_c(self): pass
        """)
        self.assertEqual(code, 1)
        self.assertRegex(points(lines)[0], r"^not ok 1 - setUpClass .*A")
        self.assertEqual(points(lines)[1], "ok 2 - B.test_c")
        self.assertIn("1..2", lines)

    def test_subtests(self):
        code, lines, _ = run("""
            class A(unittest.TestCase):
                def test_a(self):
                    for n in range(4):
                        with self.subTest(n=n): self.assertNotIn(n, (1, 3))
        """)
        self.assertEqual(code, 1)
        self.assertEqual(points(lines), ["not ok 1 - A.test_a"])
        self.assertIn("    (n=1)", lines)
        self.assertIn("    (n=3)", lines)
        self.assertIn("  failure_2: |", lines)

    def test_expected_failure(self):
        code, lines, _ = run("""
            class A(unittest.TestCase):
                @unittest.expectedFailure
                def test_a(self): self.fail()
                @unittest.expectedFailure
                def test_b(self): pass
        """)
        self.assertEqual(code, 1)
        self.assertEqual(points(lines), ["not ok 1 - A.test_a # TODO expected failure", "not ok 2 - A.test_b"])

    def test_stop_early(self):
        code, lines, _ = run("""
            class A(unittest.TestCase):
                def test_a(self): self.fail()
                def test_b(self): pass
        """, "-x")
        self.assertEqual(code, 1)
        self.assertEqual(points(lines), ["not ok 1 - A.test_a"])
        self.assertEqual(lines[-3:], ["# stopped early: 1 not run", "1..1", "# 1 of 1 failed"])


if __name__ == "__main__":
    tap.main()
