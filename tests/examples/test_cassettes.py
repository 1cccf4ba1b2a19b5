# SPDX-License-Identifier: Apache-2.0
"""The recorded replies against the provider's own log of what it was asked and answered: nothing was edited."""

import hashlib
import json
import unittest

from support import EXAMPLE
import tap

CASSETTES = EXAMPLE / "cassettes"
NAMES = ("inventory", "payment", "shipping")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Cassettes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.log = {f"chatcmpl-{row['id']}": row for row in lines(CASSETTES / "provider-log.jsonl")}
        cls.entries = [entry for name in NAMES for entry in lines(CASSETTES / f"{name}.jsonl")]

    def test_every_entry_is_in_the_log_with_the_same_hashes(self):
        for entry in self.entries:
            by = entry["by"]
            row = self.log.get(by["id"])
            self.assertIsNotNone(row, by["id"])
            self.assertEqual(row["lane"], entry["dep"])
            self.assertEqual((row["prompt_sha256"], row["reply_sha256"]), (by["prompt"], by["text"]), by["id"])
            self.assertEqual([row["input_tokens"], row["cached_tokens"], row["output_tokens"]], by["tokens"])

    def test_every_request_of_the_log_was_recorded(self):
        self.assertEqual(sorted(self.log), sorted(entry["by"]["id"] for entry in self.entries))

    def test_replies_are_what_the_provider_gave(self):
        # The text's hash counts what a cassette does not keep: white space and the case of header names.
        for entry in self.entries:
            reply = entry["rep"]
            titled = {**reply, "headers": {name.title(): value for name, value in reply.get("headers", {}).items()}}
            spellings = (json.dumps(reply, ensure_ascii=False), json.dumps(titled, ensure_ascii=False))
            self.assertIn(entry["by"]["text"], [hashlib.sha256(text.encode()).hexdigest() for text in spellings], reply)

    def test_one_state_of_the_evidence(self):
        for name in NAMES:
            self.assertEqual(1, len({entry["by"]["evidence"] for entry in self.entries if entry["dep"] == name}), name)


class Measured(unittest.TestCase):
    """The runs of results/: each has its cassettes and the provider's log, and its document is of that simulation."""

    def test_every_entry_is_in_the_runs_log(self):
        runs = sorted((EXAMPLE / "results" / "cassettes").iterdir())
        self.assertGreaterEqual(len(runs), 1)
        for run in runs:
            log = {f"chatcmpl-{row['id']}": row for row in lines(EXAMPLE / "results" / "logs" / f"{run.name}.jsonl")}
            entries = [entry for path in run.glob("*.jsonl") for entry in lines(path)]
            self.assertGreater(len(entries), 0, run.name)
            for entry in entries:
                row, by = log[entry["by"]["id"]], entry["by"]
                self.assertEqual((row["prompt_sha256"], row["reply_sha256"]), (by["prompt"], by["text"]), (run.name, by["id"]))
            self.assertTrue((EXAMPLE / "results" / f"{run.name}.json").exists(), run.name)


if __name__ == "__main__":
    tap.main()
