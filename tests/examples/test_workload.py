# SPDX-License-Identifier: Apache-2.0
"""The committed traces are the workload's, and hold no scenario's requests."""

import json
import re
import unittest

from support import EXAMPLE, play, world
import tap

import scenario
import workload

ID = re.compile(r"\b(rsv|at|rt|ch|re|shp|ord)_[0-9a-f]{12,24}\b")

# Requests without a value of the caller's own choice: they cannot be told apart.
NO_CHOICE = {
    ("payment", "POST", "/v1/tokens"), ("inventory", "POST", "/reservations/{id}/release"),
    ("inventory", "POST", "/reservations/{id}/confirm"),
    ("shipping", "POST", "/shipments/{id}/cancel"), ("order", "POST", "/orders/{id}/cancel"),
    ("payment", "POST", "/v1/charges/{id}/refund"),
}


def normal(service, method, path, query, body):
    text = json.dumps([service, method, path, query, body], sort_keys=True)
    return ID.sub("{id}", text)


def is_plain_read(method, query):
    return method == "GET" and not query


def scenario_requests():
    found = set()
    for item in scenario.load_all():
        clients = world()
        play(item, clients)
        for service, client in clients.items():
            for method, path, query, _, data in client.requests:
                body = json.loads(data) if data else None
                found.add(normal(service, method, path, query, body))
    return found


class Workload(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recorder = workload.record()

    def test_traces_are_what_the_workload_writes(self):
        for name, text in workload.trace_files(self.recorder).items():
            committed = (EXAMPLE / "traces" / name).read_text(encoding="utf-8")
            self.assertTrue(committed == text, f"{name} is stale: run workload.py")

    def test_examples_are_what_the_workload_writes_and_say_nothing(self):
        def values(value):
            if isinstance(value, (dict, list)):
                for item in value.values() if isinstance(value, dict) else value:
                    yield from values(item)
            else:
                yield value

        files = workload.example_files(self.recorder)
        self.assertEqual(sorted(files), ["inventory.jsonl", "payment.jsonl", "shipping.jsonl"])
        for name, text in files.items():
            committed = (EXAMPLE / "examples" / name).read_text(encoding="utf-8")
            self.assertTrue(committed == text, f"{name} is stale: run workload.py --examples")
            for line in text.splitlines():
                example = json.loads(line)
                self.assertNotRegex(example["path"], r"[0-9]{2}")
                for part in ("query", "request_body", "body"):
                    self.assertLessEqual({repr(v) for v in values(example.get(part, {}))}, {"'string'", "0", "False", "None"})

    def test_everything_goes_well(self):
        self.assertEqual({pair["status"] for pair in self.recorder.pairs}, {200, 201, 202})
        self.assertEqual(len(self.recorder.spans), 4)
        for name, spans in self.recorder.spans.items():
            self.assertTrue(380 <= len(spans) <= 450, (name, len(spans)))

    def test_no_request_is_a_scenarios(self):
        taken = scenario_requests()
        for pair in self.recorder.pairs:
            service, method = pair["service"], pair["method"]
            path = ID.sub("{id}", pair["path"])
            fixed = (service, method, path) in NO_CHOICE and (
                pair["body"] is None or path.endswith(("tokens", "confirm")))
            if not is_plain_read(method, pair["query"]) and not fixed:
                key = normal(service, method, pair["path"], pair["query"], pair["body"])
                self.assertNotIn(key, taken)


if __name__ == "__main__":
    tap.main()
