# SPDX-License-Identifier: Apache-2.0
"""Runs unittest cases and reports them in TAP version 13 on standard output.

A test file ends with

    if __name__ == "__main__":
        tap.main()

Each test method is one test point; meson's `protocol: 'tap'` then counts each. A subtest that fails is
told in the YAML block of its method. Whatever a test prints, also through the file descriptor (a child
process, say), goes to standard error, so that nothing can break the protocol.

Arguments: any number of names; a test runs if one of them is part of its `Class.method`, or, when it
contains `*` or `?`, matches it whole. `-l` lists the names, `-x` stops after the first failure.
A skipped test's reason comes from unittest's own skip decorators and `self.skipTest`.
"""

import fnmatch
import os
import sys
import time
import traceback
import unittest


def _name(test):
    """`Class.method`; what is not a test method (a failed class fixture) gives its own description."""
    parts = test.id().split(".")
    return ".".join(parts[-2:]) if isinstance(test, unittest.TestCase) else test.id()


def _clean(text):
    """One line without the characters that TAP gives a meaning to."""
    return " ".join(str(text).split()).replace("#", "\\#")


class Result(unittest.TestResult):
    """Writes a test point whenever a test is over."""

    def __init__(self, out):
        super().__init__()
        self.out = out
        self.number = 0
        self.failed = 0
        self.begun = 0.0
        self.trouble = []      # (kind, text) of the test that runs
        self.skipped_for = None
        self.expected = None   # None, or how an expected failure ended

    def _line(self, text):
        self.out.write(text + "\n")
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()
        self.trouble, self.skipped_for, self.expected = [], None, None

    def stopTest(self, test):
        super().stopTest(test)
        self._point(_name(test), time.monotonic() - self.begun)
        self.trouble, self.skipped_for, self.expected = [], None, None

    def _point(self, name, seconds):
        self.number += 1
        bad = bool(self.trouble)
        line = f"{'not ok' if bad else 'ok'} {self.number} - {_clean(name)}"
        if self.skipped_for is not None and not bad:
            line += f" # SKIP {_clean(self.skipped_for)}"
        elif self.expected == "failed":
            line = f"not ok {self.number} - {_clean(name)} # TODO expected failure"
        self._line(line)
        if bad:
            self.failed += 1
            self._block(seconds)

    def _block(self, seconds):
        self._line("  ---")
        self._line(f"  seconds: {seconds:.3f}")
        for kind, text in self.trouble:
            self._line(f"  {kind}: |")
            for row in text.rstrip("\n").splitlines():
                # An empty line would end the block for meson, which strips lines before it looks at them.
                self._line("    " + (row.rstrip().replace("\r", "\\r") or "."))
        self._line("  ...")

    def _add(self, kind, text):
        number = sum(1 for k, _ in self.trouble if k.split("_")[0] == kind)
        self.trouble.append((kind if not number else f"{kind}_{number + 1}", text))

    @staticmethod
    def _text(err):
        kind, value, trace = err
        while trace and "__unittest" in trace.tb_frame.f_globals:
            trace = trace.tb_next
        lines = traceback.TracebackException(kind, value, trace)
        # The frames below the failing assertion are unittest's own and tell nothing.
        kept = [f for f in lines.stack if os.sep + "unittest" + os.sep not in f.filename]
        lines.stack[:] = kept
        return "".join(lines.format())

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._add("failure", self._text(err))

    def addError(self, test, err):
        super().addError(test, err)
        self._add("error", self._text(err))
        if not isinstance(test, unittest.TestCase):   # setUpClass or setUpModule: no startTest came before
            self._point(_name(test), 0.0)
            self.trouble = []

    def addSubTest(self, test, subtest, err):
        if err is not None:
            kind = "failure" if issubclass(err[0], test.failureException) else "error"
            self._add(kind, f"{_clean(subtest._subDescription())}\n{self._text(err)}")
        super().addSubTest(test, subtest, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if isinstance(test, unittest.case._SubTest):   # the rest of the method goes on
            self._line(f"# {_clean(test._subDescription())} skipped: {_clean(reason)}")
            return
        self.skipped_for = reason
        if not isinstance(test, unittest.TestCase):
            self.trouble = []
            self._point(_name(test), 0.0)
            self.skipped_for = None

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.expected = "failed"

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._add("failure", "passed, though it is marked as an expected failure")


def _each(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _each(item)
        else:
            yield item


def _wanted(test, names):
    name = _name(test)
    return not names or any(
        fnmatch.fnmatchcase(name, n) if any(c in n for c in "*?") else n in name for n in names)


def run(suite, names=(), out=None, stop_early=False):
    """Runs the suite's tests whose names are wanted; returns the number of failed test points."""
    out = out or sys.stdout
    tests = [t for t in _each(suite) if _wanted(t, names)]
    result = Result(out)
    result.failfast = stop_early
    out.write("TAP version 13\n")
    if not tests:
        out.write("1..0 # SKIP no test of that name\n")
        out.flush()
        return 0
    unittest.TestSuite(tests).run(result)
    if stop_early and result.failed and result.testsRun < len(tests):
        result._line(f"# stopped early: {len(tests) - result.testsRun} not run")
    # The plan comes last: a failed class fixture makes one point of many tests.
    result._line(f"1..{result.number}")
    if result.failed:
        result._line(f"# {result.failed} of {result.number} failed")
    return result.failed


def main(module="__main__", argv=None):
    """Runs the tests of a module and exits: 0 when none failed, otherwise 1."""
    argv = list(sys.argv[1:] if argv is None else argv)
    stop_early = "-x" in argv
    suite = unittest.defaultTestLoader.loadTestsFromModule(
        sys.modules[module] if isinstance(module, str) else module)
    names = [a for a in argv if not a.startswith("-")]
    if "-l" in argv:
        for test in _each(suite):
            if _wanted(test, names):
                print(_name(test))
        sys.exit(0)

    # Keep the real standard output for TAP alone and let descriptor 1 mean standard error.
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    failed = run(suite, names, out, stop_early)
    out.flush()
    sys.exit(1 if failed else 0)
