# SPDX-License-Identifier: Apache-2.0
"""The rules of CONTRIBUTING.md that a program can check."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lib"))
import tap  # noqa: E402

SOURCES = sorted(ROOT.glob("src/**/*.[ch]"))
TESTS = sorted(ROOT.glob("tests/**/*.[ch]"))

# Room -> rooms that it may include; every room may include itself.
MAY_INCLUDE = {
    "util": set(),
    "core": {"util"},
    "evidence": {"util", "core"},
    "llm": {"util", "core"},
    "wire": {"util", "core"},
    "compare": {"util", "core"},
    "clients": {"util", "core", "wire"},
    "fidelity": {"util", "core", "llm", "wire", "compare", "clients"},
    "engines": {"util", "core", "evidence", "llm", "wire", "clients"},
    "transports": {"util", "core", "wire"},
    "cli": {"util", "core", "evidence", "llm", "engines", "transports", "wire", "clients", "compare",
            "fidelity"},
}
# Library header -> the only places that may include it. What protoc-c generates (.pb-c.h) is no library.
LIBRARIES = {
    r"curl/": ("src/llm/client.c", "src/clients/http.c"),
    r"microhttpd\.h": ("src/transports/http/",),
    r"libfyaml\.h": ("src/core/config_yaml.c",),
    r"grpc/(?!.*\.pb-c\.h)": ("src/transports/grpc/", "src/clients/grpc"),
    r"c?zmq\.h": ("src/transports/zmq/", "src/clients/zmq.c"),
}
BANNED = ("strcpy", "strcat", "sprintf", "strtok", "atoi", "gets", "strncpy", "alloca", "sleep", "usleep", "vsprintf")
FILE_LINES, FUNCTION_LINES, COLUMNS = 500, 80, 132


def code_of(path):
    """The text without comments and string contents, line by line."""
    text = path.read_text()
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text)


def functions(path):
    """(first line, number of lines) of each function body: a line `{` after a line that ends a head, to the line `}`."""
    start = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            yield start, number - start + 1
            start = None


class Style(unittest.TestCase):
    maxDiff = None

    def none(self, found):
        self.assertEqual([], found, "\n" + "\n".join(found))

    def test_rooms_include_downwards_only(self):
        found = []
        for path in SOURCES:
            room = path.relative_to(ROOT / "src").parts[0]
            if room == "main.c":
                continue
            for include in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
                target = include.split("/")[0]
                if target != room and target not in MAY_INCLUDE[room]:
                    found.append(f"{path.relative_to(ROOT)} includes {include}; {room} may include {sorted(MAY_INCLUDE[room])}")
        self.none(found)

    def test_includes_are_written_from_src(self):
        self.none([f"{path.relative_to(ROOT)}: {include}" for path in SOURCES
                   for include in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)
                   if not (ROOT / "src" / include).exists()])

    def test_libraries_stay_in_their_rooms(self):
        found = []
        for path in SOURCES:
            name = str(path.relative_to(ROOT))
            for include in re.findall(r"^#include <([^>]+)>", path.read_text(), re.M):
                for library, places in LIBRARIES.items():
                    if re.match(library, include) and not name.startswith(places):
                        found.append(f"{name} includes <{include}>; only {places} may")
        self.none(found)

    def test_no_banned_function(self):
        pattern = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
        found = []
        for path in SOURCES:
            for number, line in enumerate(code_of(path).splitlines(), 1):
                for name in pattern.findall(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {name}")
        self.none(found)

    def test_files_are_short(self):
        self.none([f"{path.relative_to(ROOT)}: {count} lines" for path in SOURCES
                   for count in [len(path.read_text().splitlines())] if count > FILE_LINES])

    def test_functions_are_short(self):
        self.none([f"{path.relative_to(ROOT)}:{line}: {count} lines" for path in SOURCES if path.suffix == ".c"
                   for line, count in functions(path) if count > FUNCTION_LINES])

    def test_lines_are_short(self):
        self.none([f"{path.relative_to(ROOT)}:{number}: {len(line)} columns" for path in SOURCES
                   for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > COLUMNS])

    def test_files_open_as_they_should(self):
        found = []
        for path in SOURCES + TESTS:
            lines = path.read_text().splitlines()
            if not lines or lines[0] != "// SPDX-License-Identifier: Apache-2.0":
                found.append(f"{path.relative_to(ROOT)}: no SPDX line")
            if path.suffix == ".h" and path in SOURCES:
                if lines[1:2] != ["/*"]:
                    found.append(f"{path.relative_to(ROOT)}: no opening paragraph")
                if "#pragma once" not in lines:
                    found.append(f"{path.relative_to(ROOT)}: no #pragma once")
        self.none(found)

    def test_every_module_has_a_unit_test_or_a_reason(self):
        exempt = set((ROOT / "tests" / "style" / "untested.txt").read_text().split("\n"))
        exempt = {line.split(":")[0].strip() for line in exempt if line.strip() and not line.startswith("#")}
        tested = "\n".join(path.read_text() for path in ROOT.glob("tests/unit/*.[ch]"))
        found = []
        for path in SOURCES:
            name = str(path.relative_to(ROOT / "src"))
            if path.suffix == ".h" and f'"{name}"' not in tested and name not in exempt and not name.endswith("_int.h"):
                found.append(f"{name} is included by no unit test and has no reason in tests/style/untested.txt")
        self.none(found)

    @unittest.skipUnless(shutil.which("clang-format"), "clang-format is not installed")
    def test_format(self):
        result = subprocess.run(["clang-format", "--dry-run", "-Werror", *map(str, SOURCES + TESTS)],
                                capture_output=True, text=True, cwd=ROOT)
        self.none([line for line in result.stderr.splitlines() if "error:" in line][:20])


if __name__ == "__main__":
    tap.main()
