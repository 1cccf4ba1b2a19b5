# SPDX-License-Identifier: Apache-2.0
"""What Mirage itself says to a model names no service of the benchmark, and nothing of what its services answer."""

import http
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import operators  # noqa: E402
import tap  # noqa: E402

MIRAGE = os.environ["MIRAGE_BIN"]
CONFIG = """
dependencies:
- name: thing
  listen: {http: "127.0.0.1:0"}
  evidence: {source: [thing.py], caller: [user.py], traces: [spans.jsonl], schema: [api.txt], examples: [one.jsonl]}
model: {name: m}
"""
FILES = {"mirage.yaml": CONFIG, "thing.py": "# nothing\n", "user.py": "# nothing\n", "api.txt": "nothing\n",
         "spans.jsonl": '{"kind":"SERVER","attributes":{"http.request.method":"GET","url.path":"/x","http.response.status_code":200}}\n',
         "one.jsonl": '{"method":"GET","path":"/x","status":200,"body":{}}\n'}


def values(value):
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from values(item)
    elif isinstance(value, str):
        yield value


class Prompt(unittest.TestCase):
    def prompts(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in FILES.items():
                (Path(folder) / name).write_text(text)
            environment = {name: value for name, value in os.environ.items() if not name.startswith("MIRAGE_")}
            for use in ("white-box", "grey-box", "black-box", "source", "caller", "traces"):
                done = subprocess.run([MIRAGE, "prompt", "thing", "--as", use], cwd=folder, env=environment, capture_output=True,
                                      text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                yield use, done.stdout

    def test_nothing_of_the_benchmark(self):
        said = {"inventory", "payment", "shipping", "reservation", "shipment", "lamp", "quantity", "currency"}
        for path in operators.EXAMPLE.glob("results/*.json"):
            for trial in operators.load(path)["scenarios"]:
                for call in trial["calls"]:
                    said |= {text.lower() for text in values(call["real"].get("reply", {}).get("body", {}))
                             if len(text) >= 5 and re.search(r"[A-Z0-9_ /]", text)}
        said -= {status.phrase.lower() for status in http.HTTPStatus}
        self.assertGreater(len(said), 100)
        for use, prompt in self.prompts():
            self.assertGreater(len(prompt), 1000, use)
            self.assertEqual([text for text in sorted(said) if text in prompt.lower()], [], use)


if __name__ == "__main__":
    tap.main()
